"""The meaning of statements.

``effect_of(s, path)`` is what executing ``s`` does to the state of a run.  Loops are serial whatever their kind; blocks
are executed as they stand, instance by instance; annotations and attributes do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL
from verified_tir.ir.expr import Binary, Call, Expr, Undef
from verified_tir.ir.find import data_vars
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
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
from verified_tir.ir.visit import sub_statements
from verified_tir.semantics.errors import AssertionFailed, Stopped, UndefinedBehaviour
from verified_tir.semantics.interpreter.expressions import DataVars, indices_of, lazy, mask_of, meaning_of, number
from verified_tir.semantics.interpreter.frame import Effect, Frame, Meaning
from verified_tir.semantics.interpreter.races import WATCHED
from verified_tir.semantics.memory import Extents, View, row_major
from verified_tir.semantics.values import UNDEF, fits, lanes_of, vector

CallEffect = Callable[[Call, DataVars], Effect]
"""What calling another function of the module does; the runner knows, the statements do not."""


def body_effect(body: Stmt, call: CallEffect) -> Effect:
    """The meaning of a function's body."""
    return _Statements(data_vars(body), call).effect_of(body, ())


def declaration(buffer: Buffer, data: DataVars) -> Callable[[Frame], Extents]:
    """The meaning of a buffer's extents; without strides it is row-major."""

    def numbers(exprs: Sequence[Expr], what: str) -> list[Callable[[Frame], int]]:
        return [number(e, data, "undef-bound", f"{what} of {buffer.name}") for e in exprs]

    shape, strides = numbers(buffer.shape, "the shape"), numbers(buffer.strides, "a stride")
    (offset,) = numbers([buffer.elem_offset], "the offset")

    def evaluate(frame: Frame) -> Extents:
        extents = tuple([extent(frame) for extent in shape])
        steps = tuple([stride(frame) for stride in strides]) if strides else row_major(extents)
        return Extents(extents, steps, offset(frame))

    return evaluate


def _ended(buffer: Buffer) -> Effect:
    """What was allocated is gone: nobody can tell but callees that have kept its address."""

    def end(frame: Frame) -> None:
        if frame.run.world is not None:
            frame.run.world.end(frame.whole[buffer.data])

    return end


