"""Threads, run where they are created: one after the other.

Two of them that are alive at one time may not touch one byte that one of them writes; then every order of their
instructions gives the same memory.  What the creating thread does until it joins counts too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from verified_tir.validate.llvm.blocks import Log, Undefined
from verified_tir.validate.llvm.syntax import IntType
from verified_tir.validate.memory import Refused

if TYPE_CHECKING:
    from verified_tir.validate.llvm.code import Value
    from verified_tir.validate.llvm.machine import Machine


@final
@dataclass(slots=True)
class _Thread:
    """``own`` is what it touched, ``meanwhile`` what the creating thread did since."""

    own: Log
    meanwhile: Log = field(default_factory=Log)


@final
class Threads:
    """The threads of a run."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.alive: dict[int, _Thread] = {}
        self.count = 0

    def create(self, values: Sequence[Value]) -> Value:
        handle, attributes, function, argument = values
        machine, blocks = self.machine, self.machine.blocks
        if attributes != 0 or not isinstance(function, int) or function not in machine.named:
            raise Refused("LLVM IR: a thread with attributes, or of an unknown function")
        if blocks.journal is not None:
            raise Refused("LLVM IR: whether a thread is created depends on data")
        assert isinstance(handle, int)
        self.count += 1
        blocks.store(IntType(64), handle, (self.count,))
        thread = _Thread(Log())
        outer, blocks.logs = blocks.logs, [thread.own]
        try:
            machine.call(machine.named[function], [argument])
        finally:
            blocks.logs = outer
        for other in self.alive.values():
            self._compare(thread.own, other.own)
        self.alive[self.count] = thread
        blocks.logs = [*blocks.logs, thread.meanwhile]
        return 0

    def join(self, values: Sequence[Value]) -> Value:
        handle, result = values
        thread = self.alive.pop(handle, None) if isinstance(handle, int) else None
        if thread is None:
            raise Undefined("pthread_join of what is no thread that runs")
        if result != 0:
            raise Refused("LLVM IR: the result of a thread is asked for")
        blocks = self.machine.blocks
        blocks.logs = [log for log in blocks.logs if log is not thread.meanwhile]
        self._compare(thread.own, thread.meanwhile)
        return 0

    def finish(self) -> None:
        """At the end of a run: who was not joined may still run."""
        if self.alive:
            raise Undefined("a thread is not joined")

    def _compare(self, one: Log, other: Log) -> None:
        """:raises Undefined: if one of two logs writes what the other one has."""
        meet = (one.writes & other.writes) | (one.writes & other.reads) | (one.reads & other.writes)
        if meet:
            serial, byte = min(meet)
            name = self.machine.blocks.blocks[serial].name
            raise Undefined(f"two threads access byte {byte} of {name} at one time, and one of them writes it")
