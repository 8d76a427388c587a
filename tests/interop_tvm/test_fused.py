"""Functions that FuseTIR makes of calls, compared with these."""

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402

from verified_tir.interop.tvm import Limits, ValidatingInstrument  # noqa: E402
from verified_tir.interop.tvm.fused import NotComposed, composed  # noqa: E402
from verified_tir.interop.tvm.judge import judge  # noqa: E402
from verified_tir.interop.tvm.reading import read  # noqa: E402


def model(build, *shapes: tuple[int, ...]):
    """A module of Relax with one function, legalised, its operators grouped."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"p{k}", relax.TensorType(shape, "float32")) for k, shape in enumerate(shapes)]
    with builder.function("main", params):
        with builder.dataflow():
            out = builder.emit_output(build(builder, *params))
        builder.emit_func_output(out)
    module = builder.get()
    steps = (relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern(), relax.transform.FuseOps())
    with tvm.target.Target("llvm"):
        for step in steps:
            module = step(module)
    return module


def dense(builder, x, w, b):
    product = builder.emit(relax.op.matmul(x, w))
    return builder.emit(relax.op.nn.relu(builder.emit(relax.op.add(product, b))))


def squares(builder, x, w, b):
    twice = builder.emit(relax.op.multiply(x, x))  # one tensor is passed twice
    return builder.emit(relax.op.add(builder.emit(relax.op.multiply(twice, relax.const(np.float32(3)))), x))


def functions(module) -> dict:
    return {v.name_hint: f for v, f in module.functions.items()}


def fused(module) -> tuple[str, dict, dict]:
    before, after = functions(module), functions(relax.transform.FuseTIR()(module))
    (name,) = [n for n in after if n.startswith("fused")]
    return name, before, after


@pytest.mark.parametrize("build", [dense, squares])
def test_what_is_fused_does_what_the_calls_do(build) -> None:
    module = model(build, (2, 4), (4, 3), (3,))
    instrument = ValidatingInstrument(on_different="collect")
    with tvm.transform.PassContext(instruments=[instrument]):
        relax.transform.FuseTIR()(module)
    reports = {r.step: r for r in instrument.reports if r.function.startswith("fused")}
    assert reports["FuseTIRInner"].status == "equal", [(r.step, r.status, r.text) for r in reports.values()]


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("T.float32(0.0))", "T.float32(1.0))"),
        ("matmul_intermediate[v_ax0, v_ax1] + p2[v_ax1]", "matmul_intermediate[v_ax0, v_ax1] - p2[v_ax1]"),
        ("matmul_intermediate[v_ax0, v_ax1] + p2[v_ax1]", "matmul_intermediate[v_ax0, v_ax1] + p2[2 - v_ax1]"),
        ("p0[v_i0, v_k] * p1[v_k, v_i1]", "p0[v_i0, v_k] * p1[3 - v_k, v_i1]"),
    ],
)
def test_another_function_is_different(old, new) -> None:
    name, before, after = fused(model(dense, (2, 4), (4, 3), (3,)))
    calls, text = composed(before[name], before, name), after[name].script()
    assert old in text
    wrong = tvm.script.from_source(text.replace(old, new))
    assert judge("FuseTIR", calls, read(wrong, name), Limits()).status == "different"


def test_what_does_something_else_is_not_put_together() -> None:
    module = functions(model(dense, (2, 4), (4, 3), (3,)))
    with pytest.raises(NotComposed, match=r"kind|not the result"):
        composed(module["main"], module, "main")
    (name,) = [n for n in module if n.startswith("fused")]
    with pytest.raises(NotComposed, match="kind"):
        composed(module[name], {}, name)
    with pytest.raises(NotComposed, match="PrimFunc"):
        composed(next(f for f in module.values() if type(f).__name__ == "PrimFunc"), module, "f")
