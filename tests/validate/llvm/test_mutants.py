"""Texts with one thing changed: never equal, and different wherever an input shows it."""

from __future__ import annotations

import re

import pytest

from tests.validate.llvm.llvm_support import program, texts
from verified_tir.ir.func import PrimFunc
from verified_tir.validate.llvm import validate_llvm
from verified_tir.validate.verdict import Different, Equal, Unknown

TWO = 'A: T.Buffer((8,), "{0}"), B: T.Buffer((8,), "{0}"), C: T.Buffer((8,), "{0}")'
PROGRAMS = {
    "sums": program(TWO.format("float32"), "for i in range(8):\n    C[i] = A[i] * B[i] + C[i]"),
    "differences": program(TWO.format("float32"), "for i in range(8):\n    C[i] = A[i] - B[7 - i]"),
    "fused": program(TWO.format("float32"), "for i in T.vectorized(8):\n    C[i] = T.fma(A[i], B[i], C[i])"),
    "guarded": program(TWO.format("float32"), "for i in range(8):\n    if A[i] < B[i]:\n        C[i] = A[i]"),
    "ordered": program(TWO.format("float32"), "for i in range(8):\n    C[i] = T.max(A[i], B[i])"),
    "shifts": program(TWO.format("int32"), "for i in range(8):\n    C[i] = (A[i] >> 3) * B[i]"),
    "divisions": program(TWO.format("int32"), "for i in range(8):\n    C[i] = T.truncdiv(A[i], 7)"),
    "casts": program(
        'A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "float32")',
        'for i in range(8):\n    C[i] = T.Cast("float32", A[i])',
    ),
    "wide": program(
        'A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int64")', 'for i in range(8):\n    C[i] = T.Cast("int64", A[i])'
    ),
    "masked": program(
        'A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")',
        "m: T.let[T.int32] = 5\n"
        "C.vstore([T.Ramp(0, 1, 8)], A.vload([T.Ramp(0, 1, 8)], predicate=T.Ramp(0, 1, 8) < T.Broadcast(m, 8)), "
        "predicate=T.Ramp(0, 1, 8) < T.Broadcast(m, 8))",
    ),
    "reversed": program(TWO.format("float32"), "for i in T.vectorized(8):\n    C[7 - i] = A[i]\n"),
    "asked": program(TWO.format("float32"), "C[0:4] = A[T.Ramp(3, -1, 4)]"),
}

MUTANTS = [
    ("sums", r"fadd (float|<)", r"fsub \1"),
    ("sums", r"(fadd [^%]*)(%[\w.]+), (%[\w.]+)", r"\1\2, \2"),
    ("sums", r"(fmul [^%]*)(%[\w.]+), (%[\w.]+)", r"\1\3, \3"),
    ("sums", r"\n  store ", "\n  ;store "),
    ("sums", r"= fadd (float) (%[\w.]+), (%[\w.]+)", r"= fadd \1 \2, 0.000000e+00"),
    ("sums", r"br i1 (%[\w.]+), label (%[\w.]+), label (%[\w.]+)", r"br i1 \1, label \3, label \2"),
    ("sums", r"icmp slt i64 (%\w+), 8", r"icmp slt i64 \1, 7"),
    ("sums", r"icmp slt i64 (%\w+), 8", r"icmp slt i64 \1, 9"),
    ("sums", r"getelementptr inbounds float, ptr (%\S+), i64 (%\w+)", r"getelementptr float, ptr \1, i32 1"),
    ("differences", r"fsub ([^%]*)(%[\w.]+), (%[\w.]+)", r"fsub \1\3, \2"),
    ("differences", r"<i32 7, i32 6,", "<i32 6, i32 6,"),
    ("fused", r"(@llvm.fma.v8f32\(<8 x float> )(%\w+)(, <8 x float> )(%\w+)(, <8 x float> )(%\w+)", r"\1\6\3\4\5\2"),
    ("guarded", r"fcmp olt", "fcmp ole"),
    ("guarded", r"fcmp olt", "fcmp ult"),
    ("guarded", r"fcmp olt", "fcmp ogt"),
    ("ordered", r"fcmp ogt", "fcmp oge"),
    ("ordered", r"fcmp ogt", "fcmp ugt"),
    ("ordered", r"(@vtir.order.max.float32\(float )(%\w+)(, float )(%\w+)", r"\1\4\3\2"),
    ("shifts", r"ashr", "lshr"),
    ("shifts", r"(ashr [^,]*), 3", r"\1, 4"),
    ("shifts", r"mul i32", "mul nsw i32"),
    ("divisions", r"sdiv", "udiv"),
    ("divisions", r"sdiv i32", "sdiv exact i32"),
    ("casts", r"sitofp", "uitofp"),
    ("casts", r"sitofp", "uitofp nneg"),
    ("wide", r"sext", "zext"),
    ("wide", r"sext", "zext nneg"),
    ("masked", r"i1 false, i1 false, i1 false>", "i1 true, i1 false, i1 false>"),
    ("masked", r"i1 true, i1 true, i1 false", "i1 true, i1 false, i1 false"),
    ("asked", r"i32 3, i32 2, i32 1, i32 0", "i32 3, i32 1, i32 2, i32 0"),
    ("asked", r"i32 3, i32 2, i32 1, i32 0", "i32 3, i32 2, i32 1, i32 poison"),
    ("asked", r"(load <4 x float>, ptr %A.0, align) 4", r"\1 16"),
]


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize("name, old, new", MUTANTS, ids=[f"{n}: {o} -> {w}" for n, o, w in MUTANTS])
def test_a_mutant_is_different(name: str, old: str, new: str) -> None:
    found = [m for m in (_mutant(PROGRAMS[name], k, old, new) for k in (0, 1)) if m is not None]
    assert found, texts(PROGRAMS[name])
    for text in found:
        verdict = validate_llvm(PROGRAMS[name], text).verdict
        assert isinstance(verdict, Different), f"{verdict}\n{text}"


