"""Random programs, evaluated on demand for some of their elements, against the interpreter."""

import numpy as np
import pytest

from tests.validate.test_execute import concrete, random_program
from verified_tir import parse_func
from verified_tir.ir.dtype import DType
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.semantics.interpreter import UndefinedBehaviour, run
from verified_tir.semantics.interpreter.outcome import same_bits
from verified_tir.semantics.values import UNDEF
from verified_tir.validate.demand.instances import Effort
from verified_tir.validate.demand.validator import Program, depend, evaluate
from verified_tir.validate.interface import Side
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import Terms

POOL = np.array([0.0, -0.0, np.nan, np.inf, 1.5, -2.0, 3e38, 1e-45], np.float32)


@pytest.mark.sample(11)
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("count", [36, 2])
def test_what_is_evaluated_on_demand_is_what_the_interpreter_computes(seed, count):
    func = parse_func(random_program(seed))
    rng = np.random.default_rng(seed)
    build = Builder(Terms())
    program = Program.of(Side.of(func, {}))
    chosen = {k: np.sort(rng.choice(36, count, replace=False)) for k in range(3)}
    left = evaluate(program, depend(program, chosen, build, Effort(10**8, 10**6)), chosen, build, 10**7)
    inputs = {0: rng.choice(POOL, (6, 6)), 1: rng.choice(POOL, (6, 6)), 2: rng.integers(-9, 9, (6, 6)).astype(np.int32)}
    try:
        outcome = run(func, {"A": inputs[0], "B": inputs[1], "C": inputs[2]})
    except UndefinedBehaviour:
        return  # it may be where nothing chosen depends on it
    assert left.undefined is None
    memo: dict[int, object] = {}
    for k, name in enumerate("ABC"):
        for element, term in zip(chosen[k].tolist(), left.memory[k][0].reshape(-1).tolist(), strict=True):
            at = divmod(element, 6)
            value = concrete(build.terms, term, inputs, memo)
            assert (value is not UNDEF) == outcome.defined[name][at]
            if value is not UNDEF:
                dtype = numpy_dtype(DType.parse("int32" if name == "C" else "float32"))
                assert same_bits(np.array([value]).astype(dtype), outcome.arrays[name][at].reshape(1)).all()
