"""Answers to queries: known ones, and new ones from one setting of Z3 after another.

Nothing here is trusted: a text is unsatisfiable if the solver's store has heard so from Z3 itself (``verdict_store``).

An answer is a function of the query's text, the budget, the solver's version and the settings.  In a context with a
history searches take other ways, and find other models; so a fresh context decides each query.  For a query about
integers that costs thrice what it costs in a context that is there already.  It is asked there first, with a small part
of the budget, and what is found is believed: the fresh context could do no more than fail to find it with thirty times
the work.  The values of a refutation come from a fresh context alone, once somebody looks at them.

A question about floats is first tried at special values (``witness``): most false claims are false there.

What is not proved is kept on disk, too, by another key than what is: the values of the model, or the reason why it is
unknown, with a hash of the key and the rest.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from verified_tir.logic.entry_files import read_entry
from verified_tir.logic.kept import keep, note_use
from verified_tir.logic.model import Answer, answer_of, model_of
from verified_tir.logic.settings import has_float, settings
from verified_tir.logic.smtlib import Script
from verified_tir.logic.verdict import Proved, Refuted, Unknown, Verdict
from verified_tir.logic.verdict_store import SUFFIX, VerdictStore, how_asked
from verified_tir.logic.witness import tried

if TYPE_CHECKING:
    from verified_tir.logic.solver import Solver

NO_VALUES: Final[Answer] = ("sat", None)
"""Refuted, and by which values nobody has asked."""

LARGEST: Final = 1 << 16
"""Bytes of an entry: larger models are not kept."""


@final
@dataclass(slots=True)
class Statistics:
    """Counts of what a solver was asked, for reports and benchmarks; and how it is searched for proofs.

    ``queries`` were put to Z3 and ``cached`` ones were not, since their text was known (``stored``: to the files of the
    store, and not here); ``trivial`` goals became no query.  ``solving`` are the seconds that Z3 took.

    :ivar only_verdicts: whether nobody reads the values of refutations.  None are sought that are small then, some
        unknowns may be left without one, and what more facts might refute in another way is not asked with fewer.
    """

    queries: int = 0
    cached: int = 0
    stored: int = 0
    trivial: int = 0
    solving: float = 0.0
    only_verdicts: bool = False


def answered(solver: Solver, script: Script) -> Verdict:
    """The verdict on one query.

    :raises ValueError: for a budget of less than 1 (Z3 takes 0 for no limit).
    """
    if solver.budget < 1:
        raise ValueError(f"the budget of a solver is at least 1, not {solver.budget}")
    store, counts, key = solver.store, solver.statistics, (script.text, solver.budget)
    before = store.kept
    if store.proved(*key):
        counts.cached += 1
        counts.stored += store.kept - before
        return Proved(how="cached")
    answer, how = store.notes.get(key), "cached"
    if answer is None:
        answer = load(store, *key)
        counts.stored += answer is not None
    counts.cached += answer is not None
    if answer is None:
        counts.queries += 1
        answer, how = _check(solver, script, solver.budget), "z3"
    store.notes[key] = answer
    match answer:
        case "unsat", _:
            return Proved(how=how)
        case "sat", _:
            return Refuted(model_of(script, partial(_values, solver, script, solver.budget)), how=how)
    return Unknown(str(answer[1]), how=how)


def _values(solver: Solver, script: Script, budget: int) -> Any:
    """Values for a query that is known to have some; none if the budget does not suffice to find them."""
    answer = solver.store.notes.get((script.text, budget), NO_VALUES)
    if answer == NO_VALUES:
        answer = _check(solver, script, budget, afresh=True)
    return answer[1] if answer[0] == "sat" else None


def _check(solver: Solver, script: Script, budget: int, *, afresh: bool = False) -> Answer:
    """Z3's answer, which is kept; ``afresh`` for the values of a query that was refuted before."""
    start = time.perf_counter()
    answer = _asked(solver.store, script, budget, afresh=afresh)
    solver.statistics.solving += time.perf_counter() - start
    if answer[0] == "sat" or not afresh:
        solver.store.notes[script.text, budget] = answer
        save(solver.store, script.text, budget, answer)
    return answer


def _asked(store: VerdictStore, script: Script, budget: int, *, afresh: bool) -> Answer:
    if has_float(script) and (values := tried(script, budget)) is not None:
        return "sat", values
    answer: Answer = "failed", "there is no setting to ask it in"
    for setting, limit in settings(script, budget, afresh):
        answer = answer_of(*store.check(script.text, budget, setting, limit), script)
        if answer[0] in ("unsat", "sat"):
            break
    return answer


# -- on disk -----------------------------------------------------------------------------------------------------------


def load(store: VerdictStore, text: str, budget: int) -> Answer | None:
    """What was not proved when it was asked before, if there is a sound entry."""
    if store.folder is None:
        return None
    path = entry(store, text, budget)
    content = read_entry(path)
    if content is None or content[:64] != seal(path, content[64:]):
        return None
    note_use(path)
    kind, detail = json.loads(content[64:])
    return kind, detail


def save(store: VerdictStore, text: str, budget: int, answer: Answer) -> bool:
    """Keep what was not proved; whether it is kept."""
    if store.folder is None or answer[0] not in ("sat", "unknown"):
        return False
    try:
        body = json.dumps(answer, sort_keys=True).encode()
    except ValueError:  # Python writes no number of thousands of digits
        return False
    path = entry(store, text, budget)
    return len(body) <= LARGEST - 64 and keep(path, seal(path, body) + body)


def entry(store: VerdictStore, text: str, budget: int) -> Path:
    """Where the answer to a query is kept: one of 256 folders has it."""
    assert store.folder is not None
    key = hashlib.sha256(f"answer {how_asked()}\n{budget}\n{text}".encode()).hexdigest()
    return store.folder / key[:2] / f"{key}{SUFFIX}"


def seal(path: Path, body: bytes) -> bytes:
    """What an entry begins with."""
    return hashlib.sha256(path.stem.encode() + body).hexdigest().encode()
