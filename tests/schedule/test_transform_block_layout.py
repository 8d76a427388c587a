"""transform_block_layout: a block's iteration variables mapped to others; reorder_block_iter_var."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import Steps, accepted, not_applicable, refused
from verified_tir import IndexMap

TWICE = """
@T.prim_func
def f(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
    for i, j in T.grid(4, 6):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
"""

SUM = """
@T.prim_func
def f(A: T.Buffer((4, 2, 3), "float32"), B: T.Buffer((4,), "float32")):
    for i, r, q in T.grid(4, 2, 3):
        with T.sblock("B"):
            vi, vr, vq = T.axis.remap("SRR", [i, r, q])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vr, vq]
"""


def body(script: str) -> str:
    return script.split("):\n", 1)[1]


@pytest.mark.parametrize("given", [lambda i, j: (i * 6 + j,), IndexMap.from_func(lambda i, j: [i * 6 + j], 2)])
def test_two_variables_become_one(given: object) -> None:
    s = accepted(TWICE, lambda s: s.transform_block_layout("B", given))
    assert body(s.script()) == (
        "    for ax0 in range(24):\n"
        '        with T.sblock("B"):\n'
        "            B[ax0 // 6, ax0 % 6] = A[ax0 // 6, ax0 % 6] * T.float32(2.0)"
    )


def test_one_becomes_several_with_a_condition_where_there_are_holes() -> None:
    s = accepted(TWICE, lambda s: s.transform_block_layout("B", lambda i, j: [j // 4, i, j % 4]))
    assert body(s.script()) == (
        "    for ax0, ax1, ax2 in T.grid(2, 4, 4):\n"
        "        if ax0 != 1 or ax2 < 2:\n"
        '            with T.sblock("B"):\n'
        "                B[ax1, 4 * ax0 + ax2] = A[ax1, 4 * ax0 + ax2] * T.float32(2.0)"
    )


def test_constants_add_loops_that_run_once_and_handles_stay_good() -> None:
    def steps(s):  # type: ignore[no-untyped-def]
        i, j = s.get_loops("B")
        s.transform_block_layout("B", lambda i, j: (0, j, i))
        s.vectorize(i)
        assert s.get_loops("B")[1:] == [s._session.current(j), s._session.current(i)]

    s = accepted(TWICE, steps)
    assert body(s.script()) == (
        "    for ax0, ax1 in T.grid(1, 6):\n"
        "        for ax2 in T.vectorized(4):\n"
        '            with T.sblock("B"):\n'
        "                B[ax2, ax1] = A[ax2, ax1] * T.float32(2.0)"
    )


def test_a_reduction_keeps_its_order_and_its_initialisation() -> None:
    s = accepted(SUM, lambda s: s.transform_block_layout("B", lambda i, r, q: (i, r * 3 + q)))
    assert body(s.script()) == (
        "    for ax0, ax1 in T.grid(4, 6):\n"
        '        with T.sblock("B"):\n'
        "            if ax1 == 0:\n"
        "                B[ax0] = T.float32(0.0)\n"
        "            B[ax0] = B[ax0] + A[ax0, ax1 // 3, ax1 % 3]"
    )
    s.decompose_reduction("B", s.get_loops("B")[1])  # what it needs is there


def test_another_order_of_a_float_sum_needs_the_users_word() -> None:
    turned = lambda i, r, q: (i, q * 2 + r)  # noqa: E731
    plain = SUM.replace("            with T.init():\n                B[vi] = T.float32(0)\n", "")
    refused(plain, lambda s: s.transform_block_layout("B", turned), "iterations change their order")
    s = accepted(plain.replace("float32", "int32"), lambda s: s.transform_block_layout("B", turned))
    assert "B[ax0] + A[ax0, ax1 % 2, ax1 // 2]" in s.script()


def test_symbolic_extents() -> None:
    """TVM's own case: with a symbolic extent as a factor."""
    text = """
@T.prim_func
def f(A: T.Buffer((T.int64(3), T.int64(5)), "float32"), b: T.handle, c: T.handle, n: T.int64):
    B = T.match_buffer(b, (T.int64(3), n, T.int64(5)), "float32")
    C = T.match_buffer(c, (n * T.int64(3),), "float32")
    for i, j, k in T.grid(T.int64(3), n, T.int64(5)):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi * n + vj] = T.float32(0)
            C[vi * n + vj] = C[vi * n + vj] + A[vi, vk] * B[vi, vj, vk]
"""

    def flat(s):  # type: ignore[no-untyped-def]
        n = s.symbol("n")
        s.transform_block_layout("C", lambda i, j, k: (i * n + j, k))

    s = accepted(text, flat)
    assert "C[ax0] = C[ax0] + A[ax0 // n, ax1] * B[ax0 // n, ax0 % n, ax1]" in s.script()


def test_a_map_that_is_not_injective() -> None:
    not_applicable(TWICE, lambda s: s.transform_block_layout("B", lambda i, j: (i + j,)), "the map sends both")


def test_other_statements_in_the_loops() -> None:
    text = TWICE + "            A[vi, vj] = T.float32(0)\n"
    text += '        with T.sblock("C"):\n            A[i, j] = T.float32(1)\n'
    not_applicable(
        text, lambda s: s.transform_block_layout("B", lambda i, j: (j, i)), "other statements share the loops"
    )


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda s: s.transform_block_layout("B", lambda i: i), "the function takes 1 indices"),
        (lambda s: s.transform_block_layout("B", 7), "is a function or an IndexMap, not 7"),
        (lambda s: s.transform_block_layout("B", IndexMap.identity(3)), "block B has 2 iteration variables (i, j)"),
        (lambda s: s.transform_block_layout("B", lambda i, j: ["i", j]), "the map of block B"),
        (lambda s: s.transform_block_layout("Q", lambda i, j: [i, j]), "there is no block called 'Q'"),
        (lambda s: (s.parallel("i"), s.transform_block_layout("B", lambda i, j: [j, i])), "is marked parallel"),
        (lambda s: s.reorder_block_iter_var("B", [1]), "does not name each of the 2 iteration variables of block B"),
        (lambda s: s.reorder_block_iter_var("B", [0, 0]), "the new order [0, 0] does not name each"),
        (lambda s: s.reorder_block_iter_var("B", [True, False]), "the new order is a list of numbers"),
        (lambda s: s.reorder_block_iter_var("B", "10"), "the new order is a list of numbers"),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense(step: Steps, reason: str) -> None:
    not_applicable(TWICE, step, reason)


def test_the_order_of_iteration_variables_changes_no_loop() -> None:
    s = accepted(TWICE, lambda s: s.reorder_block_iter_var("B", [1, 0]))
    assert s.func is s.steps[0].after
