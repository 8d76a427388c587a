"""Executing a function symbolically: statements, in many rows at once (``loops.py`` says which).

With ``fast=False`` every loop runs serially, one statement instance at a time: the reference, to test the other
against.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias, final

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, Load, Undef, Var
from verified_tir.ir.func import PrimFunc
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
    LetStmt,
    Seq,
    Stmt,
    Store,
    While,
)
from verified_tir.ir.visit import walk
from verified_tir.semantics.memory import Extents, row_major
from verified_tir.validate.calls import declaration
from verified_tir.validate.evaluate import Evaluator
from verified_tir.validate.exchanges import is_unordered
from verified_tir.validate.frame import Frame, Value
from verified_tir.validate.loops import Loops
from verified_tir.validate.memory import Mask, Refused, View
from verified_tir.validate.terms import UNDEF_ID, TooManyTerms
from verified_tir.validate.threads import KERNEL, PHASE, WARP_SCOPE

_LARGEST_LOOP: Final = 1 << 24
_ITERATION: Final = 3000
"""Operations that an iteration of a ``while`` counts as: it runs alone, and takes as long."""
_STORE: Final = 1000
"""Operations that a store inside of a ``while`` counts as, whose inner loops may run one iteration at a time, too."""


def cell_widths(func: PrimFunc) -> dict[Var, int]:
    """By data variable, the bytes of the narrowest scalar through which a function sees the block."""
    found: dict[Var, int] = {}

    def see(buffer: Buffer) -> None:
        width = buffer.dtype.scalar.nbytes
        found[buffer.data] = min(width, found.get(buffer.data, width))

    for parameter in func.buffers:
        see(parameter)
    for node in walk(func.body):
        match node:
            case Store(buffer=buffer) | Load(buffer=buffer) | Allocate(buffer=buffer) | DeclBuffer(buffer=buffer):
                see(buffer)
            case Block(alloc_buffers=buffers):
                for buffer in buffers:
                    see(buffer)
    return found


Names: TypeAlias = Mapping[Var, "tuple[str, int | str]"]
"""By data variable, what findings call a block of memory, and which block of another program it is."""


def names_of(func: PrimFunc) -> Names:
    """Names that tell the blocks of a function apart.

    A parameter is known by its position; an allocation by its name, and its number among those of this name.
    """
    found: dict[Var, tuple[str, int | str]] = {}
    for position, param in enumerate(func.params):
        buffer = func.buffer_of(param)
        if buffer is not None:
            found[buffer.data] = buffer.name, position
    taken = {name for name, _ in found.values()}
    numbers: dict[str, int] = {}
    for node in walk(func.body):
        buffers = [node.buffer] if isinstance(node, Allocate) else node.alloc_buffers if isinstance(node, Block) else ()
        for buffer in buffers:
            if buffer.data not in found:
                number = numbers[buffer.name] = numbers.get(buffer.name, 0) + 1
                identity = f"{buffer.name}#{number}"
                found[buffer.data] = buffer.name if number == 1 and buffer.name not in taken else identity, identity
    return found


_Arm: TypeAlias = Callable[[Frame], None]


class Asserted(Exception):
    """An assertion that is false on every input ended the run."""


@final
@dataclass(slots=True)
class Executor:
    """Runs the statements of one function; ``budget`` is the most operations, together with those made before.

    ``widths`` are those of the cells of blocks, in bytes, by data variable, and ``names`` what these are called;
    ``whiles`` counts ``while`` loops around.  With ``marked``, what floats of several threads are combined to is
    another term than the same sum in a fixed order.
    """

    evaluator: Evaluator
    fast: bool
    budget: int
    widths: Mapping[Var, int] = field(default_factory=dict)
    names: Names = field(default_factory=dict)
    marked: bool = False
    whiles: int = 0
    loops: Loops = field(init=False)

    def __post_init__(self) -> None:
        self.loops = Loops(self.evaluator, self.run, self._spend, self.fast)

    # -------------------------------------------------------------------------------------------- statements

    def run(self, stmt: Stmt, frame: Frame) -> None:
        """Execute a statement in all rows of a frame.

        :raises UndefinedRun: undefined behaviour on every input.
        :raises Refused: where the validator cannot follow.
        """
        if frame.count == 0:
            return
        match stmt:
            case Seq(stmts=stmts):
                for s in stmts:
                    self.run(s, frame)
            case Store():
                self._store(stmt, frame)
            case For():
                self.loops.run(stmt, frame)
            case If(condition=condition, then_body=then, else_body=otherwise):
                arms = [None if arm is None else partial(self.run, arm) for arm in (then, otherwise)]
                self._branch(condition, frame, *arms)
            case LetStmt(var=var, value=value, body=body):
                frame.values[var] = self.evaluator.evaluate(value, frame)
                self.run(body, frame)
            case Allocate(buffer=buffer, body=body):
                self._allocate(buffer, frame)
                self.run(body, frame)
            case DeclBuffer(buffer=buffer, body=body):
                self._declare(buffer, frame)
                self.run(body, frame)
            case AttrStmt(key=key, node=node, body=body):
                if key == PHASE:
                    self.loops.barrier(frame, of_warp=node == WARP_SCOPE)
                self.run(body, frame) if key != KERNEL else self.loops.kernel(body, frame)
            case Block():
                self._block(stmt, frame)
            case Assume(condition=condition):
                self._claim(condition, frame)
            case Assert():
                self._assert(stmt, frame)
            case Evaluate(value=value):
                self.evaluator.evaluate(value, frame)
            case While():
                self._while(stmt, frame)
            case _:
                raise Refused(f"a statement of class {type(stmt).__name__}")

    def _spend(self, operations: int) -> None:
        """Count operations besides those that the evaluator counts.

        :raises TooManyTerms: beyond the budget.
        """
        self.evaluator.build.operations += operations
        if self.evaluator.build.operations > self.budget:
            raise TooManyTerms(f"more than {self.budget} operations")

    def _store(self, stmt: Store, frame: Frame) -> None:
        self._spend(_STORE if self.whiles else 0)
        evaluator = self.evaluator
        accessed = evaluator.accessed(stmt, frame)
        value = evaluator.terms_of(evaluator.evaluate(stmt.value, frame))
        if self.marked and stmt.value.dtype.is_float and is_unordered(stmt):
            combined = evaluator.build.opaque("pure in some order", stmt.value.dtype, value)
            value = np.where(value == UNDEF_ID, UNDEF_ID, combined)
        evaluator.access.store(frame, stmt.buffer, value, *accessed)

    def _uniform(self, expr: Expr, frame: Frame, what: str) -> int:
        found = np.unique(self.evaluator.number(expr, frame, "undef bound", what))
        if found.size != 1:
            raise Refused(f"{what} differs between iterations")
        return int(found[0])

    def _extents(self, buffer: Buffer, frame: Frame, *, moving: bool = False) -> Extents:
        """A buffer's extents; if the view is ``moving``, each row may have an offset of its own."""
        name = buffer.name
        shape = tuple([self._uniform(e, frame, f"the shape of {name}") for e in buffer.shape])
        strides = tuple([self._uniform(e, frame, f"a stride of {name}") for e in buffer.strides]) or row_major(shape)
        frame.bases.pop(buffer, None)
        if not moving:
            return Extents(shape, strides, self._uniform(buffer.elem_offset, frame, f"the offset of {name}"))
        offsets = self.evaluator.number(buffer.elem_offset, frame, "undef bound", f"the offset of {name}")[:, 0]
        if (offsets == offsets[0]).all():
            return Extents(shape, strides, int(offsets[0]))
        frame.bases[buffer] = offsets
        return Extents(shape, strides)

    def _allocate(self, buffer: Buffer, frame: Frame) -> None:
        """A fresh block for each row, side by side in one."""
        extents = self._extents(buffer, frame)
        if any(extent < 0 for extent in extents.shape):
            self.evaluator.events.note(frame, f"{buffer.name} has a negative extent", np.ones((1, 1), dtype=np.bool_))
            return
        span = extents.span * buffer.dtype.lanes
        ratio = buffer.dtype.scalar.nbytes // self.widths.get(buffer.data, buffer.dtype.scalar.nbytes)
        name, identity = self.names.get(buffer.data, (buffer.name, buffer.name))
        block = self.evaluator.access.memory.new_block(name, buffer.dtype, span * frame.count, ratio)
        block.dtypes.add(buffer.dtype.scalar)
        block.scope, block.data, block.identity = buffer.scope, buffer.data, identity
        span *= ratio
        view = View(buffer.name, buffer.dtype, block, extents, span)
        frame.views[buffer] = frame.blocks[buffer.data] = view
        frame.bases[buffer.data] = np.arange(frame.count, dtype=np.int64) * span

    def _declare(self, buffer: Buffer, frame: Frame) -> None:
        whole = frame.blocks.get(buffer.data)
        if whole is None:
            raise Refused(f"{buffer.name} is declared over {buffer.data.name}, which is not a block here")
        extents = self._extents(buffer, frame, moving=True)
        frame.views[buffer] = View(buffer.name, buffer.dtype, whole.block, extents, whole.span)

    # ------------------------------------------------------------------------------------------------- branches

    def _branch(self, condition: Expr, frame: Frame, then: _Arm | None, otherwise: _Arm | None = None) -> None:
        """Known conditions choose rows; with symbolic ones both arms run, and their stores keep what was there."""
        known, terms = self.evaluator.condition(condition, frame)
        true, false = self.evaluator.terms.true, self.evaluator.terms.false
        yes: Mask = known if known is not None else terms == true
        no: Mask = ~known if known is not None else terms == false
        mixed = ~(yes | no)
        for arm, rows in ((then, yes), (otherwise, no)):
            if arm is not None and rows.any():
                arm(frame.only(rows))
        inner = frame.only(mixed) if mixed.any() else None
        for arm, holds in ((then, True), (otherwise, False)):
            if arm is not None and inner is not None:
                arm(self.loops.doubtful(self.evaluator.guarded(inner, terms[mixed], holds=holds)))

    def _block(self, stmt: Block, frame: Frame) -> None:
        """Bind the iteration variables, and run the instances where the predicate holds, or may hold."""
        for iv in stmt.iter_vars:
            value = self.evaluator.number(iv.value, frame, "undef index", f"the value of {iv.var.name}")
            frame.values[iv.var] = Value(iv.var.dtype, value)
        self._branch(stmt.predicate, frame, partial(self._instances, stmt))

    def _instances(self, stmt: Block, frame: Frame) -> None:
        """Instances whose predicate holds: allocate, initialise, run the body."""
        evaluator = self.evaluator
        first: Mask = np.ones((1, 1), dtype=np.bool_)
        outside: Mask = np.zeros((1, 1), dtype=np.bool_)
        for iv in stmt.iter_vars:
            start = evaluator.number(iv.min, frame, "undef bound", f"the domain of {iv.var.name}")
            extent = evaluator.number(iv.extent, frame, "undef bound", f"the domain of {iv.var.name}")
            value = frame.values[iv.var].array
            outside = outside | (value < start) | (value >= start + extent)
            if iv.kind == "reduce":
                first = first & (value == start)
        evaluator.events.note(frame, f"block {stmt.name} is run outside its domain", outside)
        for buffer in stmt.alloc_buffers:
            self._allocate(buffer, frame)
        declared = declaration(stmt)
        if declared is not None:
            frame = replace(frame, declared=declared)
        if stmt.init is not None:
            starts = np.broadcast_to(first[:, 0], (frame.count,))
            if starts.any():
                self.run(stmt.init, frame.only(starts))
        self.run(stmt.body, frame)

    # ------------------------------------------------------------------------------------------------- claims

    def _claim(self, condition: Expr, frame: Frame) -> None:
        match condition:
            case Binary(op="eq", a=accessed, b=Undef()) | Binary(op="eq", a=Undef(), b=accessed):
                self.evaluator.evaluate(accessed, frame)
                return
            case Binary(op="and", a=a, b=b):
                self._claim(a, frame)
                self._claim(b, frame)
                return
            case Binary(op="or", a=a, b=b) if _about_undef(b) and not _about_undef(a):
                decided, _ = self.evaluator.condition(a, frame)
                if decided is None:
                    raise Refused("an assumption about undef that is made where data say so")
                if not decided.all():
                    self._claim(b, frame.only(~decided))
                return
        if _about_undef(condition):
            raise Refused("an assumption about undef that is neither a conjunction nor `condition or x == undef`")
        value = self.evaluator.evaluate(condition, frame)
        known = self.evaluator.known(value)
        if known is not None:
            self.evaluator.events.note(frame, "an assumption is false", known == 0)
            return
        self.evaluator.events.note_undef(frame, "an assumption is undef", value.array)
        self.evaluator.events.note_terms(frame, "an assumption is false", self.evaluator.build.negate(value.array))

    def _assert(self, stmt: Assert, frame: Frame) -> None:
        known, _ = self.evaluator.condition(stmt.condition, frame)
        if known is None:
            raise Refused(f"the assertion {stmt.message!r} depends on data")
        if not known.all():
            if frame.guard is not None:
                raise Refused(f"the assertion {stmt.message!r} fails on a path that depends on data")
            raise Asserted(stmt.message)

    def _while(self, stmt: While, frame: Frame) -> None:
        for _ in range(_LARGEST_LOOP):
            self._spend(_ITERATION)
            known, _ = self.evaluator.condition(stmt.condition, frame)
            if known is None:
                raise Refused("the condition of a while depends on data")
            if not known.all():
                return
            self.whiles += 1
            self.run(stmt.body, frame)
            self.whiles -= 1
        raise Refused(f"a while makes more than {_LARGEST_LOOP} iterations")


def _about_undef(condition: Expr) -> bool:
    return any(isinstance(node, Undef) for node in walk(condition))
