"""mypy accepts what users write: programs, whose bodies it cannot know, and schedules of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from verified_tir.mypy_plugin import declarations

ROOT = Path(__file__).resolve().parents[2]

USER = '''\
"""A schedule file as users write it."""
# mypy: disable-error-code="valid-type"

from verified_tir import IndexMap, Schedule, build, expect_refusal, schedule
from verified_tir.script import ir as I
from verified_tir.script import tir as T


@T.prim_func
def fill(A: T.Buffer((16,), "float32"), n: T.int32) -> None:
    for i in T.serial(16):
        A[i] = 0.0


@T.prim_func
def matched(a: T.handle, b: T.handle) -> None:
    n = T.int32()
    A = T.match_buffer(a, (n, 16), "float32")
    B = T.match_buffer(b, shape=(n, 16), dtype="float32")
    C = T.alloc_buffer((16,), "float32", scope="local")
    for i, j in T.grid(n, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            with T.init():
                B[vi, vj] = T.float32(0)
            B[vi, vj] = B[vi, vj] + T.exp(A[vi, vj]) * 2.0
    for i in T.parallel(16):
        C[i] = T.max(C[i], T.if_then_else(i < 4, 1.0, T.undef()))
    for i in T.vectorized(0, 4):
        T.evaluate(T.assume(i < 4))


@T.prim_func(private=True)
def symbolic(A: T.Buffer(("n",), "int8"), s: T.Buffer((), "float32")) -> None:
    k: T.int32 = T.int32(4)
    for i in range(16):
        A[i] = T.Cast("int8", k)


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32")) -> None:
        for i in T.thread_binding(16, thread="threadIdx.x"):
            A[i] = A[i] + 1.0


@schedule(fill)
def good(s: Schedule) -> None:
    outer, inner = s.split("i", [4, 4])
    s.reorder(inner, outer)
    s.transform_layout("A", lambda i: [i // 4, i % 4])
    with expect_refusal(s):
        s.parallel(outer)


@schedule(Module, expect="refused")
def other(s: Schedule) -> None:
    s.vectorize("i")


compiled = build(good())
m = IndexMap.from_func(lambda i: [i // 4, i % 4], 1)
'''


PLAIN = USER.replace('# mypy: disable-error-code="valid-type"\n', "")
DECLARATIONS = [k for k, line in enumerate(PLAIN.splitlines(), 1) if "T.Buffer((" in line]
CALL = "Schedule(fill).reorder(3, budget=4.5)\n"
"""Neither a loop nor a parameter."""


def mypy(folder: Path, *files: str, config: str = "") -> list[str]:
    """The errors that mypy reports of files."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", f"--config-file={config}", *files],
        cwd=folder, env={"MYPYPATH": str(ROOT), "PYTHONPATH": str(ROOT), "PATH": ""}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if ": error: " in line and "verified_tir" not in line]


@pytest.mark.nightly
@pytest.mark.slow
def test_a_file_of_programs_and_schedules_passes_strict_checks(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "plain.py").write_text(PLAIN)
    (tmp_path / "wrong.py").write_text(USER + f"\n\nschedule(3)\n{CALL}")
    errors = mypy(tmp_path, "user.py", "plain.py", "wrong.py")
    assert [e for e in errors if e.startswith("plain.py")] == [
        f"plain.py:{k}: error: Invalid type comment or annotation  [valid-type]" for k in DECLARATIONS
    ]
    wrong = [e for e in errors if e.startswith("wrong.py")]
    assert len(wrong) == 3 and "[arg-type]" in wrong[0]  # and a wrong loop, and an unknown parameter
    assert len(errors) == len(DECLARATIONS) + len(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("parser", ["native_parser = True", pytest.param("", marks=pytest.mark.nightly)])
def test_with_the_plug_in_parameters_may_be_declared_by_calls(parser: str, tmp_path: Path) -> None:
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nplugins = verified_tir.mypy_plugin\n{parser}\n")
    (tmp_path / "plain.py").write_text(PLAIN)
    (tmp_path / "commented.py").write_text(
        PLAIN.replace("n: T.int32) -> None:", "n: T.int32) -> None:  # type: ignore")
    )
    (tmp_path / "user.py").write_text(USER)
    last = len(PLAIN.splitlines())
    (tmp_path / "wrong.py").write_text(PLAIN + f"schedule(3)\ndef f(x: int(3)) -> None: ...\n{CALL}")
    for _ in ("at first", "from the cache"):
        errors = mypy(tmp_path, "plain.py", "commented.py", "user.py", "wrong.py", config="mypy.ini")
        places = [f"wrong.py:{last + line}:" for line in (1, 2, 3, 3)]
        assert [e.partition(" error: ")[0] for e in errors] == places
        assert "[arg-type]" in errors[0]
        assert errors[1].endswith("error: Invalid type comment or annotation  [valid-type]")


def test_only_parameters_of_programs_are_declarations(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(PLAIN + "def f(x: int(3), y: T.Buffer((4,))): ...\n")
    assert declarations(str(tmp_path / "plain.py")) == set(DECLARATIONS)
    (tmp_path / "wrong.py").write_text("prim_func(\n")
    assert declarations(str(tmp_path / "wrong.py")) == declarations(str(tmp_path / "missing.py")) == set()
