"""What padding is packed with and compared with, against a program that stores it: random values, random places."""

from __future__ import annotations

import random
from typing import Any

import ml_dtypes  # noqa: F401 (numpy then knows bfloat16)
import numpy as np
import pytest

from tests.nightly import few
from verified_tir.codegen.runtime_layout import evaluate, grid, padded_places
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import For, If, Store
from verified_tir.kernel.memory import Padding
from verified_tir.semantics.interpreter import UndefinedBehaviour, run
from verified_tir.semantics.interpreter.outcome import same_bits

INTEGERS = ("int8", "uint8", "int16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
SIZES = {"n": 5}
ROWS, COLUMNS = 4, 6

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((4, 6), "{dtype}"), n: T.int32):
    for i, j in T.grid(4, 6):
        if {where}:
            A[i, j] = {value}
"""


class Draw:
    """Random expressions; with ``loads``, of floats and elements, too."""

    def __init__(self, seed: int, loads: bool) -> None:
        self.random = random.Random(seed)
        self.loads = loads

    def value(self, dtype: str, depth: int) -> str:
        return self.real(dtype, depth) if dtype in FLOATS else self.integer(dtype, depth)

    def integer(self, dtype: str, depth: int) -> str:
        r = self.random
        bits, signed = int(dtype.strip("uint")), dtype[0] == "i"
        if depth == 0:
            most = (1 << bits - signed) - 1
            least = -most - 1 if signed else 0
            numbers = [0, 1, 2, 3, 7, most, most - 1, least, least + 1, most // 3]
            leaves = [f"T.{dtype}({r.choice(numbers)})", f'T.Cast("{dtype}", {r.choice("ijn")})']
            return r.choice(leaves + (["i", "j", "n"] if dtype == "int32" else []))
        x, y = self.integer(dtype, depth - 1), self.integer(dtype, depth - 1)
        forms = [f"({x} {op} {y})" for op in "+-*&|^"] + [f"T.{op}({x}, {y})" for op in ("min", "max")]
        divisor = f"T.{dtype}({r.choice([1, 2, 3, 5, 100])})"
        forms += [f"({x} {op} {divisor})" for op in ("//", "%")]
        forms += [f"T.{op}({x}, {divisor})" for op in ("truncdiv", "truncmod")]
        forms += [f"({x} {op} T.{dtype}({r.randrange(bits)}))" for op in ("<<", ">>")]
        forms += [f"T.{op}({self.condition(depth - 1)}, {x}, {y})" for op in ("Select", "if_then_else")]
        others = [t for t in INTEGERS + (FLOATS if self.loads else ()) if t != dtype]
        forms += [f'T.Cast("{dtype}", {self.value(r.choice(others), depth - 1)})'] * 3
        return r.choice(forms)

    def real(self, dtype: str, depth: int) -> str:
        r = self.random
        if depth == 0:
            numbers = ["0.0", "-0.0", "1.0", "0.1", "3.0", "-2.5", "60000.0", "1e-6", '"nan"', '"inf"', "2049.0"]
            return r.choice([f"T.{dtype}({r.choice(numbers)})", f'T.Cast("{dtype}", {r.choice("ijn")})'])
        x, y = self.real(dtype, depth - 1), self.real(dtype, depth - 1)
        forms = [f"({x} {op} {y})" for op in "+-*/"] + [f"T.{op}({x}, {y})" for op in ("min", "max")] * 2
        forms += [f"T.{op}({x})" for op in ("abs", "floor", "sqrt", "exp", "nearbyint")]
        forms += [f"T.{op}({self.condition(depth - 1)}, {x}, {y})" for op in ("Select", "if_then_else")]
        forms += [f'T.Cast("{dtype}", {self.value(r.choice(INTEGERS + FLOATS), depth - 1)})'] * 2
        return r.choice(forms)

    def condition(self, depth: int) -> str:
        r = self.random
        kind = r.choice(INTEGERS + (FLOATS if self.loads else ()))
        x, y = self.value(kind, depth), self.value(kind, depth)
        return f"({x} {r.choice(['<', '<=', '>', '>=', '==', '!='])} {y})"


def program(dtype: str, where: str, value: str) -> tuple[PrimFunc, Padding]:
    """The loops that store a value, and the same as padding."""
    func = parse_func(PROGRAM.format(dtype=dtype, where=where, value=value))
    match func.body:
        case For(var=i, body=For(var=j, body=If(condition=predicate, then_body=Store(buffer=b, value=stored)))):
            return func, Padding(b, (i, j), predicate, stored)
    raise AssertionError(func)


def stored(func: PrimFunc, array: np.ndarray[Any, Any]) -> tuple[Any, Any] | None:
    """The array that the program leaves, and what of it is defined; ``None`` if it has no meaning."""
    try:
        outcome = run(func, {"A": array, **SIZES})
    except UndefinedBehaviour:
        return None
    return outcome.arrays["A"], outcome.defined["A"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_are_those_that_the_loops_store() -> None:
    elements = np.array([0.0, -0.0, np.nan, 1.5, -3.0, 100.0, np.inf, 1e-3])
    compared = undefined = 0
    for seed in range(few(400, 4000)):
        r = random.Random(seed)
        dtype = r.choice(INTEGERS + FLOATS)
        draw = Draw(seed, loads=True)
        value = draw.value(dtype, r.choice([1, 2, 3]))
        if r.random() < 0.5:
            load = "A[i % 3, (j * 2 + i) % 6]"
            value = f"T.{r.choice(['min', 'max'])}({load}, {value})" if r.random() < 0.5 else f"({value} + {load})"
        func, padding = program(dtype, "i == 3 and j >= 2", value)
        whole = r.choices(elements if dtype in FLOATS else [0, 1, 2, 100, 127], k=ROWS * COLUMNS)
        array = np.array(whole).astype(dtype).reshape(ROWS, COLUMNS)
        expected = stored(func, array)
        if expected is None:
            with pytest.raises(ValueError, match="cannot be computed"):
                padded_places(padding, array, {func.params[1]: 5})
            continue
        found = padded_places(padding, array, {func.params[1]: 5})
        assert found.values is not None and found.defined is not None
        assert found.where.sum() == 4
        assert (found.defined == expected[1][found.where]).all(), value
        alike = same_bits(found.values, expected[0][found.where])
        assert (alike | ~found.defined).all(), value
        compared += int(found.defined.sum())
        undefined += int((~found.defined).sum())
    assert compared > 4 * few(200, 2000) and undefined > 10


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_places_are_those_that_the_loops_find() -> None:
    """Integers and conditions on whole arrays, where data wraps."""
    compared = 0
    for seed in range(few(400, 4000)):
        draw = Draw(seed, loads=False)
        dtype = draw.random.choice(INTEGERS)
        value = draw.integer(dtype, draw.random.choice([1, 2, 3]))
        func, padding = program(dtype, "True", value)
        expected = stored(func, np.zeros((ROWS, COLUMNS), dtype))
        if expected is None:
            continue
        assert padding.value is not None
        values = dict(zip(padding.indices, grid((ROWS, COLUMNS)), strict=True))
        found = np.asarray(evaluate(padding.value, {**values, func.params[1]: 5}))
        assert found.dtype == dtype, value
        assert (np.broadcast_to(found, (ROWS, COLUMNS)) == expected[0]).all(), value
        compared += 1
    assert compared > few(200, 2000)
