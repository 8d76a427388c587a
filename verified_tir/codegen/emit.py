"""From a function to the text of an LLVM module.

:func:`emit` translates a function whose proof is done: that accesses are in bounds, that index arithmetic does not
overflow, that loops do not race.  What the proof says is written into the text (``inbounds``, ``nsw``,
``noalias``), and nothing else is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

from verified_tir.codegen.aliases import alias_notes, written_blocks
from verified_tir.codegen.builder import INDEX, MEMORY, NONNEGATIVE, Function, Module, Storage, Value, readable
from verified_tir.codegen.calls import call
from verified_tir.codegen.casts import cast
from verified_tir.codegen.choices import if_then_else, logic, selection
from verified_tir.codegen.errors import CodegenError
from verified_tir.codegen.indices import is_index
from verified_tir.codegen.llvm_types import REGISTER, float_constant, parameter_type
from verified_tir.codegen.memory import load
from verified_tir.codegen.operators import negation
from verified_tir.codegen.order import order_functions
from verified_tir.codegen.statements import statement
from verified_tir.codegen.target import Target
from verified_tir.codegen.vectors import broadcast, ramp, shuffle
from verified_tir.codegen.views import declare
from verified_tir.elaborate.blocks import expand_blocks
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import PointerType
from verified_tir.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Expr,
    FloatImm,
    IfThenElse,
    IntImm,
    LetExpr,
    Load,
    Not,
    Ramp,
    Select,
    Shuffle,
    StringImm,
    Undef,
    Var,
)
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.visit import walk
from verified_tir.semantics.intrinsics import EXPANDED

KERNEL = "vtir_kernel"
"""The name of the function in the module."""


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the kernel, and its type in LLVM.

    A buffer's is the address of element 0 of the array; the kernel adds a declared ``elem_offset`` itself.
    """

    kind: Literal["buffer", "scalar"]
    value: Buffer | Var
    type: str
    alignment: int = 1
    written: bool = False

    @property
    def name(self) -> str:
        return self.value.name


@final
@dataclass(frozen=True, slots=True)
class Emitted:
    """An LLVM module that defines ``i32 @vtir_kernel(…)``.

    It returns 0 when finished, k > 0 if an assertion failed, with the message ``asserts[k - 1]``, and -1 if there was
    no memory for a local buffer.

    :ivar parameters: the kernel's, in order: the function's own, then the variables that occur in the extents of
        parameter buffers and are no parameters, in order of first occurrence.
    :ivar parallel: whether it starts threads.
    """

    text: str
    parameters: tuple[Parameter, ...]
    asserts: tuple[str, ...]
    parallel: bool


