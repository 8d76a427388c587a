"""What stores leave in an element: cases in which one condition of ``reaching_definition`` decides alone."""

from __future__ import annotations

import pytest

from tests.kernel.programs import PROVER, accepted, buffer, load, program, refused, why
from tests.kernel.test_facts import known
from verified_tir.elaborate.claims import verify_program
from verified_tir.ir.expr import Select
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel import reaching_definitions
from verified_tir.kernel.begin import begin
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.logic.formula import Term, integer
from verified_tir.logic.solver import Solver
from verified_tir.schedule.edits import rewritten

LAST = "if {}:\n    B[0] = 1"
SIX = "for i in range(4):\n" + "".join(f"    A[i] = {k}\n" for k in range(1, 7))
BELOW = "if {}:\n    for i in range(4):\n        A[i] = 1\n        A[i + n] = 2\n    if A[2] == 1:\n        B[0] = 1"
NONZERO = LAST.format("A[3] == A[3] and X[3] != 0")
SUMS = """
for i in range(4):
    {}
    for j in range(2):
        A[i + j] = 1
    {}
if A[1] == 2:
    B[0] = 1
"""
LET = """
X[4] = {}
for i in range(7):
    y: T.let[T.int32] = 5 // (X[i] - X[i + 1])
    A[i] = 2
if A[3] == 2 and X[3] != 7:
    B[0] = 1
"""
GUARDED = "for i in range(8):\n    if n > 3:\n        A[i] = 5 // X[i]\n" + NONZERO
VIEWED = """
V = T.decl_buffer((4, 2), "int32", data=B.data)
for i in range(8):
    A[i] = V[X[i], 0]
if A[3] == A[3] and X[3] < {}:
    B[0] = 1
"""
STORED_AS = """
V = T.decl_buffer({}, data=A.data)
A[2] = 5
for i in range(4):
    {}
    {}
if A[2] == 5:
    B[0] = 1
"""
LABEL = "for i in range(8):\n    with T.block('label'):\n        A[i] = 1\n        A[i] = 2\n"
EARLIER = (
    "for i in range(4):\n    if n > 0:\n        A[i] = X[i]\n    X[i + n] = 0\nif {} or A[3] == X[3]:\n    B[0] = 1"
)
COUNT_DOWN = "while X[i] > 0:\n        X[i] = X[i] - 1\n        {} = 8\n"
LOOKED_UP = """
A[2] = 5
X[3] = {}
for i in range(4):
    if X[i + 1] == 0:
        A[i] = A[i] + 1
if A[2] == 5:
    B[0] = 1
"""

