"""``vtir plan``: what is said, what is written, exit codes; mistakes in one line that names the node or the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from verified_tir.cli.check import Options as CheckOptions
from verified_tir.cli.check import run as check
from verified_tir.cli.plan import Options, run
from verified_tir.codegen.target import Target
from verified_tir.graph import Graph, GraphBuilder
from verified_tir.graph.annotate import blocked_layouts
from verified_tir.graph.execute import build
from verified_tir.graph.text import load_graph, save_graph

onnx = pytest.importorskip("onnx")
LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def small(channels: int = 8) -> Graph:
    """A convolution, a relu, a pooling, and a softmax, through which no layout flows."""
    g = GraphBuilder("small")
    rng = np.random.default_rng(0)
    x = g.input("x", (1, 4, 4, 4))
    w = g.constant(rng.integers(-2, 3, (channels, 4, 1, 1)).astype(np.float32), "w")
    y = g.op("nn.relu", g.op("nn.conv2d", x, w, name="y", source="first"), name="z")
    p = g.op("nn.max_pool2d", y, pool_size=(2, 2), strides=(2, 2), name="p")
    return g.finish(g.op("nn.softmax", p, name="r"))


def saved(graph: Graph, name: str = "m.graph") -> Path:
    save_graph(graph, Path(name))
    return Path(name)


def plan(capsys: pytest.CaptureFixture[str], model: Path | str, *layouts: str, **more: Any) -> tuple[int, str, str]:
    code = run(Options(Path(model), layouts, **more))
    return code, *capsys.readouterr()


@pytest.mark.nightly
def test_what_is_left_and_what_was_proved(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = plan(capsys, saved(small()), "conv2d=NCHW4c", verbose=True)
    assert (code, err) == (0, "")
    lines = [line.strip() for line in out.splitlines()]
    assert lines[0] == "m.graph: 4 nodes, of these frozen 1 conv2d (conv2d=NCHW4c)"
    assert "programs changed   of 3 nodes, 3 different ones" in lines
    assert any(line.startswith("proved") and "obligations of" in line for line in lines)
    assert "constants packed   1 (128 bytes)" in lines
    at = lines.index("rewrites left")
    assert lines[at + 1] == "x        1×4×4×4 to 1×1×4×4×4  512 bytes  x for nn.conv2d y"
    assert lines[at + 2] == "layout_transform lambda i0, i1, i2, i3: [i0, i1 // 4, i2, i3, i1 % 4]"
    assert lines[at + 3] == "p_moved  1×2×2×2×4 to 1×8×2×2  256 bytes  p for nn.softmax r"
    assert "packed: w as w_packed by lambda i0, i1, i2, i3: [i0 // 4, i1 // 4, i2, i3, i1 % 4, i0 % 4]" in lines
    assert lines[-1].startswith("2 rewrites left, 768 bytes moved (1,536 bytes around each frozen node alone); ")
    code, out, _ = plan(capsys, "m.graph", "conv2d=NCHW4c", quiet=True)
    assert len(out.splitlines()) == 2


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = plan(capsys, saved(small()), "conv2d=NCHW4c", json=True, output=Path("planned.graph"))
    found = json.loads(out)
    assert code == found["exit_code"] == 0
    assert found["frozen"] == {"nn.conv2d": 1} and found["nodes"] == 4 and found["changed_nodes"] == 3
    assert found["bytes_moved"] == {"around_each_frozen_node": 1536, "planned": 768}
    assert [r["for"] for r in found["rewrites"]] == ["x for nn.conv2d y", "p for nn.softmax r"]
    assert [(c["constant"], c["bytes"]) for c in found["constants_packed"]] == [("w", 128)]
    assert found["obligations"] > 0 and set(found["seconds"]) >= {"loading", "options"}
    assert found["written"] == {"planned graph": "planned.graph"}


@pytest.mark.nightly
def test_what_was_fused_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(plan(capsys, saved(small()), "conv2d=NCHW4c", json=True, fuse=True)[1])
    fused, left = found["rewrites_fused"], len(found["rewrites"])
    assert fused > 0 and fused + left == 2
    plain = json.loads(plan(capsys, "m.graph", "conv2d=NCHW4c", json=True)[1])
    assert plain["rewrites_fused"] == 0 and "programs_lifted_from" not in plain
    _, out, _ = plan(capsys, "m.graph", "conv2d=NCHW4c", fuse=True)
    assert f"rewrites fused     {fused}, each with the program beside it" in out


@pytest.mark.nightly
def test_operators_keep_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    where = Path("named.graph")
    code, _, _ = plan(capsys, saved(small()), "conv2d=NHWC", operators=True, output=where)
    assert code == 0 and "data_layout='NHWC'" in where.read_text()
    code, _, err = plan(capsys, "m.graph", "conv2d=NHWC", operators=True, certify=Path("proofs"))
    assert code == 2 and "--operators and --certify exclude each other" in err


@pytest.mark.nightly
def test_the_planned_graph_is_written_and_computes_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    graph = small()
    plan(capsys, saved(graph), "conv2d=NCHW4c", output=Path("planned.graph"))
    x = np.random.default_rng(1).standard_normal((1, 4, 4, 4)).astype(np.float32)
    np.testing.assert_array_equal(build(load_graph(Path("planned.graph")))(x), build(graph)(x))


@pytest.mark.nightly
def test_certificates_of_the_plan_are_checked_and_tampering_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    model = saved(small())
    code, out, _ = plan(capsys, model, "conv2d=NCHW4c", certify=Path("proofs"))
    assert code == 0 and "certificates written to proofs" in out
    assert check(CheckOptions(Path("proofs"), "both", jobs=1, before=str(model))) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("1 plan, 5 certificates, ")
    assert lines[-2].split() == ["m/plan", "6", "steps", "5", "certificates", "ok"]
    other = saved(small(4), "other.graph")
    assert check(CheckOptions(Path("proofs"), jobs=1, before=str(other))) == 1
    assert "found: before: this is not the graph of the model" in capsys.readouterr().out
    path = Path("proofs/m/plan.json")
    path.write_text(path.read_text().replace("R.nn.relu(y)", "R.tanh(y)"))
    assert check(CheckOptions(Path("proofs"), jobs=1, json=True)) == 1
    (found,) = json.loads(capsys.readouterr().out)["plans"]
    assert {f["place"] for f in found["findings"]} >= {"before", "before.hash"}
    path.unlink()
    assert check(CheckOptions(Path("proofs"), jobs=1)) == 1
    assert "the manifest lists it, but plan.json is not there" in capsys.readouterr().out


@pytest.mark.nightly
def test_shapes_that_a_model_leaves_open_are_those_of_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N", 4, 5, 5])
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["N", 4, 5, 5])
    w = onnx.numpy_helper.from_array(np.ones((4, 4, 1, 1), np.float32), "w")
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"])
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "g", [x], [y], [w])), "m.onnx")
    code, _, err = plan(capsys, "m.onnx", "conv2d=NCHW4c", shape=("N=2",), certify=Path("proofs"))
    assert (code, err) == (0, "")
    assert check(CheckOptions(Path("proofs"), jobs=1, before="m.onnx")) == 0
    capsys.readouterr()
    assert check(CheckOptions(Path("nowhere"), jobs=1, before="m.onnx")) == 2
    assert "nowhere/manifest.json: there is no such file" in capsys.readouterr().err


def test_the_diagram_is_svg_with_everything_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    plan(capsys, saved(small()), "conv2d=NCHW4c", diagram=Path("m.svg"))
    root = ElementTree.parse("m.svg").getroot()
    ns = "{http://www.w3.org/2000/svg}"
    boxes = [r.get("class", "") for g in root.iter(f"{ns}g") for r in g.findall(f"{ns}rect")]
    assert sorted(boxes) == sorted(["value"] * 4 + ["node"] * 4 + ["frozen"] * 2 + ["changed"] * 2 + ["rewrite"] * 2)
    words = ["".join(t.itertext()) for t in root.iter(f"{ns}text")]
    assert {"1×4×4×4", "1×2×4×4×4 NCHW4c", "conv2d", "layout_transform"} <= {*words}
    assert "after: 6 nodes, 2 rewrites left" in words


def test_a_refusal_has_exit_code_1(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A frozen node whose program the kernel does not move; here since the loops may not be moved at all."""
    from verified_tir.schedule.errors import NotApplicable
    from verified_tir.schedule.schedule import Schedule

    def refused(s: Schedule, *_: object, **__: object) -> None:
        raise NotApplicable("transform_layout", "it is not to be moved", s.func)

    model = saved(small())
    monkeypatch.setattr(Schedule, "transform_layout", refused)
    code, out, err = plan(capsys, model, "conv2d=NCHW4c")
    assert (code, out) == (1, "")
    assert err.startswith("vtir: refused: nn.conv2d y does not take its frozen layouts: ")


