"""The program itself: missing meaning is refused, and so is every false claim of a block; the neighbours pass."""

from __future__ import annotations

import pytest

from verified_tir import Refuted, Schedule, ScheduleError

HEADER = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), X: T.Buffer((8,), "int32"){more}):
"""


def program(body: str, more: str = "") -> str:
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    return HEADER.format(more=more) + lines + "\n"


def refusal(body: str, more: str = "") -> Refuted:
    with pytest.raises(ScheduleError) as caught:
        Schedule(program(body, more))
    assert isinstance(caught.value, Refuted), str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("bad", "claim", "good"),
    [
        ("for i in range(9):\n    B[i] = A[0]", "B[i]: in bounds", "for i in range(8):\n    B[i] = A[0]"),
        ("for i in range(8):\n    B[i] = A[i + 1]", "in bounds", "for i in range(7):\n    B[i] = A[i + 1]"),
        ("for i in range(8):\n    B[i] = A[i - 1]", "in bounds", "for i in range(1, 8):\n    B[i] = A[i - 1]"),
        (
            "for i in range(8):\n    if i < 7 or A[i + 1] > T.float32(0):\n        B[i] = A[i]",
            "in bounds",
            "for i in range(8):\n    if i < 7 and A[i + 1] > T.float32(0):\n        B[i] = A[i]",
        ),
        ("B[X[0]] = A[0]", "in bounds", "T.assume(0 <= X[0] and X[0] < 8)\nB[X[0]] = A[0]"),
        (
            "X[0] = 1\nX[1] = 1\nwhile X[X[0]] > 0:\n    X[0] = 8",
            "X[X[0]]: in bounds",
            "X[0] = 1\nX[1] = 1\nwhile X[X[0] % 8] > 0:\n    X[0] = 8",
        ),
        (
            "T.assume(0 <= X[0] and X[0] < 8)\nX[0] = X[1]\nB[X[0]] = A[0]",
            "in bounds",
            "T.assume(0 <= X[0] and X[0] < 8)\nX[1] = X[0]\nB[X[1]] = A[0]",
        ),
        ("B[n // 3] = A[0]", "in bounds", "T.assume(0 <= n and n < 24)\nB[n // 3] = A[0]"),
        ("X[0] = 8\nX[X[0]] = 2", "in bounds", "X[0] = 1\nX[X[0]] = 2"),
        (
            "X[0] = 8\nif X[X[0]] > 0:\n    T.evaluate(T.call_extern('int32', 'g'))",
            "X[X[0]]: in bounds",
            "X[0] = 1\nif X[X[0]] > 0:\n    T.evaluate(T.call_extern('int32', 'g'))",
        ),
        (
            "assert 8 // n > 0 and n > 0, 'no'",
            "no division by zero",
            "assert n > 0 and 8 // n > 0, 'no'",
        ),
        (  # the mask spares elements, but not the evaluation of their indices
            "T.assume(0 <= n)\nX.vstore([T.Ramp(8 // n, 1, 4)], T.Broadcast(1, 4), predicate=T.Broadcast(n > 3, 4))",
            "no division by zero",
            "T.assume(0 < n)\nX.vstore([T.Ramp(8 // n, 1, 4)], T.Broadcast(1, 4), predicate=T.Broadcast(n > 3, 4))",
        ),
        ("X[0] = n + 1", "no overflow", "T.assume(n < 100)\nX[0] = n + 1"),
        ("X[0] = 8 // n", "no division by zero", "if n > 0:\n    X[0] = 8 // n"),
        ("X[0] = 8 % X[1]", "no division by zero", "if X[1] > 0:\n    X[0] = 8 % X[1]"),
        (
            "t = T.alloc_buffer((1,), 'float32')\nif t[0] > T.float32(0):\n    B[0] = A[0]",
            "a branch on undef",
            "t = T.alloc_buffer((1,), 'float32')\nt[0] = A[1]\nif t[0] > T.float32(0):\n    B[0] = A[0]",
        ),
        (
            "t = T.alloc_buffer((1,), 'int32')\nB[T.max(0, T.min(t[0], 7))] = A[0]",
            "an index that is undef",
            "t = T.alloc_buffer((1,), 'int32')\nt[0] = X[0]\nB[T.max(0, T.min(t[0], 7))] = A[0]",
        ),
        (
            "for i in T.parallel(8):\n    B[0] = A[i]",
            "write and write the same element of B",
            "for i in T.parallel(8):\n    B[i] = A[i]",
        ),
        (
            "for i in T.vectorized(7):\n    B[i] = B[i + 1]",
            "the same element of B",
            "for i in T.vectorized(4):\n    B[i] = B[i + 4]",
        ),
        (
            "for j in range(2):\n    for i in T.parallel(8):\n        B[j] = A[i]",
            "write and write the same element of B",
            "for j in range(2):\n    for i in T.parallel(4):\n        B[j + i * 2] = A[i]",
        ),
    ],
)
def test_a_program_without_meaning_is_refused_and_its_neighbour_accepted(bad: str, claim: str, good: str) -> None:
    found = refusal(bad, ", n: T.int32")
    assert claim in found.reason
    assert "<-- here" in str(found)
    assert found.confirmed, str(found)
    Schedule(program(good, ", n: T.int32"))


BLOCK = """
@T.prim_func
def f(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 4):
        with T.block("sum"):
            vi = T.axis.{first}(8, {i})
            vk = T.axis.{second}(4, {k})
            {declare}
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[{read}, vk]
"""


def block(
    first: str = "spatial", second: str = "reduce", i: str = "i", k: str = "k", declare: str = "pass", read: str = "vi"
) -> str:
    return BLOCK.format(first=first, second=second, i=i, k=k, declare=declare, read=read)


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        (block(second="spatial"), "differ only in reduction axes"),
        (block(i="i + 1"), "the binding of vi lies in its domain"),
        (block(k="k // 2"), "differ only in reduction axes"),  # each term is added twice
        (block(declare="T.reads(A[vi, 0:3])"), "reads only what it declares of A"),
        (block(declare="T.reads(A[0:7, vk])"), "reads only what it declares of A"),
        (block(declare="T.reads(B[vi])"), "reads only what it declares of A"),
        (block(declare="T.reads(A[vi, vk])\n            T.writes(B[0])"), "writes only what it declares of B"),
    ],
)
def test_what_a_block_declares_is_checked(text: str, claim: str) -> None:
    with pytest.raises(Refuted) as caught:
        Schedule(text)
    assert claim in caught.value.reason


@pytest.mark.parametrize(
    "text",
    [
        block(),
        block(declare="T.reads(A[vi, vk])\n            T.writes(B[vi])"),
        block(declare="T.reads(A[0:8, 0:4])\n            T.writes(B[0:8])"),
        block(i="7 - i", k="3 - k"),
        block(first="reduce"),
        block(i="i // 2"),  # each sum is computed twice, as ``compute_at`` leaves it
    ],
)
def test_true_claims_are_accepted(text: str) -> None:
    Schedule(text)


def test_a_recurrence_declared_spatial_is_refused() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((9,), "float32")):
    for i in range(8):
        with T.block("scan"):
            vi = T.axis.spatial(8, i)
            A[vi + 1] = A[vi] + A[vi + 1]
"""
    with pytest.raises(Refuted, match="differ only in reduction axes"):
        Schedule(text)
    Schedule(text.replace("spatial", "opaque"))