CASES = [
    # what is known where the question stands tells which of two stores comes last
    (BELOW.format("n > 0"), True),
    (BELOW.format("n >= 0"), False),
    # as many stores as are compared with each other
    (SIX + LAST.format("A[2] == 6"), True),
    (SIX + LAST.format("A[2] == 5"), False),
    # a store that may not have run, or not to this element
    ("for i in range(4):\n    if X[i] == 0:\n        A[i] = 6\n" + LAST.format("A[2] == 6"), False),
    ("for i in range(4):\n    A[2 * i] = 6\n" + LAST.format("A[X[0] % 8] == 6"), False),
    ("for i in range(4):\n    A[2 * i] = 6\nif X[0] % 2 == 0:\n    if A[X[0] % 8] == 6:\n        B[0] = 1", True),
    ("for i in range(n):\n    A[i % 8] = 6\n" + LAST.format("A[2] == 6"), False),
    # iterations of a while loop have no number
    ("A[0] = 0\nwhile X[0] > A[0]:\n    A[1] = A[0]\n    A[0] = A[0] + 1\n" + LAST.format("A[1] == 0"), False),
    ("while X[0] > A[0]:\n    for i in range(4):\n        A[i] = 1\n    A[2] = 3\n" + LAST.format("A[2] == 3"), False),
    # what is stored elsewhere in the statement is known, as far as such a loop stores nothing later
    ("for i in range(4):\n    " + COUNT_DOWN.format("B[i]") + "    A[i] = 7\n" + LAST.format("A[2] == 7"), True),
    ("for i in range(4):\n    A[i] = 7\n    " + COUNT_DOWN.format("A[i + 4]") + LAST.format("A[2] == 7"), True),
    ("for i in range(4):\n    A[i] = 7\n    " + COUNT_DOWN.format("A[i]") + LAST.format("A[2] == 7"), False),
    ("for i in range(4):\n    " + COUNT_DOWN.format("A[i]") + LAST.format("A[2] == 7"), False),
    ("for i in range(4):\n    " + COUNT_DOWN.format("A[i]") + "    if X[5] > 2:\n        A[i] = 7\n"
     + LAST.format("A[2] == 7"), False),
    ("A[2] = 7\nwhile X[0] > 0:\n    X[0] = X[0] - 1\n    if X[1] > 0:\n        A[2] = 8\n"
     + LAST.format("A[2] == 7"), False),
    # the places of bytes are counted in another unit
    (STORED_AS.format("(4, 2), 'int32'", "V[i, 1] = 1", "pass"), True),
    (STORED_AS.format("(32,), 'int8'", "V[i + 8] = T.int8(1)", "pass"), False),
    (STORED_AS.format("(32,), 'int8'", "V[i + 8] = T.int8(1)", "A[7] = i"), False),
    # what ran was safe: its indices were in bounds, its divisors not zero
    ("for i in range(8):\n    A[i] = B[X[i]]\n" + LAST.format("A[3] == A[3] and X[3] < 8"), True),
    ("for i in range(8):\n    A[i] = B[X[i]]\n" + LAST.format("A[3] == A[3] and X[3] < 7"), False),
    ("for i in range(8):\n    A[i] = 5 // X[i]\n" + NONZERO, True),
    ("for i in range(7):\n    A[i] = 5 // X[i + 1]\n" + NONZERO, False),
    ("for i in range(8):\n    if i > 3:\n        A[i] = 5 // X[i]\n" + NONZERO, False),
    ("if n > 3:\n    " + GUARDED.replace("\n", "\n    "), True),
    ("if n > 2:\n    " + GUARDED.replace("\n", "\n    "), False),
    (VIEWED.format(4), True),
    (VIEWED.format(3), False),
    ("for i in range(8):\n    A[i] = 1 << X[i]\n" + LAST.format("A[3] == A[3] and X[3] >= 0"), True),
    ("for i in range(8):\n    A[i] = 1 * X[i]\n" + LAST.format("A[3] == A[3] and X[3] >= 0"), False),
    # what a loop that decides nothing about the element stored last is not what it stored first
    ("for i, k in T.grid(8, 3):\n    A[i] = k\n" + LAST.format("A[5] == 0"), False),
    ("for i, k in T.grid(8, 3):\n    A[i] = X[k]\n" + LAST.format("A[5] == X[0]"), False),
    # stores that touch the element come before, others may come later
    (SUMS.format("pass", "A[i] = 2"), True),
    (SUMS.format("A[i] = 2", "pass"), False),
    # what is read is stored to earlier, by what is known where either runs
    (EARLIER.format("n <= 0"), True),
    (EARLIER.format("n < 0"), False),
    ("for i in range(8):\n    A[i] = X[i]\n    if i != 3:\n        X[i] = 0\n" + LAST.format("A[3] == X[3]"), True),
    ("for i in range(8):\n    A[i] = X[i]\n    if i != 4:\n        X[i] = 0\n" + LAST.format("A[3] == X[3]"), False),
    # what a condition loaded is looked up
    (LOOKED_UP.format(7), True),
    (LOOKED_UP.format(0), False),
    ("X[4] = 5\nfor i in range(7):\n    A[i] = X[i + 1]\n" + LAST.format("A[3] == 5"), True),
    ("X[4] = 5\nfor i in range(7):\n    A[i] = X[i + 1]\n" + LAST.format("A[2] == 5"), False),
    (LET.format(7), True),
    (LET.format(8), False),
    ("for i in range(8):\n    X[i] = B[i]\n    A[i] = X[i] * 0\n" + LAST.format("A[3] == 0"), True),
    ("for i in range(8):\n    X[i] = B[i]\n    A[i] = X[i] * 0\n" + LAST.format("A[3] == 1"), False),
    # a label is not a block whose parts nobody knows
    (LABEL + LAST.format("A[3] == 2"), True),
    (LABEL + LAST.format("A[3] == 1"), False),
    # a loop of which some iteration is looked at: those to come may never be reached
    ("for i in range(8):\n    A[i] = 5 // X[i]\n    if X[7] != 0:\n        B[0] = 1", False),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), CASES, ids=[str(k) for k in range(len(CASES))])
