"""Steps of reductions that the other program has taken already.

Both programs mostly add the same products to the same sums.  A step of many sums at once is looked up as a whole, by
the terms that go in, before it is built; what is found is what building it again would give, since terms are shared.
"""

from __future__ import annotations

from typing import Final, final

import numpy as np

from verified_tir.ir.dtype import DType
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import Ids

_MOST_BYTES: Final = 1 << 28


@final
class Folds:
    """Remembers the results of operations on arrays of terms, whatever the order of their rows."""

    def __init__(self, build: Builder) -> None:
        self.build = build
        self._known: dict[tuple[str, DType, bytes, bytes], Ids] = {}
        self._bytes = 0

    def binary(self, op: str, dtype: DType, a: Ids, b: Ids) -> Ids:
        """``a op b``, of arrays of one shape."""
        order = np.argsort(a, axis=None, kind="stable")
        x, y = a.reshape(-1)[order], b.reshape(-1)[order]
        key = (op, dtype, x.tobytes(), y.tobytes())
        found = self._known.get(key)
        if found is None:
            found = self.build.binary(op, dtype, x, y)
            self._bytes += 3 * found.nbytes
            if self._bytes <= _MOST_BYTES:
                self._known[key] = found
        else:
            self.build.operations += found.size
        result: Ids = np.empty(order.size, dtype=np.int64)
        result[order] = found
        return result.reshape(a.shape)