def emit(func: PrimFunc, target: Target) -> Emitted:
    """The module for a function.

    :raises CodegenError: if something in the function has no machine code: it names what, and what to do.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(8 * limit)  # a level of an expression takes three calls here, and one where it is built
    try:
        return _emitted(expand_blocks(func), target)
    except RecursionError:
        raise CodegenError(f"{func.name} nests expressions too deeply; bind parts of them to variables") from None
    finally:
        sys.setrecursionlimit(limit)


def _emitted(func: PrimFunc, target: Target) -> Emitted:
    module = Module(target, RULES)
    module.notes = alias_notes(func.body, module.metadata)
    module.from_integers = any(_is_from_integer(n) for n in walk(func.body))
    b = Function(module)
    parameters = _parameters(func)
    signature = _bind(b, func, parameters)
    statement(b, func.body)
    b.line("ret i32 0")
    lines = [f"define i32 @{KERNEL}({', '.join(signature)}) #0 {{", "entry:", *b.allocas, *b.lines, "}", ""]
    return Emitted(
        "\n".join(_module_lines(module, func, lines)), tuple(parameters), tuple(module.messages), module.threads
    )


def _module_lines(module: Module, func: PrimFunc, kernel: list[str]) -> list[str]:
    target = module.target
    width = target.vector_bits
    attributes = (
        f'attributes #0 = {{ nounwind "target-cpu"="{target.cpu}" "target-features"="{target.features}" '
        f'"prefer-vector-width"="{width}" "min-legal-vector-width"="{width}" }}'
    )
    scalar = ["!vtir.loops = !{}"] if module.optimise_loops else []
    return [
        f"; {readable(func.name)}",
        f'target triple = "{target.triple}"',
        "",
        *kernel,
        *module.functions,
        *order_functions(module),
        *module.declarations,
        attributes,
        *scalar,
        *module.metadata,
        "",
    ]


def _is_from_integer(node: Node) -> bool:
    """Whether a node makes a float of an integer, by itself or in the expression that defines it."""
    match node:
        case Cast(type=t, value=v):
            return t.is_float and not v.dtype.is_float
        case Call(op=op):
            return op in EXPANDED
    return False


# ------------------------------------------------------------------------------------------------------- parameters


def _parameters(func: PrimFunc) -> list[Parameter]:
    written = written_blocks(func.body)
    found: list[Parameter] = []
    for param in func.params:
        buffer = func.buffer_of(param)
        if buffer is not None:
            align = buffer.dtype.scalar.nbytes
            found.append(Parameter("buffer", buffer, "ptr", align, buffer.data in written))
        elif isinstance(param.type, PointerType):
            raise CodegenError(f"parameter {param.name} is a pointer without a buffer; declare it with T.match_buffer")
        else:
            found.append(Parameter("scalar", param, parameter_type(param.type)))
    known = set(func.params)
    for symbol in _symbols(func):
        if symbol not in known:
            known.add(symbol)
            found.append(Parameter("scalar", symbol, parameter_type(symbol.dtype)))
    return found


def _symbols(func: PrimFunc) -> list[Var]:
    """The variables in the extents of the parameter buffers, in order of first occurrence."""
    exprs = [e for b in func.buffers for e in (*b.shape, *b.strides, b.elem_offset)]
    return [n for e in exprs for n in walk(e) if isinstance(n, Var)]


def _bind(b: Function, func: PrimFunc, parameters: list[Parameter]) -> list[str]:
    """Make the parameters known; their text in the signature."""
    extents = {e for buffer in func.buffers for e in buffer.shape}
    signature = []
    for k, p in enumerate(parameters):
        register = f"%{readable(p.name)}.{k}"
        if isinstance(p.value, Buffer):
            b.blocks[p.value.data] = Storage(register, p.alignment)
            access = "" if p.written else " readonly"
            signature.append(f"ptr noalias{access} align {p.alignment}{_dereferenceable(p.value)} {register}")
        else:
            signature.append(f"{p.type} {register}")
            flags = INDEX if p.value.dtype.is_int or p.value.dtype.is_bool else 0
            if p.value in extents:
                flags |= NONNEGATIVE
            b.bind(p.value, (register, p.value.dtype, flags))
    for p in parameters:
        if isinstance(p.value, Buffer):
            declare(b, p.value)
    return signature


def _dereferenceable(buffer: Buffer) -> str:
    """How many bytes are certainly there, for a compact array of constant extent."""
    if buffer.strides or not (isinstance(buffer.elem_offset, IntImm) and buffer.elem_offset.value == 0):
        return ""
    total = buffer.dtype.nbytes
    for extent in buffer.shape:
        if not isinstance(extent, IntImm):
            return ""
        total *= extent.value
    return f" dereferenceable({total})" if 0 < total < 1 << 62 else ""


# ------------------------------------------------------------------------------------------------------ expressions


def _integer(b: Function, e: IntImm) -> Value:
    return e.value, e.type, INDEX | NONNEGATIVE if e.value >= 0 else INDEX


def _float(b: Function, e: FloatImm) -> Value:
    return float_constant(e.type, e.value), e.type, 0


def _undef(b: Function, e: Undef) -> Value:
    kind = REGISTER[e.type]
    return b.assign(f"freeze {kind} poison"), e.type, 0


def _string(b: Function, e: StringImm) -> Value:
    raise CodegenError(f"the string {e.value!r} is not a value; only annotations and messages may be strings")


def _variable(b: Function, var: Var) -> Value:
    """A variable's value; one that is kept in 64 bits is cut to its own type where it is used as that."""
    if isinstance(var.type, PointerType):
        raise CodegenError(f"the pointer {var.name} is used as a value; access its block through a buffer")
    register = b.wide_variable(var)
    flags = b.module.flags.get(var, 0)
    if register is not None:
        if isinstance(register, int) or var.type.bits == 64:
            return register, var.type, flags
        return b.assign(f"trunc i64 {register} to i{var.type.bits}"), var.type, flags
    found = b.variable(var)
    if found is None:
        raise CodegenError(f"variable {var.name} is not bound where it is used")
    return found


def _let(b: Function, e: LetExpr) -> Value:
    b.bind(e.var, b.value(e.value))
    register, dtype, flags = b.value(e.body)
    return register, dtype, flags if is_index(b, e) else flags & MEMORY


RULES: dict[type[Expr], Callable[[Function, Any], Value]] = {
    IntImm: _integer,
    FloatImm: _float,
    StringImm: _string,
    Undef: _undef,
    Var: _variable,
    Binary: logic,
    Not: negation,
    Select: selection,
    IfThenElse: if_then_else,
    Cast: cast,
    Ramp: ramp,
    Broadcast: broadcast,
    Shuffle: shuffle,
    LetExpr: _let,
    Load: load,
    Call: call,
}