# -- mistakes ----------------------------------------------------------------------------------------------------------


def onnx_model(op: str = "Relu", shape: tuple[int | str, ...] = (1, 3)) -> Path:
    x = onnx.helper.make_tensor_value_info("data", onnx.TensorProto.FLOAT, list(shape))
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, list(shape))
    node = onnx.helper.make_node(op, ["data"], ["y"], name="layer7")
    made = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [x], [y]))
    onnx.save(made, "m.onnx")
    return Path("m.onnx")


@pytest.mark.parametrize(
    ("make", "layouts", "message"),
    [
        (
            lambda: onnx_model("NonZero"),
            ["conv2d=NHWC"],
            "node layer7 (NonZero): the operator NonZero is not known here",
        ),
        (onnx_model, ["conv2d=NHWC"], "--layout conv2d=NHWC: no node of m is a conv2d; it has relu"),
        (lambda: Path("none.onnx"), ["conv2d=NHWC"], "none.onnx: there is no such file"),
        (Path, ["conv2d=NHWC"], ".: this is a folder; give one file"),
        (lambda: write("m.onnx", "not a model"), ["conv2d=NHWC"], "m.onnx is not an ONNX model: "),
        (
            lambda: write("m.txt", "a text\n"),
            ["conv2d=NHWC"],
            "m.txt is not a model: neither an ONNX file (*.onnx) nor a",
        ),
        (lambda: write("m.graph", "@R.function\ndef f(x):\n"), ["conv2d=NHWC"], "m.graph:2:"),
        (
            lambda: write("m.graph", "@R.function\ndef f(x):\n    return x\n"),
            ["conv2d=NHWC"],
            "m.graph:2:7: the parameter x",
        ),
        (lambda: saved(small()), ["conv2d=NCHWx"], "--layout conv2d=NCHWx: 'NCHWx' is not a layout; write letters"),
        (lambda: saved(small()), ["conv2d=NCW"], "--layout conv2d=NCW: NCW is not an arrangement of NCHW with tiles"),
        (lambda: saved(small()), ["conv3d=NHWC"], "--layout conv3d=NHWC: layouts are asked for by "),
        (lambda: saved(small()), ["conv2d"], "--layout conv2d: write operator=layout, as in conv2d=NCHW16c"),
        (lambda: saved(small()), [], "say which operators shall have which layouts, as in --layout conv2d=NCHW16c"),
        (
            lambda: saved(small()),
            ["conv2d=NHWC", "conv2d=NCHW4c"],
            "--layout conv2d=NCHW4c: nn.conv2d y was given a layout before",
        ),
    ],
)
def test_mistakes(capsys: pytest.CaptureFixture[str], make: Any, layouts: list[str], message: str) -> None:
    code, out, err = plan(capsys, make(), *layouts)
    assert (code, out) == (2, "")
    assert err.startswith(f"vtir: error: {message}") and len(err.splitlines()) == 1, err


