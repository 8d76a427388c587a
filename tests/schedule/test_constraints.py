"""Buffer constraints: what is known, how it reads, and the steps that add an assumption (RFC 77)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.schedule.schedule_support import WORK, accepted, agree, not_applicable, refused
from verified_tir import BufferConstraint, NotApplicable, Refuted, Schedule, ScheduleError, build, script
from verified_tir.ir.expr import TRUE, Undef, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.sugar import const
from verified_tir.schedule.replay import Programs, replay
from verified_tir.script import tir as T

Golden = Callable[[str, str], None]

DOUBLE = """
@T.prim_func
def func(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for i in T.serial(14):
        with T.block("compute"):
            B[i] = T.float32(2) * A[i]
"""
ROWS = """
@T.prim_func
def func(A: T.Buffer((14, 60), "int32"), B: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        B[i] = 0
        for j in T.serial(60):
            B[i] = B[i] + A[i, j]
"""
SYMBOLIC = """
@T.prim_func
def func(a: T.handle, b: T.handle, k: T.int32):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    for i in range(n):
        B[i] = A[i] + k
"""
STAGED = """
@T.prim_func
def func(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    t = T.alloc_buffer((14,), "int32")
    for i in range(14):
        t[i] = A[i] * 2
    for i in range(14):
        B[i] = t[i]
"""
IN_FOURS = lambda i: [i // 4, i % 4]  # noqa: E731


def said(s: Schedule, buffer: str) -> list[str]:
    return [str(c) for c in s.constraints(buffer)]


def weakened(s: Schedule) -> None:
    """Before and after agree on inputs that the theorem is about."""
    theorem = s.theorem
    found = replay(Programs(theorem.before, theorem.after, (), theorem.paddings, theorem.relation), {}, WORK)
    assert not found.confirmed, found.message
    assert found.inputs


# -- the value ---------------------------------------------------------------------------------------------------------


def test_a_constraint_as_a_value() -> None:
    s = Schedule(DOUBLE)
    s.transform_layout("A", IN_FOURS)
    a = s.buffer("A")
    io, ii = Var.fresh("io"), Var.fresh("ii")
    predicate = io * 4 + ii >= 14
    found = BufferConstraint(a, (io, ii), predicate, const(0.0, "float32"))
    assert str(found) == "A[io, ii] == 0.0 where io * 4 + ii >= 14"
    assert str(BufferConstraint(a, (io, ii), TRUE, Undef(a.dtype))) == "A[io, ii] may be anything"
    assert str(BufferConstraint(a, (io, ii), predicate, None)) == (
        "A[io, ii] is touched by nobody where io * 4 + ii >= 14"
    )
    assert script(found.holds_at((ii, io))) == "ii * 4 + io >= 14"
    for wrong in (
        lambda: BufferConstraint(a, (io,), predicate, None),
        lambda: BufferConstraint(a, (io, ii), io, None),
        lambda: BufferConstraint(a, (io, ii), predicate, const(0)),
    ):
        with pytest.raises(IRError):
            wrong()


def test_what_the_layouts_say() -> None:
    s = Schedule(ROWS)
    assert said(s, "A") == said(s, "B") == []
    s.transform_layout("A", lambda i, j: [i // 4, i % 4, j], pad_value=T.undef())
    assert said(s, "A") == ["A[io, ii, j] may be anything where io == 3 and ii >= 2"]
    s.transform_layout("A", lambda io, ii, j: [io, ii, j // 8, j % 8], pad_value=0)
    s.transform_layout("B", lambda i: [i // 4, i % 4])
    assert said(s, "A") == [
        "A[io, ii, jo, ji] == 0 where jo == 7 and ji >= 4",
        "A[io, ii, jo, ji] may be anything where (jo != 7 or ji < 4) and io == 3 and ii >= 2",
    ]
    assert said(s, "B") == ["B[io, ii] is touched by nobody where io == 3 and ii >= 2"]
    assert [c.when for c in s.constraints("A")] == ["always", "always"]
    s.transform_layout("B", lambda io, ii: [ii, io + 1], pad_value=lambda ii, io: ii)
    assert said(s, "B") == [
        "B[ii, io] == ii where io == 0",
        "B[ii, io] is touched by nobody where ii >= 2 and io == 4",
    ]
    assert [c.when for c in s.constraints("B")] == ["at exit", "always"]


def test_a_layout_without_padding_says_nothing() -> None:
    s = accepted(DOUBLE, lambda s: s.transform_layout("A", lambda i: [i // 7, i % 7], pad_value=1.0))
    assert said(s, "A") == []


def test_symbolic_shapes() -> None:
    s = accepted(SYMBOLIC, lambda s: s.transform_layout("A", IN_FOURS, pad_value=0))
    assert said(s, "A") == ["A[io, ii] == 0 where 4 * io + ii >= n"]


def test_what_the_program_assumes() -> None:
    program = DOUBLE.replace(
        "    for i in",
        """    for i in range(3, 14):
        T.assume(A[i] == T.float32(1))
    for i, j in T.grid(2, 5):
        T.assume(i + j < 3 or B[5 * i + j] == T.float32(i + j))
    if A[0] > T.float32(0):
        T.assume(A[1] == T.float32(5))
    for i in range(14):
        T.assume(A[i] >= T.float32(0))
    for i in""",
        1,
    )
    s = Schedule(program)
    assert said(s, "A") == ["A[i] == 1.0 where i >= 3"]
    found = said(s, "B")
    assert len(found) == 1
    assert [c.when for c in s.constraints("B")] == ["at entry"]
    s.transform_layout("A", IN_FOURS, pad_value=0.0)
    assert said(s, "A")[0] == "A[io, ii] == 0.0 where io == 3 and ii >= 2"
    assert len(said(s, "A")) == 2
    (_, moved) = s.constraints("A")
    places = [(x, y) for x in range(4) for y in range(4) if _true(moved, x, y)]
    assert places == [(k // 4, k % 4) for k in range(3, 14)]


def _true(c: BufferConstraint, *point: int) -> bool:
    from verified_tir.index.evaluate import evaluate

    return bool(evaluate([c.holds_at([const(k) for k in point])], {})[0])


def test_local_buffers_hold_what_was_stored_last() -> None:
    s = Schedule(STAGED)
    assert said(s, "t") == []
    s.transform_layout("t", IN_FOURS, pad_value=3)
    assert said(s, "t") == ["t[io, ii] == 3 where io == 3 and ii >= 2"]
    s.transform_layout("t", lambda io, ii: [ii, io], pad_value=4)
    assert said(s, "t") == ["t[ii, io] == 3 where io == 3 and ii >= 2"]
    assert [c.when for c in s.constraints("t")] == ["when all is written"]


def test_local_buffers_that_are_overwritten() -> None:
    """The store of zeros is seen where no later store may reach."""
    program = STAGED.replace(
        "    for i in range(14):\n        t[i] = A[i] * 2",
        """    for i in range(14):
        t[i] = 0
    for i in range({bound}):
        t[i] = A[i] * 2""",
    )
    assert said(Schedule(program.format(bound=9)), "t") == []  # where it still stands is not worked out
    s = Schedule(
        program.format(bound=9).replace(
            "    for i in range(14):\n        t[i] = 0",
            """    for i in range(9, 14):
        t[i] = 0""",
        )
    )
    assert said(s, "t") == ["t[i] == 0 where i >= 9"]
    late = program.format(bound=9).replace("        B[i] = t[i]", "        B[i] = t[i]\n        t[i] = 1")
    assert said(Schedule(late), "t") == ["t[i] == 1"]


def test_copies_have_the_constraints_of_what_they_copy() -> None:
    def steps(s: Schedule) -> None:
        s.transform_layout("A", IN_FOURS, pad_value=1.0)
        s.cache_read("compute", "A", "local")

    s = accepted(DOUBLE, steps)
    assert s.buffer("A_local").shape[0] is const(4)
    assert said(s, "A_local") == ["A_local[ax0, ax1] == 1.0 where ax0 == 3 and ax1 >= 2"]


def test_there_is_no_such_buffer() -> None:
    with pytest.raises(NotApplicable, match="no buffer called 'Z'"):
        Schedule(DOUBLE).constraints("Z")


# -- from a proof ------------------------------------------------------------------------------------------------------


def test_the_stage_of_the_rfc(golden: Golden) -> None:
    """ "Enhancement - transform_layout", the second example: T.assume for the input, a block for the output."""

    def steps(s: Schedule) -> None:
        s.transform_layout("compute", "A", IN_FOURS, pad_value=-1)
        s.transform_layout("compute", "B", IN_FOURS, pad_value=-2)
        s.add_buffer_constraint("A", lambda io, ii: 4 * io + ii >= 14, -1)

    s = accepted(DOUBLE, steps)
    golden("constraint_stage.txt", s.script())
    assert said(s, "A") == ["A[io, ii] == -1.0 where io == 3 and ii >= 2"]  # it says nothing new


def test_multiple_buffer_semantics(golden: Golden) -> None:
    """The displayed program after the second transformation: each stage is moved by those that come later."""

    def steps(s: Schedule) -> None:
        s.transform_layout("A", lambda i, j: [i // 4, i % 4, j], pad_value=lambda io, ii, j: T.undef())
        s.add_buffer_constraint("A", lambda io, ii, j: 4 * io + ii >= 14, T.undef())
        s.transform_layout("A", lambda io, ii, j: [io, ii, j // 8, j % 8], pad_value=0)
        s.add_buffer_constraint("A", lambda io, ii, jo, ji: 8 * jo + ji >= 60, 0)
        s.transform_layout("B", IN_FOURS, pad_value=T.undef())
        s.write_padding("B")

    golden("constraint_multiple.txt", accepted(ROWS, steps).script())


def test_assume_padding(golden: Golden) -> None:
    def steps(s: Schedule) -> None:
        s.transform_layout("A", lambda i, j: [i // 4, i % 4, j], pad_value=T.undef())
        s.transform_layout("A", lambda io, ii, j: [io, ii, j // 8, j % 8], pad_value=0)
        s.assume_padding("A")

    golden("constraint_padding.txt", accepted(ROWS, steps).script())
    not_applicable(DOUBLE, lambda s: s.assume_padding("A"), "A has no padding of which something may be assumed")

    def forbidden(s: Schedule) -> None:
        s.transform_layout("A", IN_FOURS)
        s.assume_padding("A")

    not_applicable(DOUBLE, forbidden, "A has no padding of which something may be assumed")
    not_applicable(STAGED, lambda s: s.assume_padding("t"), "t is a local buffer")


def test_write_padding() -> None:
    def steps(s: Schedule) -> None:
        s.transform_layout("B", IN_FOURS, pad_value=T.undef())
        s.write_padding("B")

    s = accepted(DOUBLE, steps)
    assert s.blocks == ["compute", "B_padding"]
    assert 'B[io, ii] = T.undef(dtype="float32")' in s.script()
    not_applicable(DOUBLE, lambda s: s.write_padding("B"), "B has no padding that may be written")
    not_applicable(DOUBLE, lambda s: s.write_padding("A"), "A is not a parameter that the program writes")


def test_one_element_too_many_is_refused() -> None:
    """B[13] is an element: the counterexample is run."""

    def steps(s: Schedule) -> None:
        s.transform_layout("A", IN_FOURS, pad_value=0.0)
        s.add_buffer_constraint("A", lambda io, ii: 4 * io + ii >= 13, 0.0)

    refusal = refused(DOUBLE, steps, "4 * io + ii < 13 or A[io, ii] == T.float32(0.0): the assumption holds")
    assert "an assumption is false" in str(refusal)


def test_another_value_and_forbidden_access_are_refused() -> None:
    def steps(value: float, pad: float | None) -> Callable[[Schedule], None]:
        def run(s: Schedule) -> None:
            s.transform_layout("A", IN_FOURS, pad_value=pad)
            s.add_buffer_constraint("A", lambda io, ii: 4 * io + ii >= 14, value)

        return run

    accepted(DOUBLE, steps(0.0, -0.0))  # IEEE's comparison
    refused(DOUBLE, steps(1.0, 0.0), "the assumption holds")
    refused(DOUBLE, steps(0.0, None), "accessible")
    not_applicable(DOUBLE, steps(float("nan"), float("nan")), "holds NaN, which equals nothing")


def test_local_buffers_and_named_places() -> None:
    def steps(s: Schedule) -> None:
        s.transform_layout("t", IN_FOURS, pad_value=3)
        s.add_buffer_constraint("t", lambda io, ii: 4 * io + ii >= 14, 3)
        s.add_buffer_constraint("t", lambda io, ii: io.equal(3), T.undef(), before=s.loops()[-1])

    s = accepted(STAGED, steps)
    text = s.script()
    first, second = text.index("4 * io + ii < 14"), text.index("io != 3 or t")
    assert text.index("t_padding") < first < second < text.index("B[i] =")

    def too_early(s: Schedule) -> None:
        s.transform_layout("t", IN_FOURS, pad_value=3)
        s.add_buffer_constraint("t", lambda io, ii: 4 * io + ii >= 14, 3, before=s.loops()[0])

    refused(STAGED, too_early, "a branch on undef")


def test_a_condition_on_symbols() -> None:
    s = Schedule(SYMBOLIC)
    s.assume(s.symbol("n") >= 0)
    assert "T.assume(n >= 0)" in s.script()
    agree(s)
    with pytest.raises(Refuted, match="the assumption n >= 1 holds") as refusal:
        s.assume(s.symbol("n") >= 1)
    assert refusal.value.confirmed


# -- as the user's word ------------------------------------------------------------------------------------------------


def test_an_axiom_weakens_the_theorem(golden: Golden) -> None:
    s = Schedule(SYMBOLIC)
    s.transform_layout("A", IN_FOURS, pad_value=0)
    a = s.buffer("A")
    s.assume(lambda io, ii: a[io, ii] >= 0, "A", axiom=True)
    s.assume(s.symbol("k") > 2, axiom=True)
    s.add_buffer_constraint("B", lambda i: i < 3, lambda i: i, axiom=True)
    golden("constraint_axioms.txt", f"{s.script()}\n{chr(10).join(s.assumptions)}\n")
    weakened(s)
    assert s.validate(sizes=[{"n": 5, "k": 3}]).word == "agrees"


def test_what_was_assumed_is_used() -> None:
    """A branch is decided by an axiom, by way of an assumption that is proved from it where it is needed."""
    program = DOUBLE.replace("B[i] = T.float32(2) * A[i]", "if A[i] < 0.0:\n                B[i] = 1.0")
    s = Schedule(program)
    a = s.buffer("A")
    assert s.simplify() == 0
    s.assume(lambda i: a[i] > 0.0, "A", axiom=True)
    s.transform_layout("A", IN_FOURS, pad_value=None)
    weakened(s)
    i = s.loops("compute")[0]
    s.assume(s.buffer("A")[i // 4, i % 4] >= 0.0, before="compute")
    assert s.simplify() > 0
    assert "if A" not in s.script()
    weakened(s)
    assert "A[i] > T.float32(0.0), for i in range(14) (asserted by the schedule)" in s.assumptions


def test_machine_code_checks_the_axioms() -> None:
    s = Schedule(SYMBOLIC)
    s.assume(s.symbol("k") > 2, axiom=True)
    s.assume(lambda i: s.buffer("A")[i] >= 0, "A", axiom=True)
    function = build(s, check_assumptions=True)
    a, b = np.arange(5, dtype=np.int32), np.zeros(5, np.int32)
    function(a, b, 3)
    assert b.tolist() == [3, 4, 5, 6, 7]
    with pytest.raises(ValueError, match="an assumption is false"):
        function(a, b, 2)
    with pytest.raises(ValueError, match="an assumption is false"):
        function(-a, b, 3)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (lambda s: s.assume(s.symbol("n") < 0, axiom=True), "no input satisfies them"),
        (lambda s: (s.assume(s.symbol("k") > 3, axiom=True), s.assume(s.symbol("k") < 3, axiom=True)), "contradict"),
        (lambda s: s.add_buffer_constraint("A", lambda i: i is None, 0, axiom=True), "write a.equal(b)"),
        (lambda s: s.assume(lambda i: i == i, "A", axiom=True), "this assumes nothing, since it is always true"),
        (lambda s: s.assume("A[i] == A[i]", "A"), "not the text 'A[i] == A[i]'"),
        (lambda s: s.add_buffer_constraint("A", lambda i: i, 0, axiom=True), "a condition is wanted"),
        (lambda s: s.add_buffer_constraint("A", lambda i, j: i < j, 0), "a function of the 1 indices of A is wanted"),
        (lambda s: s.add_buffer_constraint("A", True, None), "is declared by transform_layout(…, pad_value=None)"),
        (lambda s: s.add_buffer_constraint("A", True, 0.5), "cannot be 0.5"),
        (lambda s: s.add_buffer_constraint("A", True, 2**40), "cannot be 1099511627776"),
        (lambda s: s.add_buffer_constraint("A", True, T.float32(0.5)), "0.5 is not a value of type int32"),
        (lambda s: s.assume(lambda i: i >= 0), "needs the buffer they belong to"),
        (lambda s: s.assume(s.symbol("n") >= 0, before="i", axiom=True), "before= is for what is proved"),
        (lambda s: s.assume(s.symbol("n") >= 0, before="nowhere"), "no loop called 'nowhere'"),
    ],
)
def test_what_is_refused(steps: Callable[[Schedule], object], words: str) -> None:
    s = Schedule(SYMBOLIC)
    with pytest.raises(NotApplicable) as refusal:
        steps(s)
    assert words in str(refusal.value), str(refusal.value)


def test_contradictions_in_loops() -> None:
    s = Schedule(SYMBOLIC)
    a = s.buffer("A")
    s.assume(lambda i: a[i] >= 3, "A", axiom=True)
    before = s.theorem
    with pytest.raises(NotApplicable, match="is true of no input on which it is evaluated"):
        s.assume(lambda i: a[i] < 2, "A", axiom=True)
    assert s.theorem is before
    s.assume(lambda i: a[i] < 5, "A", axiom=True)


def test_padding_is_not_the_users_to_assume() -> None:
    s = Schedule(DOUBLE)
    s.transform_layout("A", IN_FOURS, pad_value=0.0)
    with pytest.raises(NotApplicable, match="would speak of padding of A \\(where io == 3 and ii >= 2\\)"):
        s.add_buffer_constraint("A", lambda io, ii: io.equal(3), 1.0, axiom=True)
    with pytest.raises(NotApplicable, match="at other indices than its own"):
        s.assume(lambda io, ii: s.buffer("A")[io, 0] >= 0.0, "A", axiom=True)
    s.add_buffer_constraint("A", lambda io, ii: 4 * io + ii >= 12, 0.0, axiom=True)  # padding holds that anyway
    s.add_buffer_constraint("A", lambda io, ii: io.equal(0), 1.0, axiom=True)
    weakened(s)
    assert s.assumptions[-1].startswith("i // 4 != 0 or A[i] == T.float32(1.0), for i in range(14)")


def test_local_buffers_have_no_axioms() -> None:
    not_applicable(
        STAGED, lambda s: s.add_buffer_constraint("t", True, 0, axiom=True), "what is in a local buffer is proved"
    )


def test_a_constant_condition() -> None:
    s = Schedule(DOUBLE)
    s.add_buffer_constraint("A", True, 2.0, axiom=True)
    assert said(s, "A") == ["A[i0] == 2.0"]
    assert "T.assume(A[i0] == T.float32(2.0))" in s.script()


PADDED = """
@T.prim_func
def f(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.sblock("B"):
            B[i] = {value}
"""


def padded(value: str, pad: object = 0.0) -> Schedule:
    s = Schedule(PADDED.format(value=value))
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=pad)
    s.transform_layout("B", lambda i: [i // 4, i % 4], pad_value=T.undef())
    s.sequential_buffer_access("B")
    return s


def bits(s: Schedule) -> object:
    zero = T.reinterpret("uint32", T.float32(0.0))
    return lambda io, ii: T.Or(4 * io + ii < 6, T.reinterpret("uint32", s.buffer("B")[io, ii]).equal(zero))


@pytest.mark.nightly
@pytest.mark.parametrize(("value", "holds"), [("A[i] * A[i]", True), ("A[i] + 1.0", False), ("0.0 - A[i]", True)])
def test_what_results_hold_at_the_end_is_proved_there(value: str, holds: bool) -> None:
    s = padded(value)
    s.remove_branching_through_overcompute("B", around=True)
    if holds:
        s.assume(bits(s), "B", at_end=True)
        assert script(s.func).rstrip().split("\n")[-1].lstrip().startswith("T.assume")
    else:
        with pytest.raises(Refuted, match="the assumption holds"):
            s.assume(bits(s), "B", at_end=True)


@pytest.mark.nightly
def test_minus_zero_is_another_element() -> None:
    s = padded("A[i] * -1.0")
    s.remove_branching_through_overcompute("B", around=True)
    with pytest.raises(Refuted, match="the assumption holds"):
        s.assume(bits(s), "B", at_end=True)


def test_a_value_is_stored_to_padding_that_may_hold_anything() -> None:
    s = padded("T.exp(A[i])", T.undef())
    s.write_padding("B", 0.0)
    s.assume(bits(s), "B", at_end=True)
    with pytest.raises(ScheduleError, match=r"the padding of B .*cannot be 'x'"):
        s.write_padding("B", "x")


def test_nothing_is_stored_over_padding_that_was_written() -> None:
    s = padded("A[i] + 1.0")
    s.remove_branching_through_overcompute("B", around=True)
    with pytest.raises(Refuted):
        s.write_padding("B", 0.0)


def test_at_the_end_of_what() -> None:
    s = padded("A[i]")
    with pytest.raises(ScheduleError, match="A is not a parameter that the program writes"):
        s.assume(lambda io, ii: s.buffer("A")[io, ii] >= 0.0, "A", at_end=True)
    with pytest.raises(ScheduleError, match="at_end=True is for what is proved of a buffer"):
        s.assume(lambda io, ii: s.buffer("B")[io, ii] >= 0.0, "B", at_end=True, axiom=True)


def test_a_store_is_said_in_other_words() -> None:
    s = Schedule(PADDED.format(value="A[i] + A[i]"))
    a = s.buffer("A")
    s.restate("B", lambda i: a[5 - (5 - i)] + a[i])
    assert "A[5 - (5 - i)] + A[i]" in script(s.func)
    with pytest.raises(Refuted):
        s.restate("B", lambda i: a[5 - i] + a[i])
    with pytest.raises(ScheduleError, match="A is stored to in 0 places"):
        s.restate("A", lambda i: a[i])
