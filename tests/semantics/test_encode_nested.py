"""The encoding agrees with the interpreter on nested expressions, of scalars and of vectors, drawn at random.

Variables, loads (of vector elements too, at computed indices), ``T.undef()``, lets, lazy operators and index arithmetic
meet in one expression here.  The last test holds the sampling to account: results defined and undefined and many kinds
of undefined behaviour must have come up.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.nightly import few
from tests.semantics.encode_agreement import Sample, disagreement, interpreted
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, FLOAT16, FLOAT32, INT32, INT64, DType
from verified_tir.ir.expr import Var
from verified_tir.logic.solver import Solver
from verified_tir.semantics.values import UNDEF
from verified_tir.testing import Scope, expressions, numbers, scalars
from verified_tir.testing.dtypes import SCALARS

SIZE = 3
VARIABLES = tuple(
    Var.fresh(name, t)
    for name, t in [("i", INT32), ("j", INT32), ("n", INT64), ("u", DType("uint", 8)), ("p", BOOL), ("x", FLOAT32)]
)
BUFFERS = tuple(
    Buffer.declare(f"b_{t}", (SIZE,), t)
    for t in (DType("int", 8), INT32, DType("uint", 16), BOOL, FLOAT16, FLOAT32, FLOAT32.with_lanes(2))
)
SCOPE = Scope(VARIABLES, BUFFERS, undef=True, meaningful=False)
TYPES = [t.with_lanes(lanes) for t in SCALARS for lanes in (1, 1, 2, 3)]

SOLVER = Solver()
OPERATORS: Counter[tuple[str, str]] = Counter()
RESULTS: Counter[str] = Counter()


@st.composite
def samples(draw: st.DrawFn, depth: int) -> Sample:
    """An expression of any type, and values for all that it may mention."""
    expr = draw(expressions(draw(st.sampled_from(TYPES)), SCOPE, depth=depth))
    values = {v: draw(numbers(v.dtype)) for v in VARIABLES}
    elements = {b: tuple([draw(scalars(b.dtype.scalar)) for _ in range(SIZE * b.dtype.lanes)]) for b in BUFFERS}
    return Sample(expr, values, elements)


@cache
def compare(depth: int) -> None:
    """The comparison of ``test_expression``, once in a process."""

    @settings(
        max_examples=few(15, 60),
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(samples(depth))
    def both_meanings_agree(sample: Sample) -> None:
        result = interpreted(sample)
        trouble = disagreement(SOLVER, [sample], counts=OPERATORS)
        assert trouble is None, trouble
        RESULTS.update([result] if isinstance(result, str) else ["undef" if v is UNDEF else "defined" for v in result])

    both_meanings_agree()


DEPTHS = (2, 3, 4)


@pytest.mark.parametrize("depth", DEPTHS)
def test_expression(depth: int) -> None:
    compare(depth)
