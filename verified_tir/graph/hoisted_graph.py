"""The graph of a function from which layout rewrites were lifted: the rewrites as nodes, the rest as ``call_tir``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, final

from verified_tir.graph.builder import GraphBuilder
from verified_tir.graph.compact import Step
from verified_tir.graph.ir import Graph, Value
from verified_tir.graph.program import function, type_of_buffer
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, Seq, Stmt, seq
from verified_tir.ir.visit import walk


@final
@dataclass(frozen=True, slots=True)
class Lifted:
    """A rewrite that was lifted out of a function: from ``source`` to ``target``, which are its buffers.

    ``steps`` are its compact form; if it has none (``reason`` says why), it is a function of its own.
    """

    source: Buffer
    target: Buffer
    side: Literal["operand", "result"]
    label: str
    steps: tuple[Step, ...]
    reason: str = ""

    def __str__(self) -> str:
        what = ", ".join(map(str, self.steps)) or f"a function of its own, since {self.reason}"
        return f"{self.target.name} from {self.source.name}: {what}"


def graph_of_parts(
    func: PrimFunc,
    inputs: Sequence[Buffer],
    outputs: Sequence[Buffer],
    lifted: Sequence[Lifted],
    bodies: Mapping[str, Stmt],
    rest: Stmt,
    mark: str,
) -> tuple[Graph, PrimFunc]:
    """The graph of the function's arrays, and the function that is left, which gets the attribute ``mark``.

    :param bodies: of rewrites without a compact form, by label.
    """
    rest = _without_allocations(rest, {b for x in lifted for b in (x.source, x.target)})
    operands = [x for x in lifted if x.side == "operand"]
    results = [x for x in lifted if x.side == "result"]
    used = {n.data for n in walk(rest) if isinstance(n, Buffer)}
    given = _in_order(inputs, operands, used)
    made = list(outputs)
    for x in results:
        made = [x.source if b is x.target else b for b in made]
    core = function(func.name, [*given, *made], rest, [*((k, v) for k, v in func.attrs if k != mark), (mark, True)])

    g = GraphBuilder("main" if func.name != "main" else "graph")
    values: dict[Buffer, Value] = {b: g.input(b.name, (t := type_of_buffer(b)).shape, t.dtype) for b in inputs}
    for x in operands:
        values[x.target] = rewritten(g, values[x.source], x, bodies)
    types = [type_of_buffer(b) for b in made]
    computed = g.add("call_tir", [values[b] for b in given], types, {}, core, [b.name for b in made], "")
    values.update(zip(made, computed if isinstance(computed, tuple) else (computed,), strict=True))
    for x in reversed(results):
        values[x.target] = rewritten(g, values[x.source], x, bodies)
    return g.finish(*(values[b] for b in outputs)), core


def rewritten(g: GraphBuilder, v: Value, x: Lifted, bodies: Mapping[str, Stmt]) -> Value:
    """The nodes of one rewrite."""
    for k, s in enumerate(x.steps, 1):
        v = g.op(s.op, v, name=x.target.name if k == len(x.steps) else s.op, **s.attrs)
    if not x.steps:
        func = function(f"{x.target.name}_rewrite", [x.source, x.target], bodies[x.label])
        v = g.call_tir(func, [v], [type_of_buffer(x.target)], x.target.name)
    return v


def _in_order(inputs: Sequence[Buffer], operands: Sequence[Lifted], used: set[Var]) -> list[Buffer]:
    """What the rest takes: a rewritten operand in the place of the operand."""
    found: list[Buffer] = []

    def add(b: Buffer) -> None:
        if b.data in used or not any(x.source is b for x in operands):
            found.append(b)
        for x in operands:
            if x.source is b:
                add(x.target)

    for b in inputs:
        add(b)
    return found


def _without_allocations(stmt: Stmt, gone: set[Buffer]) -> Stmt:
    """The program on arrays from outside."""
    match stmt:
        case Allocate(buffer=b, body=body) if b in gone:
            return _without_allocations(body, gone)
        case Allocate(buffer=b, body=body, annotations=notes):
            return Allocate(b, _without_allocations(body, gone), notes)
    return seq(*(_without_allocations(s, gone) for s in stmt.stmts)) if isinstance(stmt, Seq) else stmt
