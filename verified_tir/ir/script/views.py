"""Views that TVM names as methods of a buffer: ``A.view(4, 4)``, ``A.permute(1, 0)``, ``A.sub[2:6, i]``.

Each is the same memory with another shape, strides and offset.  Of a buffer with a layout of its own only ``view`` is
read: what the others make of a layout, nothing here follows (``placed``).
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Expr, IntImm
from verified_tir.ir.script.arguments import match_arguments
from verified_tir.ir.script.buffers import Layout
from verified_tir.ir.script.exprs import strides_of
from verified_tir.ir.script.linear import constant_difference, extent_between
from verified_tir.ir.script.placed import layout_text, parts, placed, plain_offset, strides_in
from verified_tir.ir.script.regions import sum_of
from verified_tir.ir.script.values import typed
from verified_tir.ir.sugar import const

if TYPE_CHECKING:
    from verified_tir.ir.script.bindings import BindingParser

_METHODS: Final = frozenset({"view", "local", "partition", "permute", "rearrange"})


def view_of(p: BindingParser, node: ast.expr, name: str) -> Buffer | None:
    """The view that an expression names, of a buffer or of another view; ``None`` if it names none."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=how)) if how in _METHODS and p.t_name(node.func) is None:
            base = view_of(p, inner, name) or p.value(inner)
            if not isinstance(base, Buffer):
                raise p.error(inner, "only a buffer has views")
            with p.located(node):
                match how:
                    case "view" | "local":
                        return _view(p, node, name, base)
                    case "partition":
                        return _tiles(p, node, name, base)
                    case "permute":
                        axes = [p.int_constant(a) for a in node.args]
                        return _permuted(p, node, name, base, axes)
                return _rearranged(p, node, name, base)
        case ast.Subscript(value=ast.Attribute(value=inner, attr="sub") as how, slice=chosen):
            pass
        case ast.Subscript(value=ast.Call(func=ast.Attribute(value=inner, attr="tile")) as how, slice=chosen):
            pass
        case _:
            return None
    base = view_of(p, inner, name) or p.value(inner) if p.t_name(inner) is None else None
    if not isinstance(base, Buffer):
        return None
    picks = chosen.elts if isinstance(chosen, ast.Tuple) else [chosen]
    with p.located(node):
        return _tile(p, how, name, base, picks) if isinstance(how, ast.Call) else _sub(p, node, name, base, picks)


def _lies(p: BindingParser, buffer: Buffer) -> tuple[tuple[Expr, ...], Expr]:
    """The strides and the offset of a buffer's elements, by its layout if it has one that comes to strides.

    :raises IRError: if it has another one.
    """
    offset, layout, address = parts(buffer.elem_offset)
    if not layout and not address:
        return strides_of(buffer), offset
    told = ast.parse(layout, mode="eval").body if layout and not address else None
    strides = strides_in(p, told, buffer.shape) if told is not None and "T" in p.aliases else None
    return (strides_of(buffer) if strides is None else strides), plain_offset(buffer) if strides is None else offset


def _made(
    p: BindingParser, node: ast.expr, name: str, base: Buffer, shape: tuple[Expr, ...], strides: tuple[Expr, ...],
    offset: Expr, dtype: DType | None = None,
) -> Buffer:  # fmt: skip
    """The view with these strides, left out where they are those of its shape."""
    compact = Buffer.declare(name, shape, base.dtype)
    if all(a is b for a, b in zip(strides, strides_of(compact), strict=True)):
        strides = ()
    return p.make(node, name, Layout(shape, dtype or base.dtype, strides, offset, base.scope, (), base.data))


