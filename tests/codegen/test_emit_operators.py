"""Every operator, cast and call at every type: machine code against the interpreter's definition of one application."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.codegen.emit_support import Array, Compiled
from tests.semantics.oracles import FLOATS, INTEGERS, interesting_floats, interesting_integers
from tests.semantics.scalars import apply_binary, apply_call, apply_cast
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import BOOL, DType, PointerType
from verified_tir.ir.expr import (
    COMPARE_OPS,
    Binary,
    Broadcast,
    Call,
    Cast,
    Expr,
    Load,
    Not,
    Ramp,
    Select,
    Var,
)
from verified_tir.ir.float_bits import round_to
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.stmt import For, Store, seq
from verified_tir.ir.sugar import ARITHMETIC_OPS, const
from verified_tir.semantics.errors import UndefinedBehaviour
from verified_tir.semantics.interpreter.outcome import same_bits
from verified_tir.semantics.intrinsics import EXPANDED, has_expansion
from verified_tir.semantics.values import UNDEF

LANES = 4
TYPES = (*INTEGERS, *FLOATS, BOOL)


def values(dtype: DType) -> list[Any]:
    """Awkward values of a type."""
    if dtype.is_bool:
        return [False, True]
    return interesting_floats(dtype) if dtype.is_float else interesting_integers(dtype)


def array_of(dtype: DType, items: Sequence[Any]) -> Array:
    """An array, its length a multiple of the vector length (the last item repeated)."""
    padded = list(items) + [items[-1]] * (-len(items) % LANES)
    if dtype.is_float:
        with np.errstate(all="ignore"):
            return np.array(padded, np.float64).astype(numpy_dtype(dtype))
    return np.array(padded, numpy_dtype(dtype))


def elementwise(sources: Sequence[DType], target: DType, count: int, f: Callable[..., Expr], lanes: int) -> PrimFunc:
    """``C[i] = f(A0[i], A1[i], …)``, one element or a vector of them at a time."""
    inputs = [Buffer.declare(f"A{k}", (count,), s) for k, s in enumerate(sources)]
    out = Buffer.declare("C", (count,), target)
    i = Var.fresh("i")
    place = i if lanes == 1 else Ramp(i * lanes, const(1), lanes)
    body = Store(out, f(*[Load(a, (place,)) for a in inputs]), (place,))
    params = tuple(Var.fresh(b.name, PointerType(b.dtype)) for b in (*inputs, out))
    loop = For(i, const(0), const(count // lanes), body)
    return PrimFunc("f", params, tuple(zip(params, (*inputs, out), strict=True)), loop)


def agree(
    sources: Sequence[DType], target: DType, rows: Sequence[tuple[Any, ...]], expected: Sequence[Any],
    f: Callable[..., Expr], widths: Sequence[int] = (1, LANES),
) -> None:  # fmt: skip
    """Machine code gives the expected values (``UNDEF`` stands for any), as scalars and as vectors."""
    known = [(row, e) for row, e in zip(rows, expected, strict=True) if e is not UNDEF]
    assert known
    columns = [array_of(s, [row[k] for row, _ in known]) for k, s in enumerate(sources)]
    want = array_of(target, [e for _, e in known])
    for lanes in widths:
        found = np.zeros(len(want), numpy_dtype(target))
        arguments = {f"A{k}": column for k, column in enumerate(columns)} | {"C": found}
        assert Compiled(elementwise(sources, target, len(want), f, lanes))(arguments) == 0
        same = same_bits(want, found)
        bad = int(np.argmin(same))
        assert same.all(), f"{lanes} lanes: {[c[bad] for c in columns]} gives {found[bad]!r}, should be {want[bad]!r}"


def result_of(f: Callable[..., tuple[Any, bool]], *args: Any) -> Any:
    """A value, or UNDEF where there is none or the program would have no meaning."""
    try:
        return f(*args)[0]
    except UndefinedBehaviour:
        return UNDEF


@pytest.mark.sample(13)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", [op for op in ARITHMETIC_OPS if op != "div"])
def test_integer_arithmetic(op: Any, dtype: DType) -> None:
    rows = list(product(values(dtype), repeat=2))
    agree(
        [dtype, dtype],
        dtype,
        rows,
        [result_of(apply_binary, op, dtype, *row) for row in rows],
        lambda a, b: Binary(op, a, b),
    )


@pytest.mark.sample(8)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "min", "max"])
def test_float_arithmetic(op: Any, dtype: DType) -> None:
    rows = list(product(values(dtype), repeat=2))
    agree(
        [dtype, dtype],
        dtype,
        rows,
        [result_of(apply_binary, op, dtype, *row) for row in rows],
        lambda a, b: Binary(op, a, b),
    )


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_comparisons(dtype: DType) -> None:
    rows = list(product(values(dtype), repeat=2))
    for op in COMPARE_OPS:
        want = [apply_binary(op, dtype, *row)[0] for row in rows]  # type: ignore[arg-type]
        agree([dtype, dtype], BOOL, rows, want, lambda a, b, op=op: Binary(op, a, b))


@pytest.mark.nightly
@pytest.mark.sample(2)
@pytest.mark.parametrize("source", TYPES, ids=str)
def test_casts(source: DType) -> None:
    for target in TYPES:
        rows = [(v,) for v in values(source)]
        want = [apply_cast(source, target, v)[0] for (v,) in rows]
        agree([source], target, rows, want, lambda a, t=target: Cast(t.with_lanes(a.dtype.lanes), a))


@pytest.mark.sample(2)
@pytest.mark.parametrize("source", [np.float64, np.float32, np.int64, np.uint64, np.int32, np.uint32], ids=str)
def test_casts_to_narrow_floats_near_ties(source: Any) -> None:
    """Values on and beside the middle between two neighbours of float16 and bfloat16, where rounding twice shows."""
    rng = np.random.default_rng(7)
    kind = DType.parse(np.dtype(source).name)
    for target in FLOATS[:2]:
        patterns = rng.integers(0, 0x7C00 if target.code == "float" else 0x7F7F, 300, dtype=np.uint16)
        bits = np.stack([patterns, patterns + 1])
        low, high = bits.view(numpy_dtype(target)).astype(np.float64)
        middle = (low + high) / 2
        exact = np.concatenate([np.nextafter(middle, 0), middle, np.nextafter(middle, np.inf), middle * (1 + 2**-23)])
        if kind.is_float:
            rows = [(float(x),) for x in np.concatenate([exact, -exact]).astype(source)]
        else:
            top = 2 ** (kind.bits - 1) - 1
            shift = [int(rng.integers(0, kind.bits - 9)) for _ in exact]
            whole = [
                (257 + 2 * int(x) % 256) << s for x, s in zip(rng.integers(0, 128, len(exact)), shift, strict=True)
            ]
            near = [w + d for w in whole for d in (-1, 0, 1) if 0 <= w + d <= top]
            rows = [(x,) for x in near] + ([(-x,) for x in near] if kind.code == "int" else [])
        want = [apply_cast(kind, target, v)[0] for (v,) in rows]
        agree([kind], target, rows, want, lambda a, t=target: Cast(t.with_lanes(a.dtype.lanes), a))


@pytest.mark.nightly
@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_calls(dtype: DType) -> None:
    halves = [k / 2 for k in range(-9, 10)] + [0.5 - 2.0**-k for k in (9, 12, 25, 54)]
    rows = [(round_to(dtype, v),) for v in (*values(dtype), *halves)]
    for op in ("sqrt", "abs", "floor", "ceil", "trunc", "nearbyint", "round", "isnan", "isinf", "isfinite", "likely"):
        result = BOOL if op.startswith("is") else dtype
        want = [apply_call(op, dtype, row, result)[0] for row in rows]
        agree([dtype], result, rows, want, lambda a, op=op, t=result: Call(t.with_lanes(a.dtype.lanes), op, (a,)))


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_fused_multiply_add(dtype: DType) -> None:
    some = values(dtype)[:: 1 if len(values(dtype)) < 20 else 2]
    rng = np.random.default_rng(3)
    kind = numpy_dtype(dtype)
    drawn = rng.integers(0, 2**dtype.bits - 1, (2000, 3), dtype=np.uint64).astype(f"u{dtype.bits // 8}").view(kind)
    near = rng.integers(-600, 600, (500, 2)).astype(np.float64).astype(kind).astype(np.float64)
    cancelling = [(a, b, -a * b + d) for a, b in near for d in (0.0, 0.5, 2.0**-20)]
    rows: list[tuple[float, ...]] = [*product(some, repeat=3), *[tuple(map(float, r)) for r in drawn]]
    rows += [(float(a), float(b), round_to(dtype, float(c))) for a, b, c in cancelling]
    # a product halfway between two numbers of the type, and an addend too small for a double beside it
    rows += [(3.0, b, c * s) for b in (87.0, 683.0, 5592407.0) for c in (2.0**-24, 2.0**-100) for s in (-1, 0, 1)]
    rows = [tuple(round_to(dtype, v) for v in row) for row in rows]
    want = [apply_call("fma", dtype, row)[0] for row in rows]
    agree([dtype] * 3, dtype, rows, want, lambda a, b, c: Call(a.dtype, "fma", (a, b, c)))


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_calls(dtype: DType) -> None:
    rows = [(v,) for v in values(dtype)]
    for op, result in (
        ("abs", dtype),
        ("bitwise_not", dtype),
        ("popcount", dtype),
        ("clz", dtype),
        ("clz", INTEGERS[2]),
    ):
        want = [apply_call(op, dtype, row, result)[0] for row in rows]
        agree([dtype], result, rows, want, lambda a, op=op, t=result: Call(t.with_lanes(a.dtype.lanes), op, (a,)))


@pytest.mark.sample(8)
@pytest.mark.parametrize("source", TYPES, ids=str)
def test_reinterpret(source: DType) -> None:
    for target in TYPES:
        if target.nbytes == source.nbytes and (target.is_bool == source.is_bool):
            rows = [(v,) for v in values(source)]
            want = [apply_call("reinterpret", source, row, target)[0] for row in rows]
            agree(
                [source], target, rows, want,
                lambda a, t=target: Call(t.with_lanes(a.dtype.lanes), "reinterpret", (a,)),
            )  # fmt: skip


@pytest.mark.sample(5)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_select_and_not(dtype: DType) -> None:
    rows = [(c, a, b) for c in (False, True) for a, b in product(values(dtype)[:6], repeat=2)]
    agree([BOOL, dtype, dtype], dtype, rows, [a if c else b for c, a, b in rows], Select)
    agree([BOOL], BOOL, [(False,), (True,)], [True, False], Not)


@pytest.mark.parametrize("op", ["and", "or", "bitand", "bitor", "bitxor", "eq", "ne", "lt", "le", "gt", "ge"])
def test_bools(op: Any) -> None:
    rows = list(product((False, True), repeat=2))
    want = [apply_binary(op, BOOL, *row)[0] for row in rows]
    agree([BOOL, BOOL], BOOL, rows, want, lambda a, b: Binary(op, a, b))


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_transcendental_calls(dtype: DType) -> None:
    """The interpreter evaluates the definition, machine code is compiled from it; every exponent, every special."""
    rng = np.random.default_rng(23)
    kind = numpy_dtype(dtype)
    drawn = rng.integers(0, 2**dtype.bits - 1, 150, dtype=np.uint64).astype(f"u{dtype.bits // 8}").view(kind)
    near = [*rng.uniform(-90, 90, 100), *rng.uniform(-2, 2, 100)]
    numbers = [*values(dtype), *map(float, drawn), *[round_to(dtype, x) for x in near]]
    for k, op in enumerate(sorted(op for op in EXPANDED if has_expansion(op, dtype))):
        arity, widths = PURE_CALLS[op].arity, [(1,), (LANES,)][(k + FLOATS.index(dtype)) % 2]
        rows = list(zip(*[rng.permutation(np.array(numbers)).tolist() for _ in range(arity)], strict=True))
        want = [apply_call(op, dtype, row)[0] for row in rows]
        agree([dtype] * arity, dtype, rows, want, lambda *a, op=op: Call(a[0].dtype, op, a), widths)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_constants(dtype: DType) -> None:
    """Every awkward value as a constant, alone and in each lane."""
    numbers = values(dtype)
    out = Buffer.declare("B", (len(numbers), LANES), dtype)
    ramp = Ramp(const(0), const(1), LANES - 1)
    body = seq(
        *[Store(out, const(v, dtype), (const(k), const(LANES - 1))) for k, v in enumerate(numbers)],
        *[Store(out, Broadcast(const(v, dtype), LANES - 1), (const(k), ramp)) for k, v in enumerate(numbers)],
    )
    param = Var.fresh("B", PointerType(dtype))
    found = np.zeros((len(numbers), LANES), numpy_dtype(dtype))
    assert Compiled(PrimFunc("f", (param,), ((param, out),), body))({"B": found}) == 0
    want = np.repeat(array_of(dtype, numbers)[: len(numbers), None], LANES, axis=1)
    assert same_bits(want, found).all()