def test_automatic_layouts(capsys: pytest.CaptureFixture[str]) -> None:
    """Convolutions get blocks as wide as vectors here; a model without any stays as it is."""
    (wanted,) = blocked_layouts(Target.host(1)).items()
    model = saved(small(channels=32))
    reports = []
    for text in ("auto", "=".join(wanted)):
        code, out, err = plan(capsys, model, text, json=True)
        assert (code, err) == (0, "")
        reports.append({k: v for k, v in json.loads(out).items() if k not in ("seconds", "layouts")})
    assert reports[0] == reports[1] and "NCHW" in wanted[1]
    assert f"(auto: {'='.join(wanted)})" in plan(capsys, model, "auto")[1]
    assert plan(capsys, onnx_model(), "auto")[0] == 0
    code, _, err = plan(capsys, model, "auto", "conv2d=NHWC")
    assert code == 2 and "was given a layout before" in err


@pytest.mark.nightly
@pytest.mark.parametrize(("pad", "operations"), [("large", []), ("always", ["pad", "layout_transform"]), ("never", [])])
def test_four_channels_in_tiles_of_sixteen(capsys: pytest.CaptureFixture[str], pad: str, operations: list[str]) -> None:
    code, out, err = plan(capsys, saved(small(channels=16)), "conv2d=NCHW16c", pad=pad, json=True)
    assert (code, err) == (0, "")
    rewrites = json.loads(out)["rewrites"]
    assert [r["op"] for r in rewrites if r["for"] == "x for nn.conv2d y"] == operations


