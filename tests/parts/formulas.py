"""Questions of the logic, written as nested tuples, and what plain numpy says of them.

A question is a tuple of givens and a goal.  Each is a *sentence*: ``("<", "i", ("+", "j", 1))``.  Names ``i j k`` are
integers, ``p q`` truths, ``a b c`` floats of 16 bits; numbers stand for themselves, ``("f16", 0x8000)`` for a float.
The operations are those of ``verified_tir.logic.formula``, with the meaning that its builders promise.

:func:`assert_decided_rightly` holds formulas, their text, and the solvers' verdicts against all small values.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from verified_tir.fuzz.target import Disagreement
from verified_tir.logic import formula as f
from verified_tir.logic.deduction import Deduction
from verified_tir.logic.formula import Term
from verified_tir.logic.generalise import Hidden, generalise
from verified_tir.logic.model import our_names
from verified_tir.logic.names import has_floats
from verified_tir.logic.read_smtlib import NotCanonical, read
from verified_tir.logic.recheck import ask, has_hard_operations
from verified_tir.logic.smtlib import query
from verified_tir.logic.solver import Solver
from verified_tir.logic.standalone import standalone
from verified_tir.logic.strategy import WITHOUT_FLOATS, partly_known
from verified_tir.logic.verdict import Proved, Refuted, Verdict

Sentence: TypeAlias = Any
"""A nested tuple, a name, or a number."""
Values: TypeAlias = npt.NDArray[Any]

INTEGERS: Final = ("i", "j", "k")
TRUTHS: Final = ("p", "q")
FLOATS: Final = ("a", "b", "c")
SMALL: Final = range(-3, 4)
"""What integers are taken from; each question gets it as givens."""
HALVES: Final = (0x0000, 0x8000, 0x3C00, 0xBC00, 0x0001, 0x8001, 0x3C01, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00)
"""The bits of the floats that questions about floats are tried on."""
BUDGET: Final = 300_000


# ------------------------------------------------------------------------------------------------------- as formulas

_BUILDERS: Final[Mapping[str, Callable[..., Term]]] = {
    "not": f.not_, "and": f.and_, "or": f.or_, "=>": f.implies, "ite": f.ite, "=": f.eq, "ne": f.ne, "+": f.add,
    "-": f.sub, "*": f.mul, "neg": f.neg, "<=": f.le, "<": f.lt, "div": f.euclid_div, "mod": f.euclid_mod,
    "floordiv": f.floordiv, "floormod": f.floormod, "truncdiv": f.truncdiv, "truncmod": f.truncmod,
    "between": f.between,
}  # fmt: skip


def term_of(sentence: Sentence, *, build: bool = True) -> Term:
    """The formula, by the builders (which fold constants), or as it stands."""
    match sentence:
        case bool():
            return f.boolean(sentence)
        case int():
            return f.integer(sentence)
        case str():
            return f.var(sentence, f.INT if sentence in INTEGERS else f.BOOL if sentence in TRUTHS else "F16")
        case ("f16", int(bits)):
            return f.floating("F16", bits)
        case ("wrap8" | "wrapu8" as op, a):
            return f.wrap(term_of(a, build=build), 8, op == "wrap8")
        case ("bvand" | "bvor" | "bvxor" as op, a, b):
            return f.bitwise(op, 3, term_of(a, build=build), term_of(b, build=build))
        case ("fp.add" | "fp.sub" | "fp.mul" | "fp.abs" as op, *args):
            return f.fp(op, "F16", *(term_of(a, build=build) for a in args))
        case (str(op), *args) if op.startswith("fp."):
            return f.fp(op, f.BOOL, *(term_of(a, build=build) for a in args))
        case (str(op), *args):
            terms = [term_of(a, build=build) for a in args]
            if not build and op in ("and", "or", "=>", "not", "=", "<=", "<", "+", "-", "*", "ite", "div", "mod"):
                sort = terms[1].sort if op == "ite" else f.INT if op in ("+", "-", "*", "div", "mod") else f.BOOL
                return f.make(op, tuple(terms), sort)
            return _BUILDERS[op](*terms)
    raise ValueError(f"{sentence!r} is no sentence")


# --------------------------------------------------------------------------------------------------------- as values


def names_of(*sentences: Sentence) -> list[str]:
    """The names in sentences, in order of first occurrence."""
    found: dict[str, None] = {}
    for s in sentences:
        match s:
            case str():
                found[s] = None
            case ("f16", _):
                pass
            case (_, *args):
                found.update(dict.fromkeys(names_of(*args)))
    return list(found)


def points_of(names: list[str]) -> dict[str, Values]:
    """Arrays with all combinations of small values of the names."""
    axes = [_axis(name) for name in names]
    grids = np.meshgrid(*axes, indexing="ij") if axes else []
    return {name: grid.ravel() for name, grid in zip(names, grids, strict=True)}


def _axis(name: str) -> Values:
    if name in INTEGERS:
        return np.array(SMALL, np.int64)
    return np.array([False, True]) if name in TRUTHS else np.array(HALVES, np.uint16).view(np.float16)


def value_of(sentence: Sentence, at: Mapping[str, Values]) -> tuple[Values, Values]:
    """The sentence's values at points, and where they are known: nothing is known of a division by zero."""
    with np.errstate(all="ignore"):
        return _value(sentence, at)


