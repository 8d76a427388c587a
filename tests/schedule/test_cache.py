"""cache_read and cache_write without a block, of some consumers, of anything: what they copy, and where."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.schedule.schedule_support import accepted, not_applicable, refused
from tests.schedule.test_schedule_staging import body
from verified_tir import Schedule

SUM = """
@T.prim_func
def func(A: T.Buffer[(14,), "int32"], B: T.Buffer[(1,), "int32"]):
    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A[i]
"""


def test_an_internal_buffer_with_padding() -> None:
    """RFC 77, "Allocate internal buffer containing transformation padding", step by step."""
    s = accepted(SUM, lambda s: s.cache_read("A", "local"))
    assert (
        body(s)
        == """\
    A_local = T.alloc_buffer((14,), "int32", scope="local")
    for ax0 in range(14):
        with T.sblock("A_local"):
            A_local[ax0] = A[ax0]
    B[0] = 0
    for i in range(14):
        B[0] = B[0] + A_local[i]
"""
    )

    def all_steps(s: Schedule) -> None:
        a = s.cache_read("A", "local")
        s.transform_layout(a, lambda i: [i // 4, i % 4], pad_value=0)
        s.sequential_buffer_access("A_local")
        s.remove_branching_through_overcompute()

    s = accepted(SUM, all_steps)
    assert (
        body(s)
        == """\
    A_local = T.alloc_buffer((4, 4), "int32", scope="local")
    for ax0_0, ax0_1 in T.grid(4, 4):
        if 4 * ax0_0 + ax0_1 < 14:
            with T.sblock("A_local"):
                A_local[ax0_0, ax0_1] = A[4 * ax0_0 + ax0_1]
    for io, ii in T.grid(4, 4):
        with T.sblock("A_local_padding"):
            if io == 3 and ii >= 2:
                A_local[io, ii] = 0
    B[0] = 0
    for i_0, i_1 in T.grid(4, 4):
        B[0] = B[0] + A_local[i_0, i_1]
"""
    )


DOUBLE = """
@T.prim_func
def func(A: T.Buffer[14, "float32"], B: T.Buffer[14, "float32"]):
    for i in T.serial(14):
        with T.block("compute"):
            B[i] = 2 * A[i]
"""


def test_caches_of_input_and_output() -> None:
    """RFC 77, "Enhancement - transform_layout": its first program, and what becomes of it."""

    def caches(s: Schedule) -> None:
        s.cache_read(buffer="A", name="A_cache")
        s.cache_write(buffer="B", name="B_cache")

    s = accepted(DOUBLE, caches)
    assert (
        body(s)
        == """\
    B_cache = T.alloc_buffer((14,), "float32")
    with T.alloc_buffer((14,), "float32") as A_cache:
        for ax0 in range(14):
            with T.sblock("A_cache"):
                A_cache[ax0] = A[ax0]
        for i in range(14):
            with T.sblock("compute"):
                B_cache[i] = T.float32(2.0) * A_cache[i]
    for ax0 in range(14):
        with T.sblock("B_cache_back"):
            B[ax0] = B_cache[ax0]
