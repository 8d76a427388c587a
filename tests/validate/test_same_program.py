"""Programs that are the same but for licences: the licences that *after* adds are judged all the same."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate import pairs
from verified_tir.validate.pairs import Budget, judge
from verified_tir.validate.verdict import lost_licences

SUM = """
@T.prim_func
def f(A: T.Buffer(({0},), "int32"), B: T.Buffer(({0},), "int32"), n: T.int32):
    for i in {1}:
        {2}
"""
EACH, ALL = "B[i] = B[i] + A[i]", "B[0] = B[0] + A[i]"


def judged(size: str, kind: str, body: str):  # type: ignore[no-untyped-def]
    extent = "n" if size == "n" else size
    before = parse_func(SUM.format(size, f"range({extent})", body))
    return judge("f", before, parse_func(SUM.format(size, f"T.{kind}({extent})", body)), {}, Budget(200_000))


@pytest.mark.parametrize("size", ["16", "n"])
@pytest.mark.parametrize("kind", ["parallel", "vectorized"])
def test_a_licence_that_does_not_hold_is_found(kind: str, size: str) -> None:
    found = judged(size, kind, ALL)
    assert found.word == "equal"
    assert any(lost_licences(r.findings) for r in found.reports), found


@pytest.mark.parametrize("size", ["16", "n"])
@pytest.mark.parametrize("kind", ["parallel", "vectorized", "unroll", "serial"])
def test_one_that_holds_is_not(kind: str, size: str) -> None:
    found = judged(size, kind, EACH)
    assert found.word == "equal"
    assert not any(lost_licences(r.findings) for r in found.reports)


def test_where_nothing_can_be_executed_the_text_says_so() -> None:
    found = judged("100000000", "parallel", EACH)
    assert found.word == "equal"
    assert "whether the licences of after hold" in found.text


def test_where_time_runs_out_the_program_is_still_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object, **__: object) -> None:
        raise pairs.TimeIsUp

    monkeypatch.setattr(pairs, "_reports", late)
    found = judged("16", "parallel", ALL)
    assert found.word == "equal"
    assert "its licences take too long to judge" in found.text
    with pytest.raises(pairs.TimeIsUp):  # of other programs nothing is known then
        pairs.judge("f", parse_func(SUM.format(16, "range(16)", ALL)),
                    parse_func(SUM.format(16, "range(16)", EACH)), {}, Budget(1000))  # fmt: skip
