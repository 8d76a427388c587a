"""transform_layout: where the elements of a buffer stand, and what stands between them (RFC 39; RFC 77,
"Enhancement - transform_layout").
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, FloatImm, IntImm, Load, Undef, Var, const
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, DeclBuffer, For, If, Seq, Stmt, Store
from verified_tir.ir.visit import free_vars, rewrite, substitute, walk
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.storage import Storage
from verified_tir.schedule.index_map import IndexMap, NotInjective
from verified_tir.schedule.session import Session, fail

MapLike: TypeAlias = IndexMap | Callable[..., Any]
BufferIn: TypeAlias = "str | Buffer | tuple[str, int]"
"""A buffer of a block: itself, its name, or ``("read", k)`` or ``("write", k)``."""


# -- looking up --------------------------------------------------------------------------------------------------------


def find_buffer(session: Session, name: str | Buffer) -> tuple[Buffer, Path | None]:
    """A parameter (path ``None``) or an allocated buffer (the path of its allocation)."""
    if not isinstance(name, (str, Buffer)):
        raise fail(f"a buffer is given by its name or itself, not by {name!r}")
    params = list(session.func.buffers)
    local = [(s.buffer, p) for p, s in places(session.func.body, lambda s: isinstance(s, Allocate))
             if isinstance(s, Allocate)]  # fmt: skip
    everything: list[tuple[Buffer, Path | None]] = [*((b, None) for b in params), *local]
    same = [pair for pair in everything if pair[0] is name]
    wanted = name if isinstance(name, str) else name.name
    found = same or [pair for pair in everything if pair[0].name == wanted]
    if not found:
        known = ", ".join(b.name for b, _ in everything)
        raise fail(f"there is no buffer called {wanted!r}; the buffers are {known}")
    if len(found) > 1:
        raise fail(f"there are {len(found)} buffers called {wanted!r}; give the one of Schedule.buffers that is meant")
    return found[0]


def buffer_in(session: Session, block: str, which: BufferIn) -> Buffer:
    """A buffer that a block uses."""
    _, label = session.block(block)
    nodes = list(walk(label.body))
    reads = list(dict.fromkeys(n.buffer for n in nodes if isinstance(n, Load)))
    writes = list(dict.fromkeys(n.buffer for n in nodes if isinstance(n, Store)))
    match which:
        case ("read" | "write" as kind, int(k)):
            found = reads if kind == "read" else writes
            if not 0 <= k < len(found):
                names = ", ".join(b.name for b in found) or "none"
                raise fail(f"block {block} has no {kind} buffer number {k}; it {kind}s {names}")
            return found[k]
        case str() | Buffer():
            name = which if isinstance(which, str) else which.name
            for b in (*writes, *reads):
                if b is which or b.name == name:
                    return b
            names = ", ".join(dict.fromkeys(b.name for b in (*writes, *reads)))
            raise fail(f"block {block} does not use {name}; it uses {names}")
    raise fail(f'a buffer of a block is its name, ("read", k) or ("write", k), not {which!r}')


def find_symbol(session: Session, name: str) -> Var:
    """A scalar parameter, or a symbol of the shapes."""
    symbols = [p for p in session.func.params if session.func.buffer_of(p) is None]
    symbols += [v for b in session.func.buffers for e in b.shape for v in free_vars(e)]
    found = next((v for v in symbols if v.name == name), None)
    if found is None:
        names = ", ".join(dict.fromkeys(v.name for v in symbols)) or "none"
        raise fail(f"there is no symbol called {name!r}; there are {names}")
    return found


# -- transform_layout --------------------------------------------------------------------------------------------------


def layout_arguments(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[str | None, Any, Any, Any]:
    """Block (``None`` if not given), buffer, index map and pad value, from either form of ``transform_layout``."""
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
    return found.get("block"), found["buffer"], found["index_map"], found.get("pad_value")


def transform_layout(session: Session, name: str | Buffer, index_map: MapLike, pad_value: Any = None) -> None:
    """Move every element x of a buffer to ``index_map(x)``; a parameter's interface changes with it.

    :param pad_value: what padding holds: ``None`` (access forbidden), a number, ``T.undef()``, or a function of the new
        indices that gives one of these or an expression, which may read the buffer itself at its old indices.
    """
    buffer, path = find_buffer(session, name)
    dtype = buffer.shape[0].dtype if buffer.shape else const(0).dtype
    if not (isinstance(index_map, IndexMap) or callable(index_map)):
        raise fail(f"a layout is a function of the indices or an IndexMap, not {index_map!r}", path or ())
    try:
        mapping = (
            index_map if isinstance(index_map, IndexMap) else IndexMap.from_func(index_map, len(buffer.shape), dtype)
        )
        layout = _layout(mapping, buffer)
    except IRError as problem:
        raise fail(f"layout of {buffer.name}: {problem}", path or ()) from problem
    value = _pad_value(pad_value, layout, buffer, path or ())
    if path is None:
        position = next(k for k, b in enumerate(session.func.buffers) if b is buffer)
        session.apply(Relayout(buffer, layout, value, mapping.separators))
        new = session.func.buffers[position]
        if _writes(session.func.body, new):
            _write_padding(session, (), buffer, new, layout, value)
        return
    session.apply(Storage(path, layout, mapping.separators))
    allocation = session.stmt(path)
    assert isinstance(allocation, Allocate)
    _write_padding(session, (*path, 0), buffer, allocation.buffer, layout, value)


def _layout(mapping: IndexMap, buffer: Buffer) -> LayoutMap:
    """The map with its witnesses; one that is not injective keeps a wrong one, which the kernel refutes."""
    box = mapping.on(buffer.shape)
    shape = box.padded
    try:
        return LayoutMap(mapping.inputs, mapping.outputs, box.hit_vars, box.inverse, shape, box.padding(True))
    except NotInjective:
        hit = tuple(Var.fresh(f"y{k}", e.dtype) for k, e in enumerate(shape))
        wrong = tuple(const(0, v.dtype) for v in mapping.inputs)
        return LayoutMap(mapping.inputs, mapping.outputs, hit, wrong, shape, FALSE)


def _pad_value(pad_value: Any, layout: LayoutMap, buffer: Buffer, path: Path) -> Expr | None:
    """The padding's value over the new indices; ``None`` where it may not be touched."""
    value = pad_value
    if callable(value) and not isinstance(value, Expr):
        rank = len(layout.inverse_inputs)
        try:
            inspect.signature(value).bind(*layout.inverse_inputs)
        except TypeError as problem:
            raise fail(f"the padding of {buffer.name} is a function of {rank} indices: {problem}", path) from problem
        value = value(*layout.inverse_inputs)
    match value:
        case None:
            return None
        case Undef():
            return Undef(buffer.dtype)
        case IntImm(value=x) | FloatImm(value=x):
            value = x
        case Expr():
            if value.dtype is not buffer.dtype:
                raise fail(f"the padding has type {value.dtype}, the elements of {buffer.name} {buffer.dtype}", path)
            return value
    try:
        if not isinstance(value, (int, float, np.number, np.bool_)):
            raise TypeError("it is no number, no expression, not T.undef() and not None")
        plain = value.item() if isinstance(value, (np.number, np.bool_)) else value
        return const(plain, buffer.dtype)
    except (IRError, TypeError, ValueError, OverflowError) as problem:
        raise fail(f"the padding of {buffer.name} ({buffer.dtype}) cannot be {value!r}: {problem}", path) from problem


