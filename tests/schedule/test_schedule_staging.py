"""cache_read, cache_write, compute_at: where the copies stand, what they hold, and what is refused."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import accepted, not_applicable, refused
from verified_tir import Schedule

MATMUL = """
@T.prim_func
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def body(s: Schedule) -> str:
    """The statements, without the head."""
    return s.script().split("):\n", 1)[1] + "\n"


def tiled(s: Schedule) -> None:
    i0, i1 = s.split("i", [None, 4])
    j0, j1 = s.split("j", [None, 4])
    s.reorder(i0, j0, "k", i1, j1)
    s.cache_write("C", "C", "local", j0)
    s.cache_read("C", "A", "shared", i0)
    s.cache_read("C", "B", name="whole")


def test_a_tiled_product_on_copies() -> None:
    s = accepted(MATMUL, tiled)
    assert (
        body(s)
        == """\
    whole = T.alloc_buffer((8, 8), "float32")
    for ax0, ax1 in T.grid(8, 8):
        with T.sblock("whole"):
            whole[ax0, ax1] = B[ax0, ax1]
    for i_0 in range(2):
        A_shared = T.alloc_buffer((4, 8), "float32", scope="shared")
        for ax0, ax1 in T.grid(4, 8):
            with T.sblock("A_shared"):
                A_shared[ax0, ax1] = A[ax0 + 4 * i_0, ax1]
        for j_0 in range(2):
            C_local = T.alloc_buffer((4, 4), "float32", scope="local")
            for k, i_1, j_1 in T.grid(8, 4, 4):
                with T.sblock("C"):
                    if k == 0:
                        C_local[i_1, j_1] = T.float32(0.0)
                    C_local[i_1, j_1] = C_local[i_1, j_1] + A_shared[i_1, k] * whole[k, j_0 * 4 + j_1]
            for ax0, ax1 in T.grid(4, 4):
                with T.sblock("C_local_back"):
                    C[ax0 + 4 * i_0, ax1 + 4 * j_0] = C_local[ax0, ax1]
"""
    )


def test_what_is_only_partly_written_is_copied_in() -> None:
    s = accepted(
        """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("B"):
            if A[i] > 0:
                B[i] = A[i]
""",
        lambda s: s.cache_write("B", "B"),
    )
    assert (
        body(s)
        == """\
    B_global = T.alloc_buffer((8,), "int32")
    for ax0 in range(8):
        with T.sblock("B_global"):
            B_global[ax0] = B[ax0]
    for i in range(8):
        with T.sblock("B"):
            if A[i] > 0:
                B_global[i] = A[i]
    for ax0 in range(8):
        with T.sblock("B_global_back"):
            B[ax0] = B_global[ax0]
"""
    )


HALO = """
@T.prim_func
def f(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32"), n: T.int32):
    for i in range(n):
        with T.block("B"):
            B[i] = T.if_then_else(0 < i and i < n - 1, A[i - 1] + A[i + 1], A[i])
"""


def test_a_halo_is_cut_where_the_buffer_ends() -> None:
    def steps(s: Schedule) -> None:
        outer, _ = s.split("i", [None, 4])
        s.cache_read("B", "A", "shared", outer)

    fixed = HALO.replace(", n: T.int32", "").replace("(n,)", "(10,)").replace("range(n)", "range(10)")
    s = accepted(fixed.replace("n - 1", "9"), steps)
    assert "A_shared = T.alloc_buffer((6,)" in s.script()
    assert "if 4 * i_0 + ax0 >= 1 and 4 * i_0 + ax0 < 11:" in s.script(), s.script()


def test_an_index_from_memory_takes_the_whole_dimension() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((8, 8), "float32"), P: T.Buffer((8,), "int32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            T.assume(0 <= P[i] and P[i] < 8)
            B[i, j] = A[P[i], j]
"""
    s = accepted(text, lambda s: s.cache_read("B", "A", loop="i"))
    assert "A_global = T.alloc_buffer((8, 8)" in s.script()


def test_the_place_is_after_the_last_writer() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    t = T.alloc_buffer((8,), "float32")
    for i in range(4):
        for j in range(8):
            with T.block("t"):
                t[j] = A[i, j] * 2.0
        for j in range(8):
            with T.block("B"):
                B[i, j] = t[7 - j]
"""
    s = accepted(text, lambda s: s.cache_read("B", "t"))
    assert s.script().index('T.alloc_buffer((8,), "float32")') < s.script().index("for i in range(4)")
    assert body(s).index("t_global = ") > body(s).index("t[j] = ")


def test_symbolic_extents() -> None:
    text = """
@T.prim_func
def f(a: T.handle, b: T.handle, n: T.int32, m: T.int32):
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            B[i, j] = A[i, j] + 1.0
"""
    s = accepted(text, lambda s: (s.cache_read("B", "A", loop="i"), s.cache_write("B", "B", loop="i")))
    assert 'T.alloc_buffer((1, m), "float32") as A_global' in s.script()


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (lambda s: s.cache_read("C", "C", loop="q"), "there is no loop called 'q'"),
        (lambda s: s.cache_read("C", "X"), "block C does not use X"),
        (lambda s: s.cache_read("D", "C"), "there is no block called 'D'"),
        (lambda s: s.cache_write("C", ("write", 3)), "block C has no write buffer number 3"),
    ],
)
def test_what_is_not_there(steps: object, reason: str) -> None:
    not_applicable(MATMUL, steps, reason)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------- compute_at

