"""Threads used local memory from outside of their loop, behind an access to it that no thread gets to.

Found by mutation: that a buffer was noted as asked about once could be left out, and nothing changed.  The one question
asked was about the first access, and an access under a condition that is never true is not an access.
"""

from __future__ import annotations

import pytest

from verified_tir import Refuted, Schedule

TEXT = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), n: T.int32):
    t = T.alloc_buffer((4,), "int32", scope="{scope}")
    for i in range(4):
        t[i] = 7
    for tx in T.thread_binding(4, thread="{thread}"):
        if n > 5 and n < 3:
            A[tx] = t[0]
        A[tx] = {read}
"""


@pytest.mark.parametrize(("scope", "thread"), [("local", "threadIdx.x"), ("shared", "blockIdx.x")])
def test_each_access_to_private_memory_counts(scope: str, thread: str) -> None:
    with pytest.raises(Refuted, match="each has its own"):
        Schedule(TEXT.format(scope=scope, thread=thread, read="t[tx]"))
    Schedule(TEXT.format(scope=scope, thread=thread, read="n"))
