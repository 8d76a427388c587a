"""Questions to Z3 about small terms.

A pair of terms is written in the logic, inputs as variables; an input of an integer type is bounded by it.  Operators
that the logic does not have (transcendental functions, shifts, bits) become uninterpreted, keyed by operator and type.
A term that may be undef is asked about with one more formula: where it is defined.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, final

from verified_tir.ir.dtype import FLOATS, DType
from verified_tir.logic import formula as logic
from verified_tir.logic.formula import Term
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Refuted, Unknown
from verified_tir.validate.terms import MAY_UNDEF, Terms, arity, beneath, is_leaf

LARGEST_CONE: Final = 40
LARGEST_CHOICE: Final = 240
MOST_PRODUCTS: Final = 12
"""Products of unknown integers beneath two terms, beyond which Z3 is not asked: it may take minutes within any budget,
and decides little that the normal form of polynomials does not."""
MOST_QUESTIONS: Final = 24
MOST_FLAGS: Final = 64
"""Conditions of undefined behaviour that inputs are sought for."""
MOST_UNDECIDED: Final = 3
"""Each takes all of the budget, and where a few are too hard, the others are too."""
_CHOOSING: Final = frozenset({"lt", "le", "eq", "ite", "not", "min", "max", "isnan", "isinf", "isfinite"})
_FLOATS: Final = {"add": "fp.add", "sub": "fp.sub", "mul": "fp.mul", "div": "fp.div", "fma": "fp.fma"}
_DIVISIONS: Final = {
    "floordiv": logic.floordiv, "floormod": logic.floormod, "truncdiv": logic.truncdiv, "truncmod": logic.truncmod,
}  # fmt: skip


Inputs: TypeAlias = dict[tuple[int, int], int]
"""Values of inputs, floats as bits: by position of the parameter, and by number of the scalar in it."""


_Pair: TypeAlias = tuple[Term, Term]
"""A term's value, and where it is defined."""


class NotExpressible(Exception):
    """The logic has no words for a term."""


