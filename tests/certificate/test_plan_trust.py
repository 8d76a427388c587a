"""What a plan may rest on: theorems that are right, and of no use within a graph; beliefs, by name; elements beside."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fuzz.targets.tampering import Agrees
from verified_tir.certificate.canonical import BadJson, read, text_hash
from verified_tir.certificate.plan_believed import Believed
from verified_tir.certificate.plan_layouts import write_layout
from verified_tir.certificate.plan_steps import follow
from verified_tir.certificate.plans import CheckedPlan, load_plan, sealed_plan
from verified_tir.certificate.questions import check_questions
from verified_tir.certificate.store import constant_path, save
from verified_tir.certificate.write import Origin, Written
from verified_tir.certificate.write_plan import write_plan
from verified_tir.cli import check as command
from verified_tir.graph import Graph, GraphBuilder
from verified_tir.graph.annotate import Annotations, layout_named
from verified_tir.graph.external import External
from verified_tir.graph.ir import Node
from verified_tir.graph.layouts import Padded
from verified_tir.graph.plan import Plan, plan
from verified_tir.graph.program import program_of
from verified_tir.graph.relayout import Relaid
from verified_tir.index.map import IndexMap
from verified_tir.ir.dtype import FLOAT32, INT32
from verified_tir.ir.expr import FALSE, Call, FloatImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import places
from verified_tir.ir.stmt import Evaluate, Seq
from verified_tir.ir.sugar import const
from verified_tir.kernel.rules.call import Implement
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.padding import PadValue
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.reorder import Link, Reorder
from verified_tir.kernel.theorem import Rule
from verified_tir.schedule.intrinsics import TensorIntrin
from verified_tir.schedule.rule_builders import RuleBuilder
from verified_tir.schedule.schedule import Schedule
from verified_tir.schedule.session import Session
from verified_tir.script import tir as T


def relu(shape: tuple[int, ...] = (4,)) -> Graph:
    g = GraphBuilder("model")
    return g.finish(g.op("nn.relu", g.input("x", shape), name="y"))


def graph_of(func: PrimFunc, graph: Graph) -> dict[str, Any]:
    """A graph that has this program in the place of the only node, as a document has it."""
    g = GraphBuilder(graph.name)
    (x,) = graph.inputs
    text = str(g.finish(g.call_tir(func, [g.input(x.name, x.shape)], [graph.outputs[0].type], "y")))
    return {"text": text.split("\n"), "hash": text_hash(text)}


def moved_by(s: Schedule, graph: Graph) -> tuple[Written, dict[str, Any]]:
    """A plan in which the only node became what a schedule made of its program, the certificate of this beside it."""
    written, document = write_plan(plan(graph), "m")
    written.add("m/forged", s, Origin("forged"))
    root = written.certificates["m/forged"]["root"]
    document["after"] = graph_of(s.func, graph)
    document["steps"][0].update(kind="moved", certificate="m/forged", root=root)
    return written, sealed_plan(document)


def steps_of(
    written: Written, document: dict[str, Any], model: Graph | None = None, folder: Path | None = None
) -> tuple[list[str], list[Believed]]:
    believed: list[Believed] = []
    found = follow(CheckedPlan("m/plan", document, (), folder), written.certificates, model, believed)
    return [f"{f.place}: {f.problem}" for f in found], believed


# -- words that mislead ------------------------------------------------------------------------------------------------


def undone_skew(names: str) -> Plan:
    """A plan of ``y = relu(x)`` that undoes a layout in which y is not: a valid theorem has it in another layout.

    :param names: of the index variables of that theorem's map, ``[0, i, (3*d + j) % 8]``, the identity as d is 0.
    """
    g = GraphBuilder("model")
    graph = g.finish(g.op("nn.relu", g.input("x", (1, 4, 8)), name="y"))
    skewed = IndexMap.from_func(lambda d, i, j: [d, i, (j + 3 * i) % 8], 3)
    made = plan(graph, {graph.nodes[0]: ([None], [skewed])})
    d, i, j = (Var.fresh(name, INT32) for name in names.split())
    p, q, r = (Var.fresh(name, INT32) for name in "pqr")
    s = Schedule(program_of(graph.nodes[0]))
    result = s.func.buffers[1]
    zero = const(0, INT32)
    layout = LayoutMap((d, i, j), (zero, i, (d * 3 + j) % 8), (p, q, r), (zero, q, r), result.shape, FALSE)
    s._do("layout", (), lambda session: session.apply(Relayout(result, layout, None)))
    (old,) = made.relaid
    new = Node(old.op, old.inputs, old.outputs, old.attrs, s.func, old.source)
    made.graph = Graph(
        graph.name, made.graph.inputs, {}, [new if n is old else n for n in made.graph.nodes], made.graph.outputs
    )
    made.relaid = {new: Relaid(s.func, s.theorem, (), s)}
    made.implements[new] = made.implements.pop(old)
    return made


@pytest.mark.parametrize("names", ["T T_ T__1", "d i j", "i i i"])
def test_a_layout_is_not_read_from_words(names: str) -> None:
    """A variable that is called "T" prints as "T_", and the next one may be called that: then an identity reads as a
    layout that shifts rows."""
    written, document = write_plan(undone_skew(names), "m")
    found, _ = steps_of(written, document)
    assert len(found) == 1 and found[0].startswith("steps[0] y_moved: its certificate gives y in the layout")
    (said,) = written.certificates["m/nn.relu-1"]["relation"][1]["layouts"]
    header, _, body = said["map"].removeprefix("lambda ").partition(": ")
    one, two, three = header.split(", ")
    assert len({one, two, three}) == 3 and body == f"[0, {two}, ({one} * 3 + {three}) % 8]"


def test_a_layout_that_is_there_may_be_undone() -> None:
    g = GraphBuilder("model")
    graph = g.finish(g.op("nn.relu", g.input("x", (1, 4, 8)), name="y"))
    skewed = IndexMap.from_func(lambda d, i, j: [d, i, (j + 3 * i) % 8], 3)
    written, document = write_plan(plan(graph, {graph.nodes[0]: ([None], [skewed])}), "m")
    assert steps_of(written, document) == ([], [])


# -- theorems that prove nothing within a graph ------------------------------------------------------------------------


def test_a_theorem_about_operands_that_are_asserted_to_be_five(tmp_path: Path) -> None:
    """ReLU of fives is five, and the kernel says so.  Nobody says that the operand holds fives."""
    graph = relu()
    s = Schedule(program_of(graph.nodes[0]))
    s.assume(lambda i: s.func.buffers[0][i].equal(5.0), "x", axiom=True)
    s.restate("relu", lambda i: T.float32(5.0))
    written, document = moved_by(s, graph)
    found, _ = steps_of(written, document)
    assert found == ["steps[0] y: its certificate m/forged asserts something of the operands, and nobody sees to it"]
    save(tmp_path, written.certificates, written.queries, {"m/plan": document})
    assert command.run(command.Options(tmp_path, jobs=1)) == 1


def test_what_is_proved_without_an_assertion_is_followed() -> None:
    """The near miss: the same program, and what is assumed of it was proved."""
    graph = relu()
    s = Schedule(program_of(graph.nodes[0]))
    s.split(s.get_loops("relu")[0], [None, 2])
    assert steps_of(*moved_by(s, graph)) == ([], [])


DESCRIPTION = """
@T.prim_func
def d(x: T.Buffer((4,), "float32"), relu: T.Buffer((4,), "float32")):
    for i0 in range(4):
        with T.block("relu"):
            v_i0 = T.axis.spatial(4, i0)
            relu[v_i0] = T.max(T.float32(0.0), x[v_i0])
