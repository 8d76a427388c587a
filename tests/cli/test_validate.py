"""``vtir validate``: verdicts, tables, exit codes; mistakes in one line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.cli.dying import judge_or_die
from verified_tir.cli.validate import Options, run

HEAD = "from tvm.script import tirx as T\n\n"
DOUBLE = """\
@T.prim_func(s_tir=True)
def f(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), n: T.int32):
    for i in range(n):
        B[i] = A[i] * 2.0
"""
GUARDED = DOUBLE.replace("range(n)", "range((n + 3) // 4 * 4)").replace(
    "        B[i]", "        if i < n:\n            B[i]"
)
SHORT = DOUBLE.replace("range(n)", "range(n - 1)")
SUM = """\
@T.prim_func(s_tir=True)
def g(A: T.Buffer((6,), "float32"), B: T.Buffer((1,), "float32")):
    for i in range(6):
        B[0] = B[0] + A[{}]
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("double", DOUBLE), ("guarded", GUARDED), ("short", SHORT), ("sum", SUM.format("i")),
        ("back", SUM.format("5 - i")), ("both", DOUBLE + "\n\n" + SUM.format("i")),
        ("changed", GUARDED + "\n\n" + SUM.format("i")),
    ):  # fmt: skip
        Path(f"{name}.py").write_text(HEAD + text, encoding="utf-8")


def said(capsys: pytest.CaptureFixture[str], *paths: str, **options: object) -> tuple[int, str, str]:
    code = run(Options(paths, **options))  # type: ignore[arg-type]
    out, err = capsys.readouterr()
    return code, out, err


def test_verdicts_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "double.py", "guarded.py")
    assert (code, out) == (0, "f: equal at sizes 0, 1, 2, 3, 7, 8, 17, 4, 5, which says nothing about others\n")
    code, out, _ = said(capsys, "double.py", "guarded.py", shape=("n=5",))
    assert (code, out) == (0, "f: equal\n")
    code, out, _ = said(capsys, "double.py", "short.py")
    assert code == 1 and out.startswith("f: different: B[0] was ") and out.endswith("(at n = 1) [VT0902]\n")
    code, out, _ = said(capsys, "sum.py", "back.py")
    assert code == 0 and out.startswith("g: equal over the reals: ")
    code, out, _ = said(capsys, "double.py", "guarded.py", shape=("n=300000",), most_operations=1000)
    assert code == 3 and out.startswith(("f: unknown: ", "f: equal on "))
    code, out, _ = said(capsys, "double.py", "guarded.py", shape=("n=5",), most_operations=3)
    assert code == 3 and out.startswith("f: equal on 1 of 5 elements")


def test_of_no_input_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    never = 'def f(A: T.Buffer((8,), "int32"), n: T.int32):\n    T.assume(n > 3 and n < {})\n    for i in range(8):\n'
    for name, most, value in (("none", 2, 1), ("other", 2, 2), ("some", 9, 1), ("also", 9, "1 + 0 * i")):
        Path(f"{name}.py").write_text(f"{HEAD}@T.prim_func\n{never.format(most)}        A[i] = {value}\n")
    code, out, _ = said(capsys, "none.py", "other.py")
    assert code == 3 and out.startswith("f: equal (vacuous: before has undefined behaviour") and "[VT0903]" in out
    code, out, _ = said(capsys, "none.py", "other.py", json=True)
    assert code == 3 and (json.loads(out)["pairs"][0]["verdict"], json.loads(out)["exit_code"]) == ("vacuous", 3)
    code, out, _ = said(capsys, "some.py", "also.py")  # at some sizes only
    assert code == 0 and "; vacuous at 0, 1" in out


def test_functions_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    same = "equal: the same program, but for names, claims, annotations and kinds of loops"
    assert said(capsys, "both.py:g", "sum.py")[:2] == (0, f"g: {same}\n")
    code, out, _ = said(capsys, "both.py", "changed.py", shape=("n=3",))
    assert (code, out) == (0, f"f: equal\ng: {same}\n")


