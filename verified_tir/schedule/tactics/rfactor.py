"""rfactor: a reduction over a nest of loops is split into partial ones, which are then reduced.

The reduction may stand in a block with its initialisation, as TVM writes it, or be a nest of loops around one update.
The partial results are kept in a buffer with one more dimension than the result.  What comes out, for the block ``B``
that adds ``A[i, ko, ki]`` to ``B[i]``, factored by ``ki``:

    for i: B[i] = 0                                        block B_init
    for ki, i: B_rf[ki, i] = identity                      block B_rf_init
    for i, ko, ki: B_rf[ki, i] = B_rf[ki, i] + A[…]        block B_rf
    for i, ki: B[i] = B[i] + B_rf[ki, i]                   block B

If the block had its initialisation, both blocks get theirs back (``recompose``).

Handles go on meaning the loops of the partial results.  In a trace they mean those of the last nest, as in TVM, where
the block that adds keeps its loops; a loop that is summed already runs in ``B_rf`` alone, and is meant there.

The kernel's rule is ``reassociate``; the identity of a float sum is -0.0.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from typing import final

from verified_tir.index.map import IndexMap
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, IntImm, Var
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Block, For, If, LetStmt, Seq, Stmt, Store
from verified_tir.ir.visit import free_vars, nodes_of, sub_statements, substitute, walk
from verified_tir.kernel.effects import read_blocks
from verified_tir.kernel.rules.bind import Inline
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.schedule import codes, moves
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import labelled, unwrapped
from verified_tir.schedule.session import Handle, Session, fail, owner
from verified_tir.schedule.tactics.block_domain import loops_in_order
from verified_tir.schedule.tactics.in_turn import is_zero
from verified_tir.schedule.tactics.licensed import apply_licensed, check_word
from verified_tir.schedule.tactics.recompose import recompose
from verified_tir.schedule.tactics.reduction import decompose_reduction
from verified_tir.schedule.tactics.simplify import remove_trivial_loops
from verified_tir.schedule.tactics.tidy import fold_at, guards_of


@final
@dataclass(frozen=True, slots=True)
class Nest:
    """The nest of loops around an update: its place, the update, the loop that is factored, and the block's name."""

    path: Path
    store: Store
    loop: For
    name: str
    initialised: bool = False
    """Whether the block initialised what it reduces into, until this was split off."""
    axes: tuple[Var, ...] = ()
    """The loops that are the block's iteration variables, in the order of these."""


def rfactor(session: Session, loop: Handle, factor_axis: int = 0, licence: str = "") -> str:
    """Split a reduction into one partial reduction for each iteration of ``loop``; gives the new block's name.

    :param factor_axis: which dimension of the buffer of partial results is the new one; counted from the end if
        negative.
    :param licence: the buffer whose float sum may be rounded in another order.
    """
    nest = _nest(session, loop)
    buffer = nest.store.buffer
    if licence:
        check_word(session, buffer.data, licence)
    _check_runs(session, nest)
    dims, inside = _dimensions(session, nest)
    axis = _axis(factor_axis, len(dims), nest.path)
    _check_extents(nest, inside)
    offset: Expr = nest.loop.var if is_zero(nest.loop.min) else nest.loop.var - nest.loop.min
    index = [nest.store.indices[d] for d in dims]
    shape = [buffer.shape[d] for d in dims]
    index.insert(axis, offset)
    shape.insert(axis, nest.loop.extent)
    taken = {n.name for n in nodes_of(session.func, Buffer)}
    results = Buffer.declare(unused_name(f"{buffer.name}_rf", taken), tuple(shape), buffer.dtype, scope="global")
    inputs = tuple(Var.fresh(f"y{k}", e.dtype) for k, e in enumerate(shape))
    kept = iter(v for k, v in enumerate(inputs) if k != axis)
    element = tuple(next(kept) if d in dims else e for d, e in enumerate(nest.store.indices))
    rule = Reassociate(nest.path, results, tuple(index), inputs, element)
    name = owner(session.func, buffer.data).name
    apply_licensed(session, rule, buffer.data, licence, f'rfactor(…, reassociate="{name}")')
    name = _tidy(session, nest, dims, axis)
    if nest.initialised:  # as in TVM, both blocks keep their initialisation
        recompose(session, name)
        recompose(session, nest.name)
    return name


