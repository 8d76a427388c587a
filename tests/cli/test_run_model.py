"""``vtir run`` on models: inputs, weights, results held against others; exit codes; mistakes in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.files import GOOD, invoke
from tests.cli.test_plan import saved, small
from verified_tir.cli.arrays import input_arrays
from verified_tir.cli.main import app
from verified_tir.cli.models import is_model, load_model
from verified_tir.cli.run_model import Options, run
from verified_tir.graph.execute import evaluate
from verified_tir.graph.ir import Graph

onnx = pytest.importorskip("onnx")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run_it(capsys: pytest.CaptureFixture[str], model: Path | str, **more: Any) -> tuple[int, str, str]:
    code = run(Options(Path(model), **more))
    return code, *capsys.readouterr()


def convolution(weight: float = 0.5) -> Path:
    """An ONNX model whose weights a node makes: data is 1×2×3×3, w 2×2×1×1."""
    from onnx import TensorProto, helper, numpy_helper

    shape = numpy_helper.from_array(np.array([2, 2, 1, 1], np.int64), "shape")
    value = numpy_helper.from_array(np.array([weight], np.float32))
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["w"], value=value),
        helper.make_node("Conv", ["data", "w"], ["y"], name="layer7"),
    ]
    x = helper.make_tensor_value_info("data", TensorProto.FLOAT, [1, 2, 3, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, 3, 3])
    graph = helper.make_graph(nodes, "g", [x], [y], initializer=[shape])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), "c.onnx")
    return Path("c.onnx")


def test_inputs_from_files_and_expected_results(capsys: pytest.CaptureFixture[str]) -> None:
    from onnx import numpy_helper

    x = np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3)
    y = np.repeat(x.sum(1, keepdims=True) / 2, 2, 1)
    np.save("x.npy", x)
    Path("x.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
    np.save("y.npy", y)
    np.save("wrong.npy", y + 1)
    for given in ("data=x.npy", "x.pb"):
        code, out, err = run_it(capsys, convolution(), inputs=(given,), expected=("y.npy",))
        assert (code, err) == (0, "")
    lines = [line.strip() for line in out.splitlines()]
    assert lines[:2] == ["c.onnx: 1 nodes", "data: float32[1, 2, 3, 3], x.pb"]
    assert lines[-1] == "y: as the expected file (at most 0 off, values up to 12.5)"
    code, out, _ = run_it(capsys, "c.onnx", inputs=("x.pb",), expected=("y=wrong.npy",))
    assert code == 1
    assert "y: DIFFERS from the expected file (at most 1 off, values up to 13.5)" in out
    assert run_it(capsys, "c.onnx", inputs=("x.pb",), expected=("wrong.npy",), atol=1.0)[0] == 0


def test_random_weights_are_the_same_for_everybody(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    code, out, _ = run_it(capsys, convolution(), weights="random", seed=3, compare=("onnxruntime", "interpreter"))
    assert code == 0
    assert "y: as onnxruntime (at most " in out and "y: the same bits as the interpreter" in out
    one, two, three = (load_model(Path("c.onnx"), (), seed)[0] for seed in (3, 3, 4))

    def weights(graph: Graph) -> Any:
        return next(iter(graph.constants.values()))

    assert weights(one).tobytes() == weights(two).tobytes() != weights(three).tobytes()
    assert weights(load_model(Path("c.onnx"))[0]).tolist() == np.full((2, 2, 1, 1), 0.5).tolist()


@pytest.mark.nightly
def test_a_planned_model_gives_the_same_bits(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_it(
        capsys, saved(small()), layouts=("conv2d=NCHW4c",), compare=("unplanned",), weights="random", json=True
    )
    found = json.loads(out)
    assert code == found["exit_code"] == 0
    assert [(c["with"], c["agrees"], c["bits"]) for c in found["compared"]] == [("the unplanned model", True, True)]
    assert found["nodes"] == 6 and found["layouts"] == ["conv2d=NCHW4c"]
    assert set(found["seconds"]) == {"loading", "planning", "building", "one run"}
    (result,) = found["results"]
    assert result["shape"] == [1, 8, 2, 2] and result["dtype"] == "float32"


def test_inputs_that_are_made() -> None:
    graph = small()
    (ramp,) = input_arrays(graph, ["x=ramp"])[0].values()
    assert ramp.reshape(-1)[:3].tolist() == [0.0, 1 / 64, 2 / 64]
    one, two = (input_arrays(graph, [], seed)[0]["x"] for seed in (1, 1))
    assert one.tobytes() == two.tobytes() != input_arrays(graph, [], 2)[0]["x"].tobytes()
    assert evaluate(graph, [ramp])[0].shape == (1, 8, 2, 2)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"inputs": ("z=x.npy",)}, "--input z=x.npy: the model has no input z; it has data"),
        ({"inputs": ("none.npy",)}, "none.npy: there is no such file"),
        ({"inputs": ("x.npy",)}, "x.npy holds float64[2]; the input data is float32[1, 2, 3, 3]"),
        ({"inputs": ("x.txt",)}, "x.txt: arrays are read from .npy and .pb files"),
        ({"inputs": ("broken.npy",)}, "broken.npy holds no array: "),
        ({"inputs": ("data=random", "ramp")}, "--input ramp: data is given twice"),
        ({"expected": ("x.npy", "x.npy")}, "--expected x.npy: the model has 1 results: y"),
        ({"weights": "good"}, "--weights good: there are given and random"),
        ({"compare": ("tvm",)}, "--compare tvm: there are onnxruntime, interpreter, unplanned"),
        ({"layouts": ("conv2d=NCHZ",)}, "--layout conv2d=NCHZ: NCHZ is not an arrangement of NCHW with tiles"),
        ({"model": Path("none.onnx")}, "none.onnx: there is no such file"),
    ],
)
def test_mistakes(capsys: pytest.CaptureFixture[str], more: dict[str, Any], message: str) -> None:
    np.save("x.npy", np.zeros(2))
    Path("x.txt").write_text("1")
    Path("broken.npy").write_text("1")
    code, out, err = run_it(capsys, **{"model": convolution(), **more})
    assert (code, out) == (2, "")
    assert err.startswith(f"vtir: error: {message}") and len(err.splitlines()) == 1, err


def test_results_of_another_type_differ(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("y.npy", np.zeros(3, np.float32))
    code, out, _ = run_it(capsys, convolution(), expected=("y.npy",))
    assert code == 1
    assert "DIFFERS from the expected file in y: float32[1, 2, 3, 3] here, float32[3] there" in out


def test_a_text_has_no_open_shapes_and_no_onnxruntime(capsys: pytest.CaptureFixture[str]) -> None:
    model = saved(small())
    assert is_model(model) and not is_model(Path("none.py"))
    code, _, err = run_it(capsys, model, shape=("x=1x4x4x4",))
    assert code == 2 and "--shape x: a graph as text takes the sizes that it leaves open; this one has none" in err
    code, _, err = run_it(capsys, model, compare=("onnxruntime",))
    assert code == 2 and "--compare onnxruntime: this is not an ONNX model" in err


def test_sizes_that_are_open(capsys: pytest.CaptureFixture[str]) -> None:
    """They are given, or those of arrays; a graph as text takes them as a model does."""
    Path("m.graph").write_text(
        """@R.function
