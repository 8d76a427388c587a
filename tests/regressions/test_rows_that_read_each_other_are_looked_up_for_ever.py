"""Of rows that read each other each element was looked up through all rows before: minutes for one question."""

from __future__ import annotations

import pytest

from verified_tir import Schedule
from verified_tir.kernel.facts import Known
from verified_tir.kernel.memory import Element
from verified_tir.logic.formula import Term
from verified_tir.lower import RemoveNoOp
from verified_tir.search import facts

ROW = """
    for j{0} in range(8):
        A[{0}, j{0}] = T.float64(0)
        A[{0}, j{0}] = A[{0}, j{0}] + A[j{0}, 0]
        A[{0}, j{0}] = A[{0}, j{0}] + A[j{0}, 1]"""
ROWS = '@T.prim_func\ndef f(A: T.Buffer((8, 8), "float64")):' + "".join(ROW.format(i) for i in range(3)) + "\n"


def test_one_question_looks_up_a_bounded_number_of_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    about, looked_up = facts._about, facts._looked_up
    counts: list[int] = []
    inside: list[int] = []

    def count(known: Known, e: Element) -> tuple[Term, ...]:
        inside[0] += 1
        return about(known, e)

    def outermost(known: Known, roots: tuple[Term, ...], thorough: bool) -> tuple[Term, ...]:
        if inside:
            return looked_up(known, roots, thorough)
        inside.append(0)
        try:
            return looked_up(known, roots, thorough)
        finally:
            counts.append(inside.pop())

    monkeypatch.setattr(facts, "_about", count)
    monkeypatch.setattr(facts, "_looked_up", outermost)
    RemoveNoOp().run(Schedule(ROWS, cache=False))
    assert max(counts) == facts.MOST_ELEMENTS  # it was 509, of four rows thousands
