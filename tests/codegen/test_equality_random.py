"""Random programs: the interpreter and machine code agree, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.codegen.emit_support import Compiled, compare, symbols
from tests.nightly import few
from tests.rules.random_programs import programs as small_programs
from tests.schedule.schedule_strategies import programs as loop_programs
from verified_tir.elaborate.blocks import expand_blocks
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.script import parse_func
from verified_tir.semantics.interpreter import StepLimit, UndefinedBehaviour, run

SETTINGS = settings(max_examples=few(8, 20), deadline=None, suppress_health_check=list(HealthCheck), derandomize=False)
SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3.4e38, 0.1, 2.5]


def contents(func: PrimFunc, seed: int) -> dict[str, Any]:
    """Arrays for the parameters: floats with every special value, small and large integers; numbers for scalars."""
    rng = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for param in func.params:
        buffer = func.buffer_of(param)
        if buffer is None:
            found[param.name] = int(rng.integers(-1, 6))
            continue
        shape = [e.value for e in buffer.shape]  # type: ignore[attr-defined]
        kind = numpy_dtype(buffer.dtype.scalar)
        if buffer.dtype.is_float:
            array = np.where(rng.random(shape) < 0.5, rng.choice(SPECIAL, shape), rng.standard_normal(shape))
        else:
            array = np.where(
                rng.random(shape) < 0.2, rng.choice([2**31 - 1, -(2**31)], shape), rng.integers(-3, 7, shape)
            )
        found[buffer.name] = array.astype(kind)
    return found


def agree(func: PrimFunc, seed: int) -> bool:
    """Whether the program has a meaning on these arguments; if so, machine code computes it."""
    arguments = contents(func, seed)
    try:
        expected = run(func, arguments, max_steps=20_000)
    except (UndefinedBehaviour, StepLimit):
        return False
    given_ = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
    assert Compiled(func)({**symbols(func, given_), **given_}) == 0
    compare(expected, given_)
    return True


@SETTINGS
@given(small_programs(), st.integers(0, 999))
def test_small_programs(func: PrimFunc, seed: int) -> None:
    for k in range(3):
        agree(func, seed + k)


@SETTINGS
@given(loop_programs(), st.integers(0, 999))
def test_loop_programs(text: str, seed: int) -> None:
    func = parse_func(text)
    assert agree(func, seed)
    assert agree(expand_blocks(func), seed)
