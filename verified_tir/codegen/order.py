"""Order of floats: ``<``, ``<=``, minimum and maximum, so that LLVM cannot fold them wrongly.

    max(max(c, x), c)        where x is NaN: the inner maximum is NaN, the outer one is c

LLVM's InstCombine takes ``select (fcmp ogt a, b), a, b`` for a maximum, and folds the outer one of two with the same
constant away (``foldSPFofSPF``, still so in LLVM 22).  It also moves conversions out of what it takes for a maximum,
and compares the other way round then: 0.0 comes out for -0.0.  And it finds maxima in selects, branches, loops, flags
and arithmetic of all kinds.

So LLVM does not see what is compared.  Each operator is a *call* of a small function.  While LLVM optimises, the
functions have no definitions (:func:`hidden`): they are declared, with what it needs to know for moving, merging and
vectorizing their calls.  Then they are defined, and inlined (:func:`define_order`): one comparison, and a ``select`` of
its operands, which is the instruction ``maxps`` of x86, NaN and zeros included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

import llvmlite.binding as llvm

from verified_tir.codegen.builder import Function, Module, Register
from verified_tir.codegen.floats import need_half, widen
from verified_tir.codegen.llvm_types import REGISTER, bools, lanes_of
from verified_tir.ir.dtype import FLOAT32, DType
from verified_tir.ir.expr import BinaryOp

Order: TypeAlias = tuple[BinaryOp, DType]
ORDER_OPS: Final[frozenset[BinaryOp]] = frozenset({"lt", "le", "gt", "ge", "min", "max"})
"""The operators that are emitted here, where their operands are floats."""
_PREFIX: Final = "vtir.order."
_TURNED: Final[dict[BinaryOp, BinaryOp]] = {"gt": "lt", "ge": "le"}
_COMPARE: Final[dict[BinaryOp, str]] = {"lt": "olt", "le": "ole", "min": "olt", "max": "ogt"}
_HIDDEN: Final = "llvm.vtir.order."
"""With ``llvm.`` in front LLVM unrolls short loops as if such a call were one instruction."""
_KEPT: Final = "vtir.kept."
_DEFINITION: Final = re.compile(
    rf"^define linkonce_odr (.+) @{re.escape(_PREFIX)}(\S+)\((.+) %x, .+ %y\) (.*) {{\n(?:.*\n)*?}}\n", re.MULTILINE
)
_GROUPS: Final = re.compile(r"^attributes .*\n", re.MULTILINE)
_PROMISES: Final = "alwaysinline willreturn nofree nosync speculatable memory(none)"


def ordered(b: Function, op: BinaryOp, dtype: DType, x: Register, y: Register) -> str:
    """``x op y`` for one of :data:`ORDER_OPS`; a minimum is ``x < y ? x : y``, bit for bit, a maximum likewise."""
    if op in _TURNED:
        op, x, y = _TURNED[op], y, x
    b.module.orders[op, dtype] = None
    kind = REGISTER[dtype]
    return b.assign(f"call {REGISTER[_result(op, dtype)]} @{_name(op, dtype)}({kind} {x}, {kind} {y})")


def order_functions(module: Module) -> Iterator[str]:
    """The lines that define the functions that a module calls, attributes included.

    Where loops are optimised, those of scalars have forms for vectors, which LLVM's vectorisers call instead.
    """
    if not module.orders:
        return
    wanted = dict[Order, str]()
    groups = [f"attributes #1 = {{ {_PROMISES} }}"]
    for op, dtype in module.orders:
        forms = _vector_forms(module, dtype) if module.optimise_loops else []
        group = ""
        if forms:
            group = f" #{len(groups) + 1}"
            names = (f"_ZGV_LLVM_N{v.lanes}vv_{_name(op, dtype)}({_name(op, v)})" for v in forms)
            groups.append(f'attributes{group} = {{ "vector-function-abi-variant"="{",".join(names)}" }}')
        wanted[op, dtype] = group
        for form in forms:
            wanted.setdefault((op, form), "")
    for (op, dtype), group in wanted.items():
        yield from _definition(module, op, dtype, group)
    yield from groups


def _vector_forms(module: Module, dtype: DType) -> list[DType]:
    """The vectors of a scalar that fit into a register of vectors."""
    most = module.target.vector_bits // dtype.bits if dtype.lanes == 1 else 0
    return [lanes_of(dtype, 1 << k) for k in range(1, most.bit_length())]


def _definition(module: Module, op: BinaryOp, dtype: DType, group: str) -> Iterator[str]:
    kind, result = REGISTER[dtype], REGISTER[_result(op, dtype)]
    b = Function(module)
    x, y, compared = "%x", "%y", kind
    if dtype.code == "bfloat":
        x, y, compared = widen(b, dtype, x), widen(b, dtype, y), REGISTER[lanes_of(FLOAT32, dtype.lanes)]
    elif dtype.bits == 16:
        need_half(b)
    found = b.assign(f"fcmp {_COMPARE[op]} {compared} {x}, {y}")
    if op in ("min", "max"):
        found = b.assign(f"select {REGISTER[bools(dtype.lanes)]} {found}, {kind} %x, {kind} %y")
    yield f"define linkonce_odr {result} @{_name(op, dtype)}({kind} %x, {kind} %y) #0 #1{group} {{"
    yield from b.lines
    yield f"  ret {result} {found}"
    yield "}"
    yield ""


def _name(op: BinaryOp, dtype: DType) -> str:
    return f"{_PREFIX}{op}.{dtype}"


def _result(op: BinaryOp, dtype: DType) -> DType:
    return dtype if op in ("min", "max") else bools(dtype.lanes)


def hidden(text: str) -> tuple[str, str]:
    """A module's text without the definitions of these functions, and the definitions, for :func:`define_order`.

    In the text they are declared under other names.  Those of vectors, which are called only when LLVM has vectorized a
    loop, are used by functions that nobody calls, or else LLVM would drop them.
    """
    definitions = [m[0] for m in _DEFINITION.finditer(text)]
    if not definitions:
        return text, ""
    declared = _DEFINITION.sub(_declaration, text).replace(_PREFIX, _HIDDEN)
    return declared, "".join([*definitions, *_GROUPS.findall(text)])


def _declaration(definition: re.Match[str]) -> str:
    result, name, kind, attributes = definition.groups()
    declared = f"declare {result} @{_PREFIX}{name}({kind}, {kind}) {attributes}\n"
    if kind[0] != "<":
        return declared
    called = f"  %r = call {result} @{_PREFIX}{name}({kind} %x, {kind} %y)\n  ret {result} %r\n"
    return f"{declared}define {result} @{_KEPT}{name}({kind} %x, {kind} %y) {{\n{called}}}\n"


def define_order(module: llvm.ModuleRef, definitions: str, builder: llvm.PassBuilder, *, loops: bool) -> None:
    """Put the definitions in place of the calls, when nothing follows that would fold them wrongly.

    :param loops: whether loops are optimised: those with calls were not unrolled in part, and are now.
    """
    if not definitions:
        return
    for f in module.functions:
        if f.name.startswith(_KEPT):
            f.linkage = "internal"
        elif f.name.startswith(_HIDDEN):
            f.name = _PREFIX + f.name.removeprefix(_HIDDEN)
    defined = llvm.parse_assembly(definitions)
    defined.triple, defined.data_layout = module.triple, module.data_layout
    module.link_in(defined)
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    if loops:
        passes.add_loop_unroll_pass()
    passes.run(module, builder)


__all__ = ["ORDER_OPS", "define_order", "hidden", "order_functions", "ordered"]
