"""The target ``onnx``: what it compares, that planted faults show, findings as tests, and what is drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tests.fuzz.onnx_models.agreement import OnnxDisagreement, assert_onnx_agrees
from tests.fuzz.onnx_models.case import OnnxModel, OnnxNode, model_text
from tests.fuzz.onnx_models.differences import DIFFERENCES
from tests.fuzz.onnx_models.models import OPSETS, onnx_models, operators
from tests.fuzz.onnx_models.operators import DRAWINGS, NOT_DRAWN
from tests.fuzz.targets.onnx import OnnxModels
from tests.nightly import few
from verified_tir.fuzz.target import Disagreement, Observed
from verified_tir.graph.onnx.convert import CONVERSIONS
from verified_tir.graph.onnx.load import REFUSED

ROOT = Path(__file__).resolve().parents[2]
nan, inf = np.nan, np.inf
Arrays = dict[str, Any]


def f4(*values: Any) -> Any:
    return np.array(values, np.float32)


def one(op: str, *operands: Any, opset: int = 21, known: int = 0, dtype: str = "", **attributes: Any) -> OnnxModel:
    """A model of one node; the last ``known`` of its operands are constants."""
    names = [f"x{k}" for k in range(len(operands))]
    arrays = dict(zip(names, map(np.asarray, operands), strict=True))
    inputs = names[: len(names) - known]
    return OnnxModel(
        opset, (OnnxNode(op, tuple(names), ("y",), attributes),), {n: arrays[n] for n in inputs},
        {n: a for n, a in arrays.items() if n not in inputs}, {"y": dtype or str(arrays["x0"].dtype)},
    )  # fmt: skip


@settings(
    derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate],
    max_examples=few(2, 300),
)  # fmt: skip
@given(onnx_models(5, few(6, 15)))
def test_random_models_agree(model: OnnxModel) -> None:
    OnnxModels().check(model, Observed())


CHAIN = OnnxModel(
    17,
    (
        OnnxNode("Conv", ("x", "w"), ("c",), {"pads": [1, 1, 1, 1]}),
        OnnxNode("Relu", ("c",), ("r",)),
        OnnxNode("MaxPool", ("r",), ("p",), {"kernel_shape": [2, 2]}),
        OnnxNode("NonZero", ("r",), ("n",)),
        OnnxNode("Cast", ("n",), ("m",), {"to": 1}),
    ),
    {"x": np.arange(-24, 24, dtype=np.float32).reshape(1, 3, 4, 4)},
    {"w": np.arange(-40, 41, dtype=np.float32).reshape(3, 3, 3, 3)},
    {"c": "float32", "r": "float32", "p": "float32", "n": "int64", "m": "float32"},
    fuse=True,
)


@pytest.mark.nightly
def test_a_refused_node_is_left_out_with_those_behind_it() -> None:
    seen = Observed()
    OnnxModels().check(CHAIN, seen)
    assert seen.totals == {"programs": 1, "accepted": 3, "refused": 1, "moved": 3, "fused": seen.totals["fused"]}
    assert {name for _, name in seen.covered} == {"Conv", "Relu", "MaxPool"}


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("model", "title"),
    [
        (
            one("GlobalMaxPool", f4(nan, 1, nan).reshape(1, 1, 1, 3)),
            "`ReduceMax`, `ReduceMin`, `GlobalMaxPool` with NaN",
        ),
        (
            one("Softmax", np.ones((2, 3, 4), np.float32), opset=11),
            "`Softmax`, `LogSoftmax`, `Hardmax` before opset 13",
        ),
        (one("Clip", f4(inf, 1)), "`Clip` without bounds, of an infinity, or with a bound that is one"),
        (one("LRN", np.ones((1, 3, 1, 2), np.float32), size=3, alpha=3.0), "`LRN` with more channels than batches"),
        (one("Gemm", np.array([[2**40 + 1]]), np.array([[2**22 + 1]])), "`Gemm` of integers"),
        (one("Cast", f4(nan, 300), dtype="int8", to=3), "`Cast` of floats that the integers do not have"),
        (
            one("QuantizeLinear", f4(1, -1), np.float32(0), dtype="uint8"),
            "`QuantizeLinear` of NaN, or by a scale of 0",
        ),
        (
            one(
                "AveragePool",
                np.ones((1, 3, 2), np.float32),
                opset=8,
                kernel_shape=[1],
                strides=[2],
                auto_pad="SAME_UPPER",
            ),
            "`AveragePool`, `MaxPool`, the same shape, of windows that are smaller than strides",
        ),
        (one("HardSwish", np.array([0.5]), opset=16), "`HardSwish` of float64"),
        (one("Pad", f4(1, 2, 3), np.array([-1, 3]), known=1, mode="wrap"), "`Pad` that takes away, and wraps"),
        (one("Pow", np.array([2, 3]), f4(0.5, 50)), "`Pow` of integers by floats"),
        (one("ReduceL2", np.array([2**31 + 1, 7], np.uint64), keepdims=0), "`ReduceL2` of integers"),
        (one("ReduceLogSumExp", np.array([inf], np.float16)), "`ReduceLogSumExp` with infinities"),
        (
            one("ScatterElements", f4(1), np.array([0]), f4(nan), opset=18, reduction="min"),
            "`ScatterElements`, `ScatterND`, the least or greatest, with NaN",
        ),
        (one("Shrink", np.array([2**60 + 1]), lambd=0.5), "`Shrink` of integers"),
        (one("Where", np.array([True]), f4(-0.0), f4(1), dtype="float32"), "`Where` of -0.0"),
        (one("Pow", np.array([3]), np.array([45], np.uint64)), "`Pow` of signed integers by uint64"),
    ],
)
def test_known_differences_are_met(model: OnnxModel, title: str) -> None:
    assert assert_onnx_agrees(model).differences == {title: 1}


@pytest.mark.sample(1)
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("where", ["SAME_UPPER", "SAME_LOWER"])
def test_places_of_maxima_are_counted_by_hand(where: str, order: int) -> None:
    """Of windows with gaps that keep the shape: the other two have other windows, or count in each channel."""
    attributes = {"kernel_shape": [2, 2], "dilations": [2, 1], "auto_pad": where, "storage_order": order}
    x = np.random.default_rng(3).permutation(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).astype(np.float32)
    node = OnnxNode("MaxPool", ("x",), ("y", "z"), attributes)
    found = assert_onnx_agrees(OnnxModel(13, (node,), {"x": x}, {}, {"y": "float32", "z": "int64"}))
    assert found.differences["`MaxPool` with `auto_pad`, of windows with gaps or smaller than strides"] >= 1


def test_a_cell_that_is_infinite() -> None:
    """ONNX's reference multiplies it by peepholes that are not there; we do not."""
    x = np.zeros((1, 1, 1), np.float32)
    w, r, c = np.ones((1, 4, 1), np.float32), np.ones((1, 4, 1), np.float32), np.full((1, 1, 1), inf, np.float32)
    node = OnnxNode("LSTM", ("x", "w", "r", "", "", "", "c"), ("y",), {"hidden_size": 1})
    found = assert_onnx_agrees(OnnxModel(14, (node,), {"x": x}, {"w": w, "r": r, "c": c}, {"y": "float32"}))
    assert found.differences == {"`LSTM` that begins with a cell that is infinite": 1}


