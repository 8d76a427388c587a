"""``vtir lower``: a function through a pipeline of passes, with the program after each pass that is asked for.

What is printed is Python: programs as TVMScript, everything else as comments.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO, final

from verified_tir import __version__
from verified_tir.activity import Level, announce
from verified_tir.cli.discover import split_name
from verified_tir.cli.load import BadFileError, describe
from verified_tir.cli.programs import Proved, functions_of
from verified_tir.durations import duration
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.kernel.facts import Prover
from verified_tir.lower.expression import PipelineError, parse_pipeline
from verified_tir.lower.passes import PassRecord, Pipeline
from verified_tir.report.error_codes import WRONG_OPTION, code_of_exception, with_code
from verified_tir.schedule.errors import Refuted, ScheduleError
from verified_tir.schedule.refusals import check_race_free
from verified_tir.schedule.schedule import Schedule

SCHEMA = 1


@final
@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``vtir lower``, as they are on the command line."""

    where: str
    pipeline: str = "default"
    print_after: tuple[str, ...] = ()
    print_all: bool = False
    json: bool = False


@final
@dataclass(slots=True)
class Lowered:
    """What came of one function."""

    name: str
    proof: Schedule | None = None
    proof_seconds: float = 0.0
    records: list[PassRecord] = field(default_factory=list)
    refusal: ScheduleError | None = None


def lower(options: Options) -> int:
    """Lower, write to the standard output, and give the exit code: 0, 1 for a refusal, 2 for a mistake."""
    path, name = split_name(options.where)
    out = sys.stdout  # while a file is open, what it prints goes to the standard error
    try:
        pipeline = parse_pipeline(options.pipeline)
        _check_names(pipeline, options.print_after)
        with functions_of(path, name) as functions:
            done = [_lower(path, f, pipeline, options, out) for f in functions]
    except PipelineError as problem:
        return complain(str(problem))
    except BadFileError as bad:
        return complain(f"{bad.report.at}: {bad.report.message}" if bad.report.at.line else f"{path}: {bad}")
    code = 1 if any(f.refusal is not None for f in done) else 0
    if options.json:
        sys.stdout.write(json.dumps(_report(path, pipeline, done, code), indent=2, ensure_ascii=False) + "\n")
    return code


def complain(message: str) -> int:
    """A mistake of the user's, with the code of the exception that is being handled; gives the exit code."""
    problem = sys.exception()
    code = WRONG_OPTION if problem is None else code_of_exception(problem)
    print(f"vtir: error: {with_code(message, code)}", file=sys.stderr)
    return 2


def _check_names(pipeline: Pipeline, wanted: tuple[str, ...]) -> None:
    names = [p.name for p in pipeline]
    for w in wanted:
        if w not in names:
            has = f"the passes are {', '.join(dict.fromkeys(names))}" if names else "it has no passes"
            raise PipelineError(f"--print-after {w}: the pipeline has no such pass; {has}")


def _lower(path: Path, function: Proved, pipeline: Pipeline, options: Options, out: TextIO) -> Lowered:
    done = Lowered(function.name)

    def after(record: PassRecord) -> None:
        done.records.append(record)
        if not options.json:
            print(_line(repr(record.step), len(record.obligations), record.seconds, record.rules), file=out)
            for note in record.notes:
                print(f"#     {note}", file=out)
            if options.print_all or record.step.name in options.print_after:
                _show(record.after, out)

    start = time.perf_counter()
    announce(Level.FUNCTION, function.name)
    try:
        done.proof = function.prove()
        done.proof_seconds = time.perf_counter() - start
        if not options.json:
            print(f"# {path}: {function.name}", file=out)
            obligations = sum(len(s.obligations) for s in done.proof.steps)
            print(_line("proved", obligations, done.proof_seconds), file=out)
            if options.print_all:
                _show(done.proof.func, out)
        theorem = pipeline.run(done.proof, after=after)
        check_race_free(theorem, Prover(done.proof.solver))
        if not options.json and not options.print_after and not options.print_all:
            _show(theorem.after, out)
    except ScheduleError as refused:
        done.refusal = refused
        if not options.json:
            out.flush()
            print(f"{path}: {function.name}: {refused}", file=sys.stderr)
    except KeyboardInterrupt:
        raise
    except Exception as problem:  # in the schedule function of the file
        raise BadFileError(describe(problem, path.resolve(), str(path))) from None
    return done


def _line(what: str, obligations: int, seconds: float, rules: int | None = None) -> str:
    steps = "" if rules is None else f"{rules} {'step' if rules == 1 else 'steps'}, "
    count = f"{obligations} {'obligation' if obligations == 1 else 'obligations'}"
    return f"# {what}: {steps}{count}, {duration(seconds)}"


def _show(func: PrimFunc, out: TextIO) -> None:
    print(f"\n{script(func)}\n", file=out)


def _report(path: Path, pipeline: Pipeline, done: list[Lowered], code: int) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": __version__,
        "exit_code": code,
        "file": str(path),
        "pipeline": repr(pipeline),
        "functions": [_function(f) for f in done],
    }


def _function(f: Lowered) -> dict[str, Any]:
    last = f.records[-1].after if f.records else None if f.proof is None else f.proof.func
    return {
        "name": f.name,
        "outcome": "lowered" if f.refusal is None else "refused",
        "obligations": 0 if f.proof is None else sum(len(s.obligations) for s in f.proof.steps),
        "seconds": round(f.proof_seconds, 6),
        "passes": [
            {
                "pass": repr(r.step),
                "steps": r.rules,
                "obligations": len(r.obligations),
                "seconds": round(r.seconds, 6),
                "notes": list(r.notes),
                "program": script(r.after),
            }
            for r in f.records
        ],
        "program": None if last is None else script(last),
        "refusal": None if f.refusal is None else refusal_of(f.refusal),
    }


def refusal_of(refused: ScheduleError) -> dict[str, Any]:
    """A refusal as JSON."""
    return {
        "step": refused.step,
        "code": refused.code,
        "kind": type(refused).__name__,
        "reason": refused.reason,
        "confirmed": refused.confirmed if isinstance(refused, Refuted) else None,
        "message": str(refused),
    }
