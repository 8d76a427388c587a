"""RFC 77, implementation option "Implicitly write default value of next operator", corrected.

The RFC's chain starts from another convolution than it says, gets the padding of B wrong, sums floats in another order
than before, and multiplies padding by a filter that may be infinite (docs/rfc77-errata.md).  This one is
``topi.nn.conv1d(A, F, padding=2)``, with a filter that is finite.
"""

from displayed import assert_confirmed, assert_structural_equal, conditions_rewritten

from verified_tir import HoistConditional, Refines, Refuted, Schedule, expect_refusal, schedule
from verified_tir.script import tir as T


def offset(i):
    return [(i + 2) // 8, (i + 2) % 8]


@T.prim_func
def initial(A: T.Buffer((16,), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((18,), "float32")):
    for f in T.serial(3):
        T.assume(F[f] >= -3.0e38 and F[f] <= 3.0e38)

    for Bi in T.serial(18):
        with T.block("init"):
            B[Bi] = 0.0
        for fi in T.serial(3):
            with T.block("compute"):
                Ai = Bi + fi - 2
                if 0 <= Ai < 16:
                    B[Bi] = B[Bi] + F[fi] * A[Ai]


@T.prim_func
def transformed_a(A: T.Buffer((3, 8), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((18,), "float32")):
    for io, ii in T.grid(3, 8):
        T.assume((8 * io + ii >= 2 and 8 * io + ii < 18) or A[io, ii] == 0.0)
    for f in T.serial(3):
        T.assume(F[f] >= -3.0e38 and F[f] <= 3.0e38)

    for Bi in T.serial(18):
        with T.block("init"):
            B[Bi] = 0.0
        for fi in T.serial(3):
            with T.block("compute"):
                Ai = Bi + fi - 2
                if 0 <= Ai < 16:
                    B[Bi] = B[Bi] + F[fi] * A[(Ai + 2) // 8, (Ai + 2) % 8]


@T.prim_func
def transformed_b(A: T.Buffer((3, 8), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((3, 8), "float32")):
    for io, ii in T.grid(3, 8):
        T.assume((8 * io + ii >= 2 and 8 * io + ii < 18) or A[io, ii] == 0.0)
    for f in T.serial(3):
        T.assume(F[f] >= -3.0e38 and F[f] <= 3.0e38)

    for Bi in T.serial(18):
        with T.block("init"):
            B[(Bi + 2) // 8, (Bi + 2) % 8] = 0.0
        for fi in T.serial(3):
            with T.block("compute"):
                Ai = Bi + fi - 2
                if 0 <= Ai < 16:
                    B[(Bi + 2) // 8, (Bi + 2) % 8] = (
                        B[(Bi + 2) // 8, (Bi + 2) % 8] + F[fi] * A[(Ai + 2) // 8, (Ai + 2) % 8]
                    )

    for io, ii in T.grid(3, 8):
        with T.block("B_padding"):
            if 8 * io + ii < 2 or 8 * io + ii >= 20:
                B[io, ii] = 0.0


@T.prim_func
def sequential_a(A: T.Buffer((3, 8), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((3, 8), "float32")):
    for io, ii in T.grid(3, 8):
        T.assume((8 * io + ii >= 2 and 8 * io + ii < 18) or A[io, ii] == 0.0)
    for f in T.serial(3):
        T.assume(F[f] >= -3.0e38 and F[f] <= 3.0e38)

    for Bi in T.serial(18):
        with T.block("init"):
            B[(Bi + 2) // 8, (Bi + 2) % 8] = 0.0

    for io, ii, fi in T.grid(3, 8, 3):
        if 0 <= 8 * io + ii - 2 < 16 and 0 <= 8 * io + ii - fi and 8 * io + ii - fi < 18:  # noqa: SIM300
            with T.block("compute"):
                B[io + (ii - fi + 2) // 8, (ii - fi + 2) % 8] = (
                    B[io + (ii - fi + 2) // 8, (ii - fi + 2) % 8] + F[fi] * A[io, ii]
                )

    for io, ii in T.grid(3, 8):
        with T.block("B_padding"):
            if 8 * io + ii < 2 or 8 * io + ii >= 20:
                B[io, ii] = 0.0


@T.prim_func
def sequential_b(A: T.Buffer((3, 8), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((3, 8), "float32")):
    for io, ii in T.grid(3, 8):
        T.assume((8 * io + ii >= 2 and 8 * io + ii < 18) or A[io, ii] == 0.0)
    for f in T.serial(3):
        T.assume(F[f] >= -3.0e38 and F[f] <= 3.0e38)

    for io, ii in T.grid(3, 8):
        if 0 <= 8 * io + ii - 2 < 18:
            with T.block("init"):
                B[io, ii] = 0.0

    for io, ii, fi in T.grid(3, 8, 3):
        if 0 <= 8 * io + ii - 2 < 16 and 0 <= 8 * io + ii - fi and 8 * io + ii - fi < 18:  # noqa: SIM300
            with T.block("compute"):
                B[io + (ii - fi + 2) // 8, (ii - fi + 2) % 8] = (
                    B[io + (ii - fi + 2) // 8, (ii - fi + 2) % 8] + F[fi] * A[io, ii]
                )

    for io, ii in T.grid(3, 8):
        with T.block("B_padding"):
            if 8 * io + ii < 2 or 8 * io + ii >= 20:
                B[io, ii] = 0.0


@T.prim_func
def merged(A: T.Buffer((3, 8), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((3, 8), "float32")):
    for io, ii in T.grid(3, 8):
        T.assume((8 * io + ii >= 2 and 8 * io + ii < 18) or A[io, ii] == 0.0)
    for f in T.serial(3):
        T.assume(F[f] >= -3.0e38 and F[f] <= 3.0e38)

    for io, ii in T.grid(3, 8):
        with T.block("init"):
            B[io, ii] = 0.0

    for io, ii, fi in T.grid(3, 8, 3):
        if 8 * io + ii >= 2 and 8 * io + ii < 18:
            with T.block("compute"):
                B[io + (ii - fi + 2) // 8, (ii - fi + 2) % 8] = (
                    B[io + (ii - fi + 2) // 8, (ii - fi + 2) % 8] + F[fi] * A[io, ii]
                )


@T.prim_func
def overcompute(A: T.Buffer((3, 8), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((3, 8), "float32")):
    for io, ii in T.grid(3, 8):
        T.assume((8 * io + ii >= 2 and 8 * io + ii < 18) or A[io, ii] == 0.0)
    for f in T.serial(3):
        T.assume(F[f] >= -3.0e38 and F[f] <= 3.0e38)

    for io, ii in T.grid(3, 8):
        with T.block("init"):
            B[io, ii] = 0.0

    for io, ii, fi in T.grid(3, 8, 3):
        with T.block("compute"):
            B[(io + (ii - fi + 2) // 8) % 3, (ii - fi + 2) % 8] = (
                B[(io + (ii - fi + 2) // 8) % 3, (ii - fi + 2) % 8] + F[fi] * A[io, ii]
            )


@schedule(initial)
def implicit_default(s: Schedule) -> None:
    """From the definition to a nest without any branch, whose padding comes out as zero by itself."""
    s.transform_layout("A", offset, pad_value=0.0)
    s.assume_padding("A")
    assert_structural_equal(s, transformed_a)

    s.transform_layout("B", offset, pad_value=0.0)
    assert_structural_equal(s, transformed_b)

    s.sequential_buffer_access(block="compute", buffer="A")
    assert_structural_equal(s, sequential_a)

    s.sequential_buffer_access(block="init", buffer="B")
    assert_structural_equal(s, sequential_b)

    s.merge_adjacent_loops(s.loops("init")[0], s.loops("B_padding")[0])
    s.simplify()
    assert_structural_equal(s, merged)

    s.remove_branching_through_overcompute(wrap_indices=True)
    assert_structural_equal(s, overcompute)


@T.prim_func
def readable(A: T.Buffer((3, 8), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((3, 8), "float32")):
    for io, ii in T.grid(3, 8):
        T.assume((8 * io + ii >= 2 and 8 * io + ii < 18) or A[io, ii] == 0.0)
    for f in T.serial(3):
        T.assume(F[f] >= -3.0e38 and F[f] <= 3.0e38)

    for io, ii in T.grid(3, 8):
        with T.block("init"):
            B[io, ii] = 0.0

    with T.block("convolution"):
        for io, ii, fi in T.grid(3, 8, 3):
            if (
                (not (io == 0 and ii < 2))
                and (not (io == 2 and ii >= 2))
                and (not (io == 0 and ii - fi < 0))
                and (not (io == 2 and ii - fi >= 2))
            ):
                B[io + (ii - fi + 2) // 8, (ii - fi + 2) % 8] = (
                    B[io + (ii - fi + 2) // 8, (ii - fi + 2) % 8] + F[fi] * A[io, ii]
                )


@T.prim_func
def before_readability(A: T.Buffer((3, 8), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((3, 8), "float32")):
    for io, ii in T.grid(3, 8):
        T.assume((8 * io + ii >= 2 and 8 * io + ii < 18) or A[io, ii] == 0.0)
    for f in T.serial(3):
        T.assume(F[f] >= -3.0e38 and F[f] <= 3.0e38)

    for io, ii in T.grid(3, 8):
        with T.block("init"):
            B[io, ii] = 0.0

    with T.block("convolution"):
        for io, ii, fi in T.grid(3, 8, 3):
            if 8 * io + ii >= 2 and 8 * io + ii < 18 and 8 * io + ii >= fi and 8 * io + ii - fi < 18:
                B[io + (ii - fi + 2) // 8, (ii - fi + 2) % 8] = (
                    B[io + (ii - fi + 2) // 8, (ii - fi + 2) % 8] + F[fi] * A[io, ii]
                )


@schedule(before_readability)
def conditions_for_readability(s: Schedule) -> None:
    """The same conditions in terms of the layout."""
    theorem = conditions_rewritten(s, readable)
    assert isinstance(theorem, Refines)
    assert_structural_equal(theorem.after, readable)


@T.prim_func
def hoisted(A: T.Buffer((3, 8), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((3, 8), "float32")):
    for io, ii in T.grid(3, 8):
        T.assume((8 * io + ii >= 2 and 8 * io + ii < 18) or A[io, ii] == 0.0)
    for f in T.serial(3):
        T.assume(F[f] >= -3.0e38 and F[f] <= 3.0e38)

    for io, ii in T.grid(3, 8):
        with T.block("init"):
            B[io, ii] = 0.0

    with T.block("convolution"):
        for io in T.serial(3):
            if io == 0:
                for ii in T.serial(8):
                    if ii >= 2:
                        for fi in T.serial(3):
                            B[io + (ii - fi + 2) // 8, (ii - fi + 2) % 8] = (
                                B[io + (ii - fi + 2) // 8, (ii - fi + 2) % 8] + F[fi] * A[io, ii]
                            )
            elif io == 2:
                for ii in T.serial(8):
                    if ii < 2:
                        for fi in T.serial(3):
                            B[io + (ii - fi + 2) // 8, (ii - fi + 2) % 8] = (
                                B[io + (ii - fi + 2) // 8, (ii - fi + 2) % 8] + F[fi] * A[io, ii]
                            )
            else:
                for ii in T.serial(8):
                    for fi in T.serial(3):
                        B[io + (ii - fi + 2) // 8, (ii - fi + 2) % 8] = (
                            B[io + (ii - fi + 2) // 8, (ii - fi + 2) % 8] + F[fi] * A[io, ii]
                        )


@T.prim_func
def without_branches(A: T.Buffer((3, 8), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((3, 8), "float32")):
    for io, ii in T.grid(3, 8):
        T.assume((8 * io + ii >= 2 and 8 * io + ii < 18) or A[io, ii] == 0.0)
    for f in T.serial(3):
        T.assume(F[f] >= -3.0e38 and F[f] <= 3.0e38)

    for io, ii in T.grid(3, 8):
        with T.block("init"):
            B[io, ii] = 0.0

    with T.block("convolution"):
        for io, ii, fi in T.grid(3, 8, 3):
            B[(io + (ii - fi + 2) // 8) % 3, (ii - fi + 2) % 8] = (
                B[(io + (ii - fi + 2) // 8) % 3, (ii - fi + 2) % 8] + F[fi] * A[io, ii]
            )


@schedule(readable)
def by_hoisting(s: Schedule) -> None:
    """The RFC's own way: conditions on ``io`` and then on ``ii`` leave the loops, and what is left of them goes.

    Of ``(not ii < 2) and (not ii - fi < 0)`` the second follows from the first.
    """
    s.hoist_expression(HoistConditional.BOOLEAN_EXPRESSION, block="convolution")
    s.simplify()
    assert_structural_equal(s, hoisted)

    s.remove_branching_through_overcompute(block="convolution", wrap_indices=True)
    assert_structural_equal(s, without_branches)


@T.prim_func
def nor(B: T.Buffer((8, 3), "float32")):
    for ii, fi in T.grid(8, 3):
        if (not ii < 2) and (not ii + fi < 2):
            B[ii, fi] = 1.0


@T.prim_func
def either(B: T.Buffer((8, 3), "float32")):
    for ii, fi in T.grid(8, 3):
        if ii >= 2 or ii + fi >= 2:
            B[ii, fi] = 1.0


@T.prim_func
def both(B: T.Buffer((8, 3), "float32")):
    for ii, fi in T.grid(8, 3):
        if ii >= 2 and ii + fi >= 2:
            B[ii, fi] = 1.0


@schedule(nor)
def neither_nor(s: Schedule) -> None:
    """The RFC's simplification for readability, with ``or``, and with ``and``."""
    refused = conditions_rewritten(s, either)
    assert not isinstance(refused, Refines)
    assert isinstance(conditions_rewritten(s, both), Refines)


@T.prim_func
def one_tap(A: T.Buffer((14,), "float32"), F: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
    B[0] = 0.0
    for i in T.serial(14):
        B[0] = B[0] + F[0] * A[i]


@schedule(one_tap)
def without_the_assumption(s: Schedule) -> None:
    """Zero times the filter is NaN if that is infinite.  With the user's word that it is not, the branch may go."""
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0.0)
    s.sequential_buffer_access("A")
    with expect_refusal(s) as refusals:
        s.remove_branching_through_overcompute()
    assert_confirmed(refusals)

    s.assume(lambda i: s.buffer("F")[i] >= -3.0e38, "F", axiom=True)
    s.assume(lambda i: s.buffer("F")[i] <= 3.0e38, "F", axiom=True)
    s.remove_branching_through_overcompute()


@T.prim_func
def flipped(A: T.Buffer((16,), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((18,), "float32")):
    for Bi in T.serial(18):
        B[Bi] = 0.0
        for fi in T.serial(3):
            Ai = Bi - fi
            if 0 <= Ai < 16:
                B[Bi] = B[Bi] + F[fi] * A[Ai]


@schedule(flipped)
def in_another_order(s: Schedule) -> None:
    """The convolution that the RFC's later programs compute: loops that follow A sum its terms backwards."""
    s.transform_layout("A", offset, pad_value=0.0)
    with expect_refusal(s) as refusals:
        s.sequential_buffer_access("A")
    assert isinstance(refusals[0], Refuted)
    assert_confirmed(refusals)
