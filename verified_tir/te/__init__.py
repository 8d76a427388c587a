"""Tensor expressions: define tensors by what their elements are, schedule them, and get a theorem (RFC 39's front end).

::

    from verified_tir import build, te

    A = te.placeholder((16, 64, 128), name="A")
    B = te.compute(A.shape, lambda i, j, k: 2 * A[i, j, k], name="B")
    s = te.create_schedule(B.op)
    i_outer, jk_merged, i_inner = s[B].transform_layout(lambda i, j, k: [i // 4, 128 * j + k, i % 4])
    s[B].reorder(i_outer, i_inner, jk_merged)
    theorem = te.lower(s, [A, B])
    f = build(theorem)

The names are TVM's.  Definitions and directives are written down as they are called; :func:`lower` writes the program
that the definitions say, carries out the directives on it, and every one of them is proved.
"""

from __future__ import annotations

from verified_tir.index.map import AXIS_SEPARATOR
from verified_tir.te.errors import TEError
from verified_tir.te.function import create_prim_func
from verified_tir.te.lower import lower, to_schedule
from verified_tir.te.math import *  # noqa: F403
from verified_tir.te.math import __all__ as _math
from verified_tir.te.reduction import (
    CommReducer,
    Reduce,
    comm_reducer,
    max,
    max_value,
    min,
    min_value,
    prod,
    reduce_axis,
    sum,
)
from verified_tir.te.schedule import TESchedule, create_schedule
from verified_tir.te.stage import Stage, thread_axis
from verified_tir.te.tensor import Tensor, compute, placeholder, size_var, var

__all__ = [  # noqa: PLE0604
    "AXIS_SEPARATOR", "CommReducer", "Reduce", "Stage", "TEError", "TESchedule", "Tensor", "comm_reducer", "compute",
    "create_prim_func", "create_schedule", "lower", "max", "max_value", "min", "min_value", "placeholder", "prod",
    "reduce_axis", "size_var", "sum", "thread_axis", "to_schedule", "var", *_math,
]  # fmt: skip