BLUR = """
@T.prim_func
def f(A: T.Buffer((18, 6), "float32"), B: T.Buffer((16, 6), "float32")):
    t = T.alloc_buffer((18, 6), "float32")
    for i, j, k in T.grid(18, 6, 3):
        with T.block("t"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                t[vi, vj] = 0.0
            t[vi, vj] = t[vi, vj] + A[vi, vj] * T.Cast("float32", vk)
    for y, x in T.grid(16, 6):
        with T.block("B"):
            vy, vx = T.axis.remap("SS", [y, x])
            B[vy, vx] = t[vy, vx] + t[vy + 2, vx]
"""


def rows(s: Schedule) -> None:
    outer, _ = s.split("y", [None, 4])
    s.compute_at("t", outer)


def test_rows_are_computed_where_they_are_used() -> None:
    s = accepted(BLUR, rows)
    assert (
        body(s)
        == """\
    for y_0 in range(4):
        t = T.alloc_buffer((6, 6), "float32")
        for i, j, k in T.grid(6, 6, 3):
            with T.sblock("t"):
                if k == 0:
                    t[i, j] = T.float32(0.0)
                t[i, j] = t[i, j] + A[i + 4 * y_0, j] * T.Cast("float32", k)
        for y_1, x in T.grid(4, 6):
            with T.sblock("B"):
                B[y_0 * 4 + y_1, x] = t[y_1, x] + t[y_1 + 2, x]
"""
    )
    assert [type(step.rule).__name__ for step in s.theorem.derivation][1:6] == [
        "Recompute", "Erase", "Move", "Couple", "Rewrite",
    ]  # fmt: skip


def test_at_any_depth() -> None:
    for loop in ("y", "x"):
        s = accepted(BLUR, lambda s, loop=loop: s.compute_at("t", loop))  # type: ignore[misc]
        assert f"T.alloc_buffer((3, {6 if loop == 'y' else 1})" in s.script(), s.script()


def test_elements_beyond_the_producers_are_not_computed() -> None:
    """The consumer's last tile would need more than there is; a guard keeps to what ran."""
    text = BLUR.replace("T.grid(16, 6)", "T.grid(14, 6)").replace("B[vy, vx] = t", "B[vy, vx] = t")
    s = accepted(text, rows)
    assert "4 * y_0" in s.script()


def test_what_something_else_reads_stays() -> None:
    more = BLUR.replace("T.grid(16, 6)", "T.grid(14, 6)") + "    B[0, 0] = t[17, 5]\n"
    accepted(more.replace("t[17, 5]", "t[0, 5]"), lambda s: s.compute_at("t", "y"))  # it was computed again, too
    refused(
        more,
        lambda s: s.compute_at("t", "y"),
        "the store to t is dead: no later read sees it",
    )


def test_inputs_that_change_on_the_way() -> None:
    more = BLUR.replace('        with T.block("B"):', '        A[17, 5] = 1.0\n        with T.block("B"):')
    refused(
        more,
        lambda s: s.compute_at("t", "y"),
        "what is recomputed was not overwritten since: no dependence between the read and the write of A",
    )


def test_producers_that_do_not_fit() -> None:
    not_applicable(BLUR, lambda s: s.compute_at("t", "i"), "stand in no two statements of one sequence")
    other = BLUR.replace("t[vy, vx] + t[vy + 2, vx]", "A[vy, vx]")
    not_applicable(other, lambda s: s.compute_at("t", "y"), "the loop over y does not read t")


def test_a_parameter_is_not_moved_away() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            B[i] = A[i]
    for j in range(8):
        with T.block("C"):
            C[j] = B[j]
"""
    not_applicable(text, lambda s: s.compute_at("B", "j"), "B outlives the function")