"""
    )

    def layouts(s: Schedule) -> None:
        caches(s)
        s.transform_layout("compute", "A_cache", lambda i: [i // 4, i % 4], pad_value=-1)
        s.transform_layout("compute", "B_cache", lambda i: [i // 4, i % 4], pad_value=-2)

    blocks = ["A_cache", "A_cache_padding", "compute", "B_cache_padding", "B_cache_back"]
    assert accepted(DOUBLE, layouts).blocks == blocks


def test_one_program_in_all_forms() -> None:
    forms: list[Callable[[Schedule], object]] = [
        lambda s: s.cache_read("compute", 0, "local"),
        lambda s: s.cache_read("compute", ("read", 0), "local"),
        lambda s: s.cache_read("compute", "A", "local"),
        lambda s: s.cache_read("compute", s.buffer("A"), "local"),
        lambda s: s.cache_read("A", "local"),
        lambda s: s.cache_read(s.buffer("A"), "local"),
        lambda s: s.cache_read(buffer="A", scope="local"),
    ]
    texts = {accepted(DOUBLE, form).script() for form in forms}
    assert len(texts) == 1 and "A_local[i]" in texts.pop()
    named = DOUBLE.replace('"compute"', '"A"')  # a block and a buffer of one name
    for form in (
        lambda s: s.cache_read("A", 0, "local"),
        lambda s: s.cache_read("A", "A", "local"),
        lambda s: s.cache_read("A", "local"),
    ):
        assert "A_local[i]" in accepted(named, form).script()
    writes: list[Callable[[Schedule], object]] = [
        lambda s: s.cache_write("compute", 0, "local"),
        lambda s: s.cache_write("B", "local"),
        lambda s: s.cache_write(buffer="B", scope="local"),
    ]
    assert len({accepted(DOUBLE, form).script() for form in writes}) == 1


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda s: s.cache_read("A"), None),
        (lambda s: s.cache_read(), "name a buffer"),
        (lambda s: s.cache_read("compute"), "name a buffer"),
        (lambda s: s.cache_read("compute", 1, "local"), "block compute has no read buffer number 1"),
        (lambda s: s.cache_read("q", "local"), "there is no block called 'q'"),
        (lambda s: s.cache_read(buffer="q", scope="local"), "there is no buffer called 'q'"),
        (lambda s: s.cache_read(buffer=0, scope="local"), "a buffer by number is one of a block's"),
        (lambda s: s.cache_read("A", 0, "local"), "a buffer that is named first is followed by a scope"),
        (lambda s: s.cache_read("A", "local", "i", "i"), "a scope and a loop, and no more"),
        (lambda s: s.cache_read("compute", 0, "test_scope"), "there is no storage scope 'test_scope'"),
        (lambda s: s.cache_read("compute", 0, "shared red"), "there is no storage scope 'shared red'"),
        (lambda s: s.cache_read("compute", 0, 1), "a storage scope is a text"),
        (lambda s: s.cache_read("B", "local"), "B is not read there"),
        (lambda s: s.cache_write("A", "local"), "A is not written there, so there is nothing to copy out"),
        (lambda s: s.cache_read("A", "local", consumer_blocks=["q"]), "there is no block called 'q'"),
        (lambda s: s.cache_read("A", "local", "q"), "there is no loop called 'q'"),
    ],
)
def test_what_is_meant(step: Callable[[Schedule], object], reason: str | None) -> None:
    if reason is None:
        assert "A_global[i]" in accepted(DOUBLE, step).script()
    else:
        not_applicable(DOUBLE, step, reason)


# ------------------------------------------------------------------------------------------------- several consumers

THREE = """
@T.prim_func
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("x"):
            B[i] = A[i] * 2.0
    for j in range(15):
        with T.block("y"):
            C[j] = A[15 - j] * 2.0
    for k in range(14):
        with T.block("z"):
            C[k] = C[k] + A[k + 2]
"""


@pytest.mark.parametrize(
    ("consumers", "extent", "redirected"),
    [
        ((), 16, {"x", "y", "z"}),
        (("x", "z"), 16, {"x", "z"}),
        (("y", "z"), 15, {"y", "z"}),
        (("z",), 14, {"z"}),
        ("y", 15, {"y"}),
    ],
)
def test_consumers(consumers: str | tuple[str, ...], extent: int, redirected: set[str]) -> None:
    s = accepted(THREE, lambda s: s.cache_read("A", "shared", consumer_blocks=consumers))
    assert f'A_shared = T.alloc_buffer(({extent},), "float32", scope="shared")' in body(s) or len(redirected) < 3
    assert s.buffer("A_shared").shape[0].value == extent  # type: ignore[attr-defined]
    parts = body(s).split("with T.sblock(")[1:]
    assert {p[1] for p in parts if "A_shared[" in p.splitlines()[1].split("=")[1]} == redirected
    first = min(body(s).index(f'sblock("{b}")') for b in redirected)
    assert body(s).index("A_shared[ax0] = ") < first


def test_one_copy_for_some_statements_in_the_middle() -> None:
    s = accepted(THREE, lambda s: s.cache_read("y", 0, "shared", consumer_blocks=["y", "z"]))
    assert (
        body(s)
        == """\
    for i in range(16):
        with T.sblock("x"):
            B[i] = A[i] * T.float32(2.0)
    A_shared = T.alloc_buffer((15,), "float32", scope="shared")
    for ax0 in range(15):
        with T.sblock("A_shared"):
            A_shared[ax0] = A[ax0 + 1]
    for j in range(15):
        with T.sblock("y"):
            C[j] = A_shared[14 - j] * T.float32(2.0)
    for k in range(14):
        with T.sblock("z"):
            C[k] = C[k] + A_shared[k + 1]
