"""LoopPartition: loops are cut where their guards change."""

from __future__ import annotations

import pytest

from tests.lower.lower_support import gives, lowered
from tests.lower.test_removals import program
from verified_tir.lower.loop_partition import LoopPartition
from verified_tir.lower.simplify import Simplify

TILED = """
for i in range((n + 3) // 4):
    for j in range(4):
        if i * 4 + j < n:
            A[i * 4 + j] = T.float32(0.0)
"""
SYMBOLIC = 'A: T.Buffer(("n",), "float32"), n: T.int32'


def test_a_tail() -> None:
    gives(program(TILED, SYMBOLIC), LoopPartition(max_cuts=1), """
for i, j in T.grid(n // 4, 4):
    A[i * 4 + j] = T.float32(0.0)
for i in range(n // 4, (n + 3) // 4):
    for j in range(4):
        if i * 4 + j < n:
            A[i * 4 + j] = T.float32(0.0)
""")  # fmt: skip
    again, _ = lowered(program(TILED, SYMBOLIC), LoopPartition() >> LoopPartition())
    once, _ = lowered(program(TILED, SYMBOLIC), LoopPartition())
    assert again.after.body is not None and str(len(again.derivation)) == str(len(once.derivation))


def test_both_borders() -> None:
    text = """
for i in range(8):
    if 1 <= i and i < 7:
        B[i] = A[i - 1] + A[i + 1]
    else:
        B[i] = 0.0
"""
    gives(program(text), LoopPartition() >> Simplify(), """
B[0] = T.float32(0.0)
for i in range(1, 7):
    B[i] = A[i - 1] + A[i + 1]
B[7] = T.float32(0.0)
""")  # fmt: skip


def test_an_initialisation_at_the_first_iteration() -> None:
    text = """
for i in range(8):
    if i == 0:
        B[0] = 0.0
    B[0] = B[0] + A[i]
"""
    gives(program(text), LoopPartition(), """
B[0] = T.float32(0.0)
B[0] = B[0] + A[0]
for i in range(1, 8):
    B[0] = B[0] + A[i]
""")  # fmt: skip


def test_the_cut_is_clamped_where_the_range_may_be_empty() -> None:
    params = 'A: T.Buffer(("n",), "float32"), B: T.Buffer((1,), "float32"), n: T.int32'
    text = "for i in range(n):\n    if i == 0:\n        B[0] = 0.0\n    B[0] = B[0] + A[i]"
    gives(program(text, params), LoopPartition(), """
for i in range(T.min(1, n)):
    B[0] = T.float32(0.0)
    B[0] = B[0] + A[i]
for i in range(T.min(1, n), n):
    B[0] = B[0] + A[i]
""")  # fmt: skip


def test_conditions_that_no_cut_decides() -> None:
    for condition in ("i % 2 == 0", "A[i] > T.float32(0.0)", "i * i < 9"):
        text = f"for i in range(8):\n    if {condition}:\n        B[i] = T.float32(0.0)"
        gives(program(text), LoopPartition(), text)


def test_nothing_is_cut_off_at_the_end() -> None:
    """What is true everywhere is no reason for a cut; ``Simplify`` takes it away."""
    params = 'A: T.Buffer(("n",), "float32"), n: T.int32'
    text = "for i in range(n):\n    if i < n + 1:\n        A[i] = T.float32(0.0)"
    gives(program(text, params), LoopPartition(), text)
    gives(program(text, params), Simplify(), "for i in range(n):\n    A[i] = T.float32(0.0)")


def test_other_kinds_stay() -> None:
    text = "for i in T.vectorized(8):\n    if i < 3:\n        B[i] = T.float32(0.0)"
    gives(program(text), LoopPartition(), text)
    gives(program(text.replace("vectorized", "parallel")), LoopPartition(), """
for i in T.parallel(3):
    B[i] = T.float32(0.0)
""")  # fmt: skip


def test_hints() -> None:
    plain = "for i in range(8):\n    if i < 3:\n        A[i] = T.float32(0.0)\n    B[i] = A[i]"
    gives(program(plain), LoopPartition(only_hinted=True), plain)
    hinted = plain.replace("range(8)", 'T.serial(8, annotations={"pragma_loop_partition_hint": 1})')
    gives(program(hinted), LoopPartition(only_hinted=True), """
for i in range(3):
    A[i] = T.float32(0.0)
    B[i] = A[i]
for i in range(3, 8):
    B[i] = A[i]
""")  # fmt: skip


