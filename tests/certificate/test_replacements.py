"""What a plan fused and what was lifted out of programs: certificates, the documents that say how, and forgeries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verified_tir.certificate.plans import CheckedPlan, sealed_plan
from verified_tir.certificate.replacements import follow_all
from verified_tir.certificate.write import Written
from verified_tir.certificate.write_plan import write_plan
from verified_tir.certificate.write_replacements import write_fusions, write_hoisting
from verified_tir.cli.check import Options as CheckOptions
from verified_tir.cli.check import run as check
from verified_tir.cli.plan import Options, run
from verified_tir.graph import Graph, GraphBuilder, GraphError, TensorType
from verified_tir.graph.annotate import Annotations
from verified_tir.graph.plan import plan
from verified_tir.graph.rewrite_passes import frozen_by_hoisting, hoist_layout_rewrites
from verified_tir.graph.text import save_graph
from verified_tir.ir.script import parse_func

SCALE = parse_func("""
@T.prim_func
def scale(x: T.Buffer((4, 8), "float32"), y: T.Buffer((8, 4), "float32")):
    t = T.alloc_buffer((8, 4), "float32")
    for i, j in T.grid(8, 4):
        with T.block("turn"):
            T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
            t[i, j] = x[j, i]
    for i, j in T.grid(8, 4):
        with T.block("scale"):
            y[i, j] = t[i, j] * 2.0