"""
    )


def test_a_consumer_that_is_overwritten_before() -> None:
    text = THREE.replace("    for k in", "    A[{}] = 7.0\n    for k in")
    accepted(text.format(1), lambda s: s.cache_read("A", "shared", consumer_blocks=["x", "z"]))
    refused(
        text.format(2), lambda s: s.cache_read("A", "shared", consumer_blocks=["x", "z"]),
        "what writes A without going through A_shared comes after its last read",
    )  # fmt: skip
    accepted(text.format(2), lambda s: s.cache_read("A", "shared", consumer_blocks=["x", "y"]))
    accepted(text.format(2), lambda s: s.cache_read("A", "shared", consumer_blocks="z"))


# ------------------------------------------------------------------------------------------------------------- places

PLACES: dict[str, tuple[str, Callable[[Schedule], object], list[str]]] = {
    "after the last writer": (
        """
    t = T.alloc_buffer((16,), "float32")
    for i in range(16):
        t[i] = A[i] * 2.0
    for j in range(16):
        B[j] = t[j]
    for k in range(16):
        B[k] = B[k] + t[15 - k]
""", lambda s: s.cache_read("t", "local"),
        ["t[i] = A[i]", "t_local[ax0] = t[ax0]", "B[j] = t_local[j]", "B[k] + t_local[15 - k]"],
    ),
    "before the first writer": (
        """
    for i in range(16):
        B[i] = A[i]
    for j in range(16):
        A[j] = 0.0
""", lambda s: s.cache_read("A", "local"), ["A_local[ax0] = A[ax0]", "B[i] = A_local[i]", "A[j] = "],
    ),
    "between two writers": (
        """
    A[0] = 1.0
    for i in range(16):
        B[i] = A[i]
    A[1] = 2.0
""", lambda s: s.cache_read("A", "local"), ["A[0] = ", "A_local[ax0] = ", "B[i] = A_local[i]", "A[1] ="],
    ),
    "overwritten after it was read": (
        """
    for i in range(15):
        A[i] = A[i + 1] * 2.0
""", lambda s: s.cache_read("A", "local"), ["A_local[ax0] = A[ax0 + 1]", "A[i] = A_local[i]"],
    ),
    "read and written": (
        """
    for i in range(15):
        A[i + 1] = A[i] * 2.0
""", lambda s: s.cache_write("A", "local"),
        ["A_local[ax0] = A[ax0]", "A_local[i + 1] = A_local[i]", "A[ax0] = A_local[ax0]"],
    ),
    "a local buffer": (
        """
    t = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("t"):
            t[i] = A[i] * 2.0
    for j in range(16):
        B[j] = t[j]
""", lambda s: s.cache_write("t", 0, "local"), ["t_local[i] = A[i]", "t[ax0] = t_local[ax0]", "B[j] = t[j]"],
    ),
    "a view": (
        """
    V = T.decl_buffer((4, 4), "float32", data=A.data)
    for i, j in T.grid(4, 4):
        B[4 * i + j] = V[j, i] + A[i]
""", lambda s: s.cache_read("V", "local"), ["V_local[ax0, ax1] = V[ax0, ax1]", "= V_local[j, i] + A[i]"],
    ),
    "a view that is written": (
        """
    V = T.decl_buffer((4, 4), "float32", data=B.data)
    for i, j in T.grid(4, 4):
        V[j, i] = A[4 * i + j]
""", lambda s: s.cache_write("V", "local"), ["V_local[j, i] = A[", "V[ax0, ax1] = V_local[ax0, ax1]"],
    ),
    "vectors": (
        """
    for i in range(4):
        B[i * 4:i * 4 + 4] = A[i * 4:i * 4 + 4] * T.Broadcast(T.float32(2), 4)
""", lambda s: (s.cache_read("A", "local", "i"), s.cache_write("B", "local", "i")),
        ["(4,)", "(4,)", "A_local[ax0] = A[ax0 + 4 * i]", "B_local[0:4] = A_local[T.Ramp(0, 1, 4)]"],
    ),
    "a window with gaps": (
        """
    for i in range(2):
        for j in range(4):
            B[i * 4 + j] = A[i * 8 + j * 2]
