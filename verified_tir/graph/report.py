"""What a plan came to, in numbers and names: for people (``vtir plan``) and for programs (``--json``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from verified_tir.graph.choose import estimated
from verified_tir.graph.ir import Graph, Node, Value
from verified_tir.graph.layouts import PLAIN, layout_text
from verified_tir.graph.operators.layout import COMPACT
from verified_tir.graph.options import Frozen
from verified_tir.graph.plan import Plan
from verified_tir.graph.rewrite_passes import Passed
from verified_tir.graph.sizes import dim_text


@final
@dataclass(frozen=True, slots=True)
class Rewrite:
    """A rewrite that is left in the planned graph; ``moved`` in bytes read and written."""

    op: str
    source: str
    result: str
    shape: tuple[int | str, ...]
    to_shape: tuple[int | str, ...]
    index_map: str
    reason: str
    moved: int


@final
@dataclass(frozen=True, slots=True)
class Packed:
    """A constant that was packed in advance: its values before and after, its map, its bytes."""

    value: str
    result: str
    index_map: str
    nbytes: int


@final
@dataclass(frozen=True, slots=True)
class PlanReport:
    """A plan in numbers.

    :ivar before: bytes moved by rewrites around each frozen node alone; ``after``: by those that are left.
    :ivar changed: nodes whose programs were moved to other layouts; ``programs``: how many of these differ.
    :ivar steps: applications of rules of the kernel, for programs that were moved and for rewrites; ``obligations``:
        what they owed, all of it proved.
    :ivar problems: why a layout went no further, with the nodes of which this is true.
    :ivar fused: calls in which a rewrite was put together with the program beside it.
    :ivar lifted: from how many different programs rewrites were lifted before; ``None`` if none were looked for.
    """

    model: str
    nodes: int
    frozen: dict[str, int]
    rewrites: tuple[Rewrite, ...]
    constants: tuple[Packed, ...]
    before: int
    after: int
    changed: int
    programs: int
    steps: int
    obligations: int
    problems: tuple[tuple[str, tuple[str, ...]], ...]
    fused: int = 0
    lifted: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Numbers, texts, lists and dictionaries only; times in seconds, sizes in bytes."""
        return {
            "model": self.model,
            "nodes": self.nodes,
            "frozen": self.frozen,
            "bytes_moved": {"around_each_frozen_node": self.before, "planned": self.after},
            "rewrites": [
                {
                    "op": r.op, "from": r.source, "to": r.result, "shape": list(r.shape),
                    "to_shape": list(r.to_shape), "map": r.index_map, "for": r.reason, "bytes_moved": r.moved,
                }
                for r in self.rewrites
            ],
            "constants_packed": [
                {"constant": c.value, "packed": c.result, "map": c.index_map, "bytes": c.nbytes} for c in self.constants
            ],
            "changed_nodes": self.changed,
            "rewrites_fused": self.fused,
            **({} if self.lifted is None else {"programs_lifted_from": self.lifted}),
            "programs": self.programs,
            "steps": self.steps,
            "obligations": self.obligations,
            "problems": [{"reason": why, "nodes": list(nodes)} for why, nodes in self.problems],
            "seconds": {k: round(v, 3) for k, v in self.seconds.items()},
        }  # fmt: skip


def report_of(
    made: Plan, frozen: Mapping[Node, Frozen], model: str = "", *, hoisted: Passed | None = None
) -> PlanReport:
    """The numbers of a plan whose frozen nodes were those given.

    :param hoisted: the pass that lifted rewrites out of programs before (``None``: none were looked for).
    """
    moved = list(dict.fromkeys(r.schedule for r in made.relaid.values()))
    proofs = [r for of in (made.relaid, made.proofs, made.elided) for r in of.values()]
    lifted = () if hoisted is None else hoisted.replaced.values()
    schedules = list(dict.fromkeys(r.schedule for r in (*lifted, *proofs, *(f.proof for f in made.fused))))
    return PlanReport(
        model=model or made.before.name,
        nodes=len(made.before.nodes),
        frozen=dict(Counter(n.op for n in frozen)),
        rewrites=_rewrites(made),
        constants=_packed(made),
        before=int(made.naive),
        after=sum(r.moved for r in _rewrites(made)),
        changed=len(made.relaid),
        programs=len(moved),
        steps=sum(len(step.rules) for s in schedules for step in s.steps),
        obligations=sum(len(step.obligations) for s in schedules for step in s.steps),
        problems=_problems(made.problems),
        fused=len(made.fused),
        lifted=None if hoisted is None else len(hoisted.theorems),
        seconds=dict(made.seconds),
    )


def rewrite_nodes(graph: Graph) -> list[Node]:
    """The nodes of a graph that only move elements."""
    return [n for n in graph.nodes if n.op in COMPACT]


def _rewrites(made: Plan) -> tuple[Rewrite, ...]:
    reasons = dict(made.rewrites)
    found = []
    for n in rewrite_nodes(made.graph):
        if n in made.implements:  # it stood in the model
            continue
        x, y = n.inputs[0], n.output
        index_map = layout_text(n.attrs["index_map"]) if "index_map" in n.attrs else ""
        moved = estimated(x.type).nbytes + estimated(y.type).nbytes
        found.append(Rewrite(n.op, x.name, y.name, _extents(x), _extents(y), index_map, reasons.get(n, ""), moved))
    return tuple(found)


def _extents(v: Value) -> tuple[int | str, ...]:
    """A shape as numbers, and texts of sizes that are open."""
    return tuple(e if isinstance(e, int) else dim_text(e) for e in v.dims)


def _packed(made: Plan) -> tuple[Packed, ...]:
    found = []
    for v in made.graph.constants:
        of, layout = made.stands_for.get(v, (v, PLAIN))
        if layout != PLAIN:
            found.append(Packed(of.name, v.name, layout, v.type.nbytes))
    return tuple(found)


def _problems(texts: list[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Equal reasons together, in the order in which they came up."""
    found: dict[str, dict[str, None]] = {}
    for text in texts:
        node, _, why = text.partition(": ")
        found.setdefault(why or node, {}).update({node: None} if why else {})
    return tuple((why, tuple(nodes)) for why, nodes in found.items())
