"""The validator of LLVM IR: of a parallel loop with more than 64 iterations several were one part, and a race between
these was not seen.  With fewer iterations each was a part, and code for vectors of iterations was never executed.

Finding: validator | race-missed | iterations of one part
"""

from __future__ import annotations

import re

import pytest

from verified_tir import parse_func
from verified_tir.codegen.compile import optimise
from verified_tir.codegen.emit import emit
from verified_tir.codegen.target import Target
from verified_tir.validate.llvm import validate_llvm
from verified_tir.validate.verdict import Different, Equal

TARGET = Target.host(threads=2)
PROGRAM = """
@T.prim_func
def f(A: T.Buffer(({n},), "int32"), B: T.Buffer(({n},), "int32")):
    for i in {kind}({n}):
        B[{at}] = A[i]
"""


def texts(n: int, kind: str, at: str) -> list[str]:
    text = emit(parse_func(PROGRAM.format(n=n, kind=kind, at=at)), TARGET).text
    return [text, str(optimise(text, TARGET)[0])]


@pytest.mark.parametrize("n", [64, 65, 128, 200])
def test_iterations_that_race(n: int) -> None:
    before = parse_func(PROGRAM.format(n=n, kind="range", at="i // 2"))
    for text in texts(n, "T.parallel", "i // 2"):
        found = validate_llvm(before, text).verdict
        assert isinstance(found, Different) and str(found.after).startswith("two threads access byte")
    for text in texts(n, "range", "i // 2"):
        assert isinstance(validate_llvm(before, text).verdict, Equal)


@pytest.mark.parametrize("n", [64, 128, 200])
def test_iterations_that_do_not(n: int) -> None:
    before = parse_func(PROGRAM.format(n=n, kind="range", at=f"{n - 1} - i"))
    for text in texts(n, "T.parallel", f"{n - 1} - i"):
        assert isinstance(validate_llvm(before, text).verdict, Equal)


def test_what_only_parts_of_several_iterations_do() -> None:
    before = parse_func(PROGRAM.format(n=32, kind="range", at="i"))
    text = texts(32, "T.parallel", "i")[0]
    wrong, times = re.subn(r"(%next\w* = add nsw i64 %\w+), 1", r"\1, 2", text)
    assert times == 1
    assert isinstance(validate_llvm(before, text).verdict, Equal)
    assert isinstance(validate_llvm(before, wrong).verdict, Different)


def test_vectors_of_iterations_are_executed() -> None:
    program = PROGRAM.format(n=400, kind="{}", at="i").replace("A[i]", "A[i] + 1")
    text = str(optimise(emit(parse_func(program.format("T.parallel")), TARGET).text, TARGET)[0])
    report = validate_llvm(parse_func(program.format("range")), text)
    assert "vector.body" in text and isinstance(report.verdict, Equal)
    assert not any("vector.body" in block for block in report.unreached)