@final
class Question:
    """Asks about terms, given that *before* has no undefined behaviour; at most :data:`MOST_QUESTIONS` times."""

    def __init__(self, terms: Terms, solver: Solver, undefined: Mapping[tuple[int, int], str]) -> None:
        self.terms, self.solver, self.undefined = terms, solver, undefined
        self.asked = self.undecided = 0

    def cone(self, *roots: int, most: int = LARGEST_CHOICE) -> list[int]:
        """The terms beneath some, operands first; more than the limit are not listed."""
        return beneath(roots, self.terms.below, most)

    def small(self, pair: tuple[int, int]) -> bool:
        """Whether there are few terms beneath two."""
        return len(self.cone(*pair, most=LARGEST_CONE)) <= LARGEST_CONE

    def chosen(self, pair: tuple[int, int]) -> bool:
        """Whether both terms only compare and choose, which Z3 decides for many more terms."""
        found = self.cone(*pair)
        return len(found) <= LARGEST_CHOICE and all(
            is_leaf(op) or op in _CHOOSING for op in map(self.terms.op_of, found)
        )

    def _products(self, *roots: int) -> int:
        """How many products of two unknown integers there are beneath some terms."""
        return sum(
            self.terms.op_of(t) == "mul"
            and self.terms.result_dtype(t).is_int
            and not any(self.terms.op_of(x) == "const" for x in self.terms.operands(t)[:2])
            for t in self.cone(*roots)
        )

    def equal(self, a: int, b: int) -> bool:
        """Whether, where ``a`` is defined, ``b`` is defined and has its bits."""
        found = self._translated(a, b) if self._products(a, b) <= MOST_PRODUCTS else None
        if found is None:
            return False
        (x, there), (y, here), memo = found
        return x.sort == y.sort and self._prove(logic.implies(there, logic.and_(here, logic.eq(x, y))), memo)

    def implied(self, guard: int, condition: int) -> bool:
        """Whether undefined behaviour of *after* is undefined behaviour of *before* too."""
        found = self._translated(guard, condition) if self.small((guard, condition)) else None
        return found is not None and self._prove(_not_both(*found[:2]), found[2])

    def _translated(self, a: int, b: int) -> tuple[_Pair, _Pair, dict[int, _Pair]] | None:
        """Two terms in the logic; ``None`` if it has no words for them."""
        memo: dict[int, _Pair] = {}
        try:
            return self._pair(a, memo), self._pair(b, memo), memo
        except NotExpressible:
            return None

    def _prove(self, goal: Term, memo: dict[int, _Pair]) -> bool:
        if goal is logic.TRUE:
            return True
        self.asked += 1
        if self.asked > MOST_QUESTIONS or self.undecided >= MOST_UNDECIDED:
            return False
        verdict = self.solver.prove(self._given(self._relevant(set(memo)), memo), goal)
        self.undecided += isinstance(verdict, Unknown)
        return isinstance(verdict, Proved)

    def _given(self, flags: Iterable[tuple[int, int]], memo: dict[int, _Pair]) -> tuple[Term, ...]:
        """That some conditions of undefined behaviour are false, and the bounds of all integers that are mentioned."""
        given = []
        for pair in flags:
            if self.small(pair):
                try:
                    given.append(_not_both(self._pair(pair[0], memo), self._pair(pair[1], memo)))
                except NotExpressible:
                    continue
        for term, (formula, _) in memo.items():
            dtype = self.terms.result_dtype(term)
            if formula.sort == logic.INT and formula.op in ("var", "app"):
                low, high = logic.integer(dtype.min_value), logic.integer(dtype.max_value)
                given.append(logic.and_(logic.le(low, formula), logic.le(formula, high)))
        return tuple(given)

    # ------------------------------------------------------------------------------------------------- inputs

    def different(self, a: int, b: int) -> Inputs | None:
        """Inputs with which ``a`` is defined, and ``b`` is not or has other bits, if Z3 finds some soon."""
        if self._products(a, b) > MOST_PRODUCTS or not (self.small((a, b)) or self.chosen((a, b))):
            return None
        found = self._translated(a, b)
        if found is None:
            return None
        (x, there), (y, here), memo = found
        if x.sort != y.sort:
            return None if y.sort != logic.INT or here is not logic.FALSE else self._inputs(logic.not_(there), memo)
        return self._inputs(logic.implies(there, logic.and_(here, logic.eq(x, y))), memo)

    def both(self, guard: int, condition: int) -> Inputs | None:
        """Inputs with which two conditions hold: a way to undefined behaviour of *after*."""
        found = self._translated(guard, condition) if self.small((guard, condition)) else None
        return None if found is None else self._inputs(_not_both(*found[:2]), found[2])

    def any(self) -> Inputs | None:
        """Inputs with which *before* may have a meaning: none of its conditions of undefined behaviour holds."""
        return self._inputs(logic.FALSE, {})

    def _inputs(self, goal: Term, memo: dict[int, _Pair]) -> Inputs | None:
        """Inputs that refute a goal and violate no condition of *before*.

        What the logic knows nothing about may still be otherwise, so these are worth a run and prove nothing.
        """
        flags = itertools.islice(self.undefined, MOST_FLAGS)
        verdict = self.solver.prove(self._given(flags, memo), goal)
        if not isinstance(verdict, Refuted):
            return None
        values, found = verdict.model.values, {}
        for term in memo:
            op = self.terms.op_of(term)
            if op.startswith("input:") and f"x{term}" in values:
                found[int(op.removeprefix("input:")), int(self.terms.columns[1, term])] = values[f"x{term}"]
        return found

    def _relevant(self, mentioned: set[int]) -> list[tuple[int, int]]:
        """Conditions of undefined behaviour to mention: about something in the question, the first of them."""
        flags = (p for p in self.undefined if not mentioned.isdisjoint(self.cone(*p, most=LARGEST_CONE)))
        return list(itertools.islice(flags, 2 * MOST_QUESTIONS))

    # ------------------------------------------------------------------------------------------- translation

    def _pair(self, root: int, memo: dict[int, _Pair]) -> _Pair:
        """A term's value, and where it is defined."""
        for term in self.cone(root):
            if term not in memo:
                memo[term] = self._translate(term, memo)
        return memo[root]

    def _translate(self, term: int, memo: dict[int, _Pair]) -> _Pair:
        terms = self.terms
        op, dtype = terms.op_of(term), terms.dtype_of(term)
        if op == "undef":
            return logic.integer(0), logic.FALSE
        if op == "const":
            return _constant(terms, term, dtype), logic.TRUE
        if is_leaf(op):
            if terms.flags[term] & MAY_UNDEF:
                raise NotExpressible(op)
            return logic.var(f"x{term}", _sort(dtype)), logic.TRUE
        operands = terms.operands(term)[: arity(op)]
        values = [memo[k][0] for k in operands]
        if op == "ite":
            return self._choice(operands, memo, dtype)
        defined = logic.and_(*[memo[k][1] for k in operands])
        if op == "is_undef":
            return logic.not_(memo[operands[0]][1]), logic.TRUE
        split = op == "part" and terms.result_dtype(operands[0]).is_float
        if op == "reinterpret" or split or (op.startswith(("cast:float", "cast:bfloat")) and dtype.is_int):
            raise NotExpressible(op)  # may be undefined though its operand is not
        if any(memo[k][1] is logic.FALSE for k in operands):
            return _any(_sort(terms.result_dtype(term)), term), logic.FALSE
        return _apply(op, dtype, terms.result_dtype(term), values), defined

    def _choice(self, operands: tuple[int, ...], memo: dict[int, _Pair], dtype: DType) -> _Pair:
        (c, known), (x, left), (y, right) = (memo[k] for k in operands)
        sort = _sort(dtype)
        x = x if left is not logic.FALSE else _any(sort, operands[1])
        y = y if right is not logic.FALSE else _any(sort, operands[2])
        return logic.ite(c, x, y), logic.and_(known, logic.ite(c, left, right))


