"""Theorems about arguments of definite values: what that gives, and where it ends."""

from __future__ import annotations

import pytest

from tests.kernel.programs import AB, buffer, load, program, store, take, why
from verified_tir import Refuted, Schedule, ScheduleError
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Cast, Undef
from verified_tir.ir.func import PrimFunc
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.theorem import Refines, Rule, reflexive
from verified_tir.schedule import moves
from verified_tir.schedule.rule_builders import RuleBuilder


def both(f: PrimFunc, rule: Rule | RuleBuilder) -> tuple[bool, bool]:
    """Whether a rule is accepted of any arguments, and of definite ones."""
    found = []
    for definite in (False, True):
        result = take(rule, reflexive(f, definite=definite))
        if isinstance(result, Refines):
            assert result.definite == definite
        else:
            assert "Refuted" in why(result), why(result)
        found.append(isinstance(result, Refines))
    return found[0], found[1]


def test_what_an_argument_holds_is_defined() -> None:
    f = program("B[0] = 1")
    a, b = buffer(f, "A"), buffer(f, "B")
    assert both(f, Insert((), store(b, load(b, 0) + load(a, 1) * 0, 0), "after")) == (False, True)
    assert both(f, Insert((), store(b, load(b, 0) + load(a, 1), 0), "after")) == (False, False)
    assert both(program("for i in range(4):\n    if A[0] > 0:\n        B[i] = 1"), moves.hoist(())) == (
        False,
        True,
    )


def test_what_was_stored_counts_for_itself() -> None:
    for stored, accepted in (("A[2]", True), ("T.undef(dtype='int32')", False), ("T.Cast('int32', F[0])", False)):
        f = program(f"A[1] = {stored}\nB[0] = 1", AB + ', F: T.Buffer((4,), "float32")')
        a, b = buffer(f, "A"), buffer(f, "B")
        assert both(f, Insert((1,), store(b, load(b, 0) + load(a, 1) * 0, 0), "after")) == (False, accepted)


def test_a_loop_that_stores_what_it_reads_elsewhere() -> None:
    for value, accepted in (("A[3 - i] + 1", True), ("T.if_then_else(i > 2, T.undef('int32'), A[i])", False)):
        f = program(f"for i in range(4):\n    A[i] = {value}\nB[0] = 1")
        a, b = buffer(f, "A"), buffer(f, "B")
        assert both(f, Insert((1,), store(b, load(b, 0) + load(a, 3) * 0, 0), "after")) == (False, accepted)


def test_local_buffers_are_undefined() -> None:
    f = program('t = T.alloc_buffer((4,), "int32")\nt[0] = 1\nB[0] = 1')
    t, b = f.body.buffer, buffer(f, "B")  # type: ignore[attr-defined]
    assert both(f, Insert((0, 1), store(b, load(b, 0) + load(t, 0) * 0, 0), "after")) == (True, True)
    assert both(f, Insert((0, 1), store(b, load(b, 0) + load(t, 1) * 0, 0), "after")) == (False, False)


def test_bytes_are_not_values_of_every_type() -> None:
    """A NaN read as an integer, and a byte that is 2 read as a bool, are undefined."""
    for own, seen, accepted in (("int32", "uint32", True), ("float32", "int32", False), ("int8", "bool", False)):
        view = f'v = T.decl_buffer((4,), "{seen}", data=F.data)'
        text = view + '\nB[0] = 1\nif F[3] == F[2]:\n    B[2] = T.Cast("int32", v[1])'
        f = program(text, AB + f', F: T.Buffer((4,), "{own}")')
        v, b = f.body.buffer, buffer(f, "B")  # type: ignore[attr-defined]
        new = store(b, load(b, 0) + Cast(b.dtype, load(v, 1)) * 0, 0)
        assert both(f, Insert((0, 0), new, "after")) == (False, accepted)


def test_order_needs_no_definedness() -> None:
    assert both(program("A[0] = B[0]\nA[1] = B[1]"), moves.swap((), 0)) == (True, True)


COPY = """
@T.prim_func
def f(A: T.Buffer((6,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for i in range(6):
        B[0] = B[0] + A[i] * 0
"""


@pytest.mark.parametrize(
    ("pad", "claim"),
    [
        (0, None),
        (7, None),
        (Undef(INT32), "writes the bits that are there already"),
        (None, "accessible"),
    ],
)
def test_padding_is_what_it_was_declared(pad: object, claim: str | None) -> None:
    s = Schedule(COPY)
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=pad)
    s.sequential_buffer_access("A")
    if claim is None:
        assert s.remove_branching_through_overcompute() == 1
        return
    with pytest.raises(ScheduleError) as refusal:
        s.remove_branching_through_overcompute()
    assert isinstance(refusal.value, Refuted) and refusal.value.confirmed and claim in refusal.value.reason


def test_padding_that_wraps_around_to_undefined_padding() -> None:
    """The second layout's padding repeats elements of the first, one of which is padding that holds nothing."""

    def scheduled(first: object) -> Schedule:
        s = Schedule(COPY)
        s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=first)
        s.transform_layout("A", lambda i, j: [i, j // 3, j % 3], pad_value=lambda i, j, k: s.buffer("A")[i, k])
        s.sequential_buffer_access("A")
        return s

    assert scheduled(0).remove_branching_through_overcompute() >= 1
    with pytest.raises(Refuted, match="read from no padding that is undefined"):
        scheduled(Undef(INT32))
