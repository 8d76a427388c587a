"""What a layout's padding holds is what a certificate proves of it, all of it: a plan adds whole tiles up by that."""

from __future__ import annotations

import pytest

from tests.certificate.test_plan_trust import steps_of
from verified_tir.certificate.write_plan import write_plan
from verified_tir.graph import Graph, GraphBuilder
from verified_tir.graph.ir import Node
from verified_tir.graph.layouts import Padded
from verified_tir.graph.plan import Plan, plan
from verified_tir.graph.program import program_of
from verified_tir.graph.relayout import Relaid
from verified_tir.index.map import IndexMap
from verified_tir.ir.dtype import FLOAT32, INT32
from verified_tir.ir.expr import FALSE, Undef, Var
from verified_tir.ir.sugar import const
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.padding import PadValue
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.schedule.schedule import Schedule
from verified_tir.schedule.session import Session
from verified_tir.script import tir as T

TILES = IndexMap.from_func(lambda i, j: [i, j // 4, j % 4], 2)


def padded(node: Node, value: float, changed: bool) -> Schedule:
    """The node's result in tiles that hold a value, which is said to be 0.

    :param changed: whether the layout is changed to itself before that is said, with padding that is undef.
    """
    s = Schedule(program_of(node))
    name = s.func.buffers[1].name
    s.transform_layout(name, lambda i, j: [i, j // 4, j % 4], pad_value=T.undef())
    s.sequential_buffer_access(name)
    s.write_padding(name, value)
    b = s.func.buffers[1]
    before, after = ([Var.fresh(n, INT32) for n in names] for names in ("abc", "pqr"))
    same = LayoutMap(tuple(before), tuple(before), tuple(after), tuple(after), b.shape, FALSE)

    def said(session: Session) -> None:
        if changed:
            session.apply(Relayout(b, same, Undef(FLOAT32)))
        session.apply(PadValue(session.func.buffers[1], 0, const(0.0, "float32"), owed=True))

    s._do("layout", (), said)
    return s


def sum_of_tiles(node: Node) -> Schedule:
    """Sums over whole tiles: what the padding of the operand holds is taken for zeros."""
    s = Schedule(program_of(node))
    s.decompose_reduction("sum", s.loops("sum")[1])
    s.transform_layout(s.func.buffers[0].name, lambda i, j: [i, j // 4, j % 4], pad_value=0.0)
    s.split(s.loops(s.blocks[-1])[-1], [None, 4])
    s.remove_branching_through_overcompute()
    return s


def with_programs(made: Plan, graph: Graph, schedules: dict[Node, Schedule]) -> Plan:
    """The plan, with these programs for nodes of the graph, and what is proved of them."""
    new: dict[Node, Node] = {}
    relaid = {}
    for old, of in made.implements.items():
        if of in schedules:
            s = schedules[of]
            new[old] = Node("call_tir", old.inputs, old.outputs, {}, s.func, old.source)
            relaid[new[old]] = Relaid(s.func, s.theorem, (), s)
    nodes = tuple(new.get(n, n) for n in made.graph.nodes)
    made.graph = Graph(graph.name, made.graph.inputs, {}, nodes, made.graph.outputs)
    made.relaid = relaid
    made.implements = {new.get(n, n): of for n, of in made.implements.items()}
    return made


@pytest.mark.parametrize(("value", "changed"), [(0.0, False), (100.0, True)])
def test_padding_that_holds_another_value_than_the_last_that_is_said(value: float, changed: bool) -> None:
    """100 is written, the layout is changed to itself, and 0 is said to be owed: sums over tiles would be 200 more."""
    g = GraphBuilder("model")
    y = g.op("nn.relu", g.input("x", (2, 6)), name="y")
    graph = g.finish(g.op("sum", y, axis=(1,), name="z"))
    relu, total = graph.nodes
    held = Padded(TILES, 0.0)
    made = plan(graph, {relu: ([None], [held]), total: ([held], [None])}, padded_sums=True)
    schedules = {relu: padded(relu, value, changed), total: sum_of_tiles(total)}
    written, document = write_plan(with_programs(made, graph, schedules), "m")
    found, _ = steps_of(written, document)
    wrong = ": its steps cannot be followed: the padding of relu holds several values"
    assert found == ([wrong] if changed else [])


def test_a_plan_runs_at_the_sizes_of_its_model() -> None:
    """Sizes at which a model means something else (``Graph.zero_with``) are those of its plan, too."""
    from verified_tir.certificate.canonical import text_hash
    from verified_tir.certificate.plans import sealed_plan

    g = GraphBuilder("model")
    x = g.input("x", ("n", "m"))
    g.zero_with(*x.dims)
    graph = g.finish(g.op("nn.relu", x, name="y"))
    written, document = write_plan(plan(graph), "m")
    assert steps_of(written, document, graph) == ([], [])
    line = '    R.func_attr({"zero_with": ((n, m),)})'
    document["after"]["text"].remove(line)
    document["after"]["hash"] = text_hash("\n".join(document["after"]["text"]))
    found, _ = steps_of(written, sealed_plan(document), graph)
    assert found == ["after: it runs at other sizes than the graph before"]
    other = GraphBuilder("model")
    model = other.finish(other.op("nn.relu", other.input("x", ("n", "m")), name="y"))
    found, _ = steps_of(*write_plan(plan(graph), "m"), model)
    assert found == ["before: this is not the graph of the model"]
