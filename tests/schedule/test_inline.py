"""compute_inline: what the readers become, and what is refused."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import accepted, not_applicable, refused
from verified_tir import NotApplicable, Schedule, ScheduleError

HEAD = """
@T.prim_func
def f(A: T.Buffer((16,), "{t}"), C: T.Buffer((16,), "{t}"), D: T.Buffer((16,), "{t}"), P: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "{t}")
"""


def program(body: str, dtype: str = "float32") -> str:
    """A program over four parameters and the local buffer B."""
    lines = body.strip("\n").split("\n")
    return HEAD.replace("{t}", dtype) + "".join(f"    {line}\n" for line in lines)


def inline(s: Schedule) -> None:
    s.compute_inline("B")


def inlined(body: str, dtype: str = "float32") -> str:
    """The statements after B was inlined into all that reads it."""
    return accepted(program(body, dtype), inline).script().split("):\n", 1)[1] + "\n"


DOUBLED = """
for i in range(16):
    with T.block("B"):
        B[i] = A[i] * 2.0
"""


def test_reads_through_different_indices() -> None:
    text = inlined(DOUBLED + "for i in range(16):\n    C[i] = B[15 - i] + B[i]")
    assert (
        text
        == """\
    for i in range(16):
        C[i] = A[15 - i] * T.float32(2.0) + A[i] * T.float32(2.0)
"""
    )


def test_a_reduction_and_a_second_consumer() -> None:
    text = inlined(
        DOUBLED + "C[0] = 0.0\nfor i in range(16):\n    C[0] = C[0] + B[i]\nfor i in range(16):\n    D[i] = B[i]"
    )
    assert (
        text
        == """\
    C[0] = T.float32(0.0)
    for i in range(16):
        C[0] = C[0] + A[i] * T.float32(2.0)
    for i in range(16):
        D[i] = A[i] * T.float32(2.0)
"""
    )


def test_the_inverse_of_a_tiling() -> None:
    text = inlined("""
for i, j in T.grid(4, 4):
    with T.block("B"):
        B[i * 4 + j] = A[j * 4 + i]
for i in range(16):
    C[i] = B[i]
""")
    assert text == "    for i in range(16):\n        C[i] = A[i % 4 * 4 + i // 4]\n"


def test_an_index_map_that_only_a_nest_in_another_order_inverts() -> None:
    text = inlined("""
