"""Statements that come and go, where it is tight: each refusal is of a step that would change a result."""

from __future__ import annotations

import numpy as np

from tests.kernel.programs import AB, accepted, buffer, gives, load, program, refused, store
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For, seq
from verified_tir.ir.sugar import const
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.semantics.interpreter import run

ABN = AB + ", n: T.int32"
ALLOC = 't = T.alloc_buffer((2,), "int32")\n'
NO_OP = "no-op: the {} store to {} writes the bits that are there already (Refuted)"
WROTE = "no-op: the erased store to {} wrote the bits that were there already (Refuted)"
READ = "dead-store: the store to {} is dead: no later read sees it (Refuted)"
OVERWRITTEN = "dead-store: the store to {} is dead: it is certainly overwritten later (Refuted)"


def contents(f: PrimFunc, name: str, **arrays: list[int]) -> list[int]:
    """What a run on these arrays leaves in a buffer."""
    given = {k: np.array(v, np.int32) for k, v in arrays.items()}
    return run(f, given).arrays[name].tolist()  # type: ignore[no-any-return]


# -- stores of what was there ------------------------------------------------------------------------------------------


def test_the_same_bits_where_they_were_undefined_fill_a_place() -> None:
    """0 * t[1] is 0 where t[1] is defined; here it is not, so t[0] holds nothing before its second store."""
    text = ALLOC + "t[0] = A[0] + 0 * t[1]\nt[0] = A[0]\nB[0] = t[0]"
    refused(program(text), Erase((0, 1)), WROTE.format("t"))
    gives(program(ALLOC + "t[1] = 2\n" + text.removeprefix(ALLOC)), Erase((0, 2)),
          ALLOC + "t[1] = 2\nt[0] = A[0] + 0 * t[1]\nB[0] = t[0]")  # fmt: skip


def test_equal_bits_are_not_enough() -> None:
    """That A[0] is defined nobody says here.  (It is a bound; but what follows from that is not used.)"""
    text = "for i in range(A[0], A[0] + 1):\n    A[0] = i\nB[0] = 1"
    refused(program(text), Erase((0,)), WROTE.format("A"))
    gives(program("A[0] = n\n" + text, ABN), Erase((1,)), "A[0] = n\nB[0] = 1")


def test_a_store_that_feeds_another_one_is_looked_at() -> None:
    """Only the statement itself reads t, but what it reads there it puts into B."""
    f = program(ALLOC + "for i in range(2):\n    t[0] = i + 1\n    B[i] = t[0]\nA[0] = 1")
    refused(f, Erase((0, 0)), "no-op: the erased store to ")
    gives(program(ALLOC + "for i in range(2):\n    t[0] = i + 1\n    t[1] = t[0]\nA[0] = 1"), Erase((0, 0)),
          ALLOC + "A[0] = 1")  # fmt: skip


def test_an_inserted_store_that_feeds_another_one_is_looked_at() -> None:
    """Nobody reads t before; B[0] = t[0] would put 5 where 2 is."""
    f = program(ALLOC + "t[0] = 2\nB[0] = 2\nA[0] = 1")
    t, b = buffer(f, "t"), buffer(f, "B")
    accepted(f, Insert((0, 2), seq(store(t, 2, 0), store(b, load(t, 0), 0))))
    refused(f, Insert((0, 2), seq(store(t, 5, 0), store(b, load(t, 0), 0))), NO_OP.format("inserted", "t"))
    accepted(f, Insert((0, 2), store(t, 5, 0)))


def test_what_is_inserted_binds_its_own_variables() -> None:
    f = program(ALLOC + "B[0] = 1")
    i = Var.fresh("i")
    loop = For(i, const(0), const(2), store(buffer(f, "t"), i, i))
    accepted(f, Insert((0,), loop), Insert((0, 0), loop))


# -- dead stores -------------------------------------------------------------------------------------------------------


def test_what_a_dead_statement_reads_need_not_be_overwritten() -> None:
    gives(program("A[0] = B[0]\nA[0] = 1"), Erase((0,), 1), "A[0] = 1")
    f = program("A[0] = 1\nB[0] = 2")
    b = buffer(f, "B")
    accepted(f, Insert((1,), store(b, load(b, 1), 0), "before", 1))