"""
NEGATION = """
@T.prim_func
def neg(x: T.Buffer((4,), "float32"), relu: T.Buffer((4,), "float32")):
    T.evaluate(T.call_extern("int32", "negate", x.data, relu.data))
"""


def test_an_intrinsic_is_believed_by_the_name_of_what_is_called(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The kernel believes that an implementation does what is described: a plan says so, with the function's name."""
    graph = relu()
    s = Schedule(program_of(graph.nodes[0]))
    TensorIntrin.register("negation", DESCRIPTION, NEGATION, override=True)
    s.tensorize(s.get_loops("relu")[0], "negation")
    written, document = moved_by(s, graph)
    found, believed = steps_of(written, document)
    assert found == [] and [b.name for b in believed] == ["negate"]
    save(tmp_path, written.certificates, written.queries, {"m/plan": document})
    assert command.run(command.Options(tmp_path, jobs=1)) == 4
    said = "m/plan: believed, not proved: negate: it does what an intrinsic describes, in m/forged"
    assert said in capsys.readouterr().out
    assert command.run(command.Options(tmp_path, jobs=1, believe=("negate",))) == 0


def test_a_function_that_gets_a_name_is_not_believed_by_it() -> None:
    graph = relu()
    s = Schedule(program_of(graph.nodes[0]))
    other = NEGATION.replace('T.call_extern("int32", "negate", ', 'T.unknown("negate", ')
    TensorIntrin.register("negation", DESCRIPTION, other, override=True)
    s.tensorize(s.get_loops("relu")[0], "negation")
    found, believed = steps_of(*moved_by(s, graph))
    assert found == [] and [b.name for b in believed] == ["unknown"]


