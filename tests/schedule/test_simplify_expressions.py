"""simplify: expressions where conditions around them, or beside them, say more than the ranges of loops."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import accepted
from tests.schedule.test_overcompute import body, buffers, text

ARRAYS = f"{buffers(A='1 bool', B='16x16 int32')}, n: T.int32, m: T.int32"


def simplified(statement: str) -> str:
    s = accepted(text(ARRAYS, statement), lambda s: s.simplify())
    return body(s)


def condition(c: str) -> str:
    return simplified(f"A[0] = {c}").removeprefix("A[0] = ")


@pytest.mark.parametrize(
    ("written", "shorter"),
    [
        ("n < 10 or n < 5", "n < 10"),
        ("n < 5 or n < 10", "n < 10"),
        ("n < 10 and n < 5", "n < 5"),
        ("n < 5 and n < 10", "n < 5"),
        ("n // 2 < m // 2 and n // 2 < m // 2 + 1", "n // 2 < m // 2"),
        ("n < 10 and m < 3 and n < 5", "m < 3 and n < 5"),
        ("n < 10 or n >= 10", "T.bool(True)"),
        ("n < 10 and n > 20", "T.bool(False)"),
    ],
)
def test_a_condition_that_others_imply_goes(written: str, shorter: str) -> None:
    assert condition(written) == shorter


@pytest.mark.parametrize("written", ["n < 10 or m < 5", "n < 5 and n < m", "n < 10 or n > 20", "B[0, 0] < 5 and n < 5"])
def test_another_one_stays(written: str) -> None:
    assert condition(written) == written


def test_a_guard_bounds_the_sum_that_it_is_about() -> None:
    nest = """
for i, j in T.grid(16, 16):
    if i * 16 + j < {end}:
        B[(i * 16 + j) // 255, (i * 16 + j) % 255 // 16] = (i * 16 + j) % 255 % 16
"""
    assert "B[0, i] = j" in simplified(nest.format(end=255))
    assert "B[(i * 16 + j) // 255, (i * 16 + j) % 255 // 16]" in simplified(nest.format(end=256))


def test_of_products_of_integers_the_indices_change() -> None:
    """The solver cannot tell that whole products are equal, since they wrap."""
    arrays = buffers(A="4 int8", B="4 int8", C="4 int32")
    nest = """
for i, u in T.grid(4, 1):
    C[u * 4 + i] = C[u * 4 + i] + T.Cast("int32", A[u + i]) * T.Cast("int32", B[i + u * 2])
"""
    s = accepted(text(arrays, nest), lambda s: s.simplify())
    assert 'C[i] = C[i] + T.Cast("int32", A[i]) * T.Cast("int32", B[i])' in body(s)


def test_a_conversion_to_the_same_type_goes() -> None:
    floats = text(buffers(A="4 float32"), 'A[0] = T.Cast("float32", A[1]) + T.Cast("float32", T.Cast("float16", A[2]))')
    s = accepted(floats, lambda s: s.simplify())
    assert body(s) == 'A[0] = A[1] + T.Cast("float32", T.Cast("float16", A[2]))'
