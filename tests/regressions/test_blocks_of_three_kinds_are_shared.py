"""Found by reading: ``StorageRewrite`` crashed where three groups of buffers share a block each.

Finding: codegen | crash | AssertionError in lower/storage_rewrite.py:_share_group
"""

from __future__ import annotations

import numpy as np

from tests.parts.lowered import assert_lowers_alike
from verified_tir import parse_func


def test_three_scopes_share_one_block_each() -> None:
    lines = []
    for k, scope in enumerate(("global", "global", "local", "local", "shared", "shared")):
        lines += [
            f'    t{k} = T.alloc_buffer((4,), "int32", scope="{scope}")',
            "    for i in range(4):", f"        t{k}[i] = A[i] + {k}",
            "    for i in range(4):", f"        B[i] = B[i] + t{k}[i]",
        ]  # fmt: skip
    head = '@T.prim_func\ndef main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):\n'
    given = {"A": np.arange(4, dtype=np.int32), "B": np.zeros(4, np.int32)}
    assert assert_lowers_alike(parse_func(head + "\n".join(lines)), [given], "StorageRewrite()")
