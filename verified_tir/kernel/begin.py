"""Where a function begins: what is assumed there, and the context that knows it."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, IntImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import once
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate
from verified_tir.ir.visit import free_vars, nodes_of
from verified_tir.kernel.context import Context
from verified_tir.kernel.memory import (
    Element,
    Entered,
    Entry,
    Padding,
    views_of,
)  # fmt: skip
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, in_range, sort_of

LARGEST = {32: 2**31 - 2**16, 64: 2**63 - 2**32}
"""Largest symbolic extent, by the width of the symbol; checked when the function is called."""


def begin(func: PrimFunc, entry: Entry) -> Context:
    """The context of the function's entry: parameters, shape symbols, and their axioms."""
    context = Context(func, entry, [], {}, {}, _views(func), {}, {}, owners=_owners(func))
    arrays = {v for v, _ in func.buffer_map}
    varying = [b for b in func.buffers if not _constant(b)]
    declared = [*dict.fromkeys((*varying, *[b for b in entry.shapes if not _constant(b)]))]
    extents = {e for b in declared for e in b.shape if isinstance(e, Var)}
    symbols = [v for b in varying for e in _declared(b) for v in free_vars(e)]
    for v in dict.fromkeys((*(v for v in func.params if v not in arrays), *symbols)):
        if not (v.dtype.is_int or v.dtype.is_bool or v.dtype.is_float):
            continue
        name = _free_name(v.name, context.names)
        term = f.var(name, sort_of(v.dtype))
        context.names[name] = v.name
        context.env[v] = Encoded(term, f.TRUE, v.dtype.is_float)
        if v.dtype.is_int:
            context.sizes.append(term)
            if v in extents and v.dtype.bits in LARGEST:
                context.path.extend((f.le(f.integer(0), term), f.le(term, f.integer(LARGEST[v.dtype.bits]))))
            else:
                context.path.append(in_range(term, v.dtype))
    for b in declared:
        context.path.extend(shape_bounds(context, b))
    bare = Entered(())
    for b in func.buffers:
        paddings = tuple([p for p in entry.paddings if p.buffer.data is b.data]) if entry.paddings else ()
        context.becomes(b.data, Entered(paddings) if paddings else bare)
    return context


def _declared(buffer: Buffer) -> tuple[Expr, ...]:
    """The expressions in a buffer's declaration."""
    return (*buffer.shape, *buffer.strides, buffer.elem_offset)


@once
def _views(func: PrimFunc) -> dict[Var, tuple[Buffer, ...]]:
    """The views of each block in a function."""
    return views_of((*(b for _, b in func.buffer_map), *nodes_of(func.body, Buffer)))


@once
def _owners(func: PrimFunc) -> frozenset[Buffer]:
    """The buffers that a function allocates or is passed."""
    return frozenset({*func.buffers, *(n.buffer for n in nodes_of(func.body, Allocate))})


def _free_name(name: str, taken: Container[str]) -> str:
    """What a parameter is called in the logic: as nothing else is, whatever the program calls it (``i!7`` is what
    ``fresh`` may call a loop's variable)."""
    numbered = (f"{name}.{k}" for k in itertools.count())
    return name if name.isidentifier() and name not in taken else next(n for n in numbered if n not in taken)


@once
def _constant(buffer: Buffer) -> bool:
    """Whether they are numbers, of which nothing needs to be said."""
    return all(isinstance(e, IntImm) for e in _declared(buffer))


def shape_bounds(context: Context, buffer: Buffer) -> Iterator[Term]:
    """What is true of a buffer for which an array is passed: its extents are not negative, and neither they nor the
    number of elements are too large for index arithmetic."""
    count, most = f.integer(1), None
    for extent in buffer.shape:
        term = context.encoder().value(extent)
        count = f.mul(count, term)
        if not isinstance(extent, IntImm):
            largest = f.integer(LARGEST.get(extent.dtype.bits, LARGEST[32]))
            most = most or largest
            yield from (f.le(f.integer(0), term), f.le(term, largest))
    if most is not None:
        yield f.le(count, most)


def context_at(func: PrimFunc, path: Path, entry: Entry) -> Context:
    """Walk from the entry to the place."""
    context = begin(func, entry)
    stmt = func.body
    for step in path:
        stmt = context.enter(stmt, step)
    return context


def entered(context: Context, e: Element, paddings: tuple[Padding, ...]) -> tuple[Term, ...]:
    """Declared padding.  Through another view than the declared one, nothing is known of it."""
    known: list[Term] = []
    in_undef: list[Term] = []
    for p in paddings:
        if p.buffer is not e.buffer or context.several_views(p.buffer.data):
            in_undef.append(f.TRUE)
            continue
        here = context.bound(p.indices, e.address[: len(p.indices)])
        inside = here.encoder().value(p.predicate)
        if p.at_entry is None:
            in_undef.append(inside)
            continue
        value = here.encoder(memory={e.buffer.data: e.version}).encode(p.at_entry)
        in_undef.append(f.and_(inside, f.not_(value.defined)))
        if value.defined is f.FALSE:
            known.append(f.implies(inside, f.not_(e.defined)))
        else:
            known.append(f.implies(inside, f.implies(value.defined, f.and_(e.defined, f.eq(e.value, value.value)))))
    if context.entry.definite and _bits_have_a_value(context, e):
        known.append(f.or_(e.defined, *in_undef))
    return tuple(known)


def _bits_have_a_value(context: Context, e: Element) -> bool:
    """Whether an element of a parameter that holds definite values is one at the type of the view, too.

    A NaN is none at any other type; a byte is a ``bool`` only if it is 0 or 1.
    """
    scalar = e.buffer.dtype.scalar
    passed = next(b.dtype.scalar for b in context.func.buffers if b.data is e.buffer.data)
    return passed is scalar or not (passed.is_float or scalar.is_bool)
