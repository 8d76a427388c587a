"""Pad values in all their forms: numbers, none, undef, functions of the indices, reads of the buffer itself; of inputs,
outputs, both at once and local buffers; several of one buffer; and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.nightly import sample
from tests.schedule.schedule_support import accepted, agree, not_applicable, refused
from verified_tir import NotApplicable, Refuted, Schedule, ScheduleError
from verified_tir.ir.expr import IntImm, Load
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import Unproved
from verified_tir.kernel.theorem import Refines, apply
from verified_tir.logic.solver import Solver
from verified_tir.schedule.edits import rewritten
from verified_tir.script import tir as T
from verified_tir.semantics.interpreter import run

Golden = Callable[[str, str], None]
Steps = Callable[[Schedule], object]

THREE = """
@T.prim_func
def func(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    t = T.alloc_buffer((14,), "int32")
    for i in range(14):
        t[i] = A[i]
    for i in range(14):
        B[i] = t[i] * 3
"""
IN_FOURS = lambda i: [i // 4, i % 4]  # noqa: E731
WRAPPED = lambda io, ii, X: X[0, (io * 4 + ii - 14) % 4]  # noqa: E731


def padded(buffer: str, pad_value: Any, index_map: Any = IN_FOURS) -> Steps:
    return lambda s: s.transform_layout(buffer, index_map, pad_value=pad_value)


# -- the forms ---------------------------------------------------------------------------------------------------------

FORMS: list[tuple[str, Any, str]] = [
    ("none", None, "is touched by nobody"),
    ("a function giving none", lambda io, ii: None, "is touched by nobody"),
    ("undef", T.undef(), "may be anything"),
    ("a function giving undef", lambda io, ii: T.undef("int32"), "may be anything"),
    ("a number", 7, "== 7"),
    ("a float that is an integer", 7.0, "== 7"),
    ("numpy's", np.int8(7), "== 7"),
    ("a constant", IntImm(const(0).dtype, 7), "== 7"),
    ("a function giving a number", lambda io, ii: 7, "== 7"),
    ("an expression", T.int32(3) + T.int32(4), "== 7"),
    ("a function of the indices", lambda io, ii: ii * 2, "== ii * 2"),
    ("a choice", lambda io, ii: T.Select(ii < 3, 1, 2), "== T.Select(ii < 3, 1, 2)"),
]


@pytest.mark.sample(10)
@pytest.mark.parametrize(("pad_value", "reads"), [f[1:] for f in FORMS], ids=[f[0] for f in FORMS])
@pytest.mark.parametrize("buffer", ["A", "B", "t"])
def test_forms(buffer: str, pad_value: Any, reads: str) -> None:
    s = accepted(THREE, padded(buffer, pad_value))
    found = [str(c) for c in s.constraints(buffer)]
    stored = reads.startswith("==")
    if buffer == "t" and not stored:
        assert found == []
    else:
        assert found == [f"{buffer}[io, ii] {reads} where io == 3 and ii >= 2"]
    assert (f"{buffer}_padding" in s.blocks) == (stored and buffer != "A")


@pytest.mark.parametrize("buffer", ["A", "B", "t"])
def test_wrap_around(buffer: str, golden: Golden) -> None:
    """RFC 77, "Defining Padded Values": padding that repeats the beginning, assumed of an input, written to others."""
    s = accepted(THREE, padded(buffer, WRAPPED))
    golden(f"wrap_{buffer}.txt", s.script())
    if buffer != "t":
        assert [str(c) for c in s.constraints(buffer)] == [
            f"{buffer}[io, ii] == {buffer}[0, (ii + 2) % 4] where io == 3 and ii >= 2"
        ]


def test_old_and_new_indices() -> None:
    """The buffer as it is before the step is read at old indices; the function's last argument at new ones."""
    s = Schedule(THREE)
    a = s.buffer("A")
    s.transform_layout("A", IN_FOURS, pad_value=lambda io, ii: a[ii - 2])
    other = accepted(THREE, padded("A", lambda io, ii, X: X[(ii - 2) // 4, (ii - 2) % 4]))
    assert str(s.constraints("A")[0]) == "A[io, ii] == A[(ii - 2) // 4, (ii - 2) % 4] where io == 3 and ii >= 2"
    assert str(other.constraints("A")[0]) == str(s.constraints("A")[0])
    same_rank = accepted(THREE, padded("A", lambda i, X: X[i + 3], lambda i: [i + 3]))
    assert str(same_rank.constraints("A")[0]) == "A[i] == A[i + 3] where i < 3"


SYMBOLIC = """
@T.prim_func
def func(a: T.handle, b: T.handle, k: T.int32):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    for i in range(n):
        B[i] = A[i] + 1
"""


def test_symbolic_shapes() -> None:
    """Of a buffer that may be empty there is nothing to repeat; but then it has no padding either."""
    for buffer in ("A", "B"):
        first = accepted(SYMBOLIC, padded(buffer, lambda io, ii, X: X[0, 0]))
        assert str(first.constraints(buffer)[0]) == f"{buffer}[io, ii] == {buffer}[0, 0] where 4 * io + ii >= n"
        not_applicable(SYMBOLIC, padded(buffer, lambda io, ii, X: X[0, 1]), "which is padding itself at io = 0, ii = ")
        not_applicable(SYMBOLIC, padded(buffer, lambda io, ii, X: X[1, 0]), "which lies outside of the new shape at")
        s = Schedule(SYMBOLIC)
        n, k = s.symbol("n"), s.symbol("k")
        s.transform_layout(buffer, IN_FOURS, pad_value=lambda io, ii: n * 0 + k)
        agree(s)
        assert str(s.constraints(buffer)[0]) == f"{buffer}[io, ii] == k where 4 * io + ii >= n"


def test_wrap_around_is_used_by_a_consumer() -> None:
    """``A[(i + 1) % 14]`` is the element after, whatever i: with one element of padding the remainder is not needed."""
    program = """
@T.prim_func
def ring(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        B[i] = A[(i + 1) % 14]
"""
    shape = lambda i: [i // 5, i % 5]  # noqa: E731  # 15 places, one of padding

    def read_behind(s: Schedule) -> Refines | Unproved | object:
        (i,) = s.loops()
        element = Load(s.buffer("A"), ((i + 1) // 5, (i + 1) % 5))
        return apply(rewritten((0,), (0,), element), s.theorem, Prover(Solver()))

    wrapped = accepted(program, padded("A", lambda io, ii, X: X[0, 0], shape))
    assert isinstance(read_behind(wrapped), Refines)
    other = accepted(program, padded("A", lambda io, ii, X: X[0, 1], shape))
    assert isinstance(read_behind(other), Unproved)


PRODUCERS = {
    "two stages": "for i in range(7):\n    B[i] = A[i]\nfor i in range(7):\n    B[i + 7] = A[i + 7]",
    "read again": "for i in range(14):\n    B[i] = B[i] + A[i]\nfor i in range(14):\n    C[i] = B[i]",
    "written again": "for i in range(14):\n    B[i] = A[i]\nfor i in range(14):\n    C[i] = B[i]\n"
    "for i in range(14):\n    B[i] = B[i] + C[i]",
    "a condition": "if n > 3:\n    for i in range(14):\n        B[i] = A[i]",
    "a loop": "for k in range(3):\n    for i in range(14):\n        B[i] = B[i] + A[i]\n    for i in range(14):\n"
    "        C[i] = B[i]",
    "a scan": "for i in range(1, 14):\n    B[i] = B[i - 1] + A[i]",
    "an allocation": "with T.alloc_buffer((14,), 'int32') as t:\n    for i in range(14):\n        t[i] = A[i]\n"
    "    for i in range(14):\n        B[i] = t[i]\nfor i in range(14):\n    C[i] = B[i]",
    "a scatter": "for i in range(14):\n    if 0 <= A[i] and A[i] < 14:\n        B[A[i]] = i",
    "a while loop": "for i in range(14):\n    B[i] = A[i]\nwhile B[0] > 3:\n    B[0] = B[0] - 1",
}


def producer(name: str) -> str:
    params = ", ".join(f'{b}: T.Buffer((14,), "int32")' for b in "ABC")
    body = "".join(f"    {line}\n" for line in PRODUCERS[name].splitlines())
    return f"@T.prim_func\ndef f({params}, n: T.int32):\n{body}"


@pytest.mark.sample(8)
@pytest.mark.parametrize("pad_value", [0, lambda io, ii: io + ii, WRAPPED], ids=["number", "function", "wrapped"])
@pytest.mark.parametrize("name", PRODUCERS)
def test_the_stage_comes_after_the_last_store(name: str, pad_value: Any) -> None:
    s = accepted(producer(name), padded("B", pad_value))
    lines = s.script().splitlines()
    stage = next(k for k, line in enumerate(lines) if "B_padding" in line)
    stores = [k for k, line in enumerate(lines) if line.strip().startswith("B[")]
    assert [k for k in stores if k > stage] == [stage + 2], s.script()


def test_a_local_buffer_in_a_loop() -> None:
    program = """
@T.prim_func
def func(A: T.Buffer((3, 6), "int32"), B: T.Buffer((3,), "int32")):
    for i in range(3):
        t = T.alloc_buffer((6,), "int32")
        for j in range(6):
            t[j] = A[i, j]
        for j in range(6):
            B[i] = B[i] + t[j]
"""
    s = accepted(program, padded("t", lambda a, b, t: t[0, b], lambda j: [j // 4, j % 4]))
    assert s.script().index("t_padding") > s.script().index("t[j // 4, j % 4] = A[i, j]")


# -- several of one buffer ---------------------------------------------------------------------------------------------

FIRST = {"none": None, "undef": T.undef(), "0": 0, "indices": lambda a, b: a + b, "wrapped": lambda a, b, X: X[0, b]}
SECOND = {
    "none": None,
    "undef": T.undef(),
    "5": 5,
    "indices": lambda a, b, c: a + b * c,
    "wrapped": lambda a, b, c, X: X[0, b, 0],
}
SEVEN = THREE.replace("14", "7")


@pytest.mark.nightly
@pytest.mark.parametrize("buffer", ["A", "B", "t"])
def test_different_padding_of_one_buffer(buffer: str) -> None:
    """Each element follows the transformation that introduced it (RFC 77, "Multiple Buffer Semantics")."""
    for first, second in sample(list(product(FIRST, SECOND)), 4, buffer):
        s = Schedule(SEVEN)
        s.transform_layout(buffer, IN_FOURS, pad_value=FIRST[first])
        s.transform_layout(buffer, lambda a, b: [a, b // 3, b % 3], pad_value=SECOND[second])
        agree(s, work=60)
        where = [str(c).partition(" where ")[2] for c in s.constraints(buffer)]
        if buffer != "t":
            assert where == ["bo == 1 and bi >= 1", "a == 1 and bo == 1 and bi == 0"], (first, second)


def test_different_padding_is_written_by_stages_of_different_names() -> None:
    def steps(s: Schedule) -> None:
        s.transform_layout("B", IN_FOURS, pad_value=1)
        s.transform_layout("B", lambda a, b: [a, b // 3, b % 3], pad_value=2)

    s = accepted(SEVEN, steps)
    assert s.blocks == ["B_padding", "B_padding_1"]
    packed = {"A": np.arange(7, dtype=np.int32), "B": _filled(s)}
    result = run(s.func, packed).arrays["B"]
    assert result.reshape(2, 6)[:, :4].ravel()[:7].tolist() == [3 * k for k in range(7)]
    assert (result[1, 1, 0], result[1, 1, 1], result[0, 1, 2]) == (1, 2, 2)


def _filled(s: Schedule) -> Any:
    shape = tuple(e.value for e in s.buffer("B").shape if isinstance(e, IntImm))
    array = np.full(shape, 2, np.int32)
    array[1, 1, 0] = 1
    return array


# -- what consumers make of it -----------------------------------------------------------------------------------------

ROW = """
@T.prim_func
def row(A: T.Buffer((6, 14), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        B[i] = {start}
        for j in range(14):
            with T.block("sum"):
                B[i] = B[i] + A[i, j]
"""


def columns(s: Schedule, pad: Any = 0.0) -> None:
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=pad)


def then_rows(s: Schedule) -> None:
    columns(s)
    s.transform_layout("A", lambda i, jo, ji: [i // 4, i % 4, jo, ji], pad_value=T.undef())
    s.sequential_buffer_access("A")


def after_rows(s: Schedule) -> None:
    s.transform_layout("A", lambda i, j: [i // 4, i % 4, j], pad_value=T.undef())
    s.transform_layout("A", lambda io, ii, j: [io, ii, j // 4, j % 4], pad_value=0.0)
    s.sequential_buffer_access("A")


def split(s: Schedule) -> None:
    columns(s)
    *_, outer, inner = s.sequential_buffer_access("A")
    s.split(inner, [None, 2])
    s.split(outer, [2, None])


def copied(s: Schedule) -> None:
    """The copy takes the padding along."""
    columns(s)
    s.cache_read("sum", "A", "local")
    s.sequential_buffer_access("A_local")


def copied_and_moved(s: Schedule) -> None:
    columns(s)
    s.cache_read("sum", "A", "local")
    s.transform_layout("A_local", lambda i, jo, ji: [jo, i, ji])
    s.sequential_buffer_access("A_local")


def copied_first(s: Schedule) -> None:
    s.cache_read("sum", "A", "local")
    s.transform_layout("A_local", lambda i, j: [i, j // 4, j % 4], pad_value=0.0)
    s.sequential_buffer_access("A_local")


@pytest.mark.nightly
@pytest.mark.sample(2)
@pytest.mark.parametrize("steps", [then_rows, after_rows, split, copied, copied_and_moved, copied_first])
def test_padding_is_known_through_later_steps(steps: Steps) -> None:
    def all_steps(s: Schedule) -> None:
        steps(s)
        s.remove_branching_through_overcompute()

    s = accepted(ROW.format(start="0.0"), all_steps)
    last = s.script().rpartition("for i")[2]
    assert not any(word in last for word in ("j_0 <", "j_1 <", "4 * j_0", "4 * jo")), s.script()
    if steps in (split, copied, copied_and_moved):  # the others have a guard that stays
        refusal = refused(ROW.format(start="-0.0"), all_steps, "writes the bits that are there already")
        assert "-0.0 before, 0.0 after" in str(refusal)


def test_another_pad_value_is_no_use() -> None:
    def steps(s: Schedule) -> None:
        columns(s, 1.0)
        s.cache_read("sum", "A", "local")
        s.sequential_buffer_access("A_local")
        s.remove_branching_through_overcompute()

    refused(ROW.format(start="0.0"), steps, "writes the bits that are there already")


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pad_value", "words"),
    [
        (lambda io: 0, "is a function of 2 indices"),
        (lambda io, ii, X, Y: 0, "is a function of 2 indices"),
        (0.5, "cannot be 0.5: 0.5 is not a value of type int32"),
        (2**31, "cannot be 2147483648"),
        (math.inf, "cannot be inf"),
        ("0", "cannot be '0': it is neither a number"),
        (lambda io, ii: [io, ii], "it is neither a number"),
        (T.Cast("int8", const(1)), "has type int8, the elements of B int32"),
        (lambda io, ii: T.Cast("float32", io), "has type float32, the elements of B int32"),
        (lambda io, ii, X: X[io, (ii + 1) % 4], "reads B[io, (ii + 1) % 4], which is padding itself at io = 3, ii = 2"),
        (lambda io, ii, X: X[io + 1, 0], "reads B[io + 1, 0], which lies outside of the new shape at io = 3, ii = 2"),
        (lambda io, ii, X: X[0, X[0, 0]], "at an index that depends on the contents of memory"),
        (lambda io, ii, X: X[0], "has 2 dimensions"),
    ],
)
def test_what_is_no_pad_value(pad_value: Any, words: str) -> None:
    not_applicable(THREE, padded("B", pad_value), words)


def test_other_buffers_are_not_read() -> None:
    s = Schedule(THREE)
    a = s.buffer("A")
    words = "the padding of B may not depend on another buffer, and A is read"
    not_applicable(THREE, padded("B", lambda io, ii: a[0]), words)
    not_applicable(THREE, padded("B", lambda io, ii, X: X[0, a[0]]), "depends on the contents of memory")


def test_types_have_their_ranges() -> None:
    half = THREE.replace("int32", "float16").replace("* 3", "* T.float16(3)")
    not_applicable(half, padded("A", 1e5), "cannot be 100000.0: it is out of range, and would round to inf")
    accepted(half, padded("A", math.inf))
    accepted(half, padded("B", math.nan))
    not_applicable(THREE.replace("int32", "uint8").replace("* 3", "* T.uint8(3)"), padded("A", -1), "cannot be -1")


def test_an_old_index_out_of_bounds_is_refused_with_its_place() -> None:
    s = Schedule(THREE)
    a = s.buffer("A")
    words = "which lies outside of A as it is before the step at io = 3, ii = 2"
    with pytest.raises(NotApplicable, match=words):
        s.transform_layout("A", IN_FOURS, pad_value=lambda io, ii: a[io * 4 + ii])


@pytest.mark.nightly
def test_forbidden_padding_is_not_repeated() -> None:
    def steps(s: Schedule) -> None:
        s.transform_layout("A", IN_FOURS)
        s.transform_layout("A", lambda io, ii: [io + 1, ii], pad_value=lambda i, j, X: X[4, 3])

    s = Schedule(THREE)
    with pytest.raises(Refuted, match="accessible"):
        steps(s)


# -- whatever is accepted keeps the result -----------------------------------------------------------------------------

MAPS: list[tuple[int, Any]] = [
    (2, lambda i: [i // 4, i % 4]),
    (2, lambda i: [(i + 1) // 3, (i + 1) % 3]),
    (1, lambda i: [i + 2]),
    (2, lambda i: [i % 5, i // 5]),
    (1, lambda i: [2 * i]),
]


@st.composite
def pad_values(draw: Any, rank: int) -> Any:
    """A pad value: of any kind, and often a wrong one."""
    kind = draw(st.sampled_from(["none", "undef", "number", "indices", "read", "read"]))
    a, b = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    if kind == "number":
        return a
    if kind == "indices":
        return lambda *own: binary("add", own[-1] * a, b)
    if kind == "read":
        if rank == 2:
            return lambda i, j, X: X[a, j % (b + 1)]
        return lambda i, X: X[i % (b + 1) + a]
    return None if kind == "none" else T.undef()


@pytest.mark.nightly
@settings(max_examples=25, deadline=None, database=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_whatever_is_accepted_keeps_the_result(data: Any) -> None:
    program = data.draw(st.sampled_from([THREE, *(producer(name) for name in PRODUCERS)]))
    s = Schedule(program)
    for _ in range(data.draw(st.integers(1, 2))):
        flat = [x.name for x in s.buffers if len(x.shape) == 1]
        if not flat:
            break
        name = data.draw(st.sampled_from(flat))
        rank, index_map = data.draw(st.sampled_from(MAPS))
        before = s.theorem
        try:
            s.transform_layout(name, index_map, pad_value=data.draw(pad_values(rank)))
            for b in ("A", "B"):
                if data.draw(st.booleans()):
                    s.assume_padding(b)
        except ScheduleError:
            assert s.theorem.before is before.before
            continue
    agree(s, work=60)
