"""Questions of somebody who wants to keep a solver busy: refused, or killed when their time is over."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from verified_tir.certificate.solver_process import ask_apart
from verified_tir.logic.fragment import DEPTH, assert_in_fragment
from verified_tir.logic.standalone import NotAQuery


def written(*lines: str, logic: str = "ALL") -> str:
    return "\n".join([f"(set-logic {logic})", *lines, "(check-sat)", ""])


def squarings(n: int) -> str:
    lets = "".join(f"(let ((l{k} (* {a} {a}))) " for k, a in enumerate(["x0", *(f"l{k}" for k in range(n - 1))]))
    return written("(declare-fun x0 () Int)", f"(assert {lets}(<= (* l{n - 1} l{n - 1}) 7){')' * n})", logic="QF_NIA")


@pytest.mark.parametrize(
    "lines",
    [
        ("(declare-fun s () String)", "(assert (= (str.len s) 1000000000000))"),
        ("(declare-fun x0 () Int)", "(assert (= (ubv_to_int ((_ int_to_bv 4000000000) x0)) 1))"),
        ("(declare-fun x0 () (_ BitVec 4000000000))", "(assert (= x0 x0))"),
        ("(declare-fun x0 () (_ BitVec 8))", "(assert (= ((_ repeat 100000000) x0) ((_ repeat 100000000) x0)))"),
        ("(assert (forall ((x0 Int)) (exists ((x1 Int)) (<= x0 x1))))",),
        ("(declare-fun a () (Array Int Int))", "(assert (= (select a 0) 1))"),
        ("(declare-fun x0 () (_ FloatingPoint 30 1000000))", "(assert (fp.isNaN x0))"),
        (f"(assert (<= {'9' * 5000} 0))",),
        (f"(assert {'(not ' * (DEPTH + 1)}true{')' * (DEPTH + 1)})",),
        (f"(assert {'(not ' * (DEPTH - 1)}true{')' * (DEPTH - 1)})",),
        ("(declare-fun x0 () Int)", "(assert  (<= 0 x0))"),
        ("(declare-fun y () Int)", "(assert (<= 0 y))"),
        ("(declare-fun x0 () Int)", "(assert (<= 0 x0))"),  # the logic is another one
    ],
)
def test_what_vtir_does_not_write_is_refused(lines: tuple[str, ...]) -> None:
    with pytest.raises(NotAQuery):
        assert_in_fragment(written(*lines))


@pytest.mark.nightly
def test_what_vtir_writes_is_read() -> None:
    assert_in_fragment(written("(declare-fun x0 () Int)", "(assert (<= 0 x0))", logic="QF_LIA"))
    assert_in_fragment(squarings(60))
    sum_ = "x0"
    for _ in range(2000):
        sum_ = f"(+ {sum_} 1)"
    assert_in_fragment(written("(declare-fun x0 () Int)", f"(assert (<= {sum_} 0))", logic="QF_LIA"))


@pytest.mark.nightly
@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_a_solver_that_does_not_end_is_killed(solver: str) -> None:
    start = time.perf_counter()
    answer = ask_apart(solver, squarings(60), seconds=1)  # type: ignore[arg-type]
    assert answer.verdict == "unknown" and answer.reason
    assert time.perf_counter() - start < 30
    small = written("(assert false)", logic="QF_LIA")
    assert ask_apart(solver, small).verdict == "unsat", "the next one has a process again"  # type: ignore[arg-type]


def test_constants_are_not_multiplied_out_by_the_reader() -> None:
    start = time.perf_counter()
    with contextlib.suppress(NotAQuery):
        assert_in_fragment(squarings(60).replace("x0", "3").replace("(declare-fun 3 () Int)\n", ""))
    assert time.perf_counter() - start < 10


def test_threads_have_processes_of_their_own() -> None:
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda text: ask_apart("z3", text).verdict, [written("(assert false)"), written()]))
    assert said == ["unsat", "sat"]
