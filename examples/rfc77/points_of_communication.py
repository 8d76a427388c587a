"""RFC 77, "Points of Communication": one function of two stages, and the same split in two, each with what it knows."""

from displayed import assert_confirmed, assert_structural_equal

from verified_tir import Refines, Schedule, expect_refusal, schedule
from verified_tir.ir.expr import Not
from verified_tir.ir.paths import places
from verified_tir.ir.stmt import For, If, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.theorem import apply
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Refuted as Counterexample
from verified_tir.script import tir as T

# One function: what B's padding holds is seen in the function itself.


@T.prim_func
def single_func(A: T.Buffer((14,), "int32"), C: T.Buffer((1,), "int32")):
    B = T.alloc_buffer((14,), "int32")
    with T.block("transform"):
        for i in T.serial(14):
            B[i] = A[i]

    with T.block("compute"):
        C[0] = 0
        for i in T.serial(14):
            C[0] = C[0] + B[i]


@T.prim_func
def single_func_step0(A: T.Buffer((14,), "int32"), C: T.Buffer((1,), "int32")):
    B = T.alloc_buffer((4, 4), "int32")
    with T.block("transform"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                B[io, ii] = A[4 * io + ii]

    with T.block("compute"):
        C[0] = 0
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                C[0] = C[0] + B[io, ii]


@T.prim_func
def single_func_step1(A: T.Buffer((14,), "int32"), C: T.Buffer((1,), "int32")):
    B = T.alloc_buffer((4, 4), "int32")
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            with T.block("transform"):
                B[io, ii] = A[4 * io + ii]
        else:
            with T.block("B_padding"):
                B[io, ii] = 0

    with T.block("compute"):
        C[0] = 0
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                C[0] = C[0] + B[io, ii]


@T.prim_func
def single_func_step2(A: T.Buffer((14,), "int32"), C: T.Buffer((1,), "int32")):
    B = T.alloc_buffer((4, 4), "int32")
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            with T.block("transform"):
                B[io, ii] = A[4 * io + ii]
        else:
            with T.block("B_padding"):
                B[io, ii] = 0

    with T.block("compute"):
        C[0] = 0
        for io, ii in T.grid(4, 4):
            C[0] = C[0] + B[io, ii]


@schedule(single_func)
def padding_of_which_nothing_is_known(s: Schedule) -> None:
    """The program that the RFC starts from: the second branch has to stay."""
    s.transform_layout("B", lambda i: [i // 4, i % 4])
    s.sequential_buffer_access("B")
    assert_structural_equal(s, single_func_step0)

    with expect_refusal(s) as refusals:
        s.remove_branching_through_overcompute(block="compute")
    assert_confirmed(refusals)


@schedule(single_func)
def padding_of_an_internal_buffer(s: Schedule) -> None:
    """Zeros in the padding of B concern nobody outside, and let the second branch go."""
    s.transform_layout("B", lambda i: [i // 4, i % 4], pad_value=0)
    s.sequential_buffer_access("B")
    s.merge_adjacent_loops()
    s.simplify()
    assert_structural_equal(s, single_func_step1)

    s.remove_branching_through_overcompute(block="compute")
    assert_structural_equal(s, single_func_step2)


# Two functions.  B is a parameter of both, and what each knows of its padding has to be said.


@T.prim_func
def transform_A(A: T.Buffer((14,), "int32"), B: T.Buffer((4, 4), "int32")):
    with T.block("transform"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                B[io, ii] = A[4 * io + ii]


@T.prim_func
def compute_C(B: T.Buffer((4, 4), "int32"), C: T.Buffer((1,), "int32")):
    with T.block("compute"):
        C[0] = 0
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                C[0] = C[0] + B[io, ii]


@schedule(single_func_step0)
def split_in_two(s: Schedule) -> None:
    """Nothing is said of the padding."""
    s.outline("transform", "transform_A")
    s.outline("compute", "compute_C")
    assert_structural_equal(s.module["transform_A"], transform_A)
    assert_structural_equal(s.module["compute_C"], compute_C)


def zeros_in_the_padding(stmt: Stmt) -> Stmt:
    """The nest that stores zeros where the given one stores nothing."""
    match stmt:
        case For(var=var, min=low, extent=extent, body=body):
            return For(var, low, extent, zeros_in_the_padding(body))
        case If(condition=c, then_body=Store(buffer=buffer, indices=indices)):
            return If(Not(c), Store(buffer, const(0), indices))
    raise AssertionError(f"not the nest of transform_A: {stmt}")


def zeros_inserted(s: Schedule, overwritten_by: int) -> Refines | Unproved | NoMatch:
    """What the kernel says to zeros in the padding; ``overwritten_by``: how many statements later it is overwritten."""
    place, nest = next(places(s.func.body, lambda stmt: isinstance(stmt, For)))
    return apply(Insert(place, zeros_in_the_padding(nest), "after", overwritten_by), s.theorem, Prover(Solver()))


@schedule(transform_A)
def an_output_is_changed(s: Schedule) -> None:
    """Not valid: what B's padding held is lost."""
    refused = zeros_inserted(s, overwritten_by=0)
    assert isinstance(refused, Unproved) and isinstance(refused.verdict, Counterexample)


@schedule(compute_C)
def nothing_is_known(s: Schedule) -> None:
    """Not valid: the padding may hold anything."""
    with expect_refusal(s) as refusals:
        s.remove_branching_through_overcompute()
    assert_confirmed(refusals)


# With T.undef and T.assume: the padding may be written with anything, and read.


@T.prim_func
def single_func_undef(A: T.Buffer((14,), "int32"), C: T.Buffer((1,), "int32")):
    B = T.alloc_buffer((4, 4), "int32")
    with T.block("transform"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                B[io, ii] = A[4 * io + ii]

        for io, ii in T.grid(4, 4):
            if 4 * io + ii >= 14:
                B[io, ii] = T.undef()

    with T.block("compute"):
        C[0] = 0
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                C[0] = C[0] + B[io, ii]


@T.prim_func
def transform_A_undef(A: T.Buffer((14,), "int32"), B: T.Buffer((4, 4), "int32")):
    with T.block("transform"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                B[io, ii] = A[4 * io + ii]

        for io, ii in T.grid(4, 4):
            if 4 * io + ii >= 14:
                B[io, ii] = T.undef()


@T.prim_func
def transform_A_undef_rewritten(A: T.Buffer((14,), "int32"), B: T.Buffer((4, 4), "int32")):
    with T.block("transform"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                B[io, ii] = A[4 * io + ii]
            else:
                B[io, ii] = 0

        for io, ii in T.grid(4, 4):
            if 4 * io + ii >= 14:
                B[io, ii] = T.undef()


@T.prim_func
def compute_C_undef(B: T.Buffer((4, 4), "int32"), C: T.Buffer((1,), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(4 * io + ii < 14 or B[io, ii] == T.undef())

    with T.block("compute"):
        C[0] = 0
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                C[0] = C[0] + B[io, ii]


@schedule(single_func_undef)
def split_with_undef(s: Schedule) -> None:
    """That the padding of B may be read is proved before it is split off."""
    s.add_buffer_constraint("B", lambda io, ii: 4 * io + ii >= 14, T.undef("int32"), before="compute")
    s.outline("transform", "transform_A")
    s.outline("compute", "compute_C")
    assert_structural_equal(s.module["transform_A"], transform_A_undef)
    assert_structural_equal(s.module["compute_C"], compute_C_undef)


@schedule(transform_A_undef)
def an_output_that_may_hold_anything(s: Schedule) -> None:
    """Valid: the store of undef behind it overwrites the zeros."""
    theorem = zeros_inserted(s, overwritten_by=1)
    assert isinstance(theorem, Refines)

    merged = Schedule(theorem.after)
    first, second = merged.loops()[0], merged.loops()[2]
    merged.merge_adjacent_loops(first, second)
    merged.simplify()
    assert_structural_equal(merged, transform_A_undef_rewritten)


@schedule(compute_C_undef)
def only_access_is_known(s: Schedule) -> None:
    """Not valid: the padding may be read, and is not known to be zero."""
    with expect_refusal(s) as refusals:
        s.remove_branching_through_overcompute()
    assert_confirmed(refusals)


# With a known value.


@T.prim_func
def single_func_known(A: T.Buffer((14,), "int32"), C: T.Buffer((1,), "int32")):
    B = T.alloc_buffer((4, 4), "int32")
    with T.block("transform"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                B[io, ii] = A[4 * io + ii]

        for io, ii in T.grid(4, 4):
            if 4 * io + ii >= 14:
                B[io, ii] = 0

    with T.block("compute"):
        C[0] = 0
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                C[0] = C[0] + B[io, ii]


@T.prim_func
def transform_A_known(A: T.Buffer((14,), "int32"), B: T.Buffer((4, 4), "int32")):
    with T.block("transform"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                B[io, ii] = A[4 * io + ii]

        for io, ii in T.grid(4, 4):
            if 4 * io + ii >= 14:
                B[io, ii] = 0


@T.prim_func
def compute_C_known(B: T.Buffer((4, 4), "int32"), C: T.Buffer((1,), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(4 * io + ii < 14 or B[io, ii] == 0)

    with T.block("compute"):
        C[0] = 0
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                C[0] = C[0] + B[io, ii]


@T.prim_func
def compute_C_known_rewritten(B: T.Buffer((4, 4), "int32"), C: T.Buffer((1,), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(4 * io + ii < 14 or B[io, ii] == 0)

    with T.block("compute"):
        C[0] = 0
        for io, ii in T.grid(4, 4):
            C[0] = C[0] + B[io, ii]


@schedule(single_func_known)
def split_with_a_known_value(s: Schedule) -> None:
    """The value is proved before it is split off; then either half is rewritten alone, and put back."""
    s.add_buffer_constraint("B", lambda io, ii: 4 * io + ii >= 14, 0, before="compute")
    s.outline("transform", "transform_A")
    s.outline("compute", "compute_C")
    assert_structural_equal(s.module["transform_A"], transform_A_known)
    assert_structural_equal(s.module["compute_C"], compute_C_known)

    half = Schedule(s.module["compute_C"])
    half.remove_branching_through_overcompute()
    s.refine_call("compute_C", half)
    assert_structural_equal(s.module["compute_C"], compute_C_known_rewritten)


@schedule(single_func_undef)
def a_value_that_is_not_known(s: Schedule) -> None:
    """More may not be said than the first stage sees to."""
    with expect_refusal(s) as refusals:
        s.add_buffer_constraint("B", lambda io, ii: 4 * io + ii >= 14, 0, before="compute")
    assert_confirmed(refusals)


@schedule(compute_C_known)
def a_value_is_known(s: Schedule) -> None:
    """Valid: it is zero."""
    s.remove_branching_through_overcompute()
    assert_structural_equal(s, compute_C_known_rewritten)
