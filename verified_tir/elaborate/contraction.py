"""Contraction: a product that is added to an element is not rounded by itself, as a fused multiply-add computes it.

    C[x] = C[x] + a * b        ⟶        C[x] = T.fma(a, b, C[x])

The bits are others then, and seldom further from the sum of real numbers.  So this is not a step that could be proved:
the user says so of the program that a schedule begins with, and the theorem is about the program that has ``T.fma`` in
these places.  C99 calls it contraction (6.5, ``FP_CONTRACT``), and lets a compiler choose where; here every update of
the named buffers is contracted, nothing else is, and the program says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Call, Expr, Load
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import Allocate, Block, DeclBuffer, Store
from verified_tir.ir.visit import nodes_of, rewrite

ATTRIBUTE: Final = "contracted"
"""The attribute of a function that lists the buffers whose updates were contracted."""


def contracted(func: PrimFunc, buffers: str | Sequence[str] | None = None) -> PrimFunc:
    """The program in which the updates ``C[x] = C[x] + a * b`` of some buffers are ``C[x] = T.fma(a, b, C[x])``.

    An update counts through whatever view of the buffer's memory it is written.

    :param buffers: names of parameters or allocated buffers; all that have such an update unless given.
    :raises IRError: for a name that no buffer has, or a buffer without such an update.
    """
    sums = {s.buffer.data: s.buffer for s in nodes_of(func.body, Store) if fused(s) is not None}
    named = _named(func)
    if buffers is None:
        chosen = [b for b in named if b.data in sums]
    else:
        chosen = [_look(name, named) for name in ([buffers] if isinstance(buffers, str) else buffers)]
    for b in chosen:
        if b.data not in sums:
            raise IRError(f"nothing in {b.name} is contracted: no store is {b.name}[…] = {b.name}[…] + a * b of floats")
    if not chosen:
        return func
    blocks = {b.data for b in chosen}
    body = rewrite(func.body, lambda n: fused(n) if isinstance(n, Store) and n.buffer.data in blocks else None)
    names = sorted({b.name for b in chosen}.union(contracted_buffers(func)))
    attrs = [(key, value) for key, value in func.attrs if key != ATTRIBUTE]
    return replace(func, body=body, attrs=(*attrs, (ATTRIBUTE, tuple(names))))


def contracted_buffers(func: PrimFunc) -> list[str]:
    """The buffers whose updates were contracted, by name."""
    found = dict(func.attrs).get(ATTRIBUTE)
    return [n for n in found if isinstance(n, str)] if isinstance(found, tuple) else []


def fused(store: Store) -> Store | None:
    """The contracted form of an update; ``None`` if the store is none of a float to which a product is added."""
    own = Load(store.buffer, store.indices, store.predicate)
    match store.value:
        case Binary(op="add", a=Binary(op="mul", a=a, b=b), b=c) | Binary(op="add", a=c, b=Binary(op="mul", a=a, b=b)):
            if c is own and store.value.dtype.is_float:
                return replace(store, value=_fma(a, b, c))
    return None


def _fma(a: Expr, b: Expr, c: Expr) -> Expr:
    return Call(c.dtype, "fma", (a, b, c))


def _named(func: PrimFunc) -> list[Buffer]:
    """Parameters, allocated buffers and views, in this order."""
    allocated = [n.buffer for n in nodes_of(func.body, Allocate)]
    allocated += [b for n in nodes_of(func.body, Block) for b in n.alloc_buffers]
    return [*func.buffers, *allocated, *(n.buffer for n in nodes_of(func.body, DeclBuffer))]


def _look(name: str, named: Sequence[Buffer]) -> Buffer:
    found = [b for b in named if b.name == name]
    if not found:
        raise IRError(f"there is no buffer {name!r} to contract; the buffers are {', '.join(b.name for b in named)}")
    if len({b.data for b in found}) > 1:
        raise IRError(f"several buffers are called {name!r}: contract one of them by the name of a view, or rename it")
    return found[0]
