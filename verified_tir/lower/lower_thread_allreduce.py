"""LowerThreadAllreduce: a reduction across threads becomes partial results and a tree over them.

    for k in T.serial(32, annotations={"thread_allreduce": 4}):
        B[0] = B[0] + A[k]
                                  ⟶
    for k_0 in range(8):                           B_4: one partial result for each of the 4 threads
        for k_1 in T.vectorized(4):
            B_4[k_1] = B_4[k_1] + A[k_0 * 4 + k_1]
    for j_0 in range(2):                           then a tree: 4 → 2, and so on
        for j_1 in T.vectorized(2):
            B_2[j_1] = B_2[j_1] + B_4[j_0 * 2 + j_1]
    for j in range(2):
        B[0] = B[0] + B_2[j]

On this target threads are lanes.  The kernel's rule is ``reassociate``.  Sums of integers are exact, and so are minima
and maxima of floats that are neither NaN nor -0.0.  A sum of floats is not: its bits depend on the tree.  So the user
has to allow it, by naming the buffer that holds the result in ``reassociate``, or earlier in the derivation; then the
theorem says so (:attr:`Refines.reassociated`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, IntImm, Load, Var
from verified_tir.ir.find import loop_path, writes_of
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import For, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import bound_vars, free_vars, nodes_of
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.lower.passes import Lowering, Pass
from verified_tir.schedule import codes
from verified_tir.schedule.rule_builders import annotated, of_kind
from verified_tir.schedule.session import Session, fail, owner
from verified_tir.schedule.tactics.licensed import apply_licensed
from verified_tir.schedule.tactics.loops import split

MARK = "thread_allreduce"
"""The annotation of a reduction loop: over how many threads its iterations are divided, a power of two."""


@final
@dataclass(frozen=True, repr=False)
class LowerThreadAllreduce(Pass):
    """Divide reductions marked ``thread_allreduce`` among lanes.

    :ivar reassociate: names of buffers whose float reductions may be summed in another order.
    """

    reassociate: tuple[str, ...] = ()

    def lower(self, work: Lowering) -> None:
        work.each(For, lambda path, loop: self._tree(work.session, path, loop), lambda s: MARK in dict(s.annotations))

    def _tree(self, session: Session, path: Path, loop: For) -> None:
        threads = _threads(loop, path)
        result = _result(loop, path)
        origins = session.origins(result.data)
        allowed = result.name in self.reassociate or origins <= session.theorem.reassociated
        licence = owner(session.func, result.data).name if allowed else ""
        session.apply(annotated(path, tuple(pair for pair in loop.annotations if pair[0] != MARK)))
        rest: Var = loop.var
        while threads >= 2:
            rest = _divided(session, rest, threads, result, licence)
            threads //= 2


def _threads(loop: For, path: Path) -> int:
    value = dict(loop.annotations)[MARK]
    threads = value.value if isinstance(value, IntImm) else value
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 2 or threads & (threads - 1):
        raise fail(
            f"the loop over {loop.var.name} is divided among {threads!r} threads, which is not a power of two",
            path,
            code=codes.NOT_OF_THIS_FORM,
        )
    return threads


def _result(loop: For, path: Path) -> Buffer:
    stores = writes_of(loop.body)
    if len(stores) != 1:
        raise fail(
            f"the body of the loop over {loop.var.name} is not one update of a result",
            path,
            code=codes.NOT_OF_THIS_FORM,
        )
    inside = {loop.var, *bound_vars(loop.body)}
    if any(v in inside for e in stores[0].indices for v in free_vars(e)):
        raise fail(
            f"the element of {stores[0].buffer.name} that is updated changes in the nest",
            path,
            code=codes.NOT_OF_THIS_FORM,
        )
    return stores[0].buffer


def _divided(session: Session, var: Var, threads: int, result: Buffer, licence: str) -> Var:
    """Partial results for one level of the tree; gives the loop that adds them up, of ``threads`` iterations."""
    split_loops = split(session, var, (None, threads))
    path, _ = session.loop(split_loops[0])
    partial = Buffer.declare(f"{result.name}_{threads}", (const(threads),), result.dtype)
    index: Expr = split_loops[1]
    remedy = f'LowerThreadAllreduce(reassociate=("{result.name}",))'
    apply_licensed(session, Reassociate(path, partial, (index,)), result.data, licence, remedy)
    _vectorize(session, split_loops[1])
    ((_, last),) = session.find(For, lambda s: _adds_up(s, partial))
    return last.var


def _vectorize(session: Session, var: Var) -> None:
    path = loop_path(session.func, session.current(var))
    if path is not None:
        session.attempt(of_kind(path, "vectorized"))


def _adds_up(loop: For, partial: Buffer) -> bool:
    """Whether this is the loop that adds the partial results to the whole."""
    reads = any(load.buffer is partial for load in nodes_of(loop.body, Load))
    return isinstance(loop.body, Store) and loop.body.buffer is not partial and reads