def _write_padding(
    session: Session, body: Path, old: Buffer, new: Buffer, layout: LayoutMap, value: Expr | None
) -> None:
    """Store the padding's value after the last statement that writes the buffer; before the first that uses it, if a
    local buffer is read nowhere later."""
    if value is None or isinstance(value, Undef) or layout.padding is FALSE:
        return
    fresh = {v: Var.fresh(v.name, v.dtype) for v in layout.inverse_inputs}
    stored = substitute(rewrite(value, lambda n: _moved(n, old, new, layout)), fresh)
    nest: Stmt = Store(new, stored, tuple(fresh.values()))
    nest = Block.label(f"{new.name}_padding", If(substitute(layout.padding, fresh), nest))
    for v, extent in reversed(list(zip(fresh.values(), layout.shape, strict=True))):
        nest = For(v, const(0, v.dtype), extent, nest)
    while isinstance(inside := session.stmt(body), (Allocate, DeclBuffer, AttrStmt, Block)):
        body = (*body, 0)
    stmts = inside.stmts if isinstance(inside, Seq) else (inside,)
    writers = [k for k, s in enumerate(stmts) if _writes(s, new)]
    users = [k for k, s in enumerate(stmts) if any(n is new for n in walk(s))]
    consumed = not writers or users[-1] > writers[-1]  # otherwise it is read where it is written, and nowhere later
    after = bool(writers) and (consumed or new in session.func.buffers)
    position = writers[-1] if after else min(users, default=0)
    place = (*body, position) if isinstance(inside, Seq) else body
    session.apply(Insert(place, nest, "after" if after else "before"))


def _moved(n: Node, old: Buffer, new: Buffer, layout: LayoutMap) -> Node | None:
    return Load(new, layout.apply(n.indices)) if isinstance(n, Load) and n.buffer is old else None


def _writes(stmt: Stmt, buffer: Buffer) -> bool:
    return any(isinstance(n, Store) and n.buffer is buffer for n in walk(stmt))


__all__ = ["BufferIn", "MapLike", "buffer_in", "find_buffer", "find_symbol", "layout_arguments", "transform_layout"]
