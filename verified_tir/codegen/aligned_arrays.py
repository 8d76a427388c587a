"""Arrays that begin with a line of the cache: a load or a store of a whole vector touches one line, and not two."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

LINE: Final = 64
"""Bytes of a line of the cache, and of the widest vector."""


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A new array, aligned to :data:`LINE` bytes, with elements that are not set; a view of an array of bytes."""
    room = np.empty(math.prod(shape) * dtype.itemsize + LINE, np.uint8)
    start = -room.__array_interface__["data"][0] % LINE
    return np.ndarray(shape, dtype, room, start)
