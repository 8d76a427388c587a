"""``benchmarks/tvm_passes.py`` runs passes on recorded programs, and tells how the results compare."""

from __future__ import annotations

import gzip
import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
PROGRAM = """
@T.prim_func
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
{body}
"""


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("tvm_passes", "tvm_measures", "read_tvm_tests"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("tvm_passes")


def record(before: str, after: str | None, kind: str = "tirx.StmtSimplify", **more: Any) -> dict[str, Any]:
    texts = [None if t is None else PROGRAM.format(body=f"        {t}") for t in (before, after)]
    return {"id": "a test", "kind": kind, "level": "pass", "before": texts[0], "after": texts[1], **more}


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("before", "after", "outcome", "reason"),
    [
        ("B[i] = A[i * 2 - i]", "B[i] = A[i]", "the same", ""),
        ("B[i] = A[i + 0]", "B[i] = A[i] * 2 - A[i]", "as good", ""),
        ("B[i] = A[i] + A[i]", "B[i] = A[i] * 2", "unchanged", "size 18, not 14"),
        ("if i < 20:\n            B[i] = A[i] + A[i]", "B[i] = A[i] * 2", "weaker", "size 18, not 14"),
        ("B[i] = A[i]", "B[i] = A[15 - i]", "not judged", "different: B[0] was"),
        ("B[i] = A[i + 1]", "B[i] = A[i + 1]", "not read", "A[i + 1] lies within the bounds of A"),
        ("B[i] = A[i]", "B[i] = nothing(i)", "not read", ""),
    ],
)
def test_outcomes(passes: ModuleType, before: str, after: str, outcome: str, reason: str) -> None:
    found = passes.limited(record(before, after), 30)
    assert found.outcome == outcome and reason in found.reason, found


def test_options_go_to_our_pass(passes: ModuleType) -> None:
    config = {"tirx.UnrollLoop": "UnrollLoopConfig(auto_max_step=16, explicit_unroll=True)", "other": "x=3"}
    text = record("B[i] = A[i]", "B[i] = A[i]", kind="tirx.UnrollLoop", config=config)
    head = PROGRAM.partition("    for")[0]
    text["after"] = head + "".join(f"    B[{k}] = A[{k}]\n" for k in range(16))
    assert passes.options_of(text) == {"auto_max_step": 16, "explicit_unroll": 1}
    assert passes.limited(text, 30).outcome == "the same"


def test_the_table(passes: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    same, weak = record("B[i] = A[i]", "B[i] = A[i]"), record("B[i] = A[i] + A[i]", "B[i] = A[i] * 2")
    others = [same, record("B[i] = A[i]", None), record("B[i] = A[i]", "B[i] = A[i]", kind="tirx.Other")]
    with gzip.open(tmp_path / "some.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(r) + "\n" for r in (same, weak, *others))
    monkeypatch.setattr(sys, "argv", ["tvm_passes", str(tmp_path), "--json", str(tmp_path / "out"), "--verbose"])
    assert passes.main() == 0
    shown = capsys.readouterr().out
    assert "| tirx.StmtSimplify | 2 | 1 | 0 | 0 | 1 | 0 | 0 | 0 |" in shown
    assert "tirx.StmtSimplify a test: size 18, not 14" in shown and "theirs:" in shown
    assert [json.loads(line)["outcome"] for line in (tmp_path / "out").open()] == ["the same", "unchanged"]


def test_programs_of_test_files(passes: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "test_tir_transform_simplify.py"
    file.write_text('''
class TestSomething(BaseBeforeAfter):
    propagate = True

    def before(A: T.Buffer(16, "int32")):
        """Words."""
        A[0] = 1 + 2

    def expected(A: T.Buffer(16, "int32")):
        A[0] = 3


class TestNothing(BaseBeforeAfter):
    def before(A: T.Buffer(16, "int32")):
        A[0] = 3

    expected = before


class Helper:
    pass
''')
    read = importlib.import_module("read_tvm_tests")
    something, nothing = read.pairs(file)
    assert something["config"] == {"tirx.StmtSimplify": "propagate=True"} and "Words" not in something["before"]
    assert nothing["before"] == nothing["after"]
    assert [passes.limited(r, 30).outcome for r in (something, nothing)] == ["the same", "the same"]


@pytest.mark.parametrize(
    ("name", "more", "less"),
    [
        ("conditions", "if i < 9:\n            B[i] = 1", "B[i] = 1"),
        ("decisions", "if i < 9:\n            B[i] = 1", "B[i] = 1"),
        ("loads", "B[i] = A[i]", "B[i] = 1"),
        ("size", "B[i] = 1 + A[i]", "B[i] = A[i]"),
        ("stores", "B[i] = 1\n        A[i] = 2", "B[i] = 1"),
        ("loops", "for j in range(2):\n            B[i] = 1", "B[i] = 1"),
        ("marked", "for j in T.vectorized(2):\n            B[j] = 1", "B[i] = 1"),
        ("bytes", "t = T.alloc_buffer((4,), 'int32')\n        t[0] = 1", "B[i] = 1"),
        ("marks", "with T.attr(0, 'x', 1):\n            B[i] = 1", "B[i] = 1"),
    ],
)
def test_measures(passes: ModuleType, name: str, more: str, less: str) -> None:
    measure = passes.MEASURES[name]
    a, b = (next(iter(passes.functions(PROGRAM.format(body=f"        {t}")).values())) for t in (more, less))
    assert measure(a) > measure(b) >= 0
