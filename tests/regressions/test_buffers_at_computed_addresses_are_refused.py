"""A buffer declared over a pointer that a ``let`` computes was taken for memory of its own: the kernel raised a
``KeyError`` where it was stored to, and a layout that reads through it was not recognised as one that reads memory.

Found by reading, when a side condition of the layout rules looked redundant in the table of mutants.
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule
from verified_tir.schedule.errors import NotApplicable

THROUGH_A_POINTER = """
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    p: T.let[T.handle] = {pointer}
    C = T.decl_buffer((16,), "float32", data=p)
    for i in range(16):
        C[i] = B[i]
    for j in range(16):
        B[j] = A[j]
"""


@pytest.mark.parametrize("pointer", ["T.address_of(A[1])", "T.address_of(A[0])", "T.address_of(B[0])"])
def test_refused_with_the_remedy(pointer: str) -> None:
    with pytest.raises(
        NotApplicable, match="C is declared over p, which is not a block here; declare it over a buffer's own data"
    ):
        Schedule(THROUGH_A_POINTER.format(pointer=pointer))


def test_over_the_data_itself_it_is_a_view() -> None:
    text = THROUGH_A_POINTER.format(pointer="A.data")
    direct = text.replace("    p: T.let[T.handle] = A.data\n", "").replace("data=p", "data=A.data")
    for given in (text, direct):
        s = Schedule(given)
        s.split("i", [None, 4])