def write(name: str, text: str) -> Path:
    Path(name).write_text(text)
    return Path(name)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"shape": ("data=3xn",)}, "--shape data=3xn: write input=1x3x224x224, or the name of a dimension"),
        ({"shape": ("date=1x3",)}, "the model has no input or dimension date; it has data"),
        ({"shape": ("data=2x3",)}, "the input data has size 1 in dimension 0 by the model, and is given 2"),
        ({"flow": "sideways"}, "--flow sideways: there are backward and forward"),
        ({"pad": "some"}, "--pad some: choose from large, always, never"),
    ],
)
def test_options_that_are_none(capsys: pytest.CaptureFixture[str], more: dict[str, Any], message: str) -> None:
    x = onnx.helper.make_tensor_value_info("data", onnx.TensorProto.FLOAT, [1, 3, 4, 4][: 2 if "shape" in more else 4])
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None] * 4)
    node = onnx.helper.make_node("MaxPool", ["data"], ["y"], kernel_shape=[2, 2])
    made = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [x], [y]))
    onnx.save(made, "m.onnx")
    code, _, err = plan(capsys, "m.onnx", "max_pool2d=NHWC", **more)
    assert code == 2 and err.startswith(f"vtir: error: {message}"), err


@pytest.mark.nightly
def test_what_cannot_be_written_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    for where in ("output", "diagram", "certify"):
        Path("file").write_text("")
        code, _, err = plan(capsys, saved(small()), "conv2d=NCHW4c", **{where: Path("file/below")})
        assert code == 2 and err.startswith("vtir: error: file/below"), err


def test_rewrites_are_lifted_out_of_functions(capsys: pytest.CaptureFixture[str]) -> None:
    """A function that turns its operand round, behind a graph's own rewrite, which then goes."""
    write(
        "m.graph",
        """\
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


@R.function
def main(x: R.Tensor((8, 4), "float32")):
    a = R.layout_transform(x, index_map=lambda i, j: [j, i], pad_value=None)
    b = R.call_tir(scale, (a,), out_sinfo=R.Tensor((8, 4), "float32"))
    return b
""",
    )
    code, out, err = plan(capsys, "m.graph", hoist=True, json=True)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["nodes"] == 3 and found["rewrites"] == [] and found["programs_lifted_from"] == 1
    assert found["obligations"] > 20 and found["problems"] == []
    _, out, _ = plan(capsys, "m.graph", hoist=True)
    assert "rewrites lifted    out of 1 program\n" in out
    text = Path("m.graph").read_text()
    write("left.graph", text.replace("t[i, j] = x[j, i]", "t[i, j] = x[j, i] + 1.0"))
    _, out, _ = plan(capsys, "left.graph", hoist=True)
    assert "rewrites lifted    out of 1 program\n" in out and "t gets x[j, i]" in out.replace("\n", " "), out
    _, out, _ = plan(capsys, saved(small(), "other.graph"), hoist=True)
    assert out.startswith("other.graph: 4 nodes, of these frozen none\n")
    assert "rewrites lifted    out of 0 programs\n" in out


@pytest.mark.nightly
def test_a_real_model_has_no_rewrite_left_where_poolings_are_frozen(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = plan(capsys, LIGHT / "light_squeezenet.onnx", "max_pool2d=NHWC", quiet=True)
    assert code == 0
    assert out.splitlines()[-1].startswith("0 rewrites left, ")
