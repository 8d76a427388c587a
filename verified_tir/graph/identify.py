"""Operators that moved programs are: ``sum(axis=[1])`` of the moved tensor is the moved program of ``sum(axis=[2])``.

A moved node is a call of a program.  Where the operator itself, with other attributes (axes; ``data_layout``), means
that program on the moved tensors, the node may keep the operator's name, by which libraries and later passes know it.
No meaning is guessed: the kernel's rules must lead from the operator's program to the moved one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Node, Value
from verified_tir.graph.layouts import Layout, index_map_of
from verified_tir.graph.operators import legalize
from verified_tir.graph.operators.registry import OPERATORS, result_types
from verified_tir.graph.program import program_key
from verified_tir.graph.relayout import relayout
from verified_tir.index.map import IndexMap
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.find import local_buffers
from verified_tir.ir.func import PrimFunc
from verified_tir.schedule.errors import ScheduleError

if TYPE_CHECKING:
    from verified_tir.graph.plan import Plan

_AXES = ("axis", "axes")
_ORDERS = {"data_layout": "NCHW", "layout": "NCHW"}


def keep_operators(made: Plan) -> None:
    """Give the moved nodes of a plan the names of their operators, where one exists.

    The proofs of the plan stay: they are about the moved programs, to which those of the operators are proved equal.
    """
    found: dict[Node, Node] = {}
    known: dict[object, dict[str, Any] | None] = {}
    for n in made.graph.nodes:
        old = made.implements.get(n)
        if n in made.relaid and old is not None and n.func is not None and old.op != "call_tir":
            key = program_key(old), n.func, tuple(v.type for v in n.inputs)
            if key not in known:
                known[key] = _attributes(made, n, old, n.func)
            attrs = known[key]
            if attrs is not None:
                found[n] = Node(old.op, n.inputs, n.outputs, attrs, None, n.source)
    made.implements = {found.get(n, n): old for n, old in made.implements.items()}
    made.relaid = {found.get(n, n): proof for n, proof in made.relaid.items()}
    made.external = {found.get(n, n): e for n, e in made.external.items()}
    made.graph = replace(made.graph, nodes=tuple(found.get(n, n) for n in made.graph.nodes))


def _attributes(made: Plan, n: Node, old: Node, func: PrimFunc) -> dict[str, Any] | None:
    """The attributes with which the operator means this program; ``None`` if there are none."""
    types = [v.type for v in n.inputs]
    orders = [_order(made, v, w) for v, w in zip((*n.inputs, *n.outputs), (*old.inputs, *old.outputs), strict=True)]
    for attrs in _candidates(old, orders):
        try:
            if result_types(old.op, types, attrs) != [v.type for v in n.outputs]:
                continue
            meant = legalize(old.op, types, attrs)
        except GraphError:
            continue
        if _becomes(meant, func, orders[0]):
            return attrs
    return None


def _becomes(meant: PrimFunc, func: PrimFunc, order: list[int] | None) -> bool:
    """Whether a program is proved to compute what another one does: it is brought to the same text.

    What it keeps between its nests may stand there in the plain order, and in the other program in that of the data.
    """
    locals_ = [b for b in local_buffers(meant.body) if order is not None and len(b.shape) == len(order)]
    arrangement = IndexMap.from_func(lambda *i: [i[k] for k in order or ()], len(order or ()))
    for layouts in ({}, dict.fromkeys(locals_, arrangement)):
        try:
            found = relayout(meant, layouts).func
        except (ScheduleError, GraphError):
            continue
        if structural_equal(replace(found, name=func.name), func):
            return True
    return False


def _candidates(old: Node, orders: Sequence[list[int] | None]) -> Iterator[dict[str, Any]]:
    yield dict(old.attrs)
    data = orders[0] if orders else None
    if data is None:
        return
    moved = _moved_axes(old.attrs, data)
    if moved is not None:
        yield moved
    known = OPERATORS[old.op].attributes
    name = next((k for k in _ORDERS if k in known), None)
    if name is not None and len(data) == 4:
        found: dict[str, Any] = {**old.attrs, name: _spelled(str(old.attrs.get(name) or "NCHW"), data)}
        kernel, result = orders[1] if "kernel_layout" in known else None, orders[len(old.inputs)]
        if kernel is not None:
            found["kernel_layout"] = _spelled(str(old.attrs.get("kernel_layout") or "OIHW"), kernel)
        if result is not None:
            before = str(old.attrs.get("out_layout") or old.attrs.get(name) or "NCHW")
            after = _spelled(before, result)
            found.pop("out_layout", None)
            if after != found[name]:
                found["out_layout"] = after
        yield found


def _order(made: Plan, v: Value, old: Value) -> list[int] | None:
    """Which of the old dimensions each dimension of a moved value is; ``None`` if it is no rearrangement."""
    texts = [t for w, of, t in made.roles if w is v and of is old]
    layout: Layout = made.layouts[texts[0]] if texts else None
    if not texts:  # a constant, packed
        packed = made.packed.get(v)
        layout = made.layouts[packed[1]] if packed is not None else None
    index_map = index_map_of(layout)
    if index_map is None:
        return list(range(old.rank))
    if len(index_map.outputs) != old.rank or any(e not in index_map.inputs for e in index_map.outputs):
        return None
    return [index_map.inputs.index(e) for e in index_map.outputs]


def _spelled(plain: str, order: Sequence[int]) -> str:
    return "".join(plain[k] for k in order)


def _moved_axes(attrs: Mapping[str, Any], order: Sequence[int]) -> dict[str, Any] | None:
    """The attributes with axes counted as they stand now."""
    name = next((k for k in _AXES if attrs.get(k) is not None), None)
    if name is None:
        return None
    given = attrs[name]
    try:
        if isinstance(given, int):
            return {**attrs, name: order.index(given % len(order))}
        return {**attrs, name: tuple(sorted(order.index(a % len(order)) for a in given))}
    except (ValueError, TypeError, ZeroDivisionError):
        return None
