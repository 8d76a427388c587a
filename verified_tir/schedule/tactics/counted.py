"""The buffers of a block by number, counted as TVM counts them.

TVM counts the regions of ``T.reads`` and ``T.writes``; where a block declares none, it finds them in the order in which
the block reads and stores.  Blocks are expanded here and declare nothing any more: an order that is another one than
that of the accesses is noted when the program is read, and followed through steps by what the buffers are called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Load
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Block, If, Seq, Stmt, Store
from verified_tir.ir.visit import nodes_of
from verified_tir.schedule import codes
from verified_tir.schedule.session import Session, fail

Side: TypeAlias = Literal["read", "write"]


@final
@dataclass(frozen=True, slots=True)
class Order:
    """An order of buffers that a block declares, where it is not that of its accesses."""

    declared: tuple[Buffer, ...]
    """One for each region, so that a buffer may be there several times."""
    others: tuple[Buffer, ...]
    """What the block accesses and does not declare: TVM does not count it."""
    unused: tuple[Buffer, ...]
    """What it declares and does not access."""


Orders: TypeAlias = Mapping[tuple[str, Side], Order]
"""By the block's name, and what it does."""


def accessed(body: Stmt, side: Side) -> list[Buffer]:
    """The buffers that a block accesses, in the order of the accesses.

    A buffer that the block initialises (``T.init``) and then updates is not among those that TVM says it reads.  Here
    it comes last.
    """
    if side == "write":
        return list(dict.fromkeys(n.buffer for n in nodes_of(body, Store)))
    begun = _initialised(body)
    return sorted(dict.fromkeys(n.buffer for n in nodes_of(body, Load)), key=lambda b: b in begun)


def _initialised(body: Stmt) -> set[Buffer]:
    """What the condition with which a block begins, an expanded ``T.init``, writes without reading it."""
    match body:
        case Seq(stmts=(If(else_body=None) as first, _, *_)):
            return {n.buffer for n in nodes_of(first, Store)} - {n.buffer for n in nodes_of(first, Load)}
    return set()


def enclosing(place: Path, blocks: Sequence[Path]) -> Path | None:
    """The place of the one of some blocks in which a place is."""
    return max((p for p in blocks if p != place and p == place[: len(p)]), key=len, default=None)


def orders_declared(written: PrimFunc, expanded: PrimFunc) -> Orders:
    """The orders that are not those of the accesses.

    :param written: the program with the blocks as they are written.
    """
    declaring = [b for b in nodes_of(written.body, Block) if b.reads or b.writes]
    labels = {b.name: b for b in nodes_of(expanded.body, Block)} if declaring else {}
    found: dict[tuple[str, Side], Order] = {}
    for block in declaring:
        sides: list[tuple[Side, list[Buffer]]] = [
            ("read", [r.buffer for r in block.reads or ()]), ("write", [r.buffer for r in block.writes or ()]),
        ]  # fmt: skip
        for side, declared in sides:
            there = accessed(labels[block.name].body, side) if block.name in labels else []
            if declared and [b.data for b in declared] != [*dict.fromkeys(b.data for b in there)][: len(declared)]:
                known, used = {b.data for b in declared}, {b.data for b in there}
                found[block.name, side] = Order(
                    tuple(declared),
                    tuple(b for b in there if b.data not in known),
                    tuple(b for b in declared if b.data not in used),
                )
    return found


def counted(session: Session, name: str, label: Block, side: Side) -> list[Buffer | None]:
    """The buffers of a block by their numbers; ``None`` for one that the block declares and does not access.

    :raises TacticFailed: if the declared order cannot be followed through the steps so far.
    """
    there = accessed(label.body, side)
    order = _order_of(session, name, side, there)
    if order is None:
        return [*there]
    known = [*dict.fromkeys((*order.declared, *order.others))]
    now = {b: d for b in there if (d := _meant(b, known)) is not None}
    gone = [d for d in known if d not in now.values() and d not in (*order.unused, *order.others)]
    new = [b for b in there if b not in now]
    if len(gone) == len(new) == 1:
        now[new[0]] = gone[0]
    elif gone or new:
        names = ", ".join(b.name for b in order.declared)
        raise fail(f"block {name} declared that it {side}s {names}, in this order, and it {side}s "
                   f"{', '.join(b.name for b in there)} now: name the buffer instead of a number",
                   code=codes.NO_BUFFER)  # fmt: skip
    return [next((b for b, d in now.items() if d is wanted), None) for wanted in order.declared]


def _order_of(session: Session, name: str, side: Side, there: Sequence[Buffer]) -> Order | None:
    """The order that a block declared, or the block of which it was made, as its name says."""
    if (name, side) in session.declared:
        return session.declared[name, side]
    of = max((n for n, s in session.declared if s == side and name.startswith(f"{n}_")), key=len, default=None)
    return None if of is None or len(there) < 2 else session.declared[of, side]


def _meant(buffer: Buffer, known: Sequence[Buffer]) -> Buffer | None:
    """Which of some buffers one was, before steps: a view of its memory, of its name, or a copy that is called after
    it."""
    same = [d for d in known if d.data is buffer.data] or [d for d in known if d.name == buffer.name]
    after = sorted((d for d in known if buffer.name.startswith(f"{d.name}_")), key=lambda d: len(d.name))
    return same[0] if same else after[-1] if after else None


__all__ = ["Order", "Orders", "Side", "accessed", "counted", "enclosing", "orders_declared"]
