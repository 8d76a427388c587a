"""Which marked loops a schedule asks about after a step: those that it could have spoiled."""

from __future__ import annotations

import pytest

from tests.kernel.programs import AB, PROVER, buffer, load, program, refused, variable
from tests.rules.building import store
from verified_tir import CodegenError, Refuted, Schedule, build
from verified_tir.certificate.write import Origin, Written
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import SKIP, If, Seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.scope import Declare
from verified_tir.kernel.theorem import Refines, Rule, apply, reflexive
from verified_tir.schedule import moves
from verified_tir.schedule.edits import redirected, rewritten
from verified_tir.schedule.races import spoiled
from verified_tir.schedule.rule_builders import RuleBuilder, labelled, of_kind
from verified_tir.schedule.session import Session

RACE = "of its iterations"
ONCE = moves.reindex((0,), 1, (), (), (const(0),), ())
FILL = "for k in range(4):\n    B[k] = 0\n    A[k] = 0\n"
"""Definite contents: what is newly evaluated must be defined."""


def asked(f: PrimFunc, *rules: Rule | RuleBuilder) -> list[Path]:
    """The loops that a schedule asks about after the rules."""
    theorem = reflexive(f)
    for rule in rules:
        found = apply(rule(theorem.after) if callable(rule) else rule, theorem, PROVER)  # type: ignore[arg-type]
        assert isinstance(found, Refines)
        theorem = found
    return spoiled(f, theorem.after, theorem.derivation)


def test_reads_that_appear_in_a_parallel_loop_are_asked_about() -> None:
    f = program(FILL + "for i in T.parallel(4):\n    B[i] = A[i]\n    B[i] = B[i] * 1", AB)
    i, a, b = variable(f, "i"), buffer(f, "A"), buffer(f, "B")
    racing = load(a, i) + load(b, 3 - i) * 0
    refused(f, rewritten((1, 0, 0), (0,), racing), RACE)  # the same bits, but what another iteration writes is read
    refused(f, moves.introduce((1, 0, 0), binary("gt", load(b, 3 - i), load(a, 0))), RACE)
    assert asked(f, rewritten((1, 0, 0), (0,), load(a, i) + load(a, 3 - i) * 0)) == [(1,)]


def test_a_condition_that_reads_is_asked_about_where_it_goes() -> None:
    text = "for i in T.parallel(4):\n    for j in range(n):\n        if B[3 - i] > 100:\n            A[i] = 1"
    f = program(FILL + text, AB + ", n: T.int32")
    assert asked(f, moves.hoist((1, 0))) == [(1,)]  # without any j the condition was not evaluated


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("for i in T.parallel(4):\n    for j in T.unroll(2):\n        B[i] = A[j]", (moves.unroll((0,)),)),
        (
            "for i in T.parallel(4):\n    for j in range(1):\n        B[i] = A[j]",
            (ONCE,),
        ),
        ("for i in T.parallel(4):\n    B[i] = 1\n    A[i] = 2", (moves.swap((0,), 0),)),
        ("for i in T.parallel(4):\n    if i < 9:\n        B[i] = 1", (moves.decide((0,), True),)),
        ("for i in T.parallel(4):\n    for j in range(3):\n        B[i] = 1", (moves.split_index_set((0,), const(1)),)),
        (
            "for i in T.parallel(4):\n    for j in range(3):\n        B[i] = 1\n        A[i] = 2",
            (moves.fission((0,), 1),),
        ),
    ],
)
def test_the_loop_around_a_change_is_not_asked_about_again(text: str, rules: tuple[Rule, ...]) -> None:
    f = program(text, AB)
    assert asked(f, *rules) == []


def test_new_loops_are_asked_about() -> None:
    f = program("for i in range(4):\n    for j in T.parallel(4):\n        if i < 9:\n            B[j] = A[i]", AB)
    assert asked(f, moves.decide((0, 0), True)) == []
    assert asked(program("for i in range(4):\n    B[i] = A[i]", AB), of_kind((), "parallel")) == [()]
    two = program("for j in T.parallel(4):\n    B[j] = 1\n    A[j] = 2", AB)
    assert asked(two, moves.fission((), 1)) == [(0,), (1,)]
    f = program("for j in T.parallel(4):\n    B[j] = 1\nfor k in range(3):\n    if k < 9:\n        A[k] = B[k]", AB)
    assert asked(f, moves.decide((1, 0), True)) == []
    assert asked(f, Insert((0, 0), store(buffer(f, "B"), const(1), variable(f, "j")), "after")) == [(0,)]


def test_the_schedule_refuses_the_step_that_brings_a_race() -> None:
    """The rules may lead through programs that race."""
    f = program("for i in range(4):\n    B[0] = A[i]", AB)
    s = Session(reflexive(f), PROVER)
    assert not s.attempt(of_kind((), "parallel")) and s.func is f
    assert s.attempt(of_kind((), "parallel"), of_kind((), "serial"))
    assert not s.attempt(of_kind((), "serial"), of_kind((), "parallel")) and s.func is f


def test_views_touch_the_same_bytes() -> None:
    f = program("for i in T.parallel(4):\n    B[i] = A[i]", AB)
    i, b = variable(f, "i"), buffer(f, "B")
    flat = Buffer.declare("V", (2, 2), "int32", data=b.data)
    declared = apply(Declare((), flat, True), reflexive(f), PROVER)
    assert isinstance(declared, Refines)
    assert asked(declared.after, redirected((0, 0), b, flat, (((i,), (i // 2, i % 2)),))) == []


def test_a_step_that_comes_twice_forgets_nothing() -> None:
    f = program("for i in range(4):\n    for j in range(2):\n        B[j] = A[i]", AB)
    s = Session(reflexive(f), PROVER)
    assert not s.attempt(labelled((0,), "twice"), of_kind((), "parallel"), labelled((0,), "again"))


def test_places_that_shift_because_a_sequence_is_flattened() -> None:
    f = program("for i in range(4):\n    B[0] = i\nfor j in range(4):\n    B[0] = j\nA[0] = 1", AB)
    first, second, last = f.body.stmts  # type: ignore[attr-defined]
    guarded = If(binary("gt", load(buffer(f, "A"), 0), 0), Seq((first, second)))
    for body, path in (
        (Seq((Seq((first, second)), last)), (0, 1)),
        (Seq((SKIP, guarded)), (1, 0, 1)),
        (Seq((Seq((first,)),)), (0, 0)),
    ):
        s = Session(reflexive(f.with_body(body)), PROVER)
        assert not s.attempt(of_kind(path, "parallel"))
        assert s.attempt(of_kind(path, "unrolled"))


RACING = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[0] = A[i]
"""


def test_the_last_program_is_asked_about_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a schedule chooses not to ask on the way."""
    from verified_tir.schedule import session

    monkeypatch.setattr(session, "spoiled", lambda *_: [])
    s = Schedule(RACING)
    s.prove_race_free()
    s.parallel("i")
    with pytest.raises(Refuted, match=r"no two iterations of the .* write the same element of B") as refused:
        s.prove_race_free()
    assert refused.value.replay is not None and refused.value.replay.confirmed
    with pytest.raises(CodegenError, match="mark the loop serial"):
        build(s)
    written = Written()
    with pytest.raises(ValueError, match="the loops of the last program: an obligation is false"):
        written.add("racing", s, Origin("racing"))
