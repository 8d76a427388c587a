"""InjectDoubleBuffer and InjectVirtualThread."""

from __future__ import annotations

import pytest

from tests.lower.lower_support import gives, lowered, refused
from tests.lower.test_removals import program
from verified_tir.lower.inject_double_buffer import InjectDoubleBuffer
from verified_tir.lower.inject_virtual_thread import InjectVirtualThread

SQUARE = 'A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")'
DOUBLED = """
t = T.alloc_buffer((2, 8), "float32")
for i in range(4):
    for j in range(8):
        t[i % 2, j] = A[i, j]
    for j in range(8):
        B[i, j] = t[i % 2, 7 - j]
"""
INSIDE = """
for i in range(4):
    t = T.alloc_buffer((8,), "float32"{0})
    {1}for j in range(8):
        t[j] = A[i, j]
    for j in range(8):
        B[i, j] = t[7 - j]
"""
ATTRIBUTE = """
for i in range(4):
    t = T.alloc_buffer((8,), "float32")
    with T.attr(t.data, "double_buffer_scope", 1):
        for j in range(8):
            t[j] = A[i, j]
        for j in range(8):
            B[i, j] = t[7 - j]
"""
OUTSIDE = """
t = T.alloc_buffer((8,), "float32", annotations={"double_buffer_scope": 1})
for i in range(4):
    for j in range(8):
        t[j] = A[i, j]
    for j in range(8):
        B[i, j] = t[7 - j]
"""


@pytest.mark.parametrize(
    "text", [INSIDE.format(', annotations={"double_buffer_scope": 1}', ""), ATTRIBUTE, OUTSIDE]
)  # fmt: skip
def test_two_halves(text: str) -> None:
    gives(program(text, SQUARE), InjectDoubleBuffer(), DOUBLED)
    _, records = lowered(program(text, SQUARE), InjectDoubleBuffer() >> InjectDoubleBuffer())
    assert records[1].rules == 0


def test_unmarked_buffers_stay() -> None:
    _, (record,) = lowered(program(INSIDE.format("", ""), SQUARE), InjectDoubleBuffer())
    assert record.rules == 0


def test_a_buffer_that_carries_over_is_refused() -> None:
    text = """
t = T.alloc_buffer((1,), "float32", annotations={"double_buffer_scope": 1})
for i in range(4):
    if i == 0:
        t[0] = A[0, 0]
    B[i, 0] = t[0]
"""
    refused(program(text, SQUARE), InjectDoubleBuffer(), "the read of t sees a write of its own iteration")


def test_no_loop_around() -> None:
    text = """
t = T.alloc_buffer((1,), "float32", annotations={"double_buffer_scope": 1})
t[0] = A[0, 0]
B[0, 0] = t[0]
"""
    refused(program(text, SQUARE), InjectDoubleBuffer(), "t is marked double_buffer_scope, but is used by several")
    refused(program('with T.attr(A.data, "double_buffer_scope", 1):\n    B[0, 0] = A[0, 0]', SQUARE),
            InjectDoubleBuffer(), "A is marked double_buffer_scope, but it is not a local buffer")  # fmt: skip


# -- virtual threads ---------------------------------------------------------------------------------------------------

PAIR = 'A: T.Buffer((2, 8), "float32"), B: T.Buffer((2, 8), "float32")'
VIRTUAL = """
for v in T.thread_binding(2, thread="vthread.x"):
    t = T.alloc_buffer((8,), "float32")
    for j in range(8):
        t[j] = A[v, j]
    for j in range(8):
        with T.block("b"):
            B[v, j] = t[7 - j]
"""


def test_virtual_threads_take_turns() -> None:
    gives(program(VIRTUAL, PAIR), InjectVirtualThread(), """
t = T.alloc_buffer((2, 8), "float32")
for j in range(8):
    for v in T.unroll(2):
        t[v, j] = A[v, j]
for j in range(8):
    for v in T.unroll(2):
        B[v, j] = t[v, 7 - j]
""")  # fmt: skip
    theorem, _ = lowered(program(VIRTUAL, PAIR), InjectVirtualThread(unroll=False))
    assert theorem.after is not None
    _, records = lowered(program(VIRTUAL, PAIR), InjectVirtualThread() >> InjectVirtualThread())
    assert records[1].rules == 0


def test_virtual_threads_within_each_other() -> None:
    text = """
for v in T.thread_binding(2, thread="vthread.x"):
    for w in T.thread_binding(2, thread="vthread.y"):
        for j in range(2):
            if v > 0:
                B[v, w * 4 + j] = A[v, w]
"""
    gives(program(text, PAIR), InjectVirtualThread(unroll=False), """
for j, v in T.grid(2, 2):
    if v > 0:
        for w in range(2):
            B[v, w * 4 + j] = A[v, w]
""")  # fmt: skip


def test_where_a_step_is_not_allowed_the_loop_stays_around() -> None:
    text = """
for v in T.thread_binding(2, thread="vthread.x"):
    for j in range(v + 1):
        B[v, j] = A[v, j]
"""
    gives(program(text, PAIR), InjectVirtualThread(), """
for v in T.unroll(2):
    for j in range(v + 1):
        B[v, j] = A[v, j]
""")  # fmt: skip


def test_real_threads_stay() -> None:
    text = 'for v in T.thread_binding(2, thread="threadIdx.x"):\n    B[v, 0] = A[v, 0]'
    gives(program(text, PAIR), InjectVirtualThread(), text)


@pytest.mark.parametrize(("n", "head", "test"), [("4", "", "i < 3"), ("n", "if 0 < n:\n    ", "i + 1 < n")])
def test_the_next_half_is_filled_ahead(n: str, head: str, test: str) -> None:
    params = f'A: T.Buffer(({n}, 8), "float32"), B: T.Buffer(({n}, 8), "float32")' + (
        ", n: T.int32" if n == "n" else ""
    )
    text = OUTSIDE.replace("range(4)", f"range({n})")
    pad = "    " if head else ""
    gives(program(text, params), InjectDoubleBuffer(prefetch=True), f"""
t = T.alloc_buffer((2, 8), "float32")
{head}for j in range(8):
{pad}    t[0, j] = A[0, j]
for i in range({n}):
    if {test}:
        for j in range(8):
            t[(i + 1) % 2, j] = A[i + 1, j]
    for j in range(8):
        B[i, j] = t[i % 2, 7 - j]
""")  # fmt: skip


def test_what_may_not_be_filled_ahead() -> None:
    carried = OUTSIDE.replace("range(4)", "range(3)").replace("B[i, j]", "A[i + 1, j]")
    refused(program(carried, SQUARE), InjectDoubleBuffer(prefetch=True), "no dependence between the write and the read")
    alone = """
for i in range(4):
    t = T.alloc_buffer((1,), "float32", annotations={"double_buffer_scope": 1})
    t[0] = A[i, 0]
"""
    refused(program(alone, SQUARE), InjectDoubleBuffer(prefetch=True), "nothing in the loop over i comes after")
