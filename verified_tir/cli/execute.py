"""``vtir run``: a function is compiled and called on random arrays; ``--check`` compares with the interpreter."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, TextIO, final

import numpy as np

from verified_tir import __version__
from verified_tir.activity import Level, announce
from verified_tir.cli.discover import split_name
from verified_tir.cli.load import BadFileError, describe
from verified_tir.cli.lower import complain, refusal_of
from verified_tir.cli.programs import Proved, functions_of
from verified_tir.durations import duration
from verified_tir.ir.dtype import DType
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.kernel.theorem import Refines
from verified_tir.lower.expression import PipelineError, parse_pipeline
from verified_tir.lower.passes import Pipeline
from verified_tir.report.error_codes import code_of_exception
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.fitting_inputs import NoneFit, fitting
from verified_tir.schedule.replay_inputs import ELEMENTS, Array, extents_of, shapes, symbols
from verified_tir.schedule.replay_layout import Masks, arguments_of, move, pad
from verified_tir.semantics.interpreter.outcome import Outcome

SCHEMA = 1
SIZE = 16
"""The value of a symbol that ``--shape`` does not name."""
STEPS = 300_000
"""Stores and loop iterations after which the interpreter gives up; each takes some 20 microseconds, vectors more."""


@final
@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``vtir run``, as they are on the command line."""

    where: str
    pipeline: str = "default"
    shape: tuple[str, ...] = ()
    seed: int = 0
    check: bool = False
    json: bool = False
    threads: int | None = None


class RunError(ValueError):
    """Options or arguments that do not fit the function."""


@final
@dataclass(slots=True)
class Ran:
    """What came of one function.  ``difference`` is empty if nothing differs or nothing was compared."""

    name: str
    sizes: dict[str, Any]
    arrays: dict[str, str]
    seconds: float
    checksum: str
    checked: bool = False
    difference: str = ""


def execute(options: Options) -> int:
    """Run, write to the standard output, and give the exit code: 0, 1 for a refusal or difference, 2 for a mistake."""
    from verified_tir.codegen.errors import CodegenError

    path, name = split_name(options.where)
    out = sys.stdout  # while a file is open, what it prints goes to the standard error
    done: list[Ran] = []
    refusal: dict[str, Any] | None = None
    try:
        pipeline = parse_pipeline(options.pipeline)
        wanted = sizes_of(options.shape)
        with functions_of(path, name) as functions:
            for f in functions:
                done.append(_run(f, pipeline, wanted, options))
                if not options.json:
                    _print(done[-1], out)
    except (PipelineError, RunError) as problem:
        return complain(str(problem))
    except BadFileError as bad:
        return complain(f"{bad.report.at}: {bad.report.message}" if bad.report.at.line else f"{path}: {bad}")
    except ScheduleError as refused:
        refusal = refusal_of(refused)
    except CodegenError as refused:
        refusal = {
            "step": "build",
            "code": code_of_exception(refused),
            "kind": "CodegenError",
            "reason": str(refused),
            "message": str(refused),
        }
    except KeyboardInterrupt:
        raise
    except Exception as problem:  # in the schedule function of the file
        report = describe(problem, path.resolve(), str(path))
        return complain(f"{report.at}: {report.kind}: {report.message}" if report.at.line else f"{path}: {problem}")
    code = 1 if refusal is not None or any(r.difference for r in done) else 0
    if options.json:
        sys.stdout.write(json.dumps(_report(str(path), pipeline, options, done, refusal, code), indent=2) + "\n")
    elif refusal is not None:
        print(f"{path}: {refusal['message']}", file=sys.stderr)
    return code


def sizes_of(texts: tuple[str, ...]) -> dict[str, int | float]:
    """``name=value`` pairs as numbers."""
    found: dict[str, int | float] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name.strip() in found:
            raise RunError(f"--shape {text}: {name.strip()} is given twice")
        try:
            found[name.strip()] = int(value) if value.strip().lstrip("+-").isdigit() else float(value)
        except ValueError:
            raise RunError(f"--shape {text}: write name=value with a number") from None
    return found


def _run(function: Proved, pipeline: Pipeline, wanted: Mapping[str, int | float], options: Options) -> Ran:
    from verified_tir.codegen.build import build

    announce(Level.FUNCTION, function.name)
    schedule = function.prove()
    theorem = pipeline.run(schedule)
    announce(Level.STEP, "building")
    compiled = build(theorem, threads=options.threads)
    before = schedule.steps[0].before
    sizes = values_of(before, wanted)
    try:
        arrays, masks = _inputs(before, theorem, sizes, options.seed)
    except NoneFit as problem:
        raise RunError(f"{problem}; say other sizes or another --seed") from None
    scalars = {p.name: sizes[p.name] for p in theorem.after.params if theorem.after.buffer_of(p) is None}
    given = {name: a.copy() for name, a in arrays.items()}
    expected = None
    if options.check:  # before the call, which takes for granted that the program has a meaning on these arrays
        announce(Level.STEP, "the interpreter")
        expected = _interpreted(theorem.after, arrays, scalars, masks)
    announce(Level.STEP, "the call")
    start = time.perf_counter()
    compiled(*arguments_of(theorem.after, given, scalars))
    seconds = time.perf_counter() - start
    shown = {n: f"{a.dtype}{list(a.shape)}" for n, a in given.items()}
    ran = Ran(function.name, sizes, shown, seconds, checksum_of(given))
    if expected is not None:
        ran.checked = True
        ran.difference = _compare(expected, given)
    return ran