def test_the_padding_of_a_convolution() -> None:
    """One guard of several comparisons, over two loops: in the middle none is left."""
    text = """
for i in range(8):
    for di in range(3):
        if 1 <= i + di and i + di < 9:
            B[i] = B[i] + A[i + di - 1]
"""
    gives(program(text), LoopPartition(), """
for di in range(1, 3):
    B[0] = B[0] + A[di - 1]
for i in range(1, 7):
    for di in range(3):
        B[i] = B[i] + A[i + di - 1]
for di in range(2):
    B[7] = B[7] + A[di + 6]
""")  # fmt: skip


@pytest.mark.nightly
def test_a_boundary_that_moves() -> None:
    text = "for i in range(8):\n    for j in range(4):\n        if {}:\n            C[i, j] = T.float32(0.0)"
    square = 'C: T.Buffer((8, 4), "float32"), n: T.int32'
    gives(program(text.format("i + j < 5 and j < n"), square), LoopPartition(), """
for i, j in T.grid(2, T.max(0, T.min(n, 4))):
    C[i, j] = T.float32(0.0)
for i in range(2, 8):
    for j in range(T.max(0, T.min(n, T.max(0, 5 - i)))):
        C[i, j] = T.float32(0.0)
""")  # fmt: skip
    gives(program(text.format("i + j == 5"), square), LoopPartition(), """
for i in range(2, 6):
    C[i, 5 - i] = T.float32(0.0)
""")  # fmt: skip
    gives(program(text.format("i + j > 3 or n > 0"), square), LoopPartition(), """
for i in range(4):
    for j in range(4 - i):
        if i + j > 3 or n > 0:
            C[i, j] = T.float32(0.0)
    for j in range(4 - i, 4 - i + i):
        C[i, j] = T.float32(0.0)
for i in range(4, 8):
    for j in range(4):
        C[i, j] = T.float32(0.0)
""")  # fmt: skip


def test_a_cut_after_which_nothing_is_simpler_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the solver gives up."""
    text = "for i in range(8):\n    if i < 3:\n        B[i] = T.float32(0.0)"
    for name in ("drop_conjuncts", "simplify"):
        monkeypatch.setattr(f"verified_tir.lower.loop_partition.{name}", lambda session, path: 0)
    gives(program(text), LoopPartition(), text)


def test_the_number_of_cuts_is_limited() -> None:
    text = "for i in range(8):\n    if i < 3:\n        A[i] = 1.0\n    if i < 5:\n        B[i] = 2.0"
    notes = gives(program(text), LoopPartition(max_cuts=1), """
for i in range(3):
    A[i] = T.float32(1.0)
    B[i] = T.float32(2.0)
for i in range(3, 8):
    if i < 5:
        B[i] = T.float32(2.0)
""")  # fmt: skip
    assert notes == ["stopped after 1 cuts (max_cuts)"]


def test_likely_conditions() -> None:
    text = "for i, j in T.grid(5, 4):\n    if T.likely(i * 4 + j < 16):\n        B[i * 4 + j] = T.float32(1.0)"
    params = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")'
    gives(program(text, params), LoopPartition(), "for i, j in T.grid(4, 4):\n    B[i * 4 + j] = T.float32(1.0)")


@pytest.mark.parametrize("likely", [True, False])
def test_choices_in_expressions(*, likely: bool) -> None:
    """Those marked are looked at; a padding of each row need not make the code three times as long."""
    condition = "T.likely(i < 5)" if likely else "i < 5"
    text = f"for i in range(8):\n    B[i] = T.if_then_else({condition}, A[i], T.float32(0.0))"
    cut = "for i in range(5):\n    B[i] = A[i]\nfor i in range(5, 8):\n    B[i] = T.float32(0.0)"
    gives(program(text), LoopPartition(), cut if likely else text)
    hinted = text.replace("range(8)", 'T.serial(8, annotations={"pragma_loop_partition_hint": 1})')
    gives(program(hinted), LoopPartition(only_hinted=True), cut)


def test_one_iteration_of_its_own() -> None:
    text = "for i in range(8):\n    B[i] = T.Select(T.likely(i == 5), A[i], T.float32(0.0))"
    gives(program(text), LoopPartition(), """
for i in range(5):
    B[i] = T.float32(0.0)
B[5] = A[5]
for i in range(6, 8):
    B[i] = T.float32(0.0)
""")  # fmt: skip
