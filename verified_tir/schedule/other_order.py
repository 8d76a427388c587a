"""What another order of a float reduction may do to results: which steps changed one, and how far that reaches.

The validator knows nothing of rules.  It says "equal over the reals" of sums in another order, and "different" of bits
that it finds computed from them.  Both are as they should be where the theorem says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.find import writes_of
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import at
from verified_tir.ir.stmt import For, If, LetStmt, Stmt, Store, While
from verified_tir.ir.visit import nodes_of, sub_statements, walk
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.kernel.rules.reorder import Reorder
from verified_tir.kernel.theorem import Refines


def reordered(theorem: Refines) -> bool:
    """Whether float reductions were put in another order: with the user's word, or minima and maxima, where that was
    proved to change no bit (which is too hard for the validator)."""
    if theorem.reassociated:
        return True
    for step in theorem.derivation:
        match step.rule:
            case Reassociate(partial=partial) if partial.dtype.is_float:
                return True
            case Reorder(path=path, any_order=True):
                written = writes_of(at(step.after.body, path))
                if any(s.buffer.dtype.is_float for s in written):
                    return True
    return False


def reordered_programs(theorem: Refines) -> Iterator[PrimFunc]:
    """The programs in which reductions were put in another order, after that was done: a later step may leave nothing
    of the buffer, as when it was local to what is inlined, nor of its name."""
    for step in theorem.derivation:
        match step.rule:
            case Reassociate() | Reorder(any_order=True):
                yield step.after


def names_of(theorem: Refines) -> frozenset[str]:
    """What the blocks whose reductions were put in another order were called, with all their views, in any program."""
    blocks = set(theorem.reassociated)
    for step in theorem.derivation:
        blocks |= {new for new, old in step.made.heirs if old in blocks}
    programs = (theorem.before, *(step.after for step in theorem.derivation))
    return names_in(blocks, *programs)


def names_in(blocks: Collection[Var], *programs: PrimFunc) -> frozenset[str]:
    """The names of some blocks in programs, with those of all their views."""
    return frozenset(b.name for f in programs for b in walk(f) if isinstance(b, Buffer) and b.data in blocks)


def may_reach(element: str, sums: Collection[str], *programs: PrimFunc) -> bool:
    """Whether an element (``"C[0, 3]"``) may depend on the reductions into buffers of the names ``sums``."""
    name = element.partition("[")[0]
    return any(name in {b.name for b in _reached(f, set(sums))} for f in programs)


def _reached(func: PrimFunc, names: set[str]) -> set[Buffer]:
    """Buffers that hold what was computed from buffers of these names."""
    buffers = set(nodes_of(func, Buffer))
    found: set[Var] = {b.data for b in buffers if b.name in names}
    while True:
        more = {v for v in _flow(func.body, found, False) if v not in found}
        if not more:
            return {b for b in buffers if b.data in found}
        found |= more


def _flow(stmt: Stmt, found: set[Var], under: bool) -> Iterator[Var]:
    """The blocks and lets that depend on what was found, also by being written or not."""

    def reads(*exprs: Expr) -> bool:
        return any(n in found for e in exprs for n in nodes_of(e, Var))

    match stmt:
        case Store(buffer=b, value=value, indices=indices):
            if under or reads(value, *indices):
                yield b.data
        case LetStmt(var=v, value=value):
            if reads(value):
                yield v
        case If(condition=c) | While(condition=c):
            under = under or reads(c)
        case For(min=low, extent=extent):
            under = under or reads(low, extent)
        case _:
            pass
    for inner in sub_statements(stmt):
        yield from _flow(inner, found, under)
