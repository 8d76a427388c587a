"""A licence that comes late: steps that need no bits of the sum are proved again, and the sum is then split."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.schedule.schedule_support import not_applicable
from verified_tir import Schedule
from verified_tir.derivation.assumptions import reassociated

BODY = """
    for i, k in T.grid(4, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi] * T.float32(2)
"""
PASSED = (
    "@T.prim_func\ndef f(A: T.Buffer((4, 8), 'float32'), B: T.Buffer((4,), 'float32'), "
    "C: T.Buffer((4,), 'float32')):" + BODY
)
LOCAL = (
    "@T.prim_func\ndef f(A: T.Buffer((4, 8), 'float32'), C: T.Buffer((4,), 'float32')):\n"
    "    B = T.alloc_buffer((4,), 'float32')" + BODY
)
SEVEN = PASSED.replace("8)", "7)")

Step = Callable[[Schedule], object]
STEPS: dict[str, tuple[str, Step]] = {
    "cache_write": (PASSED, lambda s: s.cache_write("B", 0, "local")),
    "cache_read": (PASSED, lambda s: s.cache_read("C", 0, "local")),
    "reverse_compute_at": (LOCAL, lambda s: s.reverse_compute_at("C", s.loops("B")[0])),
    "pad_einsum": (SEVEN, lambda s: s.pad_einsum("B", [1, 4])),
    "transform_layout": (LOCAL, lambda s: s.transform_layout("B", lambda i: [i // 2, i % 2])),
    "decompose_reduction": (PASSED, lambda s: s.decompose_reduction("B", s.loops("B")[1])),
    "split": (PASSED, lambda s: s.split(s.loops("B")[1], [None, 3])),
    "parallel": (PASSED, lambda s: s.parallel(s.loops("B")[0])),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", STEPS)
def test_steps_that_need_no_bits(name: str) -> None:
    text, step = STEPS[name]
    s = Schedule(text)
    step(s)
    s.rfactor(s.loops("B")[-1], reassociate="B")
    assert reassociated(s.theorem) == ["B"]


def test_what_runs_again_is_not_summed_in_two_orders() -> None:
    def both(s: Schedule) -> None:
        s.compute_at("B", s.loops("C")[0])
        s.rfactor(s.loops("B")[-1], reassociate="B")

    not_applicable(LOCAL, both, "the recomputed statement sums into a licensed block: its two sums could differ")


@pytest.mark.parametrize("word", ["C_local", "C"])
def test_the_word_may_name_the_copy_that_a_step_made(word: str) -> None:
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 4):
        with T.block("update"):
            C[i] = C[i] + A[i, k]
""")
    s.cache_write("update", 0, "local")
    s.rfactor(s.loops("update")[1], reassociate=word)
    assert [b.name for b in s.steps[0].before.buffers if b.data in s.theorem.reassociated] == ["C"]
