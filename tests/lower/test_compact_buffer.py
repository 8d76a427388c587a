"""CompactBuffer: what is touched, where it lives, through which views."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.lower.lower_support import gives, lowered
from tests.nightly import few
from tests.schedule.schedule_strategies import programs
from verified_tir import script
from verified_tir.lower.compact_buffer import CompactBuffer
from verified_tir.lower.simplify import Simplify


def program(body: str, params: str = 'A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")') -> str:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return f"@T.prim_func\ndef f({params}):\n{lines}\n"


TILES = """
t = T.alloc_buffer((100,), "float32")
for i in range(25):
    for j in range(4):
        t[i * 4 + j] = A[i * 4 + j]
    for j in range(4):
        B[i * 4 + j] = t[i * 4 + {}]"""


def test_a_buffer_lives_in_the_loop_and_keeps_what_is_touched() -> None:
    gives(program(TILES.format("3 - j")), CompactBuffer() >> Simplify(), """
for i in range(25):
    t = T.alloc_buffer((4,), "float32")
    for j in range(4):
        t[j] = A[i * 4 + j]
    for j in range(4):
        B[i * 4 + j] = t[3 - j]""")  # fmt: skip


def test_contents_that_live_on_stay_where_they_are() -> None:
    apart = "for i in range(25):\n    for j in range(4):\n        B"
    carried = TILES.format("3 - j").replace("    for j in range(4):\n        B", apart)
    theorem, _ = lowered(program(carried), CompactBuffer())
    assert 't = T.alloc_buffer((100,), "float32")' in script(theorem.after)


def test_halos_through_a_view() -> None:
    params = 'A: T.Buffer((16, 16), "float32"), B: T.Buffer((12, 12), "float32")'
    text = """
t = T.alloc_buffer((16, 16), "float32")
v = T.decl_buffer((256,), "float32", data=t.data)
for io, jo in T.grid(3, 3):
    for i, j in T.grid(6, 6):
        v[(io * 4 + i) * 16 + jo * 4 + j] = A[io * 4 + i, jo * 4 + j]
    for i, j in T.grid(4, 4):
        B[io * 4 + i, jo * 4 + j] = t[io * 4 + i, jo * 4 + j] + t[io * 4 + i + 2, jo * 4 + j + 2]"""
    gives(program(text, params), CompactBuffer() >> Simplify(), """
for io, jo in T.grid(3, 3):
    t = T.alloc_buffer((6, 6), "float32")
    for i, j in T.grid(6, 6):
        t[i, j] = A[io * 4 + i, jo * 4 + j]
    for i, j in T.grid(4, 4):
        B[io * 4 + i, jo * 4 + j] = t[i, j] + t[i + 2, j + 2]""")  # fmt: skip


def test_vector_accesses() -> None:
    params = 'A: T.Buffer((n, 16), "float32"), B: T.Buffer((n, 16), "float32"), n: T.int32'
    text = """
t = T.alloc_buffer((n, 16), "float32")
for i in range(n):
    t[i, 4:12] = A[i, 0:8]
    B[i, 3:7] = t[i, 5:9]"""
    gives(program(text, params), CompactBuffer(), """
for i in range(n):
    t = T.alloc_buffer((1, 8), "float32")
    t[i - i, 0:8] = A[i, T.Ramp(0, 1, 8)]
    B[i, 3:7] = t[i - i, T.Ramp(1, 1, 4)]""")  # fmt: skip


def test_views_of_another_type_keep_the_size() -> None:
    text = """
t = T.alloc_buffer((8,), "float32")
v = T.decl_buffer((8,), "int32", data=t.data)
v[3] = 1
B[0] = t[3]"""
    _, (record,) = lowered(program(text), CompactBuffer())
    (note,) = record.notes
    assert note.startswith("t keeps its size, since it has other views")


GUARDED = """
t = T.alloc_buffer((20,), "float32")
for i in range(16):
    t[i] = A[i]
for i in range(20):
    B[i] = T.if_then_else({}, t[i - 2], T.float32(0.0))"""


@pytest.mark.parametrize(("condition", "size"), [("2 <= i and i < 18", 16), ("2 <= i and i < 19", 17)])
def test_conditions_bound_what_is_touched(condition: str, size: int) -> None:
    params = 'A: T.Buffer((16,), "float32"), B: T.Buffer((20,), "float32")'
    text = GUARDED.format(condition)
    gives(program(text, params), CompactBuffer(), text.replace("(20,)", f"({size},)"))


@pytest.mark.parametrize(
    ("scope", "size", "index"),
    [("shared", 8, "i0 * 8 + i1 - 8 * i0"), ("local", 1, "i0 * 8 + i1 - (8 * i0 + i1)")],
)
def test_threads_that_share_a_block(scope: str, size: int, index: str) -> None:
    text = f"""
for i0 in T.thread_binding(2, thread="blockIdx.x"):
    for i1 in T.thread_binding(8, thread="threadIdx.x"):
        t = T.alloc_buffer(({{}},), "float32", scope="{scope}")
        t[{{index}}] = A[i0 * 8 + i1]
        B[i0 * 8 + i1] = t[{{index}}]"""
    params = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")'
    gives(program(text.format(16, index="i0 * 8 + i1"), params), CompactBuffer(), text.format(size, index=index))


def test_a_quotient_that_a_condition_decides() -> None:
    params = 'A: T.Buffer((20,), "float32"), B: T.Buffer((20,), "float32")'
    text = """
for i in range(4):
    t = T.alloc_buffer((4, 5), "float32")
    for j in range(5):
        t[(i * 5 + j) // 5, j] = A[i * 5 + j]
    for j, k in T.grid(3, 2):
        if j * 2 + k < 5:
            B[i * 5 + (j * 2 + k)] = t[(i * 5 + j * 2 + k) // 5, j * 2 + k]"""
    _, (record,) = lowered(program(text, params), CompactBuffer())
    assert "t = T.alloc_buffer((1, 5)" in script(record.after)


@pytest.mark.nightly
@given(programs())
@settings(max_examples=few(8, 25), deadline=None, suppress_health_check=list(HealthCheck))
def test_random_programs(text: str) -> None:
    lowered(text, CompactBuffer())
