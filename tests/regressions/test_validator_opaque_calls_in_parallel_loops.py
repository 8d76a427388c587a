"""Opaque calls in a parallel loop raced at the memory that was passed to them only: not at what else they can reach,
and not at the state outside of the program, on which the order of the calls depends."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.validate import Equal, validate
from verified_tir.validate.pairs import Budget, judge
from verified_tir.validate.verdict import new_races

TWO = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")'
THREADS = 'T.thread_binding({}, thread="threadIdx.x")'
CALL = 'T.evaluate(T.call_extern("int32", "emit", i))'


def program(params: str, loop: str, *lines: str) -> PrimFunc:
    head = ["@T.prim_func", f"def f({params}):", f"    for i in {loop}:"]
    return parse_func("\n".join([*head, *["        " + line for line in lines]]))


@pytest.mark.parametrize("marked", ["T.parallel({})", THREADS])
@pytest.mark.parametrize(
    ("params", "lines"),
    [
        (TWO, ["B[i] = A[i]", CALL]),
        (TWO, ['B[i] = T.call_extern("int32", "next_random")']),
        ("", [CALL]),
    ],
)
def test_iterations_with_opaque_calls_race(marked: str, params: str, lines: list[str]) -> None:
    """One iteration alone does not, and a pure call shares nothing."""
    serial, parallel = (program(params, kind.format(4), *lines) for kind in ("range({})", marked))
    report = validate(serial, parallel)
    assert isinstance(report.verdict, Equal)
    assert report.new_races
    assert new_races(judge("f", serial, parallel, {}, Budget()).findings)
    assert not validate(parallel, parallel).new_races
    once = program(params, marked.format(1), *lines)
    assert not validate(program(params, "range(1)", *lines), once).findings
    pure = [line.replace("call_extern", "call_pure_extern") for line in lines]
    assert not validate(program(params, "range(4)", *pure), program(params, marked.format(4), *pure)).findings


def test_the_state_outside_is_named_where_no_memory_is_shared() -> None:
    """A function without parameters has nothing else to share."""
    report = validate(program("", "range(4)", CALL), program("", "T.parallel(4)", CALL))
    assert report.new_races == ("after: race at external-state between iterations of i",)
