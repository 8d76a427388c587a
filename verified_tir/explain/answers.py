"""What both programs of a refused step compute, where its counterexample was replayed, and how that looks.

They are run again on the arguments with which the replay showed a difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, final

import numpy as np

from verified_tir.explain.drawing import Drawing
from verified_tir.explain.grids import array_grid, draw
from verified_tir.explain.relaid import shown
from verified_tir.ir.node import IRError
from verified_tir.schedule.errors import Refuted
from verified_tir.schedule.replay import run_both
from verified_tir.schedule.replay_inputs import Array
from verified_tir.semantics.interpreter import Stopped, refines


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """A parameter after both programs: ``after`` in the layout of before the step.

    ``defined`` are the elements that each program leaves defined; ``differs`` those that the step would change.
    """

    buffer: str
    before: Array
    after: Array
    defined: tuple[Array, Array]
    differs: frozenset[tuple[int, ...]]


@final
@dataclass(frozen=True, slots=True)
class Answers:
    """The arguments of both runs, and every parameter that differs afterwards."""

    arguments: dict[str, Any]
    found: tuple[Answer, ...]


def answers(refused: Refuted) -> Answers | None:
    """Both answers; ``None`` where there are not two: a race is no answer, nor is undefined behaviour."""
    replay, programs = refused.replay, refused.programs
    if replay is None or programs is None or not replay.confirmed or programs.question != "same result":
        return None
    arrays = {b.name: np.array(replay.arguments[b.name]) for b in programs.before.buffers if b.name in replay.arguments}
    sizes = {n: x for n, x in replay.arguments.items() if n not in arrays}
    try:
        before, after = run_both(programs, dict(arrays), sizes)
        found = refines(before, after)
    except (Stopped, IRError, ValueError, OverflowError, KeyError):
        return None
    differing = {d.buffer: frozenset(x.indices for x in found if x.buffer == d.buffer) for d in found}
    made = tuple(
        Answer(n, before.arrays[n], after.arrays[n], (before.defined[n], after.defined[n]), where)
        for n, where in differing.items()
    )
    return Answers({**arrays, **sizes}, made) if made else None


def answer_drawings(a: Answer) -> tuple[Drawing, Drawing]:
    """A parameter after both programs, as numbers."""
    shape = a.before.shape or (1,)
    first = min(a.differs, default=())
    inside = shown(shape, [i or (0,) for i in [first]])
    names = [str(k) for k in range(len(shape))]
    differs = frozenset(i or (0,) for i in a.differs)
    made = []
    for when, array, defined in (("before", a.before, a.defined[0]), ("after", a.after, a.defined[1])):
        cells, there = array.reshape(shape), defined.reshape(shape)
        texts = {i: number(cells[i]) if there[i] else "undef" for i in product(*map(sorted, inside))}
        title = f"{a.buffer} {when}"
        said = f"The values of {a.buffer} {when} the step; {len(differs)} elements differ."
        made.append(draw(array_grid(title, names, shape, inside, texts, differs, description=said)))
    return made[0], made[1]


def number(value: Any) -> str:
    """A value in few characters."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return f"{float(value):.4g}"