FIVES = """
@T.prim_func
def neg(x: T.Buffer((4,), "float32"), relu: T.Buffer((4,), "float32")):
    for i in range(4):
        relu[i] = T.float32(5)
    for k in range(0):
        T.evaluate(T.call_extern("int32", "negate", x.data, relu.data))
"""


def test_an_implementation_is_believed_also_if_its_call_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that never runs makes an implementation opaque, and may go; what else it does is believed, not proved."""
    apply = Session.apply

    def without_the_call(self: Session, *rules: Rule | RuleBuilder) -> None:
        apply(self, *rules)
        if self.theorem.derivation and type(self.theorem.derivation[-1].rule) is Implement:
            ((path, _),) = places(self.func.body, lambda stmt: isinstance(stmt, Seq))
            apply(self, Reorder((*path, 0), 2, (((0,), 1), ((1, 0), 1)), Evaluate(const(0)), (Link(0, 0, (), ()),)))

    monkeypatch.setattr(Session, "apply", without_the_call)
    graph = relu()
    s = Schedule(program_of(graph.nodes[0]))
    TensorIntrin.register("negation", DESCRIPTION, FIVES, override=True)
    s.tensorize(s.get_loops("relu")[0], "negation")
    assert "negate" not in s.script()
    written, document = moved_by(s, graph)
    found, believed = steps_of(written, document)
    assert found == [] and [b.name for b in believed] == ["negate"]
    save(tmp_path, written.certificates, written.queries, {"m/plan": document})
    assert command.run(command.Options(tmp_path, jobs=1)) == 4


@pytest.mark.parametrize("owed", [False, True])
def test_padding_of_a_result_that_is_taken_for_granted_is_not_filled(owed: bool) -> None:
    """Zeros before and after: nobody fills the padding of a result before.  Zeros that are owed are filled in."""
    g = GraphBuilder("model")
    graph = g.finish(g.op("nn.relu", g.input("x", (6,)), name="y"))
    tiles = layout_named("C4c", "C")
    assert tiles is not None
    made = plan(graph, {graph.nodes[0]: ([None], [tiles])})
    s = made.relaid[made.graph.nodes[0]].schedule
    if owed:
        s.write_padding("relu", 0.0)
    result = s.func.buffers[1]
    document, written = _with_padding(made, graph, s, PadValue(result, 0, FloatImm(FLOAT32, 0.0), owed))
    document["steps"][0]["values"][0]["layout"] = write_layout(Padded(tiles, 0.0))
    found, _ = steps_of(written, sealed_plan(document))
    wrong = "steps[0] y_moved: its certificate takes for granted what the padding of y holds"
    assert found == ([] if owed else [wrong])


@pytest.mark.nightly
def test_what_padding_holds_is_read_as_a_number_only_if_it_is_one() -> None:
    """1 is written, and said to be ``T.abs(-1)``, which it is; that does not mean that the padding holds -1."""
    g = GraphBuilder("model")
    graph = g.finish(g.op("nn.relu", g.input("x", (6,), "int32"), name="y"))
    tiles = layout_named("C4c", "C")
    assert tiles is not None
    for value, said in ((const(1), 1), (Call(INT32, "abs", (const(-1),)), -1)):
        made = plan(graph, {graph.nodes[0]: ([None], [tiles])})
        s = made.relaid[made.graph.nodes[0]].schedule
        s.write_padding("relu", 1)
        document, written = _with_padding(made, graph, s, PadValue(s.func.buffers[1], 0, value, True))
        document["steps"][0]["values"][0]["layout"] = write_layout(Padded(tiles, said))
        found, _ = steps_of(written, sealed_plan(document))
        held = ": its steps cannot be followed: the padding of relu does not hold a number"
        assert found == ([] if said == 1 else [held])


def _with_padding(made: Plan, graph: Graph, s: Schedule, rule: PadValue) -> tuple[dict[str, Any], Written]:
    """The plan of a graph of one node whose program's theorem ends with this rule, as a document."""
    (old,) = made.relaid
    s._do("pad", (), lambda session: session.apply(rule))
    new = Node(old.op, old.inputs, old.outputs, old.attrs, s.func, old.source)
    nodes = tuple(new if n is old else n for n in made.graph.nodes)
    made.graph = Graph(graph.name, made.graph.inputs, {}, nodes, made.graph.outputs)
    made.relaid = {new: Relaid(s.func, s.theorem, (), s)}
    made.implements[new] = made.implements.pop(old)
    written, document = write_plan(made, "m")
    return document, written


