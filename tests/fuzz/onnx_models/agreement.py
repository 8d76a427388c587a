"""ONNX models run here, by onnxruntime, and by ONNX's reference evaluator: three opinions about each node.

Each node is judged on the operands that it has in our run, so that errors neither grow from node to node nor hide
behind each other; ``tolerance`` says how far two results may be apart.  Small programs are interpreted, too: each
element has the bits of the machine code, and is defined.

Sums of numbers of extreme size are not judged where the opinions differ: whether something on the way is too
large or too small for its type depends on the order.

Where onnxruntime and the reference disagree, the specification decides: ``differences`` lists who is right.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from tests.fuzz.onnx_models.case import OnnxModel, model_text, single
from tests.fuzz.onnx_models.differences import difference
from tests.fuzz.onnx_models.evaluators import by_onnxruntime, by_reference
from tests.fuzz.onnx_models.opinion import Opinion
from tests.fuzz.onnx_models.tolerance import SUMS, Mask, agrees, extreme, same_bits
from verified_tir.fuzz.target import Disagreement
from verified_tir.graph import GraphError
from verified_tir.graph.annotate import Annotations
from verified_tir.graph.element_types import array_dtype, held, held_as
from verified_tir.graph.execute import build
from verified_tir.graph.ir import Array, Graph
from verified_tir.graph.onnx import from_onnx
from verified_tir.graph.plan import plan
from verified_tir.graph.program import program_of
from verified_tir.semantics.interpreter import StepLimit, UndefinedBehaviour, run

NOT_CHECKED: Final = frozenset({"MeanVarianceNormalization"})
"""Operators that strict shape inference refuses: the definition, in which an attribute is left out, is not legal."""

IMAGES: Final = ("conv2d", "max_pool2d", "avg_pool2d", "conv2d_transpose", "global_avg_pool2d")
"""Operators that get a model's layout."""

STEPS: Final = 2_000
"""The interpreter takes at most so many for a program; larger ones are not interpreted."""


class OnnxDisagreement(Disagreement):
    """A model for which the opinions differ.

    :param kind: what differs; ``where``: the operator; ``model``: the smallest model known, often a single node.
    """

    def __init__(self, kind: str, where: str, message: str, model: OnnxModel) -> None:
        super().__init__(kind, where, message)
        self.args = (f"{self}\n{model_text(model)}",)
        self.model = model


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
            _interpreted(model, graph, values)
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


def _interpreted(model: OnnxModel, graph: Graph, values: Mapping[str, Array]) -> None:
    """The interpreter knows a value of each element that a small program computes, and it is the one that was found."""
    found = {v: held(values[n]) for v, n in zip(graph.outputs, model.results(), strict=True)}
    given = {v: model.inputs[v.name] for v in graph.inputs} | dict(graph.constants)
    known = {v: held(a) for v, a in given.items()} | found
    for node in graph.nodes:
        if any(v not in known for v in node.inputs):
            continue
        func = program_of(node)
        names = [b.name for b in func.buffers]
        empty = [np.zeros(v.shape, array_dtype(held_as(v.dtype))) for v in node.outputs]
        arrays = dict(zip(names, [*(known[v] for v in node.inputs), *empty], strict=True))
        try:
            ended = run(func, arrays, max_steps=STEPS)
        except StepLimit:
            continue
        except UndefinedBehaviour as problem:
            raise OnnxDisagreement("undefined", node.op, str(problem), model) from problem
        for v, name in zip(node.outputs, names[len(node.inputs) :], strict=True):
            a = ended.arrays[name]
            if not ended.defined[name].all():
                raise OnnxDisagreement("undefined", node.op, f"{v.name}: {_shown(a, ended.defined[name])}", model)
            if not (same := same_bits(a, known.setdefault(v, a))).all():
                told = f"{v.name}: {_shown(known[v], same)} instead of {_shown(a, same)}"
                raise OnnxDisagreement("interpreted-differs", node.op, told, model)


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
        if not (same := same_bits(a, values[name])).all():
            op = next(n.op for n in model.nodes if name in n.results)
            told = f"{name}: {_shown(a, same)} instead of {_shown(values[name], same)}"
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


# -- comparison --------------------------------------------------------------------------------------------------------


def _judge(model: OnnxModel, ours: Sequence[Array | None], report: OnnxReport) -> None:
    """Compare the results of one node."""
    (node,) = model.nodes
    reference, runtime = by_reference(model), by_onnxruntime(model)
    if isinstance(reference, Exception) and isinstance(runtime, Exception):
        opinion = Opinion(model, node, None, reference, runtime)
        known = difference(opinion)
        if known is None and not _not_implemented(runtime) and not _not_implemented(reference):
            raise OnnxDisagreement("accepted-illegal", node.op, f"{reference}; {runtime}"[:600], model)
        report.differences[known.title if known is not None else f"{node.op}: nobody else runs it"] += 1
        return
    for k, (name, a) in enumerate((n, a) for n, a in zip(node.results, ours, strict=True) if n and a is not None):
        theirs = [None if isinstance(r, Exception) else r[k] for r in (reference, runtime)]
        masks = [np.array(True) if t is None else agrees(model, k, a, t) for t in theirs]
        agree = [bool(m.all()) for m in masks]
        if all(agree):
            continue
        opinion = Opinion(model, node, a, *(r if isinstance(r, Exception) else r[k] for r in (reference, runtime)))
        known = difference(opinion)
        if known is not None and known.holds(opinion, masks[0], masks[1]):
            report.differences[known.title] += 1
            continue
        if node.op in SUMS and extreme(model):  # what is too large on the way depends on the order
            report.differences["sums of extreme numbers"] += 1
            continue
        who = {(False, False): "both", (False, True): "reference", (True, False): "onnxruntime"}[agree[0], agree[1]]
        same = np.logical_and(*masks)
        raise OnnxDisagreement(
            f"differs-from-{who}", node.op,
            f"{name}: ours {_shown(a, same)}, reference {_told(reference, k, same)}, "
            f"onnxruntime {_told(runtime, k, same)}", model,
        )  # fmt: skip


def _not_implemented(problem: Any) -> bool:
    text = f"{type(problem).__name__}: {problem}"
    return bool(re.search("NOT_IMPLEMENTED|NotImplemented|not implemented|Could not find an implementation|"
                          "does not take such|No implementation|is under development|not supported", text))  # fmt: skip


def _shown(a: Any, same: Mask) -> str:
    """Type, shape, and some elements: the first ones of those that are not the same."""
    flat = np.asarray(a).reshape(-1)
    wrong: list[int] = np.flatnonzero(~same).tolist() if same.shape == np.shape(a) else []
    places = wrong[:6] or list(range(min(12, flat.size)))
    elements = ", ".join(f"[{k}] {flat[k]!s}" for k in places)
    return f"{flat.dtype}{list(np.shape(a))}: {elements}"


def _told(result: Any, k: int, same: Mask) -> str:
    text = " ".join(f"{type(result).__name__}: {result}".split())
    return text[:300] if isinstance(result, Exception) else _shown(result[k], same)


__all__ = ["OnnxDisagreement", "OnnxReport", "assert_onnx_agrees"]