def _not_both(one: _Pair, other: _Pair) -> Term:
    """That two conditions do not hold at once."""
    return logic.not_(logic.and_(one[0], other[0]))


def _any(sort: str, term: int) -> Term:
    return logic.var(f"u{term}_{sort}", sort)


def _sort(dtype: DType) -> str:
    if dtype.is_bool:
        return logic.BOOL
    if dtype.is_int:
        return logic.INT
    if not dtype.is_float:
        raise NotExpressible(str(dtype))
    return FLOATS[dtype.scalar].sort


def _constant(terms: Terms, term: int, dtype: DType) -> Term:
    if dtype.is_float:
        bits = int(terms.columns[1, term]) & ((1 << dtype.bits) - 1)
        return logic.floating(_sort(dtype), bits)
    value = terms.value(term)
    return logic.boolean(bool(value)) if dtype.is_bool else logic.integer(int(value))


def _apply(op: str, dtype: DType, result: DType, values: list[Term]) -> Term:
    if op == "not":
        return logic.not_(values[0])
    if op in ("eq", "lt", "le"):
        if dtype.is_float:
            return logic.fp({"eq": "fp.eq", "lt": "fp.lt", "le": "fp.leq"}[op], logic.BOOL, *values)
        if dtype.is_bool and op != "eq":
            first, second = values if op == "lt" else (values[1], values[0])
            less = logic.and_(logic.not_(first), second)
            return less if op == "lt" else logic.not_(less)
        return {"eq": logic.eq, "lt": logic.lt, "le": logic.le}[op](*values)
    if op in ("isnan", "isinf", "isfinite"):
        nan, infinite = logic.fp("fp.isNaN", logic.BOOL, values[0]), logic.fp("fp.isInfinite", logic.BOOL, values[0])
        return {"isnan": nan, "isinf": infinite, "isfinite": logic.not_(logic.or_(nan, infinite))}[op]
    if dtype.is_float and op in _FLOATS:
        return logic.fp(_FLOATS[op], _sort(dtype), *values)
    if dtype.is_int and op in ("add", "sub", "mul"):
        exact = {"add": logic.add, "sub": logic.sub, "mul": logic.mul}[op](*values)
        return logic.wrap(exact, dtype.bits, dtype.code == "int")
    if dtype.is_int and op in _DIVISIONS:
        return logic.wrap(_DIVISIONS[op](*values), dtype.bits, dtype.code == "int")
    if dtype.is_int and op in ("shl", "shr", "bitand"):
        return _by_power(op, dtype, values) or _uninterpreted(op, dtype, result, values)
    if dtype.is_int and op in ("min", "max"):
        a, b = values
        return logic.ite(logic.lt(a, b), a, b) if op == "min" else logic.ite(logic.lt(b, a), a, b)
    if op == "cast:bool":
        return (
            logic.ite(values[0], logic.integer(1), logic.integer(0))
            if dtype.is_int
            else _uninterpreted(op, dtype, result, values)
        )
    if op.startswith(("cast:int", "cast:uint")):
        if dtype.is_int:
            return logic.wrap(values[0], dtype.bits, dtype.code == "int")
        if dtype.is_bool:
            return logic.ne(values[0], logic.integer(0))
    return _uninterpreted(op, dtype, result, values)


def _by_power(op: str, dtype: DType, values: list[Term]) -> Term | None:
    """A shift by a constant, or the bits below a power of two, in integers."""
    x, y = values if values[1].op == "const" or op != "bitand" else reversed(values)
    if y.op != "const":
        return None
    number = logic.value_of(y)
    if op == "bitand":
        power = number + 1
        return logic.floormod(x, logic.integer(power)) if number > 0 and power & number == 0 else None
    if not 0 <= number < dtype.bits:
        return None
    power = 1 << number
    if op == "shr":
        return logic.floordiv(x, logic.integer(power))
    return logic.wrap(logic.mul(x, logic.integer(power)), dtype.bits, dtype.code == "int")


def _uninterpreted(op: str, dtype: DType, result: DType, values: list[Term]) -> Term:
    name = "".join(k if k.isalnum() else "_" for k in f"{op}_{dtype}")
    return logic.app(name, tuple(values), _sort(result))
