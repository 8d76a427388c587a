"""What has no machine code is refused, in words that say what to do; and what is written into the text."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.codegen.emit_support import TARGET, check
from verified_tir.codegen.compile import assembly, compile_llvm
from verified_tir.codegen.emit import emit
from verified_tir.codegen.errors import CodegenError
from verified_tir.codegen.target import Target
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import FLOAT16, FLOAT64, PointerType
from verified_tir.ir.expr import Binary, Call, Expr, Load, StringImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import DeclBuffer, Evaluate, LetStmt, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.semantics.intrinsics import EXPANDED

A = Buffer.declare("A", (8,), "float32")


def function(body: Stmt, *buffers: Buffer) -> PrimFunc:
    params = [Var.fresh(b.name, PointerType(b.dtype)) for b in buffers or (A,)]
    return PrimFunc("f", tuple(params), tuple(zip(params, buffers or (A,), strict=True)), body)


def refusal(body: Stmt, *buffers: Buffer, target: Target = TARGET) -> str:
    with pytest.raises(CodegenError) as refused:
        emit(function(body, *buffers), target)
    return str(refused.value)


def test_opaque_calls() -> None:
    assert "call_extern" in refusal(Evaluate(Call(A.dtype, "call_extern", (StringImm("puts"),))))
    assert "inline" in refusal(Evaluate(Call(A.dtype, "@g", (A.data,))))


def test_pointers_and_strings_as_values() -> None:
    assert "pointer A" in refusal(Evaluate(A.data))
    assert "string 'x'" in refusal(Evaluate(StringImm("x")))
    pointer = Var.fresh("p", PointerType(A.dtype))
    assert "T.decl_buffer" in refusal(LetStmt(pointer, A.data, Evaluate(const(0))))


def test_what_is_not_declared() -> None:
    other = Buffer.declare("other", (8,), "float32")
    assert "other" in refusal(Store(A, Load(other, (const(0),)), (const(0),)))
    assert "other is declared over" in refusal(DeclBuffer(other, Evaluate(const(0))))
    assert "variable k" in refusal(Store(A, Load(A, (Var.fresh("k"),)), (const(0),)))


def test_a_parameter_without_a_buffer() -> None:
    handle = Var.fresh("h", PointerType(A.dtype))
    with pytest.raises(CodegenError, match=r"parameter h .* T\.match_buffer"):
        emit(PrimFunc("f", (handle,), (), Evaluate(const(0))), TARGET)


def test_every_function_has_a_definition_that_code_can_follow() -> None:
    wide = Buffer.declare("W", (8,), FLOAT64)
    for op in sorted(EXPANDED):
        args: tuple[Expr, ...] = (Load(wide, (const(0),)),) * PURE_CALLS[op].arity
        body = Store(wide, Call(FLOAT64, op, args), (const(0),))
        assert "double" in emit(function(body, wide), TARGET).text  # all have one


def test_calls_that_are_no_calls_do_not_come_so_far() -> None:
    x = Load(A, (const(0),))
    with pytest.raises(IRError, match="fma takes 3 arguments, not 2"):
        Call(A.dtype, "fma", (x, x))
    with pytest.raises(IRError, match="popcount takes int operands, not float32"):
        Call(A.dtype, "popcount", (x,))


def test_half_precision_on_a_processor_that_cannot_convert_it() -> None:
    old = Target("x86_64-unknown-linux-gnu", "x86-64", "")
    half = Buffer.declare("H", (8,), FLOAT16)
    x = Load(half, (const(0),))
    assert "F16C" in refusal(Store(half, Binary("add", x, x), (const(1),)), half, target=old)
    compile_llvm(emit(function(Store(half, x, (const(1),)), half), old).text, old)  # a copy needs no conversion


def test_views_of_another_type_on_a_target_without_pointer_casts() -> None:
    rigid = replace(TARGET, pointer_casts=False)
    turned = Buffer.declare("turned", (4, 2), "float32", data=A.data, strides=(1, 4))
    bits = Buffer.declare("bits", (8,), "int32", data=A.data)
    pairs = Buffer.declare("pairs", (4,), "float32x2", data=A.data)
    emit(function(DeclBuffer(turned, Store(turned, const(0, "float32"), (const(0), const(1))))), rigid)
    for view in (bits, pairs):
        emit(function(DeclBuffer(view, Evaluate(const(0)))), TARGET)
        said = refusal(DeclBuffer(view, Evaluate(const(0))), target=rigid)
        assert view.name in said and "no pointer casts" in said


@pytest.mark.nightly
def test_expressions_nested_deeply() -> None:
    """What can be built at all can be emitted; beyond that there is a message."""
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(100_000)
        for depth in (800, 20_000):
            total: Expr = Load(A, (const(0),))
            for _ in range(depth):
                total = Binary("add", Load(A, (const(1),)), total)
            sys.setrecursionlimit(1000)
            if depth == 800:
                assert emit(function(Store(A, total, (const(0),))), TARGET).text.count("fadd") == 800
                sys.setrecursionlimit(100_000)
            else:
                assert "nests expressions too deeply" in refusal(Store(A, total, (const(0),)))
    finally:
        sys.setrecursionlimit(limit)


def test_text_that_llvm_refuses() -> None:
    with pytest.raises(CodegenError, match="LLVM refuses"):
        compile_llvm("define void @f() {", TARGET)


# ---------------------------------------------------------------------------------------------- what the text says


def text_of(program: str, target: Target = TARGET) -> str:
    return emit(parse_func(program), target).text


def test_no_fast_math_and_no_contraction() -> None:
    program = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i] * A[i] + B[i] / 3.0
"""
    text = text_of(program)
    assert not re.search(r"\b(fast|nnan|ninf|nsz|arcp|contract|afn|reassoc)\b", text)
    assert "llvm.fma" not in text and "fmuladd" not in text
    assert not re.search(r"vfn?m(add|sub)", assembly(text, TARGET))


