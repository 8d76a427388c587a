"""One accumulation by fused multiply-add, scheduled: no claim about it is left to the bits of a product."""

from __future__ import annotations

from typing import Any

import pytest

from verified_tir import Schedule
from verified_tir.logic import z3_query as module

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((16, 32), "{0}"), B: T.Buffer((32,), "{0}"), C: T.Buffer((16,), "{0}")):
    for i in range(16):
        C[i] = T.{0}(0)
        for k in range(32):
            C[i] = T.fma(A[i, k], B[k], C[i])
"""


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_no_claim_about_an_accumulation_reaches_the_bits(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it stays other than -0.0, for one, or is what it was before: neither is so."""
    answers: list[str] = []
    check = module.check

    def recorded(text: str, *others: Any) -> tuple[str, Any]:
        answer = check(text, *others)
        if "fp.fma" in text:
            answers.append(f"{answer[0]}: {text}")
        return answer

    monkeypatch.setattr(module, "check", recorded)
    s = Schedule(PROGRAM.format(dtype))
    outer, _ = s.split("i", [None, 4])
    s.split("k", [None, 4])
    s.simplify()
    s.remove_no_op()
    s.unroll("k_1")
    s.parallel(outer)
    s.cache_write("C", "local")
    s.remove_no_op()
    assert not answers