def _view(p: BindingParser, node: ast.Call, name: str, base: Buffer) -> Buffer:
    """``A.view(4, 4)`` or ``A.view("float32x4")``: the same block with another shape or element type.

    ``A.local(4, layout=…)`` is the same of the memory that each thread has of it.
    """
    local = isinstance(node.func, ast.Attribute) and node.func.attr == "local"
    if local and not (node.args and node.keywords):
        raise p.error(node, "local takes the extents of the new shape and its layout here")
    if not node.args or any(k.arg != "layout" for k in node.keywords):
        raise p.error(node, "view takes the extents of the new shape, with a layout perhaps, or a dtype")
    first = p.value(node.args[0])
    if base.strides and (isinstance(first, (str, DType)) or node.keywords):
        raise p.error(node, "a view of a buffer with strides is written with T.decl_buffer")
    dtype, shape = base.dtype, base.shape
    offset, old, address = parts(base.elem_offset)
    if isinstance(first, (str, DType)):
        dtype = p.dtype(node.args[0])
        if node.keywords:
            raise p.error(node, "a view of another type has no layout of its own")
        have, want = base.dtype.nbytes, dtype.nbytes
        if not shape or (have % want and want % have):
            raise p.error(node, f"elements of {base.dtype} cannot be viewed as {dtype}")
        if have < want and not (isinstance(offset, IntImm) and offset.value % (want // have) == 0):
            raise p.error(node, f"the offset of {base.name} need not be a whole number of elements of {dtype}")
        last, offset = (e * (have // want) if have >= want else e // (want // have) for e in (shape[-1], offset))
        shape = (*shape[:-1], last)
    elif isinstance(first, tuple):
        shape = p.extents(node.args[0])
    else:
        shape = tuple([p.extent(a) for a in node.args])
    given = [k.value for k in node.keywords]
    if base.strides:
        return _regrouped_view(p, node, name, base, shape)
    if given and (strides := strides_in(p, given[0], shape)) is not None and not address:
        return _made(p, node, name, base, shape, strides, offset, dtype)
    if address and base.scope == "tmem":
        raise p.error(node, "a view of memory that is known by its address cannot be represented")
    if old and not given and (old.startswith('"') or dtype is not base.dtype):
        raise p.error(node, f"the layout of {base.name} does not say where the elements of this view lie")
    layout = layout_text(p, given[0]) if given else old
    offset = placed(offset, layout) if layout else offset
    return p.make(node, name, Layout(shape, dtype, (), offset, base.scope, (), base.data))


def _regrouped_view(p: BindingParser, node: ast.expr, name: str, base: Buffer, shape: tuple[Expr, ...]) -> Buffer:
    """The same elements in the same order, of a buffer with constant strides."""
    offset = plain_offset(base)
    if len(shape) == len(base.shape) and shape != base.shape:
        raise p.error(node, "a view of a buffer with strides is written with T.decl_buffer")
    kept = _regrouped(base, shape)
    if kept is not None:
        return _made(p, node, name, base, shape, kept, offset)
    offset = placed(offset, _layout_of(p, node, base))
    return p.make(node, name, Layout(shape, base.dtype, (), offset, base.scope, (), base.data))


def _tile(p: BindingParser, node: ast.Call, name: str, base: Buffer, picks: Sequence[ast.expr]) -> Buffer:
    """``A.tile((1, (-1, 4, 4)))[:, w, :]``: axes taken apart into factors, of which some are picked, and the others
    make one axis again."""
    specs: list[tuple[int, list[int]]] = []
    for arg in node.args:
        match arg:
            case ast.Tuple(elts=[dim, ast.Tuple(elts=sizes)]) if not node.keywords:
                specs.append((p.int_constant(dim), [p.int_constant(f) for f in sizes]))
            case _:
                raise p.error(arg, "tile takes pairs of an axis and its factors")
    if len(picks) != sum(len(factors) for _, factors in specs) or len({axis for axis, _ in specs}) < len(specs):
        raise p.error(node, "each factor of a tile has one index, or : to keep it, and each axis is named once")
    groups: list[tuple[int, list[int], Sequence[ast.expr]]] = []
    at = 0
    for axis, factors in specs:
        groups.append((axis, factors, picks[at : at + len(factors)]))
        at += len(factors)
    for axis, factors, chosen in sorted(groups, key=lambda group: -group[0]):
        base = _tiled_axis(p, node, name, base, axis, factors, chosen)
    return base


def _tiled_axis(
    p: BindingParser, node: ast.expr, name: str, base: Buffer, axis: int, factors: Sequence[int],
    picks: Sequence[ast.expr],
) -> Buffer:  # fmt: skip
    whole = base.shape[axis] if 0 <= axis < len(base.shape) else None
    known = math.prod(f for f in factors if f != -1)
    if not isinstance(whole, IntImm) or factors.count(-1) > 1 or known < 1 or whole.value % known:
        raise p.error(node, f"the factors do not follow from the extent of axis {axis}")
    sizes = [whole.value // known if f == -1 else f for f in factors]
    if math.prod(sizes) != whole.value:
        raise p.error(node, f"the factors do not give the extent {whole.value} of axis {axis}")
    steps, offset = _lies(p, base)
    inner, stride = whole.value, steps[axis]
    kept: list[tuple[int, Expr]] = []
    for size, pick in zip(sizes, picks, strict=True):
        inner //= size
        step = stride * inner
        match pick:
            case ast.Slice(lower=None, upper=None, step=None):
                kept.append((size, step))
            case ast.Slice():
                raise p.error(pick, "a factor of a tile is kept whole, or one of its places is picked")
            case _:
                index = p.expr(pick, whole.dtype)
                if not _inside(index, sum_of(index, const(1)), const(size, whole.dtype)):
                    raise p.error(pick, f"the index leaves a factor of {size}")
                offset = _moved(p, offset, index, step)
    if len(kept) == len(picks):
        raise p.error(node, "a tile picks a place of one factor at least")
    shape = (*base.shape[:axis], *[const(n, whole.dtype) for n, _ in kept], *base.shape[axis + 1 :])
    strides = (*steps[:axis], *[s for _, s in kept], *steps[axis + 1 :])
    made = p.make(node, name, Layout(shape, base.dtype, strides, offset, base.scope, (), base.data))
    if len(kept) < 2:
        return _made(p, node, name, base, shape, strides, offset)
    merged = const(math.prod(n for n, _ in kept), whole.dtype)
    return _regrouped_view(p, node, name, made, (*base.shape[:axis], merged, *base.shape[axis + 1 :]))


def _regrouped(base: Buffer, shape: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
    """The strides of a view whose elements, in order, are those of a buffer with constant strides; ``None`` if no
    strides say where they lie."""
    sizes, steps, wanted = ([e.value for e in es if isinstance(e, IntImm)] for es in (base.shape, base.strides, shape))
    if len(sizes) != len(base.shape) or len(steps) != len(sizes) or len(wanted) != len(shape) or min(wanted) < 1:
        return None
    axes = [(n, s) for n, s in zip(sizes, steps, strict=True) if n != 1]
    for k in range(len(axes) - 1, 0, -1):  # neighbours that lie as one axis
        (outer, far), (inner, near) = axes[k - 1], axes[k]
        if far == inner * near:
            axes[k - 1 : k + 1] = [(outer * inner, near)]
    found: list[int] = []
    left, step = axes.pop() if axes else (1, 1)
    for extent in reversed(wanted):
        if left == 1 and axes:
            left, step = axes.pop()
        if left % extent:
            return None
        found.append(step)
        left, step = left // extent, step * extent
    if left != 1 or axes:
        return None
    return tuple([const(n, e.dtype) for n, e in zip(reversed(found), shape, strict=True)])


def _layout_of(p: BindingParser, node: ast.expr, base: Buffer) -> str:
    """The layout that says what the constant strides of a buffer do."""
    sizes, steps = ([e.value for e in es if isinstance(e, IntImm)] for es in (base.shape, base.strides))
    if len(sizes) != len(base.shape) or len(steps) != len(sizes):
        raise p.error(node, "a view of a buffer with strides is written with T.decl_buffer")
    extents, strides = (", ".join(map(str, numbers)) for numbers in (sizes, steps))
    return f"T.TileLayout(T.S[({extents}):({strides})])"


def _tiles(p: BindingParser, node: ast.Call, name: str, base: Buffer) -> Buffer:
    """``A.partition(num_tiles=(2, 2))``: the numbers of the tiles, then the places in a tile, of the same block.

    That is how TVM prints a declaration with such strides, though it does not read it.
    """
    numbers = match_arguments(p.source, node, ("num_tiles",)).get("num_tiles")
    outer = p.extents(numbers) if numbers is not None else ()
    counts, extents = ([e.value for e in es if isinstance(e, IntImm)] for es in (outer, base.shape))
    if base.strides or len(counts) != len(base.shape) or len(extents) != len(base.shape):
        raise p.error(node, "partition takes num_tiles, one number for each constant extent of a compact buffer")
    if any(c == 0 or e % c for c, e in zip(counts, extents, strict=True)):
        raise p.error(node, "these tiles do not divide the extents of the buffer; declare it with T.decl_buffer")
    sizes = [e // c for c, e in zip(counts, extents, strict=True)]
    steps = strides_of(base)
    strides = (*(s * n for n, s in zip(sizes, steps, strict=True)), *steps)
    shape = tuple([const(n) for n in (*counts, *sizes)])
    layout = Layout(shape, base.dtype, strides, plain_offset(base), base.scope, (), base.data)
    return p.make(node, name, layout)


def _permuted(p: BindingParser, node: ast.Call, name: str, base: Buffer, axes: Sequence[int]) -> Buffer:
    """``A.permute(1, 0)``: the axes in another order."""
    if node.keywords or sorted(axes) != list(range(len(base.shape))):
        raise p.error(node, f"permute names each of the {len(base.shape)} axes once")
    steps, offset = _lies(p, base)
    shape, strides = (tuple([es[k] for k in axes]) for es in (base.shape, steps))
    return _made(p, node, name, base, shape, strides, offset)


def _rearranged(p: BindingParser, node: ast.Call, name: str, base: Buffer) -> Buffer:
    """``A.rearrange("(outer inner) tail -> outer tail inner", outer=2)``: axes taken apart, and in another order."""
    sizes = {k.arg: p.int_constant(k.value) for k in node.keywords if k.arg and (node.args or k.arg != "pattern")}
    patterns = [*node.args, *[k.value for k in node.keywords if not node.args and k.arg == "pattern"]]
    left, arrow, right = p.string(patterns[0]).partition("->") if len(patterns) == 1 else ("", "", "")
    groups = [(inner or single).split() for inner, single in re.findall(r"\(([^)]*)\)|(\S+)", left)]
    axes, wanted = [axis for group in groups for axis in group], right.split()
    if not arrow or sorted(axes) != sorted(wanted) or len(set(axes)) < len(axes) or len(groups) != len(base.shape):
        raise p.error(node, "rearrange names the axes of the buffer on the left of ->, and the same on the right")
    extents: dict[str, int] = {}
    for group, whole in zip(groups, base.shape, strict=True):
        known = 1
        for axis in group:
            known *= sizes.get(axis, 1)
        open_axes = [axis for axis in group if axis not in sizes]
        if not isinstance(whole, IntImm) or len(open_axes) > 1 or known < 1 or whole.value % known:
            raise p.error(node, f"the sizes of {' '.join(group)} do not follow from the extent of the axis")
        if not open_axes and known != whole.value:
            raise p.error(node, f"the sizes of {' '.join(group)} do not give the extent {whole.value}")
        extents |= {axis: sizes.get(axis, whole.value // known) for axis in group}
    shape = tuple([const(extents[axis]) for axis in axes])
    if base.strides:
        raise p.error(node, "axes of a buffer with strides are not taken apart; declare it with T.decl_buffer")
    whole_view = _made(p, node, name, base, shape, strides_of(Buffer.declare(name, shape)), plain_offset(base))
    order = [axes.index(axis) for axis in wanted]
    return _permuted(p, ast.copy_location(ast.Call(node.func, [], []), node), name, whole_view, order)


def _sub(p: BindingParser, node: ast.expr, name: str, base: Buffer, chosen: Sequence[ast.expr]) -> Buffer:
    """``A.sub[2:6, i]``: some rows of an axis, or one of them and the axis left out."""
    if len(chosen) > len(base.shape):
        raise p.error(node, f"{base.name} has {len(base.shape)} dimensions, not {len(chosen)}")
    steps, offset = _lies(p, base)
    shape: list[Expr] = []
    strides: list[Expr] = []
    for k, (whole, stride) in enumerate(zip(base.shape, steps, strict=True)):
        at = chosen[k] if k < len(chosen) else ast.Slice()
        if not isinstance(at, ast.Slice):
            index = p.expr(at, whole.dtype)
            if not _inside(index, sum_of(index, const(1)), whole):
                raise p.error(node, f"the index leaves {base.name} in dimension {k}")
            offset = _moved(p, offset, index, stride)
            continue
        low = p.expr(at.lower, whole.dtype) if at.lower is not None else const(0, whole.dtype)
        high = p.expr(at.upper, whole.dtype) if at.upper is not None else whole
        step = p.int_constant(at.step) if at.step is not None else 1
        if not _inside(low, high, whole):
            raise p.error(node, f"the slice leaves {base.name} in dimension {k}")
        if step < 1:
            raise p.error(node, "the step of a slice is positive")
        offset = _moved(p, offset, low, stride)
        shape.append((extent_between(low, high) + (step - 1)) // step)
        strides.append(stride * step)
    return _made(p, node, name, base, tuple(shape), tuple(strides), offset)


def _inside(low: Expr, high: Expr, whole: Expr) -> bool:
    """Whether constants do not say that an interval leaves its axis."""
    left = constant_difference(whole, high)
    return not (isinstance(low, IntImm) and low.value < 0) and (left is None or left >= 0)


def _moved(p: BindingParser, offset: Expr, index: Expr, stride: Expr) -> Expr:
    """``offset + index * stride``."""
    return typed(p.binary("add", offset, typed(p.binary("mul", index, stride), None)), None)