def values_of(func: PrimFunc, wanted: Mapping[str, int | float]) -> dict[str, Any]:
    """A value for each symbol and scalar parameter."""
    known = {v.name: v for v in symbols(func)}
    for name in wanted:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise RunError(f"--shape {name}: {func.name} has no such symbol; {has}")
    found: dict[str, Any] = {}
    for name, v in known.items():
        value = wanted.get(name, SIZE if v.dtype.is_int else 1)
        if v.dtype.is_int and (not isinstance(value, int) or not v.dtype.min_value <= value <= v.dtype.max_value):
            has = f"an integer from {v.dtype.min_value} to {v.dtype.max_value}"
            raise RunError(f"--shape {name}={value}: {name} is {has}")
        found[name] = bool(value) if v.dtype.is_bool else value
    return found


def _inputs(before: PrimFunc, theorem: Refines, sizes: dict[str, Any], seed: int) -> tuple[dict[str, Array], Masks]:
    """Random arrays for the program as written, in the layouts of the lowered one.

    :raises NoneFit: if none are found that satisfy what the program assumes.
    """
    plain = fitting(theorem.before, sizes, inputs_of(before, sizes, np.random.default_rng(seed)))
    arrays = move(theorem.relation, plain, sizes)
    return arrays, pad(theorem.after, theorem.paddings, arrays, sizes)


def inputs_of(func: PrimFunc, sizes: dict[str, Any], rng: np.random.Generator) -> dict[str, Array]:
    """Random arrays for a program.

    :raises RunError: if there are none of these sizes.
    """
    extents = shapes(func, sizes)
    if extents is None:
        raise RunError(f"{func.name}: {_no_arrays(func, sizes)}; choose others with --shape name=value")
    return {b.name: random_array(rng, b.dtype, extents[b.name]) for b in func.buffers}


def _no_arrays(func: PrimFunc, sizes: dict[str, Any]) -> str:
    """Why there are no arrays of these sizes."""
    extents = extents_of(func, sizes)
    if extents is not None:
        for name, dims in extents.items():
            if prod(dims) > ELEMENTS:
                has = f"{name} would have {prod(dims):,} elements"
                return f"{has}, and this command makes arrays of at most {ELEMENTS:,}"
    given = ", ".join(f"{name} = {value}" for name, value in sizes.items())
    return f"there are no arrays of the program's shapes with {given or 'these strides'}"


def random_array(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...]) -> Array:
    """Floats around 0, small integers."""
    if dtype.is_bool:
        return np.asarray(rng.integers(0, 2, shape), dtype=bool)
    if dtype.is_float:
        return np.asarray(rng.standard_normal(shape)).astype(numpy_dtype(dtype))
    return np.asarray(rng.integers(0 if dtype.code == "uint" else -100, 100, shape)).astype(numpy_dtype(dtype))


def checksum_of(arrays: Mapping[str, Array]) -> str:
    """Of the bits of all arrays, in order."""
    digest = hashlib.sha256()
    for a in arrays.values():
        digest.update(np.ascontiguousarray(a).tobytes())
    return digest.hexdigest()[:16]


def _interpreted(func: PrimFunc, arrays: dict[str, Array], scalars: dict[str, Any], masks: Masks) -> Outcome | str:
    """What the interpreter leaves, or the assertion that failed.

    :raises RunError: if the program has no meaning on the arrays, or takes too long.
    """
    from verified_tir.semantics.interpreter import AssertionFailed, StepLimit, UndefinedBehaviour, run

    try:
        return run(func, {**arrays, **scalars}, defined=masks.defined, inaccessible=masks.inaccessible, max_steps=STEPS)
    except StepLimit:
        raise RunError(
            f"{func.name}: too much for the interpreter, which stops after {STEPS:,} stores and iterations; check a "
            "smaller size"
        ) from None
    except AssertionFailed as failed:
        return f"the interpreter ends with a failed assertion: {failed.message}"
    except UndefinedBehaviour as ub:
        raise RunError(f"the program has no meaning on these arrays ({ub}); say other sizes or another --seed") from ub


def _compare(outcome: Outcome | str, given: dict[str, Array]) -> str:
    """Where the compiled code and the interpreter differ, in one sentence."""
    from verified_tir.semantics.interpreter.outcome import same_bits

    if isinstance(outcome, str):
        return outcome
    for name, expected in outcome.arrays.items():
        differ = outcome.defined[name] & ~same_bits(expected, given[name])
        if differ.any():
            at = tuple(int(x) for x in np.argwhere(differ)[0])
            return (
                f"{name}{list(at)} is {given[name][at]}, the interpreter says {expected[at]} "
                f"({int(differ.sum())} of {differ.size} elements differ)"
            )
    return ""


def _print(ran: Ran, out: TextIO) -> None:
    print(f"{ran.name}:", file=out)
    for name, value in ran.sizes.items():
        print(f"  {name} = {value}", file=out)
    for name, shape in ran.arrays.items():
        print(f"  {name}: {shape}", file=out)
    print(f"  time {duration(ran.seconds)}, checksum {ran.checksum}", file=out)
    if ran.checked:
        print(f"  DIFFERS: {ran.difference}" if ran.difference else "  the interpreter gives the same bits", file=out)


def _report(
    path: str, pipeline: Pipeline, options: Options, done: list[Ran], refusal: dict[str, Any] | None, code: int
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": __version__,
        "exit_code": code,
        "file": path,
        "pipeline": repr(pipeline),
        "seed": options.seed,
        "threads": options.threads,
        "functions": [
            {
                "name": r.name,
                "sizes": r.sizes,
                "arrays": r.arrays,
                "seconds": round(r.seconds, 9),
                "checksum": r.checksum,
                "checked": r.checked,
                "difference": r.difference or None,
            }
            for r in done
        ],
        "refusal": refusal,
    }
