"""What nodes and graphs mean, as programs.

A graph is one program: the programs of its nodes one after the other, on buffers that are allocated for what flows
between them.

    def main(x, y):                            def main(x, y, …constants, r):
        t = R.add(x, y)              means         t = T.alloc_buffer(…)
        r = R.nn.relu(t)                           add's program on x, y, t
        return r                                   relu's program on t, r

So a rewrite of graphs can be a theorem: the program of the one graph is refined by that of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from verified_tir.elaborate.blocks import expand_blocks
from verified_tir.elaborate.labels import without_labels
from verified_tir.graph.element_types import held_as
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Graph, Node, TensorType, Value, symbol_values
from verified_tir.graph.names import Names
from verified_tir.graph.operators import legalize
from verified_tir.graph.sizes import hidden, widened
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE, INT64, DType
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Expr, IntImm, Load, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, Block, For, Seq, Stmt, Store, seq
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import refresh_binders, rewrite, walk
from verified_tir.kernel.calls import Arguments, instantiate
from verified_tir.schedule.schedule import Schedule


def program_of(node: Node) -> PrimFunc:
    """What a node computes, results last among its parameters.

    :raises GraphError: if its operator is not known or does not take its operands.
    """
    if node.func is not None:
        return node.func
    return legalize(node.op, [v.type for v in node.inputs], node.attrs, str(node))


def program_key(node: Node) -> object:
    """The same for nodes with one program."""
    if node.func is not None:
        return node.func
    return node.op, repr(sorted(node.attrs.items())), tuple(v.type for v in node.inputs)


def buffer_like(name: str, t: TensorType) -> Buffer:
    """A buffer for a tensor."""
    shape: list[Expr] = [const(e, "int32") for e in t.dims]
    return Buffer.declare(name, tuple(shape), DType.parse(held_as(t.dtype)))


def type_of_buffer(b: Buffer) -> TensorType:
    """The type of the tensor that a buffer holds.

    :raises GraphError: if its shape is not one of a graph, or its elements do not lie one after the other.
    """
    if b.strides or not (isinstance(b.elem_offset, IntImm) and b.elem_offset.value == 0):
        raise GraphError(f"{b.name} declares strides or an offset; the arrays of a graph have none")
    return TensorType(b.shape, str(b.dtype))


def function(name: str, buffers: Sequence[Buffer], body: Stmt, attrs: Sequence[tuple[str, object]] = ()) -> PrimFunc:
    """A function with these parameters; what it binds is its own."""
    handles = tuple(Var.fresh(b.name, HANDLE) for b in buffers)
    mine = tuple(b.with_data(Var.fresh(b.data.name, b.data.type)) for b in buffers)
    old = PrimFunc(name, handles, tuple(zip(handles, buffers, strict=True)), body)
    made = instantiate(old, Arguments(mine))
    return PrimFunc(name, handles, tuple(zip(handles, mine, strict=True)), made, tuple(attrs))  # type: ignore[arg-type]


def node_body(node: Node, buffers: Sequence[Buffer]) -> Stmt:
    """What a node does, on buffers for its operands and results; its blocks expanded, under one label: its result."""
    body = on_buffers(node, expand_blocks(program_of(node)), buffers)
    return Block.label(node.outputs[0].name, without_labels(body))


def on_buffers(node: Node, func: PrimFunc, buffers: Sequence[Buffer]) -> Stmt:
    """What the program of a node does, on buffers for the node's operands and results."""
    given = symbol_values(node, func)
    sizes = tuple((v, widened(const(e)) if v.dtype is INT64 else const(e)) for v, e in given.items())
    return instantiate(func, Arguments(tuple(buffers), sizes))


def filled_with_undef(b: Buffer) -> Stmt:
    """A buffer made undefined throughout, as a new array is."""
    return _everywhere(b, lambda i: Undef(b.dtype))


def copy_of(source: Buffer, target: Buffer, label: str) -> Stmt:
    """A buffer copied to one of the same shape."""
    return _everywhere(target, lambda i: Load(source, i), label)


