"""Random expressions of every type, lanes and all, on awkward values: the interpreter and machine code agree."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from tests.codegen.emit_support import Compiled, compare
from tests.nightly import few
from tests.semantics.oracles import interesting_floats, interesting_integers
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.stmt import Store
from verified_tir.ir.sugar import const
from verified_tir.semantics.interpreter import UndefinedBehaviour, run
from verified_tir.testing import Scope, expressions
from verified_tir.testing.dtypes import SCALARS
from verified_tir.testing.expressions import INTERPRETED_CALLS

SETTINGS = settings(max_examples=few(15, 40), deadline=None, suppress_health_check=list(HealthCheck))
SCALAR_TYPES = ("int32", "int32", "int64", "uint8", "bool", "float32", "bfloat16", "float16")
ELEMENT_TYPES = (*map(str, SCALARS), "float32x2", "int8x3", "boolx2")
VARIABLES = tuple(Var.fresh(f"x{k}", DType.parse(t)) for k, t in enumerate(SCALAR_TYPES))
BUFFERS = tuple(Buffer.declare(f"B{k}", (4,), t) for k, t in enumerate(ELEMENT_TYPES))
CALLS = (*INTERPRETED_CALLS, "exp", "tanh", "log", "sigmoid", "rsqrt")
SCOPE = Scope(VARIABLES, BUFFERS, calls=CALLS, undef=True)


def draw_array(rng: np.random.Generator, dtype: DType, *shape: int) -> Any:
    """Any bits, small numbers, or awkward ones."""
    scalar = dtype.scalar
    kind = numpy_dtype(scalar)
    full = shape if dtype.lanes == 1 else (*shape, dtype.lanes)
    if scalar.is_bool:
        return rng.random(full) < 0.5
    awkward = interesting_floats(scalar) if scalar.is_float else interesting_integers(scalar)
    patterns = rng.integers(0, 2**scalar.bits - 1, full, dtype=np.uint64).astype(f"u{scalar.nbytes}").view(kind)
    small = rng.integers(0, 5, full).astype(kind)
    with np.errstate(all="ignore"):
        chosen = np.array([awkward[k] for k in rng.integers(0, len(awkward), full).ravel()]).astype(kind).reshape(full)
    return np.choose(rng.integers(0, 3, full), [patterns.astype(kind), small, chosen])


def function(expr: Expr) -> PrimFunc:
    out = Buffer.declare("R", (1,), expr.dtype)
    params = [Var.fresh(b.name, PointerType(b.dtype)) for b in (*BUFFERS, out)]
    buffers = tuple(zip(params, (*BUFFERS, out), strict=True))
    return PrimFunc("f", (*params, *VARIABLES), buffers, Store(out, expr, (const(0),)))


def arguments(rng: np.random.Generator, result: DType) -> dict[str, Any]:
    given_: dict[str, Any] = {b.name: draw_array(rng, b.dtype, 4) for b in BUFFERS}
    for v in VARIABLES:
        value = draw_array(rng, v.dtype, 1)[0]
        given_[v.name] = bool(value) if v.dtype.is_bool else float(value) if v.dtype.is_float else int(value)
    return given_ | {"R": draw_array(rng, result, 1)}


@SETTINGS
@given(st.sampled_from(SCALARS), st.sampled_from([1, 1, 1, 2, 3, 4, 8]), st.data())
def test_random_expressions(scalar: DType, lanes: int, data: DataObject) -> None:
    dtype = scalar.with_lanes(lanes)
    expr = data.draw(expressions(dtype, SCOPE, depth=data.draw(st.integers(1, 4))))
    func = function(expr)
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    machine = None
    for _ in range(5):
        given_ = arguments(rng, dtype)
        try:
            expected = run(func, given_)
        except UndefinedBehaviour:
            continue
        machine = machine or Compiled(func)
        assert machine(given_) == 0
        compare(expected, given_)
