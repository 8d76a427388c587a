"""Cases, drawn and checked by Hypothesis: the only file of campaigns that knows how Hypothesis works inside.

A *round* is one run of Hypothesis: some cases, all determined by one seed.  A case that fails does not end the round,
and nothing that depends on time goes into what is drawn, so a round is the same whoever runs it and whatever it finds.
A case is kept as its *choices*, the bytes that Hypothesis's example database holds; ``redraw`` makes the case of them.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, TypeVar, final
from unittest import SkipTest

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.control import current_build_context
from hypothesis.database import ExampleDatabase, choices_to_bytes
from hypothesis.errors import HypothesisException, Unsatisfiable

from verified_tir.fuzz.failure import Failure, failure_of
from verified_tir.fuzz.running import Journal
from verified_tir.fuzz.target import Observed, Target

T = TypeVar("T")

ROUND: Final = 50
"""Cases of a round.  The first tenth of a run of Hypothesis are small ones; more rounds, more seeds."""


@final
class Enough(KeyboardInterrupt):
    """That is enough.  This is the one exception with which Hypothesis stops at once, in the middle of a case."""


@final
@dataclass(frozen=True, slots=True)
class Round:
    """A round of a target.

    :param target: its name.
    :param seed: of the campaign.
    :param turn: the number of the round, from 0.
    :param cases: how many are drawn, ``ROUND`` at most.
    :param skip: the first so many are drawn and not checked: they were, before the round was interrupted.
    """

    target: str
    seed: int
    turn: int
    cases: int
    skip: int = 0

    @property
    def own_seed(self) -> int:
        """The seed of this round: rounds do not repeat each other, nor those of another target or campaign."""
        return int.from_bytes(sha256(f"{self.seed}/{self.target}/{self.turn}".encode()).digest()[:8], "big")


@dataclass(slots=True)
class Listeners:
    """Listeners to the cases of a round, and the time at which it is to end.

    :param failed: is given each failure, the choices (none if the case could not be drawn), and the number of the case.
    :param until: by ``time.monotonic``; a case that runs then is finished.
    """

    journal: Journal
    failed: Callable[[Failure, bytes, int], None]
    passed: Callable[[int], None]
    until: float | None = None


def run_round(target: Target[Any], work: Round, observed: Observed, listeners: Listeners) -> bool:
    """Draw and check the cases of a round; whether it came to its end.

    :raises HypothesisException: if the strategy can draw nothing, or is not a function of its choices.
    """
    drawn = 0
    cases = target.cases()

    def one(data: st.DataObject) -> None:
        nonlocal drawn
        if drawn >= work.cases:  # less than a whole round: the same cases as those of a whole one
            raise Enough
        if listeners.until is not None and time.monotonic() >= listeners.until:
            raise Enough
        listeners.journal.drawing(work.target, work.turn, drawn)
        failure, choices = None, b""
        try:
            case = data.draw(cases)
        except Exception as error:
            if isinstance(error, HypothesisException):
                raise
            failure = failure_of(work.target, error)
        drawn += 1
        if drawn <= work.skip:
            return
        if failure is None:
            choices = choices_now()
            listeners.journal.checking(work.target, choices, work.turn, drawn - 1)
            failure = check(target, work.target, case, observed)
        listeners.journal.idle()
        if failure is not None:
            listeners.failed(failure, choices, drawn - 1)
        listeners.passed(drawn)

    try:
        with _own_constants():
            seed(work.own_seed)(_configured(one, (Phase.generate, Phase.target), ROUND, None))()
    except Enough:
        return drawn >= work.cases
    finally:
        listeners.journal.idle()
    return True


@contextlib.contextmanager
def _own_constants() -> Iterator[None]:
    """Hypothesis draws constants that it reads in the source of the modules that happen to be loaded; without them a
    round is the same in every process.  (Versions that have no such constants are left alone.)"""
    from hypothesis.internal.conjecture import providers

    found = getattr(providers, "_get_local_constants", None)
    cache = getattr(providers, "CONSTANTS_CACHE", None)
    if found is None or cache is None:
        yield
        return
    none = vars(providers)["Constants"]()
    cache.cache.clear()
    vars(providers)["_get_local_constants"] = lambda: none
    try:
        yield
    finally:
        vars(providers)["_get_local_constants"] = found
        cache.cache.clear()


def check(target: Target[Any], name: str, case: Any, observed: Observed) -> Failure | None:
    """What is wrong with a case, if anything."""
    try:
        target.check(case, observed)
    except Exception as error:
        if isinstance(error, HypothesisException):  # an assumption that does not hold
            raise
        return failure_of(name, error)
    return None


def redraw(target: Target[Any], choices: bytes, then: Callable[[Any], T]) -> list[T]:
    """What is made of the case of some choices; nothing if they lead to none, or an assumption does not hold.

    What the strategy raises is handed on; ``then`` raises nothing but assumptions.
    """
    cases = target.cases()
    found: list[T] = []

    def one(data: st.DataObject) -> None:
        case = data.draw(cases)
        if choices_now() == choices:  # otherwise Hypothesis made up what was missing
            found.append(then(case))

    with contextlib.suppress(SkipTest, Unsatisfiable):  # the former: these bytes are no choices at all
        _configured(one, (Phase.reuse,), 1, _Single(choices))()
    return found


def recheck(target: Target[Any], choices: bytes, checker: Callable[[Any, bytes], Failure | None]) -> Failure | None:
    """What is wrong with the case of some choices, if anything."""
    return next(filter(None, redraw(target, choices, lambda case: checker(case, choices))), None)


def shrink(
    target: Target[Any],
    choices: bytes,
    fails: Callable[[Any, bytes], bool],
    until: float,
) -> bytes | None:
    """The choices of a smaller case that fails, found by Hypothesis; none if these do not fail any more.

    :param fails: checks a case.
    :param until: when to stop, by ``time.monotonic``, with the smallest one known by then.
    """
    cases = target.cases()
    database = _Single(choices)

    def one(data: st.DataObject) -> None:
        if time.monotonic() >= until:
            raise Enough
        case = data.draw(cases)
        if fails(case, choices_now()):
            raise _Fails

    with contextlib.suppress(_Fails, Enough, HypothesisException, SkipTest):
        _configured(one, (Phase.reuse, Phase.shrink), 1, database)()
    return database.smallest


@final
class _Fails(Exception):
    """A case that fails as the one to be shrunk does."""


@final
class _Single(ExampleDatabase):
    """A database with one case.  Hypothesis saves every smaller one that fails: the last is the smallest.

    The case is among the secondary ones: a primary one would be taken for shrunk.
    """

    def __init__(self, choices: bytes) -> None:
        super().__init__()
        self._choices = choices
        self.smallest: bytes | None = None

    def fetch(self, key: bytes) -> Iterable[bytes]:
        return (self._choices,) if key.endswith(b".secondary") else ()

    def save(self, key: bytes, value: bytes) -> None:
        if not key.endswith((b".secondary", b".pareto")):
            self.smallest = value

    def delete(self, key: bytes, value: bytes) -> None:
        pass

    def move(self, src: bytes, dest: bytes, value: bytes) -> None:
        pass


def choices_now() -> bytes:
    """The choices of the case that was just drawn."""
    return choices_to_bytes(current_build_context().data.choices)


def _configured(
    one: Callable[[st.DataObject], None],
    phases: tuple[Phase, ...],
    examples: int,
    database: ExampleDatabase | None,
) -> Callable[[], None]:
    chosen = settings(
        max_examples=examples,
        phases=phases,
        database=database,
        deadline=None,
        derandomize=False,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    run: Callable[[], None] = chosen(given(st.data())(one))
    return run
