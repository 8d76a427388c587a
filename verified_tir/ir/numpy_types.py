"""Types of numpy that hold the values of ours."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from verified_tir.ir.dtype import DType


@cache
def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """numpy's type for one lane of ``dtype`` (bool for bool; ml_dtypes' bfloat16)."""
    if dtype.code == "bfloat":
        import ml_dtypes  # noqa: F401 (numpy then knows bfloat16)

    if dtype.is_bool:
        return np.dtype(np.bool_)
    return np.dtype(f"{dtype.code}{dtype.bits}")
