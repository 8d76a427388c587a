"""Files that cannot be read, and names that are not in them: one sentence each, at once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.files import GOOD, invoke, write
from verified_tir.cli.reading import LARGEST

PROGRAM = """\
@T.prim_func
def f(A: T.Buffer(("n",), "float32"), n: T.int32):
    for i in range(n):
        A[i] = 1.0
"""
COMMANDS = (
    ("verify", "{}"), ("lower", "{}"), ("run", "{}"), ("validate", "{}", "ok.py"), ("validate", "ok.py", "{}"),
    ("check", ".", "--before", "{}"), ("plan", "{}", "--layout", "conv2d=NCHW4c"),
)  # fmt: skip
PROBLEMS = {
    "nowhere.py": "there is no such file or folder",
    "pipe.py": "this is a pipe or a device; write its contents to a file first",
    "/dev/zero": "this is a pipe or a device",
    "loop.py": "this cannot be read: Too many levels of symbolic links",
    "huge.py": f"at most {LARGEST:,} are read",
    "folder": "this is a folder; give one file",
    "latin.py": "the byte 0xe9",
    "x" * 300 + ".py": "this cannot be read: File name too long",
}


@pytest.mark.sample(34)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: "-".join(c).replace("{}", "FILE"))
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_file_that_cannot_be_read(name: str, command: tuple[str, ...], tmp_path: Path) -> None:
    if (command[0], name) in (("verify", "folder"), ("plan", "huge.py"), ("plan", "latin.py")):
        pytest.skip("a folder is searched; a model may be large, and is recognised by its text")
    write(tmp_path, ok=PROGRAM)
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "latin.py").write_bytes(b'x = "\xe9"\n')
    (tmp_path / "folder").mkdir()
    with (tmp_path / "huge.py").open("wb") as huge:
        huge.truncate(LARGEST + 1)
    done = invoke(*(c.format(name) for c in command), cwd=tmp_path)
    assert done.returncode == 2
    assert PROBLEMS[name] in done.stdout + done.stderr
    assert len(done.stderr.splitlines()) <= 1


def test_one_schedule_of_a_file(tmp_path: Path) -> None:
    write(tmp_path, both=GOOD + GOOD.removeprefix(GOOD[: GOOD.index("@schedule")]).replace("def good", "def better"))
    done = invoke("verify", "both.py:better", cwd=tmp_path)
    assert done.returncode == 0
    assert "1 schedule in 1 file: 1 proved" in done.stdout
    assert "  good  proved" not in done.stdout
    both = invoke("verify", "both.py:better", "both.py:good", cwd=tmp_path)
    assert "2 schedules in 2 files: 2 proved" in both.stdout
    wrong = invoke("verify", "both.py:bettr", cwd=tmp_path)
    assert wrong.returncode == 2
    why = "there is no schedule bettr in this file; there are good, better; did you mean 'better'? [VT0002]"
    assert wrong.stdout.startswith(f"both.py: error: {why}\n")


def test_the_second_schedule_of_a_name_is_named_by_its_number(tmp_path: Path) -> None:
    write(tmp_path, twice=GOOD + GOOD[GOOD.index("@schedule") :])
    found = json.loads(invoke("verify", "twice.py:good#2", "--json", cwd=tmp_path).stdout)
    assert [s["name"] for s in found["files"][0]["schedules"]] == ["good#2"]
    done = invoke("verify", "twice.py:good#3", cwd=tmp_path)
    assert done.returncode == 2 and "there is no schedule good#3 in this file" in done.stdout


MISTAKES = {
    (
        "run",
        "ok.py",
        "--shape",
        "n=1000000000",
    ): "A would have 1,000,000,000 elements, and this command makes arrays of "
    "at most 1,048,576; choose others with --shape name=value",
    ("run", "ok.py", "--shape", "n=-1"): "there are no arrays of the program's shapes with n = -1; choose others",
    ("run", "ok.py:g"): "there is no function g in this file; there are f",
    ("validate", "ok.py", "ok.py", "--shape", "m=3"): "--shape m: there is no symbol of this name; there are n",
    ("validate", "empty.jsonl"): "empty.jsonl: there is no pair in this file: each line is a JSON object",
    ("validate", "empty.jsonl", "-k", "x"): "no pair with both programs has 'x' in its id or kind",
    ("validate", "broken.jsonl.gz"): "broken.jsonl.gz: Not a gzipped file",
    ("lower", "nothing.py"): "there is no program in this file: no function is decorated with @T.prim_func",
    (
        "check",
        "ok.py",
    ): "ok.py/manifest.json: there is no such file; is this a folder that vtir verify",
}


@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_a_mistake_is_one_sentence(arguments: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, ok=PROGRAM, nothing="# empty\n")
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "broken.jsonl.gz").write_bytes(b"nothing")
    done = invoke(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert MISTAKES[arguments] in done.stderr
    assert len(done.stderr.splitlines()) == 1
