"""What the text can tell LLVM about memory: which parameters are written, and which views of one block are disjoint.

Blocks are told apart by ``noalias`` on parameters, and by being separate allocations.  Views of one block, as several
local buffers in one workspace, get scoped ``noalias`` metadata where the bytes that they span are constant and
disjoint: an access lies within its view's shape, so it cannot touch the other view.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import IntImm, Var
from verified_tir.ir.stmt import Allocate, DeclBuffer, Stmt, Store


def statements(body: Stmt) -> Iterator[Stmt]:
    """A statement and all inside it (expressions are not visited: that would take longer than to emit them)."""
    stack = [body]
    while stack:
        stmt = stack.pop()
        yield stmt
        for name in stmt.__match_args__:
            value = getattr(stmt, name)
            if isinstance(value, Stmt):
                stack.append(value)
            elif type(value) is tuple:
                stack.extend(v for v in value if isinstance(v, Stmt))


def written_blocks(body: Stmt) -> set[Var]:
    """The data variables of the blocks that a statement stores to."""
    return {s.buffer.data for s in statements(body) if isinstance(s, Store)}


def span_of(buffer: Buffer) -> tuple[int, int] | None:
    """The bytes, from and to, that a buffer may touch in its block, if its extents are constants."""
    exprs = (*buffer.shape, *buffer.strides, buffer.elem_offset)
    values = [e.value for e in exprs if isinstance(e, IntImm)]
    if len(values) != len(exprs):
        return None
    rank = len(buffer.shape)
    shape, strides, offset = values[:rank], values[rank:-1], values[-1]
    if not strides:
        strides, step = [], 1
        for extent in reversed(shape):
            strides.insert(0, step)
            step *= extent
    if 0 in shape:
        return offset * buffer.dtype.nbytes, offset * buffer.dtype.nbytes
    reach = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
    return (offset + low) * buffer.dtype.nbytes, (offset + high + 1) * buffer.dtype.nbytes


def alias_notes(body: Stmt, metadata: list[str]) -> dict[Buffer, str]:
    """What to append to the accesses of each view that is disjoint from another one of its block."""
    views: dict[Var, dict[Buffer, tuple[int, int]]] = {}
    for s in statements(body):
        if isinstance(s, (Allocate, DeclBuffer)):
            span = span_of(s.buffer)
            if span is not None:
                views.setdefault(s.buffer.data, {})[s.buffer] = span
    found: dict[Buffer, str] = {}
    for spans in views.values():
        apart = {a: [c for c, other in spans.items() if _disjoint(span, other)] for a, span in spans.items()}
        if any(apart.values()):
            found |= _notes(apart, metadata)
    return found


def _disjoint(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[1] <= b[0] or b[1] <= a[0]


def _notes(apart: dict[Buffer, list[Buffer]], metadata: list[str]) -> dict[Buffer, str]:
    """One scope for each view, and for each view the list of the scopes that it stays out of."""
    numbers = count(len(metadata))
    domain = next(numbers)
    metadata.append(f"!{domain} = distinct !{{!{domain}}}")
    scopes = {view: next(numbers) for view, others in apart.items() if others}
    metadata += [f"!{scope} = distinct !{{!{scope}, !{domain}}}" for scope in scopes.values()]
    found = {}
    for view, scope in scopes.items():
        own, others = next(numbers), next(numbers)
        metadata.append(f"!{own} = !{{!{scope}}}")
        metadata.append(f"!{others} = !{{{', '.join(f'!{scopes[other]}' for other in apart[view])}}}")
        found[view] = f", !alias.scope !{own}, !noalias !{others}"
    return found
