"""Rewrites of layouts between their two forms: a PrimFunc that moves elements, and ``layout_transform`` with ``pad``
and ``crop`` (the compact form of Relax's design).

A PrimFunc is recognised by what it does (``copies``), however its loops are written: its index map and padding are
found, the compact form is chosen, and the kernel proves that the PrimFunc is refined by the compact form's program.
The way back is the definition of the operators (``graph.operators.legalize``); that it may be *this* PrimFunc is a
theorem too (:meth:`Compact.back`).

A map with padding has two compact forms: ``layout_transform`` with a ``pad_value``, and ``pad`` followed by a bijection
(:func:`decomposed`); from what a padded layout holds, a bijection followed by ``crop`` leads back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from verified_tir.elaborate.labels import without_labels
from verified_tir.graph.builder import GraphBuilder
from verified_tir.graph.copies import Copied, copied, extents_of
from verified_tir.graph.errors import NoCopy
from verified_tir.graph.ir import Graph, TensorType, Value
from verified_tir.graph.program import buffer_like, filled_with_undef, node_body, program_of_graph, type_of_buffer
from verified_tir.graph.replace_statements import Proof, inline_own, replace_statements
from verified_tir.index.map import IndexMap, IndexMapError
from verified_tir.index.padded import padded_box
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, FloatImm, IntImm
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Stmt, Store, seq
from verified_tir.ir.visit import walk
from verified_tir.kernel.calls import Arguments, instantiate
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.scope import Declare
from verified_tir.kernel.theorem import Refines
from verified_tir.schedule.rule_builders import labelled
from verified_tir.schedule.schedule import Schedule
from verified_tir.schedule.session import Session, TacticFailed


@final
@dataclass(frozen=True, slots=True)
class Step:
    """An operator of the compact form: ``layout_transform``, ``pad`` or ``crop``, with its attributes."""

    op: str
    attrs: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.op}({', '.join(f'{k}={v}' for k, v in self.attrs.items())})"


@final
@dataclass(frozen=True, slots=True)
class Compact:
    """The compact form of a PrimFunc: steps from its argument to its result.

    ``theorem`` says that the PrimFunc is refined by the program of the steps (:func:`program_of_graph` of
    :attr:`graph`).  If the PrimFunc leaves places of its result as they are, it is the PrimFunc on a result of which
    nothing is known: ``call_tir`` gives it a new array.  ``schedule`` is what certificates are written of.
    """

    func: PrimFunc
    copied: Copied
    steps: tuple[Step, ...]
    theorem: Refines
    schedule: Schedule

    @property
    def graph(self) -> Graph:
        """The steps as a graph with one input."""
        return graph_of(self.steps, type_of_buffer(self.copied.source), self.func.name)

    def back(self) -> Refines:
        """The theorem that the program of the steps is refined by the PrimFunc.

        :raises ScheduleError: if the kernel does not see it.
        """
        proof = Proof(program_of_graph(self.graph))
        source, target = proof.func.buffers
        given = {self.copied.source: source, self.copied.target: target}
        body = instantiate(Proof(self.func).func, Arguments(tuple(given[b] for b in self.func.buffers)))
        proof.replace_statements((), 1, body, target)
        return proof.theorem


def compact(func: PrimFunc) -> Compact:
    """The compact form of a PrimFunc that rewrites a layout.

    :raises NoCopy: if it does anything else, with the reason.
    :raises ScheduleError: if the program has no meaning, or the kernel does not prove what was found.
    """
    source, target = interface(func)
    plain = _inlined(func)
    found = copied(without_labels(plain), source, target)
    steps = steps_of(found)
    body = func.body if found.filled else seq(filled_with_undef(target), func.body)
    proof = Proof(func.with_body(body))
    proof.take("compact", steps, lambda s: steps_become(s, (), 1, steps, source, target))
    return Compact(func, found, steps, proof.theorem, proof.schedule)


def interface(func: PrimFunc) -> tuple[Buffer, Buffer]:
    """The buffer that a function reads, and the one that it writes.

    :raises NoCopy: if there are more, or other parameters.
    """
    written = {n.buffer.data for n in walk(func.body) if isinstance(n, Store)}
    targets = [b for b in func.buffers if b.data in written]
    sources = [b for b in func.buffers if b.data not in written]
    if len(func.params) != len(func.buffers) or len(targets) != 1 or len(sources) != 1:
        names = [", ".join(b.name for b in some) or "nothing" for some in (sources, targets)]
        raise NoCopy(
            f"{func.name} reads {names[0]} and writes {names[1]}; a rewrite of a layout reads one array and writes one"
        )
    return sources[0], targets[0]


def _inlined(func: PrimFunc) -> Stmt:
    """The body without arrays of its own, as far as their values can be computed where they are read."""
    proof = Proof(func)
    with contextlib.suppress(TacticFailed):
        proof.session.apply(labelled((), "all", 1))
        inline_own(proof.session, "all", func.buffers[-1])
    return proof.func.body


# -- the steps ---------------------------------------------------------------------------------------------------------


def number(value: Expr | None) -> float | int | None:
    """A constant as a number; ``None`` for no value."""
    if value is None:
        return None
    assert isinstance(value, (FloatImm, IntImm))
    return value.value


def steps_of(found: Copied) -> tuple[Step, ...]:
    """The shortest compact form of a copy.

    :raises NoCopy: if there is none.
    """
    shape, made = extents_of(found.source), extents_of(found.target)
    if found.direction == "backward":
        return decomposed(found.index_map, made, shape, None, backward=True)
    if found.index_map.constant_shape(shape) == made:
        return (transform(found.index_map, number(found.pad_value)),)
    return decomposed(found.index_map, shape, made, number(found.pad_value))


def transform(index_map: IndexMap, pad_value: float | None = None) -> Step:
    return Step("layout_transform", {"index_map": index_map, "pad_value": pad_value})


def decomposed(
    index_map: IndexMap,
    shape: Sequence[int],
    target: Sequence[int] | None = None,
    pad_value: float | None = None,
    *,
    backward: bool = False,
) -> tuple[Step, ...]:
    """A map of ``shape`` as padding and a bijection (``backward``: a bijection and what is cut off).

    :param target: the shape of the layout, where it is larger than the elements need.
    :raises NoCopy: if it is not of that form.
    """
    try:
        parts = padded_box(index_map, shape, index_map.constant_shape(shape) if target is None else target)
    except IndexMapError as problem:
        raise NoCopy(f"{index_map} on {tuple(shape)}: {problem}") from None
    steps: list[Step] = []
    if not backward:
        if parts.fused is not None:
            steps.append(transform(parts.fused))
        if any(map(any, parts.widths)):
            steps.append(Step("pad", {"pad_width": parts.widths, "pad_value": pad_value}))
        if not parts.bijection.is_identity(parts.padded) or not steps:
            steps.append(transform(parts.bijection))
        return tuple(steps)
    if not parts.bijection.is_identity(parts.padded):
        steps.append(transform(parts.bijection.inverse(parts.padded)))
    if any(map(any, parts.widths)):
        starts = tuple(a for a, _ in parts.widths)
        steps.append(Step("crop", {"start_indices": starts, "slice_sizes": parts.box, "cropped_value": pad_value}))
    if parts.fused is not None:
        steps.append(transform(parts.fused.inverse(shape)))
    return tuple(steps) or (transform(IndexMap.identity(len(shape))),)


def graph_of(steps: Sequence[Step], source: TensorType, name: str = "main") -> Graph:
    """The steps as a graph with one input."""
    g = GraphBuilder(name)
    v = g.input("x", source.shape, source.dtype)
    for s in steps:
        v = g.op(s.op, v, name=s.op, **s.attrs)
    return g.finish(v)


def steps_become(
    session: Session, path: Path, count: int, steps: Sequence[Step], source: Buffer, target: Buffer
) -> None:
    """``count`` statements from ``path`` on, which copy ``source`` to ``target``, become the programs of the steps.

    :raises TacticFailed: if the kernel refuses.
    """
    graph = graph_of(steps, type_of_buffer(source))
    buffers: dict[Value, Buffer] = {graph.inputs[0]: source, graph.outputs[0]: target}
    if len(steps) > 1 and count > 1:
        session.apply(labelled(path, f"{target.name}_rewrite", count))
        count = 1
    for node in graph.nodes[:-1]:
        b = buffers[node.output] = buffer_like(node.op, node.output.type)
        session.apply(Declare(path, b))
        session.apply(Insert((*path, 0), node_body(node, [buffers[node.inputs[0]], b])))
        path = (*path, 0, 1)
    last = graph.nodes[-1]
    replace_statements(session, path, count, node_body(last, [buffers[last.inputs[0]], target]), target)
