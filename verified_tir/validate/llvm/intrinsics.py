"""Intrinsics on numbers: those that work lane by lane, and those that combine the lanes of a vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from verified_tir.ir.dtype import BOOL, FLOAT32, DType
from verified_tir.validate.llvm.code import Value, is_scalar
from verified_tir.validate.llvm.graph import UNDEF, Lane, integer, signed
from verified_tir.validate.llvm.machine import Machine
from verified_tir.validate.llvm.syntax import FLOATS, FloatType, Instruction, IntType, Type, scalars
from verified_tir.validate.memory import Refused

_FLOAT: Final = {
    "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "roundeven": "nearbyint", "rint": "nearbyint",
    "nearbyint": "nearbyint", "fabs": "abs",
}  # fmt: skip
_WHY: Final = {
    "fmuladd": "it may be fused or not",
    "minnum": "the sign of a zero is not determined", "maxnum": "the sign of a zero is not determined",
    "exp": "its bits are not determined", "log": "its bits are not determined", "pow": "its bits are not determined",
    "sin": "its bits are not determined", "cos": "its bits are not determined", "tanh": "its bits are not determined",
}  # fmt: skip
Operation = Callable[..., Lane]


def lanewise(machine: Machine, i: Instruction) -> Callable[[Sequence[Value]], Value]:
    """The routine of an intrinsic.

    :raises Refused: if it is not known, or what it gives is not determined.
    """
    name = i.word.removeprefix("llvm.")
    if ".with.overflow." in name:
        return _with_overflow(machine, name, i)
    operation = _operation(machine, name, i)
    if is_scalar(i.type):
        return lambda values: operation(*values)
    lanes = len(scalars(i.type))

    def all_lanes(values: Sequence[Value]) -> Value:
        columns = [(v,) * lanes if isinstance(v, int) else v for v in values]
        return tuple([operation(*row) for row in zip(*columns, strict=True)])

    return all_lanes


def _operation(machine: Machine, name: str, i: Instruction) -> Operation:
    kind = scalars(i.operands[0].type)[0] if i.operands else None
    stem = name.split(".", maxsplit=1)[0]
    if i.word.startswith("llvm."):
        if isinstance(kind, FloatType):
            found = _float(machine, stem, FLOATS[kind.name], [o.type for o in i.operands])
        elif isinstance(kind, IntType):
            found = _integer(machine, stem, kind.bits)
        else:
            found = None
        if found is not None:
            return found
    why = f", since {_WHY[stem]}" if stem in _WHY else ""
    raise Refused(f"LLVM IR: calls of {i.word or 'a pointer'} are not followed{why}")


def _float(machine: Machine, stem: str, dtype: DType, kinds: Sequence[Type]) -> Operation | None:
    g = machine.graph
    floats = machine.floats
    if stem in _FLOAT and dtype.bits == 16 and stem != "fabs":
        return lambda x: floats.rounded(dtype, g.call(_FLOAT[stem], FLOAT32, FLOAT32, floats.single(dtype, x)))
    if stem in _FLOAT:
        return lambda x: g.call(_FLOAT[stem], dtype, dtype, x)
    match stem:
        case "round" if dtype.bits == 16:
            return lambda x: floats.rounded(dtype, _half_away_from_zero(machine, FLOAT32, floats.single(dtype, x)))
        case "round":
            return partial(_half_away_from_zero, machine, dtype)
        case "fma":
            return lambda x, y, z: g.call("fma", dtype, dtype, x, y, z)
        case "minimum" | "maximum":
            return partial(_propagating, machine, stem, dtype)
        case "copysign":
            return partial(_copysign, machine, dtype)
        case "ldexp" if dtype.bits > 16:
            return partial(_ldexp, machine, dtype, integer(scalars(kinds[1])[0].bits))
        case "is":  # llvm.is.fpclass
            return partial(_fpclass, machine, dtype)
    return None


def _ldexp(machine: Machine, dtype: DType, integers: DType, x: Lane, n: Lane) -> Lane:
    """``x * 2**n``, rounded once; of the program's expansions it is known where they have it (``reference.py``)."""
    g = machine.graph
    if not g.build.scales:
        raise Refused("LLVM IR: llvm.ldexp of a program that calls a function of that name")
    return g.node("ldexp", "", dtype, dtype, g.at(x, dtype), g.at(n, integers))


