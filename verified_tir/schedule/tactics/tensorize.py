"""tensorize: a nest that is what an intrinsic describes becomes the intrinsic.

The nest is compared with the description in step (``unify``); that gives the value of each symbol, and for each buffer
of the description a view of the site's buffer: where it starts, and its strides.  All of this is a guess.  The kernel
proves that the accesses through the views are the same, what the description assumes, and that the arguments fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from verified_tir.elaborate.blocks import expand_blocks
from verified_tir.elaborate.labels import without_labels
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import SKIP, Seq, Stmt
from verified_tir.kernel.begin import scalars_of
from verified_tir.kernel.calls import Arguments, instantiate
from verified_tir.kernel.rules.call import Implement, Refine
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.scope import Declare, Drop
from verified_tir.kernel.theorem import Refines
from verified_tir.schedule import codes
from verified_tir.schedule.edits import moves_of, redirected
from verified_tir.schedule.functions import assumes, head
from verified_tir.schedule.intrinsic import Intrinsic
from verified_tir.schedule.rule_builders import annotated, labelled
from verified_tir.schedule.session import Handle, Session, TacticFailed, fail
from verified_tir.schedule.tactics.simplify import simplify_expressions
from verified_tir.schedule.tactics.unify import Match, Mismatch, unify
from verified_tir.schedule.tactics.windows import Window, window

INTRINSIC = "tensorized"
"""The annotation of a label: the intrinsic that its body was made of."""

Lemma: TypeAlias = Callable[[Intrinsic], Refines]
"""What proves that an intrinsic's steps lead from its description to another program."""


def tensorize(session: Session, place: Handle, which: Intrinsic | str, lemma: Lemma) -> str:
    """Replace the nest of a loop, or a block, by an intrinsic; gives the name of the block that it becomes."""
    path = session.place(place)
    try:
        intrin = Intrinsic.get(which) if isinstance(which, str) else which
    except ValueError as problem:
        raise fail(str(problem), path) from problem
    if not isinstance(intrin, Intrinsic):
        raise fail(
            f"an intrinsic is a TensorIntrin, its name, or a schedule of its description, not {which!r}",
            path,
            code=codes.WRONG_ARGUMENT,
        )
    session.apply(labelled(path, intrin.name))
    session.apply(annotated(path, ((INTRINSIC, intrin.name),)))
    _replace(session, (*path, 0), intrin, lemma, forget=True)
    return intrin.name


def refine_call(session: Session, block: str, function: Intrinsic, lemma: Lemma) -> None:
    """Replace what a function does at a block by what refines it; the block keeps its name."""
    path, _ = session.block(block)
    if not isinstance(function, Intrinsic):
        raise fail(
            f"a function is replaced by a schedule of it, not by {function!r}", path, code=codes.INTRINSIC_DOES_NOT_FIT
        )
    _replace(session, (*path, 0), function, lemma, forget=False)


def precondition(session: Session, block: str, function: PrimFunc) -> None:
    """Insert, in a block that is the rest of a function's body, what the function assumes before all else."""
    path, label = session.block(block)
    function = expand_blocks(function)
    assumed, rest = head(without_labels(function.body))
    try:
        match = unify(function, rest, without_labels(label.body))
        windows = _windows(function, match, path, function.name)
    except Mismatch as difference:
        raise fail(
            f"block {block} is not {function.name}: {difference}", path, code=codes.INTRINSIC_DOES_NOT_FIT
        ) from difference
    if any(w.view is not w.buffer for w in windows):
        raise fail(
            f"block {block} is {function.name} on parts of buffers; tensorize it",
            path,
            code=codes.INTRINSIC_DOES_NOT_FIT,
        )
    arguments = Arguments(tuple(w.view for w in windows), tuple(match.values.items()))
    session.apply(Insert((*path, 0), instantiate(function.with_body(assumed), arguments)))


