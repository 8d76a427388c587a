"""The assertions about schedules hold of what is right, and fail of what is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.rules.assertions import assert_rules_refine
from tests.rules.family import rule_for
from tests.rules.literals import rule_made, rule_text
from tests.rules.order import FAMILIES
from verified_tir import Refuted, Schedule, ScheduleError
from verified_tir.certificate.integrity import MadeAgain
from verified_tir.ir.expr import FloatImm
from verified_tir.ir.stmt import SKIP
from verified_tir.ir.sugar import const
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch
from verified_tir.logic.formula import FALSE, Term
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Unknown, Verdict
from verified_tir.schedule.schedule import StepRecord
from verified_tir.script import tir as T
from verified_tir.testing import assert_certificate_rechecks, assert_confirmed, assert_refines, refusals_are_right
from verified_tir.testing.arrays import strided_copy
from verified_tir.testing.reference import Claim, disagreement
from verified_tir.testing.scheduling.seeds import seed

F4 = np.array([1.0, -0.0, np.nan, 3.0], np.float32)


def lenient(patch: pytest.MonkeyPatch) -> None:
    """A kernel that believes everything."""
    patch.setattr(Prover, "prove", lambda self, context, given, goal: (Proved(), given))


def test_a_right_schedule_refines() -> None:
    s = Schedule(seed("scale"))
    s.split("i", [None, 3])
    s.transform_layout("A", lambda i: [i // 3, i % 3], pad_value=T.undef())
    s.parallel("i_0")
    assert_refines(s, {"A": F4, "B": F4.copy()})
    assert_refines(s.theorem, {"A": F4, "B": F4.copy()}, machine_code=False)


def test_a_program_without_a_meaning_claims_nothing() -> None:
    s = Schedule(seed("gather"))
    with pytest.raises(ValueError, match="leaves no results on these arguments: UndefinedBehaviour: assume"):
        assert_refines(s, {"A": F4, "P": np.array([9, 9, 9], np.int32), "B": F4[:3].copy()})


MANY = """
@T.prim_func
def scale(A: T.Buffer((9000,), "float32"), B: T.Buffer((9000,), "float32")):
    for i in range(9000):
        B[i] = A[i] * T.float32(2)