def test_what_stores_leave(body: str, expected: bool) -> None:
    assert known(body) is expected, body


PARAMS = (
    'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), X: T.Buffer((8,), "int32"), F: T.Buffer((8,), "float32")'
)


@pytest.mark.parametrize("stored", ["A[2] = {}", "for i in range(4):\n    A[i] = {}"])
def test_of_what_is_undefined_the_value_is_not_known(stored: str) -> None:
    """The logic has some integer for 1e30, which is not an int32: taken for A[2], everything would follow."""
    text = "F[0] = T.float32(1e30)\n" + stored.format("T.Cast('int32', F[0])") + "\nB[0] = T.Select(X[0] > 0, A[2], 1)"
    f = program(text, PARAMS)
    a, x = buffer(f, "A"), buffer(f, "X")
    other = Select(binary("gt", load(x, 0), const(0)), load(a, 2), const(2))
    refused(f, rewritten((2,), (0,), other), "equals")
    same = Select(binary("le", load(x, 0), const(0)), const(1), load(a, 2))
    accepted(f, rewritten((2,), (0,), same))


FILLED = """
for i in range(4):
    with T.block("a"):
        v = T.axis.spatial(4, i)
        {0}
with T.block("b"):
    w = T.axis.spatial(4, A[0])
    B[w] = 0
"""


def test_one_store_of_a_block_that_is_not_expanded() -> None:
    """With one store there is no order that matters; with two there may be."""
    for text, fine in (("A[v] = 3", True), ("A[v] = 4", False), ("A[v] = X[v]", False)):
        found = verify_program(program(FILLED.format(text), PARAMS), PROVER)
        assert isinstance(found, tuple) is fine, text
        if isinstance(found, (NoMatch, Unproved)):
            assert "the binding of w lies in its domain" in why(found)


def test_what_a_float_function_gave_is_no_load() -> None:
    text = "for i in range(8):\n    A[i] = T.exp(B[i])\nif T.exp(B[{}]) < T.float32(1):\n    if A[3] < T.float32(1):\n"
    assert known(text.format(3) + "        B[0] = A[3]", "float32")
    assert not known(text.format(4) + "        B[0] = A[3]", "float32")


def test_a_guess_that_says_nothing_of_the_iteration_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that is guessed is believed: a witness in terms of some iteration's variable is no witness."""

    def guess(_: object, __: object, loops: list[Term], ___: object) -> tuple[dict[Term, Term], set[Term]]:
        i, j = loops
        return {i: j, j: integer(2)}, {i}

    f = program("for i, j in T.grid(2, 4):\n    A[j] = 5", PARAMS)
    where = begin(f, Entry())
    where.execute(f.body)
    element = where.load_from(where.memory, buffer(f, "A"), (integer(2),), None)
    for believed in (True, False):
        if not believed:
            monkeypatch.setattr(reaching_definitions, "solve_address", guess)
        here = Prover(Solver()).known(where, ())
        run = here.run(element)
        assert run is not None
        assert (run.witnesses[0] is not None) is believed
        assert bool(here.reaching_definition(element, 0)) is believed
        assert bool(here.frame(element)) is believed


@pytest.mark.parametrize("loop", ["for i in range(4)", "while n > 0"])
def test_what_a_statement_has_stored_so_far_is_not_known(loop: str) -> None:
    """At its end it is; but at an arbitrary moment no store of it may have run."""
    f = program(f"{loop}:\n    A[1] = 7", PARAMS + ", n: T.int32")
    for ended in (True, False):
        where = begin(f, Entry())
        where.ran(f.body, after={} if ended else None)
        element = where.load_from(where.memory, buffer(f, "A"), (integer(1),), None)
        here = Prover(Solver()).known(where, ())
        assert bool(here.reaching_definition(element, 0)) is ended
        assert bool(here.frame(element)) is ended
