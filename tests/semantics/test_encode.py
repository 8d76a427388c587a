"""The encoding into logic agrees with the interpreter: every operator on every type.

The operators and the types that they take are read off the IR: ``CELLS`` has one entry for each combination that the
node's constructor accepts, for data (operands loaded from memory) and, with integers, for index arithmetic (operands
are variables).  Each cell is sampled by Hypothesis; the last test prints the table of counts and fails if one is empty.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, product
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.semantics.encode_agreement import KINDS, Sample, disagreement, interpreted
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import BOOL, INT32, DType
from verified_tir.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    Expr,
    IfThenElse,
    LetExpr,
    Load,
    Not,
    Ramp,
    Select,
    Shuffle,
    Undef,
    Var,
)
from verified_tir.ir.floats import exponent_bits, significand_bits
from verified_tir.ir.node import IRError
from verified_tir.ir.sugar import const
from verified_tir.logic.solver import Solver
from verified_tir.semantics.values import UNDEF, Scalar
from verified_tir.testing.dtypes import SCALARS, float_of_bits, scalars
from verified_tir.testing.expressions import UNINTERPRETED_CALLS, call_operands

BATCH = 6
"""Samples of a cell in one query."""

GROUP = 5
"""Cells in one query."""

Build = Callable[..., Expr]


@dataclass(frozen=True)
class Cell:
    """An operator on an operand type: what the table counts, the operands it takes, how to build it."""

    operator: str
    dtype: DType
    operands: tuple[DType, ...]
    build: Build
    index: bool = False

    def __str__(self) -> str:
        return f"{self.operator}-{self.dtype}"

    @property
    def key(self) -> tuple[str, str]:
        return self.operator, str(self.dtype)


def _binary_cells() -> Iterator[Cell]:
    for op in chain.from_iterable(map(get_args, get_args(BinaryOp))):
        for t in SCALARS:
            build = partial(Binary, op)
            try:
                build(Var.fresh("a", t), Var.fresh("b", t))
            except IRError:
                continue
            yield Cell(op, t, (t, t), build)
            if t.is_int:
                yield Cell(f"index {op}", t, (t, t), build, index=True)


def _shaped_cells() -> Iterator[Cell]:
    """Everything but binary operators, casts and calls."""
    yield Cell("Not", BOOL, (BOOL,), Not)
    for t in SCALARS:
        choices = [
            Cell("Select", t, (BOOL, t, t), Select),
            Cell("IfThenElse", t, (BOOL, t, t), IfThenElse),
            Cell("Broadcast", t, (t,), lambda a: Broadcast(a, 3)),
            Cell("Shuffle", t, (t, t), lambda a, b: Shuffle((Broadcast(a, 2), b), (2, 0))),
            Cell("LetExpr", t, (t,), _let),
        ]
        if t.is_int:
            choices.append(Cell("Ramp", t, (t, t), lambda a, b: Ramp(a, b, 4)))
        for c in choices:
            yield c
            if t.is_int:
                yield Cell(f"index {c.operator}", t, c.operands, c.build, index=True)
        yield Cell("Undef", t, (), partial(Undef, t))
        yield Cell("FloatImm" if t.is_float else "index IntImm" if t.is_int else "IntImm", t, (), partial(const, 1, t))


def _let(a: Expr) -> Expr:
    x = Var.fresh("x", a.dtype)
    return LetExpr(x, a, Select(Binary("lt", x, x), a, x))


def _cast_cells() -> Iterator[Cell]:
    for source in SCALARS:
        for target in SCALARS:
            yield Cell(f"cast to {target}", source, (source,), partial(Cast, target))


def _call_cells() -> Iterator[Cell]:
    for op in PURE_CALLS:
        for result in SCALARS:
            for t in call_operands(op, result):
                if op != "clz" or result in (INT32, t):
                    arity = PURE_CALLS[op].arity
                    yield Cell(op, t, (t,) * arity, partial(_call, result, op))


def _call(result: DType, op: str, *args: Expr) -> Expr:
    return Call(result, op, args)


CELLS = [*_binary_cells(), *_shaped_cells(), *_cast_cells(), *_call_cells()]


MEMORY = {t: Buffer.declare(f"data_{t}", (3,), t) for t in SCALARS}
SOLVER = Solver()
VARIABLES = {c: [Var.fresh(f"v{k}", t) for k, t in enumerate(c.operands)] for c in CELLS if c.index}
COUNTS: Counter[tuple[str, str]] = Counter()


def sample(cell: Cell, operands: Sequence[Scalar]) -> Sample:
    """The operator applied to variables or to elements of memory that have these values."""
    if cell.index:
        values = {v: x for v, x in zip(VARIABLES[cell], operands, strict=True) if x is not UNDEF}
        return Sample(cell.build(*VARIABLES[cell]), values)
    elements: dict[Buffer, tuple[Scalar, ...]] = {}
    loads = []
    for t, x in zip(cell.operands, operands, strict=True):
        before = elements.get(MEMORY[t], ())
        loads.append(Load(MEMORY[t], (const(len(before)),)))
        elements[MEMORY[t]] = (*before, x)
    return Sample(cell.build(*loads), {}, elements)


def corners(dtype: DType, few: bool) -> list[Scalar]:
    """The values with which operators have trouble, or the worst of them."""
    if dtype.is_bool:
        return [False, True, UNDEF]
    if dtype.is_float:
        worst: list[Scalar] = [0.0, -0.0, 2.5, math.inf, math.nan, UNDEF]
        least, largest = 1, (((1 << exponent_bits(dtype)) - 1) << (significand_bits(dtype) - 1)) - 1
        edges = [sign * float_of_bits(dtype, bits) for bits in (least, largest) for sign in (1, -1)]
        return worst if few else [*worst, -0.5, 1.0, -math.inf, *edges]
    low, high = dtype.min_value, dtype.max_value
    chosen = [low, -1, high] if few else [low, -2, -1, 0, 1, dtype.bits - 1, dtype.bits, high]
    return [*sorted({v for v in chosen if low <= v <= high}), UNDEF]


def corner_samples(cell: Cell) -> list[Sample]:
    few = len(cell.operands) > 2
    choices = [[x for x in corners(t, few) if x is not UNDEF or not cell.index] for t in cell.operands]
    return [sample(cell, values) for values in product(*choices)]


def _groups() -> dict[str, tuple[Cell, ...]]:
    """Cells in groups of one operator: fewer queries than cells, since a query costs more than a sample."""
    by_operator: dict[str, list[Cell]] = {}
    for c in CELLS:
        by_operator.setdefault(c.operator, []).append(c)
    return {
        f"{operator}-{k // GROUP}": tuple(cells[k : k + GROUP])
        for operator, cells in by_operator.items()
        for k in range(0, len(cells), GROUP)
    }


GROUPS = _groups()


def is_determined(group: str) -> bool:
    """Whether the logic knows the operator's value; of transcendental functions see ``test_encode_calls.py``."""
    return GROUPS[group][0].operator not in UNINTERPRETED_CALLS