def _nest(session: Session, handle: Handle) -> Nest:
    """The nest around the update that the loop reduces, its initialisation split off."""
    path, _ = session.loop(handle)
    session.each(LetStmt, lambda p, _: int(session.attempt(Inline(p))), _binds_what_is_stored, path)
    path, loop = session.loop(handle)
    where = _update(session, path, loop)
    block = next((s for k in range(len(where), -1, -1) if isinstance(s := session.stmt(where[:k]), Block)), None)
    top = _top(session, where)
    initialised = block is not None and isinstance(block.body, Seq)
    axes = tuple(s.var for s in loops_in_order(session, block.name) or ()) if block is not None else ()
    if block is not None and initialised:
        decompose_reduction(session, block.name, session.at(top, For).var)
        path, loop = session.loop(session.current(loop.var))
        where = _update(session, path, loop)
        top = _top(session, where)
    store = session.at(where, Store)
    if any(loop.var in free_vars(e) for e in store.indices if is_index(e)):
        raise fail(
            f"the loop over {loop.var.name} runs over elements of {store.buffer.name}, not over the reduction",
            path,
            code=codes.NOT_OF_THIS_FORM,
        )
    name = block.name if block is not None else store.buffer.name
    return Nest(top, store, loop, name, initialised, tuple(map(session.current, axes)))


def _binds_what_is_stored(let: LetStmt) -> bool:
    return isinstance(let.body, Store) and let.body.value is let.var


def _update(session: Session, path: Path, loop: For) -> Path:
    """The one update in the loop; an initialisation under a condition may stand before it in its block."""
    stmt: Stmt = loop
    while not isinstance(stmt, Store):
        match stmt:
            case For(body=body) | If(then_body=body, else_body=None) | LetStmt(body=body):
                path, stmt = (*path, 0), body
            case Block(is_label=True, body=Seq(stmts=(If(else_body=None), Store() as update))):
                return (*path, 0, 1) if isinstance(update, Store) else path
            case Block(is_label=True, body=body):
                path, stmt = (*path, 0), body
            case Seq() if len({s.buffer for s in nodes_of(stmt, Store)}) > 1:
                names = ", ".join(dict.fromkeys(s.buffer.name for s in nodes_of(stmt, Store)))
                raise fail(
                    f"the loop over {loop.var.name} updates several buffers at once ({names}); "
                    "a reduction of tuples is not split", path, code=codes.NOT_OF_THIS_FORM)  # fmt: skip
            case _:
                raise fail(
                    f"in the loop over {loop.var.name} stands something other than one update",
                    path,
                    code=codes.NOT_OF_THIS_FORM,
                )
    return path


def _top(session: Session, where: Path) -> Path:
    """The outermost loop of the nest around an update: loops, guards, lets and labels, with nothing beside them."""
    top = where
    for k in range(len(where) - 1, -1, -1):
        stmt = session.stmt(where[:k])
        block = isinstance(stmt, Seq) and k > 0 and isinstance(session.stmt(where[: k - 1]), Block)
        if not (block or isinstance(stmt, (For, LetStmt, Block)) or (isinstance(stmt, If) and stmt.else_body is None)):
            break
        top = where[:k] if isinstance(stmt, For) else top
    return top


def _check_runs(session: Session, nest: Nest) -> None:
    for loop in nodes_of(session.stmt(nest.path), For):
        if isinstance(loop.extent, IntImm) and loop.extent.value <= 0:
            raise fail(
                f"the loop over {loop.var.name} never runs, so there is nothing to be split; simplify() removes it",
                nest.path,
                code=codes.NOTHING_TO_CHANGE,
            )


