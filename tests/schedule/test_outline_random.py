"""Any statement of a random program as a function: the module does what the program does, and expands to it again."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kernel.exhaustive.oracle import inputs_of, outcome
from tests.rules.random_programs import programs
from verified_tir.elaborate.calls import CALL
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import at, places, put
from verified_tir.ir.script import parse, script
from verified_tir.ir.stmt import Block
from verified_tir.ir.wellformed import problem
from verified_tir.schedule.functions import outlined
from verified_tir.semantics.interpreter import Outcome, refines, run

EXAMPLES = int(os.environ.get("VTIR_EXAMPLES", "60"))


@settings(
    max_examples=2 * EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES <= 60,  # who asks for more wants others each time
    suppress_health_check=list(HealthCheck),
    database=None,
)
@given(programs(), st.data())
def test_a_statement_as_a_function(func: PrimFunc, data: st.DataObject) -> None:
    path, _ = data.draw(st.sampled_from(list(places(func.body, lambda s: True))))
    label = Block.label("part", at(func.body, path), ((CALL, "part"),))
    marked = func.with_body(put(func.body, path, label))
    try:
        module = outlined(marked)
    except IRError as refusal:
        assert "computed from memory" in str(refusal)
        return
    assert all(problem(f) is None for _, f in module.functions), script(module)
    assert structural_equal(parse(script(module)), module)
    for given_ in inputs_of(func, (0, 1, 2)):
        first = outcome(func, given_)
        if isinstance(first, Outcome):
            second = run(module[func.name], given_.args, module=module, defined=given_.defined)
            assert not refines(first, second) and not refines(second, first), script(module)