@cache
def compare_corners(group: str) -> None:
    """The comparison of ``test_corner_cases``, once in a process."""
    samples = [s for cell in GROUPS[group] for s in corner_samples(cell)]
    for start in range(0, len(samples), 200):
        batch = samples[start : start + 200]
        trouble = disagreement(SOLVER, batch, counts=COUNTS, modes=["folded"], values=is_determined(group))
        assert trouble is None, trouble


@pytest.mark.sample(1)  # ``test_no_cell_is_empty`` looks at all
@pytest.mark.parametrize("group", GROUPS)
def test_corner_cases(group: str) -> None:
    compare_corners(group)


@pytest.mark.sample(16)
@pytest.mark.parametrize("group", GROUPS)
@settings(max_examples=2, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_operator(group: str, data: st.DataObject) -> None:
    samples = [
        sample(cell, [data.draw(scalars(t, undef=not cell.index)) for t in cell.operands])
        for cell in GROUPS[group]
        for _ in range(BATCH)
    ]
    trouble = disagreement(SOLVER, samples, counts=COUNTS, modes=["given"], values=is_determined(group))
    assert trouble is None, trouble


def test_every_kind_of_undefined_behaviour_came_up() -> None:
    """Of operators, that is: these have no indices and no conditions."""
    found = {interpreted(s) for cell in CELLS for s in corner_samples(cell) if not cell.dtype.is_float}
    missing = KINDS.keys() - {kind for kind in found if isinstance(kind, str)}
    assert missing == {"undef-index", "out-of-bounds"}


@pytest.mark.nightly  # compares once more what the other tests do
def test_no_cell_is_empty() -> None:
    """Prints the table (``pytest -s``) and refuses holes in it.  What another process compared is compared again."""
    for group in GROUPS:
        compare_corners(group)
    wanted = sorted({cell.key for cell in CELLS})
    for operator in dict.fromkeys(operator for operator, _ in wanted):
        row = [f"{dtype} {COUNTS[operator, dtype]}" for op, dtype in wanted if op == operator]
        print(f"{operator:>24}: {', '.join(row)}")
    assert [key for key in wanted if COUNTS[key] == 0] == []
