"""From nodes that were replaced to their certificates, and to the document that says which.

What stands in the document, ``verified_tir.certificate.replacements`` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verified_tir.certificate.plans import PLAIN
from verified_tir.certificate.write import Origin, Written
from verified_tir.certificate.write_plan import constant, document, step
from verified_tir.graph.errors import GraphError
from verified_tir.graph.fuse import Fusion
from verified_tir.graph.ir import Graph, Node
from verified_tir.graph.rewrite_passes import Passed
from verified_tir.schedule.schedule import Schedule


def write_hoisting(
    before: Graph, made: Passed, name: str, model: str = "", written: Written | None = None
) -> tuple[Written, dict[str, Any]]:
    """The certificates of what was lifted out of PrimFuncs, and the document ``hoisted``.

    :param name: of the model, as a path below the folder; the certificates stand below it.
    :param model: the file that the model came from.
    :param written: certificates to which these are added.
    :raises GraphError: if a node has one operand twice: which of the two a lifted node reads could not be said.
    """
    twice = next((n for n in made.replaced if len(set(n.inputs)) < len(n.inputs)), None)
    if twice is not None:
        raise GraphError(f"{twice} has one operand twice: what was lifted out of it has no certificate")
    written = Written() if written is None else written
    names = _named({n: p.schedule for n, p in made.replaced.items()}, f"{name}/hoisted", model or name, written)
    steps = [
        step([m.outputs[0].name for m in p.nodes], "replaced", [n.outputs[0].name], [], names[p.schedule], written)
        for n, p in made.replaced.items()
    ]
    return written, _document(before, made.graph, steps, model or name)


def write_fusions(
    before: Graph, after: Graph, fusions: Sequence[Fusion], name: str, model: str = "", written: Written | None = None
) -> tuple[Written, dict[str, Any]]:
    """The certificates of fused programs, and the document ``fused``.

    :param before: the graph as it was planned; ``after`` it has the calls.
    """
    written = Written() if written is None else written
    names = _named({f.into: f.proof.schedule for f in fusions}, f"{name}/fused", model or name, written)
    steps: list[dict[str, Any]] = []
    for k, f in enumerate(fusions):
        olds = [n.outputs[0].name for n in f.nodes]
        steps.append(step([f.into.outputs[0].name], "replaced", olds, [], names[f.proof.schedule], written))
        if not any(f.nodes[0] is g.nodes[0] for g in fusions[k + 1 :]):  # the last that takes it in
            steps.append(step([], "unused", olds[:1], [], None, written))
    return written, _document(before, after, steps, model or name)


def _named(proofs: Mapping[Node, Schedule], stem: str, model: str, written: Written) -> dict[Schedule, str]:
    """Each schedule's certificate, written once."""
    found: dict[Schedule, str] = {}
    for schedule in proofs.values():
        if schedule not in found:
            found[schedule] = f"{stem}-{len(found) + 1}"
            written.add(found[schedule], schedule, Origin(schedule.func.name, model))
    return found


def _document(before: Graph, after: Graph, steps: list[dict[str, Any]], model: str) -> dict[str, Any]:
    first, last = ({v.name: constant(v, a, v, PLAIN) for v, a in g.constants.items()} for g in (before, after))
    return document(before, after, (first, last), steps, model)