def test_a_buffer_of_each_iteration_conflicts_with_no_other() -> None:
    Schedule(
        """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        t = T.alloc_buffer((1,), "float32")
        for j in range(1):
            with T.block("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                t[0] = A[vi]
        with T.block("back"):
            vi = T.axis.spatial(8, i)
            B[vi] = t[0]
"""
    )


def test_unreachable_code_needs_no_meaning() -> None:
    Schedule(program("for i in range(8):\n    if i > 8:\n        B[i] = A[i]"))


def test_symbolic_extents_may_be_zero() -> None:
    text = """
@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "float32")
    {body}
"""
    with pytest.raises(Refuted) as caught:
        Schedule(text.format(body="A[0] = T.float32(0)"))
    assert caught.value.counterexample["n"] == 0
    Schedule(text.format(body="for i in range(n):\n        A[0] = T.float32(0)"))
    Schedule(text.format(body="if n > 0:\n        A[n - 1] = T.float32(0)"))


@pytest.mark.parametrize(
    ("params", "bad", "claim", "good"),
    [
        (  # what lies before a parameter with an offset is nobody's
            'A: T.Buffer((4,), "int32", elem_offset=2)',
            'v = T.decl_buffer((6,), "int32", data=A.data)\nC[0] = v[1]',
            "accessible",
            'v = T.decl_buffer((6,), "int32", data=A.data)\nC[0] = v[2]',
        ),
        (
            'A: T.Buffer((4,), "int32", elem_offset=2)',
            'v = T.decl_buffer((7,), "int32", data=A.data)\nC[0] = v[6]',
            "accessible",
            'v = T.decl_buffer((7,), "int32", data=A.data)\nC[0] = v[5]',
        ),
        (  # an allocation begins at its first byte, whatever its offset is
            'A: T.Buffer((4,), "int32")',
            't = T.alloc_buffer((4,), "int32", elem_offset=-2)\nt[1] = 1',
            "accessible",
            't = T.alloc_buffer((4,), "int32", elem_offset=2)\nt[1] = 1',
        ),
        (
            'A: T.Buffer((4,), "int32")',
            't = T.alloc_buffer((4,), "int32", strides=(-1,))\nt[0] = 1',
            "accessible",
            't = T.alloc_buffer((4,), "int32", strides=(2,))\nt[3] = 1',
        ),
        (  # a NaN has no bits
            'A: T.Buffer((4,), "float32")',
            'v = T.decl_buffer((4,), "int32", data=A.data)\nif v[0] > 0:\n    C[0] = 1',
            "depends on nothing undefined",
            'v = T.decl_buffer((4,), "float32", data=A.data)\nif v[0] > T.float32(0):\n    C[0] = 1',
        ),
        (  # and not every byte is a bool
            'A: T.Buffer((4,), "int8")',
            'v = T.decl_buffer((4,), "bool", data=A.data)\nif v[0]:\n    C[0] = 1',
            "depends on nothing undefined",
            'v = T.decl_buffer((4,), "uint8", data=A.data)\nif v[0] > T.uint8(0):\n    C[0] = 1',
        ),
    ],
)
def test_views_of_parameters_and_allocations(params: str, bad: str, claim: str, good: str) -> None:
    header = f'@T.prim_func\ndef f({params}, C: T.Buffer((4,), "int32")):\n'

    def text(body: str) -> str:
        return header + "\n".join(f"    {line}" for line in body.split("\n")) + "\n"

    with pytest.raises(Refuted) as caught:
        Schedule(text(bad))
    assert claim in str(caught.value)
    assert caught.value.confirmed
    Schedule(text(good))
