"""VectorizeLoop: ramps and broadcasts, masked tails, lanes for local buffers, and what stays serial."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.lower.lower_support import body_of, gives, lowered
from tests.nightly import few
from tests.schedule.schedule_strategies import programs
from verified_tir import Schedule, ScheduleError
from verified_tir.ir.stmt import For
from verified_tir.ir.visit import walk
from verified_tir.lower.flatten_buffer import FlattenBuffer
from verified_tir.lower.vectorize_loop import VectorizeLoop

AB = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32'


def program(body: str, params: str = AB) -> str:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return f"@T.prim_func\ndef f({params}):\n{lines}\n"


def test_ramps_and_broadcasts() -> None:
    text = """
for i in range(4):
    for j in T.vectorized(4):
        B[i * 4 + j] = A[15 - i * 4 - j] * T.float32(2) + A[i]
for j in T.vectorized(3, 11):
    B[j] = T.if_then_else(j % 2 == 0, T.exp(B[j]), A[j // 2])"""
    notes = gives(program(text), VectorizeLoop(), """
for i in range(4):
    B[i * 4:i * 4 + 4] = A[T.Ramp(15 - i * 4, -1, 4)] * T.Broadcast(T.float32(2.0), 4) + T.Broadcast(A[i], 4)
B[3:11] = T.Select(T.Ramp(3, 1, 8) % T.Broadcast(2, 8) == T.Broadcast(0, 8), T.exp(B.vload([T.Ramp(3, 1, 8)], predicate=T.Ramp(3, 1, 8) % T.Broadcast(2, 8) == T.Broadcast(0, 8))), A.vload([T.Ramp(3, 1, 8) // T.Broadcast(2, 8)], predicate=not T.Ramp(3, 1, 8) % T.Broadcast(2, 8) == T.Broadcast(0, 8)))
""")  # noqa: E501 # fmt: skip
    assert notes == []


def test_tails_are_masked() -> None:
    text = """
for i in range((n + 3) // 4):
    for j in T.vectorized(4):
        if i * 4 + j < n:
            B[i * 4 + j] = A[i * 4 + j]"""
    params = 'A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32"), n: T.int32'
    gives(program(text, params), VectorizeLoop(), """
for i in range((n + 3) // 4):
    B.vstore([T.Ramp(i * 4, 1, 4)], A.vload([T.Ramp(i * 4, 1, 4)], predicate=T.Ramp(i * 4, 1, 4) < T.Broadcast(n, 4)), predicate=T.Ramp(i * 4, 1, 4) < T.Broadcast(n, 4))
""")  # noqa: E501 # fmt: skip


def test_what_may_be_registers_is_not_masked() -> None:
    """A load of a local buffer, where every lane of it exists; in the other cases it is."""
    text = """
S = T.alloc_buffer(({size},), "float32", scope="{scope}")
for i in range({size}):
    S[i] = A[i]
for j in T.vectorized(4):
    if j < n:
        B[j] = S[j]"""
    for size, scope, masked in ((4, "local", False), (4, "global", True), (3, "local", True)):
        body = text.format(size=size, scope=scope).replace("j < n", f"j < n and j < {size}" if size < 4 else "j < n")
        theorem, _ = lowered(program(body), VectorizeLoop())
        stored = body_of(theorem).splitlines()[-1]
        assert "B.vstore" in stored and ("S.vload" in stored) == masked, stored


def test_statements_loops_lets_and_conditions_are_separated() -> None:
    text = """
for j in T.vectorized(4):
    with T.block("b"):
        x: T.let[T.float32] = A[j] * A[j]
        B[j] = x
        for k in range(3):
            if n > k:
                B[j + 4] = B[j + 4] + x
            else:
                if j < 2:
                    B[j + 8] = 0.0"""
    notes = gives(program(text), VectorizeLoop(), """
B[0:4] = A[T.Ramp(0, 1, 4)] * A[T.Ramp(0, 1, 4)]
for k in range(3):
    if n > k:
        B[4:8] = B[T.Ramp(4, 1, 4)] + A[T.Ramp(0, 1, 4)] * A[T.Ramp(0, 1, 4)]
    else:
        B.vstore([T.Ramp(8, 1, 4)], T.Broadcast(T.float32(0.0), 4), predicate=T.Ramp(0, 1, 4) < T.Broadcast(2, 4))
""")  # fmt: skip
    assert notes == []


def test_each_lane_has_its_local_buffer() -> None:
    text = """
for j in T.vectorized(4):
    t = T.alloc_buffer((2,), "float32")
    for k in range(2):
        t[k] = A[j + k]
    B[j] = t[0] * t[1]"""
    gives(program(text), VectorizeLoop(), """
t = T.alloc_buffer((2, 4), "float32")
for k in range(2):
    t[k, 0:4] = A[T.Ramp(k, 1, 4)]
B[0:4] = t[0, 0:4] * t[1, 0:4]
""".replace("t[0, 0:4] *", "t[0, T.Ramp(0, 1, 4)] *").replace("t[1, 0:4]\n", "t[1, T.Ramp(0, 1, 4)]\n"))  # fmt: skip


def test_what_cannot_be_vector_code_becomes_serial() -> None:
    triangle = "for j in T.vectorized(4):\n    for k in range(j):\n        B[j * 4 + k] = 0.0"
    _, (record,) = lowered(program(triangle), VectorizeLoop())
    (note,) = record.notes
    assert note == "the loop over j becomes serial: the range of the inner loop over k depends on j"
    guarded = "for j in T.vectorized(4):\n    if A[j] > 0.0:\n        B[j] = A[3] / A[j]"
    _, (record,) = lowered(program(guarded), VectorizeLoop())
    assert record.notes == ()
    symbolic = "for j in T.vectorized(T.max(n, 0)):\n    if j < 16:\n        B[j] = A[0]"
    _, (record,) = lowered(program(symbolic), VectorizeLoop())
    assert record.notes == (
        "the loop over j becomes serial: its extent is not a constant; split it by the width of a vector",
    )
    square = 'A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")'
    column = program("for j in T.vectorized(4):\n    B[j, 0] = A[j, 1]", square)
    _, (record,) = lowered(column, VectorizeLoop())
    assert "flatten the buffer first" in record.notes[0]
    _, records = lowered(column, FlattenBuffer() >> VectorizeLoop())
    assert [r.notes for r in records] == [(), ()]


def test_a_division_in_a_masked_lane() -> None:
    text = "for j in T.vectorized(4):\n    if C[j] != 0:\n        D[j] = 7 // C[j]"
    _, (record,) = lowered(program(text, 'C: T.Buffer((4,), "int32"), D: T.Buffer((4,), "int32")'), VectorizeLoop())
    assert record.notes and "the divisor of" in record.notes[0]


def test_empty_and_single_loops() -> None:
    gives(program("for j in T.vectorized(1):\n    B[j] = A[j]\nfor j in T.vectorized(0):\n    B[j] = 1.0\nB[3] = 0.0"),
          VectorizeLoop(), "B[0] = A[0]\nB[3] = T.float32(0.0)")  # fmt: skip


@pytest.mark.nightly
@given(programs(), st.data())
@settings(max_examples=few(10, 30), deadline=None, suppress_health_check=list(HealthCheck))
def test_random_programs(text: str, data: st.DataObject) -> None:
    s = Schedule(text)
    loops = [n for n in walk(s.func) if isinstance(n, For)]
    for loop in loops:
        if data.draw(st.booleans()):
            try:
                s.vectorize(loop.var)
            except ScheduleError:
                continue
    pipeline = FlattenBuffer() >> VectorizeLoop() if data.draw(st.booleans()) else VectorizeLoop()
    theorem, _ = lowered(s, pipeline)
    assert not any(isinstance(n, For) and n.kind == "vectorized" for n in walk(theorem.after))


def test_elements_that_are_vectors() -> None:
    params = 'A: T.Buffer((4,), "float32x4"), B: T.Buffer((8,), "float32x4")'
    text = "for j in T.vectorized(4):\n    A[j] = {}"
    twice = "B[j + 2] * T.Broadcast(T.float32(2.0), 4)"
    wide = "A[0:4] = B[T.Ramp(2, 1, 4)] * T.Broadcast(T.float32(2.0), 16)"
    gives(program(text.format(twice), params), VectorizeLoop(), wide)
    constant = "T.Broadcast(T.float32(1.0), {})"
    gives(program(text.format(constant.format(4)), params), VectorizeLoop(), f"A[0:4] = {constant.format(16)}")
    same = text.format("B[1]")  # four times the same four lanes
    (note,) = gives(program(same, params), VectorizeLoop(), same.replace("T.vectorized", "range"))
    assert note == "the loop over j becomes serial: Load of 4 lanes has no form of 16 lanes"
