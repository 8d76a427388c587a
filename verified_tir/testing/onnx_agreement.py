"""ONNX models run here, by onnxruntime, and by ONNX's reference evaluator: three opinions about each node.

Each node is judged on the operands that it has in our run, so that errors neither grow from node to node nor hide
behind each other.  Integers, bools, elements that are moved, and arithmetic that is rounded once are compared bit for
bit, NaN being one value.  Functions such as exp may be off by some units in the last place; sums, and what is made of
them, by what the result changes when the operands change in their last place.  NaN, infinities and signs of zero must
be the same.

Sums of numbers of extreme size are not judged where the opinions differ: whether something on the way is too
large or too small for its type depends on the order.

Where onnxruntime and the reference disagree, the specification decides: ``onnx_differences`` lists who is right.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, final

import ml_dtypes
import numpy as np
import numpy.typing as npt

from verified_tir.graph import GraphError
from verified_tir.graph.annotate import Annotations
from verified_tir.graph.element_types import SMALL
from verified_tir.graph.execute import build
from verified_tir.graph.ir import Array
from verified_tir.graph.onnx import from_onnx
from verified_tir.graph.plan import plan
from verified_tir.testing.onnx_case import OnnxModel, model_text, numpy_type, single
from verified_tir.testing.onnx_differences import Opinion, difference

Mask: TypeAlias = npt.NDArray[np.bool_]

FUNCTIONS: Final = frozenset({
    "Exp", "Log", "Sqrt", "Erf", "Tanh", "Sigmoid", "Softplus", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh",
    "Cosh", "Asinh", "Acosh", "Atanh", "Pow", "Elu", "Celu", "Selu", "Gelu", "Mish", "HardSigmoid", "HardSwish",
    "Softsign", "Reciprocal", "Swish", "LeakyRelu", "PRelu", "Div", "ThresholdedRelu", "Shrink", "Mean", "Clip",
    "DequantizeLinear", "HannWindow", "HammingWindow", "BlackmanWindow",
})  # fmt: skip
"""Operators on elements whose results are rounded more than once, or not correctly."""

SUMS: Final = frozenset({
    "MatMul", "Gemm", "Einsum", "Conv", "ConvTranspose", "AveragePool", "GlobalAveragePool", "ReduceSum",
    "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare",
    "CumSum", "CumProd", "Softmax", "LogSoftmax", "LayerNormalization", "RMSNormalization", "BatchNormalization",
    "InstanceNormalization", "GroupNormalization", "MeanVarianceNormalization", "LRN", "RNN", "GRU", "LSTM", "Resize",
    "Upsample", "Attention", "RotaryEmbedding", "LinearAttention", "CausalConvWithState", "LpPool", "Sum",
    "ScatterElements", "ScatterND", "AffineGrid", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "SwiGLU",
})  # fmt: skip
"""Operators whose results are sums, or products, or are made of some: they may be taken in another order."""

NOT_CHECKED: Final = frozenset({"MeanVarianceNormalization"})
"""Operators that strict shape inference refuses: the definition, in which an attribute is left out, is not legal."""

IMAGES: Final = ("conv2d", "max_pool2d", "avg_pool2d", "conv2d_transpose", "global_avg_pool2d")
"""Operators that get a model's layout."""

ULPS: Final = 16
"""Units in the last place that functions may be off by; those of 16 bits by 2."""


class OnnxDisagreement(AssertionError):
    """A model for which the opinions differ.

    :param kind: what differs; ``where``: the operator; ``model``: the smallest model known, often a single node.
    """

    def __init__(self, kind: str, where: str, message: str, model: OnnxModel) -> None:
        super().__init__(f"{kind} ({where}): {message}\n{model_text(model)}")
        self.kind, self.where, self.message, self.model = kind, where, message, model


@final
@dataclass
class OnnxReport:
    """What was compared.

    :ivar accepted: operators of nodes that were run; ``refused``: of those that were refused.
    :ivar differences: the known differences that were met, by their titles.
    """

    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    differences: Counter[str] = field(default_factory=Counter)
    moved: int = 0
    """Programs that were moved to another layout."""
    fused: int = 0
    unplanned: str = ""
    """Why there is no plan."""


