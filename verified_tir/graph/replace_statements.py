"""Replace statements by others that leave the same in memory, whatever both look like; the kernel proves it.

    S                    N; S                    N
    (what follows)   ⟶  (what follows)     ⟶   (what follows)

Nothing is said about how S and N are written.  N is inserted before S, where its stores are dead since S overwrites
them, or written to what is undefined; then S goes, since it stores what N has stored there already (``insert`` and
``erase``).  Or N comes after S, storing what is there, and S goes since N overwrites all of it.  Where the kernel does
not see what S leaves (its indices are too contorted), the loops of S are made to follow the buffer first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count as count_from
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, Block, Seq, Stmt, Store
from verified_tir.ir.visit import walk
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.theorem import Refines, reflexive
from verified_tir.schedule.rule_builders import labelled
from verified_tir.schedule.schedule import Schedule
from verified_tir.schedule.session import Session, TacticFailed, fail
from verified_tir.schedule.tactics.follow import sequential_buffer_access
from verified_tir.schedule.tactics.inline import compute_inline


@final
class Proof:
    """A program whose meaning is proved to exist, and what it has become: a schedule whose steps are tactics of graphs.

    So a certificate can be written of it (``verified_tir.certificate.write``), which solvers check; it is not made
    again from the calls of a text, since there are none.

    :param definite: whether the theorem is about arguments of definite values only, as arrays have; otherwise it can
        be used where elements may be undefined.
    :raises ScheduleError: if the program has no meaning on some arguments.
    """

    def __init__(self, func: PrimFunc, *, definite: bool = True) -> None:
        self.schedule = Schedule(func)
        if not definite:
            session = self.schedule._session
            self.schedule._session = Session(reflexive(session.func), session.prover)

    @property
    def session(self) -> Session:
        return self.schedule._session

    @property
    def func(self) -> PrimFunc:
        """The program as it is now."""
        return self.schedule.func

    @property
    def theorem(self) -> Refines:
        return self.schedule.theorem

    def take(self, name: str, what: Sequence[object], steps: Callable[[Session], None]) -> None:
        """Steps, all or none; the schedule records them under a name, with what they are about.

        :raises ScheduleError: if the kernel refuses one.
        """
        self.schedule._do(name, what, steps)

    def replace_statements(self, path: Path, count: int, wanted: Stmt, target: Buffer) -> None:
        """Replace the ``count`` statements from ``path`` on, which store to ``target``, by ``wanted``.

        :raises ScheduleError: if that is not proved.
        """
        self.take("replace_statements", (target,), lambda s: replace_statements(s, path, count, wanted, target))


def replace_statements(session: Session, path: Path, count: int, wanted: Stmt, target: Buffer) -> None:
    """Replace the statements from ``path`` on by ``wanted``, which stores to ``target`` what they store there.

    :raises TacticFailed: if no way to prove it is found; what was refused is what the first way needs.
    """
    if isinstance(wanted, Seq):
        wanted = Block.label("replacement", wanted)
    names = session.block_names()
    label = next(n for k in count_from(0) if (n := f"was_{k}" if k else "was") not in names)
    session.apply(labelled(path, label, count))
    first: TacticFailed | None = None
    for prepare in (_as_it_is, inline_own, _follow):
        try:
            with session.atomic():
                prepare(session, label, target)
                for way in (_before, _after):
                    try:
                        with session.atomic():
                            way(session, session.block(label)[0], wanted)
                        return
                    except TacticFailed as refused:
                        first = first or refused
                raise first or AssertionError
        except TacticFailed:
            continue
    assert first is not None
    raise first


def _as_it_is(session: Session, label: str, target: Buffer) -> None:
    """Nothing is done."""


def inline_own(session: Session, label: str, target: Buffer) -> None:
    """The values of arrays that the block allocates are computed where they are read, as far as that can be done.

    :raises TacticFailed: if there is none.
    """
    own = {n.buffer for n in walk(session.block(label)[1]) if isinstance(n, Allocate)}
    inner = [b.name for _, b in session.find(Block) if {n.buffer for n in walk(b) if isinstance(n, Store)} <= own]
    done = 0
    for name in inner:
        try:
            compute_inline(session, name)
            done += 1
        except TacticFailed:
            continue
    if not done:
        raise fail(f"{label} has no array of its own that could go")


def _follow(session: Session, label: str, target: Buffer) -> None:
    """The loops follow the buffer that is stored to."""
    sequential_buffer_access(session, target, label)


def _second(session: Session, path: Path) -> Path:
    """Where the second of two statements stands that were put in the place at ``path``."""
    inside = bool(path) and isinstance(session.stmt(path[:-1]), Seq)
    return (*path[:-1], path[-1] + 1) if inside else (*path, 1)


def _before(session: Session, path: Path, wanted: Stmt) -> None:
    second = _second(session, path)
    session.apply(Insert(path, wanted, "before", overwritten_by=1))
    session.apply(Erase(second))


def _after(session: Session, path: Path, wanted: Stmt) -> None:
    second = _second(session, path)
    first = (*second[:-1], second[-1] - 1)
    session.apply(Insert(path, wanted, "after"))
    session.apply(Erase(first, overwritten_by=1))
