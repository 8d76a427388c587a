"""cache_read, cache_write: statements work on a copy of what they read or write.

Both guess a place and a region and ask for the kernel's ``stage``.  The place is the body of a loop that the caller
names, or the outermost loop or statement around a block at which the step makes sense; without a block it is all that
runs while the buffer is alive ("outside of any loop": RFC 77, "Enhancement - cache_read, cache_write").  The copies
appear as blocks ``<copy>`` (in) and ``<copy>_back`` (out), under loops ``ax0``, ``ax1`` …

Several statements of a sequence are staged together under a label, which goes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import IntImm, Load
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, DeclBuffer, For, If, Seq, Stmt, Store
from verified_tir.ir.visit import nodes_of
from verified_tir.kernel.effects import written_blocks
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.stage import Stage
from verified_tir.schedule import codes
from verified_tir.schedule.rule_builders import labelled, unwrapped
from verified_tir.schedule.session import Handle, Session, TacticFailed, fail, with_hint
from verified_tir.schedule.tactics.buffers import buffer_of, home_of
from verified_tir.schedule.tactics.copied import copied_where_written
from verified_tir.schedule.tactics.counted import enclosing
from verified_tir.schedule.tactics.guarded_region import guarded_layout
from verified_tir.schedule.tactics.layout import BufferIn
from verified_tir.schedule.tactics.ramps import as_ramps
from verified_tir.schedule.tactics.regions import Box, box_of
from verified_tir.schedule.tactics.simplify import simplify_expressions


@final
@dataclass(frozen=True, slots=True)
class Span:
    """Statements that are staged together: ``count`` of a sequence, from the one at ``path`` on."""

    path: Path
    count: int = 1

    def stmts(self, session: Session) -> tuple[Stmt, ...]:
        first = session.stmt(self.path)
        if self.count == 1:
            return (first,)
        around = session.at(self.path[:-1], Seq)
        return around.stmts[self.path[-1] : self.path[-1] + self.count]


def cache_read(
    session: Session,
    block: str | None,
    buffer: BufferIn,
    scope: str = "global",
    loop: Handle | None = None,
    name: str = "",
    consumers: Sequence[str] = (),
) -> Buffer:
    """Let reads of a buffer read a copy; gives the copy, ``<buffer>_<scope>`` unless named.

    :param block: the copy is made before the outermost loop around it in which nothing writes the buffer; without it,
        before all that reads the buffer and comes after what writes it.
    :param loop: the loop in each iteration of which what that iteration reads is copied instead.
    :param consumers: blocks whose reads read the copy; the others go on reading the buffer.  Without them, and without
        a loop, these are all that read what the block reads.
    """
    source = buffer_of(session, block, buffer)
    only = [session.block(b)[0] for b in consumers]
    if block is not None and not only and loop is None:
        only = readers_of_the_same(session, block, source)
    wanted = only if only or block is None else [session.block(block)[0]]
    if loop is not None:
        spans = [Span(_body_of(session, wanted, loop))]
    elif wanted:
        around = _candidates(session, span_around(session, wanted), source)
        spans = [next((s for s in around if not _writes(session, s, source)), around[-1])]
    else:
        spans = _all_readers(session, source)
    for span in spans[:-1]:
        try:
            with session.atomic():
                return _stage(session, span, source, scope, name, copy_out=False, only=only)
        except TacticFailed:
            continue
    last = partial(_stage, session, spans[-1], source, scope, name, copy_out=False, only=only)
    if len(only) < 2 or loop is not None:
        return last()
    called = name or _name(source, scope)
    try:
        return session.first_of([last, partial(copied_where_written, session, source, only, scope, called)])
    except TacticFailed as failed:
        if consumers:
            raise
        hint = f"all that read {source.name} would read the copy; consumer_blocks says which blocks are to"
        raise with_hint(failed, hint) from None


def readers_of_the_same(session: Session, block: str, source: Buffer) -> list[Path]:
    """The places of the blocks that read of a buffer what a block reads, and no other values: no store to the buffer
    stands between them.  As in TVM they are those of one enclosing block.  Empty if there are no others."""
    place, _ = session.block(block)
    blocks = session.find(Block)
    places = [p for p, _ in blocks]
    stores = [p for p, s in session.find(Store) if s.buffer.data is source.data]
    if any(p[: len(place)] == place for p in stores):
        return []
    first = max((p for p in stores if p < place), default=())
    last = min((p for p in stores if p > place), default=None)
    found = [p for p, b in blocks
             if enclosing(p, places) == enclosing(place, places) and any(n.buffer is source for n in nodes_of(b, Load))
             and p > first and (last is None or p < last) and not any(q[: len(p)] == p for q in stores)]  # fmt: skip
    return found if len(found) > 1 else []


def cache_write(
    session: Session, block: str | None, buffer: BufferIn, scope: str = "global", loop: Handle | None = None,
    name: str = "",
) -> Buffer:  # fmt: skip
    """Let a block, and what stands under the same loop, work on a copy of a buffer that is copied back afterwards;
    gives the copy.  Without a block all that happens to the buffer happens to the copy.

    The copy is filled before only where something of the buffer's old contents may be wanted.

    :param loop: the loop in each iteration of which this happens; without it, it happens once around the whole nest.
    """
    target = buffer_of(session, block, buffer)
    wanted = [] if block is None else [session.block(block)[0]]
    if loop is not None:
        span = Span(_body_of(session, wanted, loop))
    elif wanted:
        span = _candidates(session, span_around(session, wanted), target)[0]
    else:
        span = Span(home_of(session, target))
    if not _writes(session, span, target):
        raise fail(
            f"{target.name} is not written there, so there is nothing to copy out",
            span.path,
            code=codes.NOTHING_TO_CHANGE,
        )
    return _stage(session, span, target, scope, name, copy_out=True)


def _stage(
    session: Session, span: Span, buffer: Buffer, scope: str, name: str, *, copy_out: bool, only: Sequence[Path] = ()
) -> Buffer:
    path = span.path
    if span.count > 1:
        session.apply(labelled(path, "staged", span.count))
        first = path[-1]
        only = [(*path, 0, p[len(path) - 1] - first, *p[len(path) :]) for p in only]
    relative = tuple(p[len(path) :] for p in only)
    box = box_of(session.stmt(path), buffer, session.ranges(path), writes=copy_out, only=relative)
    if box is None:
        raise fail(f"{buffer.name} is not {'used' if copy_out else 'read'} there", path, code=codes.NOT_USED_THERE)
    called = name or _name(buffer, scope)
    layout = box.layout()
    stage = partial(_copies, session, path, buffer, called, scope, copy_out=copy_out, only=relative)
    wanted = buffer in session.func.buffers and _reads_first(span.stmts(session), buffer)
    ways = [layout, guarded_layout(session.stmt(path), buffer, layout)] if copy_out and not wanted else []
    filled = not any(session.succeeds(partial(stage, way, filled=False)) for way in ways if way)
    if filled:
        stage(layout, filled=True)
    return _tidied(session, span, box, called, copy_in=filled, copy_out=copy_out)


def _copies(
    session: Session, path: Path, buffer: Buffer, called: str, scope: str, layout: LayoutMap, *, copy_out: bool,
    only: tuple[Path, ...], filled: bool,
) -> None:  # fmt: skip
    """Stage a statement; unless ``filled``, what is copied in goes again.

    :raises TacticFailed: if something of the old contents may be wanted: not all is overwritten before it is read, nor
        undefined.
    """
    session.apply(Stage(path, buffer, layout, called, scope, copy_out, only))
    as_ramps(session, path)
    if not filled:
        session.apply(Erase((*path, 0, 0), dead_at_end=True))


def _reads_first(stmts: Sequence[Stmt], buffer: Buffer) -> bool:
    """Whether the first access of a buffer, on every run, is a read: no proof need be tried that none comes first."""
    for stmt in stmts:
        match stmt:
            case _ if buffer.data not in written_blocks(stmt) and not any(
                x.buffer is buffer for x in nodes_of(stmt, Load)
            ):
                continue
            case Seq(stmts=parts):
                return _reads_first(parts, buffer)
            case For(body=body) | Allocate(body=body) | AttrStmt(body=body) | Block(is_label=True, body=body):
                return _reads_first([body], buffer)
            case Store():
                return any(x.buffer is buffer for x in nodes_of(stmt, Load))
            case _:
                return False
    return False


def _name(buffer: Buffer, scope: str) -> str:
    """What a copy is called."""
    return f"{buffer.name}_{scope.replace('.', '_')}"


def _tidied(session: Session, span: Span, box: Box, called: str, *, copy_in: bool, copy_out: bool) -> Buffer:
    """Shorter indices, a label for each copy, and none for what was staged; gives the copy."""
    path = span.path
    allocation = session.at(path, Allocate)
    assert isinstance(allocation.body, Seq)
    last = len(allocation.body.stmts) - 1
    copies = [*([(0, called)] if copy_in else []), *([(last, f"{called}_back")] if copy_out else [])]
    moved = any(not (isinstance(s.start, IntImm) and s.start.value == 0) for s in box.sides)
    for where in [path] if moved else [(*path, 0, k) for k, _ in copies]:
        simplify_expressions(session, where)
    for k, label in copies:
        session.apply(labelled(session.find(Store, under=(*path, 0, k))[0][0], label))
    if span.count > 1:
        session.apply(unwrapped((*path, 0, int(copy_in))))
    return allocation.buffer


# -- places ------------------------------------------------------------------------------------------------------------


def _body_of(session: Session, wanted: Sequence[Path], handle: Handle) -> Path:
    """The body of a loop that stands around the blocks."""
    where, loop = session.loop(handle)
    for place in wanted:
        if place[: len(where)] != where:
            stmt = session.stmt(place)
            called = stmt.name if isinstance(stmt, Block) else ""
            raise fail(
                f"block {called} does not stand inside the loop over {loop.var.name}",
                where,
                code=codes.STANDS_ELSEWHERE,
            )
    return (*where, 0)


def span_around(session: Session, wanted: Sequence[Path]) -> Span:
    """The smallest statement, or run of statements, around the places."""
    if len(wanted) == 1:
        return Span(wanted[0])
    steps = zip(*wanted, strict=False)
    common = tuple(xs[0] for xs in takewhile(lambda xs: len(set(xs)) == 1, steps))
    if not isinstance(session.stmt(common), Seq):
        return Span(common)
    at = [p[len(common)] for p in wanted]
    return _run(session, common, min(at), max(at))


def _run(session: Session, sequence: Path, first: int, last: int) -> Span:
    """Some statements of a sequence; the sequence itself, if that is all of them."""
    whole = last - first + 1 == len(session.at(sequence, Seq).stmts)
    return Span(sequence) if whole else Span((*sequence, first), last - first + 1)


def _candidates(session: Session, inner: Span, buffer: Buffer) -> list[Span]:
    """Places around some statements where the buffer is alive, outermost first: loops, conditions, these themselves."""
    place = inner.path
    stmts = [(place[:k], session.stmt(place[:k])) for k in range(len(place) + (inner.count == 1))]
    born = max((k for k, (_, s) in enumerate(stmts) if _declares(s, buffer)), default=-1)
    found = [Span(p) for p, s in stmts[born + 1 :] if isinstance(s, (For, If, Block))]
    several = inner.count > 1 or isinstance(session.stmt(inner.path), Seq)
    return [*found, inner] if several else found or [inner]


def _all_readers(session: Session, buffer: Buffer) -> list[Span]:
    """Where all reads of a buffer may find a copy: all that happens while it is alive, if nothing writes it; else the
    statements that read it, if no writer stands between them; else those after the last writer."""
    home = home_of(session, buffer)
    if not _writes(session, Span(home), buffer):
        return [Span(home)]
    inside = home
    while isinstance(session.stmt(inside), (Allocate, DeclBuffer, AttrStmt, Block)):
        inside = (*inside, 0)
    body = session.stmt(inside)
    if not isinstance(body, Seq):
        return [Span(home)]
    writers = {k for k, s in enumerate(body.stmts) if buffer.data in written_blocks(s)}
    readers = [k for k, s in enumerate(body.stmts) if any(n.buffer is buffer for n in nodes_of(s, Load))]
    if readers and writers & set(range(readers[0], readers[-1] + 1)):
        readers = [k for k in readers if k > max(writers)]
    return [*([_run(session, inside, readers[0], readers[-1])] if readers else []), Span(home)]


def _declares(stmt: Stmt, buffer: Buffer) -> bool:
    return isinstance(stmt, (Allocate, DeclBuffer)) and (stmt.buffer is buffer or stmt.buffer.data is buffer.data)


def _writes(session: Session, span: Span, buffer: Buffer) -> bool:
    return any(buffer.data in written_blocks(s) for s in span.stmts(session))
