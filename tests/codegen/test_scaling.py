"""Scaling by powers of two is one instruction where there is one, with the bits of the products that define it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from verified_tir import Schedule, build, parse_func
from verified_tir.codegen.compile import assembly
from verified_tir.codegen.emit import emit
from verified_tir.codegen.runtime import Function
from verified_tir.codegen.target import Target
from verified_tir.ir.dtype import FLOAT32, FLOAT64, INT32
from verified_tir.ir.expr import Binary, Var
from verified_tir.library.kernel import VECTORS
from verified_tir.semantics.intrinsics import EXPANDED, template
from verified_tir.semantics.intrinsics.expansion import steps
from verified_tir.semantics.intrinsics.words import as_scaled, scaled

HOST = Target.host(1)
PLAIN = replace(HOST, features=HOST.features.replace("+avx512dq", "-avx512dq"))
"""The same processor without the instruction."""
OPS = ["exp", "exp2", "sigmoid"]
SIZE = 1 << 20

on_avx512 = pytest.mark.skipif(not HOST.scales, reason="for processors with AVX-512")


def compiled(op: str, dtype: str, lanes: int, target: Target) -> Function:
    """``op`` of a million floats."""
    s = Schedule(parse_func(source(op, dtype)))
    if lanes > 1:
        s.vectorize(s.split("i", [None, lanes])[1])
    return build(s, target, pipeline=VECTORS)


def source(op: str, dtype: str) -> str:
    return f"""
@T.prim_func
def f(A: T.Buffer(({SIZE},), "{dtype}"), B: T.Buffer(({SIZE},), "{dtype}")):
    for i in range({SIZE}):
        B[i] = T.{op}(A[i])
"""


def agree(op: str, dtype: str, lanes: int, numbers: Iterable[np.ndarray]) -> None:
    """Both ways give one result for the numbers of these bits."""
    found = [compiled(op, dtype, lanes, target) for target in (HOST, PLAIN)]
    word = np.dtype(f"uint{np.dtype(dtype).itemsize * 8}")
    for bits in numbers:
        a = bits.astype(word).view(dtype)
        first, second = np.empty_like(a), np.empty_like(a)
        found[0](a, first)
        found[1](a, second)
        same = (first.view(word) == second.view(word)) | (np.isnan(first) & np.isnan(second))
        assert same.all(), (a[~same][:3], first[~same][:3], second[~same][:3])


def test_what_is_scaled_is_recognised_and_nothing_else() -> None:
    x, n, m = Var.fresh("x", FLOAT32), Var.fresh("n", INT32), Var.fresh("m", INT32)
    product, other = scaled(x, n), scaled(x, m)
    assert isinstance(product, Binary) and isinstance(other, Binary)
    assert as_scaled(product) == (x, n)
    assert as_scaled(product.a * other.b) is None, "these are powers of two numbers"
    assert as_scaled(product.a) is None and as_scaled(product * 2.0) is None and as_scaled(x) is None


def test_which_functions_scale() -> None:
    for dtype, ops in ((FLOAT32, {*OPS}), (FLOAT64, {*OPS, "pow", "cosh", "sinh"})):
        assert {op for op in EXPANDED if any(map(as_scaled, steps(template(op, dtype)[1])))} >= ops


@on_avx512
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_instruction_is_there(dtype: str) -> None:
    func = parse_func(source("exp", dtype))
    assert "vscalef" in assembly(emit(func, HOST).text, HOST)
    assert "vscalef" not in assembly(emit(func, PLAIN).text, PLAIN)


@on_avx512
@pytest.mark.parametrize("lanes", [1, 4, 16])
@pytest.mark.parametrize("op", OPS)
def test_float32_on_every_exponent(op: str, lanes: int) -> None:
    patterns = np.arange(SIZE, dtype=np.uint64) * 4096
    inside = np.random.default_rng(1).integers(0, 4096, SIZE, dtype=np.uint64)
    agree(op, "float32", lanes, [patterns, patterns + inside])


@on_avx512
@pytest.mark.nightly
@pytest.mark.parametrize("op", OPS)
def test_every_float32(op: str) -> None:
    agree(op, "float32", 64, (np.arange(k * SIZE, (k + 1) * SIZE, dtype=np.uint64) for k in range(4096)))


@on_avx512
@pytest.mark.parametrize("lanes", [1, 2, 8])
@pytest.mark.parametrize("op", [*OPS, "cosh", "sinh"])
def test_float64_where_results_are_neither_zero_nor_infinite(op: str, lanes: int) -> None:
    numbers = np.random.default_rng(2).uniform(-1080.0 if op == "exp2" else -750.0, 1030.0, SIZE)
    numbers[:9] = [0.0, -0.0, np.inf, -np.inf, np.nan, -745.13321910194122, 709.78271289338397, -1074.5, 5e-324]
    agree(op, "float64", lanes, [numbers.view(np.uint64)])
