"""Several nodes as one program: what lies between them becomes a local buffer.

That is what running one after the other means; nothing is optimised here, and nothing has to be proved.
"""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.graph.element_types import held_as
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Node, Value, symbol_values
from verified_tir.graph.node_program import program_of
from verified_tir.graph.sizes import hidden
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, Block, Stmt, seq
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import rewrite
from verified_tir.kernel.calls import Arguments, instantiate


def composed(nodes: Sequence[Node], inputs: Sequence[Value], outputs: Sequence[Value], name: str = "") -> PrimFunc:
    """The program that runs the nodes in this order, from ``inputs`` to ``outputs``.

    Blocks and local buffers of different nodes are given different names.

    :raises GraphError: if a node reads what is neither an input nor computed by an earlier one.
    """
    taken: set[str] = set()
    buffers = {v: _buffer(v, taken) for v in (*inputs, *outputs)}
    local: dict[Value, Buffer] = {}
    blocks: set[str] = set()
    parts: list[Stmt] = []
    for n in nodes:
        for v in n.outputs:
            if v not in buffers:
                buffers[v] = local[v] = _buffer(v, taken)
        missing = [v.name for v in n.inputs if v not in buffers]
        if missing:
            raise GraphError(f"{n} reads {', '.join(missing)}, which is not among the operands of the program")
        func = program_of(n)
        sizes = tuple((v, const(e)) for v, e in symbol_values(n, func).items())
        body = instantiate(func, Arguments(tuple(buffers[v] for v in (*n.inputs, *n.outputs)), sizes))
        parts.append(_named_apart(body, blocks))
    whole = seq(*parts)
    for b in reversed(list(local.values())):
        whole = Allocate(b, whole)
    if unseen := hidden(e for v in (*inputs, *outputs) for e in v.dims):
        raise GraphError(f"the size of no operand or result of the whole is {unseen[0].name}")
    handles = [(Var.fresh(buffers[v].name, HANDLE), buffers[v]) for v in (*inputs, *outputs)]
    return PrimFunc(name or "_".join(n.op.rpartition(".")[2] for n in nodes), tuple(h for h, _ in handles),
                    tuple(handles), whole)  # fmt: skip


def _buffer(v: Value, taken: set[str]) -> Buffer:
    name, k = v.name, 0
    while name in taken:
        k += 1
        name = f"{v.name}_{k}"
    taken.add(name)
    return Buffer.declare(name, v.dims, held_as(v.dtype))


def _named_apart(body: Stmt, taken: set[str]) -> Stmt:
    """The statement with its blocks under names that are not taken; they are taken then."""

    def renamed(n: object) -> Stmt | None:
        if not isinstance(n, Block):
            return None
        name, k = n.name, 0
        while name in taken:
            k += 1
            name = f"{n.name}_{k}"
        taken.add(name)
        if name == n.name:
            return None
        return Block(name, n.iter_vars, n.predicate, n.reads, n.writes, n.init, n.body, n.alloc_buffers, n.annotations)

    found: Stmt = rewrite(body, renamed)
    return found
