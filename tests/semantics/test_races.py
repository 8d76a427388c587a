"""Races of parallel and thread-bound loops, conflicts between lanes: found, and not found where there are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.semantics.programs import function, load, loop, store
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.ir.stmt import Allocate, DeclBuffer, ForKind, If, Stmt, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.semantics.interpreter import Finding, StepLimit, run

A, B = Buffer.declare("A", (8,), "int32"), Buffer.declare("B", (4, 4), "int32")
i, j, k = Var.fresh("i"), Var.fresh("j"), Var.fresh("k")
KINDS: list[ForKind] = ["parallel", "thread_binding", "vectorized"]


def findings(body: Stmt, *, check: bool = True) -> tuple[Finding, ...]:
    args: dict[str, Any] = {"A": np.zeros(8, np.int32), "B": np.zeros((4, 4), np.int32)}
    outcome = run(function([A, B], body), args, check_races=check)
    unwatched = run(function([A, B], body), args)
    assert all(np.array_equal(outcome.arrays[n], unwatched.arrays[n]) for n in ("A", "B"))  # the meaning is serial
    return outcome.findings


CONFLICTS: list[tuple[Stmt, int, tuple[int, ...], tuple[int, int]]] = [
    (store(A, i, 3), 8, (3,), (0, 1)),  # written, then written
    (seq(store(A, 1, i), store(B, load(A, 0), 0, i)), 4, (0,), (0, 1)),  # written, then read
    (seq(store(B, load(A, 3), 0, i), store(A, 1, i)), 4, (3,), (0, 3)),  # read by three others, then written
    (store(A, load(A, i + 1), i), 7, (1,), (0, 1)),  # read by a neighbour, then written
    (store(A, load(A, 7 - i), i), 8, (3,), (3, 4)),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", range(len(CONFLICTS)))
def test_conflicts(case: int, kind: ForKind) -> None:
    body, extent, indices, iterations = CONFLICTS[case]
    name = "lane-conflict" if kind == "vectorized" else "race"
    assert findings(loop(i, extent, body, kind)) == (Finding(name, i, "A", indices, iterations),)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_no_conflicts(kind: ForKind) -> None:
    t = Buffer.declare("t", (1,), "int32")
    for body in (
        store(A, load(A, i) + 1, i),  # each iteration its own element
        store(A, load(B, 0, 0), i),  # all read what nobody writes
        Allocate(t, seq(store(t, i, 0), store(A, load(t, 0), i))),  # t is the iteration's own
        If(binary("lt", i, 1), store(A, 5, 7)),  # only one iteration writes
    ):
        assert findings(loop(i, 8, body, kind)) == ()
    for serial in ("serial", "unrolled"):
        assert findings(loop(i, 8, store(A, i, 3), serial)) == ()  # type: ignore[arg-type]


def test_a_block_from_outside_the_loop_is_shared() -> None:
    t = Buffer.declare("t", (1,), "int32")
    body = seq(store(t, i, 0), store(A, load(t, 0), i))
    (finding,) = findings(Allocate(t, loop(i, 8, body, "parallel")))
    assert (finding.buffer, finding.iterations) == ("t", (0, 1))
    between = loop(j, 4, Allocate(t, loop(i, 4, body, "parallel")), "parallel")  # private to j, shared among i
    assert {(f.var, f.buffer) for f in findings(between)} == {(i, "t"), (j, "A")}


def test_a_parallel_loop_inside_a_serial_one_starts_afresh() -> None:
    own = loop(i, 4, store(A, j, i), "parallel")
    assert findings(loop(j, 2, own)) == ()  # the same elements in the next j are no race
    (finding,) = findings(loop(j, 2, loop(i, 4, store(A, i, j), "parallel")))
    assert (finding.var, finding.indices) == (i, (0,))  # one finding for each loop and block


def test_nested_parallel_loops_are_told_apart() -> None:
    columns = loop(i, 4, loop(j, 4, store(B, 1, 0, j), "parallel"), "parallel")
    assert {f.var for f in findings(columns)} == {i}
    rows = loop(i, 4, loop(j, 4, store(B, 1, i, 0), "parallel"), "parallel")
    assert {f.var for f in findings(rows)} == {j}
    both = loop(i, 4, loop(k, 2, loop(j, 4, store(B, 1, k, 0), "vectorized")), "thread_binding")
    assert {(f.kind, f.var) for f in findings(both)} == {("race", i), ("lane-conflict", j)}


def test_reads_by_bounds_and_conditions_count() -> None:
    bound = loop(i, 4, seq(loop(j, load(A, 7), store(B, 0, i, j)), If(i.equal(3), store(A, 1, 7))), "parallel")
    (finding,) = findings(bound)
    assert (finding.indices, finding.iterations) == ((7,), (0, 3))


def test_aliases_and_parts_of_elements() -> None:
    halves = Buffer.declare("H", (16,), "int16", data=A.data)
    assert findings(DeclBuffer(halves, loop(i, 16, store(halves, 1, i), "parallel"))) == ()
    mixed = seq(store(halves, 1, 2 * i), store(A, 0, 0))
    (finding,) = findings(DeclBuffer(halves, loop(i, 2, mixed, "parallel")))
    assert (finding.buffer, finding.indices) == ("A", (0,))
    high = If(i.equal(0), store(A, 0, 0), store(halves, 1, 1))  # the high half of A[0]
    (finding,) = findings(DeclBuffer(halves, loop(i, 2, high, "parallel")))
    assert (finding.buffer, finding.indices) == ("H", (1,))


def test_findings_only_when_asked_for() -> None:
    assert findings(loop(i, 8, store(A, i, 3), "parallel"), check=False) == ()
    (finding,) = findings(loop(i, 8, store(A, i, 3), "parallel"))
    assert str(finding) == "race at A[3] between i = 0 and 1"


def test_findings_until_the_step_limit_are_not_lost() -> None:
    with pytest.raises(StepLimit) as caught:
        run(
            function([A], loop(i, 8, store(A, i, 3), "parallel")),
            {"A": np.zeros(8, np.int32)},
            check_races=True,
            max_steps=9,
        )
    assert [str(f) for f in caught.value.findings] == ["race at A[3] between i = 0 and 1"]


def test_empty_and_single_iterations() -> None:
    for extent in (0, 1):
        assert findings(loop(i, extent, store(A, i, 3), "parallel")) == ()
    n = const(-5)
    assert findings(loop(i, n, store(A, i, 3), "vectorized")) == ()
