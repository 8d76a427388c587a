"""The cheapest choice of one option for every node: an integer program.

x[n, o] says that node n takes option o, one for each node.  y[v, l] says that value v is also needed in layout l, which
its producer does not give: a rewrite, made once however many read it.  A value in a layout whose padding holds
something serves those who want it in that layout and do not care.

    minimise    Σ cost(v) · y[v, l]  +  Σ own(n, o) · x[n, o]
    such that   Σ_o x[n, o] = 1,   Σ_{l' serves l} y[v, l'] ≥ x[c, o] - Σ_{o' gives v so that it serves l} x[p, o']
                for each reader c of v in l with option o

Inputs and outputs of the graph are plain; constants cost nothing.  HiGHS solves it, through SciPy, to optimality.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Graph, Node, TensorType, Value
from verified_tir.graph.layouts import PLAIN, serves
from verified_tir.graph.options import Option
from verified_tir.graph.sizes import estimate

Cost = Callable[[Value], float]
Own = Callable[[Node, Option], float]
"""What a node costs by itself with an option, such as filling padding."""


def bytes_moved(v: Value) -> float:
    """What a rewrite of a tensor reads and writes; about that, where its size is open."""
    return 2.0 * estimated(v.type).nbytes


def estimated(t: TensorType) -> TensorType:
    """The type with numbers for sizes that are open, by which costs are compared."""
    return TensorType(tuple(map(estimate, t.dims)), t.dtype)


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """An option for each node, the rewrites that are left (value and layout), and what they cost together."""

    options: dict[Node, Option]
    rewrites: tuple[tuple[Value, str], ...]
    cost: float


def rewrites(graph: Graph, options: Mapping[Node, Option]) -> list[tuple[Value, str]]:
    """Which values are needed in a layout that their producers do not give, with the options chosen."""
    given = {v: t for n, o in options.items() for v, t in zip(n.outputs, o.outputs, strict=True)}
    found: dict[tuple[Value, str], None] = {}
    for n in graph.nodes:
        for v, text in zip(n.inputs, options[n].inputs, strict=True):
            if v not in graph.constants and not serves(given.get(v, PLAIN), text):
                found[v, text] = None
    for v in graph.outputs:
        if given.get(v, PLAIN) != PLAIN:
            found[v, PLAIN] = None
    return [(v, t) for v, t in found if not any(w is v and s != t and serves(s, t) for w, s in found)]


def cost_of(graph: Graph, options: Mapping[Node, Option], cost: Cost = bytes_moved, own: Own | None = None) -> float:
    """What the rewrites of a choice cost, and the nodes by themselves."""
    alone = sum(own(n, o) for n, o in options.items()) if own is not None else 0.0
    return sum(cost(v) for v, _ in rewrites(graph, options)) + alone


def choose(
    graph: Graph, options: Mapping[Node, Sequence[Option]], cost: Cost = bytes_moved, own: Own | None = None
) -> Choice:
    """The choice that costs least.

    :raises GraphError: if SciPy is not installed, or its solver ends without a proof that the choice is best.
    """
    taken = _Program(graph, options, cost, own).solve()
    return Choice(taken, tuple(rewrites(graph, taken)), cost_of(graph, taken, cost, own))


class _Program:
    """The integer program in the making: columns, and rows as triples."""

    def __init__(
        self, graph: Graph, options: Mapping[Node, Sequence[Option]], cost: Cost, own: Own | None = None
    ) -> None:
        self.graph = graph
        self.options = options
        self.columns: list[float] = []
        self.x = {
            (n, k): self._column(0.0 if own is None else own(n, o))
            for n in graph.nodes
            for k, o in enumerate(options[n])
        }
        self.y: dict[Value, dict[str, int]] = {}
        self.rows: list[tuple[dict[int, float], float, float]] = []
        producer = graph.producer()
        for n in graph.nodes:
            self.rows.append(({self.x[n, k]: 1.0 for k in range(len(options[n]))}, 1.0, 1.0))
        needs: list[tuple[Value, str, list[int] | None]] = []
        for n in graph.nodes:
            for v in dict.fromkeys(n.inputs):
                if v not in graph.constants:
                    needs += self._reader(v, n)
        needs += [(v, PLAIN, None) for v in dict.fromkeys(graph.outputs) if v in producer]
        needs = [(v, text, readers) for v, text, readers in needs if v in producer or text != PLAIN]
        for v, text, _ in needs:
            if text not in self.y.setdefault(v, {}):
                self.y[v][text] = self._column(cost(v))
        for v, text, readers in needs:
            self._needs(v, text, readers, producer.get(v))
        if len(self.x) < 2**10 and all(c == int(c) for c in self.columns):
            # of plans that cost the same, the one that changes fewest nodes
            for (n, k), column in self.x.items():
                o = options[n][k]
                self.columns[column] += 2.0**-10 * any((*o.inputs, *o.outputs))

    def _column(self, cost: float) -> int:
        self.columns.append(cost)
        return len(self.columns) - 1

    def _reader(self, v: Value, n: Node) -> list[tuple[Value, str, list[int] | None]]:
        places = [k for k, i in enumerate(n.inputs) if i is v]
        wanted: dict[str, list[int]] = {}
        for k, o in enumerate(self.options[n]):
            for text in {o.inputs[p] for p in places}:
                wanted.setdefault(text, []).append(self.x[n, k])
        return [(v, text, readers) for text, readers in wanted.items()]

    def _needs(self, v: Value, text: str, readers: list[int] | None, producer: Node | None) -> None:
        """One row: where v is read in a layout, it is given in it or rewritten."""
        row = {y: 1.0 for made, y in self.y[v].items() if serves(made, text)}
        if producer is not None:
            place = producer.outputs.index(v)
            for k, o in enumerate(self.options[producer]):
                if serves(o.outputs[place], text):
                    row[self.x[producer, k]] = 1.0
        for column in readers or ():
            row[column] = row.get(column, 0.0) - 1.0
        self.rows.append((row, 0.0 if readers is not None else 1.0, np.inf))

    def solve(self) -> dict[Node, Option]:
        """The best choice."""
        if not self.columns:
            return {}
        try:
            from scipy.optimize import Bounds, LinearConstraint, milp
            from scipy.sparse import csr_array
        except ImportError:
            from verified_tir.extras import missing

            raise GraphError(missing("planning", "graph")) from None
        entries = [(r, c, a) for r, (row, _, _) in enumerate(self.rows) for c, a in row.items()]
        r, c, a = (np.array(x) for x in zip(*entries, strict=True))
        matrix = csr_array((a, (r, c)), shape=(len(self.rows), len(self.columns)))
        low, high = np.array([x[1] for x in self.rows]), np.array([x[2] for x in self.rows])
        solved = milp(
            np.array(self.columns), constraints=LinearConstraint(matrix, low, high), bounds=Bounds(0, 1),
            integrality=np.ones(len(self.columns)), options={"mip_rel_gap": 0.0},
        )  # fmt: skip
        if solved.status != 0:
            raise GraphError(f"the solver did not find the best plan: {solved.message}")
        return {
            n: next(o for k, o in enumerate(self.options[n]) if solved.x[self.x[n, k]] > 0.5) for n in self.graph.nodes
        }