def _dimensions(session: Session, nest: Nest) -> tuple[list[int], set[Var]]:
    """The dimensions of the result that the nest runs over, and the nest's variables; one of extent 1 stays too."""
    inside = {n.var for n in walk(session.stmt(nest.path)) if isinstance(n, (For, LetStmt))}
    pairs = zip(nest.store.indices, nest.store.buffer.shape, strict=True)
    dims = [
        d for d, (e, extent) in enumerate(pairs)
        if inside & set(free_vars(e)) or (isinstance(extent, IntImm) and extent.value == 1)
    ]  # fmt: skip
    return dims, inside


def _axis(factor_axis: int, rank: int, path: Path) -> int:
    if isinstance(factor_axis, bool) or not isinstance(factor_axis, int) or not -rank - 1 <= factor_axis <= rank:
        raise fail(
            f"the partial results have {rank + 1} dimension{'s' * (rank > 0)}, so factor_axis is from {-rank - 1} to "
            f"{rank}, not {factor_axis!r}", path, code=codes.WRONG_ARGUMENT)  # fmt: skip
    return factor_axis if factor_axis >= 0 else factor_axis + rank + 1


def _check_extents(nest: Nest, inside: set[Var]) -> None:
    around = [v for e in (nest.loop.min, nest.loop.extent) for v in free_vars(e) if v in inside]
    if around:
        raise fail(
            f"the range of the loop over {nest.loop.var.name} depends on {around[0].name}, so the number of partial "
            "results is not known before the nest", nest.path, code=codes.NOT_A_BOX)  # fmt: skip


# -- the text that is left ---------------------------------------------------------------------------------------------


def _tidy(session: Session, nest: Nest, dims: list[int], axis: int) -> str:
    """Names for the new loops and blocks; the new dimension is the innermost loop of the last nest."""
    base = (*nest.path, 0)
    name = unused_name(f"{nest.name}_rf", session.block_names())
    for place, _ in session.find(Block, lambda s: s.name == nest.name, under=(*base, 1)):
        session.apply(unwrapped(place))  # another statement bears the name from now on
    names = [_name(nest.store.indices[d], f"ax{k}") for k, d in enumerate(dims)]
    names.insert(axis, nest.loop.var.name)
    order = [k for k in range(len(names)) if k != axis] + [axis]
    for k, suffix, otherwise in ((0, "_init", list(range(len(names)))), (2, "", order)):
        path = (*base, k)
        ways = [
            *(partial(_as_before, session, path, nest, dims, axis, suffix, guarded) for guarded in (False, True)),
            partial(_by_elements, session, path, nest, [f"{n}{suffix}" for n in names], otherwise),
        ]
        same = session.first_of(ways)
        fold_at(session, path)
        if not suffix:
            _handles_go_along(session, (*base, 1), nest, same, name)
    for k, label in enumerate((f"{name}_init", name, nest.name)):
        session.apply(labelled(session.find(Store, under=(*base, k))[0][0], label))
    return name


def _as_before(
    session: Session, path: Path, nest: Nest, dims: list[int], axis: int, suffix: str, guarded: bool
) -> dict[Var, Var]:
    """The nest over the partial results runs in the loops of the reduction, but for those that are summed already, and
    under the conditions of these; gives them.

    :raises TacticFailed: if the loops over elements do not count them one by one.
    """
    indices = [nest.store.indices[d] for d in dims]
    loops = _chain(session.stmt(path))[: len(dims) + 1]
    partial_sums = session.stmt((*path[:-1], 1))
    kept = _kept(partial_sums, nest)
    elements = [s for s in kept if s.var is not nest.loop.var]
    fresh = {s.var: Var.fresh(f"{s.var.name}{suffix}", s.var.dtype) for s in kept}
    try:
        box = IndexMap(tuple(s.var for s in elements), tuple(indices)).on([s.extent for s in elements])
        inverse = box.inverse
    except IRError as problem:
        raise fail(f"the elements are not counted one by one: {problem}", path, code=codes.NOT_INVERTIBLE) from problem
    at = dict(zip(box.hit_vars, (s.var for k, s in enumerate(loops) if k != axis), strict=True))
    back = {s.var: substitute(e, at) for s, e in zip(elements, inverse, strict=True)}
    back[nest.loop.var] = loops[axis].var
    values = [substitute(e, fresh) for e in indices]
    values.insert(axis, fresh[nest.loop.var])
    range_of = {nest.loop.var: loops[axis]}
    news = [
        _like(s, fresh[s.var], range_of.get(s.var, s), marked=not suffix and s.var is not nest.loop.var) for s in kept
    ]
    summed = {n.var for n in walk(partial_sums) if isinstance(n, (For, LetStmt))} - {*fresh}
    conditions = guards_of(nodes_of(partial_sums, If), fresh) if guarded else ()
    guards = tuple(c for c in conditions if not summed & {*free_vars(c)} and not read_blocks(c))
    session.apply(moves.reindex(path, len(loops), tuple(news), guards, tuple(values), tuple(back[s.var] for s in kept)))
    return fresh


