"""RFC 77, "Remove Branching Through Overcompute" and "Remove Overcompute Through Branching"."""

from displayed import assert_confirmed, assert_structural_equal

from verified_tir import Schedule, expect_refusal, schedule
from verified_tir.script import tir as T


@T.prim_func
def initial(A: T.Buffer((16,), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((14,), "float32")):
    with T.block("compute"):
        for i in T.serial(14):
            B[i] = 0.0
            for f in T.serial(3):
                B[i] = B[i] + A[i + f]


@T.prim_func
def transformed_a(A: T.Buffer((4, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((14,), "float32")):
    with T.block("compute"):
        for i in T.serial(14):
            B[i] = 0.0
            for f in T.serial(3):
                B[i] = B[i] + A[(i + f) // 4, (i + f) % 4]


@T.prim_func
def transformed_b(A: T.Buffer((4, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((4, 4), "float32")):
    with T.block("compute"):
        for i in T.serial(14):
            B[i // 4, i % 4] = 0.0
            for f in T.serial(3):
                B[i // 4, i % 4] = B[i // 4, i % 4] + A[(i + f) // 4, (i + f) % 4]

        for io, ii in T.grid(4, 4):
            with T.block("B_padding"):
                if io == 3 and ii >= 2:
                    B[io, ii] = 0.0


@T.prim_func
def sequential(A: T.Buffer((4, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((4, 4), "float32")):
    with T.block("compute"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                B[io, ii] = 0.0
                for f in T.serial(3):
                    B[io, ii] = B[io, ii] + A[io + (f + ii) // 4, (f + ii) % 4]

        for io, ii in T.grid(4, 4):
            with T.block("B_padding"):
                if io == 3 and ii >= 2:
                    B[io, ii] = 0.0


@schedule(initial)
def out_of_bounds(s: Schedule) -> None:
    """What is written to the padding would be overwritten; but what is read for it lies outside of A."""
    s.transform_layout(block="compute", buffer="A", index_map=lambda i: [i // 4, i % 4])
    assert_structural_equal(s, transformed_a)

    s.transform_layout(block="compute", buffer="B", index_map=lambda i: [i // 4, i % 4], pad_value=0.0)
    assert_structural_equal(s, transformed_b)

    s.sequential_buffer_access(block="compute", buffer="B")
    assert_structural_equal(s, sequential)

    with expect_refusal(s) as refusals:
        s.remove_branching_through_overcompute(block="compute")
    assert_confirmed(refusals)


@T.prim_func
def with_room(A: T.Buffer((5, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((4, 4), "float32")):
    with T.block("compute"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                B[io, ii] = 0.0
                for f in T.serial(3):
                    B[io, ii] = B[io, ii] + A[io + (f + ii) // 4, (f + ii) % 4]

        for io, ii in T.grid(4, 4):
            with T.block("B_padding"):
                if io == 3 and ii >= 2:
                    B[io, ii] = 0.0


@T.prim_func
def overcompute(A: T.Buffer((5, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((4, 4), "float32")):
    with T.block("compute"):
        for io, ii in T.grid(4, 4):
            B[io, ii] = 0.0
            for f in T.serial(3):
                B[io, ii] = B[io, ii] + A[io + (f + ii) // 4, (f + ii) % 4]

        for io, ii in T.grid(4, 4):
            with T.block("B_padding"):
                if io == 3 and ii >= 2:
                    B[io, ii] = 0.0


@schedule(initial)
def remove_branching(s: Schedule) -> None:
    """The same with one row more in A, of which nothing is known but that it may be read."""
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=T.undef(), shape=(5, 4))
    s.transform_layout("B", lambda i: [i // 4, i % 4], pad_value=0.0)
    s.sequential_buffer_access(block="compute", buffer="B")
    assert_structural_equal(s, with_room)

    s.remove_branching_through_overcompute(block="compute")
    assert_structural_equal(s, overcompute)


@T.prim_func
def wrapped(A: T.Buffer((4, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((4, 4), "float32")):
    with T.block("compute"):
        for io, ii in T.grid(4, 4):
            B[io, ii] = 0.0
            for f in T.serial(3):
                B[io, ii] = B[io, ii] + A[(io + (f + ii) // 4) % 4, (f + ii) % 4]

        for io, ii in T.grid(4, 4):
            with T.block("B_padding"):
                if io == 3 and ii >= 2:
                    B[io, ii] = 0.0


@schedule(initial)
def remove_branching_with_wrapped_indices(s: Schedule) -> None:
    """Or with the row modulo their number, as the RFC does it in its longer example: any element of A will do."""
    s.transform_layout("A", lambda i: [i // 4, i % 4])
    s.transform_layout("B", lambda i: [i // 4, i % 4], pad_value=0.0)
    s.sequential_buffer_access(block="compute", buffer="B")
    s.remove_branching_through_overcompute(block="compute", wrap_indices=True)
    assert_structural_equal(s, wrapped)


@T.prim_func
def branching(A: T.Buffer((5, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((4, 4), "float32")):
    with T.block("compute"):
        for io, ii in T.grid(4, 4):
            if io != 3 or ii < 2:
                B[io, ii] = 0.0
                for f in T.serial(3):
                    B[io, ii] = B[io, ii] + A[io + (f + ii) // 4, (f + ii) % 4]

        for io, ii in T.grid(4, 4):
            with T.block("B_padding"):
                if io == 3 and ii >= 2:
                    B[io, ii] = 0.0


@schedule(overcompute)
def remove_overcompute(s: Schedule) -> None:
    """And back: the four steps of the RFC, in one."""
    s.remove_overcompute_through_branching(block="compute")
    assert_structural_equal(s, branching)


@T.prim_func
def conditionals_introduced(
    A: T.Buffer((5, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((4, 4), "float32")
):
    for io, ii in T.grid(4, 4):
        if io == 3 and ii >= 2:
            B[io, ii] = 0.0
        else:
            B[io, ii] = 0.0

        for f in T.serial(3):
            if io == 3 and ii >= 2:
                B[io, ii] = 0.0
            else:
                B[io, ii] = B[io, ii] + A[io + (f + ii) // 4, (f + ii) % 4]

    for io, ii in T.grid(4, 4):
        if io == 3 and ii >= 2:
            B[io, ii] = 0.0


@T.prim_func
def conditionals_hoisted(A: T.Buffer((5, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((4, 4), "float32")):
    for io, ii in T.grid(4, 4):
        if io == 3 and ii >= 2:
            B[io, ii] = 0.0

            for f in T.serial(3):  # noqa: B007
                B[io, ii] = 0.0
        else:
            B[io, ii] = 0.0

            for f in T.serial(3):
                B[io, ii] = B[io, ii] + A[io + (f + ii) // 4, (f + ii) % 4]

    for io, ii in T.grid(4, 4):
        if io == 3 and ii >= 2:
            B[io, ii] = 0.0


@T.prim_func
def one_store_of_padding(A: T.Buffer((5, 4), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((4, 4), "float32")):
    for io, ii in T.grid(4, 4):
        if io == 3 and ii >= 2:
            B[io, ii] = 0.0
        else:
            B[io, ii] = 0.0

            for f in T.serial(3):
                B[io, ii] = B[io, ii] + A[io + (f + ii) // 4, (f + ii) % 4]


@schedule(conditionals_introduced)
def step_by_step(s: Schedule) -> None:
    """The RFC's steps 2 and 3.  Of two stores of the padding either is without effect: here the later one goes."""
    s.hoist_expression()
    s.simplify()
    assert_structural_equal(s, conditionals_hoisted)

    s.remove_no_op()
    assert_structural_equal(s, one_store_of_padding)


@T.prim_func
def padding_is_read(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((1,), "float32")):
    with T.block("compute"):
        for io, ii in T.grid(4, 4):
            B[io, ii] = A[io, ii]

    C[0] = B[3, 3]
    with T.block("B_pad_value"):
        for io, ii in T.grid(4, 4):
            if io == 3 and ii >= 2:
                B[io, ii] = 0.0


@schedule(padding_is_read)
def padding_that_is_read_meanwhile(s: Schedule) -> None:
    """What is computed for the padding is not without effect if it is read before it is overwritten."""
    with expect_refusal(s):
        s.remove_overcompute_through_branching(block="compute")
