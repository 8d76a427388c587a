"""A loop of one store becomes one vector store."""

from __future__ import annotations

import pytest

from tests.kernel.programs import AB, accepted, body_of, buffer, program, refused, variable
from verified_tir.ir.expr import Broadcast, Expr, Load, Ramp, Select
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.obligation import Unproved
from verified_tir.kernel.rules.vectorize import Vectorize
from verified_tir.schedule.rule_builders import unwrapped

EIGHT = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
SYMBOLIC = 'A: T.Buffer((n,), "int32"), B: T.Buffer((n,), "int32"), n: T.int32'
RAMP = Ramp(const(0), const(1), 4)
EARLIER = "no iteration of the loop over i reads what an earlier one wrote: no dependence between"


def ramp(start: Expr | int, stride: int = 1, lanes: int = 4) -> Expr:
    return Ramp(const(start), const(stride), lanes)


def at(f: PrimFunc, name: str, index: Expr, predicate: Expr | None = None) -> Expr:
    return Load(buffer(f, name), (index,), predicate)


def test_a_copy() -> None:
    f = program("for i in T.vectorized(4):\n    B[i] = A[i] + 1", EIGHT)
    new = Vectorize((), (RAMP,), at(f, "A", RAMP) + Broadcast(const(1), 4))
    assert body_of(accepted(f, new)) == "B[0:4] = A[T.Ramp(0, 1, 4)] + T.Broadcast(1, 4)"
    shifted = Vectorize((), (ramp(1),), at(f, "A", RAMP) + Broadcast(const(1), 4))
    refused(f, shifted, "each lane stores to B where its iteration of the loop over i does (Refuted)")
    other = Vectorize((), (RAMP,), at(f, "A", ramp(1)) + Broadcast(const(1), 4))
    refused(f, other, "each lane stores to B what its iteration of the loop over i does (Refuted)")
    refused(f, Vectorize((), (RAMP,), at(f, "A", RAMP) + Broadcast(const(2), 4)), "what its iteration")
    refused(f, Vectorize((), (ramp(0, 1, 8),), at(f, "A", ramp(0, 1, 8))), "the last index needs 4 lanes")
    mask = binary("lt", RAMP, Broadcast(const(3), 4))
    refused(f, Vectorize((), (RAMP,), at(f, "A", RAMP) + Broadcast(const(1), 4), mask), "masked exactly where")


def test_every_lane_counts() -> None:
    """The first one, too, and each index of an element."""
    f = program("for i in range(4):\n    B[i] = A[i]", EIGHT)
    first = binary("eq", RAMP, Broadcast(const(0), 4))
    loaded = at(f, "A", RAMP)
    what, where = (f"each lane stores to B {w} its iteration of the loop over i does" for w in ("what", "where"))
    refused(f, Vectorize((), (RAMP,), Select(first, Broadcast(const(5), 4), loaded)), what)
    refused(f, Vectorize((), (Select(first, Broadcast(const(5), 4), RAMP),), loaded), where)
    rows = program(
        "for i in range(4):\n    B[1, i] = A[i]", EIGHT.replace("(8,)", "(2, 4)").replace("(2, 4)", "(4,)", 1)
    )
    accepted(rows, Vectorize((), (const(1), RAMP), at(rows, "A", RAMP)))
    refused(rows, Vectorize((), (const(0), RAMP), at(rows, "A", RAMP)), where)
    refused(rows, Vectorize((), (const(1), Ramp(const(3), const(-1), 4)), at(rows, "A", RAMP)), where)


def test_a_lane_is_defined_where_its_iteration_is() -> None:
    """Times zero anything is 0, if it is anything."""
    f = program("for i in range(4):\n    B[i] = 0", EIGHT)
    refused(f, Vectorize((), (RAMP,), at(f, "A", RAMP) * Broadcast(const(0), 4)), "what its iteration")
    same = program("for i in range(4):\n    B[i] = A[i] * 0", EIGHT)
    accepted(same, Vectorize((), (RAMP,), at(same, "A", RAMP) * Broadcast(const(0), 4)))


def test_a_loop_of_vector_stores_stays() -> None:
    """It stores three elements, a vector of two lanes two of them."""
    f = program("for i in range(2):\n    B[i:i + 2] = T.Broadcast(0, 2)", EIGHT)
    refused(
        f, Vectorize((), (ramp(0, 1, 2),), Broadcast(const(0), 2)), "the loop over i contains a vector store already"
    )


def test_a_single_element_has_no_lanes() -> None:
    f = program("for i in range(4):\n    B[()] = i", EIGHT.replace("(8,)", "()"))
    refused(f, Vectorize((), (), const(3)), "the last index needs 4 lanes")


def test_reads_of_what_earlier_iterations_wrote() -> None:
    for text, fine in (("A[i + 1]", True), ("A[i]", True), ("A[i - 1]", False)):
        f = program(f"for i in range(1, 5):\n    A[i] = {text}", EIGHT)
        shift = {"A[i + 1]": 2, "A[i]": 1, "A[i - 1]": 0}[text]
        new = Vectorize((), (ramp(1),), at(f, "A", ramp(shift)))
        if fine:
            accepted(f, new)
        else:
            found = refused(f, new, EARLIER)
            assert isinstance(found, Unproved) and found.obligation.place == (0,)