"""


def test_what_takes_more_steps_than_the_program_as_written_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    s = Schedule(MANY)
    arguments = {"A": np.ones(9000, np.float32), "B": np.zeros(9000, np.float32)}
    s.split("i", [3000, 3])
    assert_refines(s, arguments)
    three = Schedule(MANY.replace("(2)", "(3)"))
    three.split("i", [3000, 3])
    wrong = replace(Claim.of(s.theorem), after=three.func)
    assert disagreement(wrong, arguments) is None  # as long as nobody insists on a comparison
    assert "would be" in str(disagreement(wrong, arguments, strict=True))
    monkeypatch.setattr("verified_tir.codegen.build.build", lambda *_, **__: lambda **_: None)
    with pytest.raises(AssertionError, match="machine code differs"):
        assert_refines(s, arguments)


def test_what_cannot_be_compared_is_no_success() -> None:
    s = Schedule(MANY.replace("9000", "16"))
    arguments = {"A": np.ones(16, np.float32), "B": np.zeros(16, np.float32)}
    s.split("i", [16, 2000])
    with pytest.raises(ValueError, match="scale cannot be compared on these arguments, after: more than 20000 steps"):
        assert_refines(s, arguments)


def test_a_schedule_that_may_race_is_no_success() -> None:
    s = Schedule(seed("row sum in a block", n=6))
    s.cache_read("B", "A", "local")
    s.bind("i", "threadIdx.x")
    arguments = {"A": np.ones((3, 6), np.float32), "B": np.zeros(3, np.float32)}
    with pytest.raises(AssertionError, match=r"is not compiled: .* could not be proved"):
        assert_refines(s, arguments)
    s.compute_at("A_local", "i")
    assert_refines(s, arguments)


WRONG: dict[str, tuple[str, Any, str]] = {
    "another result": ("shifted in place", lambda s: s.move_before("j", "i"), "was .* and would be"),
    "a race": ("scan", lambda s: s.parallel("i"), "a licence is broken"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_theorem_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, step, said = WRONG[name]
    s = Schedule(seed(program))
    lenient(monkeypatch)
    step(s)
    size = {b.name: tuple(e.value for e in b.shape) for b in s.theorem.before.buffers}  # type: ignore[attr-defined]
    arguments = {n: np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape) for n, shape in size.items()}
    with pytest.raises(AssertionError, match=said):
        assert_refines(s, arguments)


def test_a_branch_too_few_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    s = Schedule(seed("symbolic"))
    lenient(monkeypatch)
    s.remove_branching_through_overcompute()
    with pytest.raises(AssertionError, match="undefined behaviour after: out-of-bounds"):
        assert_refines(s, {"A": F4, "B": F4.copy(), "n": 4})


def test_layouts_and_padding_are_looked_at() -> None:
    s = Schedule(seed("scale"))
    s.transform_layout("B", lambda i: [i // 3, i % 3], pad_value=0.0)
    right = Claim.of(s.theorem)
    arguments = {"A": F4, "B": F4.copy()}
    assert disagreement(right, arguments) is None
    (padding,) = right.paddings
    other = replace(padding, value=FloatImm(padding.buffer.dtype, 1.0))
    assert "padding: B[1, 1] is 0.0 at the end, and not 1.0" in str(
        disagreement(replace(right, paddings=(other,)), arguments)
    )
    closed = replace(padding, value=None, owed=False)
    assert "inaccessible" in str(disagreement(replace(right, paddings=(closed,)), arguments))
    m, owed = right.maps
    folded = replace(m, outputs=(m.outputs[0], const(0)))
    assert "so does another element" in str(disagreement(replace(right, maps=(folded, owed)), arguments))
    outside = replace(m, outputs=(m.outputs[0] + 1, m.outputs[1]))
    assert "outside the shape (2, 3)" in str(disagreement(replace(right, maps=(outside, owed)), arguments))


def test_sums_in_another_order_may_be_rounded_otherwise_and_no_more() -> None:
    s = Schedule(seed("row sum in a block", n=6))
    _, lane = s.split("j", [None, 2])
    s.rfactor(lane, reassociate="B")
    rough = {"A": np.array([[1e8, 1, -1e8, 1, 3, 4]] * 3, np.float32), "B": np.zeros(3, np.float32)}
    assert_refines(s, rough)
    exact = {"A": np.arange(18, dtype=np.float32).reshape(3, 6) % 5, "B": np.zeros(3, np.float32)}
    assert_refines(s, exact)
    claim = Claim.of(s.theorem)
    assert "was" in str(disagreement(replace(claim, reassociated=frozenset()), rough))
    lost = replace(claim, after=claim.before.with_body(SKIP), maps=())
    assert "more than rounding explains" in str(disagreement(lost, {"A": exact["A"], "B": np.ones(3, np.float32)}))


def refused(program: str, step: Any) -> Refuted:
    s = Schedule(program)
    with pytest.raises(Refuted) as caught:
        step(s)
    return caught.value


def test_a_counterexample_is_run_again() -> None:
    refusal = refused(seed("scan"), lambda s: s.parallel("i"))
    assert assert_confirmed(refusal)
    other = refused(seed("shifted in place"), lambda s: s.move_before("j", "i"))
    assert assert_confirmed(other)
    assert other.replay is not None and other.programs is not None
    other.programs = replace(other.programs, after=other.programs.before)
    with pytest.raises(AssertionError, match="the counterexample shows no difference"):
        assert_confirmed(other)


def test_the_program_itself_is_refused_with_a_counterexample() -> None:
    with pytest.raises(Refuted) as caught:
        Schedule('@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    for i in range(5):\n        A[i] = 1')
    assert assert_confirmed(caught.value)


def test_what_is_not_confirmed_says_nothing() -> None:
    s = Schedule(seed("scale"))
    with pytest.raises(ScheduleError) as caught:
        s.split("nobody", [None, 2])
    with pytest.raises(ValueError, match="was not refused with a confirmed counterexample"):
        assert_confirmed(caught.value)


def test_refusals_are_let_through_and_nothing_else() -> None:
    s = Schedule(seed("scan"))
    with refusals_are_right():
        s.parallel("i")
    with refusals_are_right(s):
        s.split("nobody", [None, 2])
    with pytest.raises(AssertionError, match="was refused, and changed the program"), refusals_are_right(s):
        s.unroll("i")
        s.parallel("i")
    with pytest.raises(ZeroDivisionError), refusals_are_right():
        _ = 1 // 0


@pytest.mark.nightly
def test_a_certificate_is_written_and_checked() -> None:
    s = Schedule(seed("two writers"))
    s.split("i", [None, 2])
    assert_certificate_rechecks(s)


def test_a_certificate_of_a_false_claim_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    s = Schedule(seed("scan"), cache=False)

    def believes(self: Solver, given: object, goal: Term, *how: object, **named: object) -> Verdict:
        return Proved() if goal is not FALSE else Unknown("that would be too much")

    monkeypatch.setattr(Solver, "prove", believes)
    s.parallel("i")
    with pytest.raises(AssertionError, match="the certificate does not pass its check\nfalse: "):
        assert_certificate_rechecks(s)


def test_a_certificate_that_is_not_computed_again_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    s = Schedule(seed("scan"))
    s.unroll("i")
    assert_certificate_rechecks(s)
    why = MadeAgain("schedule", impossible="the kernel's solver did not decide this")
    with monkeypatch.context() as patch:
        patch.setattr("verified_tir.certificate.check.recompute", lambda *_, **__: {"schedule": why})
        with pytest.raises(AssertionError, match="undecided: it was not computed again: the kernel's solver did not"):
            assert_certificate_rechecks(s)


def test_a_certificate_that_is_regenerated_otherwise_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    s = Schedule(seed("scan"))
    s.unroll("i")

    def otherwise(text: str, calls: object, solver: Solver) -> Schedule:
        return Schedule(text, solver=solver)

    monkeypatch.setattr("verified_tir.certificate.regenerate.made_again", otherwise)
    with pytest.raises(AssertionError, match="it is regenerated otherwise: "):
        assert_certificate_rechecks(s)


def test_a_certificate_without_calls_does_not_pass() -> None:
    s = Schedule(seed("scan"))
    s.unroll("i")
    last = s.steps[-1]
    s._records[-1] = StepRecord(last.name, last.arguments, last.obligations, 0.0, last.before, last.after, last.rules)
    with pytest.raises(AssertionError, match="cannot be regenerated: unroll: its call was not recorded"):
        assert_certificate_rechecks(s)


@pytest.mark.nightly
def test_rules_are_written_down_and_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    family = next(f for f in FAMILIES if f.name == "pair")
    wrong = None
    for turn in range(40):
        made = family.at(family.index(turn))
        assert made is not None
        func, rules = made
        for rule in rules:
            made_of = rule_for(rule, func)  # type: ignore[arg-type]
            if isinstance(made_of, NoMatch):
                continue
            chain = (made_of,)
            literal = eval(rule_text(func, chain))
            again, same = rule_made(literal)
            assert rule_text(again, same) == rule_text(func, chain)
            assert_rules_refine(literal)
            wrong = wrong or _wrong_if_believed(literal, monkeypatch)
    assert wrong is not None


def _wrong_if_believed(literal: list[Any], monkeypatch: pytest.MonkeyPatch) -> str | None:
    with monkeypatch.context() as patch:
        lenient(patch)
        try:
            assert_rules_refine(literal)
        except AssertionError as found:
            assert "is accepted, which is wrong" in str(found)
            return str(found)
    return None


@pytest.mark.parametrize("given", ["compact", "strided"])
def test_machine_code_gets_arrays_with_the_strides_that_are_declared(given: str) -> None:
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((2, 3), "float32", strides=(8, 2)), B: T.Buffer((n,), "float32", strides=(3,)), n: T.int32):
    for i in range(n):
        B[i] = A[1, 2] + B[i]
""")
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(4, np.float32)
    if given == "strided":
        a, b = strided_copy(a, (32, 8)), strided_copy(b, (12,))
    s.split("i", [None, 2])
    assert_refines(s, {"A": a, "B": b, "n": 4})
