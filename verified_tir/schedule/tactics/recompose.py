"""Put an initialisation back into the block of its reduction: ``decompose_reduction`` read backwards.

    for i: C[i] = 0                             for i, k:
    for i, k: C[i] = C[i] + A[i, k]     ⟶          if k == 0: C[i] = 0
                                                   C[i] = C[i] + A[i, k]

It is one reordering of both nests: the initialisation of an element is run by the iteration that begins its sum.  No
bits are looked at, so sums that may be rounded in another order stay so.  Steps that need the sum alone, ``rfactor``
say, take a block apart and so put it together again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from verified_tir.ir.expr import Binary, Expr, Var
from verified_tir.ir.paths import Path, put
from verified_tir.ir.poly import as_poly
from verified_tir.ir.stmt import Allocate, Block, For, If, Seq, Store
from verified_tir.ir.sugar import all_of
from verified_tir.ir.visit import free_vars, substitute
from verified_tir.kernel.rules.reorder import Link, Reorder
from verified_tir.kernel.rules.scope import Move
from verified_tir.schedule import codes
from verified_tir.schedule.moves import hole, swap
from verified_tir.schedule.session import Handle, Session, TacticFailed, fail
from verified_tir.schedule.tactics.loops import reorder
from verified_tir.schedule.tactics.produced import is_one
from verified_tir.schedule.tactics.reduction import decompose_reduction


def recompose(session: Session, block: str) -> bool:
    """Put the initialisation in ``<block>_init`` back into the block, if the kernel allows it; whether it did."""
    return session.has_block(f"{block}_init") and session.succeeds(lambda: _recompose(session, block))


def _recompose(session: Session, block: str) -> None:
    steps = _side_by_side(session, block)
    (first, initial), (place, label) = session.block(f"{block}_init"), session.block(block)
    start, update = initial.body, label.body
    if not isinstance(start, Store) or not isinstance(update, Store) or start.buffer is not update.buffer:
        raise fail(
            f"block {block} and its initialisation do not store to one buffer", place, code=codes.NOT_OF_THIS_FORM
        )
    olds, news = session.loops_around(first, steps), session.loops_around(place, steps)
    inside = {v for e in update.indices for v in free_vars(e)}
    elements = [s for s in news if s.var in inside]
    ways = [_in_turn(olds, elements), _in_turn(olds, [s for s in elements if not is_one(s.extent)])]
    ways.append(_by_factors(start, update, [*olds, *news]))
    where, nests = first[: steps + 1], (first[steps + 1 :], place[steps + 1 :])
    session.first_of(
        [
            partial(_run_by, session, where, nests, olds, news, same)
            for same in ways
            if {s.var for s in olds} <= {*same}
        ],
        fail(
            f"block {block} and its initialisation do not run over the same elements",
            place,
            code=codes.NOT_OF_THIS_FORM,
        ),
    )


def _run_by(
    session: Session, where: Path, nests: tuple[Path, Path], olds: list[For], news: list[For], same: dict[Var, Expr]
) -> None:
    """Let the second nest run the first one's statement, where the loops of its sum begin.

    :param same: what the loops of the first are in the second.
    """
    back = {v: a for a, v in same.items() if isinstance(v, Var)}
    summed = [s for s in news if s.var not in back]
    begins = [Binary("eq", s.var, s.min) for s in [s for s in summed if not is_one(s.extent)] or summed]
    if not begins:
        raise fail("no loop of a sum is there", where, code=codes.NOT_OF_THIS_FORM)
    after = (*where[:-1], where[-1] + 1)
    nest = put(session.stmt(after), (*nests[1], 0), Seq((If(all_of(begins), hole(0)), hole(1))))
    links = (
        Link(0, 0, tuple(same[s.var] for s in olds), tuple(back.get(s.var, s.min) for s in news)),
        Link(1, 1, tuple(s.var for s in news), tuple(s.var for s in news)),
    )
    leaves = (((0, *nests[0], 0), 1), ((1, *nests[1], 0), 1))
    session.apply(Reorder(where, 2, leaves, nest, links))


def _in_turn(olds: list[For], elements: list[For]) -> dict[Var, Expr]:
    """The loops over elements, each that of the other nest at its position; nothing if there are more or fewer."""
    return {a.var: b.var for a, b in zip(olds, elements, strict=True)} if len(olds) == len(elements) else {}


def _by_factors(start: Store, update: Store, loops: list[For]) -> dict[Var, Expr]:
    """The variables of the first store, each that of the second which is multiplied by the same number."""
    once: dict[Var, Expr] = {s.var: s.min for s in loops if is_one(s.extent)}
    same = {**once}
    for a, b in zip(start.indices, update.indices, strict=True):
        same |= _match(substitute(a, once), substitute(b, once))
    return same


def _side_by_side(session: Session, block: str) -> int:
    """Bring the nest of the initialisation next to that of the block; gives how many steps lead to their sequence."""
    while True:
        first, place = session.block(f"{block}_init")[0], session.block(block)[0]
        steps = session.parting(first, place)
        if steps is None or first[steps] > place[steps]:
            raise fail(
                f"the initialisation of block {block} does not stand before it", place, code=codes.STANDS_ELSEWHERE
            )
        where, a, b = first[:steps], first[steps], place[steps]
        if b > a + 1:
            session.apply(swap(where, a))
        elif isinstance(allocation := session.stmt((*where, b)), Allocate):
            inside = len(allocation.body.stmts) if isinstance(allocation.body, Seq) else 1
            session.apply(Move((*where, b), (*where, a), 1 + inside))
        else:
            return steps


def _match(a: Expr, b: Expr) -> dict[Var, Expr]:
    """Which variables of ``a`` are which of ``b``: those that both are multiplied by the same number there, and no
    other one is."""
    found: dict[Var, Expr] = {}
    one, two = _by_factor(a, b), _by_factor(b, a)
    for factor, variables in one.items():
        others = two.get(factor, [])
        if len(variables) == 1 == len(others):
            found[variables[0]] = others[0]
    return found


def _by_factor(e: Expr, other: Expr) -> dict[int, list[Var]]:
    """The variables of an index, but for those of another one, by what each is multiplied by."""
    found: dict[int, list[Var]] = {}
    apart = {*free_vars(other)}
    for monomial, factor in as_poly(e).terms.items():
        if len(monomial) == 1 and isinstance(v := monomial[0], Var) and v not in apart:
            found.setdefault(factor, []).append(v)
    return found


def reorder_sum(session: Session, handles: Sequence[Handle], word: str) -> None:
    """``reorder``; where that is one of a sum that may come in any order, with its initialisation set aside.

    :param word: the buffer whose float sum may be rounded in another order.
    """
    block = _initialised_in(session, handles)
    try:
        with session.atomic():
            reorder(session, handles, word if block is None else "")  # a word costs another proof of all steps
        return
    except TacticFailed as failed:
        if block is None:
            raise
        top = min((session.loop(h) for h in handles), key=lambda found: len(found[0]))[1].var
        if not session.succeeds(lambda: decompose_reduction(session, block, top)):
            raise failed from None
    reorder(session, handles, word)
    recompose(session, block)


def _initialised_in(session: Session, handles: Sequence[Handle]) -> str | None:
    """The block in some loops in which a sum is initialised under a condition, if that is the only one."""
    if not handles:
        return None
    path, _ = max((session.loop(h) for h in handles), key=lambda found: len(found[0]))
    found = session.find(Block, is_initialised, under=path)
    return found[0][1].name if len(found) == 1 else None


def is_initialised(block: Block) -> bool:
    """Whether a block first initialises, under a condition, what it then updates."""
    match block.body:
        case Seq(stmts=(If(then_body=Store(buffer=a), else_body=None), Store(buffer=b))):
            return a is b
    return False