def _replace(session: Session, path: Path, intrin: Intrinsic, lemma: Lemma, *, forget: bool) -> None:
    """The statement becomes the intrinsic; if what the description assumes does not stand in it, it is inserted.

    :param forget: whether what was inserted goes again afterwards.
    """
    proved = lemma(intrin)
    described = proved.before
    whole = without_labels(described.body)
    try:
        match, assumed, windows = _match(session, path, described, whole, intrin.name)
    except Mismatch as difference:
        simplify_expressions(session, path)  # an index may be one that fits, written otherwise
        try:
            match, assumed, windows = _match(session, path, described, whole, intrin.name)
        except Mismatch:
            raise fail(
                f"{intrin.name} does not fit: {difference}", path, code=codes.INTRINSIC_DOES_NOT_FIT
            ) from difference
    views = [w for w in windows if w.view is not w.buffer]
    inner = path
    for w in views:
        session.apply(Declare(inner, w.view, True))
        inner = (*inner, 0)
    for w in views:
        session.apply(redirected(inner, w.buffer, w.view, w.moves))
    arguments = Arguments(tuple(w.view for w in windows), tuple(match.values.items()))
    if assumed is not SKIP:
        session.apply(Insert(inner, instantiate(described.with_body(assumed), arguments)))
    if intrin.implementation is None:
        session.apply(Refine(inner, proved, arguments))
        if forget and assumed is not SKIP:
            _without_assumptions(session, inner)
        _without_views(session, inner, views)
        simplify_expressions(session, path)
    else:
        impl = expand_blocks(intrin.implementation)
        given = _given(impl, described, windows, match, path)
        session.apply(Implement(inner, described, impl, arguments, given))


def _match(
    session: Session, path: Path, described: PrimFunc, whole: Stmt, name: str
) -> tuple[Match, Stmt, list[Window]]:
    """The statement as an instance of what is described: with which values, what it assumes beside that, and views.

    :raises Mismatch: if it is none.
    """
    site = without_labels(session.stmt(path))
    assumed, rest = head(whole)
    if assumes(head(site)[0]):
        match, assumed = unify(described, whole, site), SKIP
    else:
        match = unify(described, rest, site)
    return match, assumed, _windows(described, match, path, name)


def _windows(func: PrimFunc, match: Match, path: Path, name: str) -> list[Window]:
    """A view of the site for each buffer of the description; symbols of strides and offsets get their values.

    :raises Mismatch: if a buffer is used in a way that is not understood.
    """
    found: list[Window] = []
    for p in func.buffers:
        if p not in match.accesses:
            raise fail(
                f"{name}: {func.name} does not use {p.name}, so nothing says what to pass for it",
                path,
                code=codes.INTRINSIC_DOES_NOT_FIT,
            )
        found.append(window(p, match))
    missing = [v.name for v in scalars_of(func) if v not in match.values]
    if missing:
        raise fail(
            f"{name}: nothing in the nest says what {', '.join(missing)} of {func.name} is",
            path,
            code=codes.INTRINSIC_DOES_NOT_FIT,
        )
    return found


def _given(
    impl: PrimFunc, described: PrimFunc, windows: list[Window], match: Match, path: Path
) -> tuple[tuple[Var, Expr], ...]:
    """The values of the implementation's scalars: those of the description by position, and the views' own."""
    values: dict[Var, Expr] = {}
    if len(impl.buffers) != len(windows):
        raise fail(
            f"{impl.name} takes {len(impl.buffers)} buffers, and {described.name} {len(windows)}",
            path,
            code=codes.INTRINSIC_DOES_NOT_FIT,
        )
    mine = [v for v in impl.params if impl.buffer_of(v) is None]
    theirs = [v for v in described.params if described.buffer_of(v) is None]
    values.update((a, match.values[b]) for a, b in zip(mine, theirs, strict=False))
    for p, w in zip(impl.buffers, windows, strict=True):
        pairs = [*zip(p.shape, w.view.shape, strict=False), *zip(p.strides, w.strides, strict=False)]
        for e, value in (*pairs, (p.elem_offset, w.view.elem_offset)):
            if isinstance(e, Var):
                values.setdefault(e, value)
    return tuple((v, values[v]) for v in scalars_of(impl) if v in values)


def _without_assumptions(session: Session, path: Path) -> None:
    """What the statement assumes before all else goes."""
    while isinstance(stmt := session.stmt(path), Seq) and stmt.stmts and assumes(stmt.stmts[0]):
        if not session.attempt(Erase((*path, 0))):
            return


def _without_views(session: Session, path: Path, views: list[Window]) -> None:
    """Accesses through the views become accesses of the buffers themselves, where that can be done."""
    for w in reversed(views):
        where = path[:-1]
        try:
            with session.atomic():
                moves = moves_of(session.stmt(path), w.view, w.through)
                session.apply(redirected(path, w.view, w.buffer, moves))
                session.apply(Drop(where))
        except (TacticFailed, IRError):
            return
        path = where


__all__ = ["precondition", "refine_call", "tensorize"]
