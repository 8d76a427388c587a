"""The entry of a function: what is assumed there, and the context that a walk begins with."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import chain

from verified_tir import ir
from verified_tir.kernel.access import BARRIER
from verified_tir.kernel.context import Context
from verified_tir.kernel.memory import Element, Entered, Entry
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, Unencodable, fresh, in_range, sort_of

LARGEST = {32: 2**31 - 2**16, 64: 2**47}
"""Largest symbolic extent, by the width of the symbol; checked when the function is called."""


def begin(func: ir.PrimFunc, entry: Entry) -> Context:
    """The context of the function's entry: parameters, shape symbols, and their axioms."""
    context = Context(func, entry, [], {}, {}, _views(func), {})
    for v in (v for v in scalars_of(func) if v.dtype.code not in ("handle", "void")):
        term = _symbol(v)
        context.env[v] = Encoded(term, f.TRUE, v.dtype.is_float)
        if v.dtype.is_int:
            context.path.append(in_range(term, v.dtype))
    for b in dict.fromkeys((*ir.symbolic(func.buffers), *ir.symbolic(entry.shapes))):
        context.path.extend(shape_bounds(context, b))
    context.new_versions(Entered(), *[b.data for b in func.buffers])
    return context


@ir.once
def _symbols(buffer: ir.Buffer) -> tuple[ir.Var, ...]:
    """The variables in a buffer's declaration."""
    return tuple([v for e in (*buffer.shape, *buffer.strides, buffer.elem_offset) for v in ir.free_vars(e)])


@ir.once
def scalars_of(func: ir.PrimFunc) -> tuple[ir.Var, ...]:
    """The scalar parameters of a function, then the symbols of its buffers."""
    behind = dict(func.buffer_map)
    params = [p for p in func.params if p not in behind]
    return tuple(dict.fromkeys(chain(params, *map(_symbols, ir.symbolic(func.buffers)))))


@ir.once
def _views(func: ir.PrimFunc) -> dict[ir.Var, tuple[ir.Buffer, ...]]:
    """The views of each block in a function, first the one as which it is passed or allocated."""
    owners = (*func.buffers, *[s.buffer for s in ir.nodes_of(func.body, ir.Allocate)])  # an attribute may name a view
    found: dict[ir.Var, tuple[ir.Buffer, ...]] = {}
    for b in dict.fromkeys((*owners, *ir.nodes_of(func.body, ir.Buffer))):
        found[b.data] = (*found.get(b.data, ()), b)
    if BARRIER.data in found:
        raise Unencodable(f"no buffer of a program is {BARRIER.name}")
    return found


@ir.once
def _symbol(variable: ir.Var) -> Term:
    """The logic's variable for a parameter or a shape symbol: the same in each context, whatever the parameter is
    called."""
    return fresh(variable.name, sort_of(variable.dtype))


def shape_bounds(context: Context, buffer: ir.Buffer) -> Iterator[Term]:
    """What is true of a buffer for which an array is passed: its extents are not negative, and neither they nor the
    number of elements are too large for index arithmetic."""
    symbolic = [e for e in buffer.shape if not isinstance(e, ir.IntImm)]
    if symbolic:
        value, largest = context.encoder().value, [f.integer(LARGEST.get(e.dtype.bits, LARGEST[32])) for e in symbolic]
        for e, most in zip(symbolic, largest, strict=True):
            yield from (f.le(f.integer(0), value(e)), f.le(value(e), most))
        yield f.le(reduce(f.mul, map(value, buffer.shape)), largest[0])


def context_at(func: ir.PrimFunc, path: ir.Path, entry: Entry) -> Context:
    """The context of a place: that of the entry, walked on to there."""
    context = begin(func, entry)
    stmt = func.body
    for step in path:
        stmt = context.enter(stmt, step)
    return context


def entered(context: Context, e: Element) -> tuple[Term, ...]:
    """What the declared padding says of an element at entry; nothing, if it is seen through another view than the
    declared one."""
    known: list[Term] = []
    in_undef: list[Term] = []
    for p in context.entry.paddings_of(e.version.block):
        if p.buffer is not e.buffer or context.several_views(p.buffer.data):
            in_undef.append(f.TRUE)
            continue
        n = len(p.indices)
        here, lane = context.bound(p.indices, e.address[:n]), e.address[n] if len(e.address) > n else None
        inside = here.encoder().value(p.predicate)
        value = here.encoder(memory={e.buffer.data: e.version}).encode(p.at_entry, lane)
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