def _like(loop: For, var: Var, box: For, *, marked: bool) -> NewLoop:
    """A loop over a range that has the annotations of another one, and its kind if that is to be kept."""
    kind, thread = (loop.kind, loop.thread) if marked else ("serial", "")
    return NewLoop(var, box.min, box.extent, kind, thread, loop.annotations)


def _kept(partial_sums: Stmt, nest: Nest) -> list[For]:
    """The loops over elements of the result, and the one that is factored."""
    kept = {v for e in nest.store.indices for v in free_vars(e)} | {nest.loop.var}
    return [s for s in _chain(partial_sums) if s.var in kept]


def _handles_go_along(session: Session, partial_sums: Path, nest: Nest, same: dict[Var, Var], name: str) -> None:
    """In traces, handles mean the loops of the block that keeps its name; those of the partial results, in block
    ``name``, become others.  As in TVM, the factored loop is the first iteration variable of both blocks."""
    again: dict[Var, Var] = {}
    kept = _kept(session.stmt(partial_sums), nest)
    for s in kept if session.handles_of_tvm else ():
        path, _ = session.loop(s.var)
        again[s.var] = fresh = Var.fresh(s.var.name, s.var.dtype)
        new = _like(s, fresh, s, marked=True)
        session.apply(moves.reindex(path, 1, (new,), (), (fresh,), (s.var,)))
        session.renamed[s.var] = left = same.get(s.var, Var.fresh(s.var.name, s.var.dtype))
        if s.var not in same:
            session.gone[left] = f"block {nest.name} runs over elements now, one by one"
    if not nest.axes:
        return
    order = [nest.loop.var, *(v for v in nest.axes if v is not nest.loop.var)]
    session.axes[name] = tuple(again.get(v, v) for v in order)
    if {s.var for s in kept} <= {*same}:
        session.axes[nest.name] = tuple(same[v] for v in order if v in same)


def _chain(stmt: Stmt) -> list[For]:
    """The loops of a nest, outermost first."""
    found: list[For] = []
    while (below := sub_statements(stmt)) and len(below) == 1:
        if isinstance(stmt, For):
            found.append(stmt)
        stmt = below[0]
    return found


def unused_name(name: str, taken: set[str]) -> str:
    """The name, or the name and a number, if it is taken."""
    numbered = (f"{name}_{k}" if k else name for k in itertools.count())
    return next(n for n in numbered if n not in taken)


def _name(index: Expr, otherwise: str) -> str:
    return index.name if isinstance(index, Var) else otherwise


def _by_elements(session: Session, path: Path, nest: Nest, names: list[str], order: list[int]) -> dict[Var, Var]:
    """The nest's loops over elements get these names, in this order; gives the one that is factored."""
    loops = _chain(session.stmt(path))[: len(names)]
    fresh = [Var.fresh(name, loop.var.dtype) for name, loop in zip(names, loops, strict=True)]
    news = tuple(NewLoop(fresh[k], loops[k].min, loops[k].extent) for k in order)
    session.apply(moves.reindex(path, len(loops), news, (), tuple(fresh), tuple(loops[k].var for k in order)))
    remove_trivial_loops(session, path)
    return {nest.loop.var: fresh[order[-1]]}
