"""One account of what was written when: stores that are dead because several later ones, together, overwrite them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernel.programs import accepted, buffer, program, refused
from verified_tir.ir.stmt import Store
from verified_tir.ir.sugar import const
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.semantics.interpreter import refines, run

ABN = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), n: T.int32'
READ = "is dead: no later read sees it"
LEFT = "is dead: it is certainly overwritten later"


@pytest.mark.parametrize(
    ("later", "overwritten_by", "why"),
    [
        ("B[0] = 2", 1, ""),
        ("B[1] = 2", 1, LEFT),
        ("B[0] = B[0]", 1, READ),
        ("B[0] = 2\nB[1] = B[0]", 2, ""),  # what is read was written since
        ("B[1] = B[0]\nB[0] = 2", 2, READ),
        ("if A[0] > 0:\n    B[0] = 2", 1, LEFT),
        ("if n > 0:\n    B[0] = 2\nelse:\n    B[0] = 3", 1, ""),  # the one or the other
        ("if n > 0:\n    B[0] = 2\nif n <= 0:\n    B[0] = 3", 2, ""),
        ("if n > 0:\n    B[0] = 2\nif n < 0:\n    B[0] = 3", 2, LEFT),
        ("if A[0] > 0:\n    B[0] = 2\nA[0] = 0 - A[0]\nif not A[0] > 0:\n    B[0] = 3", 3, LEFT),
        ("for i in range(4):\n    B[i] = 2", 1, ""),
        ("for i in range(n):\n    B[0] = 2", 1, LEFT),  # no iteration, perhaps
        ("for i in range(n + 1):\n    B[0] = 2", 1, LEFT),
        ("for i in range(1):\n    B[0] = 2", 1, ""),
        ("for i in range(4):\n    B[i] = 2\n    A[i] = B[0]", 1, ""),  # iteration 0 wrote it first
        ("for i in range(4):\n    A[i] = B[0]\n    B[i] = 2", 1, READ),
        ("for i in range(4):\n    B[3 - i] = 2\n    A[i] = B[0]", 1, READ),
        ("B[A[0]] = 2", 1, LEFT),
        ("A[0] = 0\nB[A[0]] = 2", 2, ""),
        ("assert A[0] > 0\nB[0] = 2", 2, LEFT),
        ("while A[0] > 0:\n    A[0] = A[0] - 1\nB[0] = 2", 2, LEFT),
        ("B[0] = T.undef('int32')", 1, ""),  # undef is written, too
        ("B[0] = 2\nB[0] = B[0]", 2, ""),  # what stores the element again does not read it
        ("if n > 0:\n    B[0] = 2\nelse:\n    A[0] = B[0]\nB[0] = 3", 2, READ),  # the other arm did not run
        ("for i in range(1, 3):\n    A[i] = B[i - 1]\n    B[i] = 2\nB[0] = 3", 2, READ),  # there is no iteration 0
        ("for i in range(1, 3):\n    B[i - 1] = 2\n    A[i] = B[0]", 1, ""),  # iteration 1 is the first
        ("for i in range(1, 3):\n    A[i] = B[i - 1]\n    B[i - 1] = 2", 1, READ),  # it stores after it has read
    ],
)
def test_what_a_store_leaves_is_overwritten(later: str, overwritten_by: int, why: str) -> None:
    f = program("B[0] = 1\n" + later, ABN)
    rule = Erase((0,), overwritten_by)
    if why:
        refused(f, rule, why)
        return
    after = accepted(f, rule)
    for first in (-1, 0, 1, 2):
        given = {"A": np.array([first, 3, 1, 2], np.int32), "B": np.array([7, 8, 9, 6], np.int32), "n": 0}
        assert not refines(run(f, given), run(after, given))


@pytest.mark.parametrize(
    ("stored", "later", "fine"),
    [
        ("B[0] = T.undef('int32')", "A[0] = B[0]", True),
        ("B[0] = T.undef('int32')\n    B[1] = 5", "A[0] = B[0]\nB[1] = A[1]", True),
        ("B[0] = T.undef('int32')\n    B[1] = 5", "A[0] = B[1]\nB[1] = A[1]", False),
        ("B[0] = 5\n    B[0] = T.undef('int32')", "A[0] = B[0]", False),  # the first one is looked at alone
        ("B[n] = T.undef('int32')\n    B[1] = 5", "A[0] = B[n]\nB[1] = A[1]", False),  # n may be 1
        ("for i in range(2):\n        B[i] = T.Select(i == 0, T.undef('int32'), 5)", "A[0] = B[0]\nB[1] = 1", True),
        ("for i in range(2):\n        B[i] = T.Select(i == 0, T.undef('int32'), 5)", "B[0] = B[1]\nB[1] = 1", False),
    ],
)
def test_a_store_of_undef_need_not_be_dead(stored: str, later: str, fine: bool) -> None:
    f = program(f'with T.sblock("s"):\n    {stored}\n{later}', ABN)
    rule = Erase((0,), len(later.split("\n")))
    if not fine:
        refused(f, rule, "the store to B is dead")
        return
    after = accepted(f, rule)
    for n in range(2):
        given = {"A": np.array([1, 3, 1, 2], np.int32), "B": np.array([7, 8, 9, 6], np.int32), "n": n}
        assert not refines(run(f, given), run(after, given))


def test_what_stops_the_run_keeps_what_was_stored_before() -> None:
    """The caller sees B[0] == 1 where the assertion fails."""
    f = program("B[0] = 1\nassert A[0] > 0\nB[0] = 2", ABN)
    refused(f, Erase((0,), 2), LEFT)
    local = program('t = T.alloc_buffer((1,), "int32")\nt[0] = 1\nassert A[0] > 0\nt[0] = 2\nB[0] = t[0]', ABN)
    accepted(local, Erase((0, 0), dead_at_end=True))  # nobody sees t


def test_a_view_of_the_block_reads_it_too() -> None:
    text = 'v = T.decl_buffer((2, 2), "int32", data=B.data)\nB[1] = 1\nA[0] = v[0, {}]\nB[1] = 2'
    accepted(program(text.format(0), ABN), Erase((0, 0), 2))
    refused(program(text.format(1), ABN), Erase((0, 0), 2), READ)


def test_a_store_of_one_part_does_not_overwrite_another() -> None:
    text = 'v = T.decl_buffer((8,), "int16", data=B.data)\nB[0] = 1\nv[0] = T.int16(2)'
    refused(program(text, ABN), Erase((0, 0), 1), LEFT)


def test_a_masked_store_overwrites_the_lanes_of_its_mask() -> None:
    text = "B[1] = 1\nB.vstore([T.Ramp(0, 1, 4)], T.Broadcast(2, 4), predicate=T.Ramp(0, 1, 4) < T.Broadcast({}, 4))"
    accepted(program(text.format(2), ABN), Erase((0,), 1))
    refused(program(text.format(1), ABN), Erase((0,), 1), LEFT)


def test_what_is_inserted_is_dead_for_the_same_reasons() -> None:
    f = program("if n > 0:\n    B[0] = 2\nelse:\n    B[0] = 3\nA[1] = B[0]", ABN)
    added = Store(buffer(f, "B"), const(1), (const(0),))
    accepted(f, Insert((0,), added, "before", 1))
    accepted(f, Insert((0,), added, "before", 2))  # what A[1] reads was written since
    refused(f, Insert((0,), Store(buffer(f, "B"), const(1), (const(1),)), "before", 2), "certainly overwritten later")
