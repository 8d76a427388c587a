"""``onnx``: random ONNX models, run unplanned, planned and fused, and by onnxruntime and ONNX's reference evaluator.

What is drawn is in ``onnx_models.models``, what must agree in ``onnx_models.agreement``, and the known differences
between the other two in ``onnx_models.differences``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, final

from tests.fuzz.onnx_models.agreement import OnnxDisagreement, assert_onnx_agrees
from tests.fuzz.onnx_models.case import OnnxModel, model_text
from tests.fuzz.onnx_models.differences import DIFFERENCES
from tests.fuzz.onnx_models.models import OPSETS, onnx_models, operators
from verified_tir.fuzz.target import Observed

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@final
class OnnxModels:
    """The target."""

    name = "onnx"
    summary = "ONNX models: unplanned, planned and fused, against onnxruntime and ONNX's reference evaluator"
    requires: Sequence[str] = ("hypothesis", "onnx", "onnxruntime")

    def universe(self) -> Sequence[tuple[str, str]]:
        """The operators that are drawn, and the differences that are known."""
        names = sorted({name for opset in OPSETS for name in operators(opset)})
        return [("operator", n) for n in names] + [("difference", d.title) for d in DIFFERENCES]

    def cases(self) -> SearchStrategy[OnnxModel]:
        """Models of five to fifteen nodes."""
        return onnx_models()

    def check(self, case: OnnxModel, observed: Observed) -> None:
        """All opinions agree, or it is known why not."""
        observed.count("programs")
        report = assert_onnx_agrees(case)
        observed.count("accepted", report.accepted.total())
        observed.count("refused", report.refused.total())
        observed.count("moved", report.moved)
        observed.count("fused", report.fused)
        for op in report.accepted:
            observed.cover("operator", op)
        for title in report.differences:
            if any(title == d.title for d in DIFFERENCES):
                observed.cover("difference", title)

    def as_test(self, case: OnnxModel, name: str) -> str:
        """The model, or the single node to blame, with its operands."""
        try:
            assert_onnx_agrees(case)
        except OnnxDisagreement as found:
            case = found.model
        except Exception:  # the whole case is the finding then
            pass
        body = model_text(case).replace("\n", "\n    ")
        return (
            '"""Found by a campaign: an ONNX model, by four opinions."""\n\n'
            "from math import inf, nan  # noqa: F401\n\n"
            "from tests.fuzz.onnx_models.agreement import assert_onnx_agrees\n"
            "from tests.fuzz.onnx_models.case import OnnxModel, OnnxNode, small_of  # noqa: F401\n"
            "from verified_tir.testing import array_of  # noqa: F401\n\n\n"
            f"def {name}() -> None:\n    assert_onnx_agrees({body})\n"
        )


TARGET: Final = OnnxModels()