def assert_onnx_agrees(model: OnnxModel) -> OnnxReport:
    """Run a model unplanned, planned and fused, and each of its nodes three times.

    Nodes that are refused, with their names, are left out, and those that need their results.

    :raises OnnxDisagreement: if two opinions differ, and it is not known why; if a refusal names no node; if something
        is accepted that is not legal.
    """
    report = OnnxReport()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        while model.nodes:
            graph = _read(model, report)
            if isinstance(graph, OnnxModel):
                model = graph
                continue
            try:
                values = _run(model, graph)
            except GraphError as refused:  # a node that cannot be compiled
                model = _less(model, str(refused), report)
                continue
            known = {**model.inputs, **model.constants, **values}
            for node in model.nodes:
                report.accepted[node.op] += 1
                _judge(single(node, model, known), [known.get(n) for n in node.results], report)
            _legal(model, values)
            _planned(model, values, report)
            break
    return report


# -- ours --------------------------------------------------------------------------------------------------------------


def _read(model: OnnxModel, report: OnnxReport) -> Any:
    """The graph, or a model without a node that is refused."""
    try:
        return from_onnx(model.proto())
    except GraphError as refused:
        return _less(model, str(refused), report)
    except Exception as problem:
        raise OnnxDisagreement("crash", type(problem).__name__, repr(problem), model) from problem


def _less(model: OnnxModel, refused: str, report: OnnxReport) -> OnnxModel:
    named = re.match(r"node n(\d+)[ /]", refused) or re.search(r"\(n(\d+)[/)]", refused)
    if named is None or int(named[1]) >= len(model.nodes):
        raise OnnxDisagreement("unnamed-refusal", model.nodes[-1].op, refused, model)
    k = int(named[1])
    report.refused[model.nodes[k].op] += 1
    return model.without(k)


def _run(model: OnnxModel, graph: Any) -> dict[str, Array]:
    """The results of all nodes."""
    try:
        results = build(graph).run([model.inputs[v.name] for v in graph.inputs])
    except GraphError:
        raise
    except Exception as problem:
        raise OnnxDisagreement("crash", type(problem).__name__, repr(problem), model) from problem
    return dict(zip(model.results(), results, strict=True))


def _planned(model: OnnxModel, values: Mapping[str, Array], report: OnnxReport) -> None:
    """The model with fewer outputs, with layouts, and without schedules: the same bits."""
    outputs = model.unused()
    graph = from_onnx(model.proto(outputs))
    frozen = dict.fromkeys(IMAGES, model.layout)
    if "c" in model.layout:  # products are tiled, too
        frozen |= dict.fromkeys(("matmul", "dense"), "MK" + model.layout.removeprefix("NCHW").replace("c", "k"))
    try:
        made = plan(graph, Annotations(frozen, pad=model.pad).frozen(graph), fuse=model.fuse)  # type: ignore[arg-type]
        executable = build(made.graph)
    except GraphError as refused:
        report.unplanned = str(refused)
        made, executable = None, build(graph, schedules=False)
    except Exception as problem:
        raise OnnxDisagreement("plan-crash", type(problem).__name__, repr(problem), model) from problem
    if made is not None:
        report.moved, report.fused = len(made.relaid), len(made.fused)
    got = executable.run([model.inputs[v.name] for v in graph.inputs])
    for name, a in zip(outputs, got, strict=True):
        if not _same_bits(a, values[name]).all():
            op = next(n.op for n in model.nodes if name in n.results)
            told = f"{name}: {_shown(a, a, values[name])} instead of {_shown(values[name], a, values[name])}"
            raise OnnxDisagreement("planned-differs", op, told, model)


def _legal(model: OnnxModel, values: Mapping[str, Array]) -> None:
    """What was accepted is legal by ONNX's checker and strict shape inference."""
    import onnx

    try:
        onnx.checker.check_model(model.proto(values=values), full_check=True)
    except Exception as problem:
        named = re.search(r"node name: n(\d+)\)", str(problem))
        op = model.nodes[int(named[1]) if named else -1].op
        if op not in NOT_CHECKED:
            raise OnnxDisagreement("accepted-illegal", op, str(problem)[:500], model) from None


# -- theirs ------------------------------------------------------------------------------------------------------------


def _reference(model: OnnxModel) -> list[Array] | Exception:
    from onnx.reference import ReferenceEvaluator

    try:
        results = ReferenceEvaluator(model.proto()).run(None, dict(model.used_inputs()))
        if len(results) != len(model.results()):
            return NotImplementedError("it gives fewer results")
        return [np.asarray(r) for r in results]
    except Exception as problem:  # of any kind
        return problem


