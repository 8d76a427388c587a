"""A refusal that is expected must be the one that was meant: of this schedule, and of the step in question."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.files import HEAD, verify, write
from verified_tir import Schedule, ScheduleError, expect_refusal

COPY = "@T.prim_func\ndef copy(A: T.Buffer((8,), 'int32'), B: T.Buffer((8,), 'int32')):\n"
COPY += "    for i in range(8):\n        B[i] = A[i]\n"
SUM = COPY.replace("B[i] = A[i]", "B[0] = B[0] + A[i]")
BEYOND = '\n\n@T.prim_func\ndef beyond(A: T.Buffer((8,), "int32")):\n    for i in range(9):\n        A[i] = 1\n\n\n'
EXPECTED = '@schedule({program}, expect="refused")\ndef f(s):\n    {body}\n'


@pytest.mark.parametrize(
    ("program", "body", "code", "said"),
    [
        ("beyond", "s.parallel('i')", 1, "program itself: refused, since this is false"),
        ("fill", "Schedule(beyond)", 1, "program itself: refused, since this is false"),
        ("fill", "Schedule(total).parallel('i')", 1, "parallel(i): refused, since this is false"),
        ("total", "s.parallel('i')", 0, "f  refused as expected"),
        ("total", "s.split('i', [4, 4]); s.parallel('i_0')", 0, "f  refused as expected"),
        ("fill", "s.buffer('Z')", 0, "f  refused as expected"),
        ("fill", "s.tensorize('i', Schedule(total))", 0, "f  refused as expected"),
    ],
)
def test_a_schedule_that_is_to_be_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, program: str, body: str, code: int, said: str
) -> None:
    write(tmp_path, x=HEAD + BEYOND + EXPECTED.format(program=program, body=body))
    found, shown = verify(capsys, tmp_path / "x.py", validate="never")
    assert found == code and said in shown
    assert ("f  REFUSED" in shown) == bool(code)


def test_a_refusal_by_another_schedule_is_none_of_this_one() -> None:
    s, other = Schedule(COPY), Schedule(SUM)
    with pytest.raises(ScheduleError, match="parallel"), expect_refusal(s):
        other.parallel("i")
    with pytest.raises(ScheduleError, match="the program itself"), expect_refusal(s):
        Schedule(COPY.replace("range(8)", "range(9)"))
    assert s.refusals == () and other.refusals == ()
    with expect_refusal(other) as refused:
        s.parallel("i")
        other.parallel("i")
    assert other.refusals == tuple(refused) and len(refused) == 1


def test_no_step_of_the_block_is_taken() -> None:
    s = Schedule(COPY)
    with pytest.raises(AssertionError, match=r"split\(i, \[2, 4\]\) was accepted .* before it"), expect_refusal(s):
        s.split("i", [2, 4])
        s.parallel("nope")
    assert s.refusals == ()
    with expect_refusal(s) as refused:
        s.parallel("nope")
    assert s.refusals == tuple(refused) and len(s.steps) == 2
