"""What a statement reads of a block that it writes, where no store of it touches what is read."""

from __future__ import annotations

import pytest

from tests.kernel.programs import PROVER, buffer, load, program, variable, why
from tests.kernel.test_facts import known
from verified_tir.ir.expr import Expr
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import places
from verified_tir.ir.stmt import Store
from verified_tir.kernel.begin import begin
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.theorem import Refines, apply, reflexive
from verified_tir.logic.formula import integer, subterms
from verified_tir.logic.solver import Solver
from verified_tir.schedule.edits import rewritten

PARAMS = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32"), n: T.int32'
LAST = "\nC[0] = {}"


def replaced(first: str, old: str, new: str) -> Refines | NoMatch | Unproved:
    """After ``first``, the value ``old`` that is stored to ``C[0]`` replaced by ``new``."""
    f = program(first + LAST.format(old), PARAMS)
    *_, (path, _) = places(f.body, lambda x: isinstance(x, Store))
    return apply(rewritten(path, (0,), value(f, new)), reflexive(f), PROVER)


def value(f: PrimFunc, text: str) -> Expr:
    """``A[2]``, or ``B[1]``, of this program; or ``n``."""
    return variable(f, text) if "[" not in text else load(buffer(f, text[0]), int(text[2]))


@pytest.mark.parametrize(
    ("first", "old", "new"),
    [
        ("for i in range(4):\n    A[i + 4] = A[i]", "A[6]", "A[2]"),
        ("for i in range(4):\n    A[i + 4] = A[3 - i]", "A[6]", "A[1]"),
        ("for i in range(4):\n    A[2 * i + 1] = A[2 * i]", "A[5]", "A[4]"),
        ("for i in range(4):\n    A[i + 4] = B[i]\n    B[i + 4] = A[i]", "B[6]", "A[2]"),
        ("for i, j in T.grid(2, 2):\n    A[i * 2 + j + 4] = A[j * 2 + i]", "A[5]", "A[2]"),
        ("for i in range(4):\n    x: T.let[T.int32] = A[i]\n    A[i + 4] = x", "A[6]", "A[2]"),
        ("for i in range(4):\n    if i != 3:\n        A[i + 4] = A[i]", "A[6]", "A[2]"),
        # another iteration writes what is read, and came before
        ("for i in range(4):\n    A[i + 1] = A[i]", "A[3]", "A[2]"),
        ("for i in range(7):\n    A[i + 1] = A[i]", "A[2]", "A[0]"),
        ("for i in range(4):\n    A[i + 4] = A[7 - i]", "A[6]", "A[5]"),
        ("for i in range(8):\n    A[7 - i] = A[i]", "A[6]", "A[1]"),
    ],
)
def test_it_is_known(first: str, old: str, new: str) -> None:
    found = replaced(first, old, new)
    assert isinstance(found, Refines), why(found)


@pytest.mark.parametrize(
    ("first", "old", "new"),
    [
        # another iteration writes what is read, and comes later
        ("for i in range(4):\n    A[i] = A[i + 1]", "A[1]", "A[2]"),
        ("for i in range(7):\n    A[6 - i] = A[7 - i]\n    A[7 - i] = B[i]", "A[2]", "A[3]"),
        # so does another statement, before or after
        ("for i in range(4):\n    A[0] = i\n    A[i + 4] = A[i]", "A[4]", "A[0]"),
        ("for i in range(4):\n    A[i + 4] = A[i]\n    A[i] = B[i]", "A[6]", "A[2]"),
        ("for i in range(4):\n    A[i + 4] = A[i]\n    A[n % 8] = 1", "A[6]", "A[2]"),
        ("for i in range(4):\n    A[i + 4] = A[i]\n    if B[0] > 3:\n        A[2] = 1", "A[6]", "A[2]"),
        # or one through another view
        (
            "V = T.decl_buffer((8,), 'int32', data=A.data)\nfor i in range(4):\n    A[i + 4] = A[i]\n    V[2] = 1",
            "A[6]",
            "A[2]",
        ),
        # what is read hangs on what is written
        ("for i in range(4):\n    A[i + 4] = A[A[i + 4] % 4]", "A[6]", "A[2]"),
        # it was not stored at all
        ("for i in range(4):\n    if i != 2:\n        A[i + 4] = A[i]", "A[6]", "A[2]"),
        ("for i in range(n):\n    A[i % 4 + 4] = A[i % 4]", "A[6]", "A[2]"),
    ],
)
def test_it_is_not_known(first: str, old: str, new: str) -> None:
    found = replaced(first, old, new)
    assert isinstance(found, Unproved), found
    assert found.obligation.name == "equal"


