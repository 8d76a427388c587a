"""``Schedule.simplify`` and ``domain_touched`` against the interpreter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from verified_tir.fuzz.target import Disagreement
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.script import script
from verified_tir.ir.visit import walk
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.footprint import domain_touched
from verified_tir.schedule.schedule import Schedule
from verified_tir.semantics.interpreter import ArgumentError, Outcome
from verified_tir.semantics.memory import View
from verified_tir.testing.assertions import assert_refines
from verified_tir.testing.reference import Given, NotCompared, ended, sizes_of

Touched: TypeAlias = dict[tuple[str, bool], set[tuple[int, ...]]]


def assert_simplified_alike(func: PrimFunc, arguments: Iterable[Mapping[str, Any]]) -> bool:
    """A simplified program leaves what it left before, is not larger, and simplifying it twice more changes nothing.

    :returns: whether the program was proved, and had a meaning on some arguments.
    :raises AssertionError: if something is wrong.
    """
    try:
        s = Schedule(func)
    except ScheduleError:
        return False
    before = s.func
    s.simplify()
    if sum(1 for _ in walk(s.func)) > sum(1 for _ in walk(before)) + 16:
        raise Disagreement("simplifier-grows", "Schedule.simplify", f"{script(before)}\nbecomes\n{script(s.func)}")
    compared = False
    for given in arguments:
        try:
            if not isinstance(ended(s.theorem.before, Given(given, {}, {})), Outcome):
                continue
        except ArgumentError:
            continue
        try:
            assert_refines(s, given, machine_code=False)
            compared = True
        except NotCompared:
            continue
        except AssertionError as wrong:
            raise Disagreement("accepted-but-differs", "Schedule.simplify", str(wrong)) from wrong
    once = s.func
    s.simplify()
    twice = s.func
    s.simplify()
    if s.func is not twice and once is not s.func:
        raise Disagreement("simplifier-restless", "Schedule.simplify", f"{script(twice)}\nbecomes\n{script(s.func)}")
    return compared


def assert_touches(func: PrimFunc, arguments: Iterable[Mapping[str, Any]]) -> bool:
    """``domain_touched`` has every element that a run touches; and no other one, where it says that it is exact and
    the program has no choice.

    :returns: whether the program was proved, and had a meaning on some arguments.
    :raises AssertionError: if an element is missing, or is one too many.
    """
    try:
        s = Schedule(func)
    except ScheduleError:
        return False
    compared = False
    for given in arguments:
        with _logged() as log:
            try:
                if not isinstance(ended(s.func, Given(given, {}, {})), Outcome):
                    continue
            except ArgumentError:
                continue
        compared = True
        sizes: dict[Var | str, int] = {v.name: k for v, k in sizes_of(s.func, given).items()}
        for b in s.func.buffers:
            for write in (False, True):
                domain = domain_touched(s, b, reads=not write, writes=write)
                try:
                    elements = domain.elements({**sizes})
                except IRError:  # it depends on something that a run computes
                    continue
                seen = log.get((b.name, write), set())
                missing = sorted(seen - elements)
                if missing:
                    text = f"{domain}: it lacks {list(missing[0])}, which is {'written' if write else 'read'}"
                    raise Disagreement("touched-too-little", "domain_touched", f"{text}\n{script(s.func)}\n{sizes}")
    return compared


@contextmanager
def _logged() -> Iterator[Touched]:
    """What the interpreter reads (False) and writes (True), by the buffer's name."""
    log: Touched = {}
    load, store = View.load, View.store

    def loading(self: View, indices: Any) -> Any:
        log.setdefault((self.name, False), set()).add(tuple(int(i) for i in indices))
        return load(self, indices)

    def storing(self: View, indices: Any, value: Any) -> None:
        log.setdefault((self.name, True), set()).add(tuple(int(i) for i in indices))
        store(self, indices, value)

    View.load, View.store = loading, storing  # type: ignore[method-assign]
    try:
        yield log
    finally:
        View.load, View.store = load, store  # type: ignore[method-assign]
