"""Every program and every question of a certificate, computed again from the rules that it holds.

The program before is read from its s-expression, and the kernel proves that it has a meaning; then every rule is read
in the scope of the program that it is applied to, and applied.  What comes of it is a certificate, which is compared
with the one that lies there: programs, claims, questions by their hashes, the relation, the mode of floats, the axioms.

Neither schedule nor tactics take part, and the calls that a certificate notes are not made.  Whatever somebody wrote
ends in a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from threading import Lock
from typing import Any, Final

from verified_tir.certificate.content import BEGINNING, ENDING, Noted, content
from verified_tir.certificate.differences import differences
from verified_tir.certificate.integrity import DERIVED_OTHERWISE, Finding, MadeAgain, not_made
from verified_tir.certificate.questions import Progress
from verified_tir.child.executors import each
from verified_tir.derivation.codec import BadText, read_program
from verified_tir.derivation.theorems import NotDerived, derive_program
from verified_tir.kernel.facts import Prover
from verified_tir.logic.recheck import version
from verified_tir.logic.solver import Solver

_ALONE: Final = Lock()
"""The kernel's solver and its tables of nodes are not for several threads at once."""


def recompute(
    certificates: Sequence[tuple[str, Mapping[str, Any]]],
    executor: Executor | None = None,
    *,
    progress: Progress | None = None,
) -> dict[str, MadeAgain]:
    """What comes of certificates whose form is right, by name."""
    found: dict[str, MadeAgain] = {}
    for one in each(executor, recomputed, certificates, not_made):
        found[one.name] = one
        if progress is not None:
            progress(len(found), len(certificates))
    return found


def recomputed(name: str, certificate: Mapping[str, Any]) -> MadeAgain:
    """What comes of one certificate whose form is right."""
    try:
        with _ALONE:
            return MadeAgain(
                name,
                tuple(Finding(name, place, problem, DERIVED_OTHERWISE) for place, problem in _problems(certificate)),
            )
    except _Undecided as problem:
        return MadeAgain(name, impossible=str(problem))
    except Exception as problem:  # nested too deeply for the kernel, say: it is not derived then
        said = f"it cannot be computed again: {type(problem).__name__}: {problem}"
        return MadeAgain(name, (Finding(name, "trace", said, DERIVED_OTHERWISE),))


class _Undecided(Exception):
    """The kernel's solver did not decide an obligation."""


def _problems(c: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    rules = [(k, n, r) for k, step in enumerate(c["trace"]) for n, r in enumerate(step["rules"])]
    if rules and rules[-1][2]["rule"] == ENDING:
        rules.pop()
    named = [(k, n, r) for k, n, r in rules if r["rule"] not in BEGINNING]
    first = [r["rule"] for k, _, r in rules if k == 0]
    licences = c["theorem"]["licences"]
    if any(k == 0 for k, _, _ in named) or first != list(BEGINNING[: 1 if licences == "[]" else 2]):
        yield "trace[0]", "it is not the check of the program itself, and of its licences"
        return
    if len(named) != len(rules) - len(first):
        yield "trace", "the check of the program itself comes first, and once"
        return
    budget = c["schedule"]["budget"]
    if budget < 1:
        yield "schedule.budget", f"a budget is at least 1, not {budget}"
        return
    prover = Prover(Solver(budget))
    try:
        written = read_program("\n".join(c["before"]["program"]))
    except BadText as problem:
        yield "before.program", f"this is not a program: {problem}"
        return
    try:
        derived = derive_program(written, licences, [r["value"] for *_, r in named], c["theorem"]["given up"], prover)
    except NotDerived as failed:
        place = "trace[0]"
        if failed.step >= 0:
            k, n, r = named[failed.step]
            place = f"trace[{k}] {c['trace'][k]['primitive']}: rules[{n}] {r['rule']}"
        said = f"it is not derived again: {failed}{_of_another_version(c)}"
        if failed.undecided:
            raise _Undecided(f"{place}: {said}") from None
        yield place, said
        return
    now, _ = content(derived, _noted(c))
    found = list(differences(c, now))
    yield from found
    if found and (said := _of_another_version(c)):
        yield "tool", said.strip("; ")


def _noted(c: Mapping[str, Any]) -> Noted:
    calls = [{key: step[key] for key in ("primitive", "arguments", "named", "line")} for step in c["trace"]]
    counts = [0 if k == 0 else sum(r["rule"] != ENDING for r in step["rules"]) for k, step in enumerate(c["trace"])]
    return Noted(c["tool"], c["schedule"], list(zip(calls, counts, strict=True)), c["regenerable"])


def _of_another_version(c: Mapping[str, Any]) -> str:
    """What may be the reason: which lemmas are needed depends on what Z3 decides."""
    here = version("z3")
    return "" if c["tool"]["z3"] == here else f"; it was written with Z3 {c['tool']['z3']}, and this is {here}"
