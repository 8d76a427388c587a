"""The cheapest choice of one option for every node: an integer program.

x[n, o] says that node n takes option o, one for each node.  y[v, l] says that value v is also needed in layout l, which
its producer does not give: a rewrite, made once however many read it.

    minimise    Σ cost(v) · y[v, l]
    such that   Σ_o x[n, o] = 1,   y[v, l] ≥ x[c, o] - Σ_{o' gives v in l} x[p, o']   for each reader c and option o

Inputs and outputs of the graph are plain; constants cost nothing.  Solved by HiGHS through SciPy, to optimality.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Graph, Node, Value
from verified_tir.graph.options import PLAIN, Option

Cost = Callable[[Value], float]


def bytes_moved(v: Value) -> float:
    """What a rewrite of a tensor reads and writes."""
    return 2.0 * v.type.nbytes


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
            if v not in graph.constants and given.get(v, PLAIN) != text:
                found[v, text] = None
    for v in graph.outputs:
        if given.get(v, PLAIN) != PLAIN:
            found[v, PLAIN] = None
    return list(found)


def cost_of(graph: Graph, options: Mapping[Node, Option], cost: Cost = bytes_moved) -> float:
    """What the rewrites of a choice cost."""
    return sum(cost(v) for v, _ in rewrites(graph, options))


def choose(graph: Graph, options: Mapping[Node, Sequence[Option]], cost: Cost = bytes_moved) -> Choice:
    """The choice whose rewrites cost least.

    :raises GraphError: if SciPy is not installed, or its solver ends without a proof that the choice is best.
    """
    program = _Program(graph, options, cost)
    taken = program.solve()
    left = rewrites(graph, taken)
    return Choice(taken, tuple(left), sum(cost(v) for v, _ in left))


class _Program:
    """The integer program in the making: columns, and rows as triples."""

    def __init__(self, graph: Graph, options: Mapping[Node, Sequence[Option]], cost: Cost) -> None:
        self.graph = graph
        self.options = options
        self.columns: list[float] = []
        self.x = {(n, k): self._column(0.0) for n in graph.nodes for k in range(len(options[n]))}
        self.y: dict[tuple[Value, str], int] = {}
        self.rows: list[tuple[dict[int, float], float, float]] = []
        self.cost = cost
        producer = graph.producer()
        for n in graph.nodes:
            self.rows.append(({self.x[n, k]: 1.0 for k in range(len(options[n]))}, 1.0, 1.0))
        for n in graph.nodes:
            for v in dict.fromkeys(n.inputs):
                if v not in graph.constants:
                    self._reader(v, n, producer.get(v))
        for v in dict.fromkeys(graph.outputs):
            if v in producer:
                self._needs(v, PLAIN, None, producer[v])

    def _column(self, cost: float) -> int:
        self.columns.append(cost)
        return len(self.columns) - 1

    def _reader(self, v: Value, n: Node, producer: Node | None) -> None:
        places = [k for k, i in enumerate(n.inputs) if i is v]
        wanted: dict[str, list[int]] = {}
        for k, o in enumerate(self.options[n]):
            for text in {o.inputs[p] for p in places}:
                wanted.setdefault(text, []).append(self.x[n, k])
        for text, readers in wanted.items():
            self._needs(v, text, readers, producer)

    def _needs(self, v: Value, text: str, readers: list[int] | None, producer: Node | None) -> None:
        """One row: where v is read in a layout, it is given in it or rewritten."""
        if producer is None and text == PLAIN:
            return
        if (v, text) not in self.y:
            self.y[v, text] = self._column(self.cost(v))
        row = {self.y[v, text]: 1.0}
        if producer is not None:
            place = producer.outputs.index(v)
            for k, o in enumerate(self.options[producer]):
                if o.outputs[place] == text:
                    row[self.x[producer, k]] = 1.0
        for column in readers or ():
            row[column] = row.get(column, 0.0) - 1.0
        self.rows.append((row, 0.0 if readers is not None else 1.0, np.inf))

    def solve(self) -> dict[Node, Option]:
        try:
            from scipy.optimize import Bounds, LinearConstraint, milp
            from scipy.sparse import csr_array
        except ImportError:
            raise GraphError("planning needs SciPy: pip install 'verified_tir[graph]'") from None
        entries = [(r, c, a) for r, (row, _, _) in enumerate(self.rows) for c, a in row.items()]
        r, c, a = (np.array(x) for x in zip(*entries, strict=True)) if entries else (np.zeros(0, int),) * 3
        matrix = csr_array((a, (r, c)), shape=(len(self.rows), len(self.columns)))
        low, high = np.array([x[1] for x in self.rows]), np.array([x[2] for x in self.rows])
        if not self.columns:
            return {}
        solved = milp(
            np.array(self.columns), constraints=LinearConstraint(matrix, low, high), bounds=Bounds(0, 1),
            integrality=np.ones(len(self.columns)),
        )  # fmt: skip
        if solved.status != 0:
            raise GraphError(f"the solver did not find the best plan: {solved.message}")
        return {
            n: next(o for k, o in enumerate(self.options[n]) if solved.x[self.x[n, k]] > 0.5) for n in self.graph.nodes
        }
