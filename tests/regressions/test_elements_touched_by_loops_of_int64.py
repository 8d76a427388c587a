"""``domain_touched`` of a loop of int64 over a buffer with a shape of int32 raised an error about types.

Found by the fuzzer's target ``simplify``, when loops of int64 were drawn for the first time.
"""

from __future__ import annotations

import pytest

from verified_tir import domain_touched

ROWS = """
@T.prim_func
def main(A: T.Buffer((4, {n}), "float32"), B: T.Buffer((8,), "float32"){more}):
    for i in T.serial(T.int64({extent})):
        if i < T.int64(3):
            A[i, {index}] = B[i + T.int64(2)]
    for j in range(2):
        A[j, 1] = B[j]
"""


def test_wide_and_narrow_loops() -> None:
    text = ROWS.format(n=2, extent=4, index=0, more="")
    assert domain_touched(text, "A").elements() == {(0, 0), (1, 0), (2, 0), (0, 1), (1, 1)}
    assert domain_touched(text, "B").elements() == {(0,), (1,), (2,), (3,), (4,)}


@pytest.mark.parametrize("n", [1, 3])
def test_symbols_of_32_bits(n: int) -> None:
    text = ROWS.format(n='"n"', extent=4, index='T.Cast("int64", n) - T.int64(1)', more="")
    wide = domain_touched(text, "A", loop="i")
    assert wide.elements({"n": n}) >= {(k, n - 1) for k in range(3)}
    assert not wide.exact or wide.elements({"n": n}) == {(k, n - 1) for k in range(3)}