# -- beliefs -----------------------------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_an_external_function_that_computes_what_stays_is_believed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its node keeps its program, moved or not: that the function does the same is nobody's to prove."""
    g = GraphBuilder("model")
    y = g.op("nn.relu", g.input("x", (1, 4, 2, 2)), name="y")
    graph = g.finish(g.op("nn.relu", y, name="z"))
    nhwc = layout_named("NHWC", "NCHW")
    first, second = graph.nodes
    external = {first: External("library.relu", [([nhwc], [nhwc])]), second: External("blas", [([None], [None])])}
    written, document = write_plan(plan(graph, external=external), "m")
    found, believed = steps_of(written, document, graph)
    assert found == [] and [b.name for b in believed] == ["library.relu", "blas"]
    assert [s["kind"] for s in document["steps"] if s["function"]] == ["moved", "same"]
    turned = "in lambda i0, i1, i2, i3: [i0, i2, i3, i1]"
    tensor = 'R.Tensor((1, 4, 2, 2), "float32")'
    assert [b.what for b in believed] == [
        f"it is called to compute nn.relu y: x: {tensor} {turned} -> y: {tensor} {turned}",
        f"it is called to compute nn.relu z: y: {tensor} -> z: {tensor}",
    ]
    save(tmp_path, written.certificates, written.queries, {"m/plan": document})
    assert command.run(command.Options(tmp_path, jobs=1, believe=("blas",))) == 4
    assert command.run(command.Options(tmp_path, jobs=1, believe=("blas", "library.relu"))) == 0
    assert "but for 2 claims believed" in capsys.readouterr().out
    for wrong in ("constant w", "a\nb"):
        forged = copy.deepcopy(document)
        next(s for s in forged["steps"] if s["function"])["function"] = wrong
        assert any("is not a name of a function" in f for f in steps_of(written, sealed_plan(forged))[0])


def test_sums_in_another_order_are_believed_by_name() -> None:
    """Somebody has allowed them, where the plan was made; a certificate alone does not say who."""
    g = GraphBuilder("model")
    graph = g.finish(g.op("sum", g.input("x", (8,)), axis=(0,), name="y"))
    program = program_of(graph.nodes[0])
    s = Schedule(program)
    (loop,) = s.get_loops("sum")
    s.rfactor(s.split(loop, [None, 2])[1], reassociate=program.buffers[1].name)
    written, document = moved_by(s, graph)
    found, believed = steps_of(written, document)
    assert found == []
    (belief,) = believed
    assert belief.name == "certificate m/forged" and belief.what.endswith("are taken in another order")


# -- elements ----------------------------------------------------------------------------------------------------------


def convolution(scale: float = 1.0) -> Graph:
    """Of a constant of 48 elements, which do not stand in the text, and one that is not packed."""
    g = GraphBuilder("model")
    rng = np.random.default_rng(0)
    x = g.input("x", (1, 6, 4, 4))
    w = g.constant((scale * rng.standard_normal((8, 6, 1, 1))).astype(np.float32), "w")
    y = g.op("nn.conv2d", x, w, name="y")
    return g.finish(g.op("add", y, g.constant(rng.standard_normal((1, 8, 4, 4)).astype(np.float32), "b"), name="z"))


@pytest.fixture(scope="module")
def packed() -> tuple[Graph, Written, dict[str, Any]]:
    """A plan that packs a constant."""
    graph = convolution()
    made = plan(graph, Annotations({"conv2d": "NCHW4c"}).frozen(graph))
    return graph, *write_plan(made, "m")


