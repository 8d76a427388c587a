"""Plans, forged: by somebody who can write all files and computes every hash anew, and who has honest certificates.

Each kind of forgery (``forgeries``) changes the documents of a model's plan.  Whatever was changed, the check finds it;
or says what it believes; or the graphs before and after compute the same.  It neither fails nor hangs.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from tests.fuzz.targets.forgeries import FORGERIES, Forged, Numbers
from tests.fuzz.targets.honest_plans import Honest, pool
from verified_tir.certificate.canonical import write
from verified_tir.certificate.integrity import Finding
from verified_tir.certificate.plan_believed import Believed
from verified_tir.certificate.plan_graphs import read_graph
from verified_tir.certificate.plan_layouts import read_layout
from verified_tir.certificate.plans import PARTS, PLAIN, load_plan, sealed_plan
from verified_tir.certificate.replacements import follow_all
from verified_tir.certificate.store import constant_path
from verified_tir.graph import Graph
from verified_tir.graph.execute import evaluate
from verified_tir.graph.ir import Array, Value
from verified_tir.graph.layouts import pack


class Unfound(AssertionError):
    """A forged plan that passes, or an honest one that does not; ``where`` is the kind of forgery."""

    def __init__(self, kind: str, where: str, message: str) -> None:
        super().__init__(f"{kind} ({where}): {message}")
        self.kind = kind
        self.where = where
        self.message = message


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """What the check says of documents: findings, and what it believes."""

    findings: tuple[Finding, ...]
    believed: tuple[Believed, ...]


def checked(forged: Forged, model: Graph | None) -> Outcome:
    """What is found in documents as they lie in a folder; their certificates were checked before."""
    certificates = pool(forged.honest.number)
    roots = {name: c["root"] for name, c in certificates.items()}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for digest, data in forged.constants.items():
            (folder / constant_path(digest)).parent.mkdir(parents=True, exist_ok=True)
            (folder / constant_path(digest)).write_bytes(data)
        plans = []
        for name, document in forged.documents.items():
            path = folder / f"{name}.json"
            path.parent.mkdir(exist_ok=True)
            parts = set(PARTS) <= set(document) if isinstance(document, dict) else False
            given = sealed_plan(document) if forged.sealed and parts else document
            path.write_text(write(given), encoding="utf-8", errors="surrogatepass")
            root = given.get("root") if isinstance(given, dict) else ""
            plans.append(load_plan(folder, name, root if isinstance(root, str) else "", roots))
        believed: list[Believed] = []
        found = [*(f for p in plans for f in p.findings), *follow_all(plans, certificates, model, believed)]
    return Outcome(tuple(found), tuple(believed))


def assert_found(honest: Honest, changes: Sequence[tuple[str, Numbers]], *, with_model: bool) -> str:
    """Forge a plan; ``found``, ``believed``, ``the same`` (in meaning), or ``unchanged``.

    :raises Unfound: if it passes, and computes something else.
    """
    forged = Forged.of(honest)
    for k, (kind, numbers) in enumerate(changes):
        try:
            FORGERIES[kind](forged, numbers)
        except (KeyError, IndexError, TypeError, AttributeError, ZeroDivisionError):
            if k == 0:
                raise
            break  # an earlier change left nothing of what this one changes
    same = forged.documents == honest.documents and forged.constants == honest.written.constants
    outcome = checked(forged, honest.model if with_model else None)
    where = ", ".join(kind for kind, _ in changes)
    if same:
        if outcome.findings:
            raise Unfound("plan-refused", where, "; ".join(map(str, outcome.findings[:3])))
        return "unchanged"
    for finding in outcome.findings:
        if not finding.problem.strip() or re.search(r"\b[A-Z]\w*(Error|Exception)\b", finding.problem):
            raise Unfound("no-proper-message", finding.problem[:60], str(finding))
    if outcome.findings:
        return "found"
    if outcome.believed:
        return "believed"
    for name, document in forged.documents.items():
        try:
            problem = differs(document, forged, with_model=with_model and name == next(iter(forged.documents)))
        except Exception as failed:
            problem = f"its graphs cannot be run: {type(failed).__name__}: {failed}"
        if problem:
            raise Unfound("forgery-passes", where, f"{name}: {problem}")
    return "the same"


def differs(document: Mapping[str, Any], forged: Forged, *, with_model: bool) -> str:
    """How what a document says its graphs compute differs; constants that nobody knows have any elements."""
    before, after = (read_graph(document, which) for which in ("before", "after"))
    listed = document["constants"]
    old: dict[str, Array] = {}
    for v in before.constants:
        digest = listed["before"][v.name]["sha256"]
        old[v.name] = forged.arrays.get(digest, np.ones(v.shape, next(iter(before.constants.values())).dtype))
    new = {v.name: _elements(v, listed["after"][v.name], old, forged) for v in after.constants}
    one, other = _with(before, old), _with(after, new)
    types = {v.name: v.type.at(dict.fromkeys(before.symbols, 3)) for v in before.inputs}
    inputs = {name: np.random.default_rng(7).standard_normal(t.shape).astype(t.dtype) for name, t in types.items()}
    wanted = evaluate(forged.honest.model if with_model else one, inputs)
    for which, graph in (("before", one), ("after", other)):
        for v, a, b in zip(before.outputs, wanted, evaluate(graph, inputs), strict=True):
            if a.shape != b.shape or a.tobytes() != b.tobytes():
                return f"the result {v.name} of the graph {which} is another one"
    return ""


def _elements(v: Value, c: Mapping[str, Any], old: Mapping[str, Array], forged: Forged) -> Array:
    if c["sha256"] in forged.arrays:
        return forged.arrays[c["sha256"]]
    of = old[c["of"]]
    return of if c["layout"] == PLAIN else pack(read_layout(c["layout"]), of, v.dtype)


def _with(graph: Graph, arrays: Mapping[str, Array]) -> Graph:
    return Graph(graph.name, graph.inputs, {v: arrays[v.name] for v in graph.constants}, graph.nodes, graph.outputs)


__all__ = ["Outcome", "Unfound", "assert_found", "checked"]
