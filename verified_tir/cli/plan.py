"""``vtir plan``: layouts for a whole model; every program that changes is proved, and what is left is said."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from verified_tir import __version__
from verified_tir.cli.apart import write_any_character
from verified_tir.cli.lower import complain
from verified_tir.cli.models import bar, frozen_by, load_model, spelled
from verified_tir.graph.errors import GraphError

if TYPE_CHECKING:
    from verified_tir.graph.ir import Graph, Node
    from verified_tir.graph.options import Flow, Frozen
    from verified_tir.graph.plan import Plan
    from verified_tir.graph.report import PlanReport
    from verified_tir.graph.rewrite_passes import Passed

SCHEMA = 1
REFUSED, MISTAKE, INTERRUPTED = 1, 2, 130
"""Exit codes."""


@final
@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``vtir plan``, as they are on the command line."""

    model: Path
    layouts: tuple[str, ...] = ()
    shape: tuple[str, ...] = ()
    flow: str = "backward"
    pad: str = "large"
    fuse: bool = False
    hoist: bool = False
    certify: Path | None = None
    diagram: Path | None = None
    output: Path | None = None
    json: bool = False
    verbose: bool = False
    quiet: bool = False
    cache: bool = True
    operators: bool = False


def run(options: Options) -> int:
    """Plan, write the report to the standard output, and give the exit code."""
    write_any_character()
    try:
        return _run(options)
    except GraphError as problem:
        return complain(str(problem))
    except OSError as problem:
        return complain(f"{problem.filename or 'a file could not be written'}: {problem.strerror}")
    except KeyboardInterrupt:
        print("vtir: interrupted", file=sys.stderr)
        return INTERRUPTED


def _run(options: Options) -> int:
    from verified_tir.graph.report import report_of

    if not options.layouts and not options.hoist:
        raise GraphError("say which operators shall have which layouts, as in --layout conv2d=NCHW16c, or auto")
    if options.operators and options.certify is not None:
        raise GraphError("--operators and --certify exclude each other: certificates are about moved programs")
    start = time.perf_counter()
    graph, _ = load_model(options.model, options.shape)
    frozen: dict[Node, Frozen] = dict(frozen_by(options.layouts, graph, options.pad))
    hoisted: tuple[Graph, Passed] | None = None
    if options.hoist:
        from verified_tir.graph.rewrite_passes import frozen_by_hoisting, hoist_layout_rewrites

        passed = hoist_layout_rewrites(graph)
        hoisted = graph, passed
        graph = passed.graph
        frozen = dict(frozen_by(options.layouts, graph, options.pad)) | dict(frozen_by_hoisting(graph))
    loaded = time.perf_counter() - start
    made = planned(
        graph,
        frozen,
        options.flow,
        fuse=options.fuse,
        quiet=options.quiet or options.json,
        cache=options.cache,
        operators=options.operators,
    )
    if isinstance(made, str):
        print(f"vtir: refused: {made}", file=sys.stderr)
        return REFUSED
    made.seconds = {"loading": loaded, **made.seconds}
    if hoisted is not None:
        made.problems = [*hoisted[1].notes, *made.problems]
    written = _write(options, made, frozen, hoisted)
    report = report_of(made, frozen, str(options.model), hoisted=None if hoisted is None else hoisted[1])
    if options.json:
        sys.stdout.write(json.dumps(_document(options, report, written), indent=2, ensure_ascii=False) + "\n")
    else:
        from verified_tir.cli.plan_report import show

        show(report, spelled(options.layouts), written, verbose=options.verbose, quiet=options.quiet)
    return 0


def planned(
    graph: Graph,
    frozen: Mapping[Node, Frozen],
    flow: str = "backward",
    *,
    fuse: bool = False,
    quiet: bool = False,
    cache: bool = True,
    operators: bool = False,
) -> Plan | str:
    """The plan; or why the kernel refuses it: a frozen node whose program cannot be moved to its layouts.

    :raises GraphError: for a mistake.
    """
    from verified_tir.graph.plan import plan
    from verified_tir.schedule.errors import ScheduleError
    from verified_tir.schedule.verdicts import without_store

    if flow not in ("backward", "forward"):
        raise GraphError(f"--flow {flow}: there are backward and forward")
    way: Flow = "forward" if flow == "forward" else "backward"
    with bar("planning", quiet=quiet) as progress, without_store(not cache):
        try:
            return plan(graph, frozen, flow=way, fuse=fuse, operators=operators, progress=progress)
        except GraphError as problem:
            if isinstance(problem.__cause__, ScheduleError):
                return str(problem)
            raise


def _write(
    options: Options, made: Plan, frozen: Mapping[Node, Frozen], hoisted: tuple[Graph, Passed] | None
) -> dict[str, str]:
    """The files that were asked for: what each is, and its path."""
    written: dict[str, str] = {}
    if options.output is not None:
        from verified_tir.graph.text import save_graph

        save_graph(made.graph, options.output)
        written["planned graph"] = str(options.output)
    if options.certify is not None:
        _certify(options, made, options.certify, hoisted)
        written["certificates"] = str(options.certify)
    if options.diagram is not None:
        from verified_tir.graph.diagram import diagram

        title = f"{options.model.name}, {', '.join(options.layouts)}"
        options.diagram.write_text(diagram(made, frozen, title), encoding="utf-8")
        written["diagram"] = str(options.diagram)
    return written


def _certify(options: Options, made: Plan, folder: Path, hoisted: tuple[Graph, Passed] | None) -> None:
    """Write certificates, and the documents that they make up; the steps of these are followed once more first.

    :raises GraphError: if the folder is not a store, or (a bug in vtir) the steps do not lead from graph to graph.
    """
    from verified_tir.certificate.plans import CheckedPlan
    from verified_tir.certificate.replacements import follow_all
    from verified_tir.certificate.store import BadStore, save
    from verified_tir.certificate.write_plan import write_plan
    from verified_tir.certificate.write_replacements import write_fusions, write_hoisting

    name, model = options.model.stem, options.model.name
    planned = made.unfused or made
    documents: dict[str, dict[str, Any]] = {}
    with bar("certifying", quiet=options.quiet or options.json) as progress:
        written, documents[f"{name}/plan"] = write_plan(planned, name, options.layouts, model, progress)
        if hoisted is not None and hoisted[1].replaced:
            _, documents[f"{name}/hoisted"] = write_hoisting(*hoisted, name, model, written)
        if made.fused:
            _, documents[f"{name}/fused"] = write_fusions(planned.graph, made.graph, made.fused, name, model, written)
    wrong = follow_all([CheckedPlan(n, plan, ()) for n, plan in documents.items()], written.certificates)
    if wrong:
        raise GraphError(f"BugInThisTool: the steps of the plan are not what its certificates say: {wrong[0]}")
    try:
        save(folder, written.certificates, written.queries, documents, written.constants)
    except BadStore as problem:
        raise GraphError(f"no certificate was written: {problem}") from None


def _document(options: Options, report: PlanReport, written: Mapping[str, str]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": __version__,
        "exit_code": 0,
        "layouts": list(options.layouts),
        "flow": options.flow,
        **report.as_json(),
        "written": dict(written),
    }
