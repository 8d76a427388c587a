"""FlattenBuffer: aliases of parameters, flat local blocks, separators, int64 where int32 does not do."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.lower.lower_support import body_of, gives, lowered
from tests.nightly import few
from tests.schedule.schedule_strategies import programs
from verified_tir import Schedule, script
from verified_tir.lower.flatten_buffer import FlattenBuffer
from verified_tir.lower.passes import PassRecord

HEAD = "@T.prim_func\ndef f({}):\n"
AB = 'A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")'


def program(body: str, params: str = AB) -> str:
    return HEAD.format(params) + "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))


def test_parameters_get_an_alias_and_local_blocks_are_flat() -> None:
    notes = gives(
        program("""
t = T.alloc_buffer((16, 8), "float32")
for i, j in T.grid(16, 8):
    t[i, j] = A[i, j] + 1.0
for i, j in T.grid(16, 8):
    B[i, j] = t[i, 7 - j]"""),
        FlattenBuffer(),
        """
A_1 = T.decl_buffer((128,), "float32", data=A.data)
B_1 = T.decl_buffer((128,), "float32", data=B.data)
t = T.alloc_buffer((128,), "float32")
for i, j in T.grid(16, 8):
    t[8 * i + j] = A_1[8 * i + j] + T.float32(1.0)
for i, j in T.grid(16, 8):
    B_1[8 * i + j] = t[8 * i - j + 7]
""",
    )
    assert notes == []


def test_flattening_twice_changes_nothing() -> None:
    text = program(
        "for i in range(4):\n    B[i, 1, 0] = A[i, 2] + C[()]\n    C[()] = 0.0",
        'A: T.Buffer((16, 8), "float32"), B: T.Buffer((4, 8, 2), "float32", axis_separators=[2]), '
        'C: T.Buffer((), "float32")',
    )
    once, _ = lowered(text, FlattenBuffer())
    twice = FlattenBuffer().run(once)
    assert twice.after is once.after
    assert 'T.decl_buffer((32, 2), "float32", data=B.data, axis_separators=[1])' in script(once.after)
    assert "B_1[8 * i + 1, 0] = A_1[8 * i + 2] + C_1[0]" in script(once.after)


def test_symbolic_extents() -> None:
    symbolic = 'A: T.Buffer((n, 8, m), "float32"), B: T.Buffer((n, 8, m), "float32"), n: T.int32, m: T.int32'
    notes = gives(
        program("for i, j, k in T.grid(n, 8, m):\n    B[i, j, k] = A[i, j, k]", symbolic),
        FlattenBuffer(),
        """
A_1 = T.decl_buffer((n * m * 8,), "float32", data=A.data)
B_1 = T.decl_buffer((n * m * 8,), "float32", data=B.data)
for i, j, k in T.grid(n, 8, m):
    B_1[8 * m * i + m * j + k] = A_1[8 * m * i + m * j + k]
""",
    )
    assert notes == []


def test_more_elements_than_int32_counts() -> None:
    huge = 'A: T.Buffer((65536, 65536), "float32"), B: T.Buffer((1, 1), "float32"), n: T.int32'
    s = Schedule(program("if n >= 0 and n < 65536:\n    B[0, 0] = A[n, n]", huge))
    records: list[PassRecord] = []
    theorem = FlattenBuffer().run(s, after=records.append)  # too large to be run here
    assert body_of(theorem) == (
        'A_1 = T.decl_buffer((T.int64(4294967296),), "float32", data=A.data)\n'
        'B_1 = T.decl_buffer((1,), "float32", data=B.data)\n'
        "if n >= 0 and n < 65536:\n"
        '    B_1[0] = A_1[T.Cast("int64", n) * T.int64(65536) + T.Cast("int64", n)]'
    )
    assert records[0].notes == ("the indices of A are computed in int64: they may not fit int32",)


def test_views_of_a_block() -> None:
    gives(
        program("""