def _mutant(func: PrimFunc, which: int, old: str, new: str) -> str | None:
    text, times = re.subn(old, new, texts(func)[which], count=1)
    return text if times and text != texts(func)[which] else None


@pytest.mark.parametrize("flag", ["fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"])
def test_fast_math_is_refused(flag: str) -> None:
    text = texts(PROGRAMS["sums"])[0].replace("fadd float", f"fadd {flag} float")
    verdict = validate_llvm(PROGRAMS["sums"], text).verdict
    assert isinstance(verdict, Unknown)
    assert f"the fast-math flag '{flag}'" in verdict.reason


@pytest.mark.parametrize(
    "name, old, new, reason",
    [
        ("sums", r"fadd float (%\w+), (%\w+)", r"call float @llvm.fmuladd.f32(float \1, float \2, float \2)", "fused"),
        ("sums", r"fadd float (%\w+), (%\w+)", r"call float @llvm.minnum.f32(float \1, float \2)", "zero"),
        ("sums", r"align 4$", "align 4, !range !{i32 0, i32 1}", "LLVM refuses the text"),
        ("sums", r"nounwind \"target-cpu\"", 'nounwind "denormal-fp-math"="preserve-sign" "target-cpu"', "denormal"),
        ("sums", r"(store float %\w+, ptr %\w+)", r"\1, align 4, !nontemporal !9 ;", "nontemporal"),
        ("ordered", "define linkonce_odr", "define weak", "weak"),
        ("ordered", "alwaysinline", "alwaysinline convergent", "convergent"),
        ("sums", r"= load float", "= load volatile float", "volatile"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_refused(name: str, old: str, new: str, reason: str) -> None:
    text, times = re.subn(old, new, texts(PROGRAMS[name])[0], count=1, flags=re.MULTILINE)
    assert times
    verdict = validate_llvm(PROGRAMS[name], text + "\n!9 = !{i32 1}\n").verdict
    assert isinstance(verdict, Unknown)
    assert reason in verdict.reason


def test_a_contracted_product_is_different() -> None:
    """One rounding in place of two."""
    text, times = re.subn(
        r"(%\w+) = fmul float (%\w+), (%\w+)\n((?:.*\n)*?)  (%\w+) = fadd float \1, (%\w+)",
        r"\4  \5 = call float @llvm.fma.f32(float \2, float \3, float \6)",
        texts(PROGRAMS["sums"])[0],
    )
    assert times
    assert isinstance(validate_llvm(PROGRAMS["sums"], text).verdict, Different)


@pytest.mark.parametrize(
    "name, old, new",
    [
        ("sums", r"fadd ([^%]*)(%[\w.]+), (%[\w.]+)", r"fadd \1\3, \2"),
        ("sums", r"fmul ([^%]*)(%[\w.]+), (%[\w.]+)", r"fmul \1\3, \2"),
        ("sums", r"= fmul float (%\w+), (%\w+)", r"= call float @llvm.fma.f32(float \1, float \2, float -0.0)"),
        ("shifts", r"mul ([^%]*)(%[\w.]+), (%[\w.]+)", r"mul \1\3, \2"),
        ("divisions", r"sdiv i32 (%\w+), 7", r"sdiv i32 \1, 7"),
        ("guarded", r"fcmp olt float (%\w+), (%\w+)", r"fcmp ogt float \2, \1"),
    ],
)  # fmt: skip
def test_what_means_the_same_is_equal(name: str, old: str, new: str) -> None:
    text, times = re.subn(old, new, texts(PROGRAMS[name])[0])
    assert times
    verdict = validate_llvm(PROGRAMS[name], text).verdict
    assert isinstance(verdict, Equal), f"{verdict}\n{text}"