def test_beside_dead_stores_others_go_where_nobody_looks() -> None:
    text = "for i in range(2):\n    A[i] = 0\n    t[i] = 1\nfor i in range(2):\n    A[i] = 1"
    gives(program(ALLOC + text), Erase((0, 0), 1), ALLOC + "for i in range(2):\n    A[i] = 1")
    refused(program(ALLOC + text + "\nB[0] = t[0]"), Erase((0, 0), 1), OVERWRITTEN.format("t"))


def test_what_comes_before_an_inserted_store_may_read_the_element() -> None:
    f = program("A[0] = B[0]\nB[0] = 2")
    accepted(f, Insert((0,), store(buffer(f, "B"), 9, 0), "after", 1))
    refused(f, Insert((0,), store(buffer(f, "B"), 9, 0), "before", 1), READ.format("B"))


def test_each_dead_store_is_followed_from_where_it_stands() -> None:
    """D[1] is read while C[0] is still 1, whatever C[0] has become when the second dead store is looked at."""
    text = "C[0] = 1\nfor i in range(1):\n    A[0] = 5\n    D[1] = 5\nB[0] = D[C[0]]\nC[0] = {}\n" + "{}"
    four = AB + ', C: T.Buffer((1,), "int32"), D: T.Buffer((2,), "int32")'
    overwriting = "for i in range(2):\n    A[i] = 7\n    D[i] = 7"
    refused(program(text.format(0, overwriting), four), Erase((1,), 3), READ.format("D"))
    accepted(program(text.format(0, overwriting).replace("C[0] = 1", "C[0] = 0"), four), Erase((1,), 3))


def test_what_is_stored_in_between_is_seen() -> None:
    text = "C[0] = 0\nA[1] = 5\nC[0] = {}\nB[0] = A[C[0]]\nA[1] = 6"
    three = AB + ', C: T.Buffer((4,), "int32")'
    accepted(program(text.format(2), three), Erase((1,), 3))
    f = program(text.format(1), three)
    refused(f, Erase((1,), 3), READ.format("A"))
    without = program(text.format(1).replace("A[1] = 5\n", ""), three)
    arrays = {"A": [9] * 4, "B": [9] * 4, "C": [9] * 4}
    assert contents(f, "B", **arrays) != contents(without, "B", **arrays)


def test_what_is_assumed_after_a_read_is_not_known_at_it() -> None:
    text = "A[1] = 5\n{}A[1] = 6"
    read, known = "B[0] = A[n]\n", "T.assume(n == 0)\n"
    accepted(program(text.format(known + read), ABN), Erase((0,), 3))
    refused(program(text.format(read + known), ABN), Erase((0,), 3), READ.format("A"))


FLAGS = 'B: T.Buffer((8,), "int32"), D: T.Buffer((1,), "bool")'


def test_a_witness_does_not_see_what_another_iteration_saw() -> None:
    """B[2] would be written in iteration 2 if the flag were up then, or in iteration 1 if it were down; it never is."""
    loops = "    for j in range(T.Cast('int32', x)):\n        B[i] = 0\n    for k in range(T.Cast('int32', {})):\n"
    text = "B[2] = 1\nfor i in range(6):\n    x: T.let[T.bool] = D[0]\n" + loops + "        B[{}] = 0\n    D[0] = not x"
    f = program(text.format("not x", "i + 1"), FLAGS)
    refused(f, Erase((0,), 1), OVERWRITTEN.format("B"))
    accepted(program(text.format("True", "i"), FLAGS), Erase((0,), 1))
    outcome = run(f, {"B": np.zeros(8, np.int32), "D": np.zeros(1, np.bool_)})
    assert outcome.arrays["B"].tolist() == [0, 0, 1, 0, 0, 0, 0, 0]


def test_where_an_opaque_call_may_look_nothing_later_makes_a_store_dead() -> None:
    """Behind the assertion n is not 7, so there was no store; but the call has seen it before."""
    text = 'if n == 7:\n    A[0] = 1\n{}assert n != 7, "seven"\nA[0] = 2'
    refused(program(text.format("T.evaluate(T.call_extern('int32', 'f', A.data))\n"), ABN), Erase((0,), 3),
            OVERWRITTEN.format("A"))  # fmt: skip
    refused(program(text.format(""), ABN), Erase((0,), 2), OVERWRITTEN.format("A"))
    accepted(program(text.format("").replace('assert n != 7, "seven"\n', ""), ABN), Erase((0,), 1))
