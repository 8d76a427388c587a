"""LLVM IR that is to copy an int32, beside the program that does."""

from __future__ import annotations

from verified_tir import parse_func
from verified_tir.validate.llvm import validate_llvm
from verified_tir.validate.verdict import Verdict

COPY = """
@T.prim_func
def f(A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = A[0]
"""


def against_copy(text: str) -> Verdict:
    """What is said of the program and this text."""
    return validate_llvm(parse_func(COPY), text).verdict