_YES = np.array(True)


def _value(s: Sentence, at: Mapping[str, Values]) -> tuple[Values, Values]:
    match s:
        case bool():
            return np.array(s), _YES
        case int():
            return np.array(s, np.int64), _YES
        case str():
            return at[s], _YES
        case ("f16", int(bits)):
            return np.array(bits, np.uint16).view(np.float16), _YES
    op, *rest = s
    args, known = zip(*[_value(a, at) for a in rest], strict=True)
    everything = np.logical_and.reduce(np.broadcast_arrays(*known)) if len(known) > 1 else known[0]
    if op in _DIVISIONS:
        a, b = args
        divisor = np.where(b == 0, 1, b)
        return _DIVISIONS[op](a, divisor), everything & (b != 0)
    return _OPERATIONS[op](*args), everything


def _truncated(a: Values, b: Values) -> Values:
    quotient: Values = np.abs(a) // np.abs(b) * np.where((a < 0) == (b < 0), 1, -1)
    return quotient


def _euclidean(a: Values, b: Values) -> Values:
    quotient: Values = np.where(b > 0, a // np.abs(b), -(a // np.abs(b)))
    return quotient


_DIVISIONS: Final[Mapping[str, Callable[[Values, Values], Values]]] = {
    "div": _euclidean, "mod": lambda a, b: a - b * _euclidean(a, b),
    "floordiv": lambda a, b: a // b, "floormod": lambda a, b: a % b,
    "truncdiv": _truncated, "truncmod": lambda a, b: a - b * _truncated(a, b),
}  # fmt: skip


def _identical(a: Values, b: Values) -> Values:
    """One NaN, and two zeros."""
    if a.dtype != np.float16:
        return np.asarray(a == b)
    same_bits = np.ascontiguousarray(a).view(np.uint16) == np.ascontiguousarray(b).view(np.uint16)
    return np.asarray((np.isnan(a) & np.isnan(b)) | same_bits.reshape(np.broadcast_shapes(a.shape, b.shape)))


_OPERATIONS: Final[Mapping[str, Callable[..., Values]]] = {
    "not": np.logical_not, "and": lambda *a: np.logical_and.reduce(np.broadcast_arrays(*a)),
    "or": lambda *a: np.logical_or.reduce(np.broadcast_arrays(*a)), "=>": lambda a, b: ~a | b,
    "ite": np.where, "=": _identical, "ne": lambda a, b: ~_identical(a, b),
    "+": np.add, "-": np.subtract, "*": np.multiply, "neg": np.negative, "<=": np.less_equal, "<": np.less,
    "between": lambda lo, x, hi: (lo <= x) & (x < hi),
    "wrap8": lambda a: (a + 128) % 256 - 128, "wrapu8": lambda a: a % 256,
    "bvand": lambda a, b: (a % 8) & (b % 8), "bvor": lambda a, b: (a % 8) | (b % 8),
    "bvxor": lambda a, b: (a % 8) ^ (b % 8),
    "fp.add": np.add, "fp.sub": np.subtract, "fp.mul": np.multiply, "fp.abs": np.abs,
    "fp.eq": np.equal, "fp.lt": np.less, "fp.leq": np.less_equal, "fp.isNaN": np.isnan, "fp.isInfinite": np.isinf,
    "fp.isZero": lambda a: a == 0, "fp.isNegative": lambda a: np.signbit(a) & ~np.isnan(a),
}  # fmt: skip


# -------------------------------------------------------------------------------------------------------- assertions


def assert_decided_rightly(
    given: tuple[Sentence, ...],
    goal: Sentence,
    *,
    solver: Solver | None = None,
    second: bool = True,
) -> str:
    """Whoever is asked whether the goal follows from the givens answers rightly, if at all.

    Asked are: the folding of constants, the canonical text and its reader, a solver (with its cache and store), the
    rewriting of hard operations and of floats, and, from scratch, Z3 and cvc5 where it is installed.  They are held
    against all small integers (to which the givens are restricted) and some floats.

    :param solver: whose answers are tried; a new one unless given.
    :param second: whether the question is asked from scratch, too, which takes longer.
    :returns: ``proved``, ``refuted`` or ``unknown``: what the solver said.
    :raises AssertionError: if something is wrong.
    """
    names = names_of(*given, goal)
    limits = tuple(("and", ("<=", SMALL.start, n), ("<", n, SMALL.stop)) for n in names if n in INTEGERS)
    at = points_of(names)
    for s in (*given, goal):
        _check_folding(s, at)
    counterexample, sure = _by_force((*limits, *given), goal, at)
    terms, claim = tuple(term_of(s) for s in (*limits, *given)), term_of(goal)
    _check_text(terms, claim, names)
    asked = solver or Solver(budget=BUDGET)
    said = _check_verdict(asked.prove(terms, claim), (*limits, *given), goal, counterexample, "solver")
    for where, rewritten in _rewritings(terms, claim):
        if counterexample and isinstance(Solver(budget=BUDGET).ask(query(*rewritten)), Proved):
            raise Disagreement(
                "proved-but-false", where, f"{where} lets a false claim be proved: {_shown(given, goal)}"
            )
    if second:
        _check_others(terms, claim, given, goal, counterexample, sure and not _has_floats(names))
    return said


def _has_floats(names: list[str]) -> bool:
    return any(n in FLOATS for n in names)


def _by_force(given: tuple[Sentence, ...], goal: Sentence, at: Mapping[str, Values]) -> tuple[bool, bool]:
    """Whether there is a counterexample among the points; and whether all values are known there."""
    holds, known = np.array(True), np.array(True)
    for s in given:
        value, sure = value_of(s, at)
        holds, known = holds & value, known & sure
    value, sure = value_of(goal, at)
    return bool(np.any(holds & ~value & known & sure)), bool(np.all(known & sure))


def _check_folding(sentence: Sentence, at: Mapping[str, Values]) -> None:
    """The formula as built, with its folded constants, has the sentence's value."""
    expected, known = value_of(sentence, at)
    for build in (True, False):
        term = term_of(sentence, build=build)
        found, sure = _term_value(term, at)
        wrong = known & sure & ~_identical(np.asarray(found), np.asarray(expected))
        if np.any(wrong):
            point = {n: v[np.argmax(np.broadcast_to(wrong, v.shape))] for n, v in at.items()}
            raise Disagreement("formula-differs", term.op, f"{sentence!r} becomes {term!r}, which differs at {point}")


def _term_value(term: Term, at: Mapping[str, Values]) -> tuple[Values, Values]:
    """A formula's values, by its own operations."""
    return value_of(_sentence(term), at)


def _sentence(term: Term) -> Sentence:
    """A formula as a sentence of the operations that formulas have."""
    args = [_sentence(a) for a in term.args]
    match term.op:
        case "const":
            number = f.value_of(term)
            return ("f16", number) if term.sort == "F16" else bool(number) if term.sort == f.BOOL else number
        case "var":
            return str(term.payload)
        case _:
            return (term.op, *args)


def _check_text(given: tuple[Term, ...], goal: Term, names: list[str]) -> None:
    """What was written is read back: other names, the same formulas."""
    text = query(given, goal).text
    try:
        again_given, again_goal = read(text)
    except NotCanonical as problem:
        raise Disagreement("text-unreadable", "smtlib", f"{problem}:\n{text}") from problem
    if query(again_given, again_goal).text != text:
        raise Disagreement("text-differs", "smtlib", f"reads back as another question:\n{text}")
    back = {short: ours for short, (ours, _) in our_names(query(given, goal)).items()}
    renamed = {f.var(short, _sort(ours)): f.var(ours, _sort(ours)) for short, ours in back.items()}
    at = points_of(names)
    for old, new in zip((*given, f.not_(goal)), (*again_given, f.not_(again_goal)), strict=True):
        one, other = _term_value(old, at)[0], _term_value(f.replace(new, renamed), at)[0]
        if not np.array_equal(np.broadcast_arrays(one, other)[0], np.broadcast_arrays(one, other)[1]):
            raise Disagreement("text-differs", "smtlib", f"{old!r} reads back as {new!r}")


def _sort(name: str) -> str:
    return f.INT if name in INTEGERS else f.BOOL if name in TRUTHS else "F16"


def _check_verdict(
    verdict: Verdict, given: tuple[Sentence, ...], goal: Sentence, counterexample: bool, where: str
) -> str:
    match verdict:
        case Proved():
            if counterexample:
                raise Disagreement("proved-but-false", where, f"{where} proves what is false: {_shown(given, goal)}")
            return "proved"
        case Refuted(model=model):
            at = {n: v[:1] for n, v in points_of(names_of(*given, goal)).items()}
            for name, number in model.values.items():
                if name in at:
                    kind = np.dtype(np.uint16) if name in FLOATS else at[name].dtype
                    at[name] = np.array([number], kind).view(at[name].dtype)
            holds = all(np.all(v | ~k) for v, k in (value_of(s, at) for s in given))
            value, known = value_of(goal, at)
            if not holds or np.any(value & known):
                shown = {n: v[0] for n, v in at.items()}
                raise Disagreement(
                    "refuted-without-reason", where, f"{shown} is no counterexample: {_shown(given, goal)}"
                )
            return "refuted"
    return "unknown"


def _rewritings(given: tuple[Term, ...], goal: Term) -> list[tuple[str, tuple[tuple[Term, ...], Term]]]:
    found = []
    if has_hard_operations(*given, goal):
        found.append(("partly_known", generalised(*partly_known(Deduction(Solver().ask, given, goal), given))))
    if any(has_floats(t) for t in (*given, goal)):
        found.append(("congruence", generalised(given, goal, WITHOUT_FLOATS)))
    return found


def generalised(given: tuple[Term, ...], goal: Term, hidden: Hidden) -> tuple[tuple[Term, ...], Term]:
    """A question without what is hidden."""
    *premises, claim = generalise((*given, goal), hidden)
    return tuple(premises), claim


@cache
def _solvers() -> tuple[Any, ...]:
    return ("z3", "cvc5") if importlib.util.find_spec("cvc5") is not None else ("z3",)


def _check_others(
    terms: tuple[Term, ...],
    claim: Term,
    given: tuple[Sentence, ...],
    goal: Sentence,
    counterexample: bool,
    sure: bool,
) -> None:
    """Z3 and cvc5, asked from scratch; ``sure``: what was tried is all there is."""
    text = standalone(terms, claim)
    for solver in _solvers():
        answer = ask(solver, text, 600_000)
        if answer.verdict == "unsat" and counterexample:
            raise Disagreement("proved-but-false", f"recheck {solver}", f"it is false: {_shown(given, goal)}")
        if answer.verdict == "sat" and sure and not counterexample:
            raise Disagreement("refuted-without-reason", f"recheck {solver}", f"it is true: {_shown(given, goal)}")


def _shown(given: tuple[Sentence, ...], goal: Sentence) -> str:
    return f"given {given!r}\nthe goal {goal!r}"
