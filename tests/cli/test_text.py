"""What people read, whole outputs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.files import GOOD, HEAD, REFUSED, verify, write
from tests.docs.pages import settled


def check(shown: str, *expected: str) -> None:
    """Compare whole outputs, apart from times, how many obligations the rules owe, and how assumptions are worded."""

    def masked(text: str) -> str:
        text = re.sub(r"\d+ (proved TIME|obligation)s?", r"N \1", settled(text))
        return re.sub(r"assuming: .*", "assuming: …", text)

    assert masked(shown) == masked("\n".join(expected))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_proved_schedule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, good=GOOD)
    code, shown = verify(capsys, "good.py", show_program=True)
    assert code == 0
    check(
        shown,
        "good.py",
        "",
        "  good  proved  8 obligations, 1.0 ms",
        "      1 proved   1.0 ms  program(fill)",
        "      7 proved   1.0 ms  split(i, [4, 4])",
        "    assuming: …",
        "    second opinion: the validator agrees: equal",
        "    # from tvm.script import tirx as T",
        "",
        "    @T.prim_func(s_tir=True)",
        '    def fill(A: T.Buffer((16,), "float32")):',
        "        for i_0, i_1 in T.grid(4, 4):",
        "            A[i_0 * 4 + i_1] = T.float32(0.0)",
        "",
        "1 schedule in 1 file: 1 proved; 8 obligations proved in 1.0 ms",
    )


def test_a_refused_schedule_names_its_line_claim_counterexample_and_replay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, racy=HEAD + '@schedule(total)\ndef racy(s):\n    s.parallel("i")\n')
    code, shown = verify(capsys, "racy.py")
    assert code == 1
    lines = shown.splitlines()
    assert "  racy  REFUSED" in lines
    assert '    racy.py:20: s.parallel("i")' in lines
    (claim,) = [x for x in lines if "refused, since this is false" in x]
    assert claim.startswith("    parallel(i): ")
    assert any("# <-- here" in x for x in lines)
    assert any(x.startswith("    counterexample: i = ") for x in lines)
    assert any(x.startswith("    replayed: ") for x in lines)
    assert lines[-1].startswith("1 schedule in 1 file: 1 refused; ")


def test_a_step_that_does_not_apply(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, lost=HEAD + '@schedule(fill)\ndef lost(s):\n    s.split("k", [4, 4])\n')
    code, shown = verify(capsys, "lost.py")
    assert code == 1
    check(
        shown,
        "lost.py",
        "",
        "  lost  REFUSED",
        "      1 proved   1.0 ms  program(fill)",
        "",
        '    lost.py:20: s.split("k", [4, 4])',
        "",
        "    split(k, [4, 4]): there is no loop called 'k'; the loops are i [VT0301]",
        "",
        "    # from tvm.script import tirx as T",
        "",
        "    @T.prim_func(s_tir=True)",
        '    def fill(A: T.Buffer((16,), "float32")):',
        "        for i in range(16):",
        "            A[i] = T.float32(0.0)",
        "",
        "    try: name one of the loops that there are (i), or use the variable that split, fuse or loops(block) gave",
        "",
        "1 schedule in 1 file: 1 refused; 1 obligation proved in 1.0 ms",
    )


def test_expected_refusals_are_as_expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = HEAD + '@schedule(fill, expect="refused")\ndef lost(s):\n    s.split("k", [4, 4])\n'
    text += '@schedule(total)\ndef inside(s):\n    with expect_refusal(s):\n        s.parallel("i")\n'
    write(tmp_path, expected=text)
    code, shown = verify(capsys, "expected.py")
    assert code == 0
    check(
        shown,
        "expected.py",
        "",
        "  lost  refused as expected",
        "      1 proved   1.0 ms  program(fill)",
        "    expected.py:20: refused as expected: split(k, [4, 4]) [VT0301]",
        "      not applicable: there is no loop called 'k'; the loops are i",
        "",
        "  inside  proved  4 obligations, 1.0 ms",
        "      4 proved   1.0 ms  program(total)",
        "    assuming: …",
        "    expected.py:24: refused as expected: parallel(i) [VT0409]",
        "      this is false: no iteration of the parallel loop over i reads an element of B that another one writes",
        "      counterexample: i = 0, i' = 1",
        "      replayed: race at B[0] between i = 0 and 1 (confirmed)",
        "",
        "2 schedules in 1 file: 1 proved, 1 refused as expected; 5 obligations proved in 1.0 ms",
    )


def test_a_refusal_that_did_not_happen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, fine=GOOD.replace("@schedule(fill)", '@schedule(fill, expect="refused")'))
    code, shown = verify(capsys, "fine.py")
    assert code == 1
    assert "  good  NOT REFUSED\n" in shown
    assert 'every step was accepted, but the schedule is marked expect="refused"' in shown
    assert "1 not refused" in shown.splitlines()[-1]


def test_quiet_shows_only_what_went_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, a_good=GOOD, b_refused=REFUSED)
    code, shown = verify(capsys, ".", quiet=True)
    assert code == 1
    assert "a_good" not in shown
    assert "  racy  REFUSED" in shown
    assert "program(" not in shown
    code, shown = verify(capsys, "a_good.py", quiet=True)
    assert code == 0
    check(shown, "1 schedule in 1 file: 1 proved; 8 obligations proved in 1.0 ms")


def test_verbose_shows_every_obligation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, good=GOOD)
    _, plain = verify(capsys, "good.py")
    _, verbose = verify(capsys, "good.py", verbose=True)
    more = len(verbose.splitlines()) - len(plain.splitlines())
    assert more >= 8
    (bounds,) = [x for x in settled(verbose).splitlines() if "A[i] lies within the bounds of A" in x]
    assert bounds == " proved TIME trivial safety: A[i] lies within the bounds of A"


@pytest.mark.nightly
def test_verbose_shows_lemmas_and_expected_refusals_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).parents[2] / "examples" / "row_summation.py"
    _, plain = verify(capsys, example)
    _, verbose = verify(capsys, example, verbose=True)
    assert "is never -0.0" in verbose
    assert "is never -0.0" not in plain
    assert "# <-- here" in verbose
    assert "# <-- here" not in plain


def test_names_are_filtered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, a_good=GOOD, b_refused=REFUSED)
    code, shown = verify(capsys, ".", only="OOD")
    assert code == 0
    assert "1 schedule in 2 files: 1 proved" in shown
    code, shown = verify(capsys, ".", only="nothing")
    assert code == 2
    assert shown == "error: no schedule's name contains 'nothing'\n"


def test_files_without_schedules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "folder", helper="x = 1\n", good=GOOD)
    code, shown = verify(capsys, "folder")
    assert code == 0
    assert "warning" not in shown
    assert "1 schedule in 2 files" in shown
    code, shown = verify(capsys, "folder/helper.py", "folder/good.py")
    assert code == 0
    assert "folder/helper.py: warning: there is no function decorated with @schedule(program) in this file" in shown
    code, shown = verify(capsys, "folder/helper.py")
    assert code == 2
    assert shown.splitlines()[-1].startswith("error: no schedule was found")


def test_an_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = verify(capsys, write(tmp_path / "empty"))
    assert (code, shown) == (2, "error: there are no Python files in the folders given\n")


def test_a_small_budget_leaves_obligations_undecided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, good=GOOD)
    code, shown = verify(capsys, "good.py", budget=1)
    assert code == 1
    assert "the solver could not decide" in shown
