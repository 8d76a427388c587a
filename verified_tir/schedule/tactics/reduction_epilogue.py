"""fuse_reduction_epilogue: what is added to a finished sum is added in the nest that sums.

    for i, j: for k: t[i, j] += a(k)               for i, j:
    for x, y: D[x, y] = t[x, y] + C[x, y]    ⟶         for k: t += a(k)
                                                       D[i, j] = t + C[i, j]

The epilogue runs as soon as its sum is complete, in the innermost loop that is not one of the reduction
(``reverse_compute_at``).  TVM lets D itself begin as C and be summed into, which is the same for integers, and rounds
floats in another order.  With the rules there are, a sum cannot be moved from one buffer into another.

TVM also applies ``max(…, 0)`` and clipping to every partial sum.  That is another program, and it is refused; an input
that tells the two apart is looked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, FloatImm, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import SKIP, Block, For, If, Seq, Store
from verified_tir.ir.visit import free_vars, map_children, nodes_of, substitute
from verified_tir.kernel.rules.reduction import term_of
from verified_tir.schedule import codes
from verified_tir.schedule.replay import Programs, replay
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.reverse_compute import reverse_compute_at

WORK = 60_000
"""How many stores and iterations are run to find an input that tells two programs apart."""


@final
@dataclass(frozen=True, slots=True)
class Reduction:
    """A block that begins with an initialisation, and then updates."""

    path: Path
    start: If
    update: Store


def fuse_reduction_epilogue(session: Session, reduction_block: str, epilogue_block: str) -> None:
    """Run an epilogue, which adds to a finished sum, in the nest of the sum."""
    reduction = _reduction(session, reduction_block)
    place, epilogue = _epilogue(session, epilogue_block, reduction)
    op, _ = term_of(reduction.update) or ("", None)
    if not _is_term(op, epilogue, reduction.update.buffer):
        found = _told_apart(session, reduction, place, epilogue)
        shown = f"; {found}" if found else ""
        raise fail(
            f"block {epilogue_block} does more to the result of {reduction_block} than its own operation does, so it "
            f"cannot be done to every partial result{shown}. Use reverse_compute_at to run it once, after the sum",
            place,
            code=codes.NOT_OF_THIS_FORM,
        )
    loop = _innermost(session, reduction)
    reverse_compute_at(session, epilogue_block, loop)


def _reduction(session: Session, block: str) -> Reduction:
    path, label = session.block(block)
    match label.body:
        case Seq(stmts=(If(else_body=None, then_body=Store(buffer=b)) as start, Store() as update)) if (
            term_of(update) is not None and update.buffer is b
        ):
            return Reduction(path, start, update)
    raise fail(
        f"block {block} is not an initialisation and an update B[…] = B[…] + …", path, code=codes.NOT_OF_THIS_FORM
    )


def _epilogue(session: Session, block: str, reduction: Reduction) -> tuple[Path, Store]:
    """The place and the store of a block that reads the result of a reduction once.

    :raises TacticFailed: if it does something else.
    """
    path, label = session.block(block)
    store, result = label.body, reduction.update.buffer
    if not isinstance(store, Store) or store.buffer is result:
        raise fail(
            f"block {block} is not one store to another buffer than {result.name}", path, code=codes.NOT_OF_THIS_FORM
        )
    reads = [n for n in nodes_of(store, Load) if n.buffer is result]
    if len(set(reads)) != 1:
        raise fail(
            f"block {block} reads {len(set(reads))} elements of {result.name}; an epilogue reads one",
            path,
            code=codes.NOT_OF_THIS_FORM,
        )
    return path, store


def _is_term(op: str, epilogue: Store, result: Buffer) -> bool:
    """Whether an epilogue stores ``result ⊕ c`` or ``c ⊕ result``."""
    found = term_of(Store(result, epilogue.value, _read(epilogue, result).indices))
    return found is not None and found[0] == op and not any(n.buffer is result for n in nodes_of(found[1], Load))


def _read(epilogue: Store, result: Buffer) -> Load:
    return next(n for n in nodes_of(epilogue, Load) if n.buffer is result)


def _innermost(session: Session, reduction: Reduction) -> Var:
    """The innermost loop around a reduction over whose iterations nothing is summed.

    :raises TacticFailed: if there is none, or a loop of the reduction stands outside of it.
    """
    around = session.loops_around(reduction.path)
    elements = {v for e in reduction.update.indices for v in free_vars(e)}
    spatial = [k for k, s in enumerate(around) if s.var in elements]
    if not spatial:
        raise fail(
            "every loop around the reduction is one of the sum: the epilogue follows it already",
            reduction.path,
            code=codes.NOTHING_TO_CHANGE,
        )
    summed = [s.var.name for s in around[: spatial[-1]] if s.var not in elements]
    if summed:
        raise fail(
            f"the sum is complete only when the loop over {summed[0]} has ended, inside of which is that over "
            f"{around[spatial[-1]].var.name}: reorder the loops of the sum to the inside first",
            reduction.path,
            code=codes.STANDS_ELSEWHERE,
        )
    return around[spatial[-1]].var


# -- what TVM would make of it -----------------------------------------------------------------------------------------


def _told_apart(session: Session, reduction: Reduction, place: Path, epilogue: Store) -> str:
    """What an input shows on which the epilogue of every partial sum gives something else than that of the sum; nothing
    if none is found.

    Large arrays are filled in a few ways only, in which floats that are passed, such as bounds, may all be one.  So the
    programs are compared for some constants in their place, too.
    """
    would_be = _of_every_partial_sum(session.func, reduction, place, epilogue)
    if would_be is None:
        return ""
    func, paddings = session.func, session.theorem.paddings
    scalars = [v for v in func.params if func.buffer_of(v) is None and v.dtype.is_float]
    values = {v: FloatImm(v.dtype, float(k)) for k, v in enumerate(scalars, start=-(len(scalars) // 2))}
    for known in ({}, values) if values else ({},):
        pair = [f.with_body(substitute(f.body, known)) for f in (func, would_be)]
        try:
            found = replay(Programs(pair[0], pair[1], paddings, paddings, ()), {}, WORK)
        except IRError:  # the epilogue reads what is not there yet
            return ""
        if found.confirmed:
            given = ", ".join(f"{v.name} = {e.value}" for v, e in known.items())
            return f"{found.describe()}{f', where {given}' if given else ''}"
    return ""


def _of_every_partial_sum(func: PrimFunc, reduction: Reduction, place: Path, epilogue: Store) -> PrimFunc | None:
    """The program in which the reduction goes to the epilogue's buffer, the epilogue applied at each step; ``None`` if
    the epilogue's element does not determine which one."""
    result = reduction.update.buffer
    variables = _read(epilogue, result).indices
    if not all(isinstance(v, Var) for v in variables) or len(set(variables)) != len(variables):
        return None
    of_element: dict[Var, Expr] = {}
    for v, e in zip(variables, reduction.update.indices, strict=True):
        assert isinstance(v, Var)
        of_element[v] = e
    target = tuple(substitute(e, of_element) for e in epilogue.indices)

    def applied(value: Expr) -> Store:
        onto = _with(epilogue.value, of_element, result, value)
        return Store(epilogue.buffer, _onto(onto, result, epilogue.buffer, target), target)

    start = If(reduction.start.condition, applied(_stored(reduction.start)))
    body = Seq((start, applied(reduction.update.value)))
    new = put(func.body, (*reduction.path, 0), body)
    return func.with_body(put(new, _nest(func, place), SKIP))


def _stored(start: If) -> Expr:
    assert isinstance(start.then_body, Store)
    return start.then_body.value


def _with(value: Expr, of_element: Mapping[Var, Expr], result: Buffer, partial: Expr) -> Expr:
    """An epilogue's value, of one partial sum."""

    def go(node: Node) -> Node:
        return partial if isinstance(node, Load) and node.buffer is result else map_children(node, go)

    moved = substitute(value, of_element)
    found = go(moved)
    assert isinstance(found, Expr)
    return found


def _onto(value: Expr, result: Buffer, buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
    """A value that reads a buffer in place of the result of the reduction."""

    def go(node: Node) -> Node:
        return Load(buffer, indices) if isinstance(node, Load) and node.buffer is result else map_children(node, go)

    found = go(value)
    assert isinstance(found, Expr)
    return found


def _nest(func: PrimFunc, place: Path) -> Path:
    """The outermost loop, guard or label around a place in which nothing else stands."""
    while place and isinstance(at(func.body, place[:-1]), (For, If, Block)):
        place = place[:-1]
    return place


__all__ = ["fuse_reduction_epilogue"]
