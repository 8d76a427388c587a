"""An input of every program whose schedule is proved: that there is one, or that there is none."""

from __future__ import annotations

import numpy as np
import pytest

from tests.acceptance.book import book
from verified_tir import Schedule, parse_func
from verified_tir.elaborate.blocks import expand_blocks
from verified_tir.schedule.exhibit import Exhibit, exhibit
from verified_tir.semantics.interpreter import run

ONE = 'A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")'
SIZED = 'A: T.Buffer(("n",), "int32"), B: T.Buffer((16,), "int32"), n: T.int32'
FLOATS = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")'
CSR = (
    'P: T.Buffer(("n + 1",), "int32"), J: T.Buffer(("z",), "int32"), X: T.Buffer(("n",), "float32"), '
    'B: T.Buffer(("n",), "float32"), n: T.int32, z: T.int32'
)


def text(parameters: str, body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    return f"@T.prim_func\ndef f({parameters}):\n{lines}"


def exhibited(parameters: str, body: str) -> Exhibit:
    """What is exhibited of a program that has a meaning; an input is checked by running the program on it."""
    found = Schedule(text(parameters, body)).exhibit()
    if found.found == "input" and found.complete:
        run(parse_func(text(parameters, body)), {**found.arrays, **found.sizes})
    return found


def overlapping(low: int, extra: str = "") -> str:
    return f"""
{extra}
for i in range(4):
    T.assume(A[12 + i] == 5)
for j in range(6):
    T.assume(A[{low} + j] == 6)
for i in range(16):
    B[i] = A[i]
"""


def test_assumptions_over_parts_of_an_array_that_overlap_leave_no_input() -> None:
    found = exhibited(ONE, overlapping(10))
    assert found.found == "vacuous" and not found.exists
    assert found.contradictory == ("A[12 + i] == 5, for i in range(4)", "A[10 + j] == 6, for j in range(6)")
    assert str(found) == f"no input satisfies what the program assumes: {'; '.join(found.contradictory)}"


def test_over_parts_that_do_not_overlap_they_leave_one() -> None:
    found = exhibited(ONE, overlapping(6))
    assert (found.found, found.complete) == ("input", True)
    assert found.arrays["A"].tolist()[6:] == [6] * 6 + [5] * 4


def test_only_those_that_contradict_each_other_are_named() -> None:
    assert len(exhibited(ONE, overlapping(10, "for i in range(16):\n    T.assume(B[i] > 0)")).contradictory) == 2


SYMBOLIC = """
for i in range(n - 12):
    T.assume(A[12 + i] == 5)
for j in range(n - 10):
    T.assume(A[10 + j] == 6)
B[0] = 1
"""


def test_at_all_sizes() -> None:
    """The parts overlap once there are 13 elements."""
    assert exhibited(SIZED, SYMBOLIC).sizes == {"n": 3}
    none = exhibited(SIZED, f"T.assume(n >= 14)\n{SYMBOLIC}")
    assert none.found == "vacuous"
    assert none.contradictory[0] == "n >= 14" and len(none.contradictory) == 3
    some = exhibited(SIZED, f"T.assume(n >= 12 and n < 14)\n{SYMBOLIC}")
    assert some.sizes == {"n": 12}, "the only size at which they do not overlap"


@pytest.mark.parametrize(
    ("assumed", "holds"),
    [
        ("n >= 100", lambda n: n >= 100),
        ("n % 4 == 0", lambda n: n % 4 == 0),
        ("n >= 90 and n % 7 == 5", lambda n: n >= 90 and n % 7 == 5),
        ("n == 37", lambda n: n == 37),
        ("n == 0", lambda n: n == 0),
    ],
)
def test_sizes(assumed: str, holds: object) -> None:
    found = exhibited(SIZED, f"T.assume({assumed})\nfor i in range(n):\n    A[i] = A[i] + 1")
    assert (found.found, found.complete) == ("input", True)
    assert callable(holds) and holds(found.sizes["n"])


def test_sizes_that_are_related() -> None:
    both = 'A: T.Buffer(("n",), "int32"), B: T.Buffer(("m",), "int32"), n: T.int32, m: T.int32'
    body = "T.assume(n >= 9 and n < 1000 and m == 2 * n)\nfor i in range(n):\n    B[2 * i + 1] = A[i]"
    sizes = exhibited(both, body).sizes
    assert sizes["m"] == 2 * sizes["n"] >= 18


def test_a_size_of_at_least_one_is_preferred() -> None:
    body = "T.assume(n % 64 == 0)\nfor i in range(n):\n    A[i] = 0"
    assert exhibited(SIZED, body).sizes == {"n": 64}


def test_indices_are_in_bounds() -> None:
    body = """
for i in range(n):
    T.assume(0 <= A[i] and A[i] < 16)
for i in range(n):
    B[A[i]] = i
"""
    assert exhibited(SIZED, body).complete


def test_compressed_rows() -> None:
    body = """
T.assume(P[0] == 0 and P[n] == z)
for i in range(n):
    T.assume(P[i] <= P[i + 1])
for k in range(z):
    T.assume(0 <= J[k] and J[k] < n)
for i in range(n):
    B[i] = T.float32(0)
    for k in range(P[i], P[i + 1]):
        T.assume(0 <= k and k < z)
        B[i] = B[i] + X[J[k]]
"""
    found = exhibited(CSR, body)
    assert found.complete and found.sizes["z"] >= 1
    assert found.arrays["P"][-1] == found.sizes["z"]


def test_a_permutation() -> None:
    body = """
for i in range(16):
    T.assume(0 <= A[i] and A[i] < 16)
for i, j in T.grid(16, 16):
    T.assume(i == j or A[i] != A[j])
for i in range(16):
    B[A[i]] = i
"""
    assert sorted(exhibited(ONE, body).arrays["A"].tolist()) == list(range(16))


@pytest.mark.parametrize(
    ("assumed", "found"),
    [
        ("A[i] >= T.float32(-0.5) and A[i] <= T.float32(0.25) and A[i] == A[i]", "input"),
        ("T.isnan(A[i])", "input"),
        ("T.isinf(A[i]) and A[i] < T.float32(0)", "input"),
        ("A[i] < A[i]", "vacuous"),
        ("A[i] == T.float32(3) and T.isnan(A[i])", "vacuous"),
    ],
)
def test_floats(assumed: str, found: str) -> None:
    body = f"for i in range(8):\n    T.assume({assumed})\nfor i in range(8):\n    B[i] = A[i]"
    assert exhibit(parse_func(text(FLOATS, body))).found == found


def test_sorted_floats() -> None:
    body = """
for i in range(7):
    T.assume(A[i] < A[i + 1])
for i in range(8):
    T.assume(T.float32(-1) < A[i] and A[i] < T.float32(1))
for i in range(8):
    B[i] = A[i]
"""
    a = exhibited(FLOATS, body).arrays["A"]
    assert (np.diff(a) > 0).all() and (abs(a) < 1).all()


def test_elements_whose_indices_are_elements() -> None:
    body = """
for i in range(16):
    T.assume(0 <= A[i] and A[i] < 16)
for i in range(16):
    T.assume(B[A[i]] == 7)
B[0] = 1
"""
    assert exhibited(ONE, body).complete
    chosen = body.replace("B[A[i]] == 7", "B[A[i]] == 7 and B[3] == 8 and A[i] == 3")
    assert exhibited(ONE, chosen).found == "vacuous"


def test_branches_and_lets() -> None:
    body = """
for i in range(16):
    if i % 2 == 0:
        T.assume(A[i] == 1)
    else:
        T.assume(A[i] == 2)
for i in range(16):
    with T.LetStmt(A[i]) as x:
        T.assume(x < {most})
B[0] = 1
"""
    assert exhibited(ONE, body.format(most=3)).arrays["A"].tolist() == [1, 2] * 8
    assert exhibited(ONE, body.format(most=2)).found == "vacuous"


def test_padding_that_is_assumed() -> None:
    padded = 'A: T.Buffer((4, 4), "float32"), B: T.Buffer((14,), "float32")'
    body = """
for i, j in T.grid(4, 4):
    T.assume(i * 4 + j < 14 or A[i, j] == T.float32(0))
for i in range(14):
    B[i] = A[i // 4, i % 4]
"""
    assert exhibited(padded, body).arrays["A"].flatten()[14:].tolist() == [0.0, 0.0]


def test_what_is_assumed_of_what_the_program_wrote() -> None:
    """An element of an argument is changed if the assumption names it; the run says whether it helped."""
    body = "for i in range(16):\n    B[i] = A[i] // {divisor}\nfor i in range(16):\n    T.assume(B[i] == {value})"
    assert exhibited(ONE, body.format(divisor=99, value=0)).complete
    none = exhibited(ONE, body.format(divisor=1, value="B[i] + 1"))
    assert none.found == "no input found"
    assert none.why == "this is false: B[i] == B[i] + 1, for i in range(16)"


def test_assertions_count_too() -> None:
    body = "T.Assert(A[0] == 3, 'three')\nfor i in range(16):\n    T.assume(A[i] == {})\nB[0] = A[0]"

    def of(value: int) -> Exhibit:
        lines = text(ONE, body.format(value)).replace("T.Assert(A[0] == 3, 'three')", 'assert A[0] == 3, "three"')
        return exhibit(parse_func(lines))

    assert of(3).complete
    assert of(4).found == "vacuous"


def test_axioms_of_the_schedule_count() -> None:
    """Three different numbers out of two, or of three: of which the kernel does not see that there are none."""
    three = 'A: T.Buffer((3,), "int32"), B: T.Buffer((3,), "int32")'
    body = """
for i in range(3):
    T.assume(0 <= A[i])
for i, j in T.grid(3, 3):
    T.assume(i == j or A[i] != A[j])
for i in range(3):
    B[i] = A[i]
"""
    for numbers, found in ((2, "vacuous"), (3, "input")):
        s = Schedule(text(three, body))
        a = s.buffer("A")
        s.assume(lambda i, a=a, numbers=numbers: a[i] < numbers, "A", axiom=True)
        assert s.exhibit().found == found, numbers


def test_an_opaque_call_is_not_run() -> None:
    body = 'for i in range(16):\n    T.assume(A[i] >= 3)\nT.evaluate(T.call_extern("int32", "work", B.data))'
    found = exhibit(parse_func(text(ONE, body)))
    assert found.found == "input" and not found.complete
    assert "call" in found.why
    later = exhibit(parse_func(text(ONE, f"{body}\nfor i in range(16):\n    T.assume(B[i] >= 3)")))
    assert later.found == "not run" and later.exists
    none = exhibit(parse_func(text(ONE, body.replace("A[i] >= 3", "A[i] >= 3 and A[2] == 1"))))
    assert none.found == "vacuous"


def test_long_programs_are_not_run_to_their_end() -> None:
    wide = 'A: T.Buffer((4096, 4096), "float32"), B: T.Buffer((4096, 4096), "float32")'
    body = "for i, j in T.grid(4096, 4096):\n    B[i, j] = A[i, j]"
    assert (found := exhibit(parse_func(text(wide, body)))).found == "input" and not found.complete
    assert found.why == "its arrays are too large to be run"
    small = exhibit(parse_func(text(ONE, "for k in range(1000000):\n    B[0] = A[0]")))
    assert small.found == "input" and small.why == "its run was stopped after 1000 steps"


@pytest.mark.nightly
def test_many_assumptions_are_run() -> None:
    """More than are put to the solver: the program's beginning is run alone."""
    large = 'A: T.Buffer((5000,), "int32"), B: T.Buffer((5000,), "int32")'
    body = "for i in range(5000):\n    T.assume(A[i] {})\nfor i in range(5000):\n    B[i] = A[i]"
    assert exhibit(parse_func(text(large, body.format(">= 0")))).found == "input"
    assert exhibit(parse_func(text(large, body.format("== i and A[4999] == 4998")))).found == "vacuous"


def test_vectors_strides_and_scalars() -> None:
    vectors = 'A: T.Buffer((4,), "int32x4"), B: T.Buffer((4,), "int32x4")'
    assert exhibit(parse_func(text(vectors, "for i in range(4):\n    B[i] = A[i]"))).complete
    body = """
s = T.int32()
o = T.int32()
A = T.match_buffer(a, (n, m), "int32", strides=(s, 1), elem_offset=o)
B = T.match_buffer(b, (1,), "int32")
T.assume(m == 5)
for i in range(n):
    B[0] = A[i, 4]
"""
    found = exhibit(parse_func(text("a: T.handle, b: T.handle, n: T.int32, m: T.int32", body)))
    assert found.complete and found.sizes["s"] == 5 and found.sizes["o"] == 0
    scalar = 'x: T.float32, B: T.Buffer((1,), "float32")'
    found = exhibit(parse_func(text(scalar, "T.assume(x > T.float32(100))\nB[0] = x")))
    assert found.complete and found.sizes["x"] > 100


def test_a_program_without_assumptions() -> None:
    found = exhibited(SIZED, "for i in range(n):\n    A[i] = A[i] + 1")
    assert found.sizes == {"n": 3} and found.complete
    assert found.arrays["A"].tolist() == [1, 2, 3]


def test_blocks_are_expanded_first() -> None:
    body = 'for i in range(16):\n    with T.block("b"):\n        v = T.axis.spatial(16, i)\n        B[v] = A[v]'
    assert exhibit(expand_blocks(parse_func(text(ONE, body)))).complete


@pytest.mark.nightly
def test_every_program_of_the_book_has_an_input() -> None:
    without = {b.id: str(e) for b in book() if not (e := exhibit(expand_blocks(b.program))).exists}
    assert not without
