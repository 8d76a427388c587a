"""``Function.pack`` filled "padding" in a layout that has none: a constant predicate was taken for an index.

Found by the acceptance suite, which packs what it unpacked (a rotation with a ``pad_value``).  Neither the kernel nor
the validator looks at ``pack``: it works on arrays, before the program is called.
"""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Schedule, build

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        C[i] = A[i] + T.float32(1)
"""


@pytest.mark.parametrize("name", ["A", "C"])
def test_a_rotation_loses_no_element(name: str) -> None:
    s = Schedule(PROGRAM)
    s.transform_layout(name, lambda i: [(i + 1) % 8], pad_value=0.0)
    function = build(s)
    array = np.arange(1, 9, dtype=np.float32)
    packed = function.pack(name, array)
    assert packed.tolist() == [8, 1, 2, 3, 4, 5, 6, 7]
    assert function.unpack(name, packed).tolist() == array.tolist()


def test_padding_is_still_filled() -> None:
    s = Schedule(PROGRAM)
    s.transform_layout("A", lambda i: [i // 5, i % 5], pad_value=7.0)
    assert build(s).pack("A", np.zeros(8, np.float32)).tolist() == [[0] * 5, [0, 0, 0, 7, 7]]
