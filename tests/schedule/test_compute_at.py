"""compute_at: producers of every form, in chains, under conditions; what is left is what one iteration needs."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from tests.schedule.schedule_support import accepted, not_applicable, refused
from tests.schedule.test_schedule_staging import body
from verified_tir import Schedule

PRODUCER = """
for i, j in T.grid(18, 6):
    with T.block("t"):
        t[i, j] = A[i, j] * 0.5
"""
CONSUMER = """
for y, x in T.grid(16, 6):
    with T.block("B"):
        B[y, x] = t[y, x] + t[y + 2, x]
"""
SUM = """
for i, j, k in T.grid(18, 6, 6):
    with T.block("t"):
        if k == 0:
            t[i, j] = 0.0
        t[i, j] = t[i, j] + A[i, k]
"""


def program(producer: str, consumer: str = CONSUMER) -> str:
    """Two nests, the first of which fills the local t."""
    head = '@T.prim_func\ndef f(A: T.Buffer((18, 6), "float32"), B: T.Buffer((16, 6), "float32")):\n'
    statements = textwrap.indent(producer.lstrip("\n") + consumer.lstrip("\n"), "    ")
    return f'{head}    t = T.alloc_buffer((18, 6), "float32")\n{statements}'


def at_tile(s: Schedule) -> Schedule:
    s.compute_at("t", s.split("y", [None, 4])[0])
    return s


ROWS = """\
    for y_0 in range(4):
        t = T.alloc_buffer((6, 6), "float32")
        for {loops} in T.grid(6, 6):
            with T.sblock("t"):
                t[{first}, {second}] = A[{row}, {second}] * T.float32(0.5)
        for y_1, x in T.grid(4, 6):
            with T.sblock("B"):
                B[y_0 * 4 + y_1, x] = t[y_1, x] + t[y_1 + 2, x]
"""
PLAIN = ROWS.format(loops="i, j", first="i", second="j", row="i + 4 * y_0")
INVERTED = ROWS.format(loops="ax0, ax1", first="ax0", second="ax1", row="4 * y_0 + ax0")

FORMS: dict[str, tuple[str, Callable[[Schedule], object], str]] = {
    "plain": (PRODUCER, at_tile, PLAIN),
    "split": (PRODUCER, lambda s: (s.split("i", [None, 4]), at_tile(s)), INVERTED),
    "in tiles": (PRODUCER, lambda s: (s.tile("i", "j", factors=[4, 4]), at_tile(s)), INVERTED),
    "fused": (PRODUCER, lambda s: (s.fuse("i", "j"), at_tile(s)), INVERTED),
    "guarded": (PRODUCER.replace("18", "20").replace("    with", "  if i < 18:\n    with"), at_tile, PLAIN),
    "named by its loop": (
        PRODUCER, lambda s: s.compute_at("i", s.split("y", [None, 4])[0]), PLAIN,
    ),
    "into a parallel loop": (
        PRODUCER, lambda s: (s.split("y", [None, 4]), s.parallel("y_0"), s.compute_at("t", "y_0")),
        PLAIN.replace("range(4)", "T.parallel(4)"),
    ),
    "under one condition with its consumer": (
        "if A[0, 0] > 0.0:\n" + textwrap.indent(PRODUCER.lstrip("\n") + CONSUMER.lstrip("\n"), "    "), at_tile,
        "    if A[0, 0] > T.float32(0.0):\n" + textwrap.indent(PLAIN, "    "),
    ),
}  # fmt: skip


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", FORMS)
def test_a_producer_in_any_form(name: str) -> None:
    producer, steps, result = FORMS[name]
    text = program(producer, "" if "if A" in producer else CONSUMER)
    assert body(accepted(text, steps)) == result


SUMS: dict[str, Callable[[Schedule], object]] = {
    "plain": lambda s: None,
    "the reduction outside": lambda s: s.reorder("k", "i", "j"),
    "in tiles": lambda s: s.reorder(*s.tile("i", "j", factors=[4, 3])[:2], "k"),
    "with an initialisation of its own": lambda s: s.decompose_reduction("t", "i"),
    "with an initialisation inside": lambda s: s.decompose_reduction("t", "k"),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", SUMS)
def test_a_reduction_in_any_form(name: str) -> None:
    def steps(s: Schedule) -> None:
        SUMS[name](s)
        at_tile(s)

    s = accepted(program(SUM), steps)
    assert body(s).startswith('    for y_0 in range(4):\n        t = T.alloc_buffer((6, 6), "float32")\n'), body(s)
    assert len(s.loops("t")) == 4, body(s)


OTHERS: dict[str, tuple[str, str, str]] = {
    "turned round": (PRODUCER.replace("t[i, j] =", "t[17 - i, j] ="), CONSUMER, "t = T.alloc_buffer((6, 6)"),
    "two elements at a time": (
        PRODUCER.replace("18", "9").replace("t[i, j] = A[i, j] * 0.5",
                                            "t[2 * i, j] = A[i, j]\n        t[2 * i + 1, j] = A[i, j] * 2.0"),
        CONSUMER, "t = T.alloc_buffer((8, 6)",
    ),
    "vectors": (
        PRODUCER.replace("(18, 6)", "(18, 3)").replace("[i, j]", "[i, j * 2:j * 2 + 2]").replace(
            "0.5", "T.Broadcast(T.float32(2), 2)"), CONSUMER, "t = T.alloc_buffer((6, 6)",
    ),
    "a stencil cut at the start": (
        PRODUCER, CONSUMER.replace("t[y, x] + t[y + 2, x]", "T.if_then_else(0 < y, t[y - 1, x], 0.0) + t[y, x]"),
        "t = T.alloc_buffer((5, 6)",
    ),
    "a consumer that is guarded": (
        PRODUCER, CONSUMER.replace("16", "20").replace("    with", "  if y < 16:\n    with"),
        "t = T.alloc_buffer((6, 6)",
    ),
    "ranges that start elsewhere": (
        PRODUCER.replace("for i, j in T.grid(18, 6):", "for j, i in T.grid(6, 16):").replace("[i, j]", "[i + 1, j]"),
        CONSUMER.replace("16", "14").replace("t[y, x] + t[y + 2, x]", "t[y + 1, x] + t[y + 3, x]"),
        "t = T.alloc_buffer((6, 6)",
    ),
    "what another nest reads stays": (
        PRODUCER, CONSUMER + "for y2, x2 in T.grid(2, 6):\n    B[y2, x2] = B[y2, x2] + t[y2, x2]\n",
        "t = T.alloc_buffer((18, 6)",
    ),
    "what was never stored may be read": (
        PRODUCER.replace("18", "12"), CONSUMER, "t = T.alloc_buffer((18, 6)",
    ),
}  # fmt: skip


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", OTHERS)
def test_other_producers_and_consumers(name: str) -> None:
    producer, consumer, allocation = OTHERS[name]
    s = accepted(program(producer, consumer), at_tile)
    assert allocation in body(s), body(s)


@pytest.mark.parametrize("factors", [[1, None], [None, 1]])
@pytest.mark.parametrize("depth", [0, 1])
def test_loops_of_extent_one(factors: list[int | None], depth: int) -> None:
    accepted(program(PRODUCER), lambda s: s.compute_at("t", s.split("y", factors)[depth]))


CHAIN = """
@T.prim_func
def f(A: T.Buffer((20,), "float32"), B: T.Buffer((16,), "float32")):
    t = T.alloc_buffer((20,), "float32")
    u = T.alloc_buffer((18,), "float32")
    for i in range(20):
        with T.block("t"):
            t[i] = A[i] * 0.5
    for j in range(18):
        with T.block("u"):
            u[j] = t[j] + t[j + 2]
    for y in range(16):
        with T.block("B"):
            B[y] = u[y] + u[y + 2]
