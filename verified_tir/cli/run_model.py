"""``vtir run`` on a model: built, called, and compared with what it is expected to give."""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from verified_tir import __version__
from verified_tir.cli.apart import write_any_character
from verified_tir.cli.arrays import input_arrays, read_array
from verified_tir.cli.execute import checksum_of
from verified_tir.cli.lower import complain
from verified_tir.cli.models import bar, frozen_by, load_model
from verified_tir.cli.plan import planned
from verified_tir.codegen.errors import CodegenError
from verified_tir.durations import duration
from verified_tir.graph.errors import GraphError
from verified_tir.report.error_codes import code_of_exception, with_code
from verified_tir.schedule.errors import ScheduleError

if TYPE_CHECKING:
    from verified_tir.graph.ir import Array, Graph

SCHEMA = 1
COMPARED = ("onnxruntime", "interpreter", "unplanned")
SLOW = 0.1
"""Seconds of a run from which on it is said that there are faster layouts."""


@final
@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``vtir run`` for a model, as they are on the command line."""

    model: Path
    shape: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    seed: int = 0
    weights: str = "given"
    layouts: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    compare: tuple[str, ...] = ()
    rtol: float = 1e-3
    atol: float | None = None
    contract: bool = False
    json: bool = False
    threads: int = 1


@final
@dataclass(frozen=True, slots=True)
class Compared:
    """One result beside another: the largest difference, and whether it is within the tolerance (or the bits agree).

    ``with_`` says what it was compared with; ``exact`` that bits were asked for.
    """

    with_: str
    result: str
    difference: float
    scale: float
    agrees: bool
    exact: bool
    problem: str = ""


@final
@dataclass(slots=True)
class Ran:
    """What came of a model; times in seconds."""

    graph: Graph
    inputs: dict[str, str]
    results: list[Array]
    seconds: dict[str, float] = field(default_factory=dict)
    compared: list[Compared] = field(default_factory=list)
    contracted: list[str] = field(default_factory=list)
    """The nodes in whose sums products are not rounded by themselves."""


class _Refused(Exception):
    """The kernel or the code generator refuses; the message says where and why."""


def run(options: Options) -> int:
    """Run, write to the standard output, and give the exit code: 0, 1 for a refusal or difference, 2 for a mistake."""
    write_any_character()
    try:
        ran = _run(options)
    except GraphError as problem:
        if not isinstance(problem.__cause__, ScheduleError):
            return complain(str(problem))
        print(f"vtir: refused: {with_code(str(problem), code_of_exception(problem.__cause__))}", file=sys.stderr)
        return 1
    except (_Refused, CodegenError) as refused:
        print(f"vtir: refused: {with_code(str(refused), code_of_exception(refused))}", file=sys.stderr)
        return 1
    except OSError as problem:
        return complain(f"{problem.filename or 'a file could not be written'}: {problem.strerror}")
    except KeyboardInterrupt:
        print("vtir: interrupted", file=sys.stderr)
        return 130
    code = 0 if all(c.agrees for c in ran.compared) else 1
    if options.json:
        sys.stdout.write(json.dumps(_document(options, ran, code), indent=2, ensure_ascii=False) + "\n")
    else:
        _show(options, ran)
    return code


def _run(options: Options) -> Ran:
    from verified_tir.graph.execute import build

    if options.weights not in ("given", "random"):
        raise GraphError(f"--weights {options.weights}: there are given and random")
    for other in options.compare:
        if other not in COMPARED:
            raise GraphError(f"--compare {other}: there are {', '.join(COMPARED)}")
    start = time.perf_counter()
    graph, model = load_model(options.model, options.shape, options.seed if options.weights == "random" else None)
    if model is None and "onnxruntime" in options.compare:
        raise GraphError("--compare onnxruntime: this is not an ONNX model")
    arrays, sources = input_arrays(graph, options.inputs, options.seed)
    expected = _expected(graph, options.expected)
    loaded = time.perf_counter()
    used = graph
    if options.layouts:
        made = planned(graph, frozen_by(options.layouts, graph), quiet=options.json, cache=True)
        if isinstance(made, str):
            raise _Refused(made)
        used = made.graph
    planned_at = time.perf_counter()
    with bar("building", quiet=options.json) as progress:
        executable = build(used, threads=options.threads, contract=options.contract, progress=progress)
    built = time.perf_counter()
    results = executable.run(arrays)
    ran = Ran(used, sources, results, contracted=[*executable.contracted])
    ran.seconds = {"loading": loaded - start}
    if options.layouts:
        ran.seconds["planning"] = planned_at - loaded
    ran.seconds |= {"building": built - planned_at, "one run": time.perf_counter() - built}
    names = [v.name for v in graph.outputs]
    for what, others, exact in _others(options, graph, model, arrays, expected):
        for k, array in others.items():
            ran.compared.append(_compared(what, names[k], results[k], array, options, exact=exact))
    return ran


def _expected(graph: Graph, texts: Sequence[str]) -> dict[int, Array]:
    """The arrays of ``--expected FILE`` or ``result=FILE``, by the number of the result.

    A file without a name is the first result that has none yet.
    """
    names = [v.name for v in graph.outputs]
    found: dict[int, Array] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        named = bool(equals) and name in names
        k = names.index(name) if named else next((k for k in range(len(names)) if k not in found), len(names))
        if k >= len(names):
            raise GraphError(f"--expected {text}: the model has {len(names)} results: {', '.join(names)}")
        if k in found:
            raise GraphError(f"--expected {text}: {name} is given twice")
        found[k] = read_array(Path(path if named else text))
    return found


def _others(
    options: Options, graph: Graph, model: Any, arrays: Mapping[str, Array], expected: Mapping[int, Array]
) -> list[tuple[str, dict[int, Array], bool]]:
    """Results from elsewhere, by their numbers, and whether the bits must be theirs."""
    from verified_tir.graph.execute import build, evaluate

    found: list[tuple[str, dict[int, Array], bool]] = []
    if expected:
        found.append(("the expected file", dict(expected), False))
    for other in dict.fromkeys(options.compare):
        if other == "onnxruntime":
            found.append((other, dict(enumerate(_onnxruntime(model, graph, arrays))), False))
        elif other == "interpreter":
            found.append(("the interpreter", dict(enumerate(evaluate(graph, arrays, contract=options.contract))), True))
        else:
            found.append(
                ("the unplanned model", dict(enumerate(build(graph, contract=options.contract).run(arrays))), True)
            )
    return found


def _onnxruntime(model: Any, graph: Graph, arrays: Mapping[str, Array]) -> list[Array]:
    """What onnxruntime computes, on one thread, node by node.

    Its optimisations put quantised operators together, which rounds elsewhere.
    """
    try:
        onnxruntime: Any = importlib.import_module("onnxruntime")
    except ImportError:
        from verified_tir.extras import missing

        raise GraphError(missing("--compare onnxruntime", "onnxruntime")) from None
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), settings, ["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]
        given = dict(zip(names, (arrays[v.name] for v in graph.inputs), strict=True))
        return [np.asarray(a) for a in session.run(None, given)]
    except Exception as problem:  # whatever onnxruntime raises, it is its own
        raise GraphError(f"--compare onnxruntime: it fails: {str(problem).strip().splitlines()[0]}") from None


def _compared(what: str, name: str, got: Array, want: Array, options: Options, *, exact: bool) -> Compared:
    """One result beside another; two NaNs agree."""
    if got.shape != want.shape or got.dtype != want.dtype:
        problem = f"{got.dtype}{list(got.shape)} here, {want.dtype}{list(want.shape)} there"
        return Compared(what, name, np.inf, 0.0, agrees=False, exact=exact, problem=problem)
    if got.size == 0:
        return Compared(what, name, 0.0, 0.0, agrees=True, exact=exact)
    wide, other = got.astype(np.float64), want.astype(np.float64)
    off, apart = _apart(wide, other)
    if exact or got.dtype.kind not in "fV":  # V: types of ml_dtypes
        from verified_tir.semantics.interpreter.outcome import same_bits

        same = bool(same_bits(got, want).all())
        return Compared(what, name, 0.0 if same else off, 0.0, agrees=same, exact=True)
    finite = np.abs(other[np.isfinite(other)])
    scale = float(finite.max()) if finite.size else 0.0
    atol = 1e-5 * scale if options.atol is None else options.atol
    agrees = bool(np.allclose(wide, other, rtol=options.rtol, atol=atol, equal_nan=True))
    problem = ""
    if apart:
        problem = f"{apart:,} of {got.size:,} elements are NaN or infinite on one side and not the same on the other"
        problem += f" (the rest at most {off:.3g} off, values up to {scale:.3g})" if apart < got.size else ""
    return Compared(what, name, off, scale, agrees, exact, problem)


def _apart(one: Array, other: Array) -> tuple[float, int]:
    """How far apart finite elements are at most, and how many are NaN or infinite and not the same on both sides."""
    both = np.isfinite(one) & np.isfinite(other)
    same = both | (one == other) | (np.isnan(one) & np.isnan(other))
    with np.errstate(over="ignore"):
        return float(np.max(np.abs(one[both] - other[both]), initial=0.0)), int((~same).sum())


def _show(options: Options, ran: Ran) -> None:
    planned = " as planned" if options.layouts else ""
    threads = f", up to {options.threads} threads" if options.threads > 1 else ""
    print(f"{options.model}: {len(ran.graph.nodes)} nodes{planned}{threads}")
    for name, text in ran.inputs.items():
        print(f"  {name}: {text}")
    for v, a in zip(ran.graph.outputs, ran.results, strict=True):
        print(f"  result {v.name}: {a.dtype}{list(a.shape)}, checksum {checksum_of({v.name: a})}")
    print("  " + ", ".join(f"{what} {duration(seconds)}" for what, seconds in ran.seconds.items()))
    if options.contract:
        print(f"  contracted (each a * b + c rounded once): {', '.join(ran.contracted) or 'nothing'}")
    for c in ran.compared:
        print(f"  {_sentence(c)}")
    if not options.layouts and ran.seconds["one run"] > SLOW and any(n.op == "nn.conv2d" for n in ran.graph.nodes):
        print("vtir: convolutions are faster in blocks of channels; try --layout auto", file=sys.stderr)


def _sentence(c: Compared) -> str:
    if c.problem:
        return f"DIFFERS from {c.with_} in {c.result}: {c.problem}"
    if c.exact:
        return f"{c.result}: {'the same bits as' if c.agrees else 'DIFFERS in its bits from'} {c.with_}"
    off = f"at most {c.difference:.3g} off, values up to {c.scale:.3g}"
    return f"{c.result}: {'as' if c.agrees else 'DIFFERS from'} {c.with_} ({off})"


def _document(options: Options, ran: Ran, code: int) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": __version__,
        "exit_code": code,
        "model": str(options.model),
        "layouts": list(options.layouts),
        "weights": options.weights,
        "seed": options.seed,
        "threads": options.threads,
        "nodes": len(ran.graph.nodes),
        "contracted": ran.contracted,
        "inputs": ran.inputs,
        "results": [
            {"name": v.name, "dtype": str(a.dtype), "shape": list(a.shape), "checksum": checksum_of({v.name: a})}
            for v, a in zip(ran.graph.outputs, ran.results, strict=True)
        ],
        "seconds": {k: round(s, 6) for k, s in ran.seconds.items()},
        "compared": [
            {
                "with": c.with_, "result": c.result, "agrees": c.agrees, "bits": c.exact,
                "difference": c.difference if np.isfinite(c.difference) else None, "scale": c.scale,
                "problem": c.problem or None,
            }
            for c in ran.compared
        ],
    }  # fmt: skip
