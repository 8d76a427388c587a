"""What the executor makes of each instruction, given constants, is what machine code does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.validate.llvm.llvm_support import kernel, program
from verified_tir.ir.dtype import DType
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.semantics.interpreter.outcome import same_bits
from verified_tir.validate.concrete import contents
from verified_tir.validate.interface import Side
from verified_tir.validate.llvm.graph import Graph
from verified_tir.validate.llvm.jit import Job, execute
from verified_tir.validate.llvm.parser import parse
from verified_tir.validate.llvm.session import run_kernel
from verified_tir.validate.llvm.validator import printed
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import UNDEF_ID, Terms

COUNT = 24
MEMORY = {"int8": "i8", "int32": "i32", "int64": "i64", "float16": "half", "float32": "float", "float64": "double"}
KINDS = ("small", "ends", "bits", "normal")


def inputs(dtype: DType, seed: int) -> np.ndarray[Any, Any]:
    """Small numbers, awkward ones, any bits."""
    rng = np.random.default_rng(seed)
    parts = [contents(dtype, (COUNT // len(KINDS),), kind, rng) for kind in KINDS]
    return np.concatenate(parts)


def run_both(source: str, result: str, operation: str, *, more: str = "", amounts: bool = False) -> int:
    """Both results of an operation on %x and %y to %z, for many inputs; how many of them are defined."""
    one, other = MEMORY[source], MEMORY[result]
    lines = []
    for k in range(COUNT):
        text = operation
        for name in ("t", "u", "x", "y", "z"):
            text = text.replace(f"%{name}", f"%{name}{k}")
        lines += [
            f"%p{k} = getelementptr {one}, ptr %A, i64 {k}", f"%x{k} = load {one}, ptr %p{k}",
            f"%q{k} = getelementptr {one}, ptr %B, i64 {k}", f"%y{k} = load {one}, ptr %q{k}",
            *text.split("\n"), f"%r{k} = getelementptr {other}, ptr %C, i64 {k}", f"store {other} %z{k}, ptr %r{k}",
        ]  # fmt: skip
    text = printed(kernel("ptr %A, ptr %B, ptr %C", *lines, more=more))
    kinds = (
        f'A: T.Buffer(({COUNT},), "{source}"), B: T.Buffer(({COUNT},), "{source}"), C: T.Buffer(({COUNT},), "{result}")'
    )
    func = program(kinds, "C[0] = C[0]")
    a, b = inputs(DType.parse(source), 1), np.roll(inputs(DType.parse(source), 2), 3)
    if amounts:
        b = (b % 8).astype(b.dtype)
    out = np.zeros(COUNT, numpy_dtype(DType.parse(result)))
    terms = Terms()
    given = {}
    for k, (array, name) in enumerate(((a, source), (b, source), (out, result))):
        dtype = DType.parse(name)
        given[k] = np.array([terms.constant(dtype, v.item()) for v in array])
    left = run_kernel(parse(text), Side.of(func, {}), Graph(Builder(terms)), limit=100_000, contents=given)
    assert left.undefined is None
    ids = left.memory[2].reshape(-1)
    done = execute(Job(text, (a.view(np.uint8), b.view(np.uint8), out.view(np.uint8))))
    ran = done.blocks[2].view(out.dtype)
    for k, term in enumerate(ids.tolist()):
        if term != UNDEF_ID:
            found = np.array([terms.value(term)], dtype=out.dtype)
            assert same_bits(found, ran[k : k + 1])[0], (
                f"{operation}: {a[k]!r}, {b[k]!r} is {found[0]!r}, not {ran[k]!r}"
            )
    return int((ids != UNDEF_ID).sum())


@pytest.mark.nightly
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_integer_arithmetic(dtype: str) -> None:
    kind = MEMORY[dtype]
    for op in ("add", "sub", "mul", "and", "or", "xor"):
        assert run_both(dtype, dtype, f"%z = {op} {kind} %x, %y") == COUNT
    for op in ("udiv", "sdiv", "urem", "srem"):
        assert run_both(dtype, dtype, f"%t = or {kind} %y, 1\n%u = and {kind} %t, 63\n%z = {op} {kind} %x, %u") == COUNT
    for op in ("shl", "lshr", "ashr"):
        assert run_both(dtype, dtype, f"%z = {op} {kind} %x, %y", amounts=True) == COUNT


@pytest.mark.parametrize("flag", ["add nsw", "add nuw", "sub nsw", "sub nuw", "mul nsw", "mul nuw", "or disjoint"])
def test_what_flags_forbid_is_undefined(flag: str) -> None:
    assert 0 < run_both("int8", "int8", f"%z = {flag} i8 %x, %y") < COUNT


@pytest.mark.parametrize("flag", ["shl nsw", "shl nuw", "lshr exact", "ashr exact"])
def test_what_flags_of_shifts_forbid_is_undefined(flag: str) -> None:
    assert 0 < run_both("int8", "int8", f"%z = {flag} i8 %x, %y", amounts=True) < COUNT


@pytest.mark.parametrize("word", ["eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"])
def test_integer_comparisons(word: str) -> None:
    assert run_both("int32", "int8", f"%t = icmp {word} i32 %x, %y\n%z = zext i1 %t to i8") == COUNT


ORDERED = ("oeq", "ogt", "oge", "olt", "ole", "one", "ord")
UNORDERED = ("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true", "false")


@pytest.mark.nightly
@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_float_comparisons(dtype: str) -> None:
    for word in (*ORDERED, *UNORDERED):
        assert run_both(dtype, "int8", f"%t = fcmp {word} {MEMORY[dtype]} %x, %y\n%z = sext i1 %t to i8") == COUNT


@pytest.mark.nightly
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_float_arithmetic(dtype: str) -> None:
    kind, suffix = MEMORY[dtype], f"f{DType.parse(dtype).bits}"
    for op in ("fadd", "fsub", "fmul", "fdiv"):
        assert run_both(dtype, dtype, f"%z = {op} {kind} %x, %y") == COUNT
    assert run_both(dtype, dtype, f"%z = fneg {kind} %x") == COUNT
    for name in ("sqrt", "floor", "ceil", "trunc", "roundeven", "round", "fabs"):
        call = f"call {kind} @llvm.{name}.{suffix}({kind} %x)"
        more = f"declare {kind} @llvm.{name}.{suffix}({kind})"
        assert run_both(dtype, dtype, f"%z = {call}", more=more) == COUNT


@pytest.mark.parametrize("name", ["minimum", "maximum", "copysign"])
def test_float_intrinsics_of_two(name: str) -> None:
    more = f"declare float @llvm.{name}.f32(float, float)"
    assert run_both("float32", "float32", f"%z = call float @llvm.{name}.f32(float %x, float %y)", more=more) == COUNT


@pytest.mark.parametrize("source, result, operation", [
    ("int32", "int8", "trunc i32 %x to i8"), ("int8", "int32", "zext i8 %x to i32"),
    ("int8", "int64", "sext i8 %x to i64"),
    ("int32", "float32", "sitofp i32 %x to float"), ("int32", "float32", "uitofp i32 %x to float"),
    ("int64", "float64", "uitofp i64 %x to double"), ("float32", "float64", "fpext float %x to double"),
    ("float64", "float32", "fptrunc double %x to float"), ("float16", "float32", "fpext half %x to float"),
    ("int32", "float32", "bitcast i32 %x to float"), ("int64", "float64", "bitcast i64 %x to double"),
])  # fmt: skip
def test_casts(source: str, result: str, operation: str) -> None:
    assert run_both(source, result, f"%z = {operation}") == COUNT


@pytest.mark.parametrize("operation", ["fptosi float %x to i32", "fptoui float %x to i32"])
def test_casts_that_do_not_fit_are_undefined(operation: str) -> None:
    assert 0 < run_both("float32", "int32", f"%z = {operation}") < COUNT


@pytest.mark.parametrize("call", [
    "i32 @llvm.smin.i32(i32 %x, i32 %y)", "i32 @llvm.smax.i32(i32 %x, i32 %y)", "i32 @llvm.umin.i32(i32 %x, i32 %y)",
    "i32 @llvm.umax.i32(i32 %x, i32 %y)", "i32 @llvm.ctpop.i32(i32 %x)", "i32 @llvm.ctlz.i32(i32 %x, i1 false)",
    "i32 @llvm.cttz.i32(i32 %x, i1 false)", "i32 @llvm.bswap.i32(i32 %x)", "i32 @llvm.bitreverse.i32(i32 %x)",
    "i32 @llvm.abs.i32(i32 %x, i1 false)", "i32 @llvm.fshl.i32(i32 %x, i32 %y, i32 5)",
    "i32 @llvm.fshr.i32(i32 %x, i32 %y, i32 37)", "i32 @llvm.usub.sat.i32(i32 %x, i32 %y)",
    "i32 @llvm.uadd.sat.i32(i32 %x, i32 %y)",
])  # fmt: skip
def test_integer_intrinsics(call: str) -> None:
    assert run_both("int32", "int32", f"%z = call {call}") == COUNT


@pytest.mark.parametrize("name", ["sadd", "uadd", "ssub", "usub", "smul", "umul"])
def test_overflows(name: str) -> None:
    call = f"call {{i32, i1}} @llvm.{name}.with.overflow.i32(i32 %x, i32 %y)"
    assert (
        run_both("int32", "int8", f"%t = {call}\n%u = extractvalue {{i32, i1}} %t, 1\n%z = zext i1 %u to i8") == COUNT
    )
    assert run_both("int32", "int32", f"%t = {call}\n%z = extractvalue {{i32, i1}} %t, 0") == COUNT


@pytest.mark.parametrize("operation", [
    "%t = insertelement <4 x i32> <i32 1, i32 2, i32 3, i32 4>, i32 %x, i64 2\n"
    "%u = shufflevector <4 x i32> %t, <4 x i32> zeroinitializer, <2 x i32> <i32 2, i32 5>\n"
    "%z = extractelement <2 x i32> %u, i64 0",
    "%t = insertelement <2 x i32> <i32 7, i32 9>, i32 %x, i64 1\n%u = bitcast <2 x i32> %t to i64\n"
    "%z = trunc i64 %u to i32",
    "%t = insertelement <4 x i32> splat (i32 5), i32 %x, i64 3\n"
    "%z = call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> %t)",
    "%t = insertelement <4 x i32> splat (i32 5), i32 %x, i64 3\n"
    "%z = call i32 @llvm.vector.reduce.smax.v4i32(<4 x i32> %t)",
    "%t = icmp slt i32 %x, 3\n%z = select i1 %t, i32 %x, i32 %y",
    "%t = icmp eq i32 %x, 1\n%u = xor i1 %t, true\n%z = zext i1 %u to i32",
    "%t = freeze i32 %x\n%z = add i32 %t, %y",
])  # fmt: skip
def test_vectors_and_choices(operation: str) -> None:
    assert run_both("int32", "int32", operation) == COUNT