def _propagating(machine: Machine, stem: str, dtype: DType, x: Lane, y: Lane) -> Lane:
    """``minimum`` and ``maximum``: NaN if one operand is, and -0.0 below 0.0."""
    g = machine.graph
    lower, upper = (x, y) if stem == "minimum" else (y, x)
    less = g.choose(dtype, g.binary("lt", dtype, lower, upper), x, y)
    kind = integer(dtype.bits)
    negative = g.binary("lt", kind, g.reinterpret(g.cast(dtype, dtype, x), kind), 0)
    same = g.choose(dtype, negative, *((x, y) if stem == "minimum" else (y, x)))
    chosen = g.choose(dtype, g.binary("eq", dtype, x, y), same, less)
    nan = g.choose(BOOL, g.call("isnan", dtype, BOOL, x), 1, g.call("isnan", dtype, BOOL, y))
    return g.choose(dtype, nan, g.binary("add", dtype, x, y), chosen)


def _half_away_from_zero(machine: Machine, dtype: DType, x: Lane) -> Lane:
    """``round``, which the language has no word for: the part behind the point is exact, and so is the sum."""
    g = machine.graph
    whole = g.call("trunc", dtype, dtype, x)
    rest = g.call("abs", dtype, dtype, g.binary("sub", dtype, x, whole))
    one, half = (g.leaf(g.terms.constant(dtype, value), dtype) for value in (1.0, 0.5))
    away = g.binary("add", dtype, whole, _copysign(machine, dtype, one, x))
    return g.choose(dtype, g.binary("le", dtype, half, rest), away, whole)  # infinities and NaN have no rest


def _copysign(machine: Machine, dtype: DType, x: Lane, y: Lane) -> Lane:
    g, kind = machine.graph, integer(dtype.bits, "uint")
    size = g.binary("bitand", kind, g.reinterpret(x, kind), (1 << (dtype.bits - 1)) - 1)
    sign = g.binary("bitand", kind, g.reinterpret(y, kind), 1 << (dtype.bits - 1))
    return g.reinterpret(g.binary("bitor", kind, size, sign), dtype)


def _fpclass(machine: Machine, dtype: DType, x: Lane, classes: Lane) -> Lane:
    g = machine.graph
    tests = {0x003: "isnan", 0x204: "isinf", 0x1F8: "isfinite"}
    if classes in tests:
        return g.call(tests[classes], dtype, BOOL, x)
    if 0x3FF - classes in tests:
        return g.negate(g.call(tests[0x3FF - classes], dtype, BOOL, x))
    raise Refused(f"LLVM IR: llvm.is.fpclass with the classes {classes}")


# --------------------------------------------------------------------------------------------------------- integers