for i in range(16):
    with T.block("B"):
        B[i // 2 * 2 + 1 - i % 2] = A[i]
for i in range(16):
    C[i] = B[i]
""")
    assert text == "    for i in range(16):\n        C[i] = A[2 * (i // 2) - i % 2 + 1]\n"


PADDED = """
for i in range(16):
    with T.block("pad"):
        if i < 2 or i >= 14:
            B[i] = 0.0
for i in range(12):
    with T.block("B"):
        B[i + 2] = A[i]
for i in range(14):
    C[i] = B[i] + B[i + 2]
"""


def test_a_padding_stage_and_an_interior() -> None:
    expected = "C[i] = T.if_then_else(i >= 2, A[i - 2], T.float32(0.0)) + T.if_then_else(i < 12, A[i], T.float32(0.0))"
    assert expected in inlined(PADDED)
    assert expected in inlined(PADDED.replace("        if i < 2 or i >= 14:\n            B", "        B"))


def test_two_arms_that_data_decides() -> None:
    text = inlined("""
for i in range(16):
    with T.block("B"):
        if A[i] > 0.0:
            B[i] = A[i]
        else:
            B[i] = D[i]
for i in range(16):
    C[i] = B[i]
""")
    assert "C[i] = T.if_then_else(A[i] > T.float32(0.0), A[i], D[i])" in text


def test_a_consumer_that_overwrites_the_input() -> None:
    assert "A[i] = A[i] * T.float32(2.0)" in inlined(DOUBLED + "for i in range(16):\n    A[i] = B[i]")
    refused(program(DOUBLED + "for i in range(15):\n    A[i + 1] = B[i + 1] + B[i]"), inline, "equals B[i]")


def test_stages_in_one_loop() -> None:
    text = inlined("""
t = T.alloc_buffer((16,), "float32")
for i in range(16):
    t[i] = A[i]
    with T.block("B"):
        B[i] = t[i] * 2.0
for i in range(16):
    C[i] = B[i] + t[i]
""")
    assert "C[i] = t[i] * T.float32(2.0) + t[i]" in text


def test_symbolic_strides() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((n, m), "float32"), C: T.Buffer((n, m), "float32"), n: T.int32, m: T.int32):
    B = T.alloc_buffer((n * m,), "float32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            B[i * m + j] = A[i, j]
    for i, j in T.grid(n, m):
        C[i, j] = B[i * m + j]
"""
    assert "C[i, j] = A[i, j]" in accepted(text, inline).script()


def test_lets_on_both_sides() -> None:
    text = inlined("""
for i in range(16):
    with T.block("B"):
        x: T.float32 = A[i] * 2.0
        B[i] = x * x
for i in range(16):
    z: T.float32 = B[i]
    C[i] = z
""")
    assert "z: T.let[T.float32] = A[i] * T.float32(2.0) * (A[i] * T.float32(2.0))" in text


def test_integers_from_memory_become_index_arithmetic() -> None:
    text = inlined(
        """
for i in range(16):
    with T.block("B"):
        B[i] = i + 1
for i in range(16):
    for j in range(B[i]):
        C[i] = A[j % 16] + B[i] * 2
""",
        "int32",
    )
    assert (
        text
        == """\
    for i in range(16):
        for j in range(i + 1):
            C[i] = A[j % 16] + (i + 1) * 2
"""
    )


def test_a_wrapping_product_does_not_become_index_arithmetic_that_overflows() -> None:
    refused(
        program(
            """
for i in range(16):
    with T.block("B"):
        B[i] = i * 100000000
for i in range(16):
    C[i] = B[i] * 2
""",
            "int32",
        ),
        inline,
        "no overflow",
        confirmed=True,
    )


def test_past_a_write_to_what_the_value_reads() -> None:
    between = "for i in range({low}, 16):\n    A[i] = 0.0\nfor i in range(8):\n    C[i] = B[i]"
    refused(program(DOUBLED + between.format(low=7)), inline, "A[i] * T.float32(2.0) equals B[i]")
    assert "C[i] = A[i] * T.float32(2.0)" in inlined(DOUBLED + between.format(low=8))


def test_a_reduction_is_not_inlined() -> None:
    body = """
for i in range(16):
    B[i] = 0.0
    for k in range(16):
        with T.block("B"):
            B[i] = B[i] + A[k]
for i in range(16):
    C[i] = B[i]
"""
    refused(program(body), inline, "T.float32(0.0) equals B[i]")


def test_an_opaque_call_is_not_inlined() -> None:
    body = DOUBLED.replace("A[i] * 2.0", 'T.call_extern("float32", "g", A[i])') + "for i in range(16):\n    C[i] = B[i]"
    with pytest.raises(NotApplicable, match="the value calls call_extern, which is opaque"):
        inline(Schedule(program(body)))


def test_a_parameter_is_not_inlined() -> None:
    body = 'for i in range(16):\n    with T.block("B"):\n        D[i] = A[i]\n    C[i] = D[i]'
    not_applicable(program(body), inline, "D, which is seen when the function has ended")


def test_undef_is_passed_on() -> None:
    text = inlined(DOUBLED.replace("A[i] * 2.0", 'T.if_then_else(i < 3, T.undef("float32"), A[i])')
                   + "for i in range(16):\n    C[i] = B[i]")  # fmt: skip
    assert 'C[i] = T.if_then_else(i < 3, T.undef(dtype="float32"), A[i])' in text


def test_vectors() -> None:
    scalar_producer = DOUBLED + "for i in range(4):\n    C[i * 4:i * 4 + 4] = B[i * 4:i * 4 + 4]"
    expected = "C[i * 4:i * 4 + 4] = A[T.Ramp(i * 4, 1, 4)] * T.Broadcast(T.float32(2.0), 4)"
    assert expected in inlined(scalar_producer)
    vector_producer = """
for i in range(4):
    with T.block("B"):
        B[i * 4:i * 4 + 4] = A[i * 4:i * 4 + 4] * T.Broadcast(T.float32(2.0), 4)
for i in range(16):
    C[i] = B[i]
"""
    assert "C[i] = A[i] * T.float32(2.0)" in inlined(vector_producer)


SCOPED = """
@T.prim_func
def f(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    with T.alloc_buffer((16,), "float32") as P:
        for i in range(16):
            P[i] = A[i] + 1.0
        with T.alloc_buffer((16,), "float32") as Q:
            for i in range(16):
                Q[i] = P[i] * P[15 - i]
            for i in range(16):
                with T.block("B"):
                    B[i] = {value}
    for i in range(16):
        C[i] = B[i]
"""


@pytest.mark.parametrize("value", ["Q[i]", "Q[i] + P[15 - i]"])
def test_memory_lives_as_long_as_it_is_read_in_place_of_the_buffer(value: str) -> None:
    s = accepted(SCOPED.format(value=value), inline)
    assert f"C[i] = {value}" in s.script()


def test_memory_of_one_iteration_is_not_there_for_others() -> None:
    """The values of ``P`` are gone when ``C`` is computed: each iteration has another one."""
    text = """
@T.prim_func
def f(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.alloc_buffer((1,), "float32") as P:
            P[0] = A[i] + 1.0
            with T.block("B"):
                B[i] = P[0]
    for i in range(16):
        C[i] = B[i]
"""
    with pytest.raises(ScheduleError):
        Schedule(text).compute_inline("B")