@pytest.mark.nightly
def test_elements_of_packed_constants_lie_beside_and_are_compared(
    packed: tuple[Graph, Written, dict[str, Any]], tmp_path: Path
) -> None:
    graph, written, document = packed
    save(tmp_path, written.certificates, written.queries, {"m/plan": document}, written.constants)
    assert steps_of(written, document, None, tmp_path) == ([], [])
    forged = copy.deepcopy(document)
    forged["constants"]["after"]["w_packed"]["sha256"] = "0" * 64
    said = "constants.after.w_packed: it is not w, packed"
    assert steps_of(written, sealed_plan(forged), None, tmp_path)[0] == [said]
    assert steps_of(written, sealed_plan(forged), graph)[0] == [said]
    (digest,) = written.constants
    path = tmp_path / constant_path(digest)
    honest = path.read_bytes()
    assert len(honest) == 4 * 48
    for data, said in (
        (bytes([honest[0] ^ 1]) + honest[1:], "was changed: its name is not the hash of the elements of w"),
        (honest[:-1], f"{path.name} has 191 bytes, not 192"),
        (honest + b"\0", f"{path.name} has 193 bytes, not 192"),
    ):
        path.write_bytes(data)
        (found,) = steps_of(written, document, None, tmp_path)[0]
        assert said in found
        assert steps_of(written, document, graph, tmp_path) == ([], [])


@pytest.mark.nightly
def test_packing_is_believed_where_the_elements_are_not_there(
    packed: tuple[Graph, Written, dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, written, document = packed
    save(tmp_path, written.certificates, written.queries, {"m/plan": document})
    assert command.run(command.Options(tmp_path, jobs=1)) == 4
    said = "m/plan: believed, not proved: constant w_packed: it is w in the layout lambda i0, i1, i2, i3: [i0 // 4,"
    assert said in capsys.readouterr().out
    assert command.run(command.Options(tmp_path, jobs=1, believe=("constant w_packed",))) == 0
    assert steps_of(written, document, graph, tmp_path) == ([], [])
    stray = tmp_path / constant_path("0" * 64)
    stray.parent.mkdir(parents=True)
    stray.write_bytes(b"1")
    assert [str(f) for f in check_questions(tmp_path, executor=Agrees()).findings] == [
        f"{constant_path('0' * 64)}: no plan has this constant [VT0804]"
    ]


@pytest.mark.nightly
def test_constants_that_no_plan_needs_any_more_go(
    packed: tuple[Graph, Written, dict[str, Any]], tmp_path: Path
) -> None:
    _, written, document = packed
    save(tmp_path, written.certificates, written.queries, {"m/plan": document}, written.constants)
    other = convolution(2.0)
    again, changed = write_plan(plan(other, Annotations({"conv2d": "NCHW4c"}).frozen(other)), "m")
    save(tmp_path, again.certificates, again.queries, {"m/plan": changed}, again.constants)
    assert (
        {p.stem for p in (tmp_path / "constants").rglob("*.bin")} == again.constants.keys() != written.constants.keys()
    )
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    link = tmp_path / "again"
    link.mkdir()
    (link / "constants").symlink_to(outside)
    with pytest.raises(ValueError, match="symbolic link"):
        save(link, written.certificates, written.queries, {"m/plan": document}, written.constants)
    assert not any(outside.iterdir())


def test_an_input_is_no_constant_of_the_model() -> None:
    """Both have the same values in the same order."""
    graph = relu()
    written, document = write_plan(plan(graph), "m")
    (x,) = graph.inputs
    other = Graph(graph.name, (), {x: np.zeros(4, np.float32)}, graph.nodes, graph.outputs)
    assert steps_of(written, document, other)[0] == ["before: this is not the graph of the model"]


@pytest.mark.nightly
def test_a_plan_of_an_earlier_schema_is_refused(packed: tuple[Graph, Written, dict[str, Any]], tmp_path: Path) -> None:
    _, written, document = packed
    save(tmp_path, written.certificates, written.queries, {"m/plan": {**document, "schema": 3}}, written.constants)
    checked = load_plan(tmp_path, "m/plan", document["root"], {})
    said = "it is 3; this program reads 4: certify again, with --certify, into an empty folder"
    assert checked.content is None and [f.problem for f in checked.findings] == [said]


@pytest.mark.parametrize("text", ['"' + '\\"' * 200_000, '"\\\n' * 100_000, "[" * 200_000, '{"a":' * 100_000])
def test_text_without_end_is_read_once(text: str) -> None:
    """A string that does not end was looked for from each quotation mark in it."""
    with pytest.raises(BadJson):
        read(text)
