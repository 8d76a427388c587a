"""rolling_buffer: of a buffer whose rows are computed tile by tile, each row is computed once, and a window is kept.

    for t:                                         for t:
        for a in range(6):                             for a in range(6):
            B[4*t + a] = …                                 if t < 1 or a >= 2:
        for b in range(4):               ⟶                     B[(4*t + a) % 6] = …
            C[4*t + b] = … B[4*t + b + k]              for b in range(4):
                                                           C[4*t + b] = … B[(4*t + b + k) % 6]

The chain of rules: all rows are computed before the loops over tiles (``Insert``: nothing is stored there yet); what
the tiles compute is then computed again, and goes (``Eliminate``); each row moves into the first tile that has it
(``reindex``, ``fuse``); and rows share places in turn (``Couple``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from verified_tir.index.simplify import simplify as simplify_index
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, Load, Var
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path, places
from verified_tir.ir.poly import as_poly, render
from verified_tir.ir.stmt import Allocate, For, Seq, Stmt
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars, map_children, nodes_of, refresh_binders, substitute
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.recompute import Eliminate
from verified_tir.kernel.rules.rewrite import Edit, ExprPath, Rewrite, expressions
from verified_tir.schedule import codes, moves
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import moved
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.layout import buffer_in
from verified_tir.schedule.tactics.rolling_rows import Rows, ordered, rows_of
from verified_tir.schedule.tactics.simplify import simplify_expressions


def rolling_buffer(session: Session, block: str, number: int) -> None:
    """Compute each row of a buffer in the first tile that has it, and keep as many as a tile has.

    :param number: which of the buffers that the block writes.
    """
    if isinstance(number, bool) or not isinstance(number, int):
        raise fail(
            f"a buffer is given by its number among those that the block writes, not by {number!r}",
            code=codes.NO_BUFFER,
        )
    path, _ = session.block(block)
    buffer = buffer_in(session, block, ("write", number))
    if session.allocation(buffer) is None:
        raise fail(f"{buffer.name} is a parameter; only a local buffer can be rolled", path, code=codes.A_PARAMETER)
    buffer = _over_all_tiles(session, buffer)
    nest, tiles = _tiles(session, block, buffer)
    rows = rows_of(session, nest, tiles, buffer)
    rolled = next((r for t in tiles for r in rows if r.tile is t and r.overlap), None)
    if rolled is None:
        raise fail(
            f"no two iterations of the loops around block {block} compute a row of {buffer.name}",
            nest,
            code=codes.NOTHING_TO_CHANGE,
        )
    _moved_into_tiles(session, _computed_before(session, nest, tiles, rows), tiles)
    _folded(session, buffer, rolled)


# -- where it stands ---------------------------------------------------------------------------------------------------


def _over_all_tiles(session: Session, buffer: Buffer) -> Buffer:
    """The buffer as it was before ``compute_at`` made it as small as one tile needs, allocated outside of the tiles."""
    path = session.allocation(buffer)
    assert path is not None
    steps = session.theorem.derivation
    found = ((s.rule.layout, s.made.heirs[0]) for s in reversed(steps) if isinstance(s.rule, Couple))
    small, old = next(((layout, old) for layout, (new, old) in found if new is buffer.data), (None, None))
    if small is None:
        return buffer
    tiles = {session.current(v) for e in small.outputs for v in free_vars(e)} - {*small.inputs}
    if not tiles or not tiles <= {s.var for s in session.loops_around(path)}:
        return buffer
    whole = next(
        n.buffer for func in (session.theorem.before, *(s.after for s in steps))
        for n in nodes_of(func.body, Allocate) if n.buffer.data is old
    )  # fmt: skip
    now = {v: session.current(v) for e in (*small.outputs, *small.inverse) for v in free_vars(e)}
    ys = tuple(Var.fresh(v.name, v.dtype) for v in small.inverse_inputs)
    xs = tuple(Var.fresh(v.name, v.dtype) for v in small.inputs)
    back = {**now, **dict(zip(small.inverse_inputs, ys, strict=True))}
    there = {**now, **dict(zip(small.inputs, xs, strict=True))}
    outputs = tuple(substitute(e, back) for e in small.inverse)
    inverse = tuple(substitute(e, there) for e in small.outputs)
    session.apply(Couple(path, LayoutMap(ys, outputs, xs, inverse, whole.shape, FALSE), "accessed"))
    while tiles & {s.var for s in session.loops_around(path)}:
        around = session.stmt(path[:-1])
        session.apply(moved(path[:-1], "hoist") if isinstance(around, For) else moved(path, "widen"))
        path = path[:-1] if isinstance(around, For) else path
    return session.at(path, Allocate).buffer


def _tiles(session: Session, block: str, buffer: Buffer) -> tuple[Path, list[For]]:
    """Where the nest of a tile stands that stores to the buffer, and the loops over tiles."""
    path, allocation = session.block(block)[0], session.allocation(buffer)
    assert allocation is not None
    for k in range(len(path) - 1, len(allocation), -1):
        stmt = session.stmt(path[:k])
        if isinstance(stmt, Seq) and any(
            n.buffer is buffer for s in stmt.stmts[path[k] + 1 :] for n in nodes_of(s, Load)
        ):
            tiles = session.loops_around(path[:k], len(allocation))
            if not tiles:
                break
            top = next(path[:j] for j in range(len(path)) if session.stmt(path[:j]) is tiles[0])
            if len(top) + len(tiles) != k:
                raise fail(
                    "the loops over tiles must stand in each other, with nothing between them",
                    top,
                    code=codes.STANDS_ELSEWHERE,
                )
            return path[: k + 1], tiles
    raise fail(
        f"no loop over tiles stands around block {block} and what reads {buffer.name}: use compute_at first",
        path,
        code=codes.STANDS_ELSEWHERE,
    )


# -- each row once, before the tiles -----------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class Whole:
    """The nest that computes all rows: its loops, and for each what stands for it in a tile's nest."""

    loops: tuple[NewLoop, ...]
    rows: Mapping[Var, Rows]
    """The loops over rows."""
    tile_loops: Mapping[Var, For]
    """For each other loop the one in the tile's nest."""

    def called(self, variables: Sequence[Var]) -> Whole:
        """The same with other variables for the loops."""
        to = dict(zip((loop.var for loop in self.loops), variables, strict=True))
        return Whole(
            tuple(replace(loop, var=to[loop.var]) for loop in self.loops),
            {to[v]: replace(r, row=to[v]) for v, r in self.rows.items()},
            {to[v]: s for v, s in self.tile_loops.items()},
        )

    def in_tile(self, tiles: Mapping[Var, Expr], inner: Mapping[Var, Expr]) -> tuple[Expr, ...]:
        """The iteration that a tile's is, the variables of its loops having these values."""
        return tuple(
            self.rows[v].at(tiles, inner) if v in self.rows else inner[self.tile_loops[v].var]
            for v in (loop.var for loop in self.loops)
        )


