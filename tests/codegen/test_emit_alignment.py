"""What is promised of addresses: an element lies where its type may lie, not where its block does."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.codegen.emit_support import TARGET, check
from verified_tir.codegen.emit import emit
from verified_tir.ir.script import parse_func

LOCAL = """
@T.prim_func
def f(A: T.Buffer((64,), "{dtype}"), B: T.Buffer((32,), "{dtype}"), n: T.int32):
    t = T.alloc_buffer((64,), "{dtype}")
    for i in range(64):
        t[i] = A[i]
    B[0:16] = t[n:n + 16]
    t[n:n + 8] = A[0:8]
    for i in range(16):
        B[16 + i] = t[n + i]
"""


@pytest.mark.parametrize(("dtype", "bytes_"), [("int8", 1), ("float16", 2), ("float32", 4), ("float64", 8)])
def test_vectors_begin_at_any_element_of_a_local_buffer(dtype: str, bytes_: int) -> None:
    text = LOCAL.format(dtype=dtype)
    found = re.findall(r"(?:load|store) .*?, align (\d+)", emit(parse_func(text), TARGET).text)
    assert found and max(map(int, found)) <= bytes_
    for n in (0, 1, 3):
        check(text, A=np.arange(64).astype(dtype), B=np.zeros(32, dtype), n=n)
