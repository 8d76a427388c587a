"""``vtir lower`` and ``vtir run``: programs, passes, exit codes; mistakes in one line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.files import HEAD, invoke, vtir, write
from verified_tir import parse_func
from verified_tir.cli.execute import Options as RunOptions
from verified_tir.cli.execute import execute
from verified_tir.cli.lower import Options, lower
from verified_tir.ir.stmt import For
from verified_tir.kernel.rules.same import Same
from verified_tir.kernel.theorem import Refines, apply
from verified_tir.lower.passes import Lowering, Pass, Pipeline
from verified_tir.schedule import fitting_inputs


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


TEXT = """\
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, "n"), "float32"), B: T.Buffer((4,), "int32"), n: T.int32):
    T.func_attr({"layout_transform_map": {"A": "lambda i, j: [j, i]"}})
    for i in range(4):
        B[i] = B[i] + 1
        for j in range(n):
            A[i, j] = A[i, j] * 2.0


@T.prim_func(s_tir=True)
def g(A: T.Buffer((4,), "float32"), n: T.int32):
    if n <= 4:
        for i in T.unroll(n):
            A[i] = 0.0
"""
SCHEDULES = (
    HEAD
    + """\
@schedule(fill)
def good(s):
    s.split("i", [4, 4])


@schedule(total, expect="refused")
def refused(s):
    s.parallel("i")
"""
)


def run(capsys: pytest.CaptureFixture[str], where: str, *pipeline: str, **more: object) -> tuple[int, str, str]:
    code = lower(Options(where, *pipeline, **more))  # type: ignore[arg-type]
    return code, *capsys.readouterr()


def test_the_program_and_what_was_proved(capsys: pytest.CaptureFixture[str]) -> None:
    write(Path(), a=TEXT)
    code, out, err = run(capsys, "a.py:f", "ApplyLayoutTransforms() >> Simplify()")
    assert (code, err) == (0, "")
    lines = out.split("\n")
    assert lines[0] == "# a.py: f"
    assert [line.partition(":")[0] for line in lines[1:4]] == ["# proved", "# ApplyLayoutTransforms()", "# Simplify()"]
    assert all(line.endswith((" µs", " ms", " s")) for line in lines[1:4])
    assert "# Simplify(): 0 steps, 0 obligations, " in out
    assert "A[j, i] = A[j, i] * T.float32(2.0)" in out
    assert parse_func(out).name == "f"  # what is printed is Python


def test_print_after(capsys: pytest.CaptureFixture[str]) -> None:
    write(Path(), a=TEXT)
    _, out, _ = run(capsys, "a.py:f", "ApplyLayoutTransforms >> Simplify", print_after=("ApplyLayoutTransforms",))
    assert out.count("def f(") == 1
    assert out.index("ApplyLayoutTransforms()") < out.index("def f(") < out.index("Simplify()")
    _, out, _ = run(capsys, "a.py:f", "ApplyLayoutTransforms >> Simplify", print_all=True)
    assert out.count("def f(") == 3
    code, _, err = run(capsys, "a.py:f", "Simplify", print_after=("FlattenBuffer",))
    assert code == 2
    assert err == (
        "vtir: error: --print-after FlattenBuffer: the pipeline has no such pass; the passes are Simplify [VT0008]\n"
    )


def test_schedules_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    write(Path(), a=SCHEDULES)
    code, out, _ = run(capsys, "a.py", "none")
    assert code == 0 and out.count("def ") == 1 and "T.grid(4, 4)" in out
    code, out, _ = run(capsys, "a.py:total", "none")
    assert code == 0 and "B[0] = B[0] + A[i]" in out


def test_a_refusal(capsys: pytest.CaptureFixture[str]) -> None:
    write(Path(), a=TEXT)
    code, out, err = run(capsys, "a.py", "UnrollLoop")
    assert code == 1
    assert "# a.py: f" in out and "# a.py: g" in out
    assert err.startswith("a.py: g: UnrollLoop(): the loop over i is to be unrolled, but its extent n is not a ")
    assert "<-- here" in err and "Traceback" not in err


RACES = """\
from verified_tir import schedule
from verified_tir.script import tir as T


@T.prim_func
def copy(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi]


@schedule(copy)
def staged(s):
    s.cache_read("B", "A", "local")
    s.bind("i", "threadIdx.x")
