"""The search: proposals, refusals, what was tried before, and a file from which it goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from verified_tir.tune.bench import Result
from verified_tir.tune.search import Decided, NoTrials, Search
from verified_tir.tune.space import Choice, Site

SITE = Site("f.py", 1, 0, 1, 9)
TILE = Choice("perfect_tile", (64, 2, 64), (64, 1), SITE)
WORD = Choice("categorical", (0, 1), 0, SITE)
DEPENDS = Choice("categorical", (4, 8, 2), 0, SITE)


class Pretends:
    """What comes of candidates, without proving anything: the larger the last factor, the faster; a word refuses."""

    def __init__(self) -> None:
        self.asked: list[list[object]] = []

    def __call__(self, work: Sequence[Decided]) -> Iterator[Result]:
        for decided in work:
            self.asked.append([d for _, d in decided])
            yield self.of(decided)

    def of(self, decided: Decided) -> Result:
        (_, tile), (_, word), *rest = decided
        assert isinstance(tile, tuple)
        if word:
            return Result("refused", (TILE, WORD), reason="a word", code="VT0409", queries=2)
        if tile[1] >= 32 and not rest:
            return Result("open", (DEPENDS,), number=2)
        choices = (TILE, WORD, DEPENDS)[: 2 + len(rest)]
        return Result("measured", choices, 1 / tile[1], 1.0, queries=10, shared=5)


def search(store: Path | None = None, seed: int = 0) -> Search:
    return Search("s", (TILE, WORD), seed, store)


def run(made: Search, trials: int, several: int = 1) -> Pretends:
    pretends = Pretends()
    while made.finished < trials:
        made.step(min(several, trials - made.finished), pretends)
    return pretends


def test_the_default_comes_first_and_the_best_is_found() -> None:
    made = search()
    pretends = run(made, 40)
    assert pretends.asked[0] == [(64, 1), 0]
    best = made.best(1)[0]
    assert best[:2] == [(1, 64), 0] and len(best) == 3, "with a decision that was not asked of the default"
    assert made.value == 1 / 64


def test_a_refused_candidate_never_wins_and_is_counted() -> None:
    made = search()
    run(made, 40)
    counts = made.counts
    assert set(counts.refused) == {("VT0409", "a word")} and counts.refused.total() >= 1
    assert all(decisions[1] == 0 for decisions in made.best(100))
    assert counts.tried == 40 == counts.measured + counts.repeated + counts.refused.total()


def test_nothing_is_measured_twice() -> None:
    pretends = run(search(), 60)
    decided: list[Decided] = [[*zip((TILE, WORD, DEPENDS), a, strict=False)] for a in pretends.asked]  # type: ignore[list-item]
    final = [str(d) for d in decided if pretends.of(d).kind != "open"]
    assert len(final) == len(set(final)) < 60


def test_a_seed_decides_all() -> None:
    first, second, other = run(search(), 15).asked, run(search(), 15).asked, run(search(seed=1), 15).asked
    assert first == second != other


@pytest.mark.nightly
def test_a_file_from_which_the_search_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "t.sqlite"
    before = search(store)
    run(before, 10)
    again = search(store)
    assert again.counts == before.counts and again.value == before.value
    assert run(again, 10).asked == []
    pretends = run(again, 14)
    assert len(pretends.asked) >= 1 and pretends.asked[0] != [(64, 1), 0] and again.finished == 14
    assert search(tmp_path / "other.sqlite").finished == 0


@pytest.mark.nightly
def test_what_was_interrupted_is_no_trial(tmp_path: Path) -> None:
    def interrupted(work: Sequence[Decided]) -> Iterator[Result]:
        raise KeyboardInterrupt

    made = search(tmp_path / "t.sqlite")
    run(made, 3)
    with pytest.raises(KeyboardInterrupt):
        made.step(2, interrupted)
    again = search(tmp_path / "t.sqlite")
    assert again.finished == made.finished < 5
    run(again, 5)
    assert again.finished == 5


def test_several_at_a_time() -> None:
    made = search()
    run(made, 12, several=4)
    assert made.finished == 12 and made.best(1)


def test_a_file_that_holds_no_trials(tmp_path: Path) -> None:
    (tmp_path / "t.sqlite").write_bytes(b"something else" * 100)
    with pytest.raises(NoTrials, match="holds no trials"):
        search(tmp_path / "t.sqlite")
    with pytest.raises(NoTrials):
        search(tmp_path / "missing" / "t.sqlite")
