"""Schedule functions that ``vtir verify`` finds.

    @schedule(row_summation)
    def padded(s: Schedule) -> None:
        s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=0.0)

A schedule function takes a :class:`Schedule` of its program and applies primitives to it.  One whose last step ought to
be refused is marked ``@schedule(program, expect="refused")``; where only part of it is, the part stands in a
``with expect_refusal(s):`` block.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import isasyncgen, iscoroutine, isfunction, isgenerator
from types import FrameType, ModuleType
from typing import Literal, TypeVar, final
from weakref import WeakKeyDictionary

from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.logic.solver import Solver
from verified_tir.schedule.errors import ScheduleError, not_expected
from verified_tir.schedule.functions import is_of_tvm, no_program
from verified_tir.schedule.schedule import Schedule

S = TypeVar("S", bound=Schedule)

Program = PrimFunc | IRModule | str | type
"""As :class:`Schedule` takes it; for a type checker a module is a class, whatever decorates it."""


@final
class Exited(RuntimeError):
    """A schedule function called ``sys.exit``: this ends its schedule, not who runs it."""

    def __init__(self, code: object) -> None:
        super().__init__(code)
        self.code = code

    def __str__(self) -> str:
        return f"sys.exit({'' if self.code is None else repr(self.code)}) was called"


@final
@dataclass(slots=True)
class ScheduleFunction:
    """A program with a function that schedules it.

    Calling it runs the schedule and gives the :class:`Schedule`, all of it proved: also that it is free of races.
    """

    name: str
    program: Program
    function: Callable[[Schedule], object]
    expect: Literal["proved", "refused"] = "proved"
    doc: str = ""
    line: int = 0
    file: str = ""
    __name__: str = field(default="")
    contract: str | Sequence[str] = ()

    def __call__(self) -> Schedule:
        made = self.begun(Schedule)
        self.apply(made)
        made.prove_race_free()
        return made

    def begun(self, kind: type[S], *, solver: Solver | None = None) -> S:
        """A schedule of the program on which no step has been taken.

        :param kind: its class.
        """
        return kind(self.program, solver=solver, contract=self.contract)

    def apply(self, s: Schedule) -> None:
        """Run the function on a schedule.

        :raises TypeError: if it yields or awaits: nothing of it was run then.
        :raises Exited: if it calls ``sys.exit``.
        """
        try:
            result = self.function(s)
        except SystemExit as end:
            raise Exited(end.code) from end
        if isgenerator(result) or iscoroutine(result) or isasyncgen(result):
            if iscoroutine(result):
                result.close()
            raise TypeError("a schedule is a plain function; this one yields or awaits, and nothing of it was run")


_collectors: list[tuple[list[ScheduleFunction], ModuleType | None]] = []
_made: WeakKeyDictionary[ModuleType, list[ScheduleFunction]] = WeakKeyDictionary()


@contextmanager
def collecting(module: ModuleType | None = None) -> Iterator[list[ScheduleFunction]]:
    """Gathers the schedule functions that are made in the block, in the order in which they are made.

    :param module: if given, what is executed in the block: those that modules which it imports make are left out.
    """
    made: list[ScheduleFunction] = []
    _collectors.append((made, module))
    try:
        yield made
    finally:
        _collectors.pop()


def made_in(module: ModuleType) -> tuple[ScheduleFunction, ...]:
    """The schedule functions that were made while a module was executed, wherever the functions are written."""
    return tuple(_made.get(module, ()))


def _note(made: ScheduleFunction) -> None:
    executed = _being_executed()
    if _collectors:
        found, module = _collectors[-1]
        if module is None or executed in (None, module):
            found.append(made)
    owner = executed or sys.modules.get(made.function.__module__)
    if isinstance(owner, ModuleType):
        _made.setdefault(owner, []).append(made)


def _being_executed() -> ModuleType | None:
    """The module whose text is being executed; ``None`` where that cannot be told.

    Text that is executed with names of its own is a part of the module that does that; and so is a thread, as long as
    the module is being executed.
    """
    expected = _collectors[-1][1] if _collectors else None  # its name need not be that under which it is known
    here = _executed_in(sys._getframe(1), expected)
    if here:
        return here[0]
    others = sys._current_frames()
    if expected is None:
        main = others.get(threading.main_thread().ident or 0)
        return next(iter(_executed_in(main, None)), None)
    return next((found[0] for f in others.values() if expected in (found := _executed_in(f, expected))), None)


def _executed_in(frame: FrameType | None, expected: ModuleType | None) -> list[ModuleType]:
    """The modules whose text is being executed around a frame, the innermost first."""
    found: list[ModuleType] = []
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            for module in (expected, sys.modules.get(str(frame.f_globals.get("__name__")))):
                if isinstance(module, ModuleType) and vars(module) is frame.f_globals:
                    found.append(module)
                    break
        frame = frame.f_back
    return found


def schedule(
    program: Program, *, expect: Literal["proved", "refused"] = "proved", contract: str | Sequence[str] = ()
) -> Callable[[Callable[[Schedule], object]], ScheduleFunction]:
    """Decorator: the function below schedules ``program``.

    :param expect: ``"refused"`` if a step of the schedule must be refused; it is then an error if none is, or if it is
        only not decided.
    :param contract: buffers whose updates are to be fused multiply-adds, as for :class:`Schedule`.
    :raises TypeError: if ``program`` is not a program, as in a decorator without arguments.
    :raises ValueError: for another expectation.
    """
    if not isinstance(program, (PrimFunc, IRModule, str)) and not is_of_tvm(program):
        if isfunction(program):
            name = program.__name__
            raise TypeError(
                f"@schedule(program) takes a program, not the function {name}: write the program in brackets"
            )
        raise TypeError(f"@schedule(program) takes {no_program(program)}")
    if expect not in ("proved", "refused"):
        raise ValueError(f'expect is "proved" or "refused", not {expect!r}')

    def decorate(function: Callable[[Schedule], object]) -> ScheduleFunction:
        if not isfunction(function):
            raise TypeError(f"a schedule is a function that is written with def, not {function!r}")
        code = function.__code__
        made = ScheduleFunction(
            function.__name__, program, function, expect, (function.__doc__ or "").strip(), code.co_firstlineno,
            code.co_filename, function.__name__, contract,
        )  # fmt: skip
        _note(made)
        return made

    return decorate


@contextmanager
def expect_refusal(s: Schedule) -> Iterator[list[ScheduleError]]:
    """The first step of ``s`` in the block must be refused; gives a list that then holds the refusal.

    A refusal of another schedule, or of a program, is not caught; nor is one of what is no step (``s.get_loops("B")``
    where there is no block B), or that only was not decided.

    :raises AssertionError: if a step is accepted, or none is taken.
    """
    caught: list[ScheduleError] = []
    before = len(s.steps)
    try:
        yield caught
    except ScheduleError as refused:
        if why := not_expected(refused, s):
            refused.add_note(why)
            raise
        if len(s.steps) > before:
            raise AssertionError(
                f"{s.steps[before]} was accepted in a block of expect_refusal: only the step that is refused stands in "
                "it; move what leads to it before it"
            ) from refused
        caught.append(refused)
        s.note_refusal(refused)
        return
    if len(s.steps) == before:
        raise AssertionError("the block in expect_refusal took no step")
    raise AssertionError("a step that was expected to be refused was accepted")
