"""``vtir bench``: what is compared, timed, kept and refused; no test looks at how long anything took."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.files import FAR, SCATTER, invoke
from verified_tir.bench import record
from verified_tir.bench.measure import Timing

PRODUCT = """\
import numpy as np
from verified_tir import IndexMap, schedule
from verified_tir.script import tir as T


@T.prim_func
def product(a: T.handle, B: T.Buffer((8, 8), "float32"), c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 8), "float32")
    C = T.match_buffer(c, (n, 8), "float32")
    for i, j in T.grid(n, 8):
        C[i, j] = 0.0
        for k in range(8):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]


@schedule(product)
def rows(s):
    s.split("j", [None, 4])


@schedule(product, contract="C")
def fused(s):
    s.vectorize(s.split("j", [None, 4])[1])


@schedule(product)
def relaid(s):
    s.transform_layout("C", lambda i, j: (j, i))


def by_numpy(a, b, c):
    np.matmul(a, b, out=c)


def transposed(a, b, c):
    c[...] = (a @ b)[::-1]


def broken(a, b, c):
    raise RuntimeError("not today")


def exits(a, b, c):
    raise SystemExit(0)
"""
REFUSED = PRODUCT + '\n\n@schedule(product)\ndef racy(s):\n    s.parallel("k")\n'
FAST = "--peer f.py:by_numpy --time 0.01s --shape n=5"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "f.py").write_text(PRODUCT)
    (tmp_path / "g.py").write_text(REFUSED)
    return tmp_path


def test_a_schedule_beside_its_program_and_a_function(folder: Path) -> None:
    done = invoke("bench", "f.py:rows", *FAST.split(), "--json", "o.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    head, row = (re.split(r"  +", line) for line in done.stdout.splitlines() if line.startswith(("kernel", "rows")))
    assert head == [
        "kernel", "sizes", "dtype", "threads", "ours", "rate", "of peak", "as written", "by_numpy", "proof", "compile",
    ]  # fmt: skip
    assert row[:4] == ["rows", "n=5", "float32", "1"] and len(row) == len(head)
    assert "numpy 2" in done.stdout and "rounds in turns, thread CPU time" in done.stdout
    (kept,) = json.loads((folder / "o.json").read_text())["rows"]
    assert kept["flops"] == 2 * 5 * 8 * 8 and kept["bytes"] == 4 * (2 * 5 * 8 + 64)
    assert set(kept["ratios"]) == {"as written", "by_numpy"}
    assert kept["proof_seconds"] > 0 and kept["compile_seconds"] > 0


def test_every_schedule_of_a_file_also_in_another_layout(folder: Path) -> None:
    """As a table, as JSON and as charts."""
    done = invoke("bench", "f.py", *FAST.split(), "--markdown", "--json", "o.json", "--svg", "a/b", cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("|")]
    assert [r[0] for r in rows] == ["| kernel", rows[1][0], "| rows", "| fused", "| relaid"]
    assert_as_documented(json.loads((folder / "o.json").read_text()))
    names = {p.name for p in (folder / "a" / "b").iterdir()}
    assert names == {"fused-float32-1.svg", "relaid-float32-1.svg", "rows-float32-1.svg"}


IMPORTS = "from verified_tir import schedule\nfrom verified_tir.script import tir as T\n\n\n"
LOOKED_UP = '@schedule(scatter)\ndef tiled(s):\n    s.split("i", [{0}, {0}])\n'


def test_arrays_satisfy_what_the_program_assumes(folder: Path) -> None:
    """Others may make machine code write anywhere."""
    (folder / "a.py").write_text(IMPORTS + SCATTER + LOOKED_UP.format(8))
    done = invoke("bench", "a.py", "--time", "0.01s", cwd=folder)
    assert done.returncode == 0 and "tiled" in done.stdout
    (folder / "a.py").write_text(IMPORTS + FAR + LOOKED_UP.format(200))
    done = invoke("bench", "a.py", "--time", "0.01s", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("vtir: error: scatter has no meaning on these arrays: assume: ")


def assert_as_documented(kept: Any) -> None:
    """A report has the keys and types that it is said to have."""
    import jsonschema

    number, text = {"type": "number"}, {"type": "string"}
    timing = {"type": "object", "required": ["median", "low", "high", "rounds", "calls"]}
    row = {
        "type": "object",
        "properties": {
            "kernel": text, "sizes": text, "dtype": text, "threads": {"type": "integer"}, "clock": text,
            "times": {"type": "object", "additionalProperties": timing, "required": ["ours"]},
            "ratios": {"type": "object", "additionalProperties": number},
            "share": {"type": ["number", "null"]}, "proof_seconds": number, "compile_seconds": number,
        },
    }  # fmt: skip
    row["required"] = list(row["properties"])  # type: ignore[call-overload]
    schema = {
        "type": "object",
        "required": ["schema", "version", "exit_code", "environment", "rows", "wrong", "absent"],
        "properties": {"schema": {"const": 1}, "rows": {"type": "array", "items": row, "minItems": 2}},
    }
    jsonschema.validate(kept, schema)


def test_nothing_is_timed_when_a_result_is_wrong(folder: Path) -> None:
    done = invoke("bench", "f.py:rows", *FAST.split(), "--peer", "f.py:transposed", "--json", "o.json", cwd=folder)
    assert done.returncode == 1
    assert re.fullmatch(
        r"rows n=5 float32: not timed: the result of transposed is wrong: result 2: element \[0, 0\] is \S+ instead of "
        r"\S+ \(32 of 40 differ\)\n",
        done.stdout,
    )
    kept = json.loads((folder / "o.json").read_text())
    assert kept["rows"] == [] and list(kept["wrong"]) == ["rows n=5 float32"]


@pytest.mark.parametrize(("peer", "why"), [("broken", "RuntimeError: not today"), ("exits", "SystemExit: 0")])
def test_a_function_that_was_asked_for_must_not_fail(peer: str, why: str, folder: Path) -> None:
    done = invoke("bench", "f.py:rows", *FAST.split(), "--peer", f"f.py:{peer}", cwd=folder)
    assert done.returncode == 1
    assert done.stdout == f"rows n=5 float32: not timed: {peer} fails: {why}\n"


# -- an earlier run ----------------------------------------------------------------------------------------------------


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, float]]:
    """How long things take from now on, by name."""
    given: dict[str, float] = {}

    def in_turns(calls: dict[str, Any], *_: object) -> dict[str, Timing]:
        return {n: Timing(s := given.get(n, 1.0), s, s, 5, 1) for n in calls}

    monkeypatch.setattr(record, "in_turns", in_turns)
    yield given


def test_what_is_slower_than_before(folder: Path, seconds: dict[str, float]) -> None:
    command = ("bench", "f.py:rows", *FAST.split())
    assert invoke(*command, "--json", "old.json", cwd=folder).returncode == 0
    seconds |= {"ours": 1.05}
    done = invoke(*command, "--compare", "old.json", cwd=folder)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        0, "ok: rows n=5 float32 takes 1.05 × as long as before, beside as written, by_numpy",
    )  # fmt: skip
    assert invoke(*command, "--compare", "old.json", "--tolerance", "0.01", cwd=folder).returncode == 1
    seconds |= {"ours": 2.0}
    done = invoke(*command, "--compare", "old.json", "--json", "new.json", cwd=folder)
    assert (done.returncode, done.stdout.splitlines()[-1][:42]) == (1, "SLOWER: rows n=5 float32 takes 2.00 × as l")
    assert json.loads((folder / "new.json").read_text())["exit_code"] == 1
    seconds |= {"as written": 2.0, "by_numpy": 2.0}
    assert invoke(*command, "--compare", "old.json", cwd=folder).returncode == 0, "the machine is slower, not we"


def test_what_cannot_be_compared(folder: Path, seconds: dict[str, float]) -> None:
    assert invoke("bench", "f.py:rows", *FAST.split(), "--json", "old.json", cwd=folder).returncode == 0
    done = invoke("bench", "f.py:relaid", *FAST.split(), "--compare", "old.json", cwd=folder)
    assert done.returncode == 2 and "it has none of these kernels, sizes, types and threads" in done.stderr
    kept = json.loads((folder / "old.json").read_text())
    kept["environment"]["processor"] = "an abacus"
    (folder / "old.json").write_text(json.dumps(kept))
    done = invoke("bench", "f.py:rows", *FAST.split(), "--compare", "old.json", cwd=folder)
    assert "warning: old.json is of another machine: an abacus" in done.stderr


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("bench g.py:racy", "vtir: refused: "),
        ("bench gemn", "gemn is neither a kernel nor a file; "),
        ("bench nowhere.py:f", "nowhere.py:f is neither a kernel nor a file"),
        ("bench f.py:row", "no function row in this file; there are rows, fused, relaid, product; did you mean"),
        ("bench f.py --threads 0", "--threads 0: this process may use 1 to "),
        ("bench f.py --threads 99999", "--threads 99999: this process may use 1 to "),
        ("bench f.py --time 300ms", "--time 300ms: write a duration as 90s"),
        ("bench f.py --shape m=3", "--shape m: product has no such symbol; it has n"),
        ("bench f.py --shape n=-3 --peer numpy", "there are no arrays of these shapes with n = -3"),
        ("bench f.py --peer torhc", "--peer torhc: the peers are numpy, torch, "),
        ("bench f.py --peer f.py:absent", "--peer f.py:absent: there is no function absent in this file"),
        ("bench f.py --weights some", "--weights some: there are given and random"),
        ("bench f.py --pipeline Unroll", "Unroll"),
        ("bench f.py --compare f.py", "--compare f.py: this is not what vtir bench --json of this version writes"),
        ("bench f.py --json no/where.json", "--json no/where.json: there is no folder no"),
        ("bench f.py --svg f.py --peer numpy --time 0.01s", "--svg f.py: this is no folder"),
        ("bench f.py --json .", "--json .: this is a folder; name a file"),
        ("bench f.py --dtype float64", "--dtype is for kernels; a schedule and a model have the types"),
        ("bench f.py --layout auto", "--layout and --contract are for models"),
        ("bench gemm --contract", "--layout and --contract are for models"),
        ("bench f.py --sizes 3", "--sizes is for kernels; of a schedule or a model, say --shape name=value"),
    ],
)  # fmt: skip
def test_what_is_refused(arguments: str, said: str, folder: Path) -> None:
    done = invoke(*arguments.split(), cwd=folder)
    assert said in done.stderr and "Traceback" not in done.stderr
    assert done.returncode == (1 if "racy" in arguments else 2)
    assert "[VT0004]" not in done.stderr, "each mistake has a code of its own"


def test_slow_kernels_of_numpy_are_warned_of(folder: Path) -> None:
    done = invoke("bench", "f.py:rows", *FAST.split(), cwd=folder, OPENBLAS_CORETYPE="Haswell")
    assert "vtir: warning: OPENBLAS_CORETYPE=Haswell is set: numpy may not use its best kernel; unset it" in done.stderr


# -- models ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def model(folder: Path) -> str:
    onnx = pytest.importorskip("onnx")
    x, y = (onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1, 8]) for n in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, folder / "m.onnx")
    return "m.onnx"


def test_a_model_beside_onnxruntime(folder: Path, model: str) -> None:
    pytest.importorskip("onnxruntime")
    done = invoke("bench", model, "--time", "0.01s", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^m +1x8 +float32 +1 .* runs/s +–", done.stdout, re.MULTILINE)
    done = invoke("bench", model, "--time", "0.01s", "--layout", "auto", "--contract", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert re.search(r"planned to auto: conv2d=NCHW\d+c:.*; each a \* b \+ c of a sum is rounded once", done.stdout)


def test_a_model_without_onnxruntime(folder: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    done = invoke("bench", model, cwd=folder)
    assert done.returncode == 2 and "m.onnx: no peer of models is here: onnxruntime is " in done.stderr
    (folder / "m.graph").write_text((Path(__file__).parents[2] / "examples" / "residual.graph").read_text())
    done = invoke("bench", "m.graph", cwd=folder)
    assert done.returncode == 2 and "only ONNX models have a peer" in done.stderr
