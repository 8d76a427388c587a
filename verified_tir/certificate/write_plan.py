"""From a plan to its certificates, and to the document that says how they make it up.

What stands in the document, ``verified_tir.certificate.plans`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from verified_tir import __version__
from verified_tir.certificate.canonical import text_hash
from verified_tir.certificate.plan_believed import external_function
from verified_tir.certificate.plan_graphs import array_hash
from verified_tir.certificate.plan_layouts import write_layout
from verified_tir.certificate.plans import SCHEMA, sealed_plan
from verified_tir.certificate.write import Origin, Written
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array, Graph, Node, Value
from verified_tir.graph.layouts import PLAIN
from verified_tir.graph.plan import Plan
from verified_tir.graph.program import program_of
from verified_tir.graph.relayout import Relaid
from verified_tir.graph.text import is_written
from verified_tir.schedule.schedule import Schedule

Progress = Callable[[int, int, str], None]


def write_plan(
    made: Plan, name: str, layouts: Sequence[str] = (), model: str = "", progress: Progress | None = None
) -> tuple[Written, dict[str, Any]]:
    """The certificates of a plan, and the plan itself.

    :param name: of the model, as a path below the folder; the certificates stand below it.
    :param layouts: what was asked for, as a person wrote it.
    :param model: the file that the model came from.
    :raises GraphError: if moved nodes have the names of their operators: certificates are about moved programs.
    """
    named = next((n for n in made.relaid if n.func is None), None)
    if named is not None:
        raise GraphError(f"{named}: certificates are about moved programs; plan without operators=True")
    writer = _Writer(made, name, model or name)
    writer.certificates(progress)
    constants = writer.constants(made.before), writer.constants(made.graph)
    return writer.written, document(made.before, made.graph, constants, writer.steps(), model or name, layouts)


def document(
    before: Graph, after: Graph, constants: tuple[dict[str, Any], dict[str, Any]], steps: list[dict[str, Any]],
    model: str, layouts: Sequence[str] = (),
) -> dict[str, Any]:  # fmt: skip
    """The document of two graphs, their constants, and the steps between them."""
    graphs = {which: {"hash": text_hash(str(g)), "text": str(g).split("\n")}
              for which, g in (("before", before), ("after", after))}  # fmt: skip
    plan = {
        "schema": SCHEMA,
        "tool": {"name": "vtir", "version": __version__},
        "plan": {"model": model, "layouts": list(layouts)},
        **graphs,
        "constants": dict(zip(("before", "after"), constants, strict=True)),
        "steps": steps,
    }
    return sealed_plan(plan)


def constant(v: Value, array: Array, of: Value, layout: str) -> dict[str, Any]:
    """What is said of a constant, which is another one in a layout, or itself."""
    return {
        "dtype": v.dtype, "shape": list(v.shape), "sha256": array_hash(array), "of": of.name, "layout": layout,
    }  # fmt: skip


def step(
    results: Sequence[str], kind: str, node: Sequence[str], values: list[dict[str, Any]], certificate: str | None,
    written: Written, function: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What is said of a step."""
    return {
        "results": list(results),
        "kind": kind,
        "node": list(node),
        "values": values,
        "certificate": certificate,
        "root": None if certificate is None else written.certificates[certificate]["root"],
        "function": function,
    }


@final
class _Writer:
    """Writes each schedule once, however many nodes have its program."""

    def __init__(self, made: Plan, name: str, model: str) -> None:
        self.made = made
        self.name = name
        self.model = model
        self.written = Written()
        self.names: dict[Schedule, str] = {}
        self.roles: dict[Value, list[tuple[Value, str]]] = {}
        for w, v, layout in made.roles:
            self.roles.setdefault(w, []).append((v, layout))

    def certificates(self, progress: Progress | None) -> None:
        proofs: list[tuple[str, Relaid]] = []
        for new, proof in self.made.relaid.items():
            proofs.append((self.made.implements[new].op, proof))
        proofs += [(n.op, proof) for n, proof in self.made.proofs.items()]
        proofs += [(f"{n.op}_gone", proof) for n, proof in self.made.elided.items()]
        schedules = list({proof.schedule: op for op, proof in reversed(proofs)}.items())[::-1]
        counts: dict[str, int] = {}
        for k, (schedule, op) in enumerate(schedules):
            counts[op] = counts.get(op, 0) + 1
            certificate = f"{self.name}/{op.replace('/', '-')}-{counts[op]}"
            if progress is not None:
                progress(k, len(schedules), certificate)
            self.names[schedule] = certificate
            self.written.add(certificate, schedule, Origin(op, self.model))

    def constants(self, graph: Graph) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for v, array in graph.constants.items():
            of, layout = next(iter(self.roles.get(v, [(v, PLAIN)]))) if graph is self.made.graph else (v, PLAIN)
            if v in self.made.packed:
                of, layout = self.made.packed[v]
                self._beside(of)
            found[v.name] = constant(v, array, of, self._layout_text(layout))
        return found

    def _beside(self, of: Value) -> None:
        """The elements of a constant that is packed lie beside, unless they stand in the text."""
        array = self.made.before.constants[of]
        if not is_written(array):
            self.written.constants[array_hash(array)] = np.ascontiguousarray(array).tobytes()

    def _layout_text(self, layout: str) -> str:
        return write_layout(self.made.layouts[layout])

    def steps(self) -> list[dict[str, Any]]:
        """In the order of the graph after; rewrites that went stand where their nodes stood before."""
        made = self.made
        order = {n: k for k, n in enumerate(made.before.nodes)}
        gone = sorted(made.elided, key=order.__getitem__)
        found: list[dict[str, Any]] = []
        for n in made.graph.nodes:
            old = made.implements.get(n)
            while old is not None and gone and order[gone[0]] < order[old]:
                found.append(self._gone(gone.pop(0)))
            found.append(self._rewrite(n) if old is None else self._node(n, old))
        return found + [self._gone(n) for n in gone]

    def _node(self, n: Node, old: Node) -> dict[str, Any]:
        proof = self.made.relaid.get(n)
        kind = "moved" if proof is not None else "same" if n.func is old.func else "external"
        values = [(v, self._layout(w, v)) for w, v in zip(n.outputs, old.outputs, strict=True)]
        function = None
        if n in self.made.external:
            function = external_function(program_of(n)) or self.made.external[n].name
        return self._step([w.name for w in n.outputs], kind, old, values, proof, function)

    def _rewrite(self, n: Node) -> dict[str, Any]:
        (of, layout) = self.roles[n.output][0]
        return self._step([n.output.name], "rewrite", None, [(of, layout)], self.made.proofs.get(n))

    def _gone(self, old: Node) -> dict[str, Any]:
        there, layout = next((w, t) for w, v, t in self.made.roles if v is old.output and self._is_operand(w, old))
        return self._step([there.name], "gone", old, [(old.output, layout)], self.made.elided[old])

    def _is_operand(self, w: Value, old: Node) -> bool:
        return any(v is old.inputs[0] for v, _ in self.roles[w])

    def _layout(self, w: Value, v: Value) -> str:
        return next(layout for of, layout in self.roles[w] if of is v)

    def _step(
        self, results: list[str], kind: str, old: Node | None, values: list[tuple[Value, str]], proof: Relaid | None,
        function: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        name = None if proof is None else self.names[proof.schedule]
        node = [] if old is None else [v.name for v in old.outputs]
        said = [{"of": v.name, "layout": self._layout_text(layout)} for v, layout in values]
        return step(results, kind, node, said, name, self.written, function)