@pytest.mark.parametrize(
    ("paths", "options", "words"),
    [
        (("double.py",), {}, "give two files, before and after"),
        (("a.py", "double.py"), {}, "a.py: there is no such file"),
        (("both.py", "sum.py"), {}, "sum.py: there is no function f, which both.py has"),
        (("both.py:h", "sum.py"), {}, "there is no function h; there are f, g"),
        (("double.py", "guarded.py"), {"shape": ("n=many",)}, "write name=value with an integer"),
        (("double.py", "broken.py"), {}, "broken.py:2"),
        (("none.jsonl",), {}, "none.jsonl: there is no such file"),
        (("bad.jsonl",), {}, "bad.jsonl:1: no record with before and after"),
    ],
)
def test_mistakes_take_one_line(
    paths: tuple[str, ...], options: dict[str, object], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("broken.py").write_text("@T.prim_func\ndef f(:\n", encoding="utf-8")
    Path("bad.jsonl").write_text("{}\n", encoding="utf-8")
    code, out, err = said(capsys, *paths, **options)
    assert (code, out) == (2, "")
    assert err.startswith("vtir: error: ") and words in err


def records() -> str:
    many, few = {"class": "plain", "size": "symbolic"}, {"class": "plain", "size": "small"}
    pairs = [
        {"id": "p-1", "kind": "split", "before": HEAD + DOUBLE, "after": HEAD + GUARDED, **many},
        {"id": "p-2", "kind": "reorder", "before": HEAD + SUM.format("i"), "after": HEAD + SUM.format("5 - i"), **few},
        {"id": "p-3", "kind": "split", "before": HEAD + DOUBLE, "after": HEAD + SHORT, **many},
        {"id": "p-4", "kind": "split", "before": HEAD + DOUBLE, "after": None, **many},
        {"id": "p-5", "kind": "other", "before": HEAD + DOUBLE, "after": "nonsense(", **few, "class": "gpu"},
    ]
    return "\n".join(json.dumps(p) for p in pairs) + "\n\n"


def table_of(lines: list[str]) -> list[list[str]]:
    """The words of the verdicts' table."""
    start = lines.index("") + 1
    return [line.split() for line in lines[start : lines.index("", start)]]


def test_recorded_pairs_and_their_table(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pairs.jsonl").write_text(records(), encoding="utf-8")
    with gzip.open("pairs.jsonl.gz", "wt", encoding="utf-8") as zipped:
        zipped.write(records())
    for path in ("pairs.jsonl", "pairs.jsonl.gz"):
        code, out, _ = said(capsys, path)
        lines = out.splitlines()
        assert code == 1 and [x.partition(":")[0] for x in lines[:4]] == [
            "p-1 split",
            "p-2 reorder",
            "p-3 split",
            "p-5 other",
        ]
        assert "unreadable" in lines[3]
        assert table_of(lines) == [
            ["equal", "at", "sizes", "equal", "over", "the", "reals", "unreadable", "different", "all"],
            ["gpu", "small", "1", "1"],
            ["plain", "small", "1", "1"],
            ["plain", "symbolic", "1", "1", "2"],
            ["total", "1", "1", "1", "1", "4"],
        ]
        assert "not supported: 1 of 4 pairs (25.0 %)" in lines
        assert "decided: 3 of 3 supported pairs (100.0 %)" in lines
        assert lines[-1].startswith("4 pairs in ")
    code, out, _ = said(capsys, "pairs.jsonl", only="reorder")
    assert code == 0 and out.splitlines()[0].startswith("p-2 reorder: ") and "1 pairs in" in out


@pytest.mark.nightly
def test_races_of_the_same_program(capsys: pytest.CaptureFixture[str]) -> None:
    """They are lost, or nobody could say: neither is success, whatever the serial meaning."""
    loop = "@T.prim_func(s_tir=True)\ndef f(A: T.Buffer(({0},), 'int32'), B: T.Buffer(({0},), 'int32')):\n"
    loop += "    for i in {1}({2}):\n        B[i + 1] = A[i] + {3}[i]\n"
    for extent, source, code, begins, ends in (
        (100_000, "B", 1, "f: equal: the same program", "new: after: race at B between iterations of i\n"),
        (100_000, "A", 0, "f: equal: the same program", "annotations and kinds of loops\n"),
        (30_000_000, "A", 3, "f: races unknown: the same program", "the most is 16777216\n"),
        (30_000_000, "B", 3, "f: races unknown: the same program", "the most is 16777216\n"),
    ):
        for name, kind in (("serial", "range"), ("parallel", "T.parallel")):
            text = loop.format(extent + 1, kind, extent, source)
            Path(f"{name}.py").write_text(HEAD + text, encoding="utf-8")
        found, out, _ = said(capsys, "serial.py", "parallel.py")
        assert (found, out.startswith(begins), out.endswith(ends)) == (code, True, True), out
        assert said(capsys, "parallel.py", "serial.py")[:2] == (0, "f: equal: " + SAME)
        assert said(capsys, "parallel.py", "parallel.py")[:2] == (0, "f: equal: " + SAME)


SAME = "the same program, but for names, claims, annotations and kinds of loops\n"


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "double.py", "short.py", json=True)
    report = json.loads(out)
    (pair,) = report["pairs"]
    assert code == report["exit_code"] == 1
    assert (pair["name"], pair["verdict"]) == ("f", "different")
    assert [s["n"] for s in pair["sizes"]] == [0, 1]


def test_pairs_are_chosen_by_class_and_number(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pairs.jsonl").write_text(records(), encoding="utf-8")
    _, out, _ = said(capsys, "pairs.jsonl", group="plain", limit=2)
    assert [x.partition(":")[0] for x in out.splitlines() if x.startswith("p-")] == ["p-1 split", "p-2 reorder"]
    _, both, _ = said(capsys, "pairs.jsonl", jobs=2)
    _, one, _ = said(capsys, "pairs.jsonl")
    assert both.split("\nslowest")[0] == one.split("\nslowest")[0]


def test_a_worker_that_dies_is_no_difference(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verified_tir.cli.validate.judge_record", judge_or_die)
    equal = "\n".join(line for line in records().splitlines() if '"p-3"' not in line)
    Path("pairs.jsonl").write_text(equal, encoding="utf-8")
    code, out, _ = said(capsys, "pairs.jsonl", jobs=2, group="plain")
    assert code == 3
    assert "p-1 split: equal" in out
    assert "p-2 reorder: failed: the worker failed: Ended: its process ended by SIGKILL" in out
