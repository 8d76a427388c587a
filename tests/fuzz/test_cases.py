"""Rounds, choices, shrinking: what is drawn depends on the seed alone."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import reject

from tests.fuzz.toys import BROKEN, EMPTY, FAILS, FINE, Toy
from verified_tir.fuzz.cases import ROUND, Listeners, Round, recheck, redraw, run_round, shrink
from verified_tir.fuzz.failure import Failure, Key
from verified_tir.fuzz.running import Journal, read
from verified_tir.fuzz.target import Observed


def drawn(
    toy: Toy, work: Round, folder: Path, **listeners: Any
) -> tuple[list[Any], list[tuple[Failure, bytes, int]], bool]:
    """The cases that are checked, the failures, and whether the round ended."""
    cases: list[Any] = []
    failures: list[tuple[Failure, bytes, int]] = []

    def noted(case: Any) -> None:
        cases.append(case)
        toy.property(case)

    spy = Toy(toy.name, noted, toy.numbers)
    journal = Journal(folder / "case")
    ended = run_round(
        spy,
        work,
        Observed(),
        Listeners(journal, lambda *f: failures.append(f), listeners.pop("passed", lambda n: None), **listeners),
    )
    return cases, failures, ended


def test_a_round_is_the_same_whoever_runs_it_and_whatever_it_finds(tmp_path: Path) -> None:
    first, found, ended = drawn(FAILS, Round("toy", 1, 0, ROUND), tmp_path)
    again, _, _ = drawn(FINE, Round("toy", 1, 0, ROUND), tmp_path)
    assert ended and len(first) == ROUND and first == again
    assert found and all(first[index] and sum(first[index]) > 1500 for _, _, index in found)
    others = [drawn(FINE, w, tmp_path)[0] for w in (Round("toy", 1, 1, ROUND), Round("toy", 2, 0, ROUND))]
    assert first not in others and others[0] != others[1]


def test_part_of_a_round_is_part_of_the_whole(tmp_path: Path) -> None:
    whole, _, _ = drawn(FINE, Round("toy", 1, 0, ROUND), tmp_path)
    head, _, ended = drawn(FINE, Round("toy", 1, 0, 12), tmp_path)
    tail, _, _ = drawn(FINE, Round("toy", 1, 0, ROUND, skip=12), tmp_path)
    assert ended and head + tail == whole


def test_a_round_ends_when_its_time_is_over(tmp_path: Path) -> None:
    cases, failures, ended = drawn(FINE, Round("toy", 1, 0, ROUND), tmp_path, until=time.monotonic())
    assert (cases, failures, ended) == ([], [], False)


def test_the_case_is_written_down_before_it_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "case"
    journal = Journal(path)
    seen: list[list[int]] = []

    def look(case: list[int]) -> None:
        running = read(path)
        assert running is not None and (running.phase, running.target, running.turn) == ("checking", "toy", 3)
        assert running.index == len(seen)
        seen.append(case)
        assert redraw(FINE, running.choices, lambda drawn: drawn) == [case]

    toy = Toy("toy", look)
    failures: list[Failure] = []
    run_round(
        toy, Round("toy", 1, 3, 5), Observed(), Listeners(journal, lambda f, c, i: failures.append(f), lambda n: None)
    )
    after = read(path)
    assert failures == [] and len(seen) == 5 and after is not None and after.phase == "idle"


def test_half_of_what_was_written_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "case"
    Journal(path).checking("toy", b"choices" * 9, 3, 4)
    whole = path.read_bytes()
    running = read(path)
    assert running is not None and (running.choices, running.turn, running.index) == (b"choices" * 9, 3, 4)
    path.write_bytes(whole + b"what a longer one left")
    assert read(path) == running
    for torn in (whole[: len(whole) // 2], whole.replace(b"choices" * 4, b"another" * 4)):
        path.write_bytes(torn)
        assert read(path) is None


def test_shrinking_leads_to_a_small_case(tmp_path: Path) -> None:
    _, failures, _ = drawn(FAILS, Round("toy", 1, 0, ROUND), tmp_path)
    failure, choices, _ = failures[0]
    assert failure.key == Key("toy", "too-large", "sum")
    small = shrink(FAILS, choices, lambda case, _: sum(case) > 1500, time.monotonic() + 60)
    assert small is not None and redraw(FAILS, small, sum) == [1501] and redraw(FAILS, small, list) == [[501, 1000]]


def test_shrinking_stops_when_its_time_is_over_with_what_it_has(tmp_path: Path) -> None:
    _, failures, _ = drawn(FAILS, Round("toy", 1, 0, ROUND), tmp_path)
    choices = failures[-1][1]
    began = time.monotonic()

    def slow(case: list[int], _: bytes) -> bool:
        time.sleep(0.02)
        return sum(case) > 1500

    assert shrink(FAILS, choices, slow, began + 0.1) is not None
    assert time.monotonic() - began < 30
    assert shrink(FAILS, choices, slow, began) is None


def test_choices_of_another_case_are_no_case() -> None:
    assert redraw(FAILS, b"", pytest.fail) == redraw(FAILS, b"\xff\xff\xff", pytest.fail) == []


def test_what_cannot_be_drawn_fails_and_the_round_goes_on(tmp_path: Path) -> None:
    cases, failures, ended = drawn(BROKEN, Round("toy", 1, 0, ROUND), tmp_path)
    assert ended and failures and len(cases) + len(failures) == ROUND
    assert {f.key for f, _, _ in failures} == {Key("toy", "crash", "LookupError in toys.py:_broken")}
    assert {choices for _, choices, _ in failures} == {b""}


def test_a_strategy_that_draws_nothing_says_so(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="Unable to satisfy"):
        drawn(EMPTY, Round("toy", 1, 0, ROUND), tmp_path)


def test_an_assumption_of_a_check_is_no_failure(tmp_path: Path) -> None:
    def choosy(case: list[int]) -> None:
        if case:
            reject()

    _, failures, _ = drawn(Toy("toy", choosy), Round("toy", 1, 0, 10), tmp_path)
    assert failures == []


def test_a_case_is_checked_again_from_its_choices(tmp_path: Path) -> None:
    _, failures, _ = drawn(FAILS, Round("toy", 1, 0, ROUND), tmp_path)
    failure, choices, _ = failures[0]
    (case,) = redraw(FAILS, choices, list)
    assert recheck(FAILS, choices, lambda *given: failure if given == (case, choices) else None) == failure
    assert recheck(FAILS, choices, lambda *given: None) is None
    assert recheck(FAILS, choices, lambda *given: reject()) is None
    assert recheck(FAILS, b"", lambda *given: failure) is None
