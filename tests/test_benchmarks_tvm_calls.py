"""``benchmarks/tvm_calls.py`` makes recorded calls, and tells what became of them."""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILE = Path(__file__).resolve().parent.parent / "benchmarks" / "tvm_calls.py"
COPY = """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
    for i, j in T.grid({grid}):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [{i}, {j}])
            B[vi, vj] = A[vi, vj]
"""
BEFORE = COPY.format(grid="8, 4", i="i", j="j")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("tvm_calls", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "tvm_calls", module)
    spec.loader.exec_module(module)
    return module


def record(name: str, *args: Any, before: str = BEFORE, after: str | None = BEFORE, **kwargs: Any) -> dict[str, Any]:
    return {
        "id": f"a test::{name}", "name": name, "func": "main", "before": before, "after": after, "args": list(args),
        "kwargs": kwargs,
    }  # fmt: skip


def lit(value: Any) -> dict[str, Any]:
    return {"t": "lit", "v": value}


def loop(number: int, name: str) -> dict[str, Any]:
    return {"t": "loop", "i": number, "name": name, "of": 2}


BLOCK = {"t": "block", "i": 1, "name": "B", "unique": True}
ORDERED = BEFORE.replace("i, j in T.grid(8, 4)", "j, i in T.grid(4, 8)")


def test_calls_are_made_and_counted(calls: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = [
        record("reorder", loop(1, "j"), loop(0, "i"), after=ORDERED),
        record("reorder", loop(1, "j"), loop(0, "i"), after=ORDERED),  # once more
        record("split", loop(0, "i"), factors={"t": "list", "v": [lit(None), lit(3)]}),
        record("transform_layout", BLOCK, {"t": "list", "v": [lit("write"), lit(0)]},
               {"t": "map", "v": "T.index_map(lambda i, j: (j, i))"}),
        record("transform_block_layout", BLOCK, {"t": "src", "v": "sch.f(b, lambda i, j: (j, i))"}),
        record("split", loop(0, "i"), lit(3)),
        record("no_such_primitive", BLOCK, lit(0)),
        record("annotate", BLOCK, lit("k"), {"t": "other", "cls": "dict", "v": "{1: {2}}"}),
        record("fuse", loop(0, "i"), loop(1, "j"), before=BEFORE.replace("A[vi, vj]", "A[vi, vj + 4]")),
        record("unroll", loop(0, "i"), after=None),  # TVM refused it
    ]  # fmt: skip
    for name, own in (("sched", made), ("dlight", [])):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(r) + "\n" for r in own)
    outcomes = [calls.limited(r, 20) for r in calls.records(tmp_path, "", "")]
    assert [(o.primitive, o.outcome, o.same) for o in outcomes] == [
        ("reorder", "accepted", True),
        ("split", "accepted", False),
        ("transform_layout", "accepted", False),
        ("transform_block_layout", "accepted", False),
        ("split", "refused", False),
        ("no_such_primitive", "missing", False),
        ("annotate", "refused", False),
        ("fuse", "not read", False),
    ]
    calls.report(outcomes)
    told = capsys.readouterr().out
    assert "| all | 8 | 4 | 1 | 2 | 0 | 1 | 1 |" in told
    assert "1 × fuse: A[i, j + 4]: in bounds" in told
    assert "a step: median" in told


def test_what_takes_too_long_is_refused(calls: ModuleType) -> None:
    found = calls.limited(record("reorder", loop(1, "j"), loop(0, "i")), 1e-4)
    assert (found.outcome, found.reason) in {("refused", "it takes too long"), ("not read", "it takes too long")}