def _onnxruntime(model: OnnxModel) -> list[Array] | Exception:
    """What onnxruntime computes, without its own changes of the graph."""
    onnxruntime: Any = importlib.import_module("onnxruntime")
    if _kills(model):
        return NotImplementedError("it would end the process")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.proto().SerializeToString(), options)
        if any(str(a.dtype) in SMALL or str(a.dtype) == "bfloat16" for a in model.used_inputs().values()):
            return NotImplementedError("its Python interface does not take such arrays")
        results = [np.asarray(r) for r in session.run(None, dict(model.used_inputs()))]
        types = [model.types[n] for n in model.results()]
        return [r.view(numpy_type(t)) if t in SMALL else r for r, t in zip(results, types, strict=True)]
    except Exception as problem:
        return problem


def _kills(model: OnnxModel) -> bool:
    """Whether onnxruntime divides integers by zero, or the least one by −1, which ends the process."""
    (node,) = model.nodes
    if node.op not in ("Div", "Mod") or len(node.operands) != 2:
        return False
    a, b = (model.inputs.get(n, model.constants.get(n)) for n in node.operands)
    return a is not None and b is not None and b.dtype.kind in "iu" and bool((b == 0).any() or (b == -1).any())


# -- comparison --------------------------------------------------------------------------------------------------------


def _judge(model: OnnxModel, ours: Sequence[Array | None], report: OnnxReport) -> None:
    """Compare the results of one node."""
    (node,) = model.nodes
    reference, runtime = _reference(model), _onnxruntime(model)
    if isinstance(reference, Exception) and isinstance(runtime, Exception):
        opinion = Opinion(model, node, None, reference, runtime)
        known = difference(opinion)
        if known is None and not _not_implemented(runtime) and not _not_implemented(reference):
            raise OnnxDisagreement("accepted-illegal", node.op, f"{reference}; {runtime}"[:600], model)
        report.differences[known.title if known is not None else f"{node.op}: nobody else runs it"] += 1
        return
    for k, (name, a) in enumerate((n, a) for n, a in zip(node.results, ours, strict=True) if n and a is not None):
        theirs = [None if isinstance(r, Exception) else r[k] for r in (reference, runtime)]
        masks = [np.array(True) if t is None else _agrees(model, k, a, t) for t in theirs]
        agree = [bool(m.all()) for m in masks]
        if all(agree):
            continue
        if node.op in SUMS and _extreme(model):  # what is too large on the way depends on the order
            report.differences["sums of extreme numbers"] += 1
            continue
        opinion = Opinion(model, node, a, *(r if isinstance(r, Exception) else r[k] for r in (reference, runtime)))
        known = difference(opinion)
        if known is not None and known.holds(opinion, masks[0], masks[1]):
            report.differences[known.title] += 1
            continue
        who = {(False, False): "both", (False, True): "reference", (True, False): "onnxruntime"}[agree[0], agree[1]]
        raise OnnxDisagreement(
            f"differs-from-{who}", node.op,
            f"{name}: ours {_shown(a, a, *theirs)}, reference {_told(reference, k, a, *theirs)}, "
            f"onnxruntime {_told(runtime, k, a, *theirs)}", model,
        )  # fmt: skip


def _not_implemented(problem: Any) -> bool:
    text = f"{type(problem).__name__}: {problem}"
    return bool(re.search("NOT_IMPLEMENTED|NotImplemented|not implemented|Could not find an implementation|"
                          "does not take such|No implementation|is under development|not supported", text))  # fmt: skip


def _agrees(model: OnnxModel, k: int, ours: Array, theirs: Array) -> Mask:
    """Where two opinions of a node's k-th result are the same, up to rounding where that is allowed."""
    (node,) = model.nodes
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return np.array(False)
    same = _same_bits(ours, theirs)
    if same.all() or not _floating(ours) or node.op not in FUNCTIONS | SUMS:
        return same
    bound = _last_place(ours) * (ULPS if ours.dtype.itemsize > 2 else 2) + _absolute(model, ours)
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    close = _near(a, b, bound)
    if node.op in SUMS and not (same | close).all():
        close |= _near(a, b, bound + _sensitivity(model, k, ours))
    return same | close


def _floating(a: Array) -> bool:
    return a.dtype.kind == "f" or str(a.dtype) == "bfloat16"


def _near(a: Any, b: Any, bound: Any) -> Mask:
    """Numbers that differ by no more than a bound; zeros of both signs are near, infinities and NaN are not."""
    found: Mask = np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= bound)
    return found


def _same_bits(a: Array, b: Array) -> Mask:
    """Where two arrays of one type have the same bits; NaN is one value."""
    if a.dtype.kind in "iub":
        found: Mask = np.asarray(a == b)
        return found
    x, y = a.astype(np.float64), b.astype(np.float64)
    found = (np.isnan(x) & np.isnan(y)) | ((x == y) & (np.signbit(x) == np.signbit(y)))
    return found


