"""The state of a run: what variables and buffers stand for, and what is counted and watched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.ir.func import IRModule
from verified_tir.ir.node import IRError
from verified_tir.semantics.errors import StepLimit
from verified_tir.semantics.memory import Block, View
from verified_tir.semantics.values import Value

if TYPE_CHECKING:
    from verified_tir.semantics.interpreter.interleaving import Interleaving
    from verified_tir.semantics.interpreter.races import Watch
    from verified_tir.semantics.interpreter.world import World


@final
@dataclass(slots=True)
class Run:
    """What the frames of one run share.

    ``watch`` is ``None`` unless races are looked for, ``interleaving`` unless marked loops run as they are marked;
    ``callers`` are the functions being run, outermost first; ``world`` knows what opaque calls do, if somebody does.
    """

    module: IRModule | None = None
    max_steps: int | None = None
    watch: Watch | None = None
    steps: int = 0
    blocks: int = 0
    callers: tuple[str, ...] = ()
    interleaving: Interleaving | None = None
    world: World | None = None

    def step(self) -> None:
        """Count a store or a loop iteration.

        :raises StepLimit: if that was one too many.
        """
        self.steps += 1
        if self.max_steps is not None and self.steps > self.max_steps:
            raise StepLimit(f"more than {self.max_steps} steps")

    def new_block(self, name: str, nbytes: int) -> Block:
        """A fresh block, undefined throughout."""
        self.blocks += 1
        return Block(name, nbytes, self.blocks)


@final
@dataclass(slots=True)
class Frame:
    """One activation of a function.

    ``whole`` maps each data variable to the view that provides its block: the parameter's or the allocation's own.
    A variable is bound once in a program, so nothing is ever shadowed, and a binding may stay after its scope.
    """

    run: Run
    values: dict[Var, Value] = field(default_factory=dict)
    views: dict[Buffer, View] = field(default_factory=dict)
    whole: dict[Var, View] = field(default_factory=dict)
    shared: dict[Var, Block] | None = None
    """What the threads of a block have allocated in memory that they share, where iterations take turns."""

    def view(self, buffer: Buffer) -> View:
        """What a buffer stands for.

        :raises IRError: if no parameter, allocation or declaration around the place provides it.
        """
        try:
            return self.views[buffer]
        except KeyError:
            raise IRError(f"buffer {buffer.name} is not declared here") from None


Meaning: TypeAlias = Callable[[Frame], Value]
"""The meaning of an expression: its value in a frame."""

Effect: TypeAlias = Callable[[Frame], None]
"""The meaning of a statement: what it does to a frame."""
