"""Mistakes of users: each gives one clear error with its place, and stops nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.files import GOOD, HEAD, invoke, verify, write


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


BAD_FILES = {
    "syntax": ("def f(:\n    pass\n", "bad.py:1:7: error: SyntaxError: invalid syntax"),
    "name": ("x = 1\ny = z\n", "bad.py:2: error: NameError: name 'z' is not defined"),
    "import": ("import no_such_module\n", "bad.py:1: error: ModuleNotFoundError: No module named 'no_such_module'"),
    "exit": ("import sys\nsys.exit(3)\n", "bad.py:2: error: SystemExit: sys.exit(3) was called"),
    "bare exit": ("raise SystemExit\n", "bad.py:1: error: SystemExit: sys.exit() was called"),
    "null byte": ("x = 1\0\n", "bad.py: error: SyntaxError: the file contains null bytes"),
    "recursion": (
        "def f(n):\n    return f(n + 1)\n\n\nf(0)\n",
        "bad.py:2: error: RecursionError: maximum recursion depth exceeded; does a function call itself without end?",
    ),
    "relative import": ("from . import x\n", "bad.py:1: error: ImportError: attempted relative import with no known"),
    "no program": (
        HEAD + "@schedule\ndef f(s):\n    pass\n",
        "bad.py:18: error: TypeError: @schedule(program) takes a program, not the function f: write the",
    ),
    "expectation": (
        HEAD + '@schedule(fill, expect="refusal")\ndef f(s):\n    pass\n',
        'bad.py:18: error: ValueError: expect is "proved" or "refused", not \'refusal\'',
    ),
    "unknown name in a program": (
        HEAD + "@T.prim_func\ndef g(A: T.Buffer((16,))):\n    A[0] = C[0]\n",
        "bad.py:20:12: error: unknown name C",
    ),
    "wrong rank": (
        HEAD + "@T.prim_func\ndef g(A: T.Buffer((16,))):\n    A[0, 1] = 1.0\n",
        "bad.py:20:5: error: A has 1 dimensions and is accessed with 2 indices",
    ),
    "message of several lines": ("raise ValueError('a\\nb')\n", "bad.py:1: error: ValueError: a [VT0004]\n  b\n"),
    "message that fails": (
        "class E(Exception):\n    def __str__(self):\n        raise ValueError\n\n\nraise E\n",
        "bad.py:6: error: E: (its message cannot be shown)",
    ),
    "no message": ("raise ValueError\n", "bad.py:1: error: ValueError: no message"),
}


@pytest.mark.sample(11)
@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_has_a_place_and_stops_nobody(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, error = BAD_FILES[name]
    write(tmp_path, bad=text, good=GOOD)
    code, shown = verify(capsys, "bad.py", "good.py")
    assert code == 2
    assert error in shown
    assert shown.count("error: ") == 1
    assert "Traceback" not in shown
    assert "  good  proved" in shown
    assert "1 schedule in 2 files: 1 proved, 1 bad file; " in shown.splitlines()[-1]


def test_a_place_is_shown_with_its_line_and_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, bad=BAD_FILES["unknown name in a program"][0])
    _, shown = verify(capsys, "bad.py")
    assert shown.splitlines()[1:3] == ["    A[0] = C[0]", "           ^"]


def test_a_mistake_in_a_helper_names_both_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, helper="x = (1,\n", user="import helper\n")
    code, shown = verify(capsys, "user.py")
    assert code == 2
    assert shown.startswith(
        "helper.py:1:5: error: SyntaxError: '(' was never closed (reached from user.py:1) [VT0003]\n"
    )


def test_text_that_is_no_utf8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "latin.py").write_bytes(b'x = "\xff"\n')
    code, shown = verify(capsys, "latin.py")
    assert code == 2
    assert shown.startswith("latin.py:1")
    remedy = "save the file as UTF-8, or name its encoding in the first line, as in # coding: latin-1"
    assert f"latin.py:1:6: error: SyntaxError: the byte 0xff is not UTF-8; {remedy}" in shown


def test_a_path_that_does_not_exist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, good=GOOD)
    code, shown = verify(capsys, "nowhere.py", "good.py")
    assert code == 2
    assert shown.startswith("nowhere.py: error: there is no such file or folder [VT0001]\n")
    assert "  good  proved" in shown


BAD_SCHEDULES = {
    "no such primitive": ("s.splitt('i')", "ERROR", "bad.py:20: error: AttributeError: a Schedule has no"),
    "failed assertion": ("assert not s.steps, 'no'", "ERROR", "bad.py:20: error: AssertionError: no"),
    "exit": ("raise SystemExit('bye')", "ERROR", "bad.py:20: error: SystemExit: sys.exit('bye') was called"),
    "generator": ("yield", "ERROR", "bad.py:18: error: TypeError: a schedule is a plain function; this one yields"),
    "recursion": ("bad.function(s)", "ERROR", "bad.py:20: error: RecursionError: maximum recursion depth exceeded"),
    "no refusal": (
        "with expect_refusal(s):\n        s.split('i', [4, 4])",
        "ERROR",
        "bad.py:20: error: AssertionError: a step that was expected to be refused was accepted",
    ),
    "program within": (
        "parse('@T.prim_func\\ndef f(A: T.Buffer((4,))):\\n    A[0] = B[0]')",
        "ERROR",
        "bad.py:20: error: <string>:3:12: error: unknown name B",
    ),
    "unknown loop": ("s.split('k', [4, 4])", "REFUSED", "there is no loop called 'k'; the loops are i"),
    "unknown buffer": ("s.transform_layout('Z', lambda i: [i])", "REFUSED", "there is no buffer called 'Z'"),
    "wrong rank": (
        "s.transform_layout('A', lambda i, j: [i, j])",
        "REFUSED",
        "the function takes 2 indices (i, j), but",
    ),
    "not injective": (
        "s.transform_layout('A', lambda i: [i // 2])",
        "REFUSED",
        "no two elements of A are mapped to the same",
    ),
    "factor zero": ("s.split('i', [4, 0])", "REFUSED", "a factor must be positive, not 0"),
}


@pytest.mark.parametrize("name", BAD_SCHEDULES)
def test_a_bad_schedule_has_a_place_and_stops_nobody(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body, word, message = BAD_SCHEDULES[name]
    good = GOOD.removeprefix(HEAD)
    write(tmp_path, bad=f"{HEAD}@schedule(fill)\ndef bad(s):\n    {body}\n\n\n{good}")
    code, shown = verify(capsys, "bad.py")
    assert code == 1
    assert f"  bad  {word}\n" in shown
    assert message in shown
    assert "    bad.py:" in shown
    assert "Traceback" not in shown
    assert "  good  proved" in shown


def test_a_program_that_has_no_meaning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = HEAD.replace("range(16):\n        A[i] = 0.0", "range(17):\n        A[i] = 0.0")
    write(tmp_path, bad=text + "@schedule(fill)\ndef bad(s):\n    pass\n")
    code, shown = verify(capsys, "bad.py")
    assert code == 1
    assert "    bad.py:18: @schedule(fill)\n" in shown
    assert "the program itself: refused, since this is false: A[i] lies within the bounds of A" in shown
    assert "counterexample: i = 16" in shown


def test_a_negative_extent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = HEAD.replace('def fill(A: T.Buffer((16,), "float32"))', 'def fill(A: T.Buffer((-16,), "float32"))')
    write(tmp_path, bad=text + "@schedule(fill)\ndef bad(s):\n    pass\n")
    code, shown = verify(capsys, "bad.py")
    assert code != 0
    assert "bad.py:" in shown
    assert "Traceback" not in shown


def test_a_recursive_module(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = "@I.ir_module\nclass M:\n    @T.prim_func\n    def a(A: T.Buffer((16,))):\n        M.a(A.data)\n\n\n"
    write(tmp_path, bad=HEAD + module + "@schedule(M)\ndef bad(s):\n    s.split('i', [4, 4])\n")
    code, shown = verify(capsys, "bad.py")
    assert code != 0
    assert "bad.py:" in shown
    assert "Traceback" not in shown


def test_verbose_adds_the_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, bad="x = 1\ny = z\n")
    _, shown = verify(capsys, "bad.py", verbose=True)
    assert "Traceback (most recent call last):" in shown


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    for arguments in (["verify"], ["verify", "x.py", "-q", "-v"], ["verify", "x.py", "--budget", "0"], ["nonsense"]):
        done = invoke(*arguments, cwd=tmp_path)
        assert done.returncode == 2, arguments
        assert "Usage: vtir" in done.stderr
        assert "Traceback" not in done.stderr
