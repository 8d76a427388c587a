"""Calls that nothing is known about: their arguments, and the type of what they return.

A name that is no known operation is accepted where a call may stand for its effect, where its type is stated by
``dtype=``, or where TVM's definition of it (``tvm.tirx.op``) fixes the type, so that a misspelt ``T.exq(x)`` is
reported and not taken for an unknown function.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import BOOL, HANDLE, INT32, DType
from verified_tir.ir.expr import Call, Expr, StringImm
from verified_tir.ir.node import IRError
from verified_tir.ir.script.arguments import match_arguments
from verified_tir.ir.script.device import named, operand
from verified_tir.ir.script.device_types import device_type
from verified_tir.ir.script.dtypes import dtype_named
from verified_tir.ir.script.placed import plain_offset
from verified_tir.ir.script.scalars import is_one_element
from verified_tir.ir.sugar import const

if TYPE_CHECKING:
    from verified_tir.ir.script.exprs import ExprParser

TYPED_FIRST: Final = frozenset(
    {"call_extern", "call_pure_extern", "call_llvm_intrin", "call_llvm_pure_intrin", "call_intrin", "masked_load",
     "get_active_lane_mask", "vectorlow", "vectorhigh", "vectorcombine", "dp4a"}
)  # fmt: skip
"""Opaque calls whose first argument is the type of their result."""

LIKE: Final[dict[str, int]] = {
    **dict.fromkeys(
        ("acos", "acosh", "asin", "asinh", "atanh", "exp10", "copysign", "nextafter", "hypot", "ldexp", "fmod",
         "q_multiply_shift", "q_multiply_shift_per_axis", "tvm_thread_invariant"), 0),
    **dict.fromkeys(
        ("tvm_warp_shuffle", "tvm_warp_shuffle_up", "tvm_warp_shuffle_down", "tvm_warp_shuffle_xor"), 1),
}  # fmt: skip
"""Opaque calls that return the type of one of their arguments, with its position."""

OF_TYPE: Final[dict[str, DType]] = {
    **dict.fromkeys(("call_packed", "call_cpacked", "tvm_call_packed", "vscale", "buffer_offset"), INT32),
    **dict.fromkeys(("tvm_stack_alloca", "tvm_stack_make_shape", "tvm_stack_make_array", "tvm_access_ptr",
                     "ptr_byte_offset", "handle_add_byte_offset", "lookup_param"), HANDLE),
    "isnullptr": BOOL,
    "tvm_warp_activemask": DType("uint", 32),
}  # fmt: skip
"""Opaque calls that return one type, whatever they are given."""

REDUCER: Final = "comm_reducer{}"
"""The call that stands for a ``T.comm_reducer``, and the key under which the one in force is found in a scope."""
ALLREDUCE: Final = "tvm_thread_allreduce"
"""What it does depends on the reducer that an attribute around it names: that one is its last argument here."""

STRUCT_GET: Final = "tvm_struct_get"
"""Its last argument is the type of its result."""

NAMELESS: Final = frozenset({"buffer_offset", "prefetch", "tvm_static_handle", "tvm_context_id"})
"""Operators for which TVM 0.27 has no function: they are written ``T.Call("tirx.…", […])``."""

_INSTRUCTIONS: Final = ("ptx", "metal.")
"""How the names of operators begin that are instructions of a machine."""
_READ, _WRITE = 1, 2


def implied_type(name: str, args: Sequence[Expr]) -> DType | None:
    """The type that the call has if the text does not state one; ``None`` if it must."""
    if name in OF_TYPE:
        return OF_TYPE[name]
    at = LIKE.get(name)
    if at is not None and at < len(args):
        return args[at].dtype
    if name == STRUCT_GET and len(args) == 4 and isinstance(kind := args[3], StringImm):
        return dtype_named(kind.value)
    return device_type(name, args)


def opaque_call(p: ExprParser, node: ast.Call, name: str, known: Iterable[str]) -> Expr:
    """``T.name(…)``, of which only its name, arguments and type are known; ``known`` are names to suggest.

    :raises ScriptError: if nothing says the type of its value, and something needs it.
    """
    args = spread(p, node.args)
    stated: DType | None = None
    structured = "." in name or "[" in name  # what is passed by name or as a list, TVM's operators of a device take
    for keyword in node.keywords:
        if keyword.arg == "dtype":
            stated = p.dtype(keyword.value)
        elif not structured:
            raise p.error(keyword.value, f"T.{name}: an opaque call has no argument {keyword.arg}")
    if name in TYPED_FIRST and stated is None and args:
        stated = p.dtype(args.pop(0))
    p.opaque_depth += 1
    try:
        if structured:
            by_name = named(p, [k for k in node.keywords if k.arg != "dtype"])
            made = (*[_structured(p, name, a) for a in args], *by_name)
        else:
            made = tuple([p.argument(a) for a in args])
    finally:
        p.opaque_depth -= 1
    if name == STRUCT_GET and stated is not None and len(made) == 3:
        made = (*made, StringImm(str(stated)))
    if name == ALLREDUCE and p.scope.has(REDUCER) and not any(isinstance(a, Call) and a.op == REDUCER for a in made):
        reducer = p.scope.find(REDUCER)
        made = (*made, reducer) if isinstance(reducer, Expr) else made
    result = stated or implied_type(name, made)
    if result is None:
        if not p.opaque_depth:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean T.{near[0]}?" if near else ""
            raise p.error(node, f"T.{name} is unknown{hint}")
        result = HANDLE
    return Call(result, name, made)


def _structured(p: ExprParser, name: str, node: ast.expr) -> Expr:
    """An argument of an operator of a device: a list or a region too; a buffer is its pointer.

    Instructions take elements: the name of a buffer of one element stands for it there.
    """
    if isinstance(node, ast.Name) and name.startswith(_INSTRUCTIONS):
        found = p.value(node)
        if isinstance(found, Buffer) and is_one_element(found):
            return p.expr(node)
    return p.argument(node) if isinstance(node, (ast.Name, ast.Attribute, ast.Call)) else operand(p, node)


def spread(p: ExprParser, nodes: Iterable[ast.expr]) -> list[ast.expr]:
    """Arguments with ``*A.shape`` taken apart; what it stands for is found by its position."""
    found: list[ast.expr] = []
    for node in nodes:
        if not isinstance(node, ast.Starred):
            found.append(node)
            continue
        entries = p.value(node.value)
        if not isinstance(entries, tuple):
            raise p.error(node, "only a tuple or a shape can be starred")
        for k in range(len(entries)):
            entry = ast.Subscript(node.value, ast.copy_location(ast.Constant(k), node), ast.Load())
            found.append(ast.copy_location(entry, node))
    return found


def call_by_name(p: ExprParser, node: ast.Call) -> Expr:
    """``T.Call("tirx.prefetch", [a, b], ret_ty="void")``: the operator by its registered name."""
    args = match_arguments(p.source, node, ("op", "args", "ret_ty"), 2)
    op, listed = args["op"], args["args"]
    match op:
        case ast.Call(func=ast.Attribute(attr="get"), args=[inner]):  # tvm.ir.Op.get("…")
            op = inner
    name = p.string(op).removeprefix("tirx.").removeprefix("tir.")
    if not isinstance(listed, (ast.List, ast.Tuple)):
        raise p.error(listed, "the arguments of T.Call are a list")
    if name in PURE_CALLS or not name.isidentifier():
        raise p.error(op, f"T.Call names an opaque operator here; write T.{name}(…) instead")
    p.opaque_depth += 1
    try:
        made = tuple([p.argument(a) for a in spread(p, listed.elts)])
    finally:
        p.opaque_depth -= 1
    result = p.dtype(args["ret_ty"]) if "ret_ty" in args else implied_type(name, made)
    if result is None:
        raise p.error(node, f"the type of what {name} returns is not stated; add ret_ty=")
    return Call(result, name, made)


def access_pointer(p: ExprParser, node: ast.Call, base: ast.expr) -> Expr:
    """``A.access_ptr("rw")``: a ``T.tvm_access_ptr``, with the arguments that TVM's ``Buffer.access_ptr`` gives it."""
    args = match_arguments(p.source, node, ("access_mask", "ptr_type", "content_lanes", "offset", "extent"), 1)
    buffer = p.value(base)
    if not isinstance(buffer, Buffer):
        raise p.error(base, "access_ptr is asked of a buffer")
    if "content_lanes" in args and p.int_constant(args["content_lanes"]) != 1:
        raise p.error(args["content_lanes"], "a pointer to vectors cannot be represented; declare a view of the buffer")
    if "ptr_type" in args and p.value(args["ptr_type"]) not in ("handle", str(buffer.dtype)):
        raise p.error(args["ptr_type"], "a pointer of another type cannot be represented; declare a view of the buffer")
    mask = _access_mask(p, args["access_mask"])
    with p.computed(node):
        offset = p.expr(args["offset"]) if "offset" in args else const(0)
        if "extent" in args:
            extent = p.expr(args["extent"])
        else:
            whole: Expr = const(1)
            for e in buffer.shape if not buffer.strides else (buffer.strides[0], buffer.shape[0]):
                whole = p.typed(node, p.binary("mul", whole, e))
            extent = p.typed(node, p.binary("sub", whole, offset))
        at = p.typed(node, p.binary("add", plain_offset(buffer), offset))
        kind = Call(HANDLE, "type_annotation", (StringImm(str(buffer.dtype)),))
        return Call(HANDLE, "tvm_access_ptr", (kind, buffer.data, at, extent, const(mask)))


def _access_mask(p: ExprParser, node: ast.expr) -> int:
    """``"r"``, ``"w"``, ``"rw"``, or the number that they stand for."""
    found = p.value(node)
    if isinstance(found, str):
        if not found or set(found) - {"r", "w"}:
            raise p.error(node, 'an access is "r", "w" or "rw"')
        return _READ * ("r" in found) | _WRITE * ("w" in found)
    if not isinstance(found, int) or found not in (_READ, _WRITE, _READ | _WRITE):
        raise p.error(node, 'an access is "r", "w" or "rw"')
    return int(found)


def check_stated(name: str, stated: DType, value: Expr) -> None:
    """``dtype=`` of an operation whose type follows from its operands: TVM drops it, so it must say what is so.

    :raises IRError: if it says something else.
    """
    if stated.scalar is not value.dtype.scalar:
        raise IRError(f"T.{name} has type {value.dtype} here, not {stated}; leave dtype= out, or cast the result")
