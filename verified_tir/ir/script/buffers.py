"""Declarations of buffers: parameters, allocations, views."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import FLOAT32, DType, PointerType
from verified_tir.ir.expr import Call, Expr, IntImm, Load, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.script.arguments import match_arguments
from verified_tir.ir.script.exprs import ExprParser, strides_of
from verified_tir.ir.script.placed import placement, plain_offset, strides_in
from verified_tir.ir.script.pointers import block_of
from verified_tir.ir.script.separators import stored
from verified_tir.ir.script.source import Located
from verified_tir.ir.script.values import typed
from verified_tir.ir.sugar import const

_LATER = ("layout", "axis_separators", "buffer_type", "byte_offset", "allocated_addr")
_OPTIONS = ("strides", "elem_offset", "scope", "align", "offset_factor", *_LATER)
BUFFER_ARGS = ("shape", "dtype", "data", *_OPTIONS)
"""Arguments of ``T.Buffer`` and ``T.decl_buffer``, in order.

Only the first five are taken by position: then some dialects have the scope, and others an offset in bytes.
"""
_DATA_FIRST = ("data", "shape", "dtype", *_OPTIONS)
ALLOC_ARGS = (*BUFFER_ARGS, "annotations")
"""Arguments of ``T.alloc_buffer`` and the like."""
MATCH_ARGS = ("param", *BUFFER_ARGS)
"""Arguments of ``T.match_buffer``; all dialects agree on the first nine."""


@final
@dataclass(slots=True)
class Layout:
    """What a declaration says about a buffer, its block excepted."""

    shape: tuple[Expr, ...]
    dtype: DType
    strides: tuple[Expr, ...]
    elem_offset: Expr
    scope: str | None
    axis_separators: tuple[int, ...]
    data: Var | None

    def make(self, name: str) -> Buffer:
        """The buffer, over a fresh block unless one is given.

        :raises IRError: if the layout does not fit together.
        """
        return Buffer.declare(
            name, self.shape, self.dtype, data=self.data, strides=self.strides, elem_offset=self.elem_offset,
            scope=self.scope, axis_separators=self.axis_separators,
        )  # fmt: skip


class BufferParser(ExprParser):
    """Reads declarations of buffers."""

    def symbol(self, node: ast.expr, name: str) -> Expr:
        """A shape symbol that is named for the first time, in quotes; functions bind them, other places refuse."""
        raise self.unknown_name(node, name)

    def quoted(self, node: ast.expr, text: str) -> Expr:
        """An extent written as a string: names in it that are new become shape symbols."""
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self.error(node, f"{text!r} is not an expression") from None
        for inner in ast.walk(tree):
            # a position inside the quotes is shown as that of the string
            for name in ("lineno", "col_offset"):
                if hasattr(inner, name):
                    setattr(inner, name, getattr(node, name))
            if isinstance(inner, ast.Name) and inner.id not in self.aliases and not self.scope.has(inner.id):
                self.scope.bind(inner.id, self.symbol(inner, inner.id))
        return self.expr(tree)

    def extent(self, node: ast.expr) -> Expr:
        """An extent, stride or offset; a string may name new shape symbols."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self.quoted(node, node.value)
        return self.expr(node)

    def extents(self, node: ast.expr) -> tuple[Expr, ...]:
        """A tuple or list of extents, or a single one."""
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple([self.extent(e) for e in node.elts])
        found = self.value(node)
        if isinstance(found, tuple):
            numbers = [e for e in found if isinstance(e, (Expr, int))]
            if len(numbers) == len(found):
                return tuple([self.typed(node, e) for e in numbers])
        if isinstance(found, str):
            return (self.quoted(node, found),)
        return (self.expr(node),)

    def layout(self, args: dict[str, ast.expr], node: ast.expr) -> Layout:
        """The layout that the arguments of a declaration state."""
        if "shape" not in args:
            raise self.error(node, "the argument shape is missing")
        shape = self.extents(args["shape"])
        dtype = self.dtype(args["dtype"]) if "dtype" in args else FLOAT32
        strides = self.extents(args["strides"]) if "strides" in args else ()
        offset: Expr = self.extent(args["elem_offset"]) if "elem_offset" in args else const(0)
        self.options(args)
        said = strides_in(self, args["layout"], shape) if "layout" in args and not strides else None
        compact = strides_of(Buffer.declare("", shape)) if said is not None else None
        if said is not None and (said == compact or "data" in args):  # of other memory, a layout says how much there is
            args = {k: v for k, v in args.items() if k != "layout"}
            strides = said if said != compact else ()
        plain = offset
        offset = placement(self, args, offset)
        if "offset_factor" in args and isinstance(offset, IntImm):
            factor = self.int_constant(args["offset_factor"])
            if factor > 1 and offset.value % factor:
                raise self.error(args["offset_factor"], f"the offset {offset.value} is not a multiple of {factor}")
        scope = (self.string(args["scope"]) if "scope" in args else "") or None
        separators: tuple[int, ...] = ()
        if "axis_separators" in args:
            given = args["axis_separators"]
            if not isinstance(given, (ast.List, ast.Tuple)):
                raise self.error(given, "axis_separators is a list of positions")
            separators = stored([self.int_constant(e) for e in given.elts], self.source.numbering)
        data, begin = self.data_pointer(args["data"], dtype) if "data" in args else (None, None)
        if begin is not None:
            with self.located(args["data"]):
                offset = placement(self, args, typed(self.binary("add", begin, plain), None))
        if data is not None and isinstance(data.type, PointerType):
            if "scope" in args and scope != data.type.scope:
                raise self.error(args["scope"], f"{data.name} points to the scope {data.type.scope}, not to {scope}")
        return Layout(shape, dtype, strides, offset, scope, separators, data)

    def options(self, args: dict[str, ast.expr]) -> None:
        """Refuses options that would change the meaning and cannot be represented.

        ``align`` and ``offset_factor`` promise something to a code generator that nothing here relies on: they are
        checked as far as constants say it, and forgotten.
        """
        if "byte_offset" in args:
            raise self.error(args["byte_offset"], "byte_offset cannot be represented; use elem_offset")
        if "buffer_type" in args and self.string(args["buffer_type"]) not in ("", "default"):
            raise self.error(args["buffer_type"], "a buffer that broadcasts cannot be represented; use strides of 0")
        for name in ("align", "offset_factor"):
            if name in args:
                self.int_constant(args[name])

    def data_pointer(self, node: ast.expr, dtype: DType) -> tuple[Var, Expr | None]:
        """The block that ``data=`` names, and where in it a buffer of ``dtype`` begins, unless that is its start.

        It is ``A.data``, a handle, the buffer itself, or ``T.address_of(A[…])``.
        """
        found = self.value(node)
        if isinstance(found, Buffer):
            return found.data, None
        with self.located(node):
            block = block_of(found)
        if block is not None:
            if isinstance(found, Var):
                self.pointers.add(found)
            return block, None
        match found:
            case Call(op="address_of", args=(Load(buffer=base, indices=indices),)):
                if base.dtype is not dtype:
                    raise self.error(node, f"the address is one of {base.dtype}, not of {dtype}; view the buffer first")
                with self.located(node):
                    begin = plain_offset(base)
                    for index, stride in zip(indices, strides_of(base), strict=True):
                        step = typed(self.binary("mul", index, stride), None)
                        begin = typed(self.binary("add", begin, step), None)
                return base.data, begin
        raise self.error(node, "data= takes the data of a buffer, such as A.data, or T.address_of(A[i])")

    def block_of(self, value: object, want: DType | PointerType | None) -> Var | None:
        """The block of a buffer that a pointer points to, casts aside: a name of it is the block itself."""
        if want is None and not (isinstance(value, Expr) and value.dtype.code == "handle"):
            return None
        if want is not None and not isinstance(want, PointerType) and want.code != "handle":
            return None
        found = block_of(value, want)
        return found if any(found is b.data for b in self.scope.buffers()) else None

    def declaration(self, node: ast.Call, names: tuple[str, ...] = BUFFER_ARGS) -> tuple[Layout, dict[str, ast.expr]]:
        """Layout and arguments of ``T.alloc_buffer(…)`` and the like."""
        if names is BUFFER_ARGS and node.args and self._is_pointer(node.args[0]):
            names = _DATA_FIRST
        args = match_arguments(self.source, node, names, positional=5)
        return self.layout(args, node), args

    def _is_pointer(self, node: ast.expr) -> bool:
        """Whether an argument is ``A.data`` or a handle: RFC 63 writes ``T.buffer_decl(A.data, [6], "float32")``."""
        found = self.value(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        return isinstance(found, Var) and found.dtype.code == "handle"

    def make(self, node: Located, name: str, layout: Layout) -> Buffer:
        """The declared buffer; a layout that does not fit together is reported at ``node``."""
        try:
            return layout.make(name)
        except IRError as e:
            raise self.error(node, str(e)) from None