"""


def test_a_schedule_that_races_is_not_proved(capsys: pytest.CaptureFixture[str]) -> None:
    write(Path(), bad=RACES, good=RACES + '    s.compute_at("A_local", "i")\n')
    code, out, err = run(capsys, "bad.py")
    assert code == 1
    assert "proved" not in out
    assert "bad.py: staged: race freedom: refused" in err
    code, out, _ = run(capsys, "good.py")
    assert code == 0 and "# proved: 23 obligations" in out


class Careless(Pass):
    """Marks the first loop parallel, and asks nobody."""

    def lower(self, work: Lowering) -> None:
        session = work.session
        path, loop = session.find(For)[0]
        result = apply(Same(path, replace(loop, kind="parallel")), session.theorem, session.prover)
        assert isinstance(result, Refines)
        session.theorem = result


def test_a_pass_after_which_the_program_races(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(Path(), good=HEAD)
    monkeypatch.setattr("verified_tir.cli.lower.parse_pipeline", lambda _: Pipeline(Careless()))
    code, out, _ = run(capsys, "good.py:fill")
    assert code == 0 and "T.parallel(16)" in out
    code, out, err = run(capsys, "good.py:total")
    assert code == 1 and "T.parallel(16)" not in out
    assert "good.py: total: race freedom: refused" in err


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    write(Path(), a=TEXT)
    code, out, err = run(capsys, "a.py", "Simplify >> UnrollLoop", json=True)
    found = json.loads(out)
    assert (code, err) == (1, "") and found["exit_code"] == 1
    assert found["pipeline"] == "Pipeline(Simplify(), UnrollLoop())"
    f, g = found["functions"]
    assert (f["name"], f["outcome"], f["refusal"]) == ("f", "lowered", None)
    assert [p["pass"] for p in f["passes"]] == ["Simplify()", "UnrollLoop()"]
    assert f["obligations"] > 0 and parse_func(f["program"]).name == "f"
    assert (g["outcome"], len(g["passes"]), g["refusal"]["kind"]) == ("refused", 1, "NotApplicable")


MISTAKES = {
    "b.py": "b.py: there is no such file",
    ".": ".: this is a folder; give one file",
    "a.py:h": "a.py: there is no function h in this file; there are f, g",
    "empty.py": "empty.py: there is no program in this file",
    "bad.py": "bad.py:3:5: unknown name C",
    "broken.py": "broken.py:1:7: invalid syntax",
}


@pytest.mark.parametrize("where", MISTAKES)
def test_mistakes(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    bad = "@T.prim_func\ndef f(A: T.Buffer((4,))):\n    C[0] = 1.0\n"
    write(Path(), a=TEXT, bad=bad, broken="def f(:\n    pass\n", empty="x = 1\n")
    code, out, err = run(capsys, where, "none")
    assert (code, out) == (2, "")
    assert err.startswith(f"vtir: error: {MISTAKES[where]}"), err
    code = execute(RunOptions(where, "none"))
    assert code == 2 and capsys.readouterr().err == err


def test_a_pipeline_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    write(Path(), a=TEXT)
    code, _, err = run(capsys, "a.py", "Nothing()")
    assert code == 2 and err.startswith("vtir: error: there is no pass Nothing; the passes are ")


@pytest.mark.nightly
def test_the_command(tmp_path: Path) -> None:
    write(tmp_path, a=TEXT)
    done = vtir("lower", "a.py:f", "--pipeline", "Simplify", "--print-after", "Simplify", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and "def f(" in done.stdout
    done = invoke("lower", "a.py:h", cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr
    for command in ("lower", "run"):
        assert "Exit code" in invoke(command, "--help", cwd=tmp_path).stdout


# -- run ---------------------------------------------------------------------------------------------------------------


def executed(capsys: pytest.CaptureFixture[str], where: str, **more: object) -> tuple[int, str, str]:
    code = execute(RunOptions(where, **more))  # type: ignore[arg-type]
    return code, *capsys.readouterr()


def test_run_checks_with_the_interpreter(capsys: pytest.CaptureFixture[str]) -> None:
    write(Path(), a=TEXT)
    code, out, err = executed(capsys, "a.py:f", shape=("n=3",), check=True)
    assert (code, err) == (0, "")
    lines = out.split("\n")
    assert lines[:4] == ["f:", "  n = 3", "  A: float32[3, 4]", "  B: int32[4]"]
    assert lines[5] == "  the interpreter gives the same bits"
    checksum = lines[4].rpartition(" ")[2]
    assert executed(capsys, "a.py:f", shape=("n=3",))[1].count(checksum) == 1  # the same arrays for the same seed
    assert checksum not in executed(capsys, "a.py:f", shape=("n=3",), seed=1)[1]
    code, out, _ = executed(capsys, "a.py:f", shape=("n=0",), check=True, json=True)
    assert code == 0 and json.loads(out)["functions"][0]["arrays"] == {"A": "float32[0, 4]", "B": "int32[4]"}


def test_run_fills_padding_as_declared(capsys: pytest.CaptureFixture[str]) -> None:
    padded = (
        HEAD
        + """\