""")


def lifting() -> Graph:
    """Twice a function that turns its operand round."""
    g = GraphBuilder("main")
    x, z = g.input("x", (4, 8)), g.input("z", (4, 8))
    out = [TensorType((8, 4), "float32")]
    a, b = g.call_tir(SCALE, [x], out, "a"), g.call_tir(SCALE, [z], out, "b")
    return g.finish(g.op("add", a, b, name="c"))


def fusing() -> Graph:
    """A convolution that gets a layout, and on both sides of it what has another one."""
    g = GraphBuilder("small")
    w = g.constant(np.arange(32, dtype=np.float32).reshape(8, 4, 1, 1), "w")
    x = g.op("nn.relu", g.input("x", (1, 4, 4, 4)), name="v")
    y = g.op("nn.conv2d", x, w, name="y")
    return g.finish(g.op("nn.softmax", g.op("tanh", y, name="t"), name="r"), x)


Documents = tuple[Written, dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def fused() -> Documents:
    graph = fusing()
    made = plan(graph, Annotations({"nn.conv2d": "NCHW4c"}).frozen(graph), fuse=True)
    assert made.unfused is not None and made.fused
    written, document = write_plan(made.unfused, "m")
    _, other = write_fusions(made.unfused.graph, made.graph, made.fused, "m", written=written)
    return written, {"m/plan": document, "m/fused": other}


@pytest.fixture(scope="module")
def lifted() -> Documents:
    graph = lifting()
    passed = hoist_layout_rewrites(graph)
    made = plan(passed.graph, frozen_by_hoisting(passed.graph))
    written, document = write_plan(made, "m")
    _, other = write_hoisting(graph, passed, "m", written=written)
    return written, {"m/plan": document, "m/hoisted": other}


def wrong_with(documents: Documents, **changed: Callable[[dict[str, Any]], dict[str, Any]]) -> list[str]:
    """What is found after documents were changed, their hashes made new."""
    written, given = documents
    parts = {n: sealed_plan(changed.get(n.removeprefix("m/"), dict)(dict(d))) for n, d in given.items()}
    found = follow_all([CheckedPlan(n, d, ()) for n, d in parts.items()], written.certificates)
    return [f.problem for f in found]


@pytest.mark.nightly
def test_the_steps_lead_from_graph_to_graph(fused: Documents, lifted: Documents) -> None:
    assert wrong_with(fused) == [] == wrong_with(lifted)
    kinds = [s["kind"] for s in fused[1]["m/fused"]["steps"]]
    assert "replaced" in kinds and "unused" in kinds
    steps = lifted[1]["m/hoisted"]["steps"]
    assert [(s["node"], len(s["results"])) for s in steps] == [(["a"], 2), (["b"], 2)]
    assert steps[0]["certificate"] == steps[1]["certificate"] == "m/hoisted-1"  # one program, one proof


@pytest.mark.nightly
def test_a_step_about_other_nodes_is_found(fused: Documents, lifted: Documents) -> None:
    def steps(f: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Callable[[dict[str, Any]], dict[str, Any]]:
        return lambda d: {**d, "steps": f([dict(s) for s in d["steps"]])}

    def first(**values: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
        return steps(lambda all_: [{**all_[0], **values}, *all_[1:]])

    begins = "does not begin with the programs of these nodes"
    node = fused[1]["m/fused"]["steps"][0]["node"]
    assert begins in wrong_with(fused, fused=first(node=node[::-1], results=[node[0]]))[0]
    assert "there is no node nobody" in wrong_with(fused, fused=first(node=["nobody"]))[0]
    assert "does not give what" in wrong_with(fused, fused=first(results=["r"]))[0]
    assert "cannot be read" in wrong_with(fused, fused=first(certificate="m/other"))[0]
    assert "its nodes are not those" in wrong_with(fused, fused=steps(lambda s: s[:-1]))[0]
    moves = next(s["certificate"] for s in fused[1]["m/plan"]["steps"] if s["kind"] == "moved")
    assert "moves a parameter" in wrong_with(fused, fused=first(certificate=moves))[0]
    read = steps(lambda all_: [{**s, "node": ["y"]} if s["kind"] == "unused" else s for s in all_])
    assert wrong_with(fused, fused=read) == ["there is no node y"]  # which took a rewrite in, and gives y_moved now
    early = steps(lambda all_: [next(s for s in all_ if s["kind"] == "unused"), *all_])
    assert wrong_with(fused, fused=early)[0].endswith(" is read")
    assert "there is no node nobody after" in wrong_with(lifted, hoisted=first(results=["nobody"]))[0]
    second = lifted[1]["m/hoisted"]["steps"][1]["results"]
    assert "they do not give what a gives" in wrong_with(lifted, hoisted=first(results=second))[0]
    assert "its nodes are not those" in wrong_with(lifted, hoisted=steps(lambda s: s[:-1]))[0]


@pytest.mark.nightly
def test_other_graphs_are_found(fused: Documents, lifted: Documents) -> None:
    def after(old: str, new: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
        return lambda d: {**d, "after": {**d["after"], "text": [line.replace(old, new) for line in d["after"]["text"]]}}

    found = wrong_with(lifted, hoisted=after("R.add(", "R.multiply("))
    assert "c has another program than the steps lead to" in found
    assert any("T.tanh(" in line for line in fused[1]["m/fused"]["after"]["text"])
    assert any("another program" in p for p in wrong_with(fused, fused=after("T.tanh(", "T.exp(")))
    found = wrong_with(lifted, hoisted=after("* T.float32(2.0)", "* T.float32(3.0)"))
    assert any("does not end with the programs of" in p for p in found)


def test_elements_that_stand_in_the_text_are_compared() -> None:
    """A small constant is written out: another number there is another graph, whatever the list of constants says."""
    g = GraphBuilder("main")
    w = g.constant(np.full((8, 4), 2, np.float32)[:1, :1], "w")
    a = g.call_tir(SCALE, [g.input("x", (4, 8))], [TensorType((8, 4), "float32")], "a")
    graph = g.finish(g.op("add", a, w, name="c"))
    passed = hoist_layout_rewrites(graph)
    written, document = write_hoisting(graph, passed, "m")
    given = (written, {"m/hoisted": document})
    assert wrong_with(given) == []
    line = next(x for x in document["after"]["text"] if "w = R.const(" in x)
    other = [x.replace("2", "3", 1) if x == line else x for x in document["after"]["text"]]
    changed = wrong_with(given, hoisted=lambda d: {**d, "after": {**d["after"], "text": other}})
    assert changed == ["its hash is not that of its elements"], (line, changed)


@pytest.mark.nightly
def test_documents_that_do_not_meet_are_found(fused: Documents, lifted: Documents) -> None:
    apart = (fused[0], {"m/hoisted": lifted[1]["m/hoisted"], "m/plan": fused[1]["m/plan"]})
    apart[0].certificates.update(lifted[0].certificates)
    assert "this is not the graph with which m/hoisted ends" in wrong_with(apart)

    def constants(d: dict[str, Any]) -> dict[str, Any]:
        changed = {name: {**c, "sha256": "0" * 64} for name, c in d["constants"]["before"].items()}
        return {**d, "constants": {"before": changed, "after": changed}}

    assert "these are not the constants with which m/plan ends" in wrong_with(fused, fused=constants)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("graph", "options"),
    [
        pytest.param(fusing, {"layouts": ("conv2d=NCHW4c",), "fuse": True}, marks=pytest.mark.nightly),
        (lifting, {"layouts": (), "hoist": True}),
    ],
)
def test_by_commands(
    graph: Callable[[], Graph], options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, folder = tmp_path / "m.graph", tmp_path / "proofs"
    save_graph(graph(), model)
    assert run(Options(model, certify=folder, **options)) == 0
    assert check(CheckOptions(folder, jobs=1, before=str(model))) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("2 plans, ")
    other = tmp_path / "other.graph"
    save_graph(lifting() if graph is fusing else fusing(), other)
    assert check(CheckOptions(folder, jobs=1, before=str(other))) == 1
    assert capsys.readouterr().out.count("this is not the graph of the model") == 1


def test_one_operand_twice_is_refused() -> None:
    """Nobody could tell which of the two a lifted rewrite reads."""
    both = parse_func("""
@T.prim_func
def both(x: T.Buffer((4, 4), "float32"), z: T.Buffer((4, 4), "float32"), y: T.Buffer((4, 4), "float32")):
    t = T.alloc_buffer((4, 4), "float32")
    for i, j in T.grid(4, 4):
        with T.block("turn"):
            t[i, j] = x[j, i]
    for i, j in T.grid(4, 4):
        with T.block("add"):
            y[i, j] = t[i, j] + z[i, j]
""")
    g = GraphBuilder("main")
    x = g.input("x", (4, 4))
    graph = g.finish(g.call_tir(both, [x, x], [TensorType((4, 4), "float32")], "a"))
    passed = hoist_layout_rewrites(graph)
    assert passed.replaced
    with pytest.raises(GraphError, match="has one operand twice"):
        write_hoisting(graph, passed, "m")
