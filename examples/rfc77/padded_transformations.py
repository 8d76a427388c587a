"""RFC 77, "Padded Transformations" and "Defining Padded Values": shapes, where padding lies, and what it may hold."""

from displayed import assert_confirmed

from verified_tir import Schedule, expect_refusal, schedule
from verified_tir.script import tir as T


@T.prim_func
def two_buffers(A: T.Buffer((16,), "float32"), B: T.Buffer((14,), "float32")):
    for i in T.serial(14):
        B[i] = A[i + 2] - A[i]


def padding_of(s: Schedule, buffer: str) -> list[str]:
    """What the theorem says of a buffer's padding."""
    return [sentence for sentence in s.assumptions if sentence.startswith(f"{buffer}[")]


@schedule(two_buffers)
def where_padding_lies(s: Schedule) -> None:
    """The four transformations of the RFC's guide, one after the other."""
    s.transform_layout("A", lambda i: [i // 8, i % 8])
    assert [e.value for e in s.buffer("A").shape] == [2, 8]
    assert padding_of(s, "A") == []

    s.transform_layout("B", lambda i: [i // 8, i % 8])
    assert [e.value for e in s.buffer("B").shape] == [2, 8]
    assert padding_of(s, "B") == ["B[io, ii] is touched by nobody where io == 1 and ii >= 6"]


@schedule(two_buffers)
def padding_in_front(s: Schedule) -> None:
    """With an offset, 14 elements fit in as many rows; 16 do not."""
    s.transform_layout("B", lambda i: [(i + 2) // 8, (i + 2) % 8])
    assert [e.value for e in s.buffer("B").shape] == [2, 8]
    assert padding_of(s, "B") == ["B[io, ii] is touched by nobody where io == 0 and ii < 2"]

    s.transform_layout("A", lambda i: [(i + 2) // 8, (i + 2) % 8])
    assert [e.value for e in s.buffer("A").shape] == [3, 8]
    assert padding_of(s, "A") == ["A[io, ii] is touched by nobody where 8 * io + ii < 2 or 8 * io + ii >= 18"]


@T.prim_func
def double(B: T.Buffer((14,), "float32"), C: T.Buffer((14,), "float32")):
    for i in T.serial(14):
        C[i] = 2.0 * B[i]


IN_FOURS = lambda i: [i // 4, i % 4]  # noqa: E731


@schedule(double)
def access_is_forbidden(s: Schedule) -> None:
    """Three ways to say that nobody may touch the padding."""
    s.transform_layout("B", IN_FOURS)
    s.transform_layout("C", IN_FOURS, pad_value=lambda io, ii: None)
    s.sequential_buffer_access("C")
    with expect_refusal(s) as refusals:
        s.remove_branching_through_overcompute()
    assert_confirmed(refusals)


@schedule(double)
def zeros(s: Schedule) -> None:
    """A value, and a function that gives it."""
    s.transform_layout("B", IN_FOURS, pad_value=0.0)
    s.transform_layout("C", IN_FOURS, pad_value=lambda io, ii: 0.0)
    assert padding_of(s, "B") == ["B[io, ii] == T.float32(0.0) where io == 3 and ii >= 2, before and after"]
    assert padding_of(s, "C") == [
        "C[io, ii] == T.float32(0.0) where io == 3 and ii >= 2, after; before it may be anything"
    ]


@schedule(double)
def undefined_values(s: Schedule) -> None:
    """The same for undefined values."""
    s.transform_layout("B", IN_FOURS, pad_value=T.undef("float32"))
    s.transform_layout("C", IN_FOURS, pad_value=lambda io, ii: T.undef("float32"))
    s.sequential_buffer_access("C")
    s.remove_branching_through_overcompute()


@schedule(double)
def repeated_from_the_beginning(s: Schedule) -> None:
    """Padding that begins again with the first elements, at the index that the RFC means."""
    s.transform_layout("B", IN_FOURS, pad_value=lambda io, ii, B: B[0, (4 * io + ii - 14) % 4])
    (found,) = padding_of(s, "B")
    assert found == "B[io, ii] == B[0, (4 * io + ii - 14) % 4] where io == 3 and ii >= 2, before and after"


@schedule(double)
def repeated_padding(s: Schedule) -> None:
    """Padding may not repeat padding."""
    with expect_refusal(s):
        s.transform_layout("B", IN_FOURS, pad_value=lambda io, ii, B: B[3, 2])
