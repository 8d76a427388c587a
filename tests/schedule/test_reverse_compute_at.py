"""reverse_compute_at: consumers in the iterations of their producers, whole programs; and what is refused."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from tests.schedule.schedule_support import accepted, not_applicable, refused
from tests.schedule.test_schedule_staging import MATMUL, body
from verified_tir import Schedule
from verified_tir.ir.expr import Var

PRODUCER = """
for i, j in T.grid(16, 12):
    with T.block("C"):
        C[i, j] = A[i, j] * 2.0
"""
CONSUMER = """
for y, x in T.grid(16, 12):
    with T.block("D"):
        D[y, x] = C[y, x] + 1.0
"""


def program(producer: str, consumer: str, rows: int = 16) -> str:
    """Two nests, the first of which fills the local C."""
    shape = f'T.Buffer(({rows}, 12), "float32")'
    local = f'    C = T.alloc_buffer(({rows}, 12), "float32")\n'
    statements = textwrap.indent(producer.lstrip("\n") + consumer.lstrip("\n"), "    ")
    return f"@T.prim_func\ndef f(A: {shape}, D: {shape}):\n{local}{statements}"


TWO = program(PRODUCER, CONSUMER)


def tiled(s: Schedule, *factors: int) -> list[Var]:
    return list(s.tile(*s.loops("C"), factors=factors))


def test_an_elementwise_consumer_at_each_loop_of_a_tiled_producer() -> None:
    nests = {
        0: """
            for y, x in T.grid(5, 12):
                if 5 * i_0 + y < 16:
                    with T.sblock("D"):
                        D[5 * i_0 + y, x] = C[y, x] + T.float32(1.0)
""",
        1: """
            for y, x in T.grid(5, 4):
                if 5 * i_0 + y < 16:
                    with T.sblock("D"):
                        D[5 * i_0 + y, 4 * j_0 + x] = C[y, x] + T.float32(1.0)
""",
        2: """
            for x in range(4):
                if 5 * i_0 + i_1 < 16:
                    with T.sblock("D"):
                        D[5 * i_0 + i_1, 4 * j_0 + x] = C[0, x] + T.float32(1.0)
""",
        3: """
            if 5 * i_0 + i_1 < 16:
                with T.sblock("D"):
                    D[5 * i_0 + i_1, 4 * j_0 + j_1] = C[0, 0] + T.float32(1.0)
""",
    }
    for depth, nest in nests.items():
        s = accepted(TWO, lambda s, depth=depth: s.reverse_compute_at("D", tiled(s, 5, 4)[depth]))  # type: ignore[misc]
        lines = [line.strip() for line in nest.strip().splitlines()]
        assert [line.strip() for line in body(s).splitlines()][-len(lines) :] == lines
        assert body(s).count("for ") == {0: 3, 1: 3, 2: 3, 3: 1}[depth], body(s)


def test_the_whole_program() -> None:
    s = accepted(TWO, lambda s: s.reverse_compute_at("D", tiled(s, 4, 4)[1]))
    assert (
        body(s)
        == """\
    for i_0, j_0 in T.grid(4, 3):
        C = T.alloc_buffer((4, 4), "float32")
        for i_1, j_1 in T.grid(4, 4):
            with T.sblock("C"):
                C[i_1, j_1] = A[i_0 * 4 + i_1, j_0 * 4 + j_1] * T.float32(2.0)
        for y, x in T.grid(4, 4):
            with T.sblock("D"):
                D[4 * i_0 + y, 4 * j_0 + x] = C[y, x] + T.float32(1.0)
"""
    )


def test_handles_of_the_consumer_stay_good_and_a_loop_names_it_too() -> None:
    s = Schedule(TWO)
    y, x = s.loops("D")
    s.reverse_compute_at(y, s.loops("C")[0])
    s.vectorize(x)
    assert "for x in T.vectorized(12):" in s.script()


def test_what_cache_write_copies_back() -> None:
    def steps(s: Schedule) -> None:
        s.cache_write("C", 0, "local")
        i, j, _ = s.loops("C")
        outer = s.tile(i, j, factors=[4, 4])[:2]
        s.reverse_compute_at("C_local_back", outer[1])

    s = accepted(MATMUL, steps)
    assert (
        body(s)
        == """\
    for i_0, j_0 in T.grid(2, 2):
        C_local = T.alloc_buffer((4, 4), "float32", scope="local")
        for i_1, j_1, k in T.grid(4, 4, 8):
            with T.sblock("C"):
                if k == 0:
                    C_local[i_1, j_1] = T.float32(0.0)
                C_local[i_1, j_1] = C_local[i_1, j_1] + A[i_0 * 4 + i_1, k] * B[k, j_0 * 4 + j_1]
        for ax0, ax1 in T.grid(4, 4):
            with T.sblock("C_local_back"):
                C[4 * i_0 + ax0, 4 * j_0 + ax1] = C_local[ax0, ax1]
