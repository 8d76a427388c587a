"""Rewrites of layouts folded into each other and into constants (Relax's "folding adjacent layout rewrites").

Neighbouring rewrites run one after the other are one program, and what is to stand in their place is another: nothing
at all, or one rewrite.  Which one is guessed from their index maps; that the first program is refined by the second is
proved by the kernel, for all elements, padding included.  So

* ``crop(pad(x))`` is x, whatever the padding held;
* ``pad(crop(x))`` is x where ``pad_value`` is undefined, or what was cropped is known to hold that value: because x was
  padded with it itself, or because ``cropped_value`` says so and the hint is to be believed (it is an assumption then);
* two ``layout_transform`` are one, or none.

A rewrite of a constant becomes another constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from verified_tir.graph.conversions import arrive, plain_value
from verified_tir.graph.elide import REWRITES, permutation_of
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array, Graph, Node, TensorType, Value
from verified_tir.graph.layouts import Padded, constant, number, pack
from verified_tir.graph.names import Names
from verified_tir.graph.operators import legalize
from verified_tir.graph.program import one_store, program_of
from verified_tir.graph.relayout import Relaid, same_bits, why_not
from verified_tir.index.map import IndexMap
from verified_tir.ir.expr import Expr
from verified_tir.ir.func import PrimFunc
from verified_tir.schedule.errors import ScheduleError
from verified_tir.script import tir as T  # noqa: N812

DEPTH = 6
"""So many rewrites in a row are looked at together."""


@final
@dataclass(frozen=True, slots=True)
class Fold:
    """Rewrites that went, what stands in their place (``None``: the value that they began with), and the proof."""

    rewrites: tuple[Node, ...]
    into: Node | None
    proof: Relaid


@final
@dataclass(slots=True)
class Folded:
    """The graph with its rewrites folded; ``notes`` say why others stayed."""

    graph: Graph
    folds: list[Fold] = field(default_factory=list)
    constants: dict[Value, Node] = field(default_factory=dict)
    """Constants that a rewrite of a constant became."""
    notes: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    """Hints that were believed."""


def fold_rewrites(graph: Graph, *, believe_hints: bool = False) -> Folded:
    """Fold neighbouring ``layout_transform``, ``pad``, ``crop`` and ``permute_dims``, and those of constants.

    :param believe_hints: take the word of ``cropped_value``; what was believed is listed.
    """
    return _Folding(graph, believe_hints).done()


class _Folding:
    """Goes through the nodes in order; each is made anew on what its operands have become."""

    def __init__(self, graph: Graph, believe_hints: bool) -> None:
        self.graph = graph
        self.believe = believe_hints
        self.made = Folded(graph)
        self.now: dict[Value, Value] = {}
        self.constants: dict[Value, Array] = dict(graph.constants)
        self.producer: dict[Value, Node] = {}
        self.nodes: list[Node] = []
        self.names = Names(v.name for v in graph.values())

    def done(self) -> Folded:
        for n in self.graph.nodes:
            inputs = tuple(self.now.get(v, v) for v in n.inputs)
            node = n if inputs == n.inputs else Node(n.op, inputs, n.outputs, n.attrs, n.func, n.source)
            if node.op in REWRITES and self._folded(node):
                continue
            self._append(node)
        outputs = tuple(self.now.get(v, v) for v in self.graph.outputs)
        nodes = _needed(self.nodes, outputs)
        used = {v for n in nodes for v in n.inputs} | {*outputs}
        constants = {v: a for v, a in self.constants.items() if v in used}
        self.made.graph = replace(self.graph, constants=constants, nodes=tuple(nodes), outputs=outputs)
        return self.made

    def _append(self, node: Node) -> None:
        self.nodes.append(node)
        self.producer.update(dict.fromkeys(node.outputs, node))

    def _folded(self, node: Node) -> bool:
        """Whether a rewrite could be folded; then its result is another value."""
        x = node.inputs[0]
        if x in self.constants:
            new = Value(self.names.fresh(f"{x.name}_{node.op}"), node.output.type)
            self.constants[new] = _rewritten(node, self.constants[x])
            self.now[node.output] = new
            self.made.constants[new] = node
            return True
        chain = self._chain(node)
        parts = [chain[k:] for k in range(len(chain))]  # the longest first
        problem = ""
        for part, into_nothing in [*((p, True) for p in parts), *((p, False) for p in parts[:-1])]:
            why = self._fold(part, into_nothing)
            if why is None:
                return True
            problem = problem or (why if len(part) > 1 else "")
        if problem:
            self.made.notes.append(f"{node} stays beside {chain[-2]}: {problem}")
        return False

    def _chain(self, node: Node) -> list[Node]:
        """The rewrites that lead to a node, and the node."""
        chain = [node]
        while len(chain) < DEPTH:
            before = self.producer.get(chain[0].inputs[0])
            if before is None or before.op not in REWRITES:
                break
            chain.insert(0, before)
        return chain

    def _fold(self, chain: Sequence[Node], into_nothing: bool) -> str | None:
        """Fold a chain into nothing, or one rewrite; or why not (empty if it is out of the question)."""
        x, y = chain[0].inputs[0], chain[-1].output
        problem = "" if into_nothing else "no single rewrite does what they do together"
        for candidate in _candidates(chain):
            if (candidate is None) != into_nothing:
                continue
            into = None if candidate is None else Node(candidate[0], (x,), (y,), candidate[1], None, chain[-1].source)
            try:
                proof, believed = _prove(chain, _target(x.type) if into is None else program_of(into), self.believe)
            except ScheduleError as refused:
                names = " after ".join(n.op for n in reversed(chain))
                failed = f"{names} cannot be removed" if into is None else f"{into.op} cannot replace {names}"
                problem = f"{failed}: {why_not(refused)}"
                continue
            except GraphError as mistake:
                problem = str(mistake)
                continue
            self.made.folds.append(Fold(tuple(chain), into, proof))
            self.made.assumptions += [a for a in believed if a not in self.made.assumptions]
            if into is None:
                self.now[y] = x
            else:
                self._append(into)
            return None
        return problem


def _needed(nodes: Sequence[Node], outputs: Sequence[Value]) -> list[Node]:
    """The nodes without rewrites that nobody reads any more."""
    needed = {*outputs}
    kept: list[Node] = []
    for n in reversed(nodes):
        if n.op not in REWRITES or any(v in needed for v in n.outputs):
            kept.append(n)
            needed.update(n.inputs)
    return kept[::-1]


# -- what may stand in their place -------------------------------------------------------------------------------------


def _candidates(chain: Sequence[Node]) -> Iterator[tuple[str, dict[str, Any]] | None]:
    """Guesses: nothing (``None``), or an operator with attributes."""
    x, y = chain[0].inputs[0], chain[-1].output
    if x.type == y.type:
        yield None
    maps = [_map_of(n) for n in chain]
    values = list(dict.fromkeys([None, *(n.attrs.get("pad_value") for n in reversed(chain))]))
    if all(m is not None for m in maps) and any(n.op == "layout_transform" for n in chain):
        whole = maps[0]
        for m in maps[1:]:
            assert whole is not None and m is not None
            whole = m.compose(whole)
        for value in values[1:] if len(values) > 1 else values:
            yield "layout_transform", {"index_map": whole, "pad_value": value}
    elif all(n.op == "permute_dims" for n in chain):
        axes = list(range(len(x.shape)))
        for n in chain:
            axes = [axes[a] for a in permutation_of(n)]
        yield "permute_dims", {"axes": tuple(axes)}
    if all(n.op in ("pad", "crop") for n in chain):
        yield from _boxes(chain, values[1:] or values)


def _map_of(node: Node) -> IndexMap | None:
    """Where a rewrite puts elements, if it is a map."""
    rank = len(node.inputs[0].shape)
    match node.op:
        case "layout_transform":
            found: IndexMap = node.attrs["index_map"]
            return found
        case "permute_dims":
            axes = permutation_of(node)
            return IndexMap.from_func(lambda *i: [i[a] for a in axes], rank)
        case _:
            return None


def _boxes(chain: Sequence[Node], values: Sequence[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """One ``pad`` or one ``crop`` for several."""
    x, y = chain[0].inputs[0], chain[-1].output
    begin = [0] * len(x.shape)  # where x[0] stands in the result
    for n in chain:
        by = [b for b, _ in n.attrs["pad_width"]] if n.op == "pad" else [-s for s in n.attrs["start_indices"]]
        begin = [b + k for b, k in zip(begin, by, strict=True)]
    end = [n - b - e for b, n, e in zip(begin, y.shape, x.shape, strict=True)]
    if all(k >= 0 for k in (*begin, *end)):
        for value in values:
            yield "pad", {"pad_width": tuple(zip(begin, end, strict=True)), "pad_value": value}
    elif all(k <= 0 for k in (*begin, *end)):
        yield "crop", {"start_indices": tuple(-b for b in begin), "slice_sizes": y.shape}


# -- proofs ------------------------------------------------------------------------------------------------------------


def _target(t: TensorType) -> PrimFunc:
    """The program that copies a tensor."""
    return legalize("permute_dims", [t], {"axes": tuple(range(len(t.shape)))})


def _prove(chain: Sequence[Node], target: PrimFunc, believe: bool) -> tuple[Relaid, list[str]]:
    """That a chain of rewrites is refined by a program; and the hints that this rests on.

    :raises ScheduleError: if it is not.
    :raises GraphError: if the programs cannot be compared.
    """
    x, first = chain[0].inputs[0], chain[0]
    s = one_store(chain)
    hint = first.attrs.get("cropped_value")
    if first.op != "crop" or hint is None or not believe:
        return arrive(s, target), []
    try:
        return arrive(s, target), []
    except ScheduleError:
        s = one_store(chain)
    value = plain_value(hint, x.dtype)
    name = s.func.buffers[0].name
    box = list(zip(first.attrs["start_indices"], first.attrs["slice_sizes"], x.shape, strict=True))

    def outside(*i: Expr) -> Expr:
        inside = [c for v, (b, n, _) in zip(i, box, strict=True) for c in (v >= b, v < b + n)]
        whole = inside[0]
        for c in inside[1:]:
            whole = T.And(whole, c)
        return T.Or(whole, same_bits(s.buffer(name)[i], constant(value, x.dtype)))

    s.assume(outside, name, axiom=True)
    text = f"{x.name} holds {value} where {first.source or first.output.name} crops it (cropped_value)"
    return arrive(s, target, assumed=True), [text]


# -- constants ---------------------------------------------------------------------------------------------------------


def _rewritten(node: Node, array: Array) -> Array:
    """What a rewrite makes of an array; places that may hold anything hold zeros."""
    value = node.attrs.get("pad_value")
    fill = number(value if value is not None else 0, node.output.dtype)
    match node.op:
        case "layout_transform":
            found = pack(Padded(node.attrs["index_map"], value), array, node.output.dtype)
        case "pad":
            found = np.pad(array, [tuple(w) for w in node.attrs["pad_width"]], constant_values=fill)
        case "crop":
            box = zip(node.attrs["start_indices"], node.attrs["slice_sizes"], strict=True)
            found = array[tuple(slice(b, b + n) for b, n in box)]
        case _:
            found = np.transpose(array, node.attrs.get("axes"))
    if found.shape != node.output.shape:
        raise GraphError(f"{node}: the constant becomes {found.shape}, not {node.output.shape}")
    return np.ascontiguousarray(found)
