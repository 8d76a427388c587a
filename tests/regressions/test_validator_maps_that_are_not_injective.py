"""On demand, nobody asked whether an index map is injective: two elements in one place passed if they were the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from verified_tir import parse_func
from verified_tir.validate import Correspondence, EqualInPart, Unknown, validate

MOST = 1 << 17
FILL = """
@T.prim_func
def f(b: T.handle):
    B = T.match_buffer(b, (512, 512), "float32", strides=({}, 1))
    for i, j in T.grid(512, 512):
        B[i, j] = T.float32(5)
"""


@pytest.mark.parametrize(
    ("moved", "injective"), [(lambda i, j: (i, j // 2), False), (lambda i, j: (511 - i, j ^ 1), True)]
)
def test_an_index_map_has_to_be_injective(moved: Callable[[np.ndarray, np.ndarray], tuple], injective: bool) -> None:
    """On demand as well as in programs that are executed as a whole."""
    program = parse_func(FILL.format(512))
    verdict = validate(program, program, maps={"B": Correspondence(moved)}, most_operations=MOST).verdict
    assert isinstance(verdict, EqualInPart if injective else Unknown)
    assert injective or "is not injective" in str(verdict)


@pytest.mark.parametrize(("stride", "apart"), [(511, False), (520, True)])
def test_strides_keep_elements_apart(stride: int, apart: bool) -> None:
    """They always were asked about."""
    programs = [parse_func(FILL.format(s)) for s in (512, stride)]
    verdict = validate(*programs, most_operations=MOST).verdict
    assert isinstance(verdict, EqualInPart if apart else Unknown)
