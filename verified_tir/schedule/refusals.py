"""From what the kernel refused to what a person reads: the exception, whose counterexample can be replayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verified_tir.elaborate.blocks import place_as_written
from verified_tir.elaborate.calls import is_argument
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Block, Store
from verified_tir.ir.visit import nodes_of
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch, Refusal, Unproved
from verified_tir.kernel.race_free import prove_race_free
from verified_tir.kernel.theorem import Refines
from verified_tir.logic import verdict as v
from verified_tir.logic.called import called
from verified_tir.schedule.codes import NAMES_NOTHING, code_of
from verified_tir.schedule.errors import NotApplicable, Refuted, ScheduleError, Undecided
from verified_tir.schedule.session import Session, TacticFailed
from verified_tir.schedule.tactics.layout import find_buffer

if TYPE_CHECKING:
    from verified_tir.schedule.replay import Programs, Question


def report(step: str, refusal: Refusal, program: PrimFunc, theorem: Refines | None, code: str = "") -> ScheduleError:
    """The exception for a refusal.

    :param program: what the step was applied to; where it took several rules, the program before the refused one.
    :param theorem: what had been proved of it (``None``: the program itself was refused).
    :param code: the code that a tactic gave to its own refusal.
    """
    found = _exception(step, refusal, program, theorem)
    found.code = code_of(refusal, step, code, of_the_program=theorem is None)
    return found


def check_race_free(theorem: Refines, prover: Prover) -> None:
    """Prove that every marked loop of a theorem's last program may run as it is marked.

    :raises ScheduleError: if one of them may race.
    """
    found = prove_race_free(theorem.after, prover, theorem.entry)
    if not isinstance(found, tuple):
        raise report("race freedom", found, theorem.after, theorem)


def mark_subject(refused: ScheduleError, session: Session, arguments: Sequence[object]) -> None:
    """Give a refusal without a place that of the first argument that has one: a loop, a block, a buffer's first use.

    Where an argument names nothing, no statement is to blame.
    """
    if refused.has_place or refused.code in NAMES_NOTHING or refused.program is not session.func:
        return
    for argument in arguments:
        place = _place_of(session, argument)
        if place is not None:
            refused.place, refused.marks_all = place, True
            return


def _place_of(session: Session, argument: object) -> Path | None:
    try:
        if isinstance(argument, Var) or (
            isinstance(argument, str) and (session.has_block(argument) or session.has_loop(argument))
        ):
            return session.place(argument)
        if isinstance(argument, (str, Buffer)):
            buffer, _ = find_buffer(session, argument)
            uses = session.find(
                Store, lambda s: any(b.data is buffer.data for b in (s.buffer, *(n.buffer for n in nodes_of(s, Load))))
            )
            return uses[0][0] if uses else session.allocation(buffer)
    except TacticFailed:
        return None
    return None


def _exception(step: str, refusal: Refusal, program: PrimFunc, theorem: Refines | None) -> ScheduleError:
    if isinstance(refusal, NoMatch):
        return NotApplicable(step, refusal.reason, program, refusal.where)
    from verified_tir.schedule.replay import replay, replay_later  # the interpreter, which only a refusal needs

    obligation, verdict = refusal.obligation, refusal.verdict
    shown, place = _shown(refusal, program, theorem)
    programs = _programs(refusal, program, theorem)
    if isinstance(verdict, v.Unknown):
        found = replay(programs, {})
        if found.confirmed:
            claim = f"{obligation.claim} (the solver could not decide it, but the programs differ when run)"
            return Refuted(step, claim, shown, place, obligation=obligation, run=lambda: found,
                           programs=programs)  # fmt: skip
        return Undecided(step, obligation.claim, shown, place, obligation=obligation,
                         solver_reason=verdict.reason)  # fmt: skip
    assert isinstance(verdict, v.Refuted)
    names = called(obligation, shown, refusal.would_be)
    model = verdict.model.values
    named = {names[name]: model[name] for name in sorted(model) if name in names}
    values = dict(sorted(named.items()))  # the solver's names end in numbers that count whatever was made before
    return Refuted(step, obligation.claim, shown, place, obligation=obligation, counterexample=values,
                   run=replay_later(programs, values), programs=programs)  # fmt: skip


def _shown(refusal: Unproved, program: PrimFunc, theorem: Refines | None) -> tuple[PrimFunc, Path]:
    """The program in which the place of an obligation is marked, and that place.

    A program as written is shown so, not with its blocks expanded, as the kernel saw it.
    """
    obligation = refusal.obligation
    if theorem is None and not _as_written(refusal.would_be):
        return program, place_as_written(program.body, obligation.place)
    return program if theorem is not None and obligation.where == "before" else refusal.would_be, obligation.place


def _as_written(program: PrimFunc) -> bool:
    """Whether this is a program as somebody wrote it, with blocks or with arguments of calls."""
    return any(not block.is_label or is_argument(block) for block in nodes_of(program.body, Block))


def _programs(refusal: Unproved, program: PrimFunc, theorem: Refines | None) -> Programs:
    """What is to be run: the program before the refused rule, and what it would have become."""
    from verified_tir.schedule.other_order import names_in
    from verified_tir.schedule.replay import Programs

    before = program if theorem is None else theorem.after
    if theorem is None and _as_written(refusal.would_be):
        before = refusal.would_be
    paddings = () if theorem is None else theorem.paddings
    question: Question = "same result" if theorem is not None else "meaning"
    if refusal.obligation.name == "race":
        question = "race"
    maps = () if refusal.moved is None else (refusal.moved,)
    sums = names_in(refusal.reassociated, before, refusal.would_be)
    return Programs(before, refusal.would_be, paddings, refusal.paddings or paddings, maps, question,
                    sums, refusal.obligation.name == "rounding")  # fmt: skip