"""


def test_a_chain_of_producers() -> None:
    def consumer_first(s: Schedule) -> None:
        outer, _ = s.split("y", [None, 4])
        s.compute_at("u", outer)
        s.compute_at("t", outer)

    s = accepted(CHAIN, consumer_first)
    assert (
        body(s)
        == """\
    for y_0 in range(4):
        t = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.sblock("t"):
                t[i] = A[i + 4 * y_0] * T.float32(0.5)
        u = T.alloc_buffer((6,), "float32")
        for j in range(6):
            with T.sblock("u"):
                u[j] = t[j] + t[j + 2]
        for y_1 in range(4):
            with T.sblock("B"):
                B[y_0 * 4 + y_1] = u[y_1] + u[y_1 + 2]
"""
    )
    accepted(CHAIN.replace("u[y + 2]", "u[y + 2] + t[y]"), consumer_first)

    def producer_first(s: Schedule) -> None:
        outer, _ = s.split("y", [None, 4])
        s.compute_at("t", "j")
        s.compute_at("u", outer)

    s = accepted(CHAIN, producer_first)
    assert 'for j in range(6):\n            t = T.alloc_buffer((3,), "float32")' in body(s)


def test_symbolic_extents() -> None:
    text = """
@T.prim_func
def f(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n + 2,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    t = T.alloc_buffer((n + 2,), "float32")
    for i in range(n + 2):
        with T.block("t"):
            t[i] = A[i] * 0.5
    for y in range(n):
        with T.block("B"):
            B[y] = t[y] + t[y + 2]
"""
    assert "t = T.alloc_buffer((3,)" in accepted(text, lambda s: s.compute_at("t", "y")).script()
    assert "t = T.alloc_buffer((6,)" in accepted(text, at_tile).script()
    assert "t = T.alloc_buffer((6,)" in accepted(text, lambda s: (s.split("i", [None, 4]), at_tile(s))).script()


def test_what_is_refused() -> None:
    more = CONSUMER + "for y2 in range(2):\n    B[y2, 0] = t[y2 + 16, 0]\n"
    claim = "the store to t is dead: no later read sees it"
    refused(program(PRODUCER, more.replace("16, 6", "14, 6")), lambda s: s.compute_at("t", "y"), claim)
    changed = CONSUMER.replace("    with", "    A[17 - y, x] = 1.0\n    with")
    refused(
        program(PRODUCER, changed),
        lambda s: s.compute_at("t", "y"),
        "was not overwritten since: no dependence between the read and the write of A",
    )


@pytest.mark.parametrize(
    ("producer", "consumer", "reason"),
    [
        ("if A[0, 0] > 0.0:\n" + textwrap.indent(PRODUCER, "    ") + "else:\n    t[0, 0] = 1.0\n", CONSUMER,
         "block t stands under a condition with an else"),
        (PRODUCER.replace("t[i, j] =", "B[0, 0] = 1.0\n        t[i, j] ="), CONSUMER, "stores to 2 buffers (B, t)"),
        (PRODUCER, CONSUMER.replace("t[", "A["), "the loop over y does not read t"),
        (PRODUCER.replace("t[i, j] =", "t[i * i // 20, j] ="), CONSUMER, "cannot be told from its indices"),
    ],
)  # fmt: skip
def test_what_does_not_fit(producer: str, consumer: str, reason: str) -> None:
    not_applicable(program(producer, consumer), lambda s: s.compute_at("t", "y"), reason)