def _computed_before(session: Session, nest: Path, tiles: Sequence[For], rows: Sequence[Rows]) -> Whole:
    """All rows are computed in a nest before the tiles, and no longer in the tiles."""
    prefix = _prefix(session, nest, rows)
    source = (*nest, *[0] * len(prefix))
    body = _by_rows(session, source, tiles, rows)
    left = {t.var for t in tiles} & {*free_vars(body)}
    if left:
        raise fail(
            f"what a tile computes depends on {min(v.name for v in left)} otherwise than by its rows",
            nest,
            code=codes.NOT_OF_THIS_FORM,
        )
    whole = _whole(prefix, rows)
    names = {s.var: v for v, s in whole.tile_loops.items()}
    added = moves.nest(whole.loops, (), refresh_binders(substitute(body, names))[0])
    steps = nest[len(session.loop(tiles[0].var)[0]) :]
    session.apply(Insert(session.loop(tiles[0].var)[0], added))
    top = session.loop(tiles[0].var)[0]
    nest, before = (*top, *steps), (*top[:-1], top[-1] - 1)
    again = {s.var: Var.fresh(s.var.name, s.var.dtype) for s in prefix}
    loops = [NewLoop(again[s.var], s.min, s.extent, s.kind, s.thread, s.annotations) for s in prefix]
    instance = whole.in_tile({}, again)
    alone = len(session.at(nest[:-1], Seq).stmts) == 2
    target, source = nest[:-1] if alone else nest, (*before, *[0] * len(whole.loops))
    session.apply(Eliminate(nest, moves.recompute(target, source, loops, (), instance)))
    return whole.called([session.at(source[:k], For).var for k in range(len(before), len(source))])


def _prefix(session: Session, nest: Path, rows: Sequence[Rows]) -> list[For]:
    """The outer loops of a tile's nest, as far as those over rows."""
    wanted, found = {r.loop.var for r in rows if r.loop is not None}, list[For]()
    stmt = session.stmt(nest)
    while wanted - {s.var for s in found}:
        if not isinstance(stmt, For):
            raise fail(
                "something other than loops stands above the loop over rows", nest, code=codes.NOT_PERFECTLY_NESTED
            )
        found.append(stmt)
        stmt = stmt.body
    return found


