"""Plans as certificates: they are checked, and whoever changes them is found, even one who seals them again."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verified_tir.certificate.canonical import read, text_hash, value_hash, write
from verified_tir.certificate.check import check
from verified_tir.certificate.hashes import PARTS, sealed, step_hash
from verified_tir.certificate.plan_believed import Believed
from verified_tir.certificate.plan_layouts import read_layout, serves, write_layout
from verified_tir.certificate.plan_steps import follow
from verified_tir.certificate.plans import PLAIN, CheckedPlan, sealed_plan
from verified_tir.certificate.questions import check_questions
from verified_tir.certificate.store import queries_of, save
from verified_tir.certificate.write_plan import write_plan
from verified_tir.cli import check as command
from verified_tir.graph import Graph, GraphBuilder
from verified_tir.graph.annotate import Annotations, layout_named
from verified_tir.graph.external import External
from verified_tir.graph.layouts import Layout, Padded
from verified_tir.graph.plan import plan
from verified_tir.index.parse import parse_index_map
from verified_tir.ir.script import parse_func


def model() -> Graph:
    """Six channels, so that tiles of four are padded; a softmax through which nothing flows."""
    g = GraphBuilder("model")
    rng = np.random.default_rng(0)
    x = g.input("x", (1, 6, 4, 4))
    y = g.op("nn.conv2d", x, g.constant(rng.standard_normal((8, 6, 1, 1)).astype(np.float32), "w"), name="y")
    p = g.op("nn.max_pool2d", g.op("nn.relu", y, name="z"), pool_size=(2, 2), strides=(2, 2), name="p")
    return g.finish(g.op("nn.softmax", p, name="s"), p)


@pytest.fixture(scope="module")
def written() -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    """A plan, its certificates, their questions."""
    graph = model()
    made = plan(graph, Annotations({"conv2d": "NCHW4c"}).frozen(graph))
    certificates, document = write_plan(made, "m", ["conv2d=NCHW4c"], "m.onnx")
    return document, certificates.certificates, certificates.queries


def steps_of(plan: dict[str, Any], certificates: dict[str, Any], model: Graph | None = None) -> list[str]:
    return [str(f) for f in follow(CheckedPlan("m/plan", plan, ()), certificates, model)]


@pytest.mark.nightly
def test_a_plan_is_checked_with_its_certificates(written: Any, tmp_path: Path) -> None:
    document, certificates, queries = written
    save(tmp_path, certificates, queries, {"m/plan": document})
    done = check(tmp_path, ["z3", "cvc5"])
    assert done.exit_code == 0 and not done.all_findings
    assert [p.name for p in done.plans] == ["m/plan"]
    assert steps_of(document, certificates, model()) == []
    assert {s["kind"] for s in document["steps"]} == {"moved", "rewrite", "same"}


@pytest.mark.nightly
def test_certificates_of_a_plan_are_computed_again(written: Any, tmp_path: Path) -> None:
    """A program of the plan with a question less, and all hashes made new, those of plan and manifest too."""
    document, certificates, queries = copy.deepcopy(written)
    name, owed = next(
        (name, rule["obligations"])
        for name, certificate in certificates.items()
        for step in certificate["trace"][1:]
        for rule in step["rules"]
        if rule["obligations"]
    )
    certificate = certificates[name]
    del owed[0]
    for step in certificate["trace"]:
        step["hash"] = step_hash(step)
    certificates[name] = sealed({part: certificate[part] for part in PARTS})
    for s in document["steps"]:
        s["root"] = certificates[name]["root"] if s["certificate"] == name else s["root"]
    needed = {q for c in certificates.values() for q in queries_of(c)}
    save(tmp_path, certificates, {q: queries[q] for q in needed}, {"m/plan": sealed_plan(document)})
    assert check_questions(tmp_path).exit_code == 0
    found = check(tmp_path).all_findings
    assert found and {f.certificate for f in found} == {name}
    assert any("the kernel asks" in f.problem for f in found)


@pytest.mark.nightly
def test_certificates_of_a_plan_that_is_written_again_go(written: Any, tmp_path: Path) -> None:
    document, certificates, queries = written
    other = {name.replace("m/", "n/"): c for name, c in certificates.items()}
    save(tmp_path, certificates | other, queries, {"m/plan": document})
    fewer = sealed_plan({**document, "steps": []})
    save(tmp_path, {}, {}, {"m/plan": fewer})
    left = read((tmp_path / "manifest.json").read_text())
    assert sorted(left["certificates"]) == sorted(other) and list(left["plans"]) == ["m/plan"]
    assert not any((tmp_path / f"{name}.json").exists() for name in certificates)
    assert check(tmp_path).exit_code == 0


@pytest.mark.nightly
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda p: p["plan"].update(model="other.onnx"), "plan: its hash is not that of this part"),
        (lambda p: p["steps"].pop(), "steps: its hash is not that of this part"),
        (lambda p: p["after"]["text"].append(""), "after: its hash is not that of this part"),
        (lambda p: p.update(root="0" * 64), "root: this is not the hash of the hashes"),
        (lambda p: p["hashes"].pop("steps"), "hashes: there is not one for each of"),
        (lambda p: p["steps"][0].update(kind="believed"), r"steps\[0\].kind: it is none of"),
        (lambda p: p.pop("steps"), "the plan: the keys are not"),
    ],
)
def test_a_change_is_found_by_its_hash(written: Any, tmp_path: Path, change: Callable[..., Any], where: str) -> None:
    document, certificates, queries = written
    save(tmp_path, certificates, queries, {"m/plan": document})
    changed = copy.deepcopy(document)
    change(changed)
    (tmp_path / "m/plan.json").write_text(write(changed))
    done = check(tmp_path)
    found = [str(f) for f in check(tmp_path, only="nothing").findings + done.plans[0].findings]
    assert any(re.search(where.replace("the plan:", ""), f) for f in found), found
    assert done.exit_code == 1


@pytest.mark.nightly
def test_a_certificate_that_is_exchanged_is_found(written: Any, tmp_path: Path) -> None:
    document, certificates, queries = written
    save(tmp_path, certificates, queries, {"m/plan": document})
    one, two = [n for n in certificates if "conv" in n or "relu" in n]
    path = tmp_path / "manifest.json"
    manifest = read(path.read_text())
    listed = manifest["certificates"]
    listed[one], listed[two] = listed[two], listed[one]
    del manifest["root"]
    path.write_text(write(manifest | {"root": value_hash(manifest)}))
    a, b = tmp_path / f"{one}.json", tmp_path / f"{two}.json"
    a_text, b_text = a.read_text(), b.read_text()
    a.write_text(b_text)
    b.write_text(a_text)
    found = [f.problem for f in check(tmp_path).all_findings]
    assert found == [f"the certificate {x} has another root hash" for x in (one, two)], found


def step(plan: dict[str, Any], kind: str, k: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = [s for s in plan["steps"] if s["kind"] == kind][k]
    return found


def text(plan: dict[str, Any], which: str, old: str, new: str) -> None:
    """Change the text of a graph, its hash included."""
    joined = "\n".join(plan[which]["text"])
    assert old in joined
    plan[which] = {"text": joined.replace(old, new).split("\n"), "hash": text_hash(joined.replace(old, new))}


TILES = "lambda i0, i1, i2, i3: [i0, i1 // 4, i2, i3, i1 % 4]"
TURNED = "lambda i0, i1, i2, i3: [i0, i1 // 4, i3, i2, i1 % 4]"


def layout(index_map: str, *padded: Any) -> str:
    """A layout as a document has it."""
    found = parse_index_map(index_map)
    return write_layout(Padded(found, *padded) if padded else found)


FORGERIES: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "another operator before": (
        lambda p: text(p, "before", "R.nn.relu(y)", "R.tanh(y)"),
        "does not begin with what the node before means",
    ),
    "another program after": (
        lambda p: text(p, "after", "T.max(", "T.min("),
        "does not end with the program of the node",
    ),
    "another pad value": (
        lambda p: text(p, "after", f"{TILES}, pad_value=None", f"{TILES}, pad_value=1.0"),
        "does not end with the program of the node",
    ),
    "another map of a rewrite": (
        lambda p: text(p, "after", TILES, TURNED),
        "does not end with the program of the node",
    ),
    "results in another order": (
        lambda p: text(p, "after", "return (s, p_layout)", "return (p_layout, s)"),
        "its result",
    ),
    "another layout of a result": (
        lambda p: step(p, "moved")["values"][0].update(layout=layout(TURNED)),
        "gives y in the layout",
    ),
    "a value in the padding that is not there": (
        lambda p: step(p, "moved")["values"][0].update(layout=layout(TILES, 0.0)),
        "is not how a layout of y is written",
    ),
    "a rewrite without a proof": (
        lambda p: step(p, "rewrite").update(certificate=None, root=None),
        "it has no certificate",
    ),
    "a moved program that is said to be the same": (
        lambda p: step(p, "moved").update(kind="same", certificate=None, root=None),
        "it has other operands or results than the node before",
    ),
    "a moved program that is said to be external": (
        lambda p: step(p, "moved").update(kind="external", certificate=None, root=None),
        "its program is not a call of an external function",
    ),
    "a node of which another is said": (
        lambda p: step(p, "moved").update(node=["z"]),
        "is not a node before with these results",
    ),
    "a certificate that is not there": (
        lambda p: step(p, "moved").update(certificate="m/none"),
        "cannot be read",
    ),
    "a step left out": (lambda p: p["steps"].pop(0), "they are not the nodes of the graph after"),
    "a constant that is another": (
        lambda p: p["constants"]["after"]["w_packed"].update(layout=layout(TURNED)),
        "is not w in the layout",
    ),
    "a constant of which there is none": (
        lambda p: p["constants"]["after"]["w_packed"].update(of="v"),
        "there is no constant v before",
    ),
    "no text": (lambda p: text(p, "after", "return", "retur"), "its steps cannot be followed"),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_that_is_sealed_again_is_found(written: Any, name: str) -> None:
    document, certificates, _ = written
    forged = copy.deepcopy(document)
    change, said = FORGERIES[name]
    change(forged)
    found = steps_of(sealed_plan(forged), certificates)
    assert any(said in f for f in found), found


def test_the_elements_of_the_model_are_compared(written: Any) -> None:
    document, certificates, _ = written
    graph = model()
    (w,) = graph.constants
    other = Graph(graph.name, graph.inputs, {w: graph.constants[w] + 1}, graph.nodes, graph.outputs)
    found = steps_of(document, certificates, other)
    assert [f.partition(": ")[2] for f in found] == ["constants.before.w: the model has other elements [VT0808]"]
    fewer = Graph(graph.name, graph.inputs, graph.constants, graph.nodes, graph.outputs[:1])
    assert steps_of(document, certificates, fewer) == ["m/plan: before: this is not the graph of the model [VT0808]"]


@pytest.mark.nightly
def test_a_rewrite_of_the_model_that_went_is_followed() -> None:
    """Its result is there already: the value after is two values before, in two layouts."""
    g = GraphBuilder("model")
    x = g.input("x", (1, 8, 2, 2))
    y = g.op("nn.conv2d", x, g.constant(np.ones((8, 8, 1, 1), np.float32), "w"), name="y")
    tiles, turned = layout_named("NCHW4c", "NCHW"), layout_named("NHWC", "NCHW")
    graph = g.finish(g.op("layout_transform", y, index_map=tiles, name="z"))
    made = plan(graph, Annotations({"conv2d": "NCHW4c"}).frozen(graph))
    certificates, document = write_plan(made, "m")
    assert steps_of(document, certificates.certificates, graph) == []
    gone = step(document, "gone")
    assert gone["results"] == ["y_moved"] and gone["values"] == [{"of": "z", "layout": PLAIN}]
    forged = copy.deepcopy(document)
    text(forged, "before", str(tiles), str(turned))
    assert "the kernel refuses that layout_transform z is not needed" in str(
        steps_of(sealed_plan(forged), certificates.certificates)
    )
    forged = copy.deepcopy(document)
    step(forged, "gone")["results"] = ["x"]
    assert "x is not the operand y" in str(steps_of(sealed_plan(forged), certificates.certificates))


@pytest.mark.nightly
def test_padding_that_holds_a_value_is_proved_by_the_program(written: Any) -> None:
    g = GraphBuilder("model")
    x = g.input("x", (1, 6, 2, 2))
    y = g.op("nn.relu", x, name="y")
    graph = g.finish(g.op("tanh", y, name="z"))
    tiles = layout_named("NCHW4c", "NCHW")
    held = Padded(tiles, 0.0)
    made = plan(graph, {graph.nodes[0]: ([held], [held]), graph.nodes[1]: ([held], [tiles])})
    certificates, document = write_plan(made, "m")
    assert steps_of(document, certificates.certificates) == []
    first = step(document, "moved")
    assert first["values"][0]["layout"] == write_layout(held)
    for value in (1.0, -0.0):
        forged = copy.deepcopy(document)
        step(forged, "moved")["values"][0]["layout"] = write_layout(Padded(tiles, value))
        found = steps_of(sealed_plan(forged), certificates.certificates)
        assert any("its certificate gives y in the layout" in f for f in found), found


I0, I1 = '(Var 0 "i0" int32)', '(Var 1 "i1" int32)'
TURN = f"(IndexMap [{I0} {I1}] [%1 %0] [])"
TILED = (
    f'(IndexMap [{I0} {I1}] [(Binary "floordiv" %0 (IntImm int32 4)) %1 (Binary "floormod" %0 (IntImm int32 4))] [])'
)
STAY = f"(IndexMap [{I0} {I1}] [%0 %1] [])"
LAYOUTS: dict[str, Layout] = {
    "none": None,
    TURN: parse_index_map("lambda h, w: [w, h]"),
    f"(Padded {TILED} -0x0.0p+0 none)": Padded(parse_index_map("lambda a, b: [a // 4, b, a % 4]"), -0.0),
    f"(Padded {STAY} none [3 8])": Padded(parse_index_map("lambda i, j: [i, j]"), None, (3, 8)),
    f"(Padded {STAY} 2 [3 8])": Padded(parse_index_map("lambda i, j: [i, j]"), 2, (3, 8)),
    f"(Padded {STAY} nan [3 8])": Padded(parse_index_map("lambda i, j: [i, j]"), float("nan"), (3, 8)),
}


@pytest.mark.parametrize("text", LAYOUTS)
def test_layouts_are_data(text: str) -> None:
    assert write_layout(LAYOUTS[text]) == text == write_layout(read_layout(text))


def test_a_value_in_the_padding_serves_who_does_not_care() -> None:
    filled, open_ = f"(Padded {TILED} 0x0.0p+0 none)", TILED
    assert serves(filled, open_) and serves(filled, filled) and serves(PLAIN, PLAIN)
    assert not serves(open_, filled) and not serves(filled, PLAIN) and not serves(filled, TURN)
    assert not serves(filled, f"(Padded {TILED} -0x0.0p+0 none)")
    assert serves(f"(Padded {STAY} 2 [3 8])", f"(Padded {STAY} none [3 8])")
    assert not serves(f"(Padded {STAY} 2 [3 8])", f"(Padded {STAY} none [3 9])")


def test_the_folder_is_json_with_one_spelling(written: Any) -> None:
    document, _, _ = written
    assert read(write(document)) == document == json.loads(json.dumps(document))


ONE = '(Var 0 "i0" int32)'
ODD: dict[str, str] = {
    "Python": "lambda i0, i1, i2, i3: [i1, i0, i2, i3]",
    "nothing": "",
    "another word": "true",
    "a number": "1",
    "brackets": "(",
    "brackets that do not match": f"(IndexMap [{ONE}) [%0] [])",
    "another form": f"(Padding {ONE})",
    "another record": "(Var 0 \"i0\" int32)",
    "nothing for a map": "(Padded none none none)",
    "a number of 5,000 digits": f"(Padded (IndexMap [{ONE}] [%0] []) {'9' * 5000} none)",
    "extents of 5,000 digits": f"(Padded (IndexMap [{ONE}] [%0] []) none [{'9' * 5000}])",
    "an extent below 0": f"(Padded (IndexMap [{ONE}] [%0] []) none [-1])",
    "a literal of 300 digits": f"(IndexMap [{ONE}] [(IntImm int32 {'9' * 300})] [])",
    "5,000 forms, nested": f"(IndexMap [{ONE}] [{'(Not ' * 5000}%0{')' * 5000}] [])",
    "5,000 tuples, nested": "[" * 5000 + "]" * 5000,
    "a megabyte": f"(IndexMap [{ONE}] [{'%0 ' * 300_000}%0] [])",
    "a variable of nobody": f'(IndexMap [{ONE}] [(Var 1 "j" int32)] [])',
    "another name": '(IndexMap [(Var 0 "j" int32)] [%0] [])',
    "more spaces": f"(IndexMap  [{ONE}] [%0] [])",
    "division by zero": f'(IndexMap [{ONE}] [(Binary "floordiv" %0 (IntImm int32 0))] [])',
    "floats": f"(IndexMap [{ONE}] [(FloatImm float32 0x0.0p+0)] [])",
    "a call": f'(IndexMap [{ONE}] [(Call int32 "call_extern" [(StringImm "exit") %0])] [])',
    "separators": f"(IndexMap [{ONE}] [%0] [0])",
    "fewer dimensions": f"(IndexMap [{ONE}] [%0] [])",
    "a map that says nothing": STAY,
}  # fmt: skip


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ODD)
def test_odd_layouts_are_findings(written: Any, name: str) -> None:
    document, certificates, _ = written
    for place in ("step", "constant"):
        forged = copy.deepcopy(document)
        of = step(forged, "moved")["values"][0] if place == "step" else forged["constants"]["after"]["w_packed"]
        of["layout"] = ODD[name]
        assert steps_of(sealed_plan(forged), certificates)


def small_model() -> Graph:
    """A constant whose elements stand in the text, one that is packed, and one of twenty."""
    g = GraphBuilder("model")
    x = g.input("x", (1, 2, 3, 3))
    w = g.constant(np.arange(4, dtype=np.float32).reshape(2, 2, 1, 1), "w")
    y = g.op("nn.conv2d", x, w, name="y")
    b = g.constant(np.arange(2, dtype=np.float32).reshape(1, 2, 1, 1), "b")
    c = g.constant(np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3), "c")
    return g.finish(g.op("add", g.op("add", y, b, name="z"), c, name="s"))


RESPELLINGS: dict[str, tuple[str, str, str]] = {
    "a space": ("before", "R.const(", "R.const ("),
    "brackets": ("before", "    b = ", "    (b) = "),
    "a continuation": ("before", "    b = ", "    b = \\\n        "),
    "another number before": ("before", "R.const([[[[0.0]], [[1.0]]]]", "R.const([[[[0.0]], [[7.0]]]]"),
    "another number after": ("after", "R.const([[[[0.0]], [[1.0]]]]", "R.const([[[[0.0]], [[7.0]]]]"),
    "another number and a space": ("after", "R.const([[[[0.0]], [[1.0]]]]", "R.const ([[[[0.0]], [[7.0]]]]"),
    "minus zero": ("before", "R.const([[[[0.0]]", "R.const([[[[-0.0]]"),
    "a comment": ("before", "    b = ", "    # b\n    b = "),
    "a docstring": ("before", "    b = ", '    "b"\n    b = '),
    "more digits": ("after", "[[1.0]]]]", "[[1.00]]]]"),
    "more than sixteen": (
        "after", 'R.constant(R.Tensor((1, 2, 3, 3), "float32"))',
        f'R.const({np.full((1, 2, 3, 3), 5.0).tolist()}, "float32")',
    ),
}  # fmt: skip


@pytest.mark.sample(7)
@pytest.mark.parametrize("name", RESPELLINGS)
def test_elements_in_texts_are_compared_however_they_are_spelled(name: str) -> None:
    graph = small_model()
    made = plan(graph, {graph.nodes[0]: ([None, None], [None])})
    certificates, document = write_plan(made, "m")
    assert steps_of(document, certificates.certificates, graph) == []
    which, old, new = RESPELLINGS[name]
    text(document, which, old, new)
    assert steps_of(sealed_plan(document), certificates.certificates)
    assert steps_of(sealed_plan(document), certificates.certificates, graph)


def test_constants_that_are_no_numbers_and_are_few() -> None:
    g = GraphBuilder("model")
    x = g.input("x", (2,))
    c = g.constant(np.array([np.nan, np.inf], np.float32), "c")
    graph = g.finish(g.op("add", x, c, name="s"))
    certificates, document = write_plan(plan(graph, {graph.nodes[0]: ([None, None], [None])}), "m")
    assert steps_of(document, certificates.certificates, graph) == []


OPAQUE = """
@T.prim_func
def opaque(x: T.Buffer({shape}, "float32"), y: T.Buffer({shape}, "float32")):
    T.evaluate(T.call_packed("library.f", x.data, y.data))
