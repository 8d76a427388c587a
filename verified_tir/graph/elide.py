"""Rewrites that stand in a graph, and the layouts with which they are not needed.

``y = layout_transform(x, φ)`` does nothing where x is in layout φ: then y is there already.  Where φ leaves no padding,
it does nothing either where y is wanted in the layout φ⁻¹: that is x.  So it is with ``permute_dims``; with ``pad``,
whose result is x with more room around; and with ``crop``, whose operand is its result in more room than it needs.  So
rewrites are sources from which layouts flow, as frozen nodes are.  Each time one goes, the kernel has proved that
copying the tensor that is there does what the rewrite did.
"""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.graph.conversions import arrive, definition_nodes, put_operand
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Node, TensorType, Value
from verified_tir.graph.layouts import Layout, Padded, normal, pads, shape_in
from verified_tir.graph.operators import legalize
from verified_tir.graph.operators.layout import COMPACT
from verified_tir.graph.program import one_store, program_of
from verified_tir.graph.relayout import Relaid
from verified_tir.index.map import IndexMap, IndexMapError
from verified_tir.ir.expr import Expr, Var
from verified_tir.schedule.schedule import Schedule

REWRITES = (*COMPACT, "permute_dims")
"""Operators that only move elements, and that layouts may make needless."""


def needless_layouts(node: Node) -> list[tuple[Layout, Layout]]:
    """Pairs of layouts, of the operand and of the result, with which a rewrite does nothing."""
    if node.op not in REWRITES:
        return []
    x, y = node.inputs[0], node.output
    match node.op:
        case "pad" | "crop" if x.type.is_open:
            return []  # no layout pads it
        case "layout_transform":
            index_map, value = node.attrs["index_map"], node.attrs.get("pad_value")
            return _of_map(index_map, value, x)
        case "permute_dims":
            axes = permutation_of(node)
            return _of_map(IndexMap.from_func(lambda *i: [i[a] for a in axes], x.rank), None, x) if axes else []
        case "pad":
            before = [b for b, _ in node.attrs["pad_width"]]
            return [(normal(Padded(_moved_by(before), node.attrs.get("pad_value"), y.shape), x.dims), None)]
        case _:
            return [(None, normal(Padded(_moved_by(node.attrs["start_indices"]), None, x.shape), y.dims))]


def permutation_of(node: Node) -> tuple[int, ...]:
    """The dimensions of the operand of a ``permute_dims``, as they stand in the result."""
    rank = node.inputs[0].rank
    return tuple(a % rank for a in node.attrs.get("axes") or reversed(range(rank)))


def _of_map(index_map: IndexMap, value: float | None, x: Value) -> list[tuple[Layout, Layout]]:
    found: list[tuple[Layout, Layout]] = [(normal(Padded(index_map, value), x.dims), None)]
    if not pads(index_map, x.dims):
        try:
            back = index_map.inverse(x.dims)
        except IndexMapError:
            return found
        found.append((None, normal(back, shape_in(index_map, x.dims))))
    return [pair for pair in found if pair != (None, None)]


def _moved_by(before: Sequence[int]) -> IndexMap:
    def of(*i: Var) -> list[Expr]:
        return [v + b if b else v for v, b in zip(i, before, strict=True)]

    return IndexMap.from_func(of, len(before))


def prove_needless(node: Node, given: Layout, made: Layout) -> Relaid:
    """That the operand in layout ``given`` is the result in layout ``made`` (one of them is the plain one).

    :raises ScheduleError: if it is not so.
    :raises GraphError: if the program of the rewrite is not understood.
    """
    x, y = node.inputs[0], node.output
    if made is None:
        s = Schedule(program_of(node))
        put_operand(s, x.type, given)
    else:
        if given is not None:
            raise GraphError(f"{node}: operand and result would both have other layouts")
        nodes = [node, *definition_nodes(y, made)]
        s = one_store(nodes, node.op)
    t = TensorType(shape_in(made, y.dims), y.dtype)
    return arrive(s, legalize("permute_dims", [t], {"axes": tuple(range(len(t.dims)))}))