def _whole(prefix: Sequence[For], rows: Sequence[Rows]) -> Whole:
    over = {r.loop.var: r for r in rows if r.loop is not None}
    loops, others = [r.all_rows() for r in rows if r.loop is None], dict[Var, For]()
    for s in prefix:
        if s.var in over:
            loops.append(over[s.var].all_rows())
        else:
            loops.append(NewLoop(Var.fresh(s.var.name, s.var.dtype), s.min, s.extent, s.kind, s.thread, s.annotations))
            others[loops[-1].var] = s
    return Whole(tuple(loops), {r.row: r for r in rows}, others)


def _by_rows(session: Session, source: Path, tiles: Sequence[For], rows: Sequence[Rows]) -> Stmt:
    """The statement of a tile, said by rows and no longer by tiles; in the tile its indices become what that gives
    there."""
    moving = {r.tile.var for r in rows}
    fixed: dict[Var, Expr] = {t.var: t.min for t in tiles if t.var not in moving}
    within: dict[Var, Expr] = {r.loop.var: r.row - r.start for r in rows if r.loop is not None}
    for r in rows:
        if r.loop is None:
            fixed[r.tile.var] = render(as_poly(r.row) - as_poly(r.start) + as_poly(r.tile.var), r.row.dtype)

    def by_row(e: Expr) -> Expr:
        return simplify_index(substitute(substitute(ordered(e), within), fixed), {})

    def by_tile(e: Expr) -> Expr:
        return substitute(by_row(e), {r.row: r.at({}, {}) for r in rows})

    def each(node: Node) -> Node:
        return by_row(node) if isinstance(node, Expr) and is_index(node) else map_children(node, each)

    stmt = session.stmt(source)
    found = ((p, w, e, by_tile(e)) for p, s in places(stmt, lambda _: True) for w, e in _indices(s))
    edits = tuple(Edit(p, w, new) for p, w, e, new in found if new is not e)
    if edits:
        session.apply(Rewrite(source, edits))
    made = each(stmt)
    assert isinstance(made, Stmt)
    return made


def _indices(node: Node, where: ExprPath = ()) -> Iterator[tuple[ExprPath, Expr]]:
    """The largest parts of a statement's expressions that are indices."""
    for k, e in enumerate(expressions(node)):
        if is_index(e):
            yield (*where, k), e
        else:
            yield from _indices(e, (*where, k))


# -- into the tiles ----------------------------------------------------------------------------------------------------


def _moved_into_tiles(session: Session, whole: Whole, tiles: Sequence[For]) -> None:
    """Each row moves into the first tile that has it."""
    outer = {t.var: Var.fresh(t.var.name, t.var.dtype) for t in tiles}
    inner = {s.var: Var.fresh(s.var.name, s.var.dtype) for s in whole.tile_loops.values()}
    inner |= {r.loop.var: Var.fresh(r.loop.var.name, r.loop.var.dtype) for r in whole.rows.values() if r.loop}
    first = {r.tile.var: r.first_tile for r in whole.rows.values()}
    loops, back = [], []
    for t in tiles:
        loops.append(NewLoop(outer[t.var], t.min, t.extent, t.kind, t.thread, t.annotations))
        back.append(first.get(t.var, t.min))
    for loop in whole.loops:
        r = whole.rows.get(loop.var)
        if r is None:
            loops.append(replace(loop, var=inner[whole.tile_loops[loop.var].var]))
            back.append(loop.var)
        elif r.loop is not None:
            loops.append(replace(loop, var=inner[r.loop.var], min=r.loop.min, extent=r.loop.extent))
            back.append(simplify_index(loop.var - substitute(r.start, {r.tile.var: r.first_tile}) + r.loop.min, {}))
    guards = [g for r in whole.rows.values() for g in r.guards(outer[r.tile.var], inner)]
    path = session.loop(whole.loops[0].var)[0]
    there = whole.in_tile(outer, inner)
    session.apply(moves.reindex(path, len(whole.loops), tuple(loops), tuple(guards), there, tuple(back)))
    for t in tiles:
        path = session.loop(outer[t.var])[0]
        session.apply(moves.fuse(path[:-1], path[-1]))
    session.renamed.update(outer)


def _folded(session: Session, buffer: Buffer, r: Rows) -> None:
    """The rows of a window share places."""
    path = session.allocation(buffer)
    assert path is not None
    xs, ys = ([Var.fresh(f"{x}{d}", n.dtype) for d, n in enumerate(buffer.shape)] for x in ("x", "y"))
    window = const(r.extent, buffer.shape[r.dim].dtype)
    image = [x % window if d == r.dim else x for d, x in enumerate(xs)]
    shape = [window if d == r.dim else n for d, n in enumerate(buffer.shape)]
    layout = LayoutMap(tuple(xs), tuple(image), tuple(ys), tuple(ys), tuple(shape), FALSE)
    session.apply(Couple(path, layout, "in turn", buffer.axis_separators))
    simplify_expressions(session, path)
