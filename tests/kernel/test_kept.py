"""Which licences are asked for again after a step: those that it could have spoiled."""

from __future__ import annotations

import pytest

from tests.kernel.programs import AB, PROVER, buffer, load, program, refused, take, variable
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import binary, const
from verified_tir.ir.stmt import SKIP, Block, For, If, Seq
from verified_tir.kernel.rules.branch import Decide, Hoist, Introduce
from verified_tir.kernel.rules.chain import Chain
from verified_tir.kernel.rules.order import Distribute, Partition, Swap
from verified_tir.kernel.rules.reindex import Reindex
from verified_tir.kernel.rules.rewrite import Rewrite
from verified_tir.kernel.rules.same import Same
from verified_tir.kernel.rules.unroll import Unroll
from verified_tir.kernel.rules.view import DeclareView, View
from verified_tir.kernel.theorem import Refines, Rule, apply, reflexive
from verified_tir.schedule.recipes import of_kind, run_once
from verified_tir.testing.rules.building import made
from verified_tir.testing.rules.building import of_kind as marked

RACE = "of its iterations"
ONCE = Reindex((0,), 1, (), (), (const(0),), ())
FILL = "for k in range(4):\n    B[k] = 0\n    A[k] = 0\n"
"""Definite contents: what is newly evaluated must be defined."""


def licences(result: object) -> list[str]:
    assert isinstance(result, Refines)
    (step,) = result.derivation
    return [d.obligation.claim for d in step.obligations if d.obligation.name == "licence"]


def test_reads_that_appear_in_a_parallel_loop_are_asked_about() -> None:
    f = program(FILL + "for i in T.parallel(4):\n    B[i] = A[i]\n    B[i] = B[i] * 1", AB)
    i, a, b = variable(f, "i"), buffer(f, "A"), buffer(f, "B")
    racing = load(a, i) + load(b, 3 - i) * 0
    refused(f, Rewrite((1, 0, 0), (0,), racing), RACE)  # the same bits, but what another iteration writes is read
    refused(f, Introduce((1, 0, 0), binary("gt", load(b, 3 - i), load(a, 0))), RACE)
    same = apply(Rewrite((1, 0, 0), (0,), load(a, i) + load(a, 3 - i) * 0), reflexive(f), PROVER)
    assert len(licences(same)) > 0


def test_a_condition_that_reads_is_asked_about_where_it_goes() -> None:
    text = "for i in T.parallel(4):\n    for j in range(n):\n        if B[3 - i] > 100:\n            A[i] = 1"
    f = program(FILL + text, AB + ", n: T.int32")
    result = apply(Hoist((1, 0)), reflexive(f), PROVER)
    assert licences(result)  # without any j the condition was not evaluated


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("for i in T.parallel(4):\n    for j in T.unroll(2):\n        B[i] = A[j]", (Unroll((0,)),)),
        (
            "for i in T.parallel(4):\n    for j in range(1):\n        B[i] = A[j]",
            (ONCE,),
        ),
        ("for i in T.parallel(4):\n    B[i] = 1\n    A[i] = 2", (Swap((0,), 0),)),
        ("for i in T.parallel(4):\n    if i < 9:\n        B[i] = 1", (Decide((0,), True),)),
        ("for i in T.parallel(4):\n    for j in range(3):\n        B[i] = 1", (Partition((0,), const(1)),)),
        ("for i in T.parallel(4):\n    for j in range(3):\n        B[i] = 1\n        A[i] = 2", (Distribute((0,), 1),)),
    ],
)
def test_the_loop_around_a_change_is_not_asked_about_again(text: str, rules: tuple[Rule, ...]) -> None:
    f = program(text, AB)
    for rule in rules:
        assert licences(apply(rule, reflexive(f), PROVER)) == []
    assert licences(apply(Chain(rules), reflexive(f), PROVER) if not isinstance(rules[0], (Swap, Distribute)) else
                    apply(rules[0], reflexive(f), PROVER)) == []  # fmt: skip


def test_loops_at_the_change_and_below_are_asked_about() -> None:
    f = program("for i in range(4):\n    for j in T.parallel(4):\n        if i < 9:\n            B[j] = A[i]", AB)
    assert licences(apply(Decide((0, 0), True), reflexive(f), PROVER)) == []
    refused(program("for i in range(4):\n    B[0] = A[i]", AB), of_kind((), "parallel"), RACE)
    inner = program("for i in range(1):\n    for j in T.parallel(4):\n        B[j] = A[i]", AB)
    assert len(licences(take(run_once(()), reflexive(inner)))) == 1
    text = "for j in T.parallel(4):\n    B[j] = 1\nfor k in range(3):\n    if k < 9:\n        A[k] = B[k]"
    apart = program(text, AB)
    assert licences(apply(Decide((1, 0), True), reflexive(apart), PROVER)) == []
    split = apply(
        Distribute((), 1), reflexive(program("for j in T.parallel(4):\n    B[j] = 1\n    A[j] = 2", AB)), PROVER
    )
    assert len(licences(split)) == 2


def test_a_chain_asks_for_the_statement_that_holds_all_changes() -> None:
    text = "for i in T.parallel(4):\n    if i < 9:\n        B[i] = 1\n    for j in T.parallel(1):\n        A[i] = j"
    f = program(text, AB)
    both = apply(Chain((Decide((0, 0), True), made(run_once((0, 1)), f))), reflexive(f), PROVER)
    assert licences(both) == []
    one = apply(Chain((Decide((0, 0), True),)), reflexive(f), PROVER)
    assert all("the loop over j" in claim for claim in licences(one))


def test_views_touch_the_same_bytes() -> None:
    f = program("for i in T.parallel(4):\n    B[i] = A[i]", AB)
    i, b = variable(f, "i"), buffer(f, "B")
    flat = Buffer.declare("V", (2, 2), "int32", data=b.data)
    declared = apply(DeclareView((), flat), reflexive(f), PROVER)
    assert isinstance(declared, Refines)
    moved = apply(View((0, 0), b, flat, (((i,), (i // 2, i % 2)),)), declared, PROVER)
    assert isinstance(moved, Refines)
    assert not [d for d in moved.derivation[-1].obligations if d.obligation.name == "licence"]


def test_a_rule_that_comes_twice_in_a_chain_forgets_nothing() -> None:
    f = program("for i in range(4):\n    for j in range(2):\n        B[j] = A[i]", AB)
    label = Same((0,), Block.label("twice", f.body.body))  # type: ignore[attr-defined]
    refused(f, Chain((label, marked(f, (), "parallel"), label)), RACE)


def test_paths_that_shift_because_a_sequence_is_flattened() -> None:
    f = program("for i in range(4):\n    B[0] = i\nfor j in range(4):\n    B[0] = j\nA[0] = 1", AB)
    first, second, last = f.body.stmts  # type: ignore[attr-defined]
    guarded = If(binary("gt", load(buffer(f, "A"), 0), 0), Seq((first, second)))
    for body, path in (
        (Seq((Seq((first, second)), last)), (0, 1)),
        (Seq((SKIP, guarded)), (1, 0, 1)),
        (Seq((Seq((first,)),)), (0, 0)),
    ):
        parallel = marked(f.with_body(body), path, "parallel")
        refused(f.with_body(body), parallel, RACE)
        refused(f.with_body(body), Chain((parallel,)), RACE)
    swapped = Seq((Seq((last, SKIP)), For(second.var, second.min, second.extent, second.body, "parallel")))
    refused(f.with_body(swapped), Swap((0,), 0), RACE)  # every licence is asked about again