"""
    )


SUM = """
@T.prim_func
def f(A: T.Buffer((8, 6), "float32"), D: T.Buffer((8,), "float32")):
    C = T.alloc_buffer((8,), "float32")
    for i, k in T.grid(8, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
    for y in range(8):
        with T.block("D"):
            D[y] = T.max(C[y], 0.0)
"""


def test_a_reduction_must_have_ended() -> None:
    s = accepted(SUM, lambda s: s.reverse_compute_at("D", "k"))
    last = '        if k == 5:\n            with T.sblock("D"):\n                D[i] = T.max(C[{}], T.float32(0.0))\n'
    assert body(s).endswith(textwrap.indent(last.format(0), "    ")), body(s)
    s = accepted(SUM, lambda s: s.reverse_compute_at("D", "i"))
    assert body(s).endswith('        with T.sblock("D"):\n            D[i] = T.max(C[0], T.float32(0.0))\n')
    turned = accepted(SUM, lambda s: (s.reorder("k", "i"), s.reverse_compute_at("D", "i")))
    assert body(turned).endswith(last.format("i"))


def test_a_reduction_that_may_make_no_iteration() -> None:
    """Nothing would run in its last iteration then."""
    symbolic = """
@T.prim_func
def f(a: T.handle, D: T.Buffer((8,), "float32"), m: T.int32):
    A = T.match_buffer(a, (8, m), "float32")
    C = T.alloc_buffer((8,), "float32")
    for i in range(8):
        C[i] = 0.0
        for k in range(m):
            C[i] = C[i] + A[i, k]
    for y in range(8):
        with T.block("D"):
            D[y] = T.max(C[y], 0.0)
"""
    accepted(symbolic, lambda s: s.reverse_compute_at("D", "i"))
    refused(symbolic, lambda s: s.reverse_compute_at("D", "k"), "every old iteration of (y) is run")


HALO = """
@T.prim_func
def f(A: T.Buffer((18, 6), "float32"), D: T.Buffer((16, 6), "float32")):
    C = T.alloc_buffer((18, 6), "float32")
    for i, j in T.grid(18, 6):
        with T.block("C"):
            C[i, j] = A[i, j] * 0.5
    for y, x in T.grid(16, 6):
        with T.block("D"):
            D[y, x] = C[y, x] + C[y + 2, x]
"""


def test_an_instance_waits_for_the_last_element_that_it_reads() -> None:
    s = accepted(HALO, lambda s: s.reverse_compute_at("D", s.split("i", [None, 4])[0]))
    assert (
        body(s)
        == """\
    C = T.alloc_buffer((18, 6), "float32")
    for i_0 in range(5):
        for i_1 in range(4):
            if i_0 * 4 + i_1 < 18:
                for j in range(6):
                    with T.sblock("C"):
                        C[i_0 * 4 + i_1, j] = A[i_0 * 4 + i_1, j] * T.float32(0.5)
        for y, x in T.grid(4, 6):
            if 4 * i_0 + y >= 2 and 4 * i_0 + y < 18:
                with T.sblock("D"):
                    D[4 * i_0 + y - 2, x] = C[4 * i_0 + y - 2, x] + C[4 * i_0 + y, x]
"""
    )
    turned = HALO.replace("C[y + 2, x]", "C[17 - y, x]")
    s = accepted(turned, lambda s: s.reverse_compute_at("D", "i"))
    assert "if i == T.max(y, 17 - y):" in s.script()


def at(loop: str) -> Callable[[Schedule], object]:
    return lambda s: s.reverse_compute_at("D", loop)


ACCEPTED: dict[str, tuple[str, str, Callable[[Schedule], object], str]] = {
    "a producer that runs down": (PRODUCER.replace("C[i,", "C[15 - i,"), CONSUMER, at("i"), "D[15 - i, x]"),
    "ranges that start elsewhere": (
        PRODUCER,
        CONSUMER.replace("y, x in T.grid(16, 12)", "x, y in T.grid(12, 13)").replace("C[y, x]", "C[y + 3, x]"),
        at("i"), "if i >= 3:",
    ),
    "tiles that overlap: the last one to store an element": (
        PRODUCER.replace("i, j in T.grid(16, 12)", "i, q, j in T.grid(7, 4, 12)").replace("[i, j]", "[2 * i + q, j]"),
        CONSUMER, at("i"), "T.min(",
    ),
    "tiles that overlap and run down": (
        PRODUCER.replace("i, j in T.grid(16, 12)", "i, q, j in T.grid(7, 4, 12)").replace("[i,", "[12 - 2 * i + q,"),
        CONSUMER, at("i"), "T.min(",
    ),
    "a fused producer": (
        PRODUCER, CONSUMER, lambda s: s.reverse_compute_at("D", s.fuse("i", "j")),
        "D[i_j_fused // 12, i_j_fused % 12]",
    ),
    "a producer that was fused and split": (
        PRODUCER, CONSUMER, lambda s: s.reverse_compute_at("D", s.split(s.fuse("i", "j"), [None, 24])[0]), "== y // 2",
    ),
    "a fused producer that stores twice": (
        """
for i, j in T.grid(16, 6):
    with T.block("C"):
        C[i, 2 * j] = A[i, 2 * j] * 2.0
        C[i, 2 * j + 1] = A[i, 2 * j + 1] * 3.0
""",
        CONSUMER, lambda s: s.reverse_compute_at("D", s.fuse("i", "j")), "D[i_j_fused // 6, 2 * (i_j_fused % 6) + x]",
    ),
    "a condition around the loop": (
        """
for i in range(20):
    if i < 16:
        for j in range(12):
            C[i, j] = A[i, j]
""", CONSUMER, at("j"), 'C[0, 0] = A[i, j]\n                with T.sblock("D"):\n                    D[i, j]',
    ),
    "an allocation around the loop": (
        """
for i in range(16):
    u = T.alloc_buffer((12,), "float32")
    for q in range(12):
        u[q] = A[i, q]
    for j in range(12):
        C[i, j] = u[j]
""", CONSUMER, at("j"), 'C[0, 0] = u[j]\n            with T.sblock("D"):\n                D[i, j]',
    ),
    "what stands between goes behind": (
        PRODUCER, "for q in range(12):\n    A[0, q] = 1.0\n" + CONSUMER.lstrip("\n"), at("i"),
        "+ T.float32(1.0)\n    for q in range(12):\n        A[0, q] = T.float32(1.0)",
    ),
    "what stands between goes before": (
        PRODUCER, "for q in range(12):\n    D[0, q] = 1.0\n" + CONSUMER.lstrip("\n"), at("i"),
        "D[0, q] = T.float32(1.0)\n    for i in range(16):",
    ),
    "another order of loops": (
        PRODUCER, CONSUMER.replace("y, x in T.grid(16, 12)", "x, y in T.grid(12, 16)"), at("j"), "D[i, j] =",
    ),
    "every second element": (
        PRODUCER, CONSUMER.replace("(16, 12)", "(8, 12)").replace("C[y,", "C[2 * y,"),
        lambda s: s.reverse_compute_at("D", s.split("i", [None, 4])[0]), "for y, x in T.grid(2, 12):",
    ),
    "a parallel producer": (
        PRODUCER, CONSUMER, lambda s: (s.parallel("i"), s.reverse_compute_at("D", "j")),
        "for i in T.parallel(16):\n        for j in range(12):",
    ),
    "a consumer with a buffer of its own": (
        PRODUCER, """
for y in range(16):
    u = T.alloc_buffer((12,), "float32")
    for q in range(12):
        u[q] = C[y, q]
    for x in range(12):
        with T.block("D"):
            D[y, x] = u[11 - x]
""", at("i"), "u[q] = C[0, q]",
    ),
    "loops of extent one": (
        PRODUCER.replace("16", "1"), CONSUMER.replace("16", "1"), at("i"), "D[0, x] = C[0, x]",
    ),
    "loops of extent zero": (PRODUCER.replace("16", "0"), CONSUMER.replace("16", "0"), at("i"), "for i in range(0):"),
    "nothing to be produced": (PRODUCER, CONSUMER.replace("16", "0"), at("i"), "pass"),
    "vectors": (
        PRODUCER.replace("(16, 12)", "(16, 3)").replace("[i, j]", "[i, j * 4:j * 4 + 4]").replace(
            "2.0", "T.Broadcast(T.float32(2), 4)"), CONSUMER, at("i"), "D[i, x]",
    ),
}  # fmt: skip


@pytest.mark.sample(9)
@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    producer, consumer, steps, part = ACCEPTED[name]
    s = accepted(program(producer, consumer), steps)
    assert part in s.script(), s.script()


def test_symbolic_extents() -> None:
    text = """
@T.prim_func
def f(a: T.handle, d: T.handle, n: T.int32, m: T.int32):
    A = T.match_buffer(a, (n, m), "float32")
    D = T.match_buffer(d, (n, m), "float32")
    C = T.alloc_buffer((n, m), "float32")
    for i, j in T.grid(n, m):
        with T.block("C"):
            C[i, j] = A[i, j] * 2.0
    for y, x in T.grid(n, m):
        with T.block("D"):
            D[y, x] = C[y, x] + 1.0
"""
    s = accepted(text, lambda s: s.reverse_compute_at("D", tiled(s, 4, 4)[1]))
    assert "if 4 * i_0 + y < n and 4 * j_0 + x < m:" in s.script()
    assert "D[i, j] =" in accepted(text, at("j")).script()
    more = text.replace("y, x in T.grid(n, m)", "y, x in T.grid(n - 1, m)").replace("C[y, x]", "C[y + 1, x]")
    assert "if i >= 1:" in accepted(more, at("i")).script()


@pytest.mark.nightly
def test_a_fused_producer_of_unknown_sizes() -> None:
    shape = 'T.Buffer(("n", "m"), "float32")'
    text = f"""
@T.prim_func
def f(A: {shape}, D: {shape}):
    C = T.alloc_buffer(("n", "m"), "float32")
    for i, j in T.grid("n", "m"):
        with T.block("C"):
            C[i, j] = A[i, j] * 2.0
    for y, x in T.grid("n", "m"):
        with T.block("D"):
            D[y, x] = C[y, x] + 1.0
""".replace('alloc_buffer(("n", "m")', "alloc_buffer((n, m)").replace('grid("n", "m")', "grid(n, m)")
    s = accepted(text, lambda s: s.reverse_compute_at("D", s.fuse("i", "j")))
    assert "D[i_j_fused // m, i_j_fused % m] = C[0, 0] + T.float32(1.0)" in s.script()


def test_what_no_iteration_stores() -> None:
    """The last row of C is not stored; the instance that reads it runs with the one that reads the row before."""
    text = program(PRODUCER, CONSUMER.replace("16", "17"), rows=17)
    assert "if i == T.min(y, 15):" in accepted(text, at("i")).script()
    window = """
for y in range(16):
    with T.block("D"):
        D[y, 0] = 0.0
        for r in range(3):
            if y + r < 16:
                D[y, 0] = D[y, 0] + C[y + r, 5]
"""
    assert "if i == T.min(y + 2, 15):" in accepted(program(PRODUCER, window), at("i")).script()


def test_an_index_from_memory_waits_for_all() -> None:
    gather = """
for y, x in T.grid(16, 12):
    with T.block("D"):
        D[y, x] = C[y, T.if_then_else(A[0, 0] < 1.0, 3, x)]
"""
    assert "D[i, x] = C[0, T.if_then_else(" in accepted(program(PRODUCER, gather), at("i")).script()
    assert "if j == 11:" in accepted(program(PRODUCER, gather), at("j")).script()


def test_what_would_run_too_early() -> None:
    overwrites = program(PRODUCER, CONSUMER.replace("D[y, x] =", "A[15 - y, x] ="))
    refused(
        overwrites,
        at("i"),
        "the two statements may change places: no dependence between the read and the write of A",
    )
    between = "for q in range(12):\n    C[q, q] = C[q, q] + A[0, q]\n"
    refused(program(PRODUCER, between + CONSUMER.lstrip("\n")), at("i"), "the two statements may change places")


@pytest.mark.parametrize(
    ("consumer", "block", "loop", "reason"),
    [
        (CONSUMER, "C", "y", "block C comes before the loop over y; it must come after it"),
        (CONSUMER, "D", "y", "block D stands inside the loop over y already"),
        (CONSUMER, "D", "q", "there is no loop called 'q'"),
        (CONSUMER, "q", "i", "there is no loop called 'q'"),
        (CONSUMER.replace("C[y", "A[y"), "D", "i", "block D reads nothing that the loop over i stores"),
        (CONSUMER.replace("    with", "    A[y, x] = 0.0\n    with"), "D", "i", "fission it out first"),
    ],
)  # fmt: skip
def test_what_does_not_fit(consumer: str, block: str, loop: str, reason: str) -> None:
    not_applicable(program(PRODUCER, consumer), lambda s: s.reverse_compute_at(block, loop), reason)


def test_a_label_is_in_the_way() -> None:
    labelled = """
for i in range(16):
    with T.block("outer"):
        for j in range(12):
            C[i, j] = A[i, j]
"""
    not_applicable(program(labelled, CONSUMER), at("j"), "the label outer stands around the loop over j")
    accepted(program(labelled, CONSUMER), at("i"))