def _everywhere(b: Buffer, value: Callable[[tuple[Var, ...]], Expr], label: str = "") -> Stmt:
    loops = tuple(Var.fresh(f"i{k}", e.dtype) for k, e in enumerate(b.shape))
    body: Stmt = Store(b, value(loops), loops)
    body = Block.label(label, body) if label else body
    for v, e in reversed(list(zip(loops, b.shape, strict=True))):
        body = For(v, const(0, v.dtype), e, body)
    return body


def program_of_graph(graph: Graph) -> PrimFunc:
    """The graph as one function of its inputs, its constants and, last, its results.

    :raises GraphError: if a result is an input or a constant, or stands twice: an array is returned once.
    """
    buffers: dict[Value, Buffer] = {v: buffer_like(v.name, v.type) for v in graph.values()}
    computed = {v for n in graph.nodes for v in n.outputs}
    wrong = next((v for v in graph.outputs if v not in computed or graph.outputs.count(v) > 1), None)
    if wrong is not None:
        raise GraphError(f"the result {wrong.name} of {graph.name} is not an array of its own")
    body = seq(*(node_body(n, [buffers[v] for v in (*n.inputs, *n.outputs)]) for n in graph.nodes))
    for n in reversed(graph.nodes):
        for v in reversed(n.outputs):
            if v not in graph.outputs:
                body = Allocate(buffers[v], body)
    parameters = [buffers[v] for v in (*graph.inputs, *graph.constants, *graph.outputs)]
    return function(graph.name, parameters, body)


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


def one_store(nodes: Sequence[Node], name: str = "") -> Schedule:
    """A chain of nodes as one program, from the operand of the first to the result of the last, of a single store."""
    s = Schedule(composed(nodes, [nodes[0].inputs[0]], [nodes[-1].output], name))
    for block in s.blocks[:-1]:
        s.compute_inline(block)
    return s


def _named_apart(body: Stmt, names: Names) -> Stmt:
    """The statement with its blocks under names that are not taken; they are taken then."""

    def renamed(n: object) -> Stmt | None:
        return replace(n, name=name) if isinstance(n, Block) and (name := names.fresh(n.name)) != n.name else None

    return rewrite(body, renamed)


def same_program(a: PrimFunc, b: PrimFunc) -> bool:
    """Whether two functions are one program up to names, labels, the type in which fixed extents are written, and where
    in it a buffer of fixed shape is allocated.

    Nothing is evaluated where a buffer of fixed shape is allocated, and outside of loops it is allocated once: so it
    does not matter how early.
    """
    return structural_equal(_plain(a), _plain(b))


def _with_small_extents(b: Buffer) -> Buffer:
    """The buffer, its extents written as int32 if they are numbers of that type."""
    if not all(isinstance(e, IntImm) and e.value < 2**31 for e in b.shape):
        return b
    return replace(b, shape=tuple(const(e.value, "int32") for e in b.shape if isinstance(e, IntImm)))


def _plain(func: PrimFunc) -> PrimFunc:
    """The function without labels, buffers of fixed shape allocated first, in the order of their use."""
    early: set[Buffer] = set()

    def go(s: Stmt) -> Stmt:
        match s:
            case Allocate(buffer=b, body=body) if all(isinstance(e, IntImm) for e in b.shape):
                early.add(b)
                return go(body)
            case Allocate(buffer=b, body=body, annotations=notes):
                return Allocate(b, go(body), notes)
            case Seq(stmts=stmts):
                return seq(*map(go, stmts))
        return s

    func = rewrite(func, lambda n: _with_small_extents(n) if isinstance(n, Buffer) else None)
    body = go(without_labels(refresh_binders(func.body)[0]))
    for b in reversed(list(dict.fromkeys(n for n in walk(body) if isinstance(n, Buffer) and n in early))):
        body = Allocate(b, body)
    return PrimFunc(func.name, func.params, func.buffer_map, body)
