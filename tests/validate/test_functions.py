"""Calls between the functions of a module, for the validator: the interpreter's runs, by code of its own."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.kernel.exhaustive.oracle import inputs_of, outcome
from tests.kernel.test_random_call import modules
from tests.nightly import few
from tests.schedule.test_outline import MODULE
from verified_tir import parse
from verified_tir.ir.expr import Call
from verified_tir.ir.func import IRModule
from verified_tir.ir.script import script
from verified_tir.ir.visit import walk
from verified_tir.ir.wellformed import problem
from verified_tir.semantics.interpreter import Outcome, refines, run
from verified_tir.validate.functions import spelled_out
from verified_tir.validate.validator import validate
from verified_tir.validate.verdict import Different, Equal

UNSPLIT = """
@T.prim_func
def main(A: T.Buffer((14,), "int32"), C: T.Buffer((1,), "int32")):
    C[0] = 0
    for i in range(14):
        C[0] = C[0] + A[i]
"""


def test_a_module_is_compared_with_a_program() -> None:
    whole = parse(UNSPLIT)["main"]
    split = spelled_out(dict(parse(MODULE).functions))["main"]
    assert isinstance(validate(whole, split).verdict, Equal)
    wrong = spelled_out(dict(parse(MODULE.replace("B[io, ii] = A[4 * io + ii]", "B[io, ii] = A[io]")).functions))[
        "main"
    ]
    assert isinstance(validate(whole, wrong).verdict, Different)


def test_what_cannot_be_spelled_out_stays() -> None:
    text = MODULE.replace("Module.compute_C(B.data, C.data)", "{0}")
    for call in (
        "Module.compute_C(B.data, B.data)", "Module.compute_C(B.data)", "Module.main(A.data, C.data)",
        "Module.nobody(B.data)",
    ):  # fmt: skip
        main = spelled_out(dict(parse(text.format(call)).functions))["main"]
        assert [n.op for n in walk(main) if isinstance(n, Call)] == [f"@{call.split('.')[1].split('(')[0]}"]


@pytest.mark.nightly
@settings(
    max_examples=few(25, 60), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
@given(modules())
def test_the_interpreter_agrees(module: IRModule) -> None:
    main, spelled = module["main"], spelled_out(dict(module.functions))["main"]
    assert problem(spelled) is None
    for given_ in inputs_of(main, (0, 1, 2)):
        second = outcome(spelled, given_)
        try:
            first = run(main, given_.args, module=module, defined=given_.defined, max_steps=2000)
        except Exception as ended:
            assert type(ended).__name__ in ("UndefinedBehaviour", "StepLimit", "ArgumentError"), ended
            continue
        assert isinstance(second, Outcome), f"{script(spelled)}\n{second!r}"
        assert not refines(first, second) and not refines(second, first)