"""


def with_external() -> tuple[Graph, Any]:
    """A node whose program is opaque, and another opaque one for other layouts."""
    shape = (1, 8, 3, 3)
    g = GraphBuilder("model")
    x = g.input("x", shape)
    y = g.call_tir(parse_func(OPAQUE.format(shape=shape)), [g.op("nn.relu", x, name="r")], [x.type], "f")
    graph = g.finish(g.op("nn.relu", y, name="z"))
    nhwc = layout_named("NHWC", "NCHW")
    other = parse_func(OPAQUE.format(shape=(1, 3, 3, 8)))
    return graph, plan(graph, external={graph.nodes[1]: External("f", [([nhwc], [nhwc])], [other])})


@pytest.mark.nightly
def test_an_external_function_is_believed_by_name_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, made = with_external()
    certificates, document = write_plan(made, "m")
    believed: list[Believed] = []
    assert follow(CheckedPlan("m/plan", document, ()), certificates.certificates, graph, believed) == []
    assert [b.name for b in believed] == ["library.f"] and "float32" in believed[0].what
    assert believed[0].what.endswith('as T.call_packed("library.f", x, y)')
    save(tmp_path, certificates.certificates, certificates.queries, {"m/plan": document})
    options = command.Options(tmp_path, jobs=1)
    assert command.run(options) == 4
    out = capsys.readouterr().out
    assert "m/plan: believed, not proved: library.f: it is called to compute" in out
    assert command.run(replace(options, believe=("library.g",))) == 4
    assert command.run(replace(options, believe=("library.f",))) == 0
    capsys.readouterr()
    assert command.run(replace(options, json=True)) == 4
    assert [b["name"] for b in json.loads(capsys.readouterr().out)["believed"]] == ["library.f"]


def test_an_external_step_is_no_way_around_a_proof(written: Any) -> None:
    """ReLU becomes another program, and a sentence that has its name."""
    document, certificates, _ = written
    forged = copy.deepcopy(document)
    k = next(k for k, s in enumerate(forged["steps"]) if s["node"] == ["z"])
    forged["steps"][k].update(kind="external", certificate=None, root=None)
    forged["assumptions"] = ["nn.relu z: what z is, is believed"]
    text(forged, "after", "T.max(", "T.min(")
    found = steps_of(sealed_plan(forged), certificates)
    assert any("its program is not a call of an external function" in f for f in found), found
