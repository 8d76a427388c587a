"""Modules: functions that call each other with whole buffers and scalars."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from verified_tir.ir.dtype import INT32, VOID
from verified_tir.ir.expr import Call, Expr, IntImm, Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.stmt import Evaluate, For, Stmt, seq
from verified_tir.ir.sugar import const
from verified_tir.testing.drawing import Picker
from verified_tir.testing.programs.features import ALL_FEATURES, Feature, checked
from verified_tir.testing.programs.finish import finish
from verified_tir.testing.programs.reach import Ranged, Reach
from verified_tir.testing.programs.sketch import Cells, Place, Sketch
from verified_tir.testing.programs.statements import body
from verified_tir.testing.programs.strategy import sketch

_NOT_CALLED: frozenset[Feature] = frozenset({"symbols", "textbook", "matches", "loop_kinds", "scalars", "vectors"})


def modules(
    features: Iterable[str] = ALL_FEATURES, *, max_depth: int = 3, max_functions: int = 3
) -> SearchStrategy[IRModule]:
    """Modules of a function ``main`` and one or two others that it calls, with its own statements around the calls.

    What is called has extents that are numbers, and takes each buffer whole; main may pass a loop's variable.

    :param features: as for ``prim_funcs``.
    :param max_functions: how many functions there are at most (at least 2).
    :raises ValueError: for a feature that does not exist.
    """
    return _modules(checked(features), max_depth, max(2, max_functions))


@st.composite
def _modules(draw: DrawFn, features: frozenset[Feature], max_depth: int, max_functions: int) -> IRModule:
    pick = Picker(draw)
    callees: list[PrimFunc] = []

    def some() -> None:
        callees.append(_callee(pick, features - _NOT_CALLED, max_depth, f"f{len(callees)}"))
        if len(callees) + 1 < max_functions and pick.rarely(3):
            pick.body(some)

    pick.body(some)
    main = _main(pick, features, max_depth, callees)
    return IRModule(tuple((f.name, f) for f in (main, *callees)))


def _callee(pick: Picker, features: frozenset[Feature], max_depth: int, name: str) -> PrimFunc:
    """A function of buffers, and of a number that is added to an index."""
    s = sketch(pick, features)
    place = Place(max_depth - 1)
    if pick.flip():
        k = Var.fresh("k", INT32)
        s.scalars.append(k)
        place = replace(place, indices=(Ranged(k, 0, Reach(2)),))
    return finish(s, body(s, place, 2), name)


def _main(pick: Picker, features: frozenset[Feature], max_depth: int, callees: list[PrimFunc]) -> PrimFunc:
    """Calls of the functions, each perhaps in a loop, with statements in between."""
    s = sketch(pick, features - {"matches", "textbook"})
    made: list[Stmt] = []
    for f in callees:
        if pick.flip():
            made.append(body(s, Place(max_depth - 1), 1))
        made.append(_called(s, f))
    if pick.flip():
        made.append(body(s, Place(max_depth - 1), 1))
    return finish(s, seq(*made))


def _called(s: Sketch, f: PrimFunc) -> Stmt:
    """One call: with buffers of its caller's that fit, each for one parameter, and with others made for it."""
    taken: list[Cells] = []
    numbers = any(f.buffer_of(p) is None for p in f.params)
    loop = Var.fresh("i", INT32) if numbers and s.pick.flip() else None
    args: list[Expr] = []
    for p in f.params:
        b = f.buffer_of(p)
        if b is None:
            args.append(const(s.pick.integer(0, 2)) if loop is None else loop)
            continue
        dims = [Reach(e.value) for e in b.shape if isinstance(e, IntImm)]
        known = [c for c in s.shown() if c.fixed and c.dims == dims and c.dtype is b.dtype and c not in taken]
        if known and not s.pick.rarely(3):
            cells = s.pick.among(known)
        else:
            cells = s.new(len(dims), b.dtype)
            cells.dims, cells.fixed = dims, True
        cells.read = cells.written = True
        taken.append(cells)
        args.append(cells.buffer.data)
    call: Stmt = Evaluate(Call(VOID, f"@{f.name}", tuple(args)))
    return call if loop is None else For(loop, const(0), const(s.pick.one(2, 3)), call)
