"""Where a program's statements stand: the loops, lets and guards around each, and the time of each of its instances.

A *site* is a place at which something is evaluated whose value matters elsewhere: a store, a let that holds data, a
condition on data.  An *instance* is a site together with the values of the loops around it.  Its *time* is one number:
statements are laid out one after the other, a loop takes its largest number of iterations times what its body takes.
So time is linear in the loop variables, tells instances apart, and orders them as the serial meaning does.

Blocks are taken apart as they expand: iteration variables are lets, predicate and ``init`` guards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, final

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Call, Expr, IntImm, LetExpr, Var
from verified_tir.ir.stmt import (
    Allocate,
    Assert,
    Assume,
    AttrStmt,
    Block,
    DeclBuffer,
    Evaluate,
    For,
    If,
    IterVar,
    LetStmt,
    Seq,
    Stmt,
    Store,
    While,
)
from verified_tir.ir.sugar import all_of
from verified_tir.ir.visit import walk
from verified_tir.semantics.memory import Extents
from verified_tir.validate.calls import BARRIER, is_data, needs_order
from verified_tir.validate.demand.intervals import Tape
from verified_tir.validate.interface import Side
from verified_tir.validate.memory import Refused, View, apart
from verified_tir.validate.shapes import extents_of
from verified_tir.validate.terms import Ids

LONGEST: Final = 1 << 60  # times fit 64 bits, sums too


@final
@dataclass(slots=True, eq=False)
class Loop:
    """A loop, with bounds of its variable that hold in all its executions; one iteration takes ``weight``."""

    stmt: For
    low: int
    high: int
    weight: int = 0


@final
@dataclass(frozen=True, slots=True, eq=False)
class InLoop:
    loop: Loop


@final
@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """``var`` stands for index arithmetic."""

    var: Var
    value: Expr


@final
@dataclass(frozen=True, slots=True, eq=False)
class BoundData:
    """``var`` stands for what the let at ``site`` evaluated to."""

    var: Var
    site: Site


@final
@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """Index arithmetic that decides whether an instance exists."""

    condition: Expr
    holds: bool


@final
@dataclass(frozen=True, slots=True, eq=False)
class DataGuard:
    """A condition on data, evaluated at ``site``, on whose outcome what is inside depends."""

    site: Site
    holds: bool


@final
@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """A block must not run outside the domain of its iteration variable."""

    block: str
    variable: IterVar


def time_of(offset: int, loops: Sequence[Loop], columns: Ids) -> Ids:
    """When what comes at ``offset`` in each iteration of some loops happens; ``columns`` may have inner loops, too."""
    found: Ids = np.full(columns.shape[0], offset, dtype=np.int64)
    for k, loop in enumerate(loops):
        found += (columns[:, k] - loop.low) * loop.weight
    return found


Entry: TypeAlias = InLoop | Bound | BoundData | Guard | DataGuard | Domain


@final
@dataclass(slots=True, eq=False)
class Site:
    """``what`` is a store, or the expression of a let or condition on data; ``context`` goes from outside in."""

    number: int
    kind: Literal["store", "let", "condition"]
    what: Store | Expr
    context: tuple[Entry, ...]
    offset: int
    loops: tuple[Loop, ...] = ()

    @property
    def depends_on_data(self) -> bool:
        """Whether data decide if an instance is executed."""
        return any(isinstance(entry, DataGuard) for entry in self.context)

    def time(self, columns: Ids) -> Ids:
        """When the instances run whose loop variables are the rows of ``columns``."""
        return time_of(self.offset, self.loops, columns)

    def iterations(self, times: Ids) -> Ids:
        """The loop variables of the instances that run at some times, one row each."""
        rest = times - self.offset
        columns: Ids = np.empty((times.size, len(self.loops)), dtype=np.int64)
        for k, loop in enumerate(self.loops):
            quotient = rest // loop.weight
            rest = rest - quotient * loop.weight
            columns[:, k] = quotient + loop.low
        return columns


@final
@dataclass(slots=True, eq=False)
class Storage:
    """A block of memory: ``start`` and ``loops`` say when an allocation makes a fresh one (no loops: see ``outer``)."""

    view: View
    offset: int
    loops: tuple[Loop, ...]
    parameter: int | None = None
    writers: list[Site] = field(default_factory=list)

    def made(self, columns: Ids) -> Ids:
        """When the blocks that instances see were made, whose loop variables are the rows of ``columns``."""
        return time_of(self.offset, self.loops, columns)


@final
class Outline:
    """The sites of a function at known sizes, in the order of the text; ``length`` is the time at which it ends.

    ``shifts`` are the offsets of views that move, in each iteration of the loops around.

    :raises Refused: for what cannot be evaluated on demand: opaque calls, ``while``, bounds or addresses that depend
        on data.
    """

    def __init__(self, side: Side) -> None:
        func, values = side.func, side.values
        self.func, self.values = func, values
        self.sites: list[Site] = []
        self.loops: list[Loop] = []
        self.views: dict[Buffer, View] = {}
        self.shifts: dict[Buffer, Expr] = {}
        self.storage: dict[Var, Storage] = {}
        self.asserted: list[tuple[Assert, tuple[Entry, ...]]] = []
        self.assumes = False
        self.data: set[Var] = {p for p in func.params if p not in values}
        for p in side.params:
            if p.buffer is not None:
                p.check_strides()
                self._own(p.buffer, p.extents, -1, (), p.position)
        for node in walk(func.body):
            if isinstance(node, (LetStmt, LetExpr)) and self.is_data(node.value):
                self.data.add(node.var)
        self.length = self._stmt(func.body, (), 0)
        if self.length > LONGEST:
            raise Refused("the program executes too many statements to be counted")
        for site in self.sites:
            if isinstance(site.what, Store):
                self.storage[site.what.buffer.data].writers.append(site)

    def is_data(self, expr: Expr) -> bool:
        """Whether a value is not known from sizes and loop variables alone."""
        return is_data(expr, self.data)

    # -------------------------------------------------------------------------------------------- statements

    def _stmt(self, stmt: Stmt, context: tuple[Entry, ...], start: int) -> int:
        """Record what is in a statement that begins at a time; how long it takes."""
        match stmt:
            case Seq(stmts=stmts):
                total = 0
                for s in stmts:
                    total += self._stmt(s, context, start + total)
                return total
            case Store():
                self._site("store", stmt, context, start)
                return 1
            case For():
                return self._for(stmt, context, start)
            case If(condition=c, then_body=then, else_body=otherwise):
                return self._if(c, then, otherwise, context, start)
            case LetStmt(var=var, value=value, body=body):
                if self.is_data(value):
                    bound = BoundData(var, self._site("let", value, context, start))
                    return 1 + self._stmt(body, (*context, bound), start + 1)
                return self._stmt(body, (*context, Bound(var, value)), start)
            case Allocate(buffer=buffer, body=body):
                self._allocate(buffer, context, start)
                return 1 + self._stmt(body, context, start + 1)
            case DeclBuffer(buffer=buffer, body=body):
                self._declare(buffer)
                return self._stmt(body, context, start)
            case AttrStmt(body=body):
                return self._stmt(body, context, start)
            case Block():
                return self._block(stmt, context, start)
            case Assume():
                self.assumes = True
                return 0
            case Assert(condition=c):
                if self.is_data(c) or any(isinstance(e, (InLoop, DataGuard)) for e in context):
                    raise Refused(f"the assertion {stmt.message!r} depends on data or is in a loop")
                self.asserted.append((stmt, context))
                return 0
            case Evaluate(value=value):
                _refuse_opaque(value)
                return 0
            case While():
                raise Refused("a while cannot be evaluated on demand: how often it runs is not known beforehand")
        raise Refused(f"a statement of class {type(stmt).__name__}")

    def _site(
        self, kind: Literal["store", "let", "condition"], what: Store | Expr, context: tuple[Entry, ...], start: int
    ) -> Site:
        loops = tuple([e.loop for e in context if isinstance(e, InLoop)])
        _refuse_opaque(what)
        if isinstance(what, Store):
            for index in (*what.indices, *([what.predicate] if what.predicate is not None else [])):
                if self.is_data(index):
                    raise Refused(f"an address of {what.buffer.name} depends on data")
            if what.buffer not in self.views:
                raise Refused(f"{what.buffer.name} is not declared here")
        site = Site(len(self.sites), kind, what, context, start, loops)
        self.sites.append(site)
        return site

    def _for(self, stmt: For, context: tuple[Entry, ...], start: int) -> int:
        for bound in (stmt.min, stmt.extent):
            if self.is_data(bound):
                raise Refused(f"the bounds of loop {stmt.var.name} depend on data")
        low, _ = self._hull(stmt.min, context)
        _, high = self._hull(Binary("add", stmt.min, stmt.extent), context)
        if high <= low:
            return 0
        loop = Loop(stmt, low, high - 1)
        self.loops.append(loop)
        loop.weight = max(1, self._stmt(stmt.body, (*context, InLoop(loop)), start))
        total = (high - low) * loop.weight
        if total > LONGEST:
            raise Refused(f"loop {stmt.var.name} executes too many statements to be counted")
        return total

    def _hull(self, expr: Expr, context: tuple[Entry, ...]) -> tuple[int, int]:
        """An interval that holds all values of an index expression."""
        tape, low, high = self.box(context)
        k = tape.node(expr)
        lows, highs = tape.forward(low, high)
        return int(lows[k].min()), int(highs[k].max())

    def box(self, context: tuple[Entry, ...], lane: int | None = None) -> tuple[Tape, Ids, Ids]:
        """A tape over the loops of a context (and one more column with ``lane``), and the box of all iterations."""
        loops = [e.loop for e in context if isinstance(e, InLoop)]
        lets = {e.var: e.value for e in context if isinstance(e, Bound)}
        columns = {loop.stmt.var: k for k, loop in enumerate(loops)}
        low = [loop.low for loop in loops] + ([0] if lane is not None else [])
        high = [loop.high for loop in loops] + ([lane - 1] if lane is not None else [])
        tape = Tape(columns, self.values, lets, len(loops) if lane is not None else None)
        shape = (1, len(low))
        return tape, np.array(low, dtype=np.int64).reshape(shape), np.array(high, dtype=np.int64).reshape(shape)

    def _if(self, condition: Expr, then: Stmt, otherwise: Stmt | None, context: tuple[Entry, ...], start: int) -> int:
        taken = 0
        if self.is_data(condition):
            site = self._site("condition", condition, context, start)
            taken = 1
            inside: list[Entry] = [DataGuard(site, True), DataGuard(site, False)]
        else:
            inside = [Guard(condition, True), Guard(condition, False)]
        taken += self._stmt(then, (*context, inside[0]), start + taken)
        if otherwise is not None:
            taken += self._stmt(otherwise, (*context, inside[1]), start + taken)
        return taken

    def _block(self, stmt: Block, context: tuple[Entry, ...], start: int) -> int:
        for iv in stmt.iter_vars:
            if self.is_data(iv.value):
                raise Refused(f"the value of {iv.var.name} depends on data")
            context = (*context, Bound(iv.var, iv.value))
        taken = 0
        if self.is_data(stmt.predicate):
            context = (*context, DataGuard(self._site("condition", stmt.predicate, context, start), True))
            taken = 1
        elif not (isinstance(stmt.predicate, IntImm) and stmt.predicate.value):
            context = (*context, Guard(stmt.predicate, True))
        context = (*context, *[Domain(stmt.name, iv) for iv in stmt.iter_vars])
        for buffer in stmt.alloc_buffers:
            self._allocate(buffer, context, start + taken)
            taken += 1
        if stmt.init is not None:
            first = [Binary("eq", iv.var, iv.min) for iv in stmt.iter_vars if iv.kind == "reduce"]
            taken += self._stmt(stmt.init, (*context, Guard(all_of(first), True)), start + taken)
        return taken + self._stmt(stmt.body, context, start + taken)

    # ------------------------------------------------------------------------------------------------ buffers

    def _own(
        self, buffer: Buffer, extents: Extents, start: int, loops: tuple[Loop, ...], parameter: int | None = None
    ) -> None:
        """A buffer with a block of its own."""
        self.views[buffer] = apart(buffer, extents)
        self.storage[buffer.data] = Storage(self.views[buffer], start, loops, parameter)

    def _allocate(self, buffer: Buffer, context: tuple[Entry, ...], start: int) -> None:
        loops = tuple([e.loop for e in context if isinstance(e, InLoop)])
        self._own(buffer, extents_of(buffer, self.values), start, loops)

    def _declare(self, buffer: Buffer) -> None:
        whole = self.storage.get(buffer.data)
        if whole is None:
            raise Refused(f"{buffer.name} is declared over {buffer.data.name}, which is not a block here")
        if whole.view.dtype.scalar.nbytes != buffer.dtype.scalar.nbytes:
            raise Refused(f"{buffer.name} views {whole.view.name} by elements of another width")
        moving = any(isinstance(v, Var) and v not in self.values for v in walk(buffer.elem_offset))
        if moving and self.is_data(buffer.elem_offset):
            raise Refused(f"the offset of {buffer.name} depends on data")
        if moving:
            self.shifts[buffer] = buffer.elem_offset
        extents, block = extents_of(buffer, self.values, 0 if moving else None), whole.view.block
        block.dtypes.add(buffer.dtype.scalar)
        self.views[buffer] = View(buffer.name, buffer.dtype, block, extents, whole.view.span)


def _refuse_opaque(node: Store | Expr) -> None:
    """:raises Refused: for calls that have an effect; annotations, which are not executed, may hold any."""
    for call in walk(node):
        if isinstance(call, Call) and call.op == BARRIER:
            raise Refused("threads wait for each other at a barrier")
        if isinstance(call, Call) and needs_order(call):
            raise Refused(f"what the opaque call {call.op} does may depend on all that was executed before")