""", lambda s: s.cache_read("A", "local", "i"), ["(7,)", "A_local[ax0] = A[ax0 + 8 * i]", "= A_local[2 * j]"],
    ),
    "under a condition": (
        """
    for i in range(16):
        if B[0] < 1.0:
            for j in range(3):
                if i + j < 16:
                    B[i] = A[i + j]
""", lambda s: s.cache_read("A", "local", "i"), ["if ax0 + i < 16:", "A_local[ax0] = A[ax0 + i]", "= A_local[j]"],
    ),
    "a window that sticks out at both ends": (
        """
    for y in range(16):
        for w in range(3):
            if 1 <= y + w and y + w < 17:
                B[y] = A[y + w - 1]
""", lambda s: s.cache_read("A", "local", "y"),
        ["(3,)", "if y + ax0 >= 1 and y + ax0 < 17:", "A_local[ax0] = A[ax0 + (y - 1)]", "= A_local[w]"],
    ),
    "windows that are larger than the buffer": (
        """
    for y in range(16):
        for w in range(3):
            if 1 <= y + w and y + w < 17:
                B[y] = A[y + w - 1]
""", lambda s: s.cache_read("A", "local"), ["(16,)", "A_local[ax0] = A[ax0]", "= A_local[y + w - 1]"],
    ),
    "nothing": (
        """
    for i in range(0):
        B[i] = A[i]
""", lambda s: (s.cache_read("A", "local"), s.cache_write("B", "local")), ["(0,)", "B_local[i] = A_local[i]"],
    ),
    "one": (
        """
    for i in range(1):
        B[i] = A[i]
""", lambda s: (s.cache_read("A", "wmma.matrix_a"), s.cache_write("B", "wmma.accumulator")),
        ["B_wmma_accumulator[i] = A_wmma_matrix_a[i]"],
    ),
    "an index from memory": (
        """
    for i in range(16):
        T.assume(0.0 <= A[0])
        B[T.if_then_else(A[i] < 1.0, 1, 0)] = A[i]
""", lambda s: s.cache_write("B", "local"), ["(16,)", "B_local[ax0] = B[ax0]", "B_local[T.if_then_else("],
    ),
}  # fmt: skip


@pytest.mark.sample(14)
@pytest.mark.parametrize("name", PLACES)
def test_places(name: str) -> None:
    text, steps, parts = PLACES[name]
    head = '@T.prim_func\ndef f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):'
    s = accepted(head + text, steps)
    rest = body(s)
    for part in parts:
        assert part in rest, f"{part}\n{body(s)}"
        rest = rest.split(part, 1)[1]


def test_scalars() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((), "float32")):
    for i in range(4):
        B[i] = A[()]
        C[()] = B[i]
"""
    s = accepted(text, lambda s: (s.cache_read("A", "local"), s.cache_write("C", "local")))
    assert "C_local[()] = B[i]" in s.script() and "B[i] = A_local[()]" in s.script()


def test_symbolic_tiles() -> None:
    text = """
@T.prim_func
def f(a: T.handle, b: T.handle, n: T.int32, m: T.int32):
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            B[i, j] = A[i, j] + 1.0
"""
    accepted(text, lambda s: (s.cache_read("A", "local"), s.cache_write("B", "local")))

    def tiles(s: Schedule) -> None:
        _, outer, _, _ = s.tile("i", "j", factors=[4, 4])
        s.cache_read("B", 0, "wmma.matrix_a", outer)
        s.cache_write("B", 0, "wmma.accumulator", outer)

    s = accepted(text, tiles)
    assert s.script().count("if ax0 + 4 * i_0 < n and ax1 + 4 * j_0 < m:") == 2


@pytest.mark.parametrize(
    ("statements", "claim"),
    [
        ("A[i + 1] = A[i] * 2.0", "what writes A without going through A_local comes after its last read"),
        ("A[i] = 1.0\n        B[i] = A[i]", "what writes A without going through A_local comes after its last read"),
    ],
)
def test_a_copy_that_is_not_up_to_date_when_it_is_read(statements: str, claim: str) -> None:
    head = (
        '@T.prim_func\ndef f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):\n    for i in range(15):\n'
    )
    refused(head + f"        {statements}\n", lambda s: s.cache_read("A", "local"), claim)
