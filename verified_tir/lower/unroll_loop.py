"""UnrollLoop: loops marked ``unrolled``, and short ones, become their iterations.

    for i in T.unroll(3):              A[0] = 0
        A[i] = i             ⟶        A[1] = 1
                                       A[2] = 2

The kernel's rule gives each copy its own variables, those of local buffers included (what TVM's ConvertSSA does), so
that each stays bound once.  Inner loops are unrolled first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import IntImm, Load, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.script import script
from verified_tir.ir.stmt import AttrStmt, Evaluate, For, Stmt, Store
from verified_tir.ir.visit import free_vars, nodes_of, sub_statements
from verified_tir.kernel.rules.erase import Erase
from verified_tir.lower.passes import Lowering, Pass
from verified_tir.schedule import codes, moves
from verified_tir.schedule.rule_builders import of_kind, unwrapped
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.loops import pair_at
from verified_tir.schedule.tactics.tidy import fold_bounds, run_once

STEPS = "pragma_auto_unroll_max_step"
"""The attribute that says for a part of the program how many statements a nest may become (TVM's name)."""


@final
@dataclass(frozen=True, repr=False)
class UnrollLoop(Pass):
    """Unroll loops that are marked, and serial ones as the options say (those of TVM's pass).

    A marked loop without a constant extent is refused.

    :ivar max_extent: unroll serial loops of so many iterations at most (``auto_max_extent``).
    :ivar auto_max_step: unroll nests that then are so many statements at most; ``pragma_auto_unroll_max_step`` says it
        for a part of the program.
    :ivar auto_max_depth: of these at most one more loop, one within the other.
    :ivar explicit_unroll: whether to unroll them; if not they are marked ``unrolled``, and marked ones stay.
    :ivar unroll_local_access: unroll loops whose variables index ``local`` or ``warp`` buffers, so that these can be
        registers.
    """

    max_extent: int = 0
    auto_max_step: int = 0
    auto_max_depth: int = 8
    explicit_unroll: bool = True
    unroll_local_access: bool = False

    def lower(self, work: Lowering) -> None:
        session = work.session
        chosen: set[Var] = set()
        self._count(session.func.body, self.auto_max_step, self._touching(session.func.body), chosen)
        work.each(For, lambda path, s: self._unroll(session, path, s), lambda s: s.var in chosen)
        work.each(AttrStmt, lambda path, _: session.apply(unwrapped(path)), lambda s: s.key == STEPS)

    def _unroll(self, session: Session, path: Path, loop: For) -> None:
        single = self.max_extent == 1 and isinstance(loop.extent, IntImm) and loop.extent.value <= 1
        if self.explicit_unroll or single:
            unroll(session, path)
        elif loop.kind != "unrolled":
            session.apply(of_kind(path, "unrolled"))

    def _touching(self, body: Stmt) -> frozenset[Var]:
        """The variables in the indices of buffers that are to be registers."""
        if not self.unroll_local_access:
            return frozenset()
        accesses: tuple[Load | Store, ...] = (*nodes_of(body, Load), *nodes_of(body, Store))
        local = [a for a in accesses if a.buffer.scope.partition(".")[0] in ("local", "warp")]
        return frozenset(v for a in local for i in a.indices for v in free_vars(i))

    def _count(self, stmt: Stmt, most: int, touching: frozenset[Var], chosen: set[Var]) -> _Count:
        """Choose loops in a statement, the inner ones first; gives what it is then."""
        if isinstance(stmt, AttrStmt) and stmt.key == STEPS and isinstance(stmt.value, IntImm):
            most = stmt.value.value
        inner = [self._count(s, most, touching, chosen) for s in sub_statements(stmt)]
        steps = sum(c.steps for c in inner) + isinstance(stmt, (Store, Evaluate))
        found = _Count(steps, max((c.unrolled for c in inner), default=0), max((c.kept for c in inner), default=0))
        if not isinstance(stmt, For):
            return found
        extent = stmt.extent.value if isinstance(stmt.extent, IntImm) else None
        serial = stmt.kind == "serial" and extent is not None
        few = most > 0 and extent is not None and found.kept == 0 and extent * steps <= most
        wanted = stmt.kind == "unrolled" or (
            serial and ((few and found.unrolled <= self.auto_max_depth) or extent <= self.max_extent)  # type: ignore[operator]
        )
        if wanted or (serial and stmt.var in touching):
            chosen.add(stmt.var)
            return _Count(steps * (extent or 1), found.unrolled + 1, found.kept)
        return _Count(steps, found.unrolled, found.kept + 1)


@final
@dataclass(frozen=True, slots=True)
class _Count:
    """A statement after the loops chosen in it are unrolled: how many statements; how deep loops that are unrolled, and
    others, stand in each other."""

    steps: int
    unrolled: int
    kept: int


def unroll(session: Session, path: Path) -> None:
    """Replace the loop at ``path`` by its iterations.

    With a constant start this is one rule; else iterations are cut off one by one.

    :raises TacticFailed: if the extent is not a constant.
    """
    loop = session.at(path, For)
    if not isinstance(loop.extent, IntImm):
        raise fail(
            f"the loop over {loop.var.name} is to be unrolled, but its extent {script(loop.extent)} is not a constant; "
            "split it by a constant factor and unroll the inner loop",
            path,
            code=codes.NOT_CONSTANT,
        )
    if loop.extent.value <= 0:
        session.apply(Erase(path))
        return
    if isinstance(loop.min, IntImm):
        session.apply(moves.unroll(path))
        return
    for left in range(loop.extent.value - 1, 0, -1):  # the last iteration first: the loop stays in front
        session.apply(moves.split_index_set(path, loop.min + left))
        path, last = pair_at(session, path)
        fold_bounds(session, path)
        fold_bounds(session, last)
        run_once(session, last)
    run_once(session, path)
