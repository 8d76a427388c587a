"""Counterexamples by trial: values at which formulas about floats are all true.

A claim about floats that is false is mostly false at 0.0, an infinity, a NaN or a number next to nothing.  To try these
takes a millisecond, where bits of a product take Z3 a tenth of a second, and those of a fused multiply-add may take ten
seconds and come to nothing.

The integers are chosen first, by a solver that sees nothing but them.  With these in place whatever is known of a
variable outright (``x``, ``not x``, ``x = t``) is put in, and what then is left over is tried at special values.  All
of this is guessing.  What is found is believed only once every formula, as it was asked, has been evaluated at it
(:mod:`verified_tir.logic.concrete`); where nothing is found nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from verified_tir.logic import model
from verified_tir.logic.concrete import (
    Evaluation,
    Key,
    NoValue,
    Value,
    as_number,
    constant_value,
    default,
    evaluate,
    key_of,
    special_values,
)
from verified_tir.logic.formula import BOOL, FALSE, FLOAT_SORTS, INT, TRUE, Term, integer, replace, subterms, var
from verified_tir.logic.names import has_floats
from verified_tir.logic.settings import part
from verified_tir.logic.smtlib import Script, query

Integers: TypeAlias = Callable[[tuple[Term, ...]], dict[str, int] | None]
"""Integers, by name, at which formulas are true; other names are 0.  ``None`` if there are none, or none were found."""

MOST_TRIALS: Final = 1500
MOST_LEAVES: Final = 8
"""So many values of unknowns are tried, of so many unknowns: with more of them hardly anything is tried of each."""
ROUNDS: Final = 8
"""How often what is known is put in."""


def tried(script: Script, limit: int) -> dict[str, int] | None:
    """A model of a question about floats that is found by trying special values, by the names in its text.

    :param limit: the budget of a query about integers.
    """

    def integers(roots: tuple[Term, ...]) -> dict[str, int] | None:
        if not roots:
            return {}
        asked = query(roots, FALSE)
        kind, found = model.run("SimpleSolver", asked, part(limit))
        if kind != "sat" or found is None:
            return None
        ours = model.our_names(asked)
        return {ours[short][0]: value for short, value in found.items()}

    found = witness(script.roots, integers) if script.roots else None
    if found is None:
        return None
    return {short: found[name] for short, name in model.our_names(script).items() if name in found}


def witness(roots: tuple[Term, ...], integers: Integers) -> dict[tuple[str, str], int] | None:
    """Values, by name and sort, of variables at which all of the formulas are true, for some functions; floats by
    their bits.  ``None`` if none were found."""
    chosen = _integers(roots, integers)
    if chosen is None:
        return None
    memo: dict[Term, Term] = {}
    rest, known = _known([replace(r, chosen, memo) for r in roots])
    if rest is None:
        return None
    leaves = [t for t in subterms(*rest, *known.values()) if t.op in ("var", "app")]
    if len(leaves) > MOST_LEAVES:
        return None
    try:
        ready = Evaluation(rest, leaves)
        for values in _trials([_candidates(t, rest) for t in leaves]):
            if ready.holds(values):
                return _checked(roots, {**dict(zip(leaves, values, strict=True))}, known, chosen)
    except (NoValue, OverflowError):
        pass
    return None


def _integers(roots: tuple[Term, ...], integers: Integers) -> dict[Term, Term] | None:
    """A constant for each unknown integer."""
    unknown = [t for t in subterms(*roots) if t.sort == INT and t.op in ("var", "app")]
    if not unknown:
        return {}
    names = {t: var(f"{k}", INT) for k, t in enumerate(unknown)}
    memo: dict[Term, Term] = {}
    found = integers(tuple([replace(r, names, memo) for r in roots if not has_floats(r)]))
    return None if found is None else {t: integer(found.get(str(n.payload), 0)) for t, n in names.items()}


def _known(roots: list[Term]) -> tuple[list[Term] | None, dict[Term, Term]]:
    """What is left of formulas once what they say outright is put in; and that.  ``None`` if they cannot be true."""
    known: dict[Term, Term] = {}
    for _ in range(ROUNDS):
        parts = list(dict.fromkeys(p for r in roots for p in (r.args if r.op == "and" else (r,)) if p is not TRUE))
        if FALSE in parts:
            return None, known
        news: dict[Term, Term] = {}
        within: set[Term] = set()  # what the new values are made of is not replaced in the same round
        for p in parts:
            for leaf, value in _said(p):
                inside = set(subterms(value))
                if leaf not in news and leaf not in within and not (news.keys() & inside):
                    news[leaf] = value
                    within |= inside
                    break
        memo: dict[Term, Term] = {}
        roots = [replace(p, news, memo) for p in parts]
        if not news:
            break
        known = {t: replace(v, news, memo) for t, v in known.items()} | news
    return [r for r in roots if r is not TRUE], known


def _said(part: Term) -> Iterator[tuple[Term, Term]]:
    """The unknowns of which a formula gives the value, with that."""
    match part.op, part.args:
        case (("var" | "app"), _):
            yield part, TRUE
        case "not", (a,) if a.op in ("var", "app"):
            yield a, FALSE
        case "=", (a, b):
            for leaf, value in ((a, b), (b, a)):
                if leaf.op in ("var", "app") and leaf not in set(subterms(value)):
                    yield leaf, value


def _candidates(t: Term, roots: Sequence[Term]) -> list[Value]:
    """The values that are tried for an unknown."""
    if t.sort == BOOL:
        return [True, False]
    if t.sort not in FLOAT_SORTS:
        return [default(t.sort)]
    mentioned = [float(constant_value(c)) for c in subterms(*roots) if c.op == "const" and c.sort == t.sort]
    first, second, *others = special_values(t.sort)
    found = {v.hex(): v for v in (first, second, *mentioned, *others)}
    return list(found.values())


def _trials(candidates: list[list[Value]]) -> Iterator[list[Value]]:
    """Choices of one each, those of early ones first."""
    left = MOST_TRIALS
    for total in range(sum(len(c) - 1 for c in candidates) + 1):
        for values in _with_total(candidates, total):
            yield values
            left -= 1
            if not left:
                return


def _with_total(candidates: list[list[Value]], total: int) -> Iterator[list[Value]]:
    """Choices whose positions have this sum."""
    if not candidates:
        if total == 0:
            yield []
        return
    first, *others = candidates
    most = sum(len(c) - 1 for c in others)
    for k in range(max(0, total - most), min(total, len(first) - 1) + 1):
        for rest in _with_total(others, total - k):
            yield [first[k], *rest]


def _checked(
    roots: tuple[Term, ...], tried: dict[Term, Value], known: dict[Term, Term], chosen: dict[Term, Term]
) -> dict[tuple[str, str], int] | None:
    """The values of variables, if with them, and with functions as they were guessed, every formula is true."""
    values: dict[Term, Value] = {t: v for t, v in tried.items() if t.op == "var"}
    functions: dict[Key, Value] = {}
    guessed = [(t, v) for t, v in tried.items() if t.op == "app"]
    for t, c in chosen.items():
        if t.op == "var":
            values[t] = constant_value(c)
        else:
            guessed.append((t, constant_value(c)))
    _assign(guessed, values, functions)
    _assign([(t, _with_leaves(v, tried)) for t, v in known.items()], values, functions)
    if not all(evaluate(r, values, functions) for r in roots):
        return None
    return {(str(t.payload), t.sort): as_number(t.sort, v) for t, v in values.items()}


def _with_leaves(t: Term, tried: dict[Term, Value]) -> Value:
    """The value of a term over the unknowns that were tried."""
    leaves = [u for u in subterms(t) if u in tried]
    return Evaluation((t,), leaves).value([tried[u] for u in leaves])


def _assign(pairs: list[tuple[Term, Value]], values: dict[Term, Value], functions: dict[Key, Value]) -> None:
    for t, v in sorted(pairs, key=lambda p: sum(1 for _ in subterms(p[0]))):  # arguments before what is called
        if t.op == "var":
            values[t] = v
        else:
            functions[key_of(t, [evaluate(a, values, functions) for a in t.args])] = v
