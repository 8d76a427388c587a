"""Whole models (``tests.graph.whole_models``) through the commands: run, planned, certified, checked.

Results are those of onnxruntime, and bit for bit those of the interpreter and of the model that was not planned.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verified_tir.cli.check import Options as CheckOptions
from verified_tir.cli.check import run as check
from verified_tir.cli.plan import Options as PlanOptions
from verified_tir.cli.plan import run as plan
from verified_tir.cli.run_model import Options, run
from verified_tir.graph.execute import build
from verified_tir.graph.onnx import from_onnx

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from tests.graph.whole_models.models import NAMES, QUANTISED, layout, made  # noqa: E402
from tests.graph.whole_models.networks import network  # noqa: E402
from tests.graph.whole_models.operands import operands  # noqa: E402
from tests.graph.whole_models.steps import by_onnxruntime, cut  # noqa: E402
from tests.graph.whole_models.transformer import SMALL, gpt, llama  # noqa: E402


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(name: str, large: bool = False) -> tuple[Any, tuple[str, ...]]:
    """The model as ``m.onnx``, and what ``--input`` is to say."""
    model = made(name, large)
    onnx.save(model, "m.onnx")
    given = operands(model)
    for operand, array in given.items():
        np.save(f"{operand}.npy", array)
    return model, tuple(f"{operand}={operand}.npy" for operand in given)


def some(*stay: str) -> list[Any]:
    """All models, of which these stay in ``make test``."""
    return [pytest.param(name, marks=() if name in stay else pytest.mark.nightly) for name in NAMES]


@pytest.mark.nightly
@pytest.mark.parametrize("name", some("encoder_integers", "stem_open"))
def test_results_are_those_of_onnxruntime_and_of_the_interpreter(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, given = written(name)
    compared = ("onnxruntime", "interpreter")
    assert run(Options(Path("m.onnx"), inputs=given, compare=compared)) == 0, capsys.readouterr()


@pytest.mark.nightly
@pytest.mark.parametrize("name", some("stem_open"))
def test_plans_are_certified_and_checked(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, given = written(name)
    asked = (layout(name),)
    assert plan(PlanOptions(Path("m.onnx"), asked, certify=Path("proofs"))) == 0, capsys.readouterr()
    assert check(CheckOptions(Path("proofs"), jobs=1, before="m.onnx")) == 0, capsys.readouterr()
    assert run(Options(Path("m.onnx"), inputs=given, layouts=asked, compare=("unplanned",))) == 0, capsys.readouterr()


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_large_models(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, given = written(name, large=True)
    asked = (layout(name, large=True),)
    assert plan(PlanOptions(Path("m.onnx"), asked, certify=Path("proofs"))) == 0, capsys.readouterr()
    assert check(CheckOptions(Path("proofs"), jobs=1, before="m.onnx")) == 0, capsys.readouterr()
    others = ("unplanned",) if name in QUANTISED else ("onnxruntime", "unplanned")  # these by the next test
    planned = Options(Path("m.onnx"), inputs=given, layouts=asked, compare=others)
    assert run(planned) == 0, capsys.readouterr()


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "large"),
    [("network_integers", False), *(pytest.param(n, True, marks=pytest.mark.nightly) for n in QUANTISED)],
)
def test_each_step_of_a_quantised_model_is_that_of_onnxruntime(name: str, large: bool) -> None:
    """Integers are the same, and floats up to the order of sums, where both take the same operands."""
    model = made(name, large)
    given = operands(model)
    known = by_onnxruntime(model, given)
    apart = cut(model, known)
    found = build(from_onnx(apart), schedules=False).run([(given | known)[i.name] for i in apart.graph.input])
    for (step, wanted), ours in zip(known.items(), found, strict=True):
        assert (ours.dtype, ours.shape) == (wanted.dtype, wanted.shape), step
        if wanted.dtype.kind == "f":
            finite = wanted[np.isfinite(wanted)]
            near = 32 * np.finfo(wanted.dtype).eps * np.abs(finite).max(initial=0)
            np.testing.assert_allclose(ours, wanted, rtol=0, atol=near, err_msg=step)
        else:
            np.testing.assert_array_equal(ours, wanted, err_msg=step)


def test_the_quantiser_writes_what_it_is_asked_for() -> None:
    """Else the models would say nothing of these operators."""
    wanted = {
        "pairs": {"QuantizeLinear", "DequantizeLinear", "Conv"},
        "integers": {"QLinearConv"},
        "dynamic": {"DynamicQuantizeLinear", "ConvInteger"},
    }
    for name, (source, kind) in QUANTISED.items():
        if source == "network":
            assert wanted[kind] <= {n.op_type for n in made(name).graph.node}
    assert {"QLinearMatMul"} <= {n.op_type for n in made("encoder_integers").graph.node}
    assert {"MatMulInteger"} <= {n.op_type for n in made("encoder_dynamic").graph.node}


@pytest.mark.nightly
@pytest.mark.parametrize("model", [gpt(SMALL), llama(SMALL)], ids=["gpt", "llama"])
def test_greedy_decoding_in_a_fixed_window(model: Any) -> None:
    """The tokens are those that onnxruntime finds; what stands behind a place changes nothing at it."""
    f = build(from_onnx(model))
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, ["CPUExecutionProvider"])

    def decoded(logits: Any, behind: int) -> tuple[list[int], list[np.ndarray]]:
        tokens, rows = [3, 1, 4], []
        while len(tokens) < SMALL.length:
            window = np.full((1, SMALL.length), behind, np.int64)
            window[0, : len(tokens)] = tokens
            rows.append(logits(window)[0, len(tokens) - 1])
            tokens.append(int(rows[-1].argmax()))
        return tokens, rows

    tokens, rows = decoded(f, 0)
    others, same = decoded(f, 7)
    assert tokens == others
    for a, b in zip(rows, same, strict=True):
        np.testing.assert_array_equal(a, b)
    theirs, near = decoded(lambda window: session.run(None, {"tokens": window})[0], 0)
    assert tokens == theirs and len(set(tokens[3:])) > 1
    for a, b in zip(rows, near, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.nightly
def test_a_network_with_an_open_batch() -> None:
    """Read once, it runs with any number of images, and gives each the bits that it gets alone."""
    model = network("batch", channels=4, size=8, stages=1)
    any_number, one = build(from_onnx(model)), build(from_onnx(model, {"batch": 1}))
    for batch in (1, 3, 2):
        x = np.random.default_rng(batch).standard_normal((batch, 3, 8, 8)).astype(np.float32)
        np.testing.assert_array_equal(any_number(x), np.concatenate([one(x[k : k + 1]) for k in range(batch)]))


def test_the_models_are_written_by_a_command(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    from tests.graph.whole_models.__main__ import main

    monkeypatch.setattr(sys, "argv", ["whole_models", "out", "--model", "llama"])
    main()
    assert capsys.readouterr().out == "llama.onnx: 21 nodes, to plan it: --layout matmul=KM8k\n"
    assert sorted(p.name for p in Path("out").iterdir()) == ["llama.onnx", "llama.tokens.npy"]
