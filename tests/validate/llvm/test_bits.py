"""The solver's operators on bits against the definition of each; representatives."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from verified_tir.ir.dtype import BOOL, DType
from verified_tir.logic.smtlib import Script
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Refuted
from verified_tir.semantics.calls import call_operation
from verified_tir.semantics.errors import UndefinedBehaviour
from verified_tir.semantics.operators import binary_operation, cast_operation
from verified_tir.semantics.values import UNDEF
from verified_tir.validate.llvm.bits import Question
from verified_tir.validate.llvm.forms import Forms
from verified_tir.validate.llvm.graph import overflows
from verified_tir.validate.terms import MAY_UNDEF, Terms

SOLVER = Solver(budget=3_000_000)
SPECIAL = (0.0, -0.0, 1.0, -1.5, 2.5, float("inf"), float("nan"), 1e-45, 300.7)
DOUBLE = DType.parse("float64")


def numbers(dtype: DType) -> list[int]:
    """Awkward numbers of an integer type."""
    few = {dtype.min_value, -7, -1, 0, 1, 3, 100, dtype.max_value}
    return sorted(n for n in few if dtype.min_value <= n <= dtype.max_value)


def floats(dtype: DType) -> list[Any]:
    """Awkward numbers of a float type."""
    return [v if dtype is DOUBLE else cast_operation(DOUBLE, dtype)(v) for v in SPECIAL]


def unfolded(terms: Terms, op: str, dtype: DType, *parts: int) -> int:
    """A term with constant operands that nobody has computed."""
    ids, _ = terms.intern(terms.code(op, dtype), *(*parts, 0, 0)[:3])
    terms.flags[ids] = MAY_UNDEF
    return int(ids)


class Cases:
    """Terms and the values that they should have, asked about all at once."""

    def __init__(self) -> None:
        self.terms = Terms()
        self.question = Question(self.terms, self.terms.below)
        self.claims: list[str] = []

    def add(self, op: str, dtype: DType, result: DType, values: Sequence[Any], expected: Any, kind: DType) -> None:
        """``op`` on constants of type ``kind``."""
        parts = [self.terms.constant(kind, v) for v in values]
        value, defined = self.question.term(unfolded(self.terms, op, dtype, *parts), "llvm")
        if expected is UNDEF:
            self.claims.append(f"(not {defined})")
        else:
            wanted, _ = self.question.term(self.terms.constant(result, expected), "llvm")
            self.claims.append(f"(and {defined} (= {value} {wanted}))")

    def check(self) -> None:
        """All claims hold, and they are no contradiction."""
        assert len(self.claims) > 1
        head, claims = "\n".join(self.question.lines), " ".join(self.claims)
        assert isinstance(SOLVER.ask(Script(f"{head}\n(assert (not (and {claims})))\n", {})), Proved)
        assert isinstance(SOLVER.ask(Script(f"{head}\n(assert (and {claims}))\n", {})), Refuted)


INTEGER_OPERATORS = (
    "add", "sub", "mul", "floordiv", "floormod", "truncdiv", "truncmod", "min", "max", "bitand", "bitor", "bitxor",
    "shl", "shr", "eq", "lt", "le",
)  # fmt: skip


@pytest.mark.sample(30)
@pytest.mark.parametrize("name", ["int8", "uint32"])
@pytest.mark.parametrize("op", INTEGER_OPERATORS)
def test_integer_operators(op: str, name: str) -> None:
    cases, dtype = Cases(), DType.parse(name)
    for a, b in product(numbers(dtype), numbers(dtype)):
        try:
            expected = binary_operation(op, dtype)(a, b)  # type: ignore[arg-type]
        except UndefinedBehaviour:
            continue
        cases.add(op, dtype, BOOL if op in ("eq", "lt", "le") else dtype, (a, b), expected, dtype)
    cases.check()


@pytest.mark.parametrize("name", ["float16", "float32"])
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "eq", "lt", "le"])
def test_float_operators(op: str, name: str) -> None:
    cases, dtype = Cases(), DType.parse(name)
    for a, b in product(floats(dtype), floats(dtype)):
        expected = binary_operation(op, dtype)(a, b)  # type: ignore[arg-type]
        cases.add(op, dtype, BOOL if op in ("eq", "lt", "le") else dtype, (a, b), expected, dtype)
    cases.check()


CALLS = ("abs", "sqrt", "floor", "ceil", "trunc", "nearbyint", "round", "isnan", "isinf", "isfinite")


@pytest.mark.parametrize("op", CALLS)
def test_float_calls(op: str) -> None:
    cases, dtype = Cases(), DType.parse("float32")
    result = BOOL if op.startswith("is") else dtype
    for a in floats(dtype):
        cases.add(op, dtype, result, [a], call_operation(op, dtype, result)(a), dtype)
    cases.check()


@pytest.mark.parametrize("op", ["abs", "bitwise_not", "popcount", "clz"])
def test_integer_calls(op: str) -> None:
    cases, dtype = Cases(), DType.parse("int8")
    for a in numbers(dtype):
        cases.add(op, dtype, dtype, [a], call_operation(op, dtype, dtype)(a), dtype)
    cases.check()


CASTS = [(a, b) for a, b in product(("int8", "uint32", "float16", "float32", "bool"), repeat=2) if a != b]


@pytest.mark.parametrize("source, target", CASTS)
def test_casts(source: str, target: str) -> None:
    cases, old, new = Cases(), DType.parse(source), DType.parse(target)
    values: list[Any] = [False, True] if old.is_bool else numbers(old) if old.is_int else [*floats(old), 127.5, 128.0]
    for a in values:
        cases.add(f"cast:{source}", new, new, [a], cast_operation(old, new)(a), old)
    cases.check()


KINDS = ("add", "sub", "mul", "shl", "inexact")


@pytest.mark.parametrize("kind, name", [*product(KINDS, ["int8", "uint8"]), ("disjoint", "uint8"), ("lost", "uint8")])
def test_conditions_of_overflow(kind: str, name: str) -> None:
    cases, dtype = Cases(), DType.parse(name)
    for a, b in product(numbers(dtype), numbers(dtype)):
        if (kind in ("shl", "lost") and not 0 <= b < 8) or (kind == "inexact" and b == 0):
            continue
        cases.add(f"overflow {kind} {name}", BOOL, BOOL, (a, b), overflows(kind, dtype, a, b), dtype)
    cases.check()


# --------------------------------------------------------------------------------------------------- representatives


def test_representatives_do_not_see_signs() -> None:
    terms = Terms()
    signed, unsigned = DType.parse("int32"), DType.parse("uint32")
    x, y = terms.sequence("input:0", signed, 2).tolist()
    forms = Forms(terms)

    def term(op: str, dtype: DType, *parts: int) -> int:
        return unfolded(terms, op, dtype, *parts)

    def same(a: int, b: int) -> bool:
        return forms.of(a) == forms.of(b)

    u, v = term("cast:int32", unsigned, x), term("cast:int32", unsigned, y)
    assert same(term("add", signed, x, y), term("add", unsigned, v, u))
    assert same(
        term("shl", signed, x, terms.constant(signed, 3)), term("mul", unsigned, u, terms.constant(unsigned, 8))
    )
    assert not same(term("lt", signed, x, y), term("lt", unsigned, u, v))
    assert not same(term("shr", signed, x, y), term("shr", unsigned, u, v))
    assert not same(term("sub", signed, x, y), term("sub", signed, y, x))
    byte = term("bitand", signed, x, terms.constant(signed, 255))
    assert same(
        term("lt", signed, byte, terms.constant(signed, 9)), term("lt", unsigned, byte, terms.constant(unsigned, 9))
    )
    assert not same(term("cast:int32", DType.parse("int64"), x), term("cast:uint32", DType.parse("int64"), u))
    assert same(term("cast:int32", DType.parse("int64"), byte), term("cast:uint32", DType.parse("uint64"), byte))


def test_representatives_of_floats_with_constants() -> None:
    terms, dtype = Terms(), DType.parse("float32")
    (x,) = terms.sequence("input:0", dtype, 1).tolist()
    forms = Forms(terms)

    def of(op: str, a: int, b: int, c: int = 0) -> int:
        return forms.of(unfolded(terms, op, dtype, a, b, c))

    def number(value: float) -> int:
        return terms.constant(dtype, value)

    assert of("sub", x, number(3.0)) == of("add", x, number(-3.0))
    assert of("div", x, number(4.0)) == of("mul", x, number(0.25))
    assert of("div", x, number(3.0)) != of("mul", x, number(1 / 3))
    assert of("mul", x, number(2.0)) == of("add", x, x)
    assert of("mul", x, number(-1.0)) == of("sub", number(-0.0), x)
    assert of("sub", number(0.0), x) != of("sub", number(-0.0), x)
    assert of("fma", x, x, number(-0.0)) == of("mul", x, x)
    assert of("fma", x, x, number(0.0)) != of("mul", x, x)
