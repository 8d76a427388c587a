"""Contraction: a product that is added to an element is not rounded by itself, as a fused multiply-add computes it.

    C[x] = C[x] + a * b        ⟶        C[x] = T.fma(a, b, C[x])

The bits are others then, and seldom further from the sum of real numbers.  So this is not a step that could be proved:
the user says so of the program that a schedule begins with, and the theorem is about the program that has ``T.fma`` in
these places.  C99 calls it contraction (6.5, ``FP_CONTRACT``), and lets a compiler choose where; here every update of
the named buffers is contracted, nothing else is, and the program says so.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Call, Expr, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import Allocate, Block, DeclBuffer, Store
from verified_tir.ir.visit import nodes_of, rewrite
from verified_tir.kernel.effects import opaque_calls

ATTRIBUTE: Final = "contracted"
"""The attribute of a function that lists the buffers whose updates were contracted, as they are passed or allocated."""


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
            form = f"{b.name}[…] = {b.name}[…] + a * b of floats without opaque calls"
            raise IRError(f"nothing in {b.name} is contracted: no store is {form}")
    if not chosen:
        return func
    blocks = {b.data for b in chosen}
    body = rewrite(func.body, lambda n: fused(n) if isinstance(n, Store) and n.buffer.data in blocks else None)
    owners = _owners(func)
    names = sorted({owners[data] for data in blocks}.union(contracted_buffers(func)))
    attrs = [(key, value) for key, value in func.attrs if key != ATTRIBUTE]
    return replace(func, body=body, attrs=(*attrs, (ATTRIBUTE, tuple(names))))


def contracted_buffers(func: PrimFunc) -> list[str]:
    """The buffers whose updates were contracted, by name.

    The attribute alone, which anybody may write into a program, says nothing: updates of the buffer must be contracted,
    and none be left that could be.
    """
    said = dict(func.attrs).get(ATTRIBUTE)
    if not isinstance(said, tuple):
        return []
    stores = nodes_of(func.body, Store)
    whole = {s.buffer.data for s in stores if _is_fused(s)} - {s.buffer.data for s in stores if fused(s) is not None}
    names = {name for data, name in _owners(func).items() if data in whole}
    return [n for n in dict.fromkeys(said) if n in names]


def _owners(func: PrimFunc) -> dict[Var, str]:
    """The names under which memory is passed or allocated."""
    return {b.data: b.name for b in _whole(func)}


def _is_fused(store: Store) -> bool:
    """Whether a store is a contracted update."""
    own = Load(store.buffer, store.indices, store.predicate)
    return isinstance(store.value, Call) and store.value.op == "fma" and store.value.args[2] is own


def fused(store: Store) -> Store | None:
    """The contracted form of an update; ``None`` if the store is none of a float to which a product is added, or makes
    an opaque call: operands are evaluated in another order, and what a call stores would be read."""
    if opaque_calls(store):
        return None
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
    return [*_whole(func), *(n.buffer for n in nodes_of(func.body, DeclBuffer))]


def _whole(func: PrimFunc) -> list[Buffer]:
    """Parameters and allocated buffers."""
    allocated = [n.buffer for n in nodes_of(func.body, Allocate)]
    allocated += [b for n in nodes_of(func.body, Block) for b in n.alloc_buffers]
    return [*func.buffers, *allocated]


def _look(name: str, named: Sequence[Buffer]) -> Buffer:
    found = [b for b in named if b.name == name]
    if not found:
        known = dict.fromkeys(b.name for b in named)
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise IRError(f"there is no buffer {name!r} to contract; the buffers are {', '.join(known)}{hint}")
    if len({b.data for b in found}) > 1:
        raise IRError(f"several buffers are called {name!r}: contract one of them by the name of a view, or rename it")
    return found[0]
