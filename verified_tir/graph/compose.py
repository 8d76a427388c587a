"""Several nodes as one program: what lies between them becomes a local buffer.

That is what running one after the other means; nothing is optimised here, and nothing has to be proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Node, Value
from verified_tir.graph.names import Names
from verified_tir.graph.node_program import program_of
from verified_tir.graph.program import buffer_like, on_buffers
from verified_tir.graph.sizes import hidden
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, Block, Stmt, seq
from verified_tir.ir.visit import rewrite


def composed(nodes: Sequence[Node], inputs: Sequence[Value], outputs: Sequence[Value], name: str = "") -> PrimFunc:
    """The program that runs the nodes in this order, from ``inputs`` to ``outputs``.

    Blocks and local buffers of different nodes are given different names.

    :raises GraphError: if a node reads what is neither an input nor computed by an earlier one.
    """
    names, blocks = Names(), Names()
    buffers = {v: buffer_like(names.fresh(v.name), v.type) for v in (*inputs, *outputs)}
    local: list[Buffer] = []
    parts: list[Stmt] = []
    for n in nodes:
        for v in n.outputs:
            if v not in buffers:
                buffers[v] = buffer_like(names.fresh(v.name), v.type)
                local.append(buffers[v])
        missing = [v.name for v in n.inputs if v not in buffers]
        if missing:
            raise GraphError(f"{n} reads {', '.join(missing)}, which is not among the operands of the program")
        body = on_buffers(n, program_of(n), [buffers[v] for v in (*n.inputs, *n.outputs)])
        parts.append(_named_apart(body, blocks))
    whole = seq(*parts)
    for b in reversed(local):
        whole = Allocate(b, whole)
    if unseen := hidden(e for v in (*inputs, *outputs) for e in v.dims):
        raise GraphError(f"the size of no operand or result of the whole is {unseen[0].name}")
    handles = [(Var.fresh(buffers[v].name, HANDLE), buffers[v]) for v in (*inputs, *outputs)]
    return PrimFunc(name or "_".join(n.op.rpartition(".")[2] for n in nodes), tuple(h for h, _ in handles),
                    tuple(handles), whole)  # fmt: skip


def _named_apart(body: Stmt, names: Names) -> Stmt:
    """The statement with its blocks under names that are not taken; they are taken then."""

    def renamed(n: object) -> Stmt | None:
        return replace(n, name=name) if isinstance(n, Block) and (name := names.fresh(n.name)) != n.name else None

    return rewrite(body, renamed)
