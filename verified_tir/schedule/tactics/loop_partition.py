"""loop_partition: the range of a loop is cut into consecutive parts of given lengths, each a loop of its own.

    for i in range(128): S(i)      ⟶      for i0 in range(0, 2): S(i0)
                                           for i1 in range(2, 66): S(i1)
                                           for i2 in range(66, 128): S(i2)

Each cut is index-set splitting (``reorder``).  Blocks in a part are called ``<block>_<loop><part>``, as in TVM.  TVM
puts blocks around the parts (``…_partition``, ``…_common``), which mean nothing here and are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from verified_tir.index.fold import folded
from verified_tir.ir.expr import Expr, IntImm, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Block, For, Stmt
from verified_tir.ir.sugar import const
from verified_tir.schedule import codes, moves
from verified_tir.schedule.moves import NewLoop, builder
from verified_tir.schedule.session import Handle, Session, fail
from verified_tir.schedule.tactics.loops import cut
from verified_tir.schedule.tactics.rfactor import unused_name


def loop_partition(session: Session, loop: Handle, factors: Sequence[int | None]) -> list[Var]:
    """Cut a loop into parts of the given lengths, and what is left; gives the loops.

    :param factors: one of them may be ``None``: it is what the others leave.  Without one the rest is a last part.
    """
    path, target = session.loop(loop)
    lengths = _lengths(target, factors, path)
    base = target.var.name
    paths, rest = [], path
    end: Expr = target.min
    for length in lengths[:-1]:
        end = folded(end + length)
        first, rest = cut(session, rest, end)
        paths.append(first)
    paths.append(rest)
    names = _names_below(session, paths[0])
    found = [_called(session, p, f"{base}{k}") for k, p in enumerate(paths)]
    for k, p in enumerate(paths):
        _relabel(session, p, f"{base}{k}", names)
    session.gone[target.var] = f"it was partitioned into {', '.join(v.name for v in found)}"
    return found


def _lengths(target: For, factors: Sequence[int | None], path: Path) -> list[Expr]:
    """The lengths of all parts, the last one as what the others leave if no factor was ``None``.

    :raises TacticFailed: if the factors make no sense, or a constant range is shorter than they are together.
    """
    if isinstance(factors, str) or not isinstance(factors, Sequence) or not factors:
        raise fail(
            f"loop_partition takes a list of factors such as [2, None], not {factors!r}",
            path,
            code=codes.WRONG_ARGUMENT,
        )
    plain = [f.value if isinstance(f, IntImm) else f for f in factors]
    for x in plain:
        if isinstance(x, bool) or not (x is None or isinstance(x, (int, np.integer))) or (x is not None and x < 1):
            raise fail(f"a factor is a positive integer or None, not {x!r}", path, code=codes.WRONG_ARGUMENT)
    if plain.count(None) > 1:
        raise fail(f"at most one factor may be None; there are {plain.count(None)}", path, code=codes.WRONG_ARGUMENT)
    dtype, extent = target.var.dtype, target.extent
    known = sum(int(x) for x in plain if x is not None)
    if isinstance(extent, IntImm) and known + (None in plain) > extent.value:
        raise fail(
            f"the parts have {known} iterations, the loop has {extent.value}: nothing is left for the rest"
            if known == extent.value
            else f"the parts have {known} iterations, more than the {extent.value} of the loop",
            path,
            code=codes.FACTORS_DO_NOT_FIT,
        )
    if known > dtype.max_value:
        raise fail(
            f"the parts have {known} iterations, too many for the loop's type {dtype}",
            path,
            code=codes.FACTORS_DO_NOT_FIT,
        )
    left = folded(extent - const(known, dtype))
    lengths = [left if x is None else const(int(x), dtype) for x in plain]
    complete = None in plain or (isinstance(left, IntImm) and left.value == 0)
    return lengths if complete else [*lengths, left]


def _called(session: Session, path: Path, name: str) -> Var:
    """Give the loop at ``path`` a variable of this name."""
    loop = session.at(path, For)
    var = Var.fresh(name, loop.var.dtype)
    new = NewLoop(var, loop.min, loop.extent, loop.kind, loop.thread, loop.annotations)
    session.apply(moves.reindex(path, 1, (new,), (), (var,), (loop.var,)))
    return var


def _names_below(session: Session, path: Path) -> list[str]:
    return [label.name for _, label in session.find(Block, under=path)]


def _relabel(session: Session, path: Path, suffix: str, names: Sequence[str]) -> None:
    """The blocks below ``path`` get names that end in ``suffix``."""
    places = [p for p, _ in session.find(Block, under=path)]
    for place, name in zip(places, names, strict=True):
        session.apply(_renamed(place, unused_name(f"{name}_{suffix}", session.block_names())))


@builder
def _renamed(stmt: Stmt, path: Path, name: str) -> Stmt | str:
    """Give the label at ``path`` another name."""
    return replace(stmt, name=name) if isinstance(stmt, Block) and stmt.is_label else "not a label"
