"""Terms of the logic are interned, and equality of constants was decided by it: one that was there twice was not equal
to itself.

Two threads that make one term at a time could make two, as could a finalizer that brings one back.
"""

from __future__ import annotations

import gc
import threading
from typing import Any

from verified_tir import ir
from verified_tir.ir.dtype import INT32
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term

RACES = 2_000


class Keeper:
    """Brings back what it has when it is collected."""

    def __init__(self, kept: list[Any], what: Any) -> None:
        self.kept, self.what, self.me = kept, what, self

    def __del__(self) -> None:
        self.kept.append(self.what)


def test_a_constant_that_was_brought_back_is_equal_to_itself() -> None:
    kept: list[Term] = []
    Keeper(kept, f.integer(987654321))
    gc.collect(1)  # what is new: all that other tests hold need not be looked through
    one, two = kept[0], f.integer(987654321)
    assert one is not two
    assert f.eq(one, two) is f.TRUE and f.ne(one, two) is f.FALSE
    assert f.le(one, two) is f.TRUE and f.lt(one, two) is f.FALSE
    assert f.eq(one, f.integer(7)) is f.FALSE


def test_threads_make_one_term_and_one_node() -> None:
    """What two threads make at one time is one object; that it is whole is asserted by reading all its parts."""
    made: list[list[Any]] = [[], []]
    together = threading.Barrier(2)

    def make(mine: list[Any]) -> None:
        together.wait()
        for k in range(RACES):
            x = f.add(f.var("x", f.INT), f.integer(10**9 + k))
            mine.append((x, x.op, x.args[1].payload, ir.IntImm(INT32, 10**6 + k)))

    threads = [threading.Thread(target=make, args=(mine,)) for mine in made]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(made[0]) == RACES
    for one, two in zip(*made, strict=True):
        assert one[0] is two[0] and one[1:3] == two[1:3] and one[3] is two[3]
