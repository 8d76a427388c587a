"""Loops run as they are marked, so that a race shows: iterations in turns, in an order drawn at random.

An iteration may be suspended before the loads of a store, and between the loads and the store; then another goes on,
of any loop over threads or any parallel loop around.  Iterations of a vectorized loop go in step: all evaluate a store
before one of them stores.  What the threads of a block allocate in scope ``shared`` or ``warp`` is one block of memory
for all of them, as :mod:`verified_tir.kernel.race_free` has it.

Each iteration has a thread of Python's, of which one runs at a time.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from random import Random
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.stmt import For
from verified_tir.semantics.interpreter.frame import Effect, Frame
from verified_tir.semantics.memory import Block

AT_ONCE = 32
"""Iterations that are under way at the same time, all loops together; more than these wait until some are done."""


class _Abandoned(BaseException):
    """Another iteration has failed."""


@final
@dataclass(slots=True, eq=False)
class _Loop:
    """One execution of a loop: the iterations that have not begun, and the ones under way."""

    parent: _Iteration
    waiting: list[int]
    in_step: bool
    under_way: list[_Iteration] = field(default_factory=list)


@final
@dataclass(slots=True, eq=False)
class _Iteration:
    """One iteration of a loop, or all of the run; ``turn`` is free when it may go on."""

    loop: _Loop | None
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))


@final
class Interleaving:
    """Decides who goes on."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = _Iteration(None)
        self.ready: list[_Iteration] = []
        """The iterations that wait for their turn and for nothing else."""
        self.failure: BaseException | None = None

    def run(self, stmt: For, iterations: range, body: Effect, frame: Frame) -> None:
        """Run a marked loop."""
        waiting = list(iterations)
        self.random.shuffle(waiting)
        me = self.now
        loop = _Loop(me, waiting, stmt.kind == "vectorized")
        if stmt.thread.startswith("threadIdx") and frame.shared is None:
            frame = replace(frame, shared={})

        def start(i: int) -> None:
            copy = replace(
                frame, values={**frame.values, stmt.var: i}, views=dict(frame.views), whole=dict(frame.whole)
            )
            made = _Iteration(loop)
            loop.under_way.append(made)
            self.ready.append(made)
            threading.Thread(target=self._iteration, args=(made, body, copy, start), daemon=True).start()

        if not waiting:
            return
        # In step they are all there from the beginning; otherwise one at least, so that nested loops come to an end.
        count = len(waiting) if loop.in_step else max(1, min(len(waiting), AT_ONCE - len(self.ready)))
        for _ in range(count):
            start(waiting.pop())
        self._give(loop.under_way[0])
        me.turn.acquire()
        self.now = me
        if self.failure is not None:
            raise self.failure if me.loop is None else _Abandoned

    def pause(self) -> None:
        """Another iteration may go on here."""
        me = self.now
        if me.loop is None:
            return
        self.ready.append(me)
        chosen = self._next(me.loop, me.loop.under_way.index(me) + 1)
        self._give(chosen)
        me.turn.acquire()
        self.now = me
        if self.failure is not None:
            raise _Abandoned

    def shared_block(self, frame: Frame, buffer: Buffer, made: Block) -> Block:
        """The memory that an allocation gives, which the threads of a block may share."""
        if frame.shared is None or buffer.scope.partition(".")[0] not in ("shared", "warp"):
            return made
        found = frame.shared.setdefault(buffer.data, made)
        missing = len(made.data) - len(found.data)
        if missing > 0:
            found.data.extend(bytes(missing))
            found.state.extend(bytes(missing))
        return found

    def _next(self, loop: _Loop, after: int) -> _Iteration:
        """Who goes on after an iteration of ``loop``: the next one of a loop in step, or any that is in none."""
        if loop.in_step:
            for other in (*loop.under_way[after:], *loop.under_way[:after]):
                if other in self.ready:
                    return other
        free = [r for r in self.ready if r.loop is None or not r.loop.in_step]
        return self.random.choice(free or self.ready)

    def _give(self, chosen: _Iteration) -> None:
        self.ready.remove(chosen)
        chosen.turn.release()

    def _iteration(self, me: _Iteration, body: Effect, frame: Frame, start: object) -> None:
        """What a thread does: its iteration, and then to let others go on."""
        loop = me.loop
        assert loop is not None and callable(start)
        me.turn.acquire()
        self.now = me
        try:
            if self.failure is None:
                body(frame)
        except _Abandoned:
            pass
        except BaseException as failure:
            self.failure = failure
        place = loop.under_way.index(me)
        loop.under_way.remove(me)
        if loop.waiting and self.failure is None:
            start(loop.waiting.pop())
        if not loop.under_way:
            self.ready.append(loop.parent)
            self._give(loop.parent)
        else:
            self._give(self._next(loop, place))


__all__ = ["Interleaving"]
