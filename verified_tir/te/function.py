"""From tensors to the program that defines them: one nest of loops for each operation, in the order of use.

The nest of a reduction runs over the result's axes, then over those that are reduced; its block begins with ``T.init``.
Where an axis that is reduced is known to be empty, the nest stores what the reduction begins with; where that depends
on a symbol, a nest of its own can do so first.
This program is what a schedule refines: the left side of every theorem of :func:`verified_tir.te.lower`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE
from verified_tir.ir.expr import TRUE, Expr, IntImm, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, Block, For, If, IterVar, LetStmt, Stmt, Store, seq
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars, substitute
from verified_tir.te.attributes import attributes
from verified_tir.te.errors import TEError
from verified_tir.te.reduction import Reduce, domain
from verified_tir.te.tensor import ComputeOp, Operation, PlaceholderOp, Tensor

Argument: TypeAlias = "Tensor | Var"


def operations(outputs: Sequence[Tensor]) -> list[Operation]:
    """All operations that the tensors need, each after those that it uses."""
    done: dict[Operation, None] = {}
    stack: list[tuple[Operation, bool]] = [(t.op, False) for t in reversed(outputs)]
    while stack:
        op, expanded = stack.pop()
        if op in done:
            continue
        if expanded or isinstance(op, PlaceholderOp):
            done[op] = None
            continue
        stack.append((op, True))
        stack.extend((t.op, False) for t in reversed(op.inputs))
    return list(done)


def create_prim_func(
    args: Sequence[Argument], name: str = "main", *, empty: bool = False, attrs: Mapping[str, Any] | None = None
) -> PrimFunc:
    """The function that computes the result tensors among ``args`` from the others.

    Tensors that are not listed are local.  Variables in ``args`` become scalar parameters; other variables in shapes
    are taken from the arrays.

    :param empty: symbols in the extents of a reduction may be 0: what it begins with is stored in a nest of its own, so
        that the result has elements even then.  Otherwise it has none, as in TVM.
    :param attrs: attributes of the function.  ``layout_transform_map`` maps tensors to index maps, functions, or lists
        of these that are applied in turn (RFC 39); :func:`verified_tir.te.lower` applies it.
    :raises TEError: if an input is missing, or nothing is computed.
    """
    tensors = [a for a in args if isinstance(a, Tensor)]
    for a in args:
        if not isinstance(a, (Tensor, Var)):
            raise TEError(f"the arguments of {name} are tensors and variables, not {a!r}")
    if len(set(args)) != len(args):
        raise TEError(f"an argument of {name} is listed twice")
    names = [a.name for a in args]
    for n in names:
        if names.count(n) > 1:
            raise TEError(f"two arguments of {name} are called {n}; give them different names (name=…)")
    ops = operations(tensors)
    computed = [op for op in ops if isinstance(op, ComputeOp)]
    given = {t.buffer for t in tensors}
    if not any(isinstance(t.op, ComputeOp) for t in tensors):
        raise TEError(f"{name} computes nothing: list its results among the arguments, after the inputs")
    for op in computed:
        for t in op.inputs:
            if isinstance(t.op, PlaceholderOp) and t.buffer not in given:
                raise TEError(f"{op.name} reads {t.name}, which is not among the arguments of {name}")
    blocks = block_names(computed)
    body = seq(*(s for op in computed for s in _nests(op, blocks[op], empty, {*blocks.values()})))
    for op in reversed(computed):
        for b in reversed(op.buffers):
            if b not in given:
                body = Allocate(b, body)
    params, buffers = [], []
    for a in args:
        if isinstance(a, Var):
            params.append(a)
        else:
            handle = Var.fresh(a.name, HANDLE)
            params.append(handle)
            buffers.append((handle, a.buffer))
    func = PrimFunc(name, tuple(params), tuple(buffers), body, attributes(attrs or {}))
    _check_variables(func, computed)
    return func


def block_names(computed: Sequence[ComputeOp]) -> dict[ComputeOp, str]:
    """A name for the block of each operation: its own, numbered where several have one."""
    names: dict[ComputeOp, str] = {}
    taken: set[str] = set()
    for op in computed:
        name, k = op.name, 0
        while name in taken:
            k += 1
            name = f"{op.name}_{k}"
        taken.add(name)
        names[op] = name
    return names


def _nests(op: ComputeOp, block: str, empty: bool, taken: set[str]) -> list[Stmt]:
    """What an operation computes, in one nest or in two."""
    if not empty or all(isinstance(n, IntImm) for _, n in map(domain, op.reduce_axis)):
        return [_nest(op, block)]
    first = f"{block}_init"
    while first in taken:
        first += "_"
    return [_nest(op, first, "first"), _nest(op, block, "next")]


def _nest(op: ComputeOp, block: str, part: Literal["", "first", "next"] = "") -> Stmt:
    """One nest: all of an operation, or of a reduction what it begins with, or the rest."""
    zero = const(0)
    loops: list[tuple[Var, Expr, Expr]] = []
    iters: list[IterVar] = []
    at: dict[Var, Expr] = {}
    for axis, extent in zip(op.spatial, op.shape, strict=True):
        loop, inside = Var.fresh(axis.name), Var.fresh(f"v_{axis.name}")
        loops.append((loop, zero, extent))
        iters.append(IterVar(inside, zero, extent, "spatial", loop))
        at[axis] = inside
    for axis in op.reduce_axis:
        low, extent = domain(axis)
        loop, inside = Var.fresh(axis.name), Var.fresh(f"v_{axis.name}")
        loops.append((loop, low, extent))
        iters.append(IterVar(inside, low, extent, "reduce", loop))
        at[axis] = inside
    indices = tuple(at[a] for a in op.spatial)
    never = any(isinstance(n, IntImm) and n.value <= 0 for _, n in map(domain, op.reduce_axis))
    if op.reduce is not None and (never or part == "first"):
        # nothing is reduced, so no iteration would begin with ``T.init``: the results are what a reduction begins with
        loops, iters = loops[: len(op.spatial)], iters[: len(op.spatial)]
        body, init = _stores(op.buffers, indices, [substitute(e, at) for e in op.reduce.first()]), None
    elif op.reduce is None:
        body, init = _stores(op.buffers, indices, [substitute(v, at) for v in op.values]), None
    else:
        body, init = _update(op, op.reduce, indices, at)
    init = None if part else init
    nest: Stmt = Block(block, tuple(iters), TRUE, None, None, init, body)
    for loop, low, extent in reversed(loops):
        nest = For(loop, low, extent, nest, "serial")
    return nest


def _update(op: ComputeOp, reduce: Reduce, indices: tuple[Expr, ...], at: dict[Var, Expr]) -> tuple[Stmt, Stmt]:
    so_far = [Load(b, indices) for b in op.buffers]
    init = _stores(op.buffers, indices, [substitute(e, at) for e in reduce.first()])
    body = _stores(op.buffers, indices, [substitute(e, at) for e in reduce.next(so_far)])
    if reduce.where is not None:
        body = If(substitute(reduce.where, at), body)
    return body, init


def _stores(buffers: Sequence[Buffer], indices: tuple[Expr, ...], values: Sequence[Expr]) -> Stmt:
    """All the values are computed before the first is stored: a later one may read what an earlier store changes."""
    if len(buffers) == 1:
        return Store(buffers[0], values[0], indices)
    names = [Var.fresh(f"v_{b.name}", v.dtype) for b, v in zip(buffers, values, strict=True)]
    body = seq(*(Store(b, n, indices) for b, n in zip(buffers, names, strict=True)))
    for n, v in zip(reversed(names), reversed(values), strict=True):
        body = LetStmt(n, v, body)
    return body


def _check_variables(func: PrimFunc, computed: Sequence[ComputeOp]) -> None:
    """Every variable of the definition comes from an argument."""
    known = {*func.params, *(v for b in func.buffers for e in b.shape for v in free_vars(e))}
    for op in computed:
        axes = {*op.spatial, *op.reduce_axis}
        exprs = [*op.shape, *op.values, *(e for a in op.reduce_axis for e in domain(a))]
        if op.reduce is not None:
            exprs += [*op.reduce.values, *op.reduce.first(), *([] if op.reduce.where is None else [op.reduce.where])]
        for v in (v for e in exprs for v in free_vars(e) if v not in axes):
            if v not in known and v.dtype is not HANDLE:
                raise TEError(f"{op.name} uses {v.name}, which is not an axis of it and not known from the arguments")
