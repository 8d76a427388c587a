"""Whenever a chain of rules is accepted as one step, the interpreter agrees, and the licences of its loops hold.

The chains are random, with marked loops among what they make, so that licences must be asked for what a later rule of
the chain changes around an earlier one.  ``VTIR_EXAMPLES`` sets how many are tried.
"""

from __future__ import annotations

import os
from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.drawing import search_until
from tests.kernel.exhaustive.family import plain_solver
from tests.kernel.exhaustive.oracle import disagreement, inputs_of, outcomes
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.script import script
from verified_tir.ir.stmt import Block, For, Stmt
from verified_tir.kernel import admissible
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.licences import LICENSED
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.rules.chain import CHAINED, Chain
from verified_tir.kernel.rules.same import Same
from verified_tir.kernel.rules.unroll import Unroll
from verified_tir.kernel.theorem import Refines, Rule, apply, reflexive
from verified_tir.semantics.encode import Unencodable
from verified_tir.testing.rules.building import of_kind
from verified_tir.testing.rules.random_programs import Draw, one_of, programs
from verified_tir.testing.rules.random_rules import RULES, application, place

EXAMPLES = int(os.environ.get("VTIR_EXAMPLES", "120"))
SOLVER = plain_solver()
NAMES = (
    "partition", "unit", "wrap unit", "bind", "inline", "rewrite", "introduce", "decide", "merge", "hoist", "sink",
    "reshape", "erase",
)  # fmt: skip


def link(draw: Draw, func: PrimFunc) -> Rule | None:
    """One rule that may be chained: often a mark on a loop, an unrolled loop or a label."""
    match draw(st.integers(0, 4)):
        case 0:
            found = place(draw, func, For)
            return None if found is None else of_kind(func, found[0], one_of(draw, "parallel", "vectorized", "serial"))
        case 1:
            found = place(draw, func, For)
            return None if found is None else Unroll(found[0])
        case 2:
            found = place(draw, func, Stmt)
            return None if found is None else Same(found[0], Block.label("here", found[1]))
    return application(draw, one_of(draw, *NAMES), func)


def _is_marked(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.kind in LICENSED


@st.composite
def chains(draw: Draw) -> tuple[PrimFunc, Chain]:
    """A program, and two to four rules of which each fits what the ones before lead to; one may come twice."""
    func = draw(programs())
    here, links = func, []
    for _ in range(draw(st.integers(2, 5))):
        rule = one_of(draw, *links) if links and draw(st.integers(0, 3)) == 0 else link(draw, here)
        if rule is None:
            continue
        try:
            step = rule.rewrite(here, Entry())
        except (IRError, Unencodable):
            continue
        if not isinstance(step, NoMatch) and admissible.problem(step.after) is None:
            here = step.after
            links.append(rule)
    return func, Chain(tuple(links))


def test_accepted_chains_agree_with_the_interpreter() -> None:
    count: Counter[str] = Counter()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize="VTIR_EXAMPLES" not in os.environ,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(chains())
    def run(made: tuple[PrimFunc, Chain]) -> None:
        func, chain = made
        result = apply(chain, reflexive(func), Prover(SOLVER))  # type: ignore[arg-type]
        count["accepted" if isinstance(result, Refines) else "refused"] += len(chain.rules) > 1
        if isinstance(result, Refines):
            count["marked"] += any(isinstance(r, Same) and _is_marked(r.new) for r in chain.rules)
            inputs = inputs_of(func, (0, 1, 2))
            problem = disagreement(result, inputs, outcomes(func, inputs))
            steps = "\n".join(map(str, chain.rules))
            assert problem is None, f"{steps}\n{script(func)}\n--->\n{script(result.after)}\n{problem}"

    search_until(lambda: min(count[k] for k in ("accepted", "refused", "marked")) > EXAMPLES // 20, run)
    assert min(count["accepted"], count["refused"]) > EXAMPLES // 20, count
    assert count["marked"] > EXAMPLES // 20, count
    assert set(NAMES) < set(RULES) and Same in CHAINED