STORED = "\nif A[2] > 0:\n    if A[6] == 1:\n        B[0] = 1"
ASKED = "\nif {}:\n    B[0] = 1"
ON_THE_WAY = "for i in range(4):\n    A[i + 4] = A[i]\n    if i > 0:\n        if {}:\n            B[0] = 1"
BYTES = "V = T.decl_buffer((32,), 'int8', data=B.data)\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # conditions and addresses that read what the statement writes elsewhere
        ("for i in range(4):\n    if A[i] > 0:\n        A[i + 4] = 1" + STORED, True),
        ("for i in range(4):\n    B[i] = 3\n    if A[i] > 0:\n        A[i + 4] = 1" + STORED, True),
        ("for i in range(4):\n    assert X[i] > 0\n    if A[i] > 0:\n        A[i + 4] = 1" + STORED, True),
        ("for i in range(8):\n    if A[i] > 0:\n        A[7 - i] = 1" + STORED.replace("A[6]", "A[5]"), False),
        ("for i in range(4):\n    A[4 + A[0] % 4] = 7" + ASKED.format("A[4 + A[0] % 4] == 7"), True),
        ("for i in range(4):\n    A[4 + A[5] % 4] = 7" + ASKED.format("A[4 + A[5] % 4] == 7"), False),
        # as it is known where the question stands
        ("if n == 4:\n    for i in range(4):\n        if A[i] > 0:\n            A[i + n] = 1"
         + STORED.replace("\n", "\n    "), True),
        ("if n > 2:\n    for i in range(4):\n        if A[i] > 0:\n            A[i + n] = 1"
         + STORED.replace("\n", "\n    "), False),
        # on the way, when the statement has not ended
        (ON_THE_WAY.format("A[4] == A[0]"), True),
        (ON_THE_WAY.format("A[4] == A[1]"), False),
        # one store is elsewhere, and another one is not
        ("X[0] = A[2]\nfor i in range(4):\n    A[2] = 7\n    A[i + 4] = A[i]" + ASKED.format("A[6] == X[0]"), False),
        ("X[0] = A[2]\nfor i in range(4):\n    A[1] = 7\n    A[i + 4] = A[2]" + ASKED.format("A[6] == X[0]"), True),
        # a store that never runs is not a load
        ("for i in range(4):\n    x: T.let[T.int32] = A[0]\n    if i > 9:\n        A[3] = x\n    A[i + 4] = x"
         + ASKED.format("A[6] == A[0]"), True),
        ("for i in range(4):\n    x: T.let[T.int32] = A[0]\n    if i > 9:\n        A[3] = x\n    A[i + 4] = x"
         + ASKED.format("A[6] == A[3]"), False),
        # bytes of what is read are stored, whose places are counted in another unit
        (BYTES + "X[0] = B[2]\nfor i in range(4):\n    B[7] = 0\n    V[i + 8] = T.int8(1)\n    A[i + 4] = B[i]"
         + ASKED.format("A[6] == X[0]"), False),
        # what is undefined in a buffer of the iteration's own
        ("for i in range(4):\n    t = T.alloc_buffer((2,), 'int32')\n    t[0] = 1\n    A[i] = t[1]\n    A[i] = 2"
         + ASKED.format("A[3] == 2"), True),
    ],
)  # fmt: skip
def test_where_it_is_stored_may_hang_on_what_is_elsewhere(body: str, *, expected: bool) -> None:
    assert known(body) is expected, body


FLOAT = "for i in range(4):\n    {}\n    A[i + 4] = A[i]\n    if i > 0:\n        if {}:\n            B[0] = A[0]"
WHERE = "for i in range(1, 4):\n    A[{} - i] = T.float32(1)\n    X[T.if_then_else(A[0] > T.float32(0), 4, 5)] = 7\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # whether the value is defined, though what it is is known
        (FLOAT.format("X[i + 4] = T.if_then_else(A[i] > T.float32(0), 1, 1)", "X[4] == 1"), True),
        (FLOAT.format("X[i + 4] = T.if_then_else(A[i] > T.float32(0), 1, 2)", "X[4] == 1"), False),
        # the address
        (WHERE.format(4) + "if A[0] > T.float32(0):\n    if X[4] == 7:\n        B[0] = A[0]", True),
        (WHERE.format(3) + "if A[0] > T.float32(0):\n    if X[4] == 7:\n        B[0] = A[0]", False),
    ],
)
def test_floats_whose_range_nobody_mentions(body: str, *, expected: bool) -> None:
    assert known(body, "float32") is expected, body


@pytest.mark.parametrize(("distance", "expected"), [(4, True), (1, False)])
def test_what_was_written_in_an_earlier_iteration_has_a_value(distance: int, *, expected: bool) -> None:
    """Where it counts that something was stored, and not whether that was defined."""
    text = f"for j in range(4):\n    C[j] = A[j]\n    A[j + {distance}] = T.float32(1)\n    B[0] = C[0]"
    f = program(text, PARAMS.replace("int32", "float32"))
    where, c = begin(f, Entry()), buffer(f, "C")
    where.shadow = c.data
    where.enter(f.body, 0)
    element = where.load_from(where.memory, c, (integer(2),), None)
    left = Prover(Solver()).known(where, ()).reaching_definition(element, 0)
    assert (element.value in subterms(*left)) is expected
