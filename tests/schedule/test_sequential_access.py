"""sequential_buffer_access, beyond perfect nests: what stands between loops, assumptions, conditions, lets, offsets."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.nightly import few
from tests.schedule.schedule_programs import program
from tests.schedule.schedule_strategies import Step, programs, steps
from tests.schedule.schedule_support import Steps, accepted, agree, not_applicable, refused
from verified_tir import Schedule, ScheduleError, domain_touched
from verified_tir.derivation.assumptions import reassociated
from verified_tir.script import tir as T

Golden = Callable[[str, str], None]

IN_FOURS = lambda i: [i // 4, i % 4]  # noqa: E731
OFFSET = lambda i: [(i + 2) // 8, (i + 2) % 8]  # noqa: E731

# -- the RFC's programs ------------------------------------------------------------------------------------------------

CUMULATIVE = """
@T.prim_func
def conv1d_cumsum(A: T.Buffer((16,), "int32"), F: T.Buffer((3,), "int32"), B: T.Buffer((14,), "int32")):
    with T.block("compute"):
        for i in T.serial(14):
            if i == 0:
                B[i] = 0
            else:
                B[i] = {start}
            for f in T.serial(3):
                B[i] = B[i] + F[f] * A[i + f]
"""


def laid_out(s: Schedule) -> None:
    s.transform_layout("compute", "A", IN_FOURS)
    s.transform_layout("compute", "B", IN_FOURS)


def test_an_initialisation_that_needs_the_sum_before_cannot_be_split_off() -> None:
    def follow(s: Schedule) -> None:
        laid_out(s)
        s.sequential_buffer_access(block="compute", buffer="A")

    claim = "the two statements may change places: no dependence between the write and the read of B"
    refusal = refused(CUMULATIVE.format(start="B[i - 1]"), follow, claim)
    assert refusal.replay is not None and "B[" in refusal.replay.message
    accepted(CUMULATIVE.format(start="F[0]"), follow)  # nearly the same, but it needs nothing


MEANS = """
@T.prim_func
def func(A: T.Buffer((14, 60), "int32"), B: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        B[i] = 0
        for j in T.serial(60):
            B[i] = B[i] + A[i, j]
"""


def in_pieces(s: Schedule) -> None:
    s.transform_layout("A", lambda i, j: [i // 4, i % 4, j], pad_value=T.undef())
    s.transform_layout("A", lambda io, ii, j: [io, ii, j // 8, j % 8], pad_value=0)
    s.transform_layout("B", IN_FOURS, pad_value=T.undef())


def test_loops_on_both_sides_of_an_initialisation_follow(golden: Golden) -> None:
    def steps(s: Schedule) -> None:
        in_pieces(s)
        loops = s.sequential_buffer_access("A")
        assert [v.name for v in loops] == ["i_0", "i_1", "j_0", "j_1"]
        assert s.loops() == loops

    golden("sequential_both_loops.txt", accepted(MEANS, steps).script())


ASSUMED = """
@T.prim_func
def func(A: T.Buffer((4, 4, 8, 8), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii, jo, ji in T.grid(4, 4, 8, 8):
        T.assume(8 * jo + ji < 60 or A[io, ii, jo, ji] == 0)
    for io, ii, j in T.grid(4, 4, 60):
        T.assume(4 * io + ii < 14 or A[io, ii, j // 8, j % 8] == T.undef())
    for i in T.serial(14):
        B[i // 4, i % 4] = 0
        for j in T.serial(60):
            B[i // 4, i % 4] = B[i // 4, i % 4] + A[i // 4, i % 4, j // 8, j % 8]
"""


def test_assumptions_follow_too(golden: Golden) -> None:
    s = Schedule(ASSUMED)
    assert len(s.sequential_buffer_access("A")) == 4
    golden("sequential_assumptions.txt", s.script())


PADDED_CONVOLUTION = """
@T.prim_func
def func(A: T.Buffer((16,), "{dtype}"), F: T.Buffer((3,), "{dtype}"), B: T.Buffer((18,), "{dtype}")):
    for Bi in T.serial(18):
        B[Bi] = T.{dtype}(0)
        for fi in T.serial(3):
            Ai = {index}
            if 0 <= Ai < 16:
                B[Bi] = B[Bi] + F[fi] * A[Ai]
"""


def follow_both(s: Schedule, reassociate: str = "") -> None:
    s.transform_layout("A", OFFSET, pad_value=0)
    s.transform_layout("B", OFFSET, pad_value=0)
    assert len(s.sequential_buffer_access("A", reassociate=reassociate)) == 2
    first = s.loops()[0]
    assert len(s.sequential_buffer_access("B", first)) == 2


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("dtype", "index"), [("int32", "Bi - fi"), ("int32", "Bi - fi + 2"), ("float32", "Bi + fi - 2")]
)
def test_the_convolution_with_padding_at_both_ends(golden: Golden, dtype: str, index: str) -> None:
    """A's index is a let; the guard on it is one of the new nest.  ``fi`` stays, innermost."""
    s = accepted(PADDED_CONVOLUTION.format(dtype=dtype, index=index), follow_both)
    assert "Ai" not in s.script()
    name = "int_" + ("rising" if "2" in index else "falling") if dtype == "int32" else "float"
    golden(f"sequential_padded_{name}.txt", s.script())


@pytest.mark.nightly
def test_another_order_of_a_float_sum_needs_the_users_word() -> None:
    """Where A is run through in order, each element of B gets its terms the other way round."""
    text = PADDED_CONVOLUTION.format(dtype="float32", index="Bi - fi")
    claim = "no dependence between the read and the write of B (another order may be allowed: sequential_buffer_access"
    refused(text, follow_both, claim)
    s = Schedule(text)
    follow_both(s, "B")
    assert reassociated(s.theorem) == ["B"]


# -- other shapes ------------------------------------------------------------------------------------------------------


def test_two_nests_with_offsets_at_both_ends(golden: Golden) -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((13,), "float32"), B: T.Buffer((13,), "float32")):
    for i in range(13):
        A[i] = B[i]
    for i in range(3, 11):
        A[i] = A[i] + 1.0
"""

    def steps(s: Schedule) -> None:
        s.transform_layout("A", lambda i: [(i + 3) // 6, (i + 3) % 6], pad_value=0.0)
        s.sequential_buffer_access("A")

    golden("sequential_two_nests.txt", accepted(text, steps).script())


def test_a_condition_is_an_access(golden: Golden) -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    for i in range(10):
        if A[i] > T.float32(0):
            B[i] = 1.0
"""

    def steps(s: Schedule) -> None:
        s.transform_layout("A", IN_FOURS, pad_value=T.undef())
        s.sequential_buffer_access("A")

    golden("sequential_condition.txt", accepted(text, steps).script())


def test_vectors_are_followed_by_their_number() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for v, i in T.grid(4, 8):
        B[i, v * 4 : v * 4 + 4] = A[i, v * 4 : v * 4 + 4]
"""
    s = accepted(text, lambda s: s.sequential_buffer_access("A"))
    assert [x.name for x in s.loops()] == ["i", "v"]


def test_only_what_an_index_needs_is_taken_out(golden: Golden) -> None:
    """The images n stay around the initialisation; h and w, which the window's loops move too, do not."""
    text = """
@T.prim_func
def pool(A: T.Buffer((2, 6, 6), "int32"), B: T.Buffer((2, 4, 4), "int32")):
    for n, h, w in T.grid(2, 4, 4):
        B[n, h, w] = 0
        for rh, rw in T.grid(3, 3):
            B[n, h, w] = B[n, h, w] + A[n, h + rh, w + rw]
        B[n, h, w] = B[n, h, w] * 2
"""
    golden("sequential_windows.txt", accepted(text, lambda s: s.sequential_buffer_access("A")).script())


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("buffer", "index_map", "names"),
    [
        ("A", lambda i: [i // 4, i % 4], ["i_0", "i_1"]),
        ("A", lambda i: [(i + 1) // 4, (i + 1) % 4], ["i_0", "i_1"]),
        ("B", lambda i, j: [j // 4, i, j % 4], ["j_0", "i", "j_1"]),
        ("C", lambda i, j, k: [i, k // 2, j // 2, k % 2, j % 2], ["i", "k_0", "j_0", "k_1", "j_1"]),
        ("D", lambda i, j, k, l: [l, i // 2, k, j, i % 2], ["l", "i_0", "k", "j", "i_1"]),
    ],
)
@pytest.mark.parametrize("extent", ["6", "n"])
def test_ranks_one_to_four(buffer: str, index_map: Callable[..., object], names: list[str], extent: str) -> None:
    shapes = {"A": "({0},)", "B": "({0}, 5)", "C": "({0}, 3, 4)", "D": "({0}, 2, 3, 2)"}
    sizes = {"A": "", "B": ", 5", "C": ", 3, 4", "D": ", 2, 3, 2"}[buffer]
    index = "i, j, k, l"[: {"A": 1, "B": 4, "C": 7, "D": 10}[buffer]]
    shape = shapes[buffer].format("n" if extent == "n" else "6")
    loops = f"for {index} in range({extent}):" if buffer == "A" else f"for {index} in T.grid({extent}{sizes}):"
    text = f"""
@T.prim_func
def f(a: T.handle, c: T.handle, n: T.int32):
    {buffer} = T.match_buffer(a, {shape}, "float32")
    E = T.match_buffer(c, {shape}, "float32")
    {loops}
        {buffer}[{index}] = E[{index}]
"""

    def steps(s: Schedule) -> None:
        s.transform_layout(buffer, index_map, pad_value=T.undef())
        assert [v.name for v in s.sequential_buffer_access(buffer)] == names

    accepted(text, steps)


def test_tiles_of_a_row_are_in_order_already() -> None:
    s = Schedule(program("add_2d"))
    s.split("j", [None, 3])
    before = s.func
    loops = s.sequential_buffer_access("A")
    assert loops == s.loops() and s.func is before
    assert str(s.steps[-1]) == "sequential_buffer_access(A)"


@pytest.mark.parametrize(
    "statement",
    ["A[i, i] = 0.0", "A[i, 3 - i] = 0.0", "A[i, j] = 0.0", "A[i + 1, 2 * j] = 0.0", "A[0, i * 2 + j // 2] = 0.0"],
)
def test_what_grows_with_the_loops_is_in_order(statement: str) -> None:
    s = Schedule(f"""
@T.prim_func
def f(A: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(3, 2):
        {statement}
""")
    before = s.func
    assert s.sequential_buffer_access("A")[0] is s.loops()[0]
    assert s.func is before or "j // 2" in statement


def test_an_access_shifted_by_a_constant_is_in_order() -> None:
    s = Schedule(program("concat"))
    before = s.func
    assert s.sequential_buffer_access("B") == s.loops()
    assert s.func is before


def test_buffers_and_blocks_in_tvms_order() -> None:
    text = CUMULATIVE.format(start="F[0]")
    texts = set()
    for arguments in ((("A", "compute"), {}), (("compute", "A"), {}), ((), {"block": "compute", "buffer": "A"}),
                      ((("read", 2), "compute"), {})):  # fmt: skip
        s = Schedule(text)
        laid_out(s)
        s.sequential_buffer_access(*arguments[0], **arguments[1])
        texts.add(s.script())
    assert len(texts) == 1


# -- refusals ----------------------------------------------------------------------------------------------------------


def of(text: str, *steps: Callable[[Schedule], object]) -> tuple[str, Steps]:
    return text, lambda s: [step(s) for step in steps]


TWO_ORDERS = """
@T.prim_func
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        if A[i, j] > T.float32(0):
            {second}
"""


@pytest.mark.parametrize(
    ("program_and_steps", "words"),
    [
        (of("gather", lambda s: s.sequential_buffer_access("A")), "the indices of A are read from memory"),
        (of("relu_1d", lambda s: s.sequential_buffer_access("A", s.loops()[0], reassociate="C")), None),
        (of("relu_1d", lambda s: s.sequential_buffer_access(("read", 0))), "say which block"),
        (
            of("relu_1d", lambda s: (s.transform_layout("A", IN_FOURS), s.bind("i", "threadIdx.x"),
                                     s.sequential_buffer_access("A"))),
            "the loop over i is bound to threadIdx.x; follow the layout first",
        ),
        (
            of(TWO_ORDERS.format(second="A[j, i] = B[i, j]"), lambda s: s.sequential_buffer_access("A")),
            "the loop over i follows another access of A in the same nest already",
        ),
        (
            of(
                """
@T.prim_func
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for j in range(4):
        t = T.alloc_buffer((1,), "float32")
        t[0] = 1.0
        for i in range(4):
            B[i, j] = A[i, j] + t[0]
""",
                lambda s: s.sequential_buffer_access("A"),
            ),
            "the buffer t is allocated between the loop and the cut",
        ),
    ],
)  # fmt: skip
def test_what_cannot_follow(program_and_steps: tuple[str, Steps], words: str | None) -> None:
    name, steps = program_and_steps
    if words is None:
        accepted(name, steps)
    else:
        not_applicable(name, steps, words)


def test_a_store_in_a_condition_that_reads_another_order_follows() -> None:
    """The near miss of the refusal above: both accesses are in one order."""
    s = accepted(
        TWO_ORDERS.format(second="A[i, j] = B[i, j]"),
        lambda s: (s.transform_layout("A", lambda i, j: [j, i]), s.sequential_buffer_access("A")),
    )
    assert [v.name for v in s.loops()] == ["j", "i"]


def test_a_branch_that_is_never_taken_goes() -> None:
    """Its statements go with it, so accesses are counted anew."""
    text = """
@T.prim_func
def f(A: T.Buffer((3, 3), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(3):
        if 0 >= 1:
            for j in range(3):
                B[j] = A[i, i]
            B[i] = A[i, i]
        B[i] = A[i, 0]
"""

    def steps(s: Schedule) -> None:
        s.transform_layout("B", lambda i: [i // 2, i % 2], pad_value=T.undef())
        s.sequential_buffer_access("B")

    s = accepted(text, steps)
    assert [v.name for v in s.loops()][:2] == ["i_0", "i_1"]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("t[0] = 1.0", "no loop nest around an access of t has a loop that its indices use"),
        ("C[i] = 1.0", "nothing accesses t"),
    ],
)
def test_nothing_to_follow(statement: str, words: str) -> None:
    text = f"""
@T.prim_func
def f(C: T.Buffer((3,), "float32")):
    t = T.alloc_buffer((1,), "float32")
    for i in range(3):
        {statement}
"""
    not_applicable(text, lambda s: s.sequential_buffer_access("t"), words)


def test_symbolic_extents_and_offsets_at_both_ends(golden: Golden) -> None:
    text = """
@T.prim_func
def f(a: T.handle, b: T.handle, F: T.Buffer((3,), "int32"), n: T.int32):
    A = T.match_buffer(a, (n + 2,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    with T.block("compute"):
        for i in T.serial(n):
            B[i] = 0
            for f in T.serial(3):
                B[i] = B[i] + F[f] * A[i + f]
"""

    def follow(name: str) -> Steps:
        return lambda s: (s.transform_layout("A", OFFSET), s.transform_layout("B", OFFSET),
                          s.sequential_buffer_access(name))  # fmt: skip

    golden("sequential_symbolic_input.txt", accepted(text, follow("A")).script())
    golden("sequential_symbolic_output.txt", accepted(text, follow("B")).script())


# -- random programs ---------------------------------------------------------------------------------------------------


@pytest.mark.nightly
@settings(
    max_examples=few(10, 30),
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(programs(), steps(("transform_layout",)), st.sampled_from(["A", "B", "C", "t"]))
def test_random_programs_follow_or_refuse(text: str, layout: Step, name: str) -> None:
    """What is accepted gives the same bits, touches the same elements, and is in order: again, nothing changes."""
    s = Schedule(text)
    try:
        layout.take(s)
        if name not in {b.name for b in s.buffers}:
            name = s.buffers[0].name
        before = domain_touched(s, name)
        s.sequential_buffer_access(name)
    except ScheduleError:
        return
    agree(s, work=800)
    after = domain_touched(s, name)
    assert before.exact and after.exact and before.elements() == after.elements()
    func = s.func
    s.sequential_buffer_access(name)
    assert s.func is func
