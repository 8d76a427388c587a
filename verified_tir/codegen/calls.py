"""Pure calls into instructions.

``fma``, ``sqrt`` and the roundings are instructions of LLVM, correctly rounded; float16 and bfloat16 go through
float32, which is exact for roundings and innocuous for square roots.  Transcendental functions are expanded into the
expression that defines them (``verified_tir.semantics.intrinsics``), in scalar and in vector form alike.  A scaling by
a power of two in it (``words.scaled``: two exact powers of two are made and multiplied) is one instruction where the
processor has it: AVX-512's VSCALEF, which LLVM has for its ``ldexp``, rounds once as well.
"""

from __future__ import annotations

from functools import cache

from verified_tir.codegen.builder import MEMORY, Function, Register, Value
from verified_tir.codegen.casts import reinterpret
from verified_tir.codegen.errors import CodegenError
from verified_tir.codegen.floats import fused_multiply_add, narrow, widen
from verified_tir.codegen.llvm_types import REGISTER, lanes_of, splat
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import FLOAT32, DType
from verified_tir.ir.expr import Call, Expr, Var
from verified_tir.ir.node import Node
from verified_tir.semantics.intrinsics import EXPANDED, expand, has_expansion
from verified_tir.semantics.intrinsics.words import as_scaled

_ROUNDING = {
    "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "nearbyint": "roundeven", "round": "roundeven",
}  # fmt: skip
_INFINITY = "0x7FF0000000000000"
_SCALE = "scale by a power of two"
"""A call that stands in expansions only, in place of ``words.scaled``; no program can name it."""


def call(b: Function, e: Call) -> Value:
    """A pure call.

    :raises CodegenError: if the call is opaque, or there is no code for it at this type.
    """
    if e.op == _SCALE:
        return _scale(b, e)
    if e.op not in PURE_CALLS:
        _refuse_opaque(e)
    if e.op == "reinterpret":
        return reinterpret(b, e)
    operands, dtype, flags = [], None, 0
    for argument in e.args:
        register, kind, f = b.value(argument)
        operands.append(register)
        flags |= f & MEMORY
        if kind is not (dtype := dtype or kind):
            raise CodegenError(f"{e.op} takes arguments of one type, not {', '.join(str(x.dtype) for x in e.args)}")
    assert dtype is not None
    if e.op == "likely":
        return operands[0], dtype, flags
    if dtype.is_float:
        return _float_call(b, e, dtype, operands), e.type, flags
    if dtype.is_int:
        return _integer_call(b, e, dtype, operands[0]), e.type, flags
    raise CodegenError(f"there is no {e.op} of a {dtype}")


def _refuse_opaque(e: Call) -> None:
    if e.op.startswith("@"):
        raise CodegenError(
            f"the call of {e.op[1:]} must be inlined before code is generated: give the module to the Schedule, which "
            "expands the calls in it"
        )
    raise CodegenError(
        f"the call {e.op} has no meaning that is known here: replace it by a pure call of verified_tir.ir.calls, or by "
        "statements"
    )


def _suffix(dtype: DType) -> str:
    kind = f"{'f' if dtype.is_float else 'i'}{dtype.bits}"
    return kind if dtype.lanes == 1 else f"v{dtype.lanes}{kind}"


def _integer_call(b: Function, e: Call, dtype: DType, x: Register) -> Register:
    kind, suffix = REGISTER[dtype], _suffix(dtype)
    match e.op:
        case "abs":
            return x if dtype.code == "uint" else b.assign(f"call {kind} @llvm.abs.{suffix}({kind} {x}, i1 false)")
        case "bitwise_not":
            return b.assign(f"xor {kind} {x}, {splat(dtype, -1)}")
        case "popcount":
            count = b.assign(f"call {kind} @llvm.ctpop.{suffix}({kind} {x})")
        case "clz":
            count = b.assign(f"call {kind} @llvm.ctlz.{suffix}({kind} {x}, i1 false)")
        case _:
            raise CodegenError(f"there is no {e.op} of a {dtype}")
    if e.type.bits == dtype.bits:
        return count
    return b.assign(f"{'zext' if e.type.bits > dtype.bits else 'trunc'} {kind} {count} to {REGISTER[e.type]}")


def _float_call(b: Function, e: Call, dtype: DType, operands: list[Register]) -> Register:
    if e.op == "fma":
        x, y, z = operands
        return fused_multiply_add(b, dtype, x, y, z)
    if e.op not in _ROUNDING and e.op not in ("abs", "isnan", "isinf", "isfinite"):
        return _transcendental(b, e, dtype, operands)
    (x,) = operands
    if e.op == "abs" and dtype.bits == 16:
        return _without_sign(b, dtype, x)
    wide = dtype
    if dtype.bits == 16:
        x, wide = widen(b, dtype, x), lanes_of(FLOAT32, dtype.lanes)
    kind, suffix = REGISTER[wide], _suffix(wide)
    if e.op == "isnan":
        return b.assign(f"fcmp uno {kind} {x}, {splat(wide, '0.0')}")
    if e.op in _ROUNDING:
        exact = b.assign(f"call {kind} @llvm.{_ROUNDING[e.op]}.{suffix}({kind} {x})")
        return narrow(b, dtype, exact) if dtype.bits == 16 else exact
    size = b.assign(f"call {kind} @llvm.fabs.{suffix}({kind} {x})")
    if e.op == "abs":
        return size
    return b.assign(f"fcmp {'oeq' if e.op == 'isinf' else 'one'} {kind} {size}, {splat(wide, _INFINITY)}")


def _without_sign(b: Function, dtype: DType, x: Register) -> str:
    kind = REGISTER[dtype]
    words = lanes_of(DType("uint", 16), dtype.lanes)
    word = REGISTER[words]
    bits = x if kind == word else b.assign(f"bitcast {kind} {x} to {word}")
    size = b.assign(f"and {word} {bits}, {splat(words, 0x7FFF)}")
    return size if kind == word else b.assign(f"bitcast {word} {size} to {kind}")


@cache
def _expansion(op: str, dtype: DType, scales: bool) -> tuple[tuple[Var, ...], Expr]:
    """The expression that defines a transcendental call, and the variables in it that stand for the arguments.

    :param scales: whether the processor scales by powers of two.
    """
    if not has_expansion(op, dtype):
        raise CodegenError(
            f"{op} of {dtype} is defined for the interpreter only, without an expansion into basic operations; "
            f"functions with one are {', '.join(sorted(EXPANDED))}"
        )
    variables = tuple([Var.fresh(f"x{k}", dtype) for k in range(PURE_CALLS[op].arity)])
    return variables, expand(op, variables, _scaling if scales else None)


def _scaling(part: Node) -> Expr | None:
    found = as_scaled(part)
    return None if found is None else Call(found[0].dtype, _SCALE, found)


def _scale(b: Function, e: Call) -> Value:
    """``y * 2**n``, rounded once."""
    (x, dtype, _), (n, integer, _) = (b.value(a) for a in e.args)
    kind, suffix = REGISTER[dtype], f"{_suffix(dtype)}.{_suffix(integer)}"
    return b.assign(f"call {kind} @llvm.ldexp.{suffix}({kind} {x}, {REGISTER[integer]} {n})"), dtype, 0


def _transcendental(b: Function, e: Call, dtype: DType, operands: list[Register]) -> Register:
    variables, definition = _expansion(e.op, dtype, b.module.target.scales)
    mark = len(b.trail)
    for var, operand in zip(variables, operands, strict=True):
        b.bind(var, (operand, dtype, 0))
    result, _, _ = b.value(definition)
    b.forget(mark)
    return result
