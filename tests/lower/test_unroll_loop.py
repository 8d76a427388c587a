"""UnrollLoop: marked and short loops become their iterations."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.lower.lower_support import body_of, gives, lowered, refused
from tests.lower.test_removals import program
from verified_tir.ir.visit import bound_vars
from verified_tir.lower.unroll_loop import UnrollLoop


def test_marked_and_short_loops() -> None:
    text = """
for i in T.unroll(3):
    A[i] = A[i] * 2.0
for i in range(2):
    for j in range(1, 3):
        B[i * 4 + j] = 1.0
for i in range(8):
    B[i] = 0.0
"""
    gives(program(text), UnrollLoop(max_extent=2), """
A[0] = A[0] * T.float32(2.0)
A[1] = A[1] * T.float32(2.0)
A[2] = A[2] * T.float32(2.0)
B[1] = T.float32(1.0)
B[2] = T.float32(1.0)
B[5] = T.float32(1.0)
B[6] = T.float32(1.0)
for i in range(8):
    B[i] = T.float32(0.0)
""")  # fmt: skip
    kept = text.replace("T.unroll(3)", "range(3)").replace("0.0", "T.float32(0.0)").replace("1.0", "T.float32(1.0)")
    gives(program(kept), UnrollLoop(), kept.replace("2.0", "T.float32(2.0)"))


def test_empty_and_single_iterations() -> None:
    text = """
for i in T.unroll(0):
    A[i] = 0.0
for i in T.unroll(5, 6):
    A[i] = 0.0
"""
    gives(program(text), UnrollLoop(), "A[5] = T.float32(0.0)")


def test_a_symbolic_start() -> None:
    params = 'A: T.Buffer((8,), "float32"), n: T.int32'
    text = "if n >= 0 and n < 6:\n    for i in T.unroll(n, n + 3):\n        A[i] = 0.0"
    gives(program(text, params), UnrollLoop(), """
if n >= 0 and n < 6:
    A[n] = T.float32(0.0)
    A[n + 1] = T.float32(0.0)
    A[n + 2] = T.float32(0.0)
""")  # fmt: skip


def test_each_copy_has_its_own_allocation() -> None:
    text = """
for i in T.unroll(4):
    t = T.alloc_buffer((2,), "float32")
    for j in range(2):
        t[j] = A[i]
    B[i] = t[1]
"""
    theorem, _ = lowered(program(text), UnrollLoop())
    bound = [v.name for v in bound_vars(theorem.after.body)]
    assert bound.count("t") == 4 and bound.count("j") == 4


def test_vectorized_and_parallel_loops_stay() -> None:
    text = "for i in T.parallel(2):\n    for j in T.vectorized(4):\n        A[i * 4 + j] = T.float32(0.0)"
    gives(program(text), UnrollLoop(max_extent=8), text)


def test_a_symbolic_extent_is_refused() -> None:
    params = 'A: T.Buffer((8,), "float32"), n: T.int32'
    text = "if n <= 8:\n    for i in T.unroll(n):\n        A[i] = 0.0"
    refused(
        program(text, params), UnrollLoop(), "the loop over i is to be unrolled, but its extent n is not a constant"
    )
    gives(program(text.replace("T.unroll(n)", "range(n)"), params), UnrollLoop(max_extent=9), """
if n <= 8:
    for i in range(n):
        A[i] = T.float32(0.0)
""")  # fmt: skip


NEST = """
for i in range(3):
    for j in range(2):
        B[i * 2 + j] = A[i]
"""


@pytest.mark.parametrize(("steps", "loops"), [(6, 0), (5, 1), (2, 1), (1, 2), (0, 2)])
def test_as_many_steps_as_are_allowed(steps: int, loops: int) -> None:
    theorem, _ = lowered(program(NEST), UnrollLoop(auto_max_step=steps))
    assert body_of(theorem).count("for") == loops or (loops == 2 and "T.grid" in body_of(theorem))
    inside = f'with T.attr(0, "pragma_auto_unroll_max_step", {steps}):\n' + indent(NEST.strip(), "    ")
    again, _ = lowered(program(inside), UnrollLoop())
    assert body_of(again) == body_of(theorem)


def test_loops_are_only_marked() -> None:
    marked = NEST.replace("range", "T.unroll")
    gives(program(NEST), UnrollLoop(auto_max_step=6, explicit_unroll=False), marked)
    gives(program(marked), UnrollLoop(explicit_unroll=False), marked)


@pytest.mark.parametrize(("scope", "unrolled"), [("local", True), ("global", False)])
def test_indices_of_registers(scope: str, *, unrolled: bool) -> None:
    text = f"""
t = T.alloc_buffer((2,), "float32", scope="{scope}")
for i in range(2):
    t[i] = A[i]
for i in range(8):
    B[i] = A[i]
B[0] = t[0]
"""
    theorem, _ = lowered(program(text), UnrollLoop(unroll_local_access=True))
    assert ("t[1] = A[1]" in body_of(theorem)) is unrolled and "B[i] = A[i]" in body_of(theorem)
