"""Several rules as one step: their obligations all count, the licences of the last program only."""

from __future__ import annotations

from tests.kernel.programs import PROVER, gives, program, refused
from verified_tir.ir.expr import const
from verified_tir.kernel.obligation import Unproved
from verified_tir.kernel.rules.chain import Chain
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.order import Swap
from verified_tir.kernel.rules.rewrite import Rewrite
from verified_tir.kernel.rules.unroll import Unroll
from verified_tir.kernel.theorem import Refines, apply, reflexive
from verified_tir.testing.rules.building import of_kind


def test_each_step_is_proved() -> None:
    f = program("A[0] = 1\nB[0] = 2")
    g = program("T.assume(A[0] == 1)\nB[0] = 2")
    gives(f, Chain(()), "A[0] = 1\nB[0] = 2")
    gives(g, Chain((Erase((0,)), Rewrite((), (0,), const(1 + 1)))), "B[0] = 2")
    refused(g, Chain((Erase((0,)), Rewrite((), (0,), const(3)))), "3 equals 2")
    refused(f, Chain((Rewrite((0,), (0,), const(3)), Rewrite((0,), (0,), const(1)))), "3 equals 1")
    refused(f, Chain((Rewrite((0,), (0,), const(1)), Unroll((0,)))), "not a loop")


def test_later_steps_are_about_the_earlier_ones_result() -> None:
    f = program("T.assume(A[0] == 1)\nB[0] = A[0]")
    gives(f, Chain((Rewrite((1,), (0,), const(1)), Erase((0,)))), "B[0] = 1")
    refused(f, Chain((Erase((0,)), Rewrite((), (0,), const(1)))), "1 equals A[0]")


def test_rules_that_stand_alone() -> None:
    refused(program("A[0] = 1\nB[0] = 2"), Chain((Swap((), 0),)), "Swap is a step of its own")
    refused(program("A[0] = 1"), Chain((Chain(()),)), "Chain is a step of its own")


def test_licences_are_asked_of_the_last_program_only() -> None:
    f = program("for i in range(4):\n    A[0] = i")
    serial, parallel = of_kind(f, (), "serial"), of_kind(f, (), "parallel")
    refused(f, parallel, "licence")
    refused(f, Chain((serial, parallel)), "licence")
    theorem = apply(Chain((parallel, serial)), reflexive(f), PROVER)
    assert isinstance(theorem, Refines)
    assert theorem.after is f
    assert not any(d.obligation.name == "licence" for d in theorem.derivation[0].obligations)


def test_a_refused_chain_leaves_the_theorem() -> None:
    f = program("A[0] = 1\nB[0] = 2")
    theorem = reflexive(f)
    assert isinstance(
        apply(Chain((Rewrite((0,), (0,), const(1)), Rewrite((0,), (0,), const(3)))), theorem, PROVER), Unproved
    )
    assert theorem.after is f