t = T.alloc_buffer((4, 4), "float32")
v = T.decl_buffer((2, 8), "float32", data=t.data)
for i in range(16):
    t[i // 4, i % 4] = A[0, i // 2]
w = T.decl_buffer((2, 2), "float32x4", data=t.data)
B[0, 0] = v[1, 7]
B[1, 0:4] = w[1, 0]"""),
        FlattenBuffer(),
        """
A_1 = T.decl_buffer((128,), "float32", data=A.data)
B_1 = T.decl_buffer((128,), "float32", data=B.data)
t = T.alloc_buffer((16,), "float32")
v = T.decl_buffer((16,), "float32", data=t.data)
for i in range(16):
    t[i] = A_1[i // 2]
w = T.decl_buffer((4,), "float32x4", data=t.data)
B_1[0] = v[15]
B_1[8:12] = w[2]
""",
    )


@pytest.mark.parametrize(
    ("params", "body", "words"),
    [
        ('A: T.Buffer((4, 4), "float32", strides=[8, 1]), B: T.Buffer((1, 1), "float32")', "B[0, 0] = A[1, 2]",
         "A has strides of its own and keeps its shape"),
    ],
)  # fmt: skip
def test_what_keeps_its_shape(params: str, body: str, words: str) -> None:
    _, (record,) = lowered(program(body, params), FlattenBuffer())
    assert record.notes == (words,)


@pytest.mark.nightly
def test_padding_that_may_not_be_touched() -> None:
    params = 'A: T.Buffer(("n",), "int32"), B: T.Buffer((n,), "int32"), n: T.int32'
    text = program("for i in range(n):\n    B[i] = A[i]", params)
    s = Schedule(text)
    s.transform_layout("A", lambda i: [i // 4, i % 4])
    theorem, (record,) = lowered(s, FlattenBuffer())
    assert record.notes == () and "A_1[i]" in script(theorem.after)
    s = Schedule(text)
    s.transform_layout("A", lambda i: [i % 4, i // 4])  # where an inner extent is symbolic it is not understood
    theorem, (record,) = lowered(s, FlattenBuffer())
    assert [n.partition(":")[0] for n in record.notes] == ["A keeps its shape"]
    assert "A[i % 4, i // 4]" in script(theorem.after)


@pytest.mark.nightly
@given(programs())
@settings(max_examples=few(8, 25), deadline=None, suppress_health_check=list(HealthCheck))
def test_random_programs(text: str) -> None:
    theorem, _ = lowered(text, FlattenBuffer())
    assert FlattenBuffer().run(theorem).after is theorem.after


SYMBOLIC = """
{}for i, j, l in T.grid(n, m, k):
    B[{}] = A[{}]"""


def test_assumptions_bound_symbolic_extents() -> None:
    """A product of three extents may be too large for int32; views behind the assumption need not be."""
    shape = "(n, m, k)"
    params = f'A: T.Buffer({shape}, "float32"), B: T.Buffer({shape}, "float32"), n: T.int32, m: T.int32, k: T.int32'
    assume = "T.assume(n <= 64 and m <= 64 and k <= 64)\n"
    flat, declared = "m * k * i + k * j + l", '{0}_1 = T.decl_buffer((n * m * k,), "float32", data={0}.data)\n'
    after = assume + declared.format("A") + declared.format("B")
    wanted = SYMBOLIC.format(after, flat, flat).replace("B[", "B_1[").replace("A[", "A_1[")
    assert gives(program(SYMBOLIC.format(assume, "i, j, l", "i, j, l"), params), FlattenBuffer(), wanted) == []
    near = SYMBOLIC.format("T.assume(n <= 64)\n", "i, j, l", "i, j, l")
    notes = gives(program(near, params), FlattenBuffer(), near)
    assert notes and all("keeps its shape: not proved: " in note for note in notes)


def test_several_statements_behind_assumptions() -> None:
    params = 'A: T.Buffer((n, m, k), "float32"), n: T.int32, m: T.int32, k: T.int32'
    text = "T.assume(n == 4 and m == 4 and k == 4)\nA[0, 1, 2] = 1.0\nA[1, 1, 1] = 2.0"
    theorem, _ = lowered(program(text, params), FlattenBuffer())
    assert "A_1[" in body_of(theorem) and "sblock" not in body_of(theorem)


def test_local_views_with_strides() -> None:
    text = """
t = T.alloc_buffer((4, 9), "float32")
v = T.decl_buffer((4, 8), "float32", data=t.data, strides=[9, 1])
for i, j in T.grid(4, 8):
    v[i, j] = A[i, j]
for i, j in T.grid(4, 8):
    B[i, j] = v[i, j]"""
    params = 'A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")'
    theorem, _ = lowered(program(text, params), FlattenBuffer())
    assert 'v = T.decl_buffer((35,), "float32", data=t.data)' in body_of(theorem)
    assert "v[9 * i + j] = A_1[8 * i + j]" in body_of(theorem)