@schedule(total)
def padded(s):
    s.transform_layout("A", lambda i: [i // 5, i % 5], pad_value=0.0)


@schedule(total)
def forbidden(s):
    s.transform_layout("A", lambda i: [i // 5, i % 5])
"""
    )
    write(Path(), a=padded)
    code, out, _ = executed(capsys, "a.py", check=True)
    assert code == 0 and out.count("A: float32[4, 5]") == 2 and out.count("the same bits") == 2


def test_a_difference_is_reported(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from verified_tir.cli import execute as module

    write(Path(), a=TEXT)
    right = module._compare

    def spoiled(*args: object) -> str:
        args[1]["B"][2] += 1  # type: ignore[index]
        return right(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_compare", spoiled)
    code, out, _ = executed(capsys, "a.py:f", check=True)
    assert code == 1 and "  DIFFERS: B[2] is " in out and "(1 of 4 elements differ)" in out


def test_the_interpreter_gives_up(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from verified_tir.cli import execute as module

    write(Path(), a=TEXT)
    monkeypatch.setattr(module, "STEPS", 10)
    code, out, err = executed(capsys, "a.py:f", check=True)
    assert (code, out) == (2, "")
    assert err == (
        "vtir: error: f: too much for the interpreter, which stops after 10 stores and iterations; check a smaller "
        "size [VT0011]\n"
    )


SCATTER = """\
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def scatter(P: T.Buffer(("n",), "int32"), B: T.Buffer((4,), "int32"), n: T.int32):
    for i in range(n):
        T.assume(0 <= P[i] and P[i] < 4)
        B[P[i]] = i


@T.prim_func(s_tir=True)
def beyond(P: T.Buffer((40000,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(40000):
        T.assume(P[i] == i * 0)
        B[P[i] * 10000000] = 1


@T.prim_func(s_tir=True)
def few(A: T.Buffer(("n",), "int32"), n: T.int32):
    T.assume(n < 8)
    for i in range(n):
        A[i] = 1
"""


def test_run_makes_arrays_that_satisfy_what_is_assumed(capsys: pytest.CaptureFixture[str]) -> None:
    """Others may make machine code write anywhere: of 40,000 numbers below 100 some lead far outside of B."""
    write(Path(), a=SCATTER)
    for shape in ("n=3", "n=60"):
        code, out, err = executed(capsys, "a.py:scatter", shape=(shape,), check=True)
        assert (code, err) == (0, "") and "the same bits" in out
    code, out, err = executed(capsys, "a.py:beyond")
    assert (code, out) == (2, "")
    assert err.startswith("vtir: error: beyond has no meaning on these arrays: assume: an assumption is false at ")
    code, out, err = executed(capsys, "a.py:few")
    assert (code, out) == (2, "") and "say other sizes" in err
    assert executed(capsys, "a.py:few", shape=("n=7",))[0] == 0


def test_run_does_not_call_what_it_cannot_check(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(Path(), a=SCATTER)
    monkeypatch.setattr(fitting_inputs, "STEPS", 10)
    monkeypatch.setattr(fitting_inputs, "exhibit_of", lambda *_: None)
    code, out, err = executed(capsys, "a.py:scatter", shape=("n=30",), seed=4)
    assert (code, out) == (2, "") and "say other sizes or another --seed" in err
    monkeypatch.setattr("verified_tir.cli.execute.fitting", lambda func, sizes, arrays: arrays)
    code, _, err = executed(capsys, "a.py:beyond", check=True)  # the interpreter is asked before the call
    assert code == 2 and "the program has no meaning on these arrays" in err


@pytest.mark.parametrize("written", ["async def p(s):\n    pass", "def p(s):\n    yield"])
def test_a_schedule_of_which_nothing_would_run(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.cli.files import HEAD as HEADING

    write(Path(), odd=f"{HEADING}@schedule(fill)\n{written}\n")
    code, out, err = run(capsys, "odd.py", "none")
    assert (code, out) == (2, "")
    assert "a schedule is a plain function; this one yields or awaits, and nothing of it was run" in err


def test_mistakes_of_run(capsys: pytest.CaptureFixture[str]) -> None:
    write(Path(), a=TEXT)
    for shape, words in (
        ("m=3", "--shape m: f has no such symbol; it has n"),
        ("n", "--shape n: write name=value with a number"),
        ("n=x", "--shape n=x: write name=value with a number"),
        ("n=1.5", "--shape n=1.5: n is an integer from -2147483648 to 2147483647"),
        ("n=5000000000", "--shape n=5000000000: n is an integer from -2147483648 to 2147483647"),
    ):
        code, out, err = executed(capsys, "a.py:f", shape=(shape,))
        assert (code, out, err) == (2, "", f"vtir: error: {words} [VT0011]\n")
    code, out, err = executed(capsys, "a.py:f", shape=("n=-1",))
    assert code == 2 and "no arrays of the program's shapes with n = -1" in err
    code, _, err = executed(capsys, "a.py:g", pipeline="UnrollLoop")
    assert code == 1 and "UnrollLoop(): the loop over i is to be unrolled" in err