def test_two_lanes_may_store_to_one_element_in_their_order() -> None:
    f = program("for i in range(4):\n    B[i // 2] = A[i]", EIGHT)
    accepted(f, Vectorize((), (binary("floordiv", RAMP, Broadcast(const(2), 4)),), at(f, "A", RAMP)))
    back = Ramp(const(3), const(-1), 4)
    refused(f, Vectorize((), (binary("floordiv", back, Broadcast(const(2), 4)),), at(f, "A", back)), "vectorize")


def test_a_tail_is_masked() -> None:
    f = program("for i in range((n + 3) // 4):\n    for j in T.vectorized(4):\n        if i * 4 + j < n:\n"
                "            B[i * 4 + j] = A[i * 4 + j]", SYMBOLIC)  # fmt: skip
    lanes = Ramp(variable(f, "i") * 4, const(1), 4)
    mask = binary("lt", lanes, Broadcast(variable(f, "n"), 4))
    result = accepted(f, Vectorize((0,), (lanes,), at(f, "A", lanes, mask), mask))
    assert body_of(result).split("\n")[1] == (
        "    B.vstore([T.Ramp(i * 4, 1, 4)], A.vload([T.Ramp(i * 4, 1, 4)], predicate=T.Ramp(i * 4, 1, 4) < "
        "T.Broadcast(n, 4)), predicate=T.Ramp(i * 4, 1, 4) < T.Broadcast(n, 4))"
    )
    refused(f, Vectorize((0,), (lanes,), at(f, "A", lanes), mask), "in bounds")  # lanes past the end would be read
    refused(f, Vectorize((0,), (lanes,), at(f, "A", lanes, mask)), "in bounds")
    less = binary("lt", lanes, Broadcast(variable(f, "n") - 1, 4))
    refused(f, Vectorize((0,), (lanes,), at(f, "A", lanes, mask), less), "masked exactly where")


def test_a_condition_on_loaded_values() -> None:
    f = program("for i in range(4):\n    if A[i] > 0:\n        B[i] = 7 // A[i]", AB)
    mask = binary("gt", at(f, "A", RAMP), Broadcast(const(0), 4))
    seven = Broadcast(const(7), 4)
    unguarded = binary("floordiv", seven, at(f, "A", RAMP))
    refused(f, Vectorize((), (RAMP,), unguarded, mask), "no division by zero (Refuted)")
    guarded = binary("floordiv", seven, Select(mask, at(f, "A", RAMP), Broadcast(const(1), 4)))
    accepted(f, Vectorize((), (RAMP,), guarded, mask))
    aliased = program("for i in range(1, 3):\n    if A[i - 1] > 0:\n        A[i] = 1", AB)
    two = Broadcast(const(1), 2)
    mask = binary("gt", at(aliased, "A", ramp(0, 1, 2)), Broadcast(const(0), 2))
    refused(aliased, Vectorize((), (ramp(1, 1, 2),), two, mask), "reads what an earlier one wrote")


def test_elements_of_several_lanes() -> None:
    f = program("for i in range(4):\n    B[i] = A[i]", EIGHT.replace("int32", "float32x2"))
    accepted(f, Vectorize((), (RAMP,), at(f, "A", RAMP)))
    refused(f, Vectorize((), (RAMP,), at(f, "A", ramp(1))), "what its iteration")


def test_overflow_in_a_masked_lane() -> None:
    f = program("for i in range(4):\n    if n < 3:\n        B[i] = A[0] + (n + i)", AB + ", n: T.int32")
    n = variable(f, "n")
    mask = Broadcast(binary("lt", n, 3), 4)
    value = Broadcast(at(f, "A", const(0)), 4) + Ramp(n, const(1), 4)
    refused(f, Vectorize((), (RAMP,), value, mask), "no overflow (Refuted)")  # n may be the largest int32


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("for i in range(B[0]):\n    A[i] = 0", "not a loop of a constant extent"),
        ("for i in range(1):\n    A[i] = 0", "not a loop of a constant extent"),
        ("for i in range(4):\n    A[i] = 0\n    B[i] = 0", "is not one store"),
        ("for i in range(4):\n    if i < 2:\n        A[i] = 0\n    else:\n        A[i] = 1", "is not one store"),
        ("for i in range(4):\n    for j in range(2):\n        A[i] = 0", "is not one store"),
        ('for i in range(4):\n    A[i] = T.call_extern("int32", "rand")', "an opaque call stays in its place"),
    ],
)
def test_what_is_no_vector_store(text: str, why: str) -> None:
    f = program(text, AB)
    refused(f, Vectorize((), (RAMP,), Broadcast(const(0), 4)), why)


def test_a_label_is_taken_off_first() -> None:
    f = program('for i in range(4):\n    with T.block("fill"):\n        A[i] = 0', AB)
    lanes = Vectorize((), (RAMP,), Broadcast(const(0), 4))
    refused(f, lanes, "is not one store")
    found = accepted(f, unwrapped((0,)), lanes)
    assert body_of(found) == "A[0:4] = T.Broadcast(0, 4)"