def test_index_arithmetic_is_marked_exact_and_data_is_not() -> None:
    text = text_of("""
@T.prim_func
def f(A: T.Buffer((64,), "int32"), n: T.int32):
    for i in range(4):
        A[i * 3 + n] = A[i] * 3 + A[n] - n
""")
    assert text.count("mul nsw i64") == 1 and text.count("mul i32") == 1
    assert not re.search(r"(mul|add|sub) nsw i32", text)


def test_what_looks_like_index_arithmetic_but_is_data_wraps() -> None:
    """One operand that is data makes an operation data, even a constant one or one that is not evaluated."""
    for data in (
        'T.Cast("int32", T.int8(5)) + 3', 'T.Cast("int32", T.int8(0)) + n', 'n * T.Cast("int32", T.int8(1))',
        "T.if_then_else(True, n, A[0])", "T.if_then_else(T.Cast('bool', 1), n, 3)", "T.Select(True, n, A[0])",
    ):  # fmt: skip
        program = f"""
@T.prim_func
def f(A: T.Buffer((64,), "int32"), n: T.int32):
    A[0] = ({data}) * n - n
"""
        assert "nsw" not in text_of(program), data
        check(program, A=np.zeros(64, np.int32), n=2**31 - 1)


def test_parameters_do_not_alias_and_read_only_ones_say_so() -> None:
    text = text_of("""
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    B[0] = A[0]
""")
    head = next(line for line in text.splitlines() if "define" in line)
    assert head.count("noalias") == 2 and head.count("readonly") == 1
    assert "dereferenceable(32)" in head


def test_disjoint_views_of_a_workspace_do_not_alias() -> None:
    """X and Y are disjoint, Z overlaps both, and the rest of the workspace is nobody's."""
    program = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), n: T.int32):
    W = T.alloc_buffer((64,), "float32")
    X = T.decl_buffer((8,), "float32", data=W.data)
    Y = T.decl_buffer((4, 2), "float32", data=W.data, strides=(2, 1), elem_offset=8)
    Z = T.decl_buffer((8,), "float32", data=W.data, elem_offset=4)
    U = T.decl_buffer((n,), "float32", data=W.data, elem_offset=40)
    for i in range(8):
        X[i] = A[i]
    for i in range(8):
        Y[i // 2, i % 2] = X[i] + X[0]
        U[i] = Y[i // 2, i % 2]
    for i in range(8):
        Z[i] = X[i] * U[i]
    for i in range(8):
        A[i] = X[i] + Y[i // 2, i % 2]
"""
    check(program, A=np.arange(8, dtype=np.float32), n=8)
    lines = text_of(program).splitlines()
    nodes = {n: set(re.findall(r"!\d+", inside)) for n, inside in re.findall(r"(!\d+) = !{(.*)}", "\n".join(lines))}
    noted = re.findall(r"!alias.scope (!\d+), !noalias (!\d+)", "\n".join(lines))
    (x, x_avoids), (y, y_avoids) = [(nodes[own], nodes[others]) for own, others in sorted(set(noted))]
    assert x <= y_avoids and y <= x_avoids and not x & x_avoids and not y & y_avoids
    plain = [line for line in lines if re.search(r"(load|store) float", line) and "noalias" not in line]
    assert len(plain) == 5  # A twice, U twice, Z once


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_number_of_threads_is_the_targets(threads: int) -> None:
    program = """
@T.prim_func
def f(A: T.Buffer((23,), "int32")):
    for i in T.parallel(23):
        A[i] = A[i] + i
"""
    target = Target.host(threads)
    assert ("@vtir_parallel" in text_of(program, target)) == (threads > 1)
    assert emit(parse_func(program), target).parallel == (threads > 1)
    check(program, target, A=np.arange(23, dtype=np.int32))


@pytest.mark.parametrize("value, whole", [("A[T.Ramp(i * 8, 1, 8)]", False), ("A[i]", True)])
@pytest.mark.parametrize("extent", [1000, 4])
def test_llvms_loop_optimisations_are_run_where_they_help(value: str, whole: bool, extent: int) -> None:
    """Not for long loops over vectors: they take several times as long as all the rest."""
    text = text_of(f"""
@T.prim_func
def f(A: T.Buffer((8000,), "float32")):
    for i in range({extent}):
        {value} = {value} * {value}
""")
    assert ("!vtir.loops" in text) == (whole or extent == 4)


def test_targets() -> None:
    host: Any = Target.host()
    assert host == Target.host() and hash(host) == hash(Target.host())
    assert str(host).startswith(host.cpu)
    with pytest.raises(ValueError, match="at least one thread"):
        Target.host(0)