@final
class _Statements:
    """Composes the meanings of one function's statements; ``data`` are its variables that hold data."""

    def __init__(self, data: DataVars, call: CallEffect) -> None:
        self.data = data
        self.call = call

    def effect_of(self, stmt: Stmt, path: Path) -> Effect:
        """The meaning of the statement at ``path``; whatever ends a run inside it carries its place."""
        effect = self._effect(stmt, path)

        def placed(frame: Frame) -> None:
            try:
                effect(frame)
            except Stopped as end:
                end.at(path)
                raise

        return placed

    def _effect(self, stmt: Stmt, path: Path) -> Effect:
        match stmt:
            case Store():
                return self._store(stmt)
            case For():
                return self._for(stmt, path)
            case If():
                return self._if(stmt, path)
            case Seq(stmts=stmts):
                return _in_order([self.effect_of(s, (*path, k)) for k, s in enumerate(stmts)])
            case LetStmt():
                return self._let(stmt, path)
            case Allocate():
                body = self.effect_of(stmt.body, (*path, 0))
                return _in_order([self._allocation(stmt.buffer), body, _ended(stmt.buffer)])
            case DeclBuffer():
                return _in_order([self._view(stmt.buffer), self.effect_of(stmt.body, (*path, 0))])
            case Block():
                return self._block(stmt, path)
            case Assume(condition=condition):
                return self._assume(condition)
            case Assert():
                return self._assert(stmt)
            case Evaluate(value=Call(op=op) as call) if op.startswith("@"):
                return self.call(call, self.data)
            case Evaluate(value=value):
                return _discard(meaning_of(value, self.data))
            case While():
                return self._while(stmt, path)
            case AttrStmt(body=body):
                return self.effect_of(body, (*path, 0))
        raise IRError(f"a statement of unknown class {type(stmt).__name__}")

    # ------------------------------------------------------------------------------------------------- memory

    def _store(self, stmt: Store) -> Effect:
        """Indices and value are evaluated first, then the lanes are stored in order."""
        buffer = stmt.buffer
        indices, value = indices_of(buffer.name, stmt.indices, self.data), meaning_of(stmt.value, self.data)
        lanes = buffer.dtype.lanes
        mask = None if stmt.predicate is None else mask_of(buffer.name, stmt.predicate, self.data)

        def store(frame: Frame) -> None:
            frame.run.step()
            turns = frame.run.interleaving
            if turns is not None:
                turns.pause()
            rows, stored = indices(frame), value(frame)
            taken = None if mask is None else mask(frame)
            if turns is not None:
                turns.pause()
            view = frame.view(buffer)
            if len(rows) == 1:
                view.store(rows[0], stored)
            else:
                scalars = lanes_of(stored)
                for k, row in enumerate(rows):
                    if taken is None or taken[k]:
                        view.store(row, vector(scalars[k * lanes : (k + 1) * lanes]))
            if frame.run.watch is not None:
                for k, row in enumerate(rows):
                    if taken is None or taken[k]:
                        frame.run.watch.access(view, row, write=True)

        return store

    def _allocation(self, buffer: Buffer) -> Effect:
        """A fresh block for each execution, undefined throughout."""
        declare = declaration(buffer, self.data)

        def allocate(frame: Frame) -> None:
            extents = declare(frame)
            if any(extent < 0 for extent in extents.shape):
                raise UndefinedBehaviour("negative-extent", f"{buffer.name} gets shape {list(extents.shape)}")
            block = frame.run.new_block(buffer.name, extents.span * buffer.dtype.nbytes)
            if frame.run.interleaving is not None:
                block = frame.run.interleaving.shared_block(frame, buffer, block)
            view = View(buffer.name, buffer.dtype, block, extents)
            frame.views[buffer] = frame.whole[buffer.data] = view

        return allocate

    def _view(self, buffer: Buffer) -> Effect:
        """Another view of a block; its extents are those at the declaration."""
        declare = declaration(buffer, self.data)

        def declared(frame: Frame) -> None:
            whole = frame.whole.get(buffer.data)
            if whole is None:
                raise IRError(f"{buffer.name} is declared over {buffer.data.name}, which is not a block here")
            frame.views[buffer] = View(buffer.name, buffer.dtype, whole.block, declare(frame))

        return declared

    # ------------------------------------------------------------------------------------------------ control

    def _for(self, stmt: For, path: Path) -> Effect:
        var, name = stmt.var, stmt.var.name
        first = number(stmt.min, self.data, "undef-bound", f"the minimum of loop {name}")
        extent = number(stmt.extent, self.data, "undef-bound", f"the extent of loop {name}")
        body = self.effect_of(stmt.body, (*path, 0))
        watched = WATCHED.get(stmt.kind)

        def loop(frame: Frame) -> None:
            start = first(frame)
            stop = start + extent(frame)
            if start < stop and not fits(var.dtype, stop - 1):
                raise UndefinedBehaviour(
                    "index-overflow", f"loop {name} reaches {stop - 1}, which no {var.dtype} holds"
                )
            run = frame.run
            if watched is not None and run.interleaving is not None:
                run.interleaving.run(stmt, range(start, stop), body, frame)
                return
            watch = run.watch if watched is not None else None
            if watch is not None and watched is not None:
                watch.enter(watched, var)
            i = start
            try:
                for i in range(start, stop):
                    run.step()
                    frame.values[var] = i
                    if watch is not None:
                        watch.iterate(i)
                    body(frame)
            except Stopped as end:
                end.within(name, i)
                raise
            if watch is not None:
                watch.leave()

        return loop

    def _while(self, stmt: While, path: Path) -> Effect:
        condition = number(stmt.condition, self.data, "undef-branch", "the condition of a while")
        body = self.effect_of(stmt.body, (*path, 0))

        def loop(frame: Frame) -> None:
            while condition(frame):
                frame.run.step()
                body(frame)

        return loop

    def _if(self, stmt: If, path: Path) -> Effect:
        condition = number(stmt.condition, self.data, "undef-branch", "the condition of an if")
        then = self.effect_of(stmt.then_body, (*path, 0))
        otherwise = _nothing if stmt.else_body is None else self.effect_of(stmt.else_body, (*path, 1))

        def branch(frame: Frame) -> None:
            (then if condition(frame) else otherwise)(frame)

        return branch

    def _let(self, stmt: LetStmt, path: Path) -> Effect:
        var, value = stmt.var, meaning_of(stmt.value, self.data)
        body = self.effect_of(stmt.body, (*path, 0))

        def bind(frame: Frame) -> None:
            frame.values[var] = value(frame)
            body(frame)

        return bind

    # ------------------------------------------------------------------------------------------------- claims

    def _assume(self, condition: Expr) -> Effect:
        holds = self._claim(condition)
        if condition.dtype is not BOOL:
            raise IRError(f"an assumption is a scalar bool, not a {condition.dtype}")

        def assume(frame: Frame) -> None:
            value = holds(frame)
            if value is UNDEF:
                raise UndefinedBehaviour("undef-assume", "an assumption is undef")
            if not value:
                raise UndefinedBehaviour("assume", "an assumption is false")

        return assume

    def _claim(self, condition: Expr) -> Meaning:
        """An assumed condition, in which ``x == undef`` is not a comparison: it says that ``x`` may be evaluated."""
        match condition:
            case Binary(op="eq", a=accessed, b=Undef()) | Binary(op="eq", a=Undef(), b=accessed):
                return _evaluated(meaning_of(accessed, self.data))
            case Binary(op="and" | "or" as op, a=a, b=b):
                return lazy(op, self._claim(a), self._claim(b))
        return meaning_of(condition, self.data)

    def _assert(self, stmt: Assert) -> Effect:
        condition = number(stmt.condition, self.data, "undef-assert", "the condition of an assert")

        def check(frame: Frame) -> None:
            if not condition(frame):
                raise AssertionFailed(stmt.message)

        return check

    # ------------------------------------------------------------------------------------------------- blocks

    def _block(self, stmt: Block, path: Path) -> Effect:
        """One instance: bind the iteration variables; if the predicate holds, allocate, initialise, run the body.

        ``init`` runs where every reduction variable is at the start of its domain.  What the block says that it reads
        and writes plays no part.
        """
        binds = [
            (iv.var, number(iv.value, self.data, "undef-index", f"the value of {iv.var.name}")) for iv in stmt.iter_vars
        ]
        predicate = number(stmt.predicate, self.data, "undef-branch", f"the predicate of block {stmt.name}")
        domains = [self._domain(iv, stmt.name) for iv in stmt.iter_vars]
        places = [(*path, k) for k in range(len(sub_statements(stmt)))]
        init = _nothing if stmt.init is None else self.effect_of(stmt.init, places[0])
        allocate = _in_order([self._allocation(b) for b in stmt.alloc_buffers])
        body = self.effect_of(stmt.body, places[-1])
        reductions = [k for k, iv in enumerate(stmt.iter_vars) if iv.kind == "reduce"]

        def instance(frame: Frame) -> None:
            for var, value in binds:
                frame.values[var] = value(frame)
            if not predicate(frame):
                return
            at_start = [domain(frame) for domain in domains]
            allocate(frame)
            if all(at_start[k] for k in reductions):
                init(frame)
            body(frame)

        return instance

    def _domain(self, iter_var: IterVar, block: str) -> Callable[[Frame], bool]:
        """Checks that the iteration is in its domain; says whether it is the first there."""
        var = iter_var.var
        first = number(iter_var.min, self.data, "undef-bound", f"the domain of {var.name}")
        extent = number(iter_var.extent, self.data, "undef-bound", f"the domain of {var.name}")

        def check(frame: Frame) -> bool:
            start, count, value = first(frame), extent(frame), frame.values[var]
            assert isinstance(value, int)
            if not start <= value < start + count:
                raise UndefinedBehaviour(
                    "block-domain", f"{var.name} = {value} in block {block} is outside [{start}, {start + count})"
                )
            return value == start

        return check


def _nothing(frame: Frame) -> None:
    """Does nothing."""


def _discard(meaning: Meaning) -> Effect:
    def evaluate(frame: Frame) -> None:
        meaning(frame)

    return evaluate


def _evaluated(meaning: Meaning) -> Meaning:
    """True, once the expression has been evaluated."""

    def evaluate(frame: Frame) -> bool:
        meaning(frame)
        return True

    return evaluate


def _in_order(effects: Sequence[Effect]) -> Effect:
    def run(frame: Frame) -> None:
        for effect in effects:
            effect(frame)

    return run
