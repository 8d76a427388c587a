"""Two classic faults, kept as tests: instances not renamed apart, and facts that outlive a store.

Each test shows the sound kernel refusing a program, and then that the kernel *with the fault put in* accepts it: so the
refusal rests on exactly that piece of the kernel, and losing it would not go unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kernel.programs import take
from verified_tir import Refuted, Schedule
from verified_tir.ir.expr import Var
from verified_tir.ir.paths import places
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import For, If
from verified_tir.ir.sugar import const
from verified_tir.kernel import region
from verified_tir.kernel.context import Context
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import Unproved
from verified_tir.kernel.theorem import Refines, reflexive
from verified_tir.logic.solver import Solver
from verified_tir.schedule import moves
from verified_tir.schedule.moves import NewLoop

LOCAL_GUARD = """
@T.prim_func
def f(B: T.Buffer((1,), "int32")):
    for i in range(2):
        t = T.alloc_buffer((1,), "int32")
        t[0] = i
        if t[0] == i:
            B[0] = i
"""


def reverse(text: str) -> object:
    """Ask for the loop to be run backwards."""
    func = parse_func(text)
    path, loop = next(iter(places(func.body, lambda s: isinstance(s, For))))
    assert isinstance(loop, For)
    r = Var.fresh("r")
    rule = moves.reindex(path, 1, (NewLoop(r, const(0), const(2)),), (), (1 - r,), (1 - loop.var,))
    return take(rule, reflexive(func), Prover(Solver()))


def test_a_guard_on_a_local_buffer_does_not_tell_iterations_apart() -> None:
    result = reverse(LOCAL_GUARD)
    assert isinstance(result, Unproved)
    assert "iterations change their order" in result.obligation.claim


def test_without_renaming_apart_the_reversal_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """If loads from memory that the region writes were shared by both instances, ``t == i`` and ``t == i'`` would give
    ``i == i'``, and nothing could conflict."""
    original = region._Walker.__init__

    def shared(self: region._Walker, context: Context, havocked: object, *rest: object) -> None:
        original(self, context, set(), *rest)  # type: ignore[arg-type]

    def lenient(self: Context, memory: object, buffer: object, indices: object, lane: object) -> object:
        from verified_tir.kernel.memory import Allocated, Version

        shared_version = lenient_versions.setdefault(buffer.data, Version(buffer.data, Allocated()))  # type: ignore[attr-defined]
        return load_from(self, {buffer.data: shared_version}, buffer, indices, lane)  # type: ignore[attr-defined, arg-type]

    lenient_versions: dict[object, object] = {}
    load_from = Context.load_from
    monkeypatch.setattr(region._Walker, "__init__", shared)
    monkeypatch.setattr(Context, "load_from", lenient)
    assert isinstance(reverse(LOCAL_GUARD), Refines)


STALE = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((1,), "int32")):
    if A[0] == 0:
        A[0] = 1
        if A[0] == 0:
            B[0] = 5
"""


def decide_inner(text: str) -> object:
    func = parse_func(text)
    path = [p for p, s in places(func.body, lambda s: isinstance(s, If))][1]
    return take(moves.decide(path, True), reflexive(func), Prover(Solver()))


def test_a_condition_on_memory_ends_with_a_store() -> None:
    result = decide_inner(STALE)
    assert isinstance(result, Unproved)


def test_without_the_store_the_condition_still_holds() -> None:
    assert isinstance(decide_inner(STALE.replace("        A[0] = 1\n", "")), Refines)


def test_a_store_to_another_element_keeps_the_condition() -> None:
    assert isinstance(decide_inner(STALE.replace("A[0] = 1", "A[1] = 1")), Refines)


def test_with_facts_that_outlive_a_store_the_condition_would_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_happens(self: Context, stmt: object) -> None:
        """A walk that forgets that a store gives its block a new version."""

    monkeypatch.setattr(Context, "execute", nothing_happens)
    assert isinstance(decide_inner(STALE), Refines)


LOOP_CARRIED = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((8,), "int32")):
    if A[0] == 0:
        for i in range(8):
            if A[0] == 0:
                B[i] = 5
            {later}
"""


@pytest.mark.parametrize(
    ("later", "kept"),
    [("A[0] = i", False), ("A[1] = i", True), ("A[i // 2] = 1", False), ("A[i // 4 + 1] = 1", True), ("pass", True)],
)
def test_a_condition_in_a_loop_holds_only_if_no_iteration_ends_it(later: str, kept: bool) -> None:
    result = decide_inner(LOOP_CARRIED.format(later=later))
    assert isinstance(result, Refines if kept else Unproved)


def test_a_loop_bound_is_a_fact_about_memory_before_the_loop() -> None:
    """The bound is evaluated once; what the body makes of A[0] later says nothing about i."""
    text = """
@T.prim_func
def f(A: T.Buffer((1,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(A[0]):
        A[0] = 0
        if i < A[0]:
            B[0] = i
"""
    func = parse_func(text)
    path = next(p for p, s in places(func.body, lambda s: isinstance(s, If)))
    assert isinstance(take(moves.decide(path, True), reflexive(func), Prover(Solver())), Unproved)
    assert isinstance(take(moves.decide(path, False), reflexive(func), Prover(Solver())), Refines)


def test_an_invariant_is_not_assumed_of_another_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "Never -0.0" must be kept by *every* store to the element."""
    program = """
@T.prim_func
def f(A: T.Buffer((14,), "float32"), B: T.Buffer((1,), "float32")):
    B[0] = T.float32(0)
    for i in range(14):
        B[0] = B[0] + A[i]
        {other}
"""

    def steps(s: Schedule) -> None:
        s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0.0)
        s.sequential_buffer_access("A")
        s.remove_branching_through_overcompute()

    legal = Schedule(program.format(other="pass"))
    steps(legal)
    refused = Schedule(program.format(other="B[0] = B[0] * T.float32(-1)"))
    with pytest.raises(Refuted) as caught:
        steps(refused)
    assert caught.value.confirmed


@pytest.fixture(autouse=True)
def _no_faults_left() -> Iterator[None]:
    execute, walker = Context.execute, region._Walker.__init__
    yield
    assert (Context.execute, region._Walker.__init__) == (execute, walker)
