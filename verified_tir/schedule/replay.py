"""Replay counterexamples: run the programs before and after a refused step.

A refuted obligation is only *sufficient* for a step to be right; so a counterexample of the solver is replayed: the
program before and the would-be program after the step run in the interpreter on concrete arrays.  If the results
differ, or undefined behaviour appears, the refusal is *confirmed*; otherwise it is reported as *unconfirmed*, and
nobody calls it a miscompile.

``replay_inputs`` says on which arrays, ``replay_layout`` how they look in another layout, ``replay_large`` what can be
said where the arrays would be too large.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, final

import numpy as np

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import Assume
from verified_tir.ir.visit import walk
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.obligation import ParameterMap
from verified_tir.schedule.other_order import may_reach
from verified_tir.schedule.replay_inputs import Array, Sizes, choices, contents, draw, repair, shapes
from verified_tir.schedule.replay_large import arrays_exist, plain, undefined_at
from verified_tir.schedule.replay_layout import Masks, impossible, move, move_back, pad
from verified_tir.semantics.interpreter import Outcome, StepLimit, Stopped, UndefinedBehaviour, refines, run
from verified_tir.semantics.interpreter.outcome import Difference

Question = Literal["same result", "race", "meaning"]
"""What is looked for: a different result, two iterations of a marked loop that conflict, or undefined behaviour of the
program itself."""

STEPS = 100_000
"""How many stores and iterations one run may take."""
MORE = 200
"""How many random contents are tried when all else has shown nothing,"""
FEW = 1000
"""on arguments of how many elements at the most.  Larger ones are filled in a few ways only."""
WORK = 500_000
"""How many all runs of a replay may take."""
WATCHED = 10
"""How many times as long a step takes whose accesses are watched."""
REPAIRS = 300
"""How many elements of the arguments are changed to fit what the program assumes of them."""


@final
@dataclass(frozen=True, slots=True)
class Replay:
    """What running both programs showed.

    ``message`` is one line such as ``B[0] = 91.0 before, 92.0 after``, and ``answers`` its parts: the element, and its
    value before and after.  ``arguments`` are the arrays (and sizes) given to the program before the step; ``inputs``
    counts those that were run.
    """

    confirmed: bool
    message: str
    arguments: dict[str, Any] = field(default_factory=dict)
    inputs: int = 0
    answers: tuple[str, str, str] | None = None

    def describe(self) -> str:
        """For people."""
        if self.confirmed:
            return f"replayed: {self.message} (confirmed)"
        return f"replayed: {self.message} (unconfirmed: the obligation may be stronger than needed here)"


@final
@dataclass(frozen=True, slots=True)
class Programs:
    """The two programs, with what is assumed of their padding and how their parameters correspond.

    ``reassociated`` names the buffers whose float reductions the step puts in another order with the user's word: other
    bits that come of it confirm nothing.  ``zeros_only``: what the word covers there is of which sign a zero is, as in
    minima and maxima.
    """

    before: PrimFunc
    after: PrimFunc
    paddings_before: tuple[Padding, ...]
    paddings_after: tuple[Padding, ...]
    maps: tuple[ParameterMap, ...]
    question: Question = "same result"
    reassociated: frozenset[str] = frozenset()
    zeros_only: bool = False

    def allows(self, difference: Difference) -> bool:
        """Whether another order of a sum may be what made it."""
        d = difference
        if d.after is None or (self.zeros_only and d.before != d.after):
            return False
        return bool(self.reassociated) and may_reach(d.buffer, self.reassociated, self.before, self.after)


_most: ContextVar[int] = ContextVar("_most", default=WORK)


@contextmanager
def brief_replays(work: int) -> Iterator[None]:
    """In the block, replays give up after so much work: for callers that look at many refusals."""
    token = _most.set(work)
    try:
        yield
    finally:
        _most.reset(token)


def replay_later(programs: Programs, model: Mapping[str, int]) -> Callable[[], Replay]:
    """The replay, to be run when somebody asks for it; it may do as much work then as it may now."""
    return partial(replay, programs, dict(model), _most.get())


def replay(programs: Programs, model: Mapping[str, int], work: int = WORK) -> Replay:
    """Look for an input on which the two programs differ, for about ``work`` stores and iterations."""
    work = min(work, _most.get())
    search = _Search(programs, work)
    worked: list[dict[str, Any]] = []
    for sizes in choices(programs.before, model):
        ran = search.inputs
        found = search.at(sizes) or search.beyond(sizes, model)
        if found is not None:
            return _with_sizes(found, sizes, model)
        if search.work > work:
            break
        if search.inputs > ran and search.elements <= FEW:
            worked.append(sizes)
    for sizes in itertools.islice(itertools.cycle(worked), MORE):
        found = search.drawn(sizes)
        if found is not None:
            return _with_sizes(found, sizes, model)
        if search.work > work:
            break
    if not search.inputs:
        return Replay(False, "no input small enough to run was found")
    return Replay(False, f"no difference on {search.inputs} inputs", inputs=search.inputs)


def _with_sizes(found: Replay, sizes: Sizes, model: Mapping[str, int]) -> Replay:
    """What was found, said with its sizes where they are not those of the counterexample."""
    if all(sizes[name] == model[name] for name in sizes if name in model):
        return found
    said = ", ".join(f"{name} = {sizes[name]}" for name in sorted(sizes) if name in model)
    return replace(found, message=f"{found.message}, where {said}")


def run_both(programs: Programs, arrays: dict[str, Array], sizes: Sizes) -> tuple[Outcome, Outcome]:
    """What both programs leave of some arguments, in the layouts of before.

    :raises Stopped: if one of them does not run to its end.
    """
    search = _Search(programs, WORK)
    masks = pad(programs.before, programs.paddings_before, arrays, sizes)
    before = search.run(programs.before, programs.paddings_before, arrays, sizes, STEPS)
    after = search.run(programs.after, programs.paddings_after, move(programs.maps, arrays, sizes), sizes)
    return masks.owed(before), move_back(programs.maps, after, arrays, sizes)


class _Search:
    """A search for an input, with the work done so far."""

    def __init__(self, programs: Programs, limit: int) -> None:
        self.programs = programs
        self.limit = limit
        self.inputs = 0
        self.work = 0
        self.elements = 0
        self.cut_off = False
        self.rng = np.random.default_rng(1)
        self.look = {"same result": self.compare, "race": self.race, "meaning": self.meaning}[programs.question]
        self.assumes = any(isinstance(n, Assume) for n in walk(programs.before.body))

    def at(self, sizes: Sizes) -> Replay | None:
        """A confirming input of these sizes."""
        self.cut_off = False
        of = shapes(self.programs.before, sizes)
        if of is None:
            return None
        self.elements = sum(math.prod(shape) for shape in of.values())
        seen = set()
        most = None if self.elements <= FEW else 3
        for arrays in itertools.islice(contents(self.programs.before, of), most):
            key = tuple(a.tobytes() for a in arrays.values())
            if key in seen:
                continue
            seen.add(key)
            try:
                found = self.on(sizes, arrays)
            except StepLimit:
                self.work += STEPS
                self.cut_off = True
                return None
            if found is not None:
                return found
            if self.work > self.limit:
                return None
        return None

    def drawn(self, sizes: Sizes) -> Replay | None:
        """A confirming input of these sizes, with contents drawn at random once."""
        of = shapes(self.programs.before, sizes)
        assert of is not None
        try:
            return self.on(sizes, draw(self.programs.before, of, self.rng))
        except StepLimit:
            self.work += STEPS
            return None

    def on(self, sizes: Sizes, arrays: dict[str, Array]) -> Replay | None:
        """This input, if it confirms.

        :raises StepLimit: if it takes too long.
        """
        self.work += 1 + sum(a.size for a in arrays.values()) // 8
        try:
            found = self.look(sizes, arrays)
        except StepLimit:
            raise
        except (Stopped, IRError, ValueError, OverflowError):
            return None  # an assertion fails, an opaque call stands in the way, or there are no such arguments
        self.inputs += found is not None
        return found if found is not None and found.confirmed else None

    def beyond(self, sizes: Sizes, model: Mapping[str, int]) -> Replay | None:
        """Undefined behaviour shown by index arithmetic alone, at sizes too large for arrays or for a run."""
        programs = self.programs
        too_large = self.cut_off or shapes(programs.before, sizes) is None
        if (
            not (too_large and arrays_exist(programs.before, sizes))
            or programs.question == "race"
            or not plain(programs.before)
        ):
            return None
        before = undefined_at(programs.before, sizes, model)
        if programs.question == "meaning":
            return (
                None
                if before is None
                else Replay(True, f"undefined behaviour: {_described(before, sizes)}", dict(sizes))
            )
        after = undefined_at(programs.after, sizes, model)
        if before is not None or after is None:
            return None
        return Replay(True, f"undefined behaviour after: {_described(after, sizes)}", dict(sizes))

    # -- what is looked for ----------------------------------------------------------------------------------------

    def compare(self, sizes: Sizes, arrays: dict[str, Array]) -> Replay | None:
        """One run of both; ``None`` if the program before has no meaning on this input."""
        programs = self.programs
        masks = pad(programs.before, programs.paddings_before, arrays, sizes)
        try:
            before = self.run_as_assumed(sizes, arrays, masks)
        except StepLimit:
            if self.assumes:
                raise
            before = None  # it was proved to have a meaning, however long it takes
        if isinstance(before, UndefinedBehaviour):
            return None
        arguments = {**arrays, **sizes}
        no_arrays = impossible(programs.maps, sizes)
        if no_arrays:
            return Replay(True, no_arrays, arguments)
        moved = move(programs.maps, arrays, sizes)
        lost = self.lost(arrays, moved, sizes)
        if lost:
            return Replay(True, lost, arguments)
        try:
            after = self.run(programs.after, programs.paddings_after, moved, sizes)
        except UndefinedBehaviour as ub:
            return Replay(True, f"undefined behaviour after: {_described(ub)}", arguments)
        if before is None:
            return None
        found = refines(masks.owed(before), move_back(programs.maps, after, arrays, sizes))
        differences = [d for d in found if not programs.allows(d)]
        if not differences:
            return Replay(False, "same result", arguments)
        d = differences[0]
        more = f" (and {len(differences) - 1} more)" if len(differences) > 1 else ""
        element = f"{d.buffer}[{', '.join(map(str, d.indices))}]"
        after_text = "undefined" if d.after is None else d.after
        message = f"{element} = {d.before} before, {after_text} after{more}"
        return Replay(True, message, arguments, answers=(element, str(d.before), str(after_text)))

    def lost(self, arrays: dict[str, Array], moved: dict[str, Array], sizes: Sizes) -> str:
        """An element of an argument that the new layout cannot hold, since another one lies in its place."""
        if not self.programs.maps:
            return ""
        everything = {n: np.ones(a.shape, bool) for n, a in arrays.items()}
        in_place = {n: np.ones(a.shape, bool) for n, a in moved.items()}
        back = move_back(self.programs.maps, Outcome(moved, in_place, (), 0), arrays, sizes)
        differences = refines(Outcome(arrays, everything, (), 0), back)
        if not differences:
            return ""
        d = differences[0]
        element = f"{d.buffer}[{', '.join(map(str, d.indices))}]"
        return f"{element} = {d.before} before, {d.after} in the new layout, whose place another element takes"

    def race(self, sizes: Sizes, arrays: dict[str, Array]) -> Replay | None:
        """Run the program after the step and watch which iterations of its marked loops conflict."""
        programs = self.programs
        masks = pad(programs.before, programs.paddings_before, arrays, sizes)
        if self.assumes and isinstance(self.run_as_assumed(sizes, arrays, masks), UndefinedBehaviour):
            return None
        moved = move(programs.maps, arrays, sizes)
        findings: tuple[object, ...] = ()
        for steps in (STEPS // 100, STEPS // 2):  # most races show at once
            already = self.work
            try:
                findings = self.run(programs.after, programs.paddings_after, moved, sizes, steps, watch=True).findings
            except StepLimit as limit:
                findings = limit.findings
                self.work = already + WATCHED * steps
                if findings:
                    break
            else:
                self.work = already + WATCHED * (self.work - already)
                break
        if findings:
            return Replay(True, str(findings[0]), {**arrays, **sizes})
        return Replay(False, "no two iterations met", {**arrays, **sizes})

    def meaning(self, sizes: Sizes, arrays: dict[str, Array]) -> Replay | None:
        """Run the program itself and look for undefined behaviour that is not a violated assumption."""
        programs = self.programs
        masks = pad(programs.before, programs.paddings_before, arrays, sizes)
        outcome = self.run_as_assumed(sizes, arrays, masks)
        if isinstance(outcome, UndefinedBehaviour):
            if outcome.kind == "assume":
                return None
            return Replay(True, f"undefined behaviour: {_described(outcome)}", {**arrays, **sizes})
        return Replay(False, "nothing undefined", {**arrays, **sizes})

    # -- running ---------------------------------------------------------------------------------------------------

    def run(
        self,
        func: PrimFunc,
        paddings: tuple[Padding, ...],
        arrays: dict[str, Array],
        sizes: Sizes,
        steps: int = 4 * STEPS,
        watch: bool = False,
    ) -> Outcome:
        """Run a program with its padding filled in."""
        masks = pad(func, paddings, arrays, sizes)
        outcome = run(
            func, {**arrays, **_scalars(func, sizes)}, max_steps=steps, check_races=watch,
            defined=masks.defined, inaccessible=masks.inaccessible,
        )  # fmt: skip
        self.work += outcome.steps
        return outcome

    def run_as_assumed(self, sizes: Sizes, arrays: dict[str, Array], masks: Masks) -> Outcome | UndefinedBehaviour:
        """Run the program before; where it assumes something of an argument, the argument is changed to fit."""
        func = self.programs.before
        scalars = _scalars(func, sizes)
        for _ in range(REPAIRS):
            try:
                outcome = run(
                    func, {**arrays, **scalars}, max_steps=STEPS, defined=masks.defined,
                    inaccessible=masks.inaccessible,
                )  # fmt: skip
                self.work += outcome.steps
                return outcome
            except UndefinedBehaviour as ub:
                self.work += 10
                if ub.kind != "assume" or not repair(func, arrays, scalars, ub, self.rng):
                    return ub
                last = ub
        return last


def _scalars(func: PrimFunc, sizes: Sizes) -> dict[str, Any]:
    return {p.name: sizes[p.name] for p in func.params if func.buffer_of(p) is None and p.name in sizes}


def _described(ub: UndefinedBehaviour, sizes: Sizes | None = None) -> str:
    when = ", ".join(f"{name} = {value}" for name, value in {**(sizes or {}), **ub.iteration}.items())
    return ub.message + (f" at {when}" if when else "")
