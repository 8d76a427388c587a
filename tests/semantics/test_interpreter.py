"""Whole programs: loops, branches, allocation, symbols, and the outcome of a run."""

from __future__ import annotations

import numpy as np

from tests.semantics.programs import function, load, loop, store
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import seq
from verified_tir.semantics.interpreter import run


def row_sum() -> PrimFunc:
    n, i, j = Var.fresh("n"), Var.fresh("i"), Var.fresh("j")
    a, b = Buffer.declare("A", (n, 4)), Buffer.declare("B", (n,))
    add = store(b, load(b, i) + load(a, i, j), i)
    return function([a, b], loop(i, n, seq(store(b, 0.0, i), loop(j, 4, add))))


def test_row_sum_of_a_symbolic_number_of_rows() -> None:
    for rows in (0, 1, 3):
        a = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
        b = np.full(rows, 7, np.float32)
        outcome = run(row_sum(), {"A": a, "B": b}, defined={"B": np.zeros(rows, bool)})
        assert np.array_equal(outcome.arrays["B"], a.sum(axis=1))
        assert outcome.defined["B"].all()
        assert b.tolist() == [7] * rows  # what was given is not modified
        assert outcome.steps == rows * (1 + 1 + 4 * 2)