def wrong(monkeypatch: pytest.MonkeyPatch, op: str, other: str) -> None:
    monkeypatch.setitem(CONVERSIONS, op, lambda c: c.op(other, *c.values()))


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("op", "other", "model", "kind"),
    [
        ("Add", "subtract", one("Add", f4(1, 2), f4(3, 4)), "differs-from-both"),
        ("Ceil", "floor", one("Ceil", f4(1.5)), "differs-from-both"),
        ("Max", "add", one("Max", f4(-0.0), f4(-0.0)), ""),
        ("Neg", "identity", one("Neg", f4(0.0)), "differs-from-both"),  # the sign of a zero
        ("Tanh", "nn.softplus", one("Tanh", f4(0.5)), "differs-from-both"),
        ("GlobalMaxPool", "nn.global_avg_pool2d", one("GlobalMaxPool", f4(nan, 1).reshape(1, 1, 1, 2)), ""),
        (
            "GlobalMaxPool",
            "nn.global_avg_pool2d",
            one("GlobalMaxPool", f4(2, 1).reshape(1, 1, 1, 2)),
            "differs-from-both",
        ),
    ],
)
def test_a_planted_fault_shows(
    op: str, other: str, model: OnnxModel, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    OnnxModels().check(model, Observed())
    wrong(monkeypatch, op, other)
    if not kind:
        OnnxModels().check(model, Observed())  # it makes no difference here
        return
    with pytest.raises(Disagreement) as found:
        OnnxModels().check(model, Observed())
    assert (found.value.kind, found.value.where) == (kind, op)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("op", "other", "model"),
    [
        ("Cast", "bitwise_not", one("Cast", f4(nan, 300), dtype="int8", to=3)),
        ("HardSwish", "exp", one("HardSwish", np.array([0.5]), opset=16)),
        ("Where", "negative", one("Where", np.array([True]), f4(-0.0), f4(1), dtype="float32")),
        ("Pow", "negative", one("Pow", np.array([3]), np.array([45], np.uint64))),
    ],
)
def test_a_planted_fault_shows_where_the_others_differ(
    op: str, other: str, model: OnnxModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = CONVERSIONS[op]
    assert_onnx_agrees(model)
    monkeypatch.setitem(CONVERSIONS, op, lambda c: c.op(other, kept(c)))
    with pytest.raises(OnnxDisagreement):
        assert_onnx_agrees(model)


def test_an_undefined_element_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program's own cast of a float that the integer does not hold."""
    from verified_tir.graph.operators import elementwise
    from verified_tir.script import tir as T

    model = one("Cast", f4(1, 300), dtype="int8", to=3)
    assert_onnx_agrees(model)
    monkeypatch.setattr(elementwise, "converted", T.cast)
    with pytest.raises(OnnxDisagreement, match="undefined"):
        assert_onnx_agrees(model)


def test_what_is_accepted_and_not_legal_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check by ONNX's schemas is taken away."""
    from verified_tir.graph.onnx import load

    model = one("Mean", np.ones(2, np.int32))
    assert assert_onnx_agrees(model).refused == {"Mean": 1}
    monkeypatch.setattr(load, "inferred", lambda *_: {})
    with pytest.raises(OnnxDisagreement, match="accepted-illegal"):
        assert_onnx_agrees(model)


def test_a_crash_and_a_refusal_without_a_place_show(monkeypatch: pytest.MonkeyPatch) -> None:
    from verified_tir.graph import GraphError

    def fails(c: Any) -> Any:
        raise RuntimeError("a mistake")

    monkeypatch.setitem(CONVERSIONS, "Abs", fails)
    with pytest.raises(OnnxDisagreement, match=r"crash \(RuntimeError\)"):
        assert_onnx_agrees(one("Abs", f4(1)))

    def refuses(*_: Any) -> Any:
        raise GraphError("somewhere")

    monkeypatch.setattr("tests.fuzz.onnx_models.agreement.from_onnx", refuses)
    with pytest.raises(OnnxDisagreement, match="unnamed-refusal"):
        assert_onnx_agrees(one("Abs", f4(1)))


@pytest.mark.nightly
def test_other_bits_of_the_planned_model_show(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.fuzz.onnx_models import agreement

    kept = agreement.plan

    def other(graph: Any, *args: Any, **named: Any) -> Any:
        made = kept(graph, *args, **named)
        made.graph = type(graph)(
            graph.name, graph.inputs, {v: a + 1 for v, a in graph.constants.items()}, graph.nodes, graph.outputs
        )
        return made

    monkeypatch.setattr(agreement, "plan", other)
    with pytest.raises(OnnxDisagreement, match="planned-differs"):
        assert_onnx_agrees(CHAIN)


def test_a_finding_is_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the node to blame only, with the operands that it had."""
    wrong(monkeypatch, "Relu", "abs")
    text = OnnxModels().as_test(CHAIN, "test_found")
    assert text.count("OnnxNode(") == 1 and "'Relu'" in text
    scope: dict[str, Callable[[], None]] = {}
    exec(compile(text, "found.py", "exec"), scope)
    with pytest.raises(OnnxDisagreement, match=r"differs-from-both \(Relu\)"):
        scope["test_found"]()
    monkeypatch.undo()
    scope["test_found"]()


@settings(derandomize=True, database=None, deadline=None, max_examples=10, suppress_health_check=list(HealthCheck))
@given(onnx_models(1, 4))
def test_the_source_of_a_model_is_the_model(model: OnnxModel) -> None:
    scope: dict[str, Any] = {}
    exec(
        "from math import inf, nan\nfrom tests.fuzz.onnx_models.case import *\nfrom verified_tir.testing import *",
        scope,
    )
    again = eval(model_text(model), scope)
    assert again.proto() == model.proto()
    for name, array in model.used_inputs().items():
        assert again.inputs[name].tobytes() == array.tobytes()


def test_every_operator_that_is_read_is_drawn_or_named() -> None:
    drawn = {name for opset in OPSETS for name in operators(opset)}
    assert CONVERSIONS.keys() <= drawn | NOT_DRAWN.keys()
    assert DRAWINGS.keys() <= drawn | REFUSED.keys() | {"CumProd", "LpPool"}
    assert not drawn & NOT_DRAWN.keys()


def test_the_documentation_has_the_differences_that_are_known() -> None:
    page = (ROOT / "docs" / "onnx-differences.md").read_text(encoding="utf-8")
    rows = [f"| {d.title} | {d.reference} | {d.onnxruntime} | {d.here} |" for d in DIFFERENCES]
    table = page.partition("|---|---|---|---|\n")[2].partition("\n\n")[0]
    assert table.splitlines() == rows
