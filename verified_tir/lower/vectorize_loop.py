"""VectorizeLoop: loops marked ``vectorized`` become vector code.

    for i in T.vectorized(4):                                      B[0:4] = A[0:4] + T.Broadcast(x, 4)
        B[i] = A[i] + x                           ⟶
        if j * 4 + i < n:                                          C.vstore([T.Ramp(j * 4, 1, 4)], …,
            C[j * 4 + i] = …                                       predicate=T.Ramp(j * 4, 1, 4) < T.Broadcast(n, 4))

Statements are distributed over loops of their own first, inner loops are moved outside, a local buffer of the body gets
an axis for the lanes.  A condition that differs from lane to lane masks the store and the loads beneath.  A statement
that has no vector form, or whose form the kernel refuses, keeps its loop, which becomes serial; that is noted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final, final

from verified_tir.index.conditions import conjuncts
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, IntImm, Load
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, Block, For, If, LetStmt, Seq, Stmt, Store
from verified_tir.ir.sugar import all_of
from verified_tir.ir.visit import free_vars, nodes_of
from verified_tir.kernel.rules.bind import Inline
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.vectorize import Vectorize
from verified_tir.kernel.theorem import Rule
from verified_tir.lower.passes import Lowering, Pass, Pipeline, reason
from verified_tir.lower.vector_lanes import Lanes, NoVector
from verified_tir.schedule import codes, moves
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.rule_builders import RuleBuilder, moved, of_kind, unwrapped
from verified_tir.schedule.session import Session, TacticFailed, fail
from verified_tir.schedule.tactics.in_turn import is_zero
from verified_tir.schedule.tactics.layout import one_of_several
from verified_tir.schedule.tactics.loops import rebuild
from verified_tir.schedule.tactics.tidy import run_once


@final
@dataclass(frozen=True, repr=False)
class VectorizeLoop(Pass):
    """Turn vectorized loops into vector accesses, or into serial loops where that cannot be done.

    :ivar max_lanes: loops of more iterations than this become serial, too; split them by the vector's width first.
    """

    max_lanes: int = 64

    def lower(self, work: Lowering) -> None:
        tried = 0
        while True:  # a loop that was distributed is several
            loops = work.session.find(For, lambda s: s.kind == "vectorized")
            if not loops or tried > 10_000:
                return
            tried += 1
            self._loop(work, *loops[-1])

    def _loop(self, work: Lowering, path: Path, loop: For) -> None:
        session = work.session
        try:
            with session.atomic():
                if not isinstance(loop.extent, IntImm):
                    raise fail(
                        "its extent is not a constant; split it by the width of a vector", path, code=codes.NOT_CONSTANT
                    )
                if loop.extent.value > self.max_lanes:
                    raise fail(
                        f"it has {loop.extent.value} lanes, more than {self.max_lanes}; split it",
                        path,
                        code=codes.VECTORS,
                    )
                _vectorize(session, path, loop)
        except TacticFailed as failed:
            work.note(f"the loop over {loop.var.name} becomes serial: {reason(failed.refusal)}")
            session.apply(of_kind(path, "serial"))


def _vectorize(session: Session, path: Path, loop: For) -> None:
    """One step towards vector code; what stays marked is looked at again.

    :raises TacticFailed: if there is no vector code for the loop.
    """
    assert isinstance(loop.extent, IntImm)
    if loop.extent.value <= 0:
        session.apply(Erase(path))
        return
    if loop.extent.value == 1:
        session.apply(of_kind(path, "serial"))
        run_once(session, path)
        return
    body = (*path, 0)
    match loop.body:
        case Store():
            _store(session, path, loop)
        case Seq(stmts=()):
            session.apply(Erase(path))
        case Seq():
            _separate(session, path)
        case Block():
            session.apply(unwrapped(body))
        case LetStmt():
            session.apply(Inline(body))
        case For() as inner:
            if loop.var in {*free_vars(inner.min), *free_vars(inner.extent)}:
                raise fail(
                    f"the range of the inner loop over {inner.var.name} depends on {loop.var.name}",
                    path,
                    code=codes.NOT_A_BOX,
                )
            rebuild(session, path, [loop, inner], [inner, loop])
        case Allocate(buffer=b):
            _expand(session, path, loop, b)
        case If():
            _branch(session, path, loop, loop.body)
        case _:
            raise fail(f"a statement {type(loop.body).__name__} has no vector form", path, code=codes.VECTORS)


def _separate(session: Session, path: Path) -> None:
    """Two loops, that stay marked: the first over the first statement alone, if possible."""
    positions = range(1, len(session.at((*path, 0), Seq).stmts))
    session.first_of(partial(session.apply, moves.fission(path, k)) for k in positions)


def _expand(session: Session, path: Path, loop: For, old: Buffer) -> None:
    """A local buffer of the body gets a last axis for the lanes and is allocated around the loop."""
    lane = loop.var - loop.min if not is_zero(loop.min) else loop.var
    session.apply(Couple((*path, 0), one_of_several(old, lane, loop.extent, last=True)))
    session.apply(moved(path, "hoist"))


def _branch(session: Session, path: Path, loop: For, branch: If) -> None:
    body = (*path, 0)
    if loop.var not in free_vars(branch.condition) and session.attempt(moves.hoist(path)):
        return
    if _same_in_all_lanes_first(session, path, loop, branch):
        return
    if branch.else_body is not None:
        session.apply(moves.reshape(body, "split"))
        return
    if isinstance(branch.then_body, If) and branch.then_body.else_body is None:
        if any(loop.var not in free_vars(c) for c in conjuncts(branch.then_body.condition)):
            session.apply(moves.reshape(body, "unnest"))
            return
    if _only_store(branch) is not None:
        _store(session, path, loop)
        return
    inner, rules = branch.then_body, list[Rule | RuleBuilder]()
    match inner:
        case Seq(stmts=stmts) if len(stmts) > 1:
            rules = [moves.fission(body, 1)]
        case Block():
            rules = [unwrapped((*body, 0))]
        case LetStmt():
            rules = [Inline((*body, 0))]
        case For():
            rules = [moves.sink(body)]
        case If(else_body=Stmt()):
            rules = [moves.reshape((*body, 0), "split")]
        case If():
            rules = [moves.reshape(body, "unnest")]
    if not rules:
        raise fail(f"a statement {type(inner).__name__} under a condition has no vector form", path, code=codes.VECTORS)
    for rule in rules:
        session.apply(rule)


def _same_in_all_lanes_first(session: Session, path: Path, loop: For, branch: If) -> bool:
    """Of a conjunction, take what is the same in all lanes out of the loop."""
    parts = conjuncts(branch.condition)
    same = [c for c in parts if loop.var not in free_vars(c)]
    if not same or len(same) == len(parts) or branch.else_body is not None:
        return False
    rest = [c for c in parts if c not in same]
    ordered = Binary("and", all_of(same), all_of(rest))
    body = (*path, 0)
    first = () if ordered is branch.condition else (rewritten(body, (0,), ordered),)
    return session.attempt(*first, moves.reshape(body, "nest"), moves.hoist(path))


def _only_store(stmt: Stmt) -> tuple[list[Expr], Store] | None:
    """The conditions around a store, and the store; ``None`` if something else stands there."""
    conditions = []
    while isinstance(stmt, If) and stmt.else_body is None:
        conditions.append(stmt.condition)
        stmt = stmt.then_body
    return (conditions, stmt) if isinstance(stmt, Store) else None


def _store(session: Session, path: Path, loop: For) -> None:
    """The loop's only statement is a store: vector code, or a refusal."""
    found = _only_store(loop.body)
    assert found is not None and isinstance(loop.extent, IntImm)
    lanes = Lanes(loop.var, loop.min, loop.extent.value)

    def vectorized(mask_all: bool, mask_local: bool) -> None:
        session.apply(_rule(path, replace(lanes, mask_all=mask_all, mask_local=mask_local), *found))

    ways = [(False, True), (True, True)] if found[0] else [(False, True)]
    if found[0] and any(x.buffer.scope == "local" for x in nodes_of(found[1].value, Load)):
        ways.insert(0, (False, False))
    try:
        session.first_of(partial(vectorized, *way) for way in ways)
    except NoVector as why:
        raise fail(str(why), path) from None


def _rule(path: Path, lanes: Lanes, conditions: list[Expr], store: Store) -> Vectorize:
    for c in conditions:
        lanes = lanes.under(lanes.of(c))
    indices = lanes.indices(store.buffer.name, store.indices)
    if store.buffer.dtype.lanes > 1:
        return Vectorize(path, indices, lanes.of_vectors(store.value), lanes.mask)
    return Vectorize(path, indices, lanes.spread(lanes.of(store.value)), lanes.mask)


VECTORS: Final = Pipeline(VectorizeLoop())
"""Loops marked vectorized become operations on vectors, proved like every step; nothing else changes."""
