"""Methods of a buffer in an expression: ``A.vload([i])``, ``A.ptr_to([i])``, ``A.access_ptr("r")``, ``A.scope()``."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from verified_tir.ir.dtype import HANDLE, INT32
from verified_tir.ir.expr import Call, Expr, Load, Ramp
from verified_tir.ir.script.arguments import match_arguments
from verified_tir.ir.script.opaque import access_pointer
from verified_tir.ir.script.values import Value
from verified_tir.ir.sugar import as_expr

if TYPE_CHECKING:
    from verified_tir.ir.script.exprs import ExprParser

Method: TypeAlias = "Callable[[ExprParser, ast.Call, ast.expr], Value]"


def _vector_load(p: ExprParser, node: ast.Call, buffer: ast.expr) -> Expr:
    """``A.vload([i], predicate=p)``: lanes of the index where the predicate is false are not accessed."""
    args = match_arguments(p.source, node, ("begin", "dtype", "predicate"), 1)
    base = p.buffer(buffer)
    selection = p.selection(base, args["begin"])
    mask = p.mask(args.get("predicate"))
    indices = p.access(node, selection)
    want = p.dtype(args["dtype"]) if "dtype" in args else None
    with p.located(node):
        if want is not None and indices and want.lanes > base.dtype.lanes and indices[-1].dtype.lanes == 1:
            lanes, rest = divmod(want.lanes, base.dtype.lanes)
            if not rest:  # as many neighbours as the type has lanes
                indices = (*indices[:-1], Ramp(indices[-1], as_expr(1, indices[-1].dtype), lanes))
        found = Load(base, indices, mask)
    if want is not None and found.dtype is not want:
        raise p.error(node, f"the access has type {found.dtype}")
    return found


def _element(p: ExprParser, node: ast.Call, buffer: ast.expr) -> Load:
    """The element that a list of indices names."""
    args = match_arguments(p.source, node, ("indices",), 1)
    selection = p.selection(p.buffer(buffer), args["indices"])
    with p.located(node):
        return Load(selection.buffer, p.access(node, selection))


def _pointer(p: ExprParser, node: ast.Call, buffer: ast.expr) -> Expr:
    """``A.ptr_to([i, j])``: the address of an element."""
    return Call(HANDLE, "address_of", (_element(p, node, buffer),))


def _offset(p: ExprParser, node: ast.Call, buffer: ast.expr) -> Expr:
    """``A.elem_offset_of([i, j])``: where an element lies in the memory, which TVM computes when it lowers the call."""
    return Call(INT32, "buffer_offset", (_element(p, node, buffer),))


def _scope(p: ExprParser, node: ast.Call, buffer: ast.expr) -> Value:
    """``A.scope()``, a string."""
    match_arguments(p.source, node, ())
    return p.buffer(buffer).scope


METHODS: Final[dict[str, Method]] = {
    "vload": _vector_load, "access_ptr": access_pointer, "ptr_to": _pointer, "elem_offset_of": _offset,
    "scope": _scope,
}  # fmt: skip
