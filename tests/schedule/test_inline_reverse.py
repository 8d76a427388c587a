"""reverse_compute_inline: the producer stores what its consumer would have."""

from __future__ import annotations

from tests.schedule.schedule_support import accepted, not_applicable, refused
from verified_tir import Schedule

HEAD = """
@T.prim_func
def f(A: T.Buffer((16,), "float32"), C: T.Buffer((18,), "float32"), D: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
"""


def program(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))


def inline(s: Schedule) -> None:
    s.reverse_compute_inline("C")


def inlined(body: str) -> str:
    """The statements after the block C was inlined into what it reads."""
    return accepted(program(body), inline).script().split("):\n", 1)[1] + "\n"


SCALED = "for i in range(16):\n    B[i] = A[i] * 2.0\n"


def test_the_producer_keeps_its_loop() -> None:
    text = inlined(SCALED + 'for x in range(16):\n    with T.block("C"):\n        C[x + 1] = B[x] + 1.0')
    assert (
        text
        == """\
    for i in range(16):
        with T.sblock("C"):
            C[i + 1] = A[i] * T.float32(2.0) + T.float32(1.0)
"""
    )


def test_iterations_that_nobody_consumes() -> None:
    text = inlined(SCALED + 'for x in range(8):\n    with T.block("C"):\n        C[x] = B[2 * x]')
    assert (
        text
        == """\
    for i in range(16):
        if i % 2 == 0:
            with T.sblock("C"):
                C[i // 2] = A[2 * (i // 2)] * T.float32(2.0)
"""
    )


def test_tiles_in_reverse() -> None:
    text = inlined("""
for i, j in T.grid(4, 4):
    B[i * 4 + j] = A[i * 4 + j]
for x in range(16):
    with T.block("C"):
        C[x] = B[15 - x] * B[15 - x]
""")
    assert (
        text
        == """\
    for i, j in T.grid(4, 4):
        with T.sblock("C"):
            C[15 - 4 * i - j] = A[4 * i + j] * A[4 * i + j]
"""
    )


def test_two_arms() -> None:
    text = inlined("""
for i in range(16):
    if i < 3:
        B[i] = 0.0
    else:
        B[i] = A[i]
for x in range(16):
    with T.block("C"):
        C[x] = B[x] * 2.0
""")
    assert "C[i] = T.if_then_else(i >= 3, A[i], T.float32(0.0)) * T.float32(2.0)" in text


def test_symbolic_and_transposed() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((n, m), "float32"), C: T.Buffer((m, n), "float32"), n: T.int32, m: T.int32):
    B = T.alloc_buffer((n, m), "float32")
    for i, j in T.grid(n, m):
        B[i, j] = A[i, j] * 2.0
    for x, y in T.grid(m, n):
        with T.block("C"):
            C[x, y] = B[y, x] + 1.0
"""
    s = accepted(text, inline)
    assert (
        s.script().split("):\n", 1)[1]
        == """\
    for i, j in T.grid(n, m):
        with T.sblock("C"):
            C[j, i] = A[i, j] * T.float32(2.0) + T.float32(1.0)"""
    )


OVERWRITTEN = """
for i in range(15):
    B[i] = A[i]
    {between}
for x in range(15):
    with T.block("C"):
        C[x] = B[x] * 2.0
"""


def test_the_consumer_runs_earlier_where_its_input_changes() -> None:
    text = inlined(OVERWRITTEN.format(between="A[i] = D[i]"))
    assert text.index('T.sblock("C")') < text.index("A[i] = D[i]")


def test_past_a_write_to_what_the_value_reads() -> None:
    body = (
        SCALED
        + "for i in range(16):\n    A[i] = C[i]\n"
        + 'for x in range(16):\n    with T.block("C"):\n        C[x] = B[x]'
    )
    refused(program(body), inline, "A[i] * T.float32(2.0) equals B[i]")


def test_a_reduction_is_not_complete() -> None:
    body = """
for i in range(16):
    B[i] = 0.0
    for k in range(16):
        B[i] = B[i] + A[k]
for x in range(16):
    with T.block("C"):
        C[x] = B[x] * 2.0
"""
    not_applicable(program(body), inline, "which adds it up: it is not complete")


def test_another_reader() -> None:
    body = (
        SCALED
        + 'for x in range(16):\n    with T.block("C"):\n        C[x] = B[x]\nfor x in range(16):\n    D[x] = B[x]'
    )
    not_applicable(program(body), inline, "block C must be its only reader")


def test_no_input() -> None:
    body = (
        SCALED
        + 'for x in range(16):\n    D[x] = B[x]\nfor x in range(16):\n    with T.block("C"):\n        C[x] = A[x]'
    )
    not_applicable(program(body), inline, "must read one local buffer that others store to; it reads none")


# -- what is left is the producer --------------------------------------------------------------------------------------

EPILOGUE = """
@T.prim_func
def f(A: T.Buffer((6, 10), "float32"), bias: T.Buffer((10,), "float32"), D: T.Buffer((6, 10), "float32")):
    C = T.alloc_buffer((6, 10), "float32")
    for i, j in T.grid(6, 10):
        with T.block("C"):
            C[i, j] = A[i, j] * 2.0
    for y, x in T.grid(6, 10):
        with T.block("D"):
            D[y, x] = T.max(C[y, x] + bias[x], 0.0)
"""


def test_the_block_loops_and_kinds_of_the_producer_stay() -> None:
    """As in TVM: a script that fuses an epilogue goes on with the producer's block and loops."""
    s = Schedule(EPILOGUE)
    i, j = s.loops("C")
    _, lane = s.split(j, [None, 5])
    s.vectorize(lane)
    s.parallel(i)
    s.reverse_compute_inline("D")
    assert s.blocks == ["C"]
    assert "for i in T.parallel(6):" in s.script() and "in T.vectorized(5):" in s.script()
    s.unroll(s.loops("C")[1])
    s.split(i, [None, 3])


def test_the_consumer_keeps_its_name_where_another_block_has_the_producer_s() -> None:
    s = Schedule(
        EPILOGUE.replace(
            "    C =",
            """    for z in range(10):
        with T.block("C"):
            bias[z] = bias[z] * 3.0
    C =""",
        )
    )
    s.reverse_compute_inline("D")
    assert s.blocks == ["C", "D"]
