"""Buffers whose elements lie where no strides can say: ``layout=T.TileLayout(…)``, ``allocated_addr=[0]``.

TVM 0.27 lays out tiles over threads and swizzles them, and gives memory of some devices an address.  Nothing here
follows that, so such a buffer is declared and printed, and that is all: its offset is a call ``placed{}`` of the offset
in elements, the layout as text, and the address.  No program is well-formed whose buffers lie where an opaque call
says (``ir.misplaced`` tells what to do).
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Call, Expr, StringImm
from verified_tir.ir.node import IRError
from verified_tir.ir.sugar import as_expr

if TYPE_CHECKING:
    from verified_tir.ir.script.buffers import BufferParser

PLACED: Final = "placed{}"
_NAMES: Final = frozenset({"Axis", "Tx"})
"""Names in a layout that stand for TVM's, besides those of ``T``."""


def placement(p: BufferParser, args: dict[str, ast.expr], offset: Expr) -> Expr:
    """The offset of a buffer with the layout and the address that the arguments state."""
    layout = layout_text(p, args["layout"]) if "layout" in args else ""
    address = args.get("allocated_addr")
    addresses = address.elts if isinstance(address, (ast.List, ast.Tuple)) else [address] if address else []
    made = [p.expr(e) for e in addresses]
    return placed(offset, layout, tuple(made)) if layout or made else offset


def strides_in(p: BufferParser, node: ast.expr, shape: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
    """The strides that ``T.TileLayout(T.S[(4, 8) : (8, 1)])`` states for a buffer of that shape.

    ``None`` of another layout: one of other extents than the buffer's, or over other axes than that of memory.
    """
    match node:
        case ast.Call(func=called, args=[ast.Subscript(value=head, slice=said)], keywords=[]) if (
            p.t_name(called) == "TileLayout" and p.t_name(head) == "S"
        ):  # fmt: skip
            pass
        case _:
            return None
    extents, steps = (said.lower, said.upper) if isinstance(said, ast.Slice) else (said, None)
    found = _integers(extents)
    if found is None or len(found) != len(shape):
        return None
    if [as_expr(n, e.dtype) for n, e in zip(found, shape, strict=True)] != [*shape]:
        return None
    if steps is None:
        strides = [math.prod(found[k + 1 :]) for k in range(len(found))]
    elif (given := _integers(steps)) is None or len(given) != len(found):
        return None
    else:
        strides = given
    return tuple([as_expr(n, e.dtype) for n, e in zip(strides, shape, strict=True)])


def _integers(node: ast.expr | None) -> list[int] | None:
    """The integers of a tuple, or a single one; ``None`` of anything else."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    found = [n for e in parts if (n := _integer(e)) is not None]
    return found if len(found) == len(parts) else None


def _integer(node: ast.expr | None) -> int | None:
    """An integer, or a product of them; ``None`` of anything else."""
    match node:
        case ast.Constant(value=int() as v) if not isinstance(v, bool):
            return v
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            a, b = _integer(left), _integer(right)
            return None if a is None or b is None else a * b
    return None


def placed(offset: Expr, layout: str, address: tuple[Expr, ...] = ()) -> Expr:
    """The offset that stands for a layout and an address."""
    return Call(offset.dtype, PLACED, (offset, StringImm(layout), *address))


def layout_text(p: BufferParser, node: ast.expr) -> str:
    """The layout as TVM's printer would write it; the empty string for the default one.

    :raises ScriptError: if it depends on anything but constants.
    """
    if isinstance(node, ast.Constant):
        if not isinstance(node.value, str):
            raise p.error(node, "a layout is a string, or T.TileLayout and the like")
        if node.value != "default" and not _AXES.fullmatch(node.value):
            raise p.error(node, "a layout other than the default is T.TileLayout and the like, or a name such as PF")
        return "" if node.value == "default" else f'"{node.value}"'
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id not in p.aliases and inner.id not in _NAMES:
            raise p.error(inner, f"a layout is written with constants; {inner.id} is none of them")
        if isinstance(inner, ast.Constant) and not isinstance(inner.value, (int, str)):
            raise p.error(inner, "a layout is written with integers")
    if not isinstance(node, ast.Call) or p.t_name(node.func) not in _LAYOUTS:
        raise p.error(node, "a layout is a string, or T.TileLayout and the like")
    return ast.unparse(_renamed(node, p.aliases)).replace("'", '"')


_AXES: Final = re.compile("[PF]+")
"""The axes of memory that has partitions, which a string names for each axis of the buffer."""
_LAYOUTS: Final = frozenset({"TileLayout", "TileLayout.from_iters", "ComposeLayout", "SwizzleLayout"})


def _renamed(node: ast.expr, aliases: Collection[str]) -> ast.expr:
    """The expression with ``T`` for the names that the text has for it."""

    class Renamed(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.Name:
            return ast.copy_location(ast.Name("T" if node.id in aliases else node.id, node.ctx), node)

    made: ast.expr = Renamed().visit(ast.parse(ast.unparse(node), mode="eval").body)
    return made


def parts(offset: Expr) -> tuple[Expr, str, tuple[Expr, ...]]:
    """The offset in elements, the layout and the address of a buffer's offset."""
    match offset:
        case Call(op="placed{}", args=(inner, StringImm(value=layout), *address)):
            return inner, layout, tuple(address)
    return offset, "", ()


def plain_part(offset: Expr) -> Expr:
    """The offset in elements alone."""
    return parts(offset)[0]


def plain_offset(buffer: Buffer) -> Expr:
    """The offset of a buffer whose elements lie where its strides say.

    :raises IRError: for another one.
    """
    offset, layout, address = parts(buffer.elem_offset)
    if layout or address:
        raise IRError(f"where the elements of {buffer.name} lie, its layout says, which nothing here follows")
    return offset
