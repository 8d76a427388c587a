"""What a textbook schedule is, and how it is run: steps counted, results compared.

A *step* is one call of a primitive.  It is accepted if it returns, and refused if it raises a ``ScheduleError``.  A
schedule may go on after a refusal (``contextlib.suppress(ScheduleError)`` around the step, and then what an engineer
does instead); the refused step counts.

Each schedule is run on two sets of arguments:

* plain random numbers, on which the compiled program agrees with a few lines of numpy;
* random numbers with infinities, NaNs and negative zeros among them, on which the interpreter on the program as
  written, the interpreter on the program as scheduled, and the compiled program have the same bits.  Where the schedule
  reassociated a sum, the last two have.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar, final

import numpy as np

from verified_tir import Schedule, ScheduleError, build, parse_func
from verified_tir import schedule as verified_schedule
from verified_tir.codegen.runtime import Function
from verified_tir.index.evaluate import evaluate
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.find import writes_of
from verified_tir.ir.func import PrimFunc
from verified_tir.schedule.replay_inputs import symbols
from verified_tir.schedule.session import Session
from verified_tir.semantics.interpreter import Outcome, run
from verified_tir.semantics.interpreter.outcome import same_bits

Arrays = Mapping[str, Any]
Draw = Callable[[np.random.Generator], Arrays]
S = TypeVar("S")

SPECIALS: Final = (float("inf"), float("-inf"), float("nan"), -0.0)


@final
@dataclass(frozen=True, slots=True)
class Textbook:
    """A program, a schedule of it, and what numpy says that it computes."""

    topic: str
    name: str
    program: PrimFunc
    function: Callable[[Schedule], object]
    reference: Callable[..., Arrays]
    sizes: Mapping[str, Any]
    draw: Draw | None
    reassociate: bool
    tolerance: float

    @property
    def id(self) -> str:
        return f"{self.topic}.{self.name}"


@final
@dataclass(slots=True)
class StepTaken:
    """A call of a primitive: its text, how long it took, and why it was refused, if it was."""

    text: str
    seconds: float
    refusal: ScheduleError | None = None


class CountingSchedule(Schedule):
    """A schedule that notes each step, refused ones too."""

    def __init__(self, program: PrimFunc) -> None:
        self.taken: list[StepTaken] = []
        super().__init__(program, cache=False)

    def _do(self, name: str, arguments: Sequence[object], tactic: Callable[[Session], S]) -> S:
        start = time.process_time()
        try:
            result = super()._do(name, arguments, tactic)
        except ScheduleError as refused:
            self.taken.append(StepTaken(refused.step, time.process_time() - start, refused))
            raise
        self.taken.append(StepTaken(str(self.steps[-1]), time.process_time() - start))
        return result


BOOK: Final[dict[str, Textbook]] = {}
"""All schedules by ``topic.name``, in the order in which they are written."""


def textbook(
    program: PrimFunc | str, *, reference: Callable[..., Arrays], sizes: Mapping[str, Any] | None = None,
    draw: Draw | None = None, reassociate: bool = False, tolerance: float = 2e-5,
) -> Callable[[Callable[[Schedule], object]], Callable[[Schedule], object]]:  # fmt: skip
    """Decorator: the function below schedules ``program``; ``vtir verify`` finds it too.

    :param reference: what the program computes, in numpy: takes arrays by the names of the program's parameters, and
        gives those that it writes.
    :param sizes: values of shape symbols and scalar parameters.
    :param draw: arguments that must be drawn in another way, by name: indices, masks, matrices of a certain form.
    :param reassociate: whether the schedule gives its word that a float sum may be rounded in another order.
    :param tolerance: of floats against numpy, which adds in another order than the program.
    """
    func = parse_func(program) if isinstance(program, str) else program

    def decorate(function: Callable[[Schedule], object]) -> Callable[[Schedule], object]:
        topic = Path(function.__code__.co_filename).stem
        made = Textbook(topic, function.__name__, func, function, reference, sizes or {}, draw, reassociate, tolerance)
        if made.id in BOOK:
            raise ValueError(f"two schedules are called {made.id}")
        BOOK[made.id] = made
        verified_schedule(func)(function)
        return function

    return decorate


# -- arguments ------------------------------------------------------------------------------------------------------


def arguments(book: Textbook, rng: np.random.Generator, *, specials: bool) -> dict[str, Any]:
    """Arrays and numbers for the program as written."""
    given = {v: book.sizes[v.name] for v in symbols(book.program) if v.name in book.sizes}
    drawn = dict(book.draw(rng)) if book.draw is not None else {}
    for buffer in book.program.buffers:
        if buffer.name not in drawn:
            shape = tuple(int(e) for e in evaluate(buffer.shape, given))
            drawn[buffer.name] = _random(buffer, shape, rng, specials=specials)
    return drawn | {p.name: given[p] for p in book.program.params if p in given}


def _random(buffer: Buffer, shape: tuple[int, ...], rng: np.random.Generator, *, specials: bool) -> np.ndarray:
    name = str(buffer.dtype)
    if name == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if buffer.dtype.is_float:
        values = rng.standard_normal(shape)
        if specials:
            values = np.where(rng.random(shape) < 0.02, rng.choice(SPECIALS, shape), values)
        return values.astype(name)
    info = np.iinfo(name)
    return rng.integers(max(info.min, -100), min(info.max, 100), shape, dtype=name, endpoint=True)


# -- running --------------------------------------------------------------------------------------------------------


@final
@dataclass(slots=True)
class Result:
    """What became of a schedule."""

    book: Textbook
    taken: list[StepTaken] = field(default_factory=list)
    scheduling: float = 0.0
    wrong: list[str] = field(default_factory=list)
    stopped: str = ""
    script: str = ""

    @property
    def accepted(self) -> int:
        return sum(step.refusal is None for step in self.taken)

    @property
    def refused(self) -> list[StepTaken]:
        return [step for step in self.taken if step.refusal is not None]


def run_textbook(book: Textbook, *, compare: bool = True) -> Result:
    """Schedule; and unless that is not wanted, build and compare."""
    result = Result(book)
    start = time.process_time()
    s = CountingSchedule(book.program)
    try:
        book.function(s)
    except ScheduleError as refused:
        result.stopped = f"{refused.step}: {refused.summary()}"
    result.scheduling = time.process_time() - start
    result.taken = s.taken
    result.script = s.script()
    if not compare:
        return result
    compiled = build(s, cache=False)
    rng = np.random.default_rng(7)
    plain = arguments(book, rng, specials=False)
    special = arguments(book, rng, specials=True)
    result.wrong += [*_against_numpy(book, compiled, plain), *_bit_for_bit(book, s, compiled, special)]
    return result


def written(program: PrimFunc) -> list[str]:
    """The names of the parameters that the program writes, views being those of no parameter."""
    stored = {store.buffer.data for store in writes_of(program.body)}
    return [b.name for b in program.buffers if b.data in stored]


def _packed(book: Textbook, compiled: Function, given: Arrays) -> dict[str, Any]:
    """Arguments as the compiled program takes them, and numbers."""
    arrays = {b.name for b in book.program.buffers}
    packed = {name: compiled.pack(name, value, **book.sizes) if name in arrays else value
              for name, value in given.items()}  # fmt: skip
    return packed | {p.name: book.sizes[p.name] for p in compiled.func.params if p.name in book.sizes}


def _called(book: Textbook, compiled: Function, packed: Arrays) -> dict[str, np.ndarray]:
    """What the compiled program leaves in the parameters that the program writes, as it takes them."""
    given = {name: np.array(value) if isinstance(value, np.ndarray) else value for name, value in packed.items()}
    compiled(**given)
    return {name: given[name] for name in written(book.program)}


def _against_numpy(book: Textbook, compiled: Function, given: Arrays) -> Iterator[str]:
    wanted = inspect.signature(book.reference).parameters
    with np.errstate(all="ignore"):
        expected = book.reference(**{name: np.copy(given[name]) for name in wanted})
    called = _called(book, compiled, _packed(book, compiled, given))
    got = {name: compiled.unpack(name, array, **book.sizes) for name, array in called.items()}
    if set(expected) != set(got):
        yield f"numpy computes {sorted(expected)}, the program writes {sorted(got)}"
        return
    for name, value in expected.items():
        exact = not np.issubdtype(got[name].dtype, np.floating)
        tolerance = 0.0 if exact else book.tolerance
        if not np.allclose(got[name], value, rtol=tolerance, atol=tolerance, equal_nan=True):
            yield f"{name} differs from what numpy computes"


def _bit_for_bit(book: Textbook, s: Schedule, compiled: Function, given: Arrays) -> Iterator[str]:
    packed = _packed(book, compiled, given)
    after = run(s.func, packed)
    got = _called(book, compiled, packed)
    for name, value in got.items():
        if not (same_bits(after.arrays[name], value) | ~after.defined[name]).all():
            yield f"{name} compiled differs from {name} interpreted"
    if book.reassociate:
        return
    before = _as_written(book, given)
    for name in got:
        back = compiled.unpack(name, after.arrays[name], **book.sizes)
        defined = compiled.unpack(name, after.defined[name].astype(after.arrays[name].dtype), **book.sizes) != 0
        if not ((same_bits(before.arrays[name], back) & defined) | ~before.defined[name]).all():
            yield f"{name} as scheduled differs from {name} as written"


_RUNS: Final[dict[tuple[PrimFunc, bytes], Outcome]] = {}


def _as_written(book: Textbook, given: Arrays) -> Outcome:
    """The run of the program as written, which several schedules share."""
    key = book.program, b"".join(np.asarray(value).tobytes() for value in given.values())
    if key not in _RUNS:
        _RUNS[key] = run(book.program, given)
    return _RUNS[key]
