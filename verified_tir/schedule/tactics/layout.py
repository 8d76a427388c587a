"""transform_layout: where the elements of a buffer stand, and what stands between them (RFC 39; RFC 77,
"Enhancement - transform_layout").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from verified_tir.index.map import IndexMap, IndexMapError, NotInjective
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, IntImm, Undef, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
from verified_tir.ir.script.separators import SeparatorNumbering, stored
from verified_tir.ir.stmt import Allocate
from verified_tir.ir.sugar import any_of, const
from verified_tir.ir.visit import free_vars
from verified_tir.kernel.effects import opaque_calls, written_blocks
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.padding import PadValue
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.schedule import codes
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.counted import accessed, counted
from verified_tir.schedule.tactics.pad_value import of_buffer, reads_memory, transformed, write_padding
from verified_tir.schedule.tactics.pad_value import pad_value as padding_value
from verified_tir.schedule.tactics.ramps import as_ramps

MapLike: TypeAlias = IndexMap | Callable[..., Any]
BufferIn: TypeAlias = "str | Buffer | tuple[str, int]"
"""A buffer of a block: itself, its name, or ``("read", k)`` or ``("write", k)``."""


# -- looking up --------------------------------------------------------------------------------------------------------


def find_buffer(session: Session, name: str | Buffer) -> tuple[Buffer, Path | None]:
    """A parameter (path ``None``) or an allocated buffer (the path of its allocation)."""
    if not isinstance(name, (str, Buffer)):
        raise fail(f"a buffer is given by its name or itself, not by {name!r}", code=codes.NO_BUFFER)
    everything: list[tuple[Buffer, Path | None]] = [(b, None) for b in session.func.buffers]
    everything += [(s.buffer, p) for p, s in session.find(Allocate)]
    same = [pair for pair in everything if pair[0] is name]
    wanted = name if isinstance(name, str) else name.name
    found = same or [pair for pair in everything if pair[0].name == wanted]
    if not found:
        known = ", ".join(b.name for b, _ in everything)
        raise fail(f"there is no buffer called {wanted!r}; the buffers are {known}", code=codes.NO_BUFFER)
    if len(found) > 1:
        raise fail(
            f"there are {len(found)} buffers called {wanted!r}; give the one of Schedule.buffers that is meant",
            code=codes.AMBIGUOUS_BUFFER,
        )
    return found[0]


def buffer_in(session: Session, block: str, which: BufferIn) -> Buffer:
    """A buffer that a block uses.

    Numbers count as in TVM (see :mod:`~verified_tir.schedule.tactics.counted`).
    """
    _, label = session.block(block)
    match which:
        case ("read" | "write" as kind, int(k)):
            found = counted(session, block, label, kind)
            chosen = found[k] if 0 <= k < len(found) else None
            if chosen is None:
                names = ", ".join(b.name for b in found if b is not None) or "none"
                why = f"; what its opaque calls {kind} is not known" if opaque_calls(label.body) else ""
                raise fail(
                    f"block {block} has no {kind} buffer number {k}; it {kind}s {names}{why}", code=codes.NO_BUFFER
                )
            return chosen
        case str() | Buffer():
            name = which if isinstance(which, str) else which.name
            used = [*accessed(label.body, "write"), *accessed(label.body, "read")]
            for b in used:
                if b is which or b.name == name:
                    return b
            names = ", ".join(dict.fromkeys(b.name for b in used))
            raise fail(f"block {block} does not use {name}; it uses {names}", code=codes.NO_BUFFER)
    raise fail(f'a buffer of a block is its name, ("read", k) or ("write", k), not {which!r}', code=codes.NO_BUFFER)


def numbered(kind: Literal["read", "write"], which: BufferIn | int) -> BufferIn:
    """A buffer of a block, where a plain number counts those that it reads or writes."""
    if isinstance(which, bool):
        raise fail(f"a buffer is its name, itself or its number, not {which}", code=codes.NO_BUFFER)
    return (kind, which) if isinstance(which, int) else which


def find_symbol(session: Session, name: str) -> Var:
    """A scalar parameter, or a symbol of the shapes."""
    symbols = [p for p in session.func.params if session.func.buffer_of(p) is None]
    symbols += [v for b in session.func.buffers for e in b.shape for v in free_vars(e)]
    found = next((v for v in symbols if v.name == name), None)
    if found is None:
        names = ", ".join(dict.fromkeys(v.name for v in symbols)) or "none"
        raise fail(f"there is no symbol called {name!r}; there are {names}", code=codes.NOTHING_OF_THAT_NAME)
    return found


# -- transform_layout --------------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """``["read", 0]`` as ``("read", 0)``."""
    return tuple(value) if isinstance(value, list) and value[:1] in (["read"], ["write"]) else value


def layout_arguments(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[str | None, Any, Any, Any, Any]:
    """Block (or ``None``), buffer, index map, pad value and shape, from either form of ``transform_layout``."""
    args, named = tuple(map(_plain, args)), {k: _plain(v) for k, v in named.items()}
    shape = named.pop("shape", None)
    second_is_buffer = len(args) > 1 and isinstance(args[1], (str, tuple, Buffer))
    in_block = "block" in named or second_is_buffer or (len(args) == 1 and "buffer" in named)
    names = ["block", "buffer", "index_map", "pad_value"][0 if in_block else 1 :]
    if len(args) > len(names):
        raise TypeError(f"transform_layout takes {', '.join(names)}; {len(args)} arguments are given")
    found = dict(zip(names, args, strict=False))
    for name, value in named.items():
        if name not in names or name in found:
            raise TypeError(f"transform_layout takes {', '.join(names)}; {name} is unknown or given twice")
        found[name] = value
    for name in names[:-1]:
        if name not in found:
            raise TypeError(f"transform_layout needs {name}")
    return found.get("block"), found["buffer"], found["index_map"], found.get("pad_value"), shape


def transform_layout(
    session: Session,
    name: str | Buffer,
    index_map: MapLike,
    pad_value: Any = None,
    shape: Sequence[Expr | int] | None = None,
) -> None:
    """Move every element x of a buffer to ``index_map(x)``; a parameter's interface changes with it.

    :param pad_value: what padding holds: ``None`` (access forbidden), a number, ``T.undef()``, or a function of the new
        indices that gives one of these or an expression, which may read the buffer itself at its old indices.
    :param shape: the new extents, where they are to be larger than the elements need.
    """
    buffer, path = find_buffer(session, name)
    if not (isinstance(index_map, IndexMap) or callable(index_map)):
        raise fail(
            f"a layout is a function of the indices or an IndexMap, not {index_map!r}",
            path or (),
            code=codes.WRONG_ARGUMENT,
        )
    try:
        mapping = map_of_buffer(buffer, index_map)
        layout = layout_map(mapping, buffer, shape)
    except IRError as problem:
        raise fail(f"layout of {buffer.name}: {problem}", path or (), code=codes.INDEX_MAP) from problem
    lay_out(session, buffer, layout, pad_value, mapping.separators)


def map_of_buffer(buffer: Buffer, index_map: IndexMap | Callable[..., Any]) -> IndexMap:
    """A map of a buffer's indices, in their type.

    :raises IndexMapError: if a function is none, or a map takes indices of another type.
    """
    dtype = buffer.shape[0].dtype if buffer.shape else const(0).dtype
    if isinstance(index_map, IndexMap):
        return index_map.counted_in(dtype)
    return IndexMap.from_func(index_map, len(buffer.shape), dtype)


def set_axis_separator(
    session: Session, block: str, which: BufferIn, positions: Sequence[int], numbering: SeparatorNumbering = "tvm"
) -> None:
    """Give a buffer of a block other axis separators; its elements stay where they are."""
    buffer = buffer_in(session, block, which)
    path = session.allocation(buffer) or ()
    if not isinstance(positions, (list, tuple)) or any(
        isinstance(k, bool) or not isinstance(k, int) for k in positions
    ):
        raise fail(f"axis separators are a list of numbers, not {positions!r}", path, code=codes.WRONG_ARGUMENT)
    try:
        positions = list(stored(positions, numbering))
    except IRError as problem:
        raise fail(str(problem), path) from None
    rank = len(buffer.shape)
    if list(positions) != sorted(positions) or any(not 0 <= k <= rank for k in positions):
        raise fail(
            f"axis separators {list(positions)} must ascend within the {rank} dimensions of {buffer.name}",
            path,
            code=codes.WRONG_ARGUMENT,
        )
    if find_buffer(session, buffer)[0] is not buffer:
        raise fail(
            f"{buffer.name} is a view; axis separators are those of a whole buffer", path, code=codes.OTHER_VIEWS
        )
    dtype = buffer.shape[0].dtype if buffer.shape else const(0).dtype
    same = layout_map(IndexMap.identity(rank, dtype), buffer)
    lay_out(session, buffer, same, separators=tuple(positions))


def lay_out(
    session: Session, buffer: Buffer, layout: LayoutMap, pad_value: Any = None, separators: tuple[int, ...] = ()
) -> None:
    """The same, of a layout that has been worked out."""
    _, path = find_buffer(session, buffer)
    stand_in = transformed(buffer, layout)
    value = padding_value(pad_value, layout, buffer, stand_in, path or ())
    if path is None:
        _parameter(session, buffer, layout, value, stand_in, separators)
        return
    session.apply(Couple(path, layout, "all", separators))
    as_ramps(session, path)
    new = session.at(path, Allocate).buffer
    write_padding(session, (*path, 0), new, layout, None if value is None else of_buffer(value, stand_in, new))


def _parameter(
    session: Session,
    buffer: Buffer,
    layout: LayoutMap,
    value: Expr | None,
    stand_in: Buffer,
    separators: tuple[int, ...],
) -> None:
    """Move a parameter, and write its padding if the program writes it.

    The padding of what the program writes is free at first, then the program writes it, and then it is declared to hold
    the value at the end.  A value that is read from the buffer is declared when the buffer has moved, too.
    """
    position = next(k for k, b in enumerate(session.func.buffers) if b is buffer)
    written = buffer.data in written_blocks(session.func.body)
    holds = value is not None and not isinstance(value, Undef) and layout.padding is not FALSE
    later = holds and (written or reads_memory(value))
    session.apply(Relayout(buffer, layout, Undef(buffer.dtype) if later else value, separators))
    as_ramps(session)
    new = session.func.buffers[position]
    if value is not None:
        value = of_buffer(value, stand_in, new)
        if written:
            write_padding(session, (), new, layout, value)
        if later:
            session.apply(PadValue(new, 0, value, owed=written))


def layout_map(mapping: IndexMap, buffer: Buffer, wanted: Sequence[Expr | int] | None = None) -> LayoutMap:
    """The map with its witnesses; one that is not injective keeps a wrong one, which the kernel refutes.

    :param wanted: the new extents, if not the least that hold every element.
    :raises IndexMapError: if an extent is not an index, or too small.
    """
    box = mapping.on(buffer.shape)
    shape = box.padded if wanted is None else _roomy(box.padded, wanted)
    try:
        beyond = [y >= least for y, n, least in zip(box.hit_vars, shape, box.padded, strict=True) if n is not least]
        padding = any_of([e for e in (box.padding(True), *beyond) if e is not FALSE])
        return LayoutMap(mapping.inputs, box.outputs, box.hit_vars, box.inverse, shape, padding)
    except NotInjective:
        hit = tuple(Var.fresh(f"y{k}", e.dtype) for k, e in enumerate(shape))
        wrong = tuple(const(0, v.dtype) for v in mapping.inputs)
        return LayoutMap(mapping.inputs, box.outputs, hit, wrong, shape, FALSE)


def _roomy(least: tuple[Expr, ...], wanted: Sequence[Expr | int]) -> tuple[Expr, ...]:
    """The extents that are wanted, as expressions; those in symbols are compared by the kernel."""
    if len(wanted) != len(least):
        raise IndexMapError(f"the new shape has {len(least)} dimensions, not {len(wanted)}")
    found: list[Expr] = []
    for k, (n, smallest) in enumerate(zip(wanted, least, strict=True)):
        extent = const(n, smallest.dtype) if isinstance(n, int) and not isinstance(n, bool) else n
        if not isinstance(extent, Expr) or extent.dtype is not smallest.dtype:
            raise IndexMapError(f"extent {k} of the new shape is an index of type {smallest.dtype}, not {n!r}")
        if isinstance(extent, IntImm) and isinstance(smallest, IntImm) and extent.value < smallest.value:
            raise IndexMapError(
                f"extent {k} of the new shape is at least {smallest.value}; {extent.value} is too small"
            )
        found.append(extent)
    return tuple(found)


def one_of_several(buffer: Buffer, which: Expr, count: Expr, *, last: bool = False) -> LayoutMap:
    """The map of a buffer onto one of ``count`` copies of it, numbered by a first index or by the last."""
    xs = tuple(Var.fresh(f"x{k}", e.dtype) for k, e in enumerate(buffer.shape))
    ys = tuple(Var.fresh(f"y{k}", e.dtype) for k, e in enumerate(buffer.shape))
    copy = Var.fresh("copy", count.dtype)
    if last:
        return LayoutMap(xs, (*xs, which), (*ys, copy), ys, (*buffer.shape, count), FALSE)
    return LayoutMap(xs, (which, *xs), (copy, *ys), ys, (count, *buffer.shape), FALSE)


__all__ = [
    "BufferIn",
    "MapLike",
    "buffer_in",
    "find_buffer",
    "find_symbol",
    "lay_out",
    "layout_arguments",
    "layout_map",
    "numbered",
    "one_of_several",
    "set_axis_separator",
    "transform_layout",
]