def _integer(machine: Machine, stem: str, bits: int) -> Operation | None:
    mask = (1 << bits) - 1
    match stem:
        case "smin" | "smax" | "umin" | "umax":
            return partial(machine.integers.extreme, stem, bits)
        case "abs":
            return partial(_absolute, machine, bits)
        case "ctpop":
            return _counted(machine, "popcount", bits, int.bit_count)
        case "ctlz":
            return partial(_leading, machine, bits)
        case "cttz":
            return _numbers_only(stem, lambda x, poison: _trailing(bits, x, poison))
        case "bswap":
            return _numbers_only(stem, lambda x: int.from_bytes(x.to_bytes(bits // 8, "little"), "big"))
        case "bitreverse":
            return _numbers_only(stem, lambda x: int(f"{x:0{bits}b}"[::-1], 2))
        case "fshl" | "fshr":
            return partial(_funnel, machine, stem, bits)
        case "uadd" if bits > 1:
            return _numbers_only(f"{stem}.sat", lambda x, y: min(x + y, mask))
        case "usub":
            return partial(_saturated, machine, bits)
    return None


def _numbers_only(name: str, compute: Callable[..., int]) -> Operation:
    def operation(*lanes: Lane) -> Lane:
        if UNDEF in lanes:
            return UNDEF
        if min(lanes) < 0:
            raise Refused(f"LLVM IR: llvm.{name} of data")
        return compute(*lanes)

    return operation


def _counted(machine: Machine, name: str, bits: int, compute: Callable[[int], int]) -> Operation:
    g = machine.graph

    def operation(x: Lane) -> Lane:
        if x >= 0:
            return compute(x)
        kind = machine.integers.common(bits, x, x)
        return g.call(name, kind, kind, x)

    return operation


def _leading(machine: Machine, bits: int, x: Lane, poison: Lane) -> Lane:
    """``ctlz``; with ``poison`` zero has no result."""
    g = machine.graph
    if x >= 0:
        return UNDEF if not x and poison else bits - x.bit_length()
    kind = machine.integers.common(bits, x, x)
    found = g.call("clz", kind, kind, x)
    return g.poison_if(g.binary("eq", kind, x, 0), kind, found) if poison else found


def _trailing(bits: int, x: int, poison: int) -> Lane:
    """``cttz`` of a number; with ``poison`` zero has no result."""
    if not x:
        return UNDEF if poison else bits
    return (x & -x).bit_length() - 1


def _absolute(machine: Machine, bits: int, x: Lane, poison: Lane) -> Lane:
    """``abs``; with ``poison`` the least number has none."""
    g = machine.graph
    least = 1 << (bits - 1)
    if x >= 0:
        return UNDEF if x == least and poison else abs(signed(bits, x))
    kind = integer(bits)
    found = g.call("abs", kind, kind, x)
    return g.poison_if(g.binary("eq", kind, x, least), kind, found) if poison else found


def _funnel(machine: Machine, stem: str, bits: int, x: Lane, y: Lane, amount: Lane) -> Lane:
    """The upper, or lower, half of two integers side by side, shifted."""
    number = machine.graph.settled(amount)
    if number < 0:
        if number == UNDEF:
            return UNDEF
        raise Refused(f"LLVM IR: llvm.{stem} by an amount that depends on data")
    number %= bits
    if number == 0:
        return x if stem == "fshl" else y
    left = number if stem == "fshl" else bits - number
    binary = machine.integers.binary
    none: frozenset[str] = frozenset()
    return binary("or", bits, none, binary("shl", bits, none, x, left), binary("lshr", bits, none, y, bits - left))


def _saturated(machine: Machine, bits: int, x: Lane, y: Lane) -> Lane:
    """``usub.sat``: the difference, or 0 where it would be negative."""
    integers = machine.integers
    below = integers.compare("ult", bits, frozenset(), x, y)
    return machine.choose_lane(IntType(bits), below, 0, integers.binary("sub", bits, frozenset(), x, y))


def _with_overflow(machine: Machine, name: str, i: Instruction) -> Callable[[Sequence[Value]], Value]:
    """``sadd.with.overflow`` …: the wrapped result, and whether it did."""
    code, op = name[0], name[1:4]
    kind = scalars(i.operands[0].type)[0]
    if not isinstance(kind, IntType) or not is_scalar(i.operands[0].type):
        raise Refused(f"LLVM IR: calls of {i.word} are not followed")
    bits = kind.bits
    dtype = integer(bits, "int" if code == "s" else "uint")

    def operation(values: Sequence[Value]) -> Value:
        x, y = values
        assert isinstance(x, int) and isinstance(y, int)
        if UNDEF in (x, y):
            return UNDEF, UNDEF
        result = machine.integers.binary(op, bits, frozenset(), x, y)
        if x >= 0 and y >= 0:
            checked = machine.integers.binary(op, bits, frozenset({"nsw" if code == "s" else "nuw"}), x, y)
            return result, int(checked == UNDEF)
        return result, machine.graph.overflow(op, dtype, x, y)

    return operation


# ------------------------------------------------------------------------------------------------------- reductions

_INTEGERS: Final = {"add": "add", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}


def reduction(machine: Machine, i: Instruction) -> Callable[[Sequence[Value]], Value]:
    """The routine of a reduction.  A sum of floats without ``reassoc`` begins with its first operand, lane by lane."""
    op = i.word.removeprefix("llvm.vector.reduce.").split(".")[0]
    kind = scalars(i.operands[-1].type)[0]
    combine = _combine(machine, op, kind)

    def operation(values: Sequence[Value]) -> Value:
        *start, vector = values
        assert isinstance(vector, tuple)
        lanes: list[Lane] = [*(v for v in start if isinstance(v, int)), *vector]
        total = lanes[0]
        for lane in lanes[1:]:
            total = combine(total, lane)
        return total

    return operation


def _combine(machine: Machine, op: str, kind: object) -> Callable[[Lane, Lane], Lane]:
    if isinstance(kind, FloatType) and op in ("fadd", "fmul"):
        dtype = FLOATS[kind.name]
        return lambda x, y: machine.floats.binary(op, dtype, x, y)
    if isinstance(kind, IntType):
        bits = kind.bits
        if op in _INTEGERS:
            return lambda x, y: machine.integers.binary(op, bits, frozenset(), x, y)
        if op in ("smin", "smax", "umin", "umax"):
            return lambda x, y: machine.integers.extreme(op, bits, x, y)
    raise Refused(f"LLVM IR: llvm.vector.reduce.{op} leaves open what it gives for zeros or NaN")