def _last_place(a: Array) -> Any:
    """The unit in the last place of each element, in float64."""
    info: Any = ml_dtypes.finfo(a.dtype)  # type: ignore[no-untyped-call]
    return np.maximum(np.abs(a.astype(np.float64)) * float(info.eps), 64 * float(info.smallest_subnormal))


def _sensitivity(model: OnnxModel, place: int, ours: Array) -> Any:
    """By how much a result changes when operands change in their last places: in float64, where that is possible."""
    eps, rng = _epsilon(ours), np.random.default_rng(0)
    (node,) = model.nodes
    sizes = {*node.operands[1:]} if node.op in ("Resize", "Upsample") else set()  # another scale is another shape

    def shaken(of: Mapping[str, Array], size: float) -> dict[str, Array]:
        return {
            n: np.asarray(a.astype(np.float64) * (1 + size * rng.choice([-1.0, 1.0], a.shape)))
            if _floating(a) and n not in sizes else a
            for n, a in of.items()
        }  # fmt: skip

    found: list[Any] = []
    for size in (0.0, *[eps] * 5):
        types = {n: "float64" if "float" in t else t for n, t in model.types.items()}
        inputs, constants = shaken(model.inputs, size), shaken(model.constants, size)
        results = _reference(replace(model, inputs=inputs, constants=constants, types=types))
        if isinstance(results, Exception) or results[place].shape != ours.shape:
            return 0.0
        found.append(results[place].astype(np.float64))
    return 32 * np.nan_to_num(np.max([np.abs(f - found[0]) for f in found[1:]], axis=0), nan=0.0, posinf=0.0)


def _epsilon(a: Array) -> float:
    """The distance of 1 and the next number of a type."""
    return float(ml_dtypes.finfo(a.dtype).eps)  # type: ignore[no-untyped-call]


def _largest(a: Array) -> float:
    """The size of the largest finite element."""
    return float(np.max(np.abs(a, where=np.isfinite(a), out=np.zeros_like(a)), initial=0.0))


def _absolute(model: OnnxModel, ours: Array) -> float:
    """By how much results may be off whatever their size."""
    (node,) = model.nodes
    eps = _epsilon(ours)
    if node.op in ("Elu", "Celu", "Selu"):  # alpha times the difference of exp(x) and 1
        return 4 * eps * max(1.0, abs(float(node.attributes.get("alpha", 1.0))))
    if node.op in ("GRU", "LSTM", "RNN"):  # onnxruntime's sigmoid and tanh are approximations
        return 64 * eps
    if node.op == "Gelu":  # 1 and a number near -1 are added
        (x,) = (*model.inputs.values(), *model.constants.values())
        return 4 * eps * _largest(x)
    if node.op.endswith("Window"):  # differences of cosines
        return 4 * eps
    if node.op == "AffineGrid":  # places are rounded before they are multiplied
        return 16 * eps * _largest(ours)
    if node.op.endswith("Normalization"):  # onnxruntime's sums of squares cancel, as those of one definition do
        some = 2048 if node.op == "MeanVarianceNormalization" else 32
        return some * eps * _largest(ours)
    return 0.0


def _extreme(model: OnnxModel) -> bool:
    """Whether operands have finite elements whose products or quotients may leave the range of their type."""
    for a in (*model.used_inputs().values(), *model.constants.values()):
        if _floating(a):
            most = {"float16": 2.0**7, "bfloat16": 2.0**60, "float32": 2.0**60, "float64": 2.0**500}[str(a.dtype)]
            size = np.abs(a.astype(np.float64))
            if (np.isfinite(size) & (size != 0) & ((size > most) | (size < 1 / most))).any():
                return True
    return False


def _shown(a: Any, *others: Any) -> str:
    """Type, shape, and some elements: where several differ, the first ones."""
    flat = np.asarray(a).reshape(-1)
    alike = [o for o in others if o is not None and o.shape == np.shape(a) and o.dtype == flat.dtype]
    where = np.flatnonzero(~np.all([_same_bits(o, alike[0]) for o in alike], axis=0)) if len(alike) > 1 else ()
    places = [int(k) for k in where[:6]] or list(range(min(12, flat.size)))
    elements = ", ".join(f"[{k}] {flat[k]!s}" for k in places)
    return f"{flat.dtype}{list(np.shape(a))}: {elements}"


def _told(result: Any, k: int, *others: Any) -> str:
    text = " ".join(f"{type(result).__name__}: {result}".split())
    return text[:300] if isinstance(result, Exception) else _shown(result[k], *others)


__all__ = ["OnnxDisagreement", "OnnxReport", "assert_onnx_agrees"]
