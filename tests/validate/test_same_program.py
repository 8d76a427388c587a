"""Programs that are the same but for the kinds of loops: the marked loops that *after* adds may race."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate import Unknown, pairs, validate
from verified_tir.validate.pairs import Budget, judge
from verified_tir.validate.verdict import new_races

SUM = """
@T.prim_func
def f(A: T.Buffer(({0},), "int32"), B: T.Buffer(({0},), "int32"), n: T.int32):
    for i in {1}:
        {2}
"""
EACH, ALL = "B[i] = B[i] + A[i]", "B[0] = B[0] + A[i]"


def judged(size: str, kind: str, body: str, most: int = 200_000):  # type: ignore[no-untyped-def]
    extent = "n" if size == "n" else size
    before = parse_func(SUM.format(size, f"range({extent})", body))
    return judge("f", before, parse_func(SUM.format(size, f"T.{kind}({extent})", body)), {}, Budget(most))


@pytest.mark.parametrize("size", ["16", "n"])
@pytest.mark.parametrize("kind", ["parallel", "vectorized"])
def test_a_race_is_found(kind: str, size: str) -> None:
    found = judged(size, kind, ALL)
    assert found.word == "equal"
    assert any(new_races(r.findings) for r in found.reports), found


@pytest.mark.parametrize("size", ["16", "n"])
@pytest.mark.parametrize("kind", ["parallel", "vectorized", "unroll", "serial"])
def test_one_that_holds_is_not(kind: str, size: str) -> None:
    found = judged(size, kind, EACH)
    assert found.word == "equal"
    assert not any(new_races(r.findings) for r in found.reports)


def test_where_nothing_can_be_executed_the_word_says_so() -> None:
    found = judged("100000000", "parallel", EACH)
    assert found.word == "races unknown"
    assert "whether those of after race" in found.text
    assert found.reason != ""
    assert judged("100000000", "unroll", ALL).word == "equal"


CARRIED = "if i >= 1:\n            B[i] = A[i] + B[i - 1]"


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", ["parallel", "vectorized"])
@pytest.mark.parametrize("body", [CARRIED, ALL])
def test_what_was_found_before_the_budget_was_used_up_stays_found(kind: str, body: str) -> None:
    """Such loops run one iteration at a time once it is known that they conflict, which takes too long."""
    found = judged("5000", kind, body, 10_000)
    assert [f.partition(" between")[0] for f in found.findings] == [
        f"after: {'race' if kind == 'parallel' else 'lane conflict'} at B"
    ]
    assert new_races(found.findings)
    assert judged("50", kind, body, 10_000).findings == found.findings  # where all of it is executed


def test_where_before_is_cut_nothing_is_known_to_be_lost() -> None:
    """Both race at B, but *before* is executed in part only: what is found in *after* may have been there."""
    text = SUM.replace("        {2}", "        A[i] = A[i] + 1\n    for j in {2}:\n        {3}")
    each = "B[0] = B[0] + A[j]"
    for first, second, word in (("T.parallel", "T.parallel", "equal"), ("range", "T.parallel", "races unknown")):
        before = text.format("5000", f"{first}(5000)", "T.parallel(5000)", each).replace("A[i] = A[i]", "A[0] = A[i]")
        after = text.format("5000", f"{second}(5000)", "T.parallel(5000)", each).replace("A[i] = A[i]", "A[0] = A[i]")
        found = judge("f", parse_func(before), parse_func(after), {}, Budget(10_000))
        assert found.word == word
        assert new_races(found.findings) == ()


def test_a_race_is_new_in_programs_that_are_not_the_same_and_too_large() -> None:
    before = parse_func(SUM.format("400", "range(400)", EACH))
    text = SUM.format("400", "T.parallel(400)", CARRIED.replace("A[i] + B[i - 1]", "B[i - 1] + A[i] * 1"))
    found = validate(before, parse_func(text), most_operations=2200, most_elements=0, most_steps=100)
    assert isinstance(found.verdict, Unknown)
    assert new_races(found.findings) == ("after: race at B between iterations of i",)


def test_the_text_says_at_which_sizes_races_were_looked_for() -> None:
    found = judged("n", "parallel", EACH)
    assert found.text.endswith("; races were looked for at sizes 0, 1, 2, 3, 7, 8, 17")


def test_where_time_runs_out_the_program_is_still_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object, **__: object) -> None:
        raise pairs.TimeIsUp

    monkeypatch.setattr(pairs, "_reports", late)
    found = judged("16", "parallel", ALL)
    assert found.word == "races unknown"
    assert found.reason == "they take too long to judge"
    with pytest.raises(pairs.TimeIsUp):  # of other programs nothing is known then
        pairs.judge("f", parse_func(SUM.format(16, "range(16)", ALL)),
                    parse_func(SUM.format(16, "range(16)", EACH)), {}, Budget(1000))  # fmt: skip
