"""Hypothesis strategies for scalars and expressions of every type, shared by the tests.

``scalars(dtype)`` draws values: the awkward ones (zeros of both signs, infinities, NaN, subnormals, ends of ranges) and
any bit pattern.  ``expressions(dtype, depth, sources)`` draws well-typed expressions over the variables and buffers of
a :class:`Sources`; nothing keeps them from dividing by zero or leaving a buffer, so a test sees that too.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.semantics.oracles import interesting_floats, interesting_integers
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, INT32, DType
from verified_tir.ir.expr import (
    ArithmeticOp,
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    CompareOp,
    Expr,
    IfThenElse,
    IntImm,
    LetExpr,
    Load,
    LogicOp,
    Not,
    Ramp,
    Select,
    Shuffle,
    Undef,
    Var,
    const,
)  # fmt: skip
from verified_tir.semantics.values import UNDEF, Number, Scalar

INTEGERS = tuple(DType(code, bits) for code in ("int", "uint") for bits in (8, 16, 32, 64))
FLOATS = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)
SCALARS = (*INTEGERS, BOOL, *FLOATS)

INTERPRETED_CALLS = (
    "fma", "sqrt", "abs", "floor", "ceil", "trunc", "nearbyint", "round", "isnan", "isinf", "isfinite", "bitwise_not",
    "reinterpret", "popcount", "clz", "likely",
)  # fmt: skip
INTEGER_OPS: tuple[BinaryOp, ...] = tuple(op for op in get_args(ArithmeticOp) if op != "div")
FLOAT_OPS: tuple[BinaryOp, ...] = ("add", "sub", "mul", "div", "min", "max")
BIT_OPS: tuple[BinaryOp, ...] = ("bitand", "bitor", "bitxor")
UNINTERPRETED_CALLS = tuple(op for op in PURE_CALLS if op not in INTERPRETED_CALLS)

# ---------------------------------------------------------------------------------------------------------- values


def float_of_bits(dtype: DType, bits: int) -> float:
    """The float of type ``dtype`` with these bits, as a Python float."""
    if dtype is BFLOAT16:
        bits, dtype = bits << 16, FLOAT32
    unsigned, real = {16: ("<H", "<e"), 32: ("<I", "<f"), 64: ("<Q", "<d")}[dtype.bits]
    return float(struct.unpack(real, struct.pack(unsigned, bits))[0])


def numbers(dtype: DType) -> st.SearchStrategy[Number]:
    """A value of a scalar type: awkward or arbitrary."""
    if dtype.is_bool:
        return st.booleans()
    if dtype.is_float:
        return st.one_of(
            st.sampled_from(interesting_floats(dtype)),
            st.integers(0, (1 << dtype.bits) - 1).map(lambda bits: float_of_bits(dtype, bits)),
            st.integers(-20, 20).map(lambda k: k / 4),
        )
    return st.one_of(
        st.sampled_from(interesting_integers(dtype)),
        st.integers(max(dtype.min_value, -9), 9),
        st.integers(dtype.min_value, dtype.max_value),
    )


def scalars(dtype: DType, *, undef: bool = True) -> st.SearchStrategy[Scalar]:
    """A value of a scalar type, now and then ``UNDEF``."""
    known = numbers(dtype)
    if not undef:
        return known
    return st.integers(0, 9).flatmap(lambda k: st.just(UNDEF) if k == 9 else known)


# ----------------------------------------------------------------------------------------------------- expressions


@dataclass(frozen=True)
class Sources:
    """What expressions are made of: scalar variables, buffers, constants, and (if ``undef``) ``T.undef()``.

    ``calls`` are the pure calls that may occur.
    """

    variables: tuple[Var, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    undef: bool = True
    calls: tuple[str, ...] = INTERPRETED_CALLS


@st.composite
def expressions(draw: DrawFn, dtype: DType, depth: int, sources: Sources) -> Expr:
    """A well-typed expression of ``dtype`` (which may have lanes), at most ``depth`` operators deep."""
    return _expression(draw, dtype, depth, sources)


def _expression(draw: DrawFn, dtype: DType, depth: int, sources: Sources) -> Expr:
    if depth <= 0:
        return _leaf(draw, dtype, sources)
    production = draw(st.sampled_from(_productions(dtype)))
    return production(draw, dtype, depth, sources)


Production = Callable[[DrawFn, DType, int, Sources], Expr]


def _productions(dtype: DType) -> list[Production]:
    found: list[Production] = [_arithmetic, _arithmetic, _arithmetic, _choice, _cast, _let, _call, _indexed, _as_leaf]
    if dtype.is_bool:
        found = [
            _comparison,
            _comparison,
            _logic,
            _logic,
            _negation,
            _bits,
            _choice,
            _cast,
            _let,
            _call,
            _indexed,
            _as_leaf,
        ]
    if dtype.lanes > 1:
        found += [_vector, _vector]
    else:
        found.append(_shuffle)
    return found


def _as_leaf(draw: DrawFn, dtype: DType, depth: int, sources: Sources) -> Expr:
    return _leaf(draw, dtype, sources)


def _leaf(draw: DrawFn, dtype: DType, sources: Sources) -> Expr:
    """A variable, a load, a constant or ``undef``."""
    made: list[Callable[[], Expr]] = [lambda: _constant(draw, dtype)]
    same = [v for v in sources.variables if v.dtype is dtype]
    if same:
        made += [lambda: draw(st.sampled_from(same))] * 3
    stored = [b for b in sources.buffers if b.dtype is dtype]
    if stored:
        made += [lambda: _load(draw, draw(st.sampled_from(stored)), ())] * 3
    if sources.undef and draw(st.integers(0, 11)) == 11:
        return Undef(dtype)
    if dtype.lanes > 1:
        made = [lambda: _vector(draw, dtype, 0, sources), *made[1:]]
    return draw(st.sampled_from(made))()


def _constant(draw: DrawFn, dtype: DType) -> Expr:
    return const(draw(numbers(dtype.scalar)), dtype)


def _load(draw: DrawFn, buffer: Buffer, last: tuple[Expr, ...]) -> Expr:
    """An element, mostly in bounds."""
    indices: list[Expr] = []
    for extent in buffer.shape[: len(buffer.shape) - len(last)]:
        size = extent.value if isinstance(extent, IntImm) else 4
        indices.append(const(draw(st.integers(0, size - 1 if draw(st.integers(0, 15)) < 15 else size))))
    return Load(buffer, (*indices, *last))


def _indexed(draw: DrawFn, dtype: DType, depth: int, sources: Sources) -> Expr:
    """An element at a computed index, which is in bounds if it is defined, mostly."""
    stored = [b for b in sources.buffers if b.dtype is dtype and len(b.shape) == 1]
    if not stored:
        return _leaf(draw, dtype, sources)
    buffer = draw(st.sampled_from(stored))
    index = _expression(draw, INT32, depth - 1, sources)
    if draw(st.integers(0, 7)) < 7:
        index = Binary("floormod", index, buffer.shape[0])
    return Load(buffer, (index,))


def _arithmetic(draw: DrawFn, dtype: DType, depth: int, sources: Sources) -> Expr:
    op = draw(st.sampled_from(INTEGER_OPS if dtype.is_int else FLOAT_OPS))
    return Binary(op, _expression(draw, dtype, depth - 1, sources), _expression(draw, dtype, depth - 1, sources))


def _bits(draw: DrawFn, dtype: DType, depth: int, sources: Sources) -> Expr:
    op = draw(st.sampled_from(BIT_OPS))
    return Binary(op, _expression(draw, dtype, depth - 1, sources), _expression(draw, dtype, depth - 1, sources))


def _comparison(draw: DrawFn, dtype: DType, depth: int, sources: Sources) -> Expr:
    operand = draw(st.sampled_from(_likely_types(sources))).with_lanes(dtype.lanes)
    a, b = _expression(draw, operand, depth - 1, sources), _expression(draw, operand, depth - 1, sources)
    return Binary(draw(st.sampled_from(get_args(CompareOp))), a, b)


def _likely_types(sources: Sources) -> Sequence[DType]:
    """The types that sources have: a comparison of anything else would be one of constants."""
    present = [v.dtype.scalar for v in sources.variables] + [b.dtype.scalar for b in sources.buffers]
    return list(dict.fromkeys(present)) or SCALARS


def _logic(draw: DrawFn, dtype: DType, depth: int, sources: Sources) -> Expr:
    a, b = _expression(draw, dtype, depth - 1, sources), _expression(draw, dtype, depth - 1, sources)
    return Binary(draw(st.sampled_from(get_args(LogicOp))), a, b)


def _negation(draw: DrawFn, dtype: DType, depth: int, sources: Sources) -> Expr:
    return Not(_expression(draw, dtype, depth - 1, sources))


def _choice(draw: DrawFn, dtype: DType, depth: int, sources: Sources) -> Expr:
    lazy = draw(st.booleans())
    lanes = 1 if lazy or draw(st.booleans()) else dtype.lanes
    condition = _expression(draw, BOOL.with_lanes(lanes), depth - 1, sources)
    a, b = _expression(draw, dtype, depth - 1, sources), _expression(draw, dtype, depth - 1, sources)
    return IfThenElse(condition, a, b) if lazy else Select(condition, a, b)


def _cast(draw: DrawFn, dtype: DType, depth: int, sources: Sources) -> Expr:
    source = draw(st.sampled_from(_likely_types(sources))).with_lanes(dtype.lanes)
    return Cast(dtype, _expression(draw, source, depth - 1, sources))


def _let(draw: DrawFn, dtype: DType, depth: int, sources: Sources) -> Expr:
    lanes = draw(st.sampled_from([1, dtype.lanes]))
    bound = _expression(draw, draw(st.sampled_from(_likely_types(sources))).with_lanes(lanes), depth - 1, sources)
    var = Var.fresh("t", bound.dtype)
    inside = replace(sources, variables=(*sources.variables, var))
    return LetExpr(var, bound, _expression(draw, dtype, depth - 1, inside))


def _call(draw: DrawFn, dtype: DType, depth: int, sources: Sources) -> Expr:
    made = [(op, operand) for op in sources.calls for operand in call_operands(op, dtype)]
    if not made:
        return _leaf(draw, dtype, sources)
    op, operand = draw(st.sampled_from(made))
    args = tuple([_expression(draw, operand, depth - 1, sources) for _ in range(PURE_CALLS[op].arity)])
    return Call(dtype, op, args)


def call_operands(op: str, result: DType) -> list[DType]:
    """The operand types with which a pure call gives ``result``, lane by lane."""
    info = PURE_CALLS[op]
    if info.result == "same":
        candidates: tuple[DType, ...] = (result.scalar,)
    elif info.result == "bool":
        candidates = SCALARS if result.is_bool else ()
    elif op == "reinterpret":
        candidates = tuple(t for t in SCALARS if t.bits == result.bits)
    else:
        candidates = SCALARS if result.is_int else ()
    fits = {"float": FLOATS, "int": INTEGERS, "number": (*INTEGERS, *FLOATS), "any": SCALARS}[info.operands]
    return [t.with_lanes(result.lanes) for t in candidates if t in fits]


def _vector(draw: DrawFn, dtype: DType, depth: int, sources: Sources) -> Expr:
    """A ramp, a broadcast, a shuffle, or a load of several elements, any of them perhaps out of bounds."""
    made = ["broadcast"]
    if dtype.is_int:
        made += ["ramp", "ramp"]
    if depth > 0:
        made.append("shuffle")
    stored = [b for b in sources.buffers if b.shape and dtype is b.dtype.with_lanes(dtype.lanes)]
    stored = [b for b in stored if dtype.lanes % b.dtype.lanes == 0 and dtype.lanes > b.dtype.lanes]
    if stored:
        made += ["load", "load"]
    match draw(st.sampled_from(made)):
        case "ramp":
            base = _expression(draw, dtype.scalar, depth - 1, sources)
            return Ramp(base, _constant(draw, dtype.scalar), dtype.lanes)
        case "shuffle":
            return _shuffle(draw, dtype, depth, sources)
        case "load":
            buffer = draw(st.sampled_from(stored))
            start = const(draw(st.integers(0, 1)), INT32)
            ramp = Ramp(start, const(draw(st.sampled_from([1, 1, 2]))), dtype.lanes // buffer.dtype.lanes)
            return _load(draw, buffer, (ramp,))
    return Broadcast(_expression(draw, dtype.scalar, depth - 1, sources), dtype.lanes)


def _shuffle(draw: DrawFn, dtype: DType, depth: int, sources: Sources) -> Expr:
    """Some lanes of one or two vectors (of one lane, if ``dtype`` is a scalar)."""
    widths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
    vectors = tuple([_expression(draw, dtype.with_lanes(n), depth - 1, sources) for n in widths])
    chosen = draw(st.lists(st.integers(0, sum(widths) - 1), min_size=dtype.lanes, max_size=dtype.lanes))
    return Shuffle(vectors, tuple(chosen))
