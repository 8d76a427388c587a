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
        ("fill", "s.buffer('Z')", 1, "a step was to be refused, and this is none"),
        ("fill", "s.get_loops('Z')", 1, "a step was to be refused, and this is none"),
        ("fill", "s.split('k', [4, 4])", 0, "f  refused as expected"),
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


def test_a_look_up_in_the_block_is_no_step() -> None:
    s = Schedule(COPY)
    with pytest.raises(ScheduleError, match="no block called 'Bx'"), expect_refusal(s):
        s.split(s.get_loops("Bx")[0], [3, 2])
    with pytest.raises(ScheduleError, match="sample_perfect_tile"), expect_refusal(s):
        s.sample_perfect_tile("i", 0)
    assert s.refusals == ()


def test_why_a_refusal_in_a_block_was_not_expected(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    inner = "    with expect_refusal(s):\n        s.split(s.get_loops('B')[0], [3, 5])\n"
    write(tmp_path, x=HEAD + "@schedule(fill)\ndef f(s):\n" + inner)
    found, shown = verify(capsys, tmp_path / "x.py")
    assert found == 1
    assert "f  REFUSED" in shown and "a step was to be refused, and this is none" in shown
    found, shown = verify(capsys, tmp_path / "x.py", format="junit")
    assert "a step was to be refused, and this is none" in shown


# -- what is not decided -----------------------------------------------------------------------------------------------

TABLE = HEAD + "@T.prim_func\ndef table(A: T.Buffer((16, 16), 'float32'), B: T.Buffer((16, 16), 'float32')):\n"
TABLE += "    for i, j in T.grid(16, 16):\n        B[i, j] = A[i, j] * 2.0\n\n\n"
ROWS = "s.transform_layout('A', lambda i, j: [(i * 16 + j) // 7, (i * 16 + j) % 7])\n"


def test_what_is_not_decided_is_not_refused_as_expected(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write(tmp_path, x=TABLE + f'@schedule(table, expect="refused")\ndef f(s):\n    {ROWS}')
    write(tmp_path, y=TABLE + f"@schedule(table)\ndef f(s):\n    with expect_refusal(s):\n        {ROWS}")
    for name in ("x", "y"):
        found, shown = verify(capsys, tmp_path / f"{name}.py", budget=1, cache=False)
        assert found == 1
        assert "f  REFUSED" in shown and "the solver did not decide whether the step is right" in shown


# -- races that only the whole schedule is asked about -----------------------------------------------------------------

WAITS = "    s.cache_read('B', 'A', 'local')\n    s.bind('i', 'threadIdx.x')\n"
BLOCKS = HEAD + "@T.prim_func\ndef copy(A: T.Buffer((16,), 'int32'), B: T.Buffer((16,), 'int32')):\n"
BLOCKS += "    for i in range(16):\n        with T.block('B'):\n            vi = T.axis.spatial(16, i)\n"
BLOCKS += "            B[vi] = A[vi]\n\n\n"


def test_a_schedule_of_which_every_step_was_accepted_was_not_refused_as_expected(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write(tmp_path, x=BLOCKS + f'@schedule(copy, expect="refused")\ndef f(s):\n{WAITS}')
    for when in ("last", "never"):
        found, shown = verify(capsys, tmp_path / "x.py", validate=when)
        assert found == 1
        assert "f  REFUSED" in shown and "race freedom: refused" in shown
        assert "BugInThisTool" not in shown


def test_memory_that_waits_for_a_later_step_is_no_bug(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    steps = f'@schedule(copy, expect="refused")\ndef f(s):\n{WAITS}    s.split("i", [3, 5])\n\n\n'
    steps += f"@schedule(copy)\ndef g(s):\n{WAITS}    s.compute_at('A_local', 'i')\n"
    write(tmp_path, x=BLOCKS + steps)
    for when in ("last", "every"):
        found, shown = verify(capsys, tmp_path / "x.py", validate=when)
        assert found == 0
        assert "A_local waits for a later step, which moves all its uses into the loops of threads" in shown
    s = Schedule(BLOCKS.rpartition("@T.prim_func")[2].join(["@T.prim_func", ""]))
    s.cache_read("B", "A", "local")
    s.bind("i", "threadIdx.x")
    assert s.validate().word == "undecided"
    s.compute_at("A_local", "i")
    assert s.validate().word == "agrees"
