"""Layouts in plans: as data, as the relation of a certificate has them, and what a program says of its padding.

In a document a layout is an s-expression, spelled as in certificates (``verified_tir.derivation.codec``):

    none                                                        as the indices say
    (IndexMap [variable …] [expression …] [])                   a map, whose padding may hold anything
    (Padded (IndexMap …) value [extent …])                      what its padding holds, how much room there is, or none

So two layouts are one if their texts are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from verified_tir.certificate.plans import PLAIN
from verified_tir.derivation.codec import BadText, Reader, Writer
from verified_tir.graph.errors import GraphError
from verified_tir.graph.layouts import (
    Layout,
    Padded,
    constant,
    index_map_of,
    is_identity,
    layout_text,
    pack,
    shape_in,
    value_of,
)
from verified_tir.graph.sizes import Dim, numbers
from verified_tir.index.evaluate import evaluate, open_grid
from verified_tir.index.map import IndexMap
from verified_tir.ir.expr import Binary, Call, Cast, Expr, IfThenElse, IntImm, Load, Not, Select, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import Assume, For, Seq, Stmt
from verified_tir.ir.visit import walk

_RECORDS: Final = {"IndexMap": IndexMap, "Padded": Padded}
_LENGTH: Final = 20_000
"""Characters of a layout, at most."""
_DEPTH: Final = 40
"""How deep its forms are nested, at most."""
_ARITHMETIC: Final = (Var, IntImm, Binary, Cast, Not, Select, IfThenElse)
"""What an index is computed by."""


def write_layout(layout: Layout) -> str:
    """The text of a layout: the same for the same layout, whatever its variables are called."""
    index_map = index_map_of(layout)
    if index_map is None or (isinstance(layout, IndexMap) and is_identity(layout)):
        return PLAIN
    inputs = tuple(Var.fresh(f"i{k}", v.dtype) for k, v in enumerate(index_map.inputs))
    named = IndexMap(inputs, index_map.apply(inputs))
    found = Padded(named, layout.value, layout.shape) if isinstance(layout, Padded) else named
    return Writer(records=_RECORDS).write(found)


@lru_cache(maxsize=4096)
def read_layout(text: str) -> Layout:
    """The layout of a text.

    :raises GraphError: if it is none in the one spelling, or larger than any that is used.
    """
    if text == PLAIN:
        return None
    if len(text) > _LENGTH or _depth(text) > _DEPTH:
        raise GraphError(f"{text[:80]!r} is not a layout: it is too long, or nested too deeply")
    try:
        found = Reader(records=_RECORDS).read(text)
        if not isinstance(found, (IndexMap, Padded)):
            raise BadText("this is not an index map")
        index_map = found.index_map if isinstance(found, Padded) else found
        if not all(isinstance(n, _ARITHMETIC) for e in index_map.outputs for n in walk(e)):
            raise BadText("an index is computed by arithmetic of the other indices")
        if not {n for e in index_map.outputs for n in walk(e) if isinstance(n, Var)} <= set(index_map.inputs):
            raise BadText("it mentions what is not an index")
        if write_layout(found) != text:
            raise BadText("it is not spelled in the canonical way")
    except (BadText, IRError) as problem:
        raise GraphError(f"{text[:80]!r} is not a layout: {problem}") from None
    return found


def _depth(text: str) -> int:
    depth = deepest = 0
    for c in text:
        depth += 1 if c in "([" else -1 if c in ")]" else 0
        deepest = max(deepest, depth)
    return deepest


def serves(given: str, wanted: str) -> bool:
    """Whether a tensor in one layout may stand where another is wanted: the same places, and padding that holds a value
    where it may hold anything."""
    return given == wanted or (wanted != PLAIN and _open(given) == wanted)


@lru_cache(maxsize=4096)
def _open(text: str) -> str:
    """The layout with padding that may hold anything."""
    return write_layout(without_value(read_layout(text)))


def without_value(layout: Layout) -> Layout:
    """The layout with padding that may hold anything."""
    if not isinstance(layout, Padded):
        return layout
    return layout.index_map if layout.shape is None else Padded(layout.index_map, None, layout.shape)


def shown(text: str) -> str:
    """A layout for people."""
    return layout_text(read_layout(text)) or "that its indices say"


def ends_with(func: PrimFunc, k: int, layout: Layout, shape: Sequence[Dim]) -> bool:
    """Whether a program ends by assuming, for each place of padding of its k-th buffer, the value there to the bit.

    The kernel has proved each assumption that its certificate adds; so the padding holds the value.
    """
    b = func.buffers[k]
    held = value_of(layout)
    if held is None:
        return True  # it may hold anything
    shape = numbers(shape, b.name)
    box = numbers(shape_in(layout, shape), b.name)
    value = constant(held, str(b.dtype))
    for stmt in _last(func.body):
        loops, inner = _nest(stmt)
        if not isinstance(inner, Assume) or [n for _, n in loops] != list(box):
            continue
        match inner.condition:
            case Binary(op="or", a=Not(a=where), b=claim) if _same_bits(claim, b, [v for v, _ in loops], value):
                index_map = index_map_of(layout)
                assert index_map is not None
                taken = pack(Padded(index_map, 0, box), np.ones(tuple(shape), np.uint8), "uint8")
                (covered,) = evaluate([where], dict(zip([v for v, _ in loops], open_grid(box), strict=True)))
                if bool(np.all(np.broadcast_to(covered, box)[taken == 0])):
                    return True
    return False


def _last(body: Stmt) -> list[Stmt]:
    """The statements at the end that assume something and do nothing."""
    stmts = list(body.stmts) if isinstance(body, Seq) else [body]
    found: list[Stmt] = []
    while stmts and isinstance(_nest(stmts[-1])[1], Assume):
        found.append(stmts.pop())
    return found


def _nest(stmt: Stmt) -> tuple[list[tuple[Var, int]], Stmt]:
    loops: list[tuple[Var, int]] = []
    while isinstance(stmt, For) and isinstance(stmt.min, IntImm) and stmt.min.value == 0:
        loops.append((stmt.var, stmt.extent.value if isinstance(stmt.extent, IntImm) else -1))
        stmt = stmt.body
    return loops, stmt


def _same_bits(claim: Expr, b: Any, at: list[Var], value: Expr) -> bool:
    """Whether a condition says that the element of b at these indices has the bits of the value."""
    match claim:
        case Binary(op="and", a=one, b=other):  # whoever assumes more assumes this
            return _same_bits(one, b, at, value) or _same_bits(other, b, at, value)
        case Binary(op="eq", a=one, b=other):
            if b.dtype.is_float and not _is_word(one):
                return False  # 0.0 == -0.0
            one, other = _plain(one), _plain(other)
            whole = isinstance(one, Load) and one.buffer is b and one.predicate is None
            return whole and isinstance(one, Load) and list(one.indices) == at and other is value
    return False


def _is_word(e: Expr) -> bool:
    return isinstance(e, Call) and e.op == "reinterpret" and not e.type.is_float


def _plain(e: Expr) -> Expr:
    """Without the reinterpretation as a word."""
    match e:
        case Call(op="reinterpret", args=(inner,)):
            return inner
    return e
