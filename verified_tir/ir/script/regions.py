"""Regions of buffers: what blocks declare to read and write, and buffers that stand for a region of another one."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import FLOAT32
from verified_tir.ir.expr import Expr, IntImm, Ramp, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.script.buffers import BufferParser, Layout
from verified_tir.ir.script.exprs import strides_of
from verified_tir.ir.script.linear import constant_difference, extent_between, is_multiple, same_value
from verified_tir.ir.script.placed import placement, plain_offset
from verified_tir.ir.script.values import Selection, Slice, unified
from verified_tir.ir.stmt import Region
from verified_tir.ir.sugar import binary, const


@final
@dataclass(slots=True)
class Matched:
    """A buffer that stands for a region, and what the symbols of its declaration stand for."""

    buffer: Buffer
    symbols: dict[Var, Expr] = field(default_factory=dict)


class RegionParser(BufferParser):
    """Reads regions."""

    def region(self, node: ast.expr) -> Region:
        """``A[i, 0:14]`` as a region; the bare buffer stands for all of it."""
        found = self.value(node)
        if isinstance(found, Buffer):
            return Region(found, tuple([const(0, e.dtype) for e in found.shape]), found.shape)
        if not isinstance(found, Selection):
            raise self.error(node, "a region of a buffer is needed, such as A[i, 0:14]")
        buffer = found.buffer
        if len(found.indices) != len(buffer.shape):
            raise self.error(
                node, f"{buffer.name} has {len(buffer.shape)} dimensions; the region names {len(found.indices)}"
            )
        mins: list[Expr] = []
        extents: list[Expr] = []
        for part, whole in zip(found.indices, buffer.shape, strict=True):
            start, extent = self._interval(node, part, whole)
            mins.append(start)
            extents.append(extent)
        return Region(buffer, tuple(mins), tuple(extents))

    def _interval(self, node: ast.expr, part: Expr | Slice, whole: Expr) -> tuple[Expr, Expr]:
        """Start and extent of one dimension of a region."""
        if isinstance(part, Slice):
            if part.step != 1:
                raise self.error(node, "a region has no gaps; its slices have no step")
            stop = part.stop if part.stop is not None else whole
            start = part.start if part.start is not None else const(0, stop.dtype)
            try:
                return start, extent_between(start, stop)
            except IRError as e:
                raise self.error(node, str(e)) from None
        match part:
            case Ramp(base=base, stride=IntImm(value=1), lanes=lanes):
                return base, const(lanes, base.dtype)
        if not part.dtype.is_int or part.dtype.lanes != 1:
            raise self.error(node, f"a region is given by scalar integers, not by {part.dtype}")
        return part, const(1, part.dtype)

    def regions(self, nodes: Sequence[ast.expr]) -> tuple[Region, ...]:
        """The arguments of ``T.reads``/``T.writes``; the older form wraps them into a list."""
        found: list[Region] = []
        for node in nodes:
            if isinstance(node, (ast.List, ast.Tuple)):
                found.extend(self.regions(node.elts))
            else:
                found.append(self.region(node))
        return tuple(found)

    def match_region(self, node: ast.Call, name: str, args: dict[str, ast.expr]) -> Matched:
        """``T.match_buffer(A[…], shape)`` inside a block: a view of the region, with strides and offset of ``A``.

        What the declaration says must be so, as in TVM: the shape is that of the region's last dimensions, those before
        have the extent 1, and strides, offset, scope and type are those of ``A``.  A symbol among them
        (``s = T.int32()``, or a new name written as a string) stands for what the region has there.
        """
        region = self.region(args["param"])
        base = region.buffer
        self._inside(args["param"], region)
        found = Matched(base)
        shape = self._matched_shape(node, region, args.get("shape"), found)
        dtype = self.dtype(args["dtype"]) if "dtype" in args else FLOAT32 if "shape" in args else base.dtype
        if dtype is not base.dtype:
            raise self.error(node, f"a region of {base.dtype} is matched with a buffer of {dtype}")
        if "data" in args and self.data_pointer(args["data"], base.dtype) != (base.data, None):
            raise self.error(args["data"], f"the region lies in the data of {base.name}; leave data= out")
        if "scope" in args and self.string(args["scope"]) != base.scope:
            raise self.error(args["scope"], f"the region lies in the scope {base.scope}, as {base.name} does")
        self.options(args)
        for key in ("layout", "allocated_addr"):
            if key in args and placement(self, {key: args[key]}, base.elem_offset) is not base.elem_offset:
                raise self.error(args[key], f"the region lies as {base.name} does; leave {key}= out")
        if "axis_separators" in args and self.value(args["axis_separators"]) != ():
            raise self.error(args["axis_separators"], "a region has no axis_separators of its own")
        all_strides = strides_of(base)
        with self.located(node):
            offset = plain_offset(base)
        for start, stride in zip(region.mins, all_strides, strict=True):
            offset = sum_of(offset, product_of(start, stride))
        if "elem_offset" in args:
            self._agree(args["elem_offset"], offset, "the offset of the region", found)
        if "offset_factor" in args:
            factor = self.int_constant(args["offset_factor"])
            if factor > 1 and is_multiple(offset, factor) is False:
                raise self.error(args["offset_factor"], f"the offset of the region is not a multiple of {factor}")
        strides = all_strides[len(all_strides) - len(shape) :]
        if "strides" in args:
            self._matched_strides(args["strides"], strides, found)
        compact = Buffer.declare(name, shape, dtype)
        if not base.strides and all(a is b for a, b in zip(strides, strides_of(compact), strict=True)):
            strides = ()
        found.buffer = self.make(node, name, Layout(shape, dtype, strides, offset, base.scope, (), base.data))
        return found

    def _inside(self, node: ast.expr, region: Region) -> None:
        """Refuses a region that leaves its buffer, as far as constants say it."""
        buffer = region.buffer
        for k, (start, extent, whole) in enumerate(zip(region.mins, region.extents, buffer.shape, strict=True)):
            with self.located(node):
                left = constant_difference(whole, sum_of(start, extent))
                if (isinstance(start, IntImm) and start.value < 0) or (left is not None and left < 0):
                    raise self.error(node, f"the region leaves {buffer.name} in dimension {k}")

    def _matched_shape(
        self, node: ast.Call, region: Region, given: ast.expr | None, found: Matched
    ) -> tuple[Expr, ...]:
        """The shape of the matched buffer: the extents of the region, leading ones of 1 left out if the text does."""
        if given is None:
            return region.extents
        nodes = given.elts if isinstance(given, (ast.Tuple, ast.List)) else None
        shape = self.extents(given) if nodes is None else ()
        rank = len(shape) if nodes is None else len(nodes)
        dropped = len(region.extents) - rank
        if dropped < 0:
            raise self.error(node, f"the region has {len(region.extents)} dimensions, the buffer {rank}")
        for k, extent in enumerate(region.extents[:dropped]):
            if not same_value(extent, const(1)):
                raise self.error(node, f"dimension {k} of the region is left out, and its extent may not be 1")
        kept = region.extents[dropped:]
        if nodes is not None:
            what = "the extent of the region"
            return tuple([self._agree(n, e, what, found) for n, e in zip(nodes, kept, strict=True)])
        for said, extent in zip(shape, kept, strict=True):
            if not same_value(said, extent):
                raise self.error(given, "the shape is not that of the region")
        return shape

    def _matched_strides(self, node: ast.expr, strides: tuple[Expr, ...], found: Matched) -> None:
        if not isinstance(node, (ast.Tuple, ast.List)):
            raise self.error(node, "strides is a tuple")
        if len(node.elts) not in (0, len(strides)):
            raise self.error(node, f"{len(strides)} strides are needed")
        for part, stride in zip(node.elts, strides, strict=False):
            self._agree(part, stride, "the stride of the region", found)

    def _agree(self, node: ast.expr, actual: Expr, what: str, found: Matched) -> Expr:
        """What is written for ``actual``: a symbol, which takes its value, or an expression of the same value."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            # TVM makes a new variable of the string; the name, if it is in scope, keeps its meaning
            if not self.scope.has(node.value):
                if not node.value.isidentifier():
                    raise self.error(node, f"{node.value!r} is not a name")
                self.scope.bind(node.value, actual)
            return actual
        said = self.expr(node, actual.dtype)
        if isinstance(said, Var) and said in self.symbols:
            if said.dtype is not actual.dtype:
                raise self.error(node, f"{said.name} has type {said.dtype}, {what} {actual.dtype}")
            self.symbols.discard(said)
            found.symbols[said] = actual
            if isinstance(node, ast.Name):
                self.scope.hide(node.id, actual)
            return actual
        if not same_value(said, actual):
            raise self.error(node, f"this cannot be shown to be {what}")
        return said


def sum_of(a: Expr, b: Expr) -> Expr:
    """``a + b``; a constant takes the other's type.

    :raises IRError: if the types differ otherwise.
    """
    return binary("add", *_adapted(a, b))


def product_of(a: Expr, b: Expr) -> Expr:
    """``a * b``; a constant takes the other's type.

    :raises IRError: if the types differ otherwise.
    """
    return binary("mul", *_adapted(a, b))


def _adapted(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    match a, b:
        case IntImm(value=v), _ if not isinstance(b, IntImm) or b.dtype.bits > a.dtype.bits:
            return const(v, b.dtype), b
        case _, IntImm(value=v):
            return a, const(v, a.dtype)
    return unified(a, b, None)
