"""Steps that may need the user's word: another order of the terms of a float reduction.

The word is the name of the buffer that is reduced into, as it is now or as it was in the program as written.  Without
it the kernel refuses, and the refusal says how the word is given.  The exact theorem is tried first; then the program
as written is given a licence, and what was done so far is proved again for it.
"""

from __future__ import annotations

from dataclasses import replace

from verified_tir.ir.expr import Var
from verified_tir.ir.find import writes_of
from verified_tir.ir.paths import at
from verified_tir.ir.stmt import Block, If, Seq, Stmt, Store
from verified_tir.ir.visit import walk
from verified_tir.kernel.obligation import Unproved
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.kernel.rules.reorder import Reorder
from verified_tir.logic.formula import Term
from verified_tir.schedule import codes
from verified_tir.schedule.rule_builders import RuleBuilder
from verified_tir.schedule.session import Session, TacticFailed, allocated, fail, owner, with_hint


def apply_licensed(session: Session, rule: Reassociate | Reorder, data: Var, word: str, remedy: str) -> None:
    """Take a step that needs no word, or the one given; a refusal for want of it names ``remedy``.

    :param data: the block that is reduced into.
    """
    try:
        session.apply(rule)
        return
    except TacticFailed as failed:
        if not word:
            raise _with_remedy(failed, remedy, "rounding") from None
    check_word(session, data, word)
    with session.licence(data):
        try:
            session.apply(rule)
        except TacticFailed as failed:
            raise _with_remedy(failed, "", "rounding") from None


def check_word(session: Session, data: Var, word: str) -> None:
    """The word names the buffer that is reduced into, and not merely a view of it.

    :raises TacticFailed: if it does not.
    """
    mine = owner(session.func, data).name
    origins = session.origins(data)  # one that was made since is not in the first program
    known = {mine, *(b.name for b in allocated(session.theorem.before) if b.data in origins)}
    if word not in known:
        raise fail(f"the reduction is one into {mine}, not into {word!r}", code=codes.NOT_REASSOCIABLE)


def in_another_order(session: Session, builder: RuleBuilder, licence: str, primitive: str = "reorder") -> None:
    """Take a step that puts the iterations of a nest into another order; if the nest is a reduction, that of its terms.

    :param licence: the buffer whose float sum may be rounded in another order.
    :param primitive: what the user called.
    """
    rule = builder(session.func)
    if not isinstance(rule, Reorder):
        session.apply(builder)
        return
    blocks = dict.fromkeys(s.buffer.data for s in writes_of(at(session.func.body, rule.path)))
    stores = [owner(session.func, data).name for data in blocks]
    if licence:
        for data in blocks:
            check_word(session, data, licence)
    tried: list[TacticFailed] = []
    in_any_order = replace(rule, any_order=True)
    for step in (rule, in_any_order):
        try:
            session.apply(step)
        except TacticFailed as failed:
            tried.append(failed)
        else:
            return
    if licence and len(blocks) == 1:
        try:
            with session.licence(next(iter(blocks))):
                session.apply(in_any_order)
        except TacticFailed as failed:
            tried.append(failed)
        else:
            return
    block = _with_initialisation(at(session.func.body, rule.path))
    if block is not None:
        raise _with_remedy(tried[0], f'decompose_reduction("{block}", …) first', "dependence")
    plain = tried[1].refusal
    rounds = isinstance(plain, Unproved) and plain.obligation.name == "rounding"
    if rounds and licence:  # the word was given, and something else stands in the way
        raise _with_remedy(tried[-1], "", "rounding")
    raise (
        _with_remedy(tried[0], f'{primitive}(…, reassociate="{next(iter(stores))}")', "dependence")
        if rounds
        else tried[0]
    )


def _with_initialisation(nest: Stmt) -> str | None:
    """The block of a nest in which a reduction is initialised, under a condition; its order is that of two updates."""
    for n in walk(nest):
        match n:
            case Block(name=name, body=Seq(stmts=(If(then_body=Store(buffer=a)), Store(buffer=b)))) if a is b:
                return name
    return None


def _with_remedy(failed: TacticFailed, remedy: str, name: str) -> TacticFailed:
    """The refusal, its claim followed by what would help."""
    refusal = failed.refusal
    if not isinstance(refusal, Unproved) or refusal.obligation.name != name:
        return failed
    if _is_about_nan(refusal.obligation.goal):  # of a NaN nothing is allowed
        return with_hint(failed, "assume it: T.assume(x == x) is false of NaN")
    return with_hint(failed, f"another order may be allowed: {remedy}")


def _is_about_nan(goal: Term) -> bool:
    """Whether a question is whether something is a NaN."""
    return goal.op == "not" and goal.args[0].op == "fp.isNaN"