def main(x: R.Tensor((batch, 4), "float32"), y: R.Tensor((batch, 1), "float32")):
    z = R.add(x, y)
    r = R.reshape(z, shape=(batch, 2, -1))
    return r
"""
    )
    code, _, err = run_it(capsys, "m.graph")
    assert code == 2 and 'the input x is R.Tensor((batch, 4), "float32"); give the size: --shape batch=4, or its' in err
    code, out, _ = run_it(capsys, "m.graph", shape=("batch=3",), compare=("interpreter",))
    assert code == 0 and "result r: float32[3, 2, 2]" in out and "r: the same bits as the interpreter" in out
    np.save("y.npy", np.zeros((5, 1), np.float32))
    code, out, _ = run_it(capsys, "m.graph", inputs=("y=y.npy",), compare=("interpreter",))
    assert code == 0 and "x: float32[5, 4], random (seed 0)" in out and "r: the same bits as the interpreter" in out
    np.save("x.npy", np.zeros((2, 4), np.float32))
    code, _, err = run_it(capsys, "m.graph", inputs=("y=y.npy", "x=x.npy"))
    assert code == 2
    assert 'y.npy holds float32[5, 1]; the input y is R.Tensor((batch, 1), "float32"), where batch = 2' in err
    for shape, message in (("batch=3x4", "--shape batch: a graph as text takes"), ("n=3", "leaves open; batch=4")):
        code, _, err = run_it(capsys, "m.graph", shape=(shape,))
        assert code == 2 and message in err


def test_options_of_models_are_refused_for_functions() -> None:
    from typer.testing import CliRunner

    Path("f.py").write_text("x = 1\n")
    done = CliRunner().invoke(app, ["run", "f.py", "--compare", "onnxruntime"])
    assert done.exit_code == 2
    done = CliRunner().invoke(app, ["run", str(saved(small())), "--seed", "2"])
    assert done.exit_code == 0 and "x: float32[1, 4, 4, 4], random (seed 2)" in done.output


def test_contraction_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    model = convolution()
    code, out, _ = run_it(capsys, model, weights="random", contract=True, compare=("interpreter", "unplanned"))
    assert code == 0
    assert "contracted (each a * b + c rounded once): nn.conv2d layer7" in out
    assert "y: the same bits as the interpreter" in out and "y: the same bits as the unplanned model" in out
    code, out, _ = run_it(capsys, model, json=True, contract=True)
    assert (code, json.loads(out)["contracted"]) == (0, ["nn.conv2d layer7"])
    code, out, _ = run_it(capsys, model)
    assert code == 0 and "contracted" not in out


def test_large_nests_run_on_several_threads_with_the_same_bits(capsys: pytest.CaptureFixture[str]) -> None:
    from onnx import TensorProto, helper, numpy_helper

    weight = numpy_helper.from_array(np.random.default_rng(1).standard_normal((512, 512)).astype(np.float32), "w")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [64, 512]) for name in "xy")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], initializer=[weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), "large.onnx")
    code, out, _ = run_it(capsys, "large.onnx", threads=2, compare=("unplanned",))
    assert code == 0
    assert "large.onnx: 1 nodes, up to 2 threads" in out and "y: the same bits as the unplanned model" in out
    code, out, _ = run_it(capsys, "large.onnx", threads=3, json=True)
    assert (code, json.loads(out)["threads"]) == (0, 3)


def test_the_number_of_threads_of_a_function() -> None:
    Path("f.py").write_text(GOOD)
    done = invoke("run", "f.py:good", "--threads", "2", "--check", "--json", cwd=Path())
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert report["threads"] == 2 and report["functions"][0]["checked"]
    for threads in ("0", "65537"):
        refused = invoke("run", "f.py:good", "--threads", threads, cwd=Path())
        assert refused.returncode == 2 and "--threads" in refused.stderr


def two_results() -> Path:
    """An ONNX model of x, of four numbers: a is |x|, b is -x."""
    from onnx import TensorProto, helper

    x, a, b = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xab")
    nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"])]
    made = helper.make_model(helper.make_graph(nodes, "g", [x], [a, b]), opset_imports=[helper.make_opsetid("", 13)])
    made.ir_version = 8
    onnx.save(made, "two.onnx")
    x4 = np.arange(4, dtype=np.float32)
    for name, array in {"x": x4, "b": -x4, "wrong": x4 + 9, "inf": [np.nan, 1, np.inf, 3]}.items():
        np.save(f"{name}.npy", np.asarray(array, np.float32))
    return Path("two.onnx")


def test_no_expected_file_is_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    model = two_results()
    code, out, _ = run_it(capsys, model, inputs=("x=x.npy",), expected=("b=b.npy", "wrong.npy"))
    assert code == 1
    assert "a: DIFFERS from the expected file" in out and "b: as the expected file" in out
    assert run_it(capsys, model, inputs=("x=x.npy",), expected=("b=b.npy", "x.npy"))[0] == 0
    for twice in (("b=wrong.npy", "b=b.npy"), ("x.npy", "b.npy", "b=b.npy")):
        code, out, err = run_it(capsys, model, inputs=("x=x.npy",), expected=twice)
        assert (code, out, err) == (2, "", "vtir: error: --expected b=b.npy: b is given twice [VT0011]\n")


def test_nan_and_infinity_on_one_side_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_it(capsys, two_results(), inputs=("x=x.npy",), expected=("a=inf.npy",))
    assert code == 1
    said = (
        "DIFFERS from the expected file in a: 2 of 4 elements are NaN or infinite on one side and not the same on the"
    )
    assert f"{said} other (the rest at most 0 off, values up to 3)" in out
    assert run_it(capsys, "two.onnx", inputs=("x=inf.npy",), expected=("a=inf.npy",))[0] == 0


def test_bfloat16_is_held_against_the_tolerance(capsys: pytest.CaptureFixture[str]) -> None:
    import ml_dtypes
    from onnx import TensorProto, helper, numpy_helper

    x, y = (helper.make_tensor_value_info(n, TensorProto.BFLOAT16, [4]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), "bf.onnx")
    values = np.array([1, 2, 3, 4], ml_dtypes.bfloat16)
    for name, array in {"x": values, "y": -values * ml_dtypes.bfloat16(1.01)}.items():
        Path(f"{name}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    for rtol, found in ((0.1, 0), (1e-4, 1)):
        code, out, _ = run_it(capsys, "bf.onnx", inputs=("x=x.pb",), expected=("y.pb",), rtol=rtol, atol=0.0)
        assert code == found
        assert ("y: as the expected file (at most 0.0" in out) == (code == 0)
