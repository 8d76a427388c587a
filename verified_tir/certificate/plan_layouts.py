"""Layouts in plans: as texts, as the relation of a certificate has them, and what a program says of its padding."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from verified_tir.graph.errors import GraphError
from verified_tir.graph.layouts import (
    Layout,
    Padded,
    constant,
    index_map_of,
    layout_text,
    normal,
    pack,
    shape_in,
    value_of,
)
from verified_tir.ir.expr import Binary, Call, Expr, IntImm, Load, Not, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import Assume, For, Seq, Stmt
from verified_tir.lower.index_map_text import parse_index_map
from verified_tir.schedule.index_eval import evaluate, open_grid

_LAYOUT = re.compile(
    r"(?P<map>lambda [^\[]*\[.*?\])"
    r"(?: in \((?P<room>\d{1,18},|\d{1,18}(?:, \d{1,18})+)\))?(?: padded with (?P<value>.*))?"
)
_NUMBER = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:e[-+]?[0-9]{1,4})?", re.ASCII)
LENGTH = 4096
"""Letters of a layout, at most."""
_VALUE = re.compile(r"T\.\w+\((.*)\)")


def parsed_layout(text: str) -> Layout:
    """The layout of a text as ``layout_text`` writes it.

    :raises GraphError: if it is none.
    """
    if not text:
        return None
    found = _LAYOUT.fullmatch(text) if len(text) <= LENGTH else None
    if found is None:
        raise GraphError(f"{text[:80]!r} is no layout")
    try:
        index_map = parse_index_map(found["map"])
    except (IRError, ValueError, RecursionError, MemoryError) as problem:
        raise GraphError(f"{text[:80]!r} is no layout: {problem}") from None
    if found["room"] is None and found["value"] is None:
        return index_map
    room = None if found["room"] is None else tuple(int(n) for n in found["room"].split(",") if n)
    return Padded(index_map, None if found["value"] is None else _number(found["value"]), room)


def _number(text: str) -> float | int:
    if text in ("nan", "inf", "-inf"):
        return float(text)
    if _NUMBER.fullmatch(text) is None:
        raise GraphError(f"{text[:80]!r} is no number")
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def layout_named_by(parameter: Mapping[str, Any], shape: Sequence[int]) -> str:
    """The layout of a parameter that the relation of a certificate says, as text.

    :param shape: of the tensor as its indices say.
    :raises GraphError: for layouts one after the other of which the first pads.
    """
    layouts = parameter["layouts"]
    if not layouts:
        return ""
    index_map = parse_index_map(layouts[0]["map"])
    for further in layouts[1:]:
        index_map = parse_index_map(further["map"]).compose(index_map)
    if any(further["padding"] for further in layouts[:-1]):
        raise GraphError(f"the padding of {parameter['parameter']} is moved by another layout")
    values = {p["value"] for p in layouts[-1]["padding"]}
    room = tuple(int(e) for e in parameter["after"]["shape"])
    value = None
    if len(values) == 1 and (found := _VALUE.fullmatch(next(iter(values)))) is not None:
        value = _number(found[1].strip('"'))
    elif not values <= {"anything", "touched by nobody"}:
        if len(values) > 1:
            raise GraphError(f"the padding of {parameter['parameter']} holds several values")
        value = _number(next(iter(values)))
    return layout_text(normal(Padded(index_map, value, room), shape))


def ends_with(func: PrimFunc, k: int, layout: Layout, shape: Sequence[int]) -> bool:
    """Whether a program ends by assuming, for each place of padding of its k-th buffer, the value there to the bit.

    The kernel has proved each assumption that its certificate adds; so the padding holds the value.
    """
    b = func.buffers[k]
    box = shape_in(layout, shape)
    held = value_of(layout)
    if held is None:
        return True  # it may hold anything
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
            return isinstance(one, Load) and one.buffer is b and list(one.indices) == at and other is value
    return False


def _is_word(e: Expr) -> bool:
    return isinstance(e, Call) and e.op == "reinterpret" and not e.type.is_float


def _plain(e: Expr) -> Expr:
    """Without the reinterpretation as a word."""
    match e:
        case Call(op="reinterpret", args=(inner,)):
            return inner
    return e


__all__ = ["ends_with", "layout_named_by", "parsed_layout"]
