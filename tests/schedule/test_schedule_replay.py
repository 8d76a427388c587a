"""Replays: counterexamples run on sizes, contents, assumptions and layouts that show the difference."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.schedule.schedule_programs import program
from tests.schedule.schedule_support import Steps, refused
from verified_tir import Refuted, Schedule, parse_func
from verified_tir.ir.expr import Expr, Select
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import rewrite
from verified_tir.schedule import replay as replay_module
from verified_tir.schedule.replay import STEPS, Programs, brief_replays, replay, replay_later
from verified_tir.schedule.replay_inputs import choices, contents, shapes
from verified_tir.schedule.replay_large import arrays_exist, plain, undefined_at
from verified_tir.script import tir as T
from verified_tir.semantics.interpreter import run


def programs(before: str, after: str) -> Programs:
    return Programs(parse_func(before), parse_func(after), (), (), ())


COPY = """
@T.prim_func
def f(A: T.Buffer((4,), "{dtype}"), B: T.Buffer((4,), "{dtype}")):
    for i in range(4):
        B[i] = {value}
"""


@pytest.mark.parametrize(
    ("dtype", "before", "after"),
    [
        ("float32", "A[i]", "A[i] + T.float32(0)"),  # -0.0
        ("float32", "A[i] * T.float32(0)", "T.float32(0)"),  # NaN, infinities, signs
        ("float64", "T.max(A[i], A[i])", "A[i] - A[i] + A[i]"),  # infinities
        ("float16", "A[i] * T.float16(2)", "A[i] + A[i] + T.float16(0)"),
        ("int8", "A[i] + T.int8(1)", "T.max(A[i], T.int8(0)) + T.int8(1)"),  # negative numbers
        ("uint8", "A[i]", "T.min(A[i], T.uint8(20))"),
        ("bool", "A[i]", "T.bool(True)"),
        ("int32", "A[i]", "A[3 - i]"),
    ],
)
def test_contents_tell_values_apart(dtype: str, before: str, after: str) -> None:
    found = replay(programs(COPY.format(dtype=dtype, value=before), COPY.format(dtype=dtype, value=after)), {})
    assert found.confirmed, found.message
    assert "before" in found.message and "after" in found.message


def test_equal_programs_are_not_told_apart() -> None:
    text = COPY.format(dtype="float32", value="A[i] + T.float32(1)")
    found = replay(programs(text, text), {})
    assert not found.confirmed
    assert found.message == f"no difference on {found.inputs} inputs"
    assert found.inputs > 10
    assert "unconfirmed" in found.describe()


@pytest.mark.nightly
def test_work_is_bounded() -> None:
    text = COPY.format(dtype="float32", value="A[i] + T.float32(1)")
    assert replay(programs(text, text), {}, work=20).inputs < 5
    endless = '@T.prim_func\ndef f(B: T.Buffer((1,), "int32")):\n    for i in range(1000000):\n        B[0] = i\n'
    assert replay(programs(endless, endless), {}).message == "no input small enough to run was found"


# -- sizes -------------------------------------------------------------------------------------------------------------


def test_the_models_sizes_come_first_and_then_small_ones() -> None:
    func = parse_func(program("matmul_symbolic"))
    tried = list(choices(func, {"n": 7, "m": 2**31 - 2**16, "l": 0}))
    assert tried[0] == {"n": 7, "m": 2**31 - 2**16, "l": 0}
    assert tried[1] == {"n": 7, "m": 2**16, "l": 0}
    assert {"n": 3, "m": 3, "l": 3} in tried[:4]
    assert len(tried) == len({tuple(t.items()) for t in tried}) > 20


def test_arrays_that_there_cannot_be_are_left_out() -> None:
    func = parse_func(program("matmul_symbolic"))
    assert shapes(func, {"n": 2, "m": 0, "l": 5}) == {"A": (2, 5), "B": (5, 0), "C": (2, 0)}
    assert shapes(func, {"n": 2**20, "m": 2**20, "l": 1}) is None
    assert shapes(func, {"n": -1, "m": 2, "l": 1}) is None
    assert shapes(func, {"n": 2**31 - 2**16, "m": 2**31 - 2**16, "l": 0}) is None


def test_scalar_parameters_of_every_type_get_values() -> None:
    text = """
@T.prim_func
def f(B: T.Buffer((4,), "float32"), x: T.float32, n: T.int32, b: T.bool):
    for i in range(4):
        if b and i < n:
            B[i] = x{more}
"""
    found = replay(programs(text.format(more=""), text.format(more=" + T.float32(0)")), {})
    assert found.confirmed, found.message
    assert found.arguments["x"] == 0.0
    assert found.arguments["b"] is True


def test_an_extent_that_overflows_is_found() -> None:
    refusal = refused("symbolic_3d", lambda s: s.fuse("i", "j", "k"), "no overflow")
    assert refusal.replay is not None
    assert "no int32 holds" in refusal.replay.message


# -- sizes too large for arrays ----------------------------------------------------------------------------------------

LARGE = """
@T.prim_func
def f(A: T.Buffer((n,), "float32"), B: T.Buffer((8,), "int32"), n: T.int32):
{assume}
    for i in range(n):
        A[i] = 1.0
    {after}
"""


SIZE = {"n": 2**30 + 7}


def large(after: str, assume: str = "pass") -> PrimFunc:
    return parse_func(LARGE.format(assume=f"    {assume}", after=after))


@pytest.mark.parametrize(
    ("after", "confirmed"),
    [
        ("B[0] = n * 2", True),
        ("B[n * 2 % 8] = 1", True),
        ("B[0] = B[1] + n * 4", True),  # what is added is index arithmetic
        ("B[0] = B[1] * 4 + n", False),  # wraps
        ("B[0] = T.if_then_else(B[1] > 0, n * 4, 0)", False),  # whether it is evaluated depends on what B holds
        ("B[0] = T.if_then_else(n > 0, n * 4, 0)", True),
        ("B[0] = T.if_then_else(n < 0, n * 4, 0)", False),
        ("for k in range(n):\n        B[0] = k * 2", True),
        ("for k in range(n - 2, n):\n        B[0] = k * 2", True),
        ("for k in range(n, n):\n        B[0] = k * 2", False),
        ("for k in range(B[0]):\n        B[0] = n * 2", False),
        ("for k in range(n):\n        if k > 5:\n            B[0] = k * 2", True),
        ("for k in range(n):\n        if k < 5:\n            B[0] = k * 2", False),
        ("for k in range(n):\n        if B[k % 8] > 5:\n            B[0] = k * 2", False),
        ("x: T.let[T.int32] = n + n\n    B[0] = x", True),
        ("x: T.let[T.int32] = B[0]\n    B[0] = x + x", False),
        ("t = T.alloc_buffer((n * 2,), 'int32')\n    t[0] = 1", True),
        ("B[0] = n // (n - n)", True),
        ("assert n < 0, 'never'\n    B[0] = n * 2", False),
    ],
)
def test_index_arithmetic_alone_shows_what_overflows(after: str, confirmed: bool) -> None:
    found = undefined_at(large(after), SIZE, {"k": 2**30})
    assert (found is not None) == confirmed


def test_what_is_assumed_of_large_sizes() -> None:
    assert arrays_exist(large("pass"), SIZE)
    assert arrays_exist(large("pass", "T.assume(n > 5)"), SIZE)
    assert not arrays_exist(large("pass", "T.assume(n < 1073741824)"), SIZE)
    assert not arrays_exist(large("pass"), {"n": -1}) and not arrays_exist(large("pass"), {"n": 2**31 - 1})
    assert plain(large("pass", "T.assume(n > 5)"))
    assert not plain(large("pass", "for i in range(8):\n        T.assume(B[i] > 0)"))


def test_a_program_that_overflows_at_sizes_too_large_for_arrays() -> None:
    with pytest.raises(Refuted, match=r"n \* 2 does not overflow") as refusal:
        Schedule(LARGE.format(assume="    pass", after="B[0] = n * 2"))
    assert refusal.value.replay is not None and refusal.value.confirmed
    assert "which no int32 holds at n = " in refusal.value.replay.message
    assert set(refusal.value.replay.arguments) == {"n"}


def test_a_program_that_overflows_after_a_long_time() -> None:
    text = """
@T.prim_func
def f(B: T.Buffer((10,), "float32"), n: T.int32):
    for k in range(n):
        for i in range(1, 9):
            if i + k != 2:
                B[i] = B[i] + 1.0
"""
    with pytest.raises(Refuted, match="does not overflow") as refusal:
        Schedule(text)
    assert refusal.value.replay is not None and refusal.value.confirmed


def test_a_step_that_overflows_at_sizes_too_large_for_arrays() -> None:
    text = LARGE.format(assume="    pass", after="pass").replace(
        "A[i] = 1.0", "for j in range(4):\n            A[i] = 1.0"
    )
    with pytest.raises(Refuted, match="does not overflow") as refusal:
        Schedule(text).fuse("i", "j")
    assert refusal.value.replay is not None
    assert refusal.value.replay.message.startswith("undefined behaviour after: mul gives ")


# -- random contents ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "condition",
    [
        "A[0] > A[1] and A[1] > A[2] and A[2] > A[3]",
        "A[0] == 50 or A[1] == 50 or A[2] == 50 or A[3] == 50",  # near the constants of the program
        "A[0] < -40 and A[1] > 40",
    ],
)
def test_what_seldom_differs_is_found_by_drawing(condition: str) -> None:
    before = COPY.format(dtype="int32", value="A[i]")
    after = COPY.format(dtype="int32", value=f"T.Select({condition}, A[i] + 1, A[i])")
    found = replay(programs(before, after), {})
    assert found.confirmed, found.message


def test_an_index_that_is_wrong_at_one_end_only() -> None:
    text = """
@T.prim_func
def f(I: T.Buffer((3,), "int32"), A: T.Buffer((4,), "int32"), B: T.Buffer((3,), "int32")):
    for g in range(3):
        T.assume(0 <= I[g] and I[g] < 4)
    for i in range(4):
        if A[i] > 2 and A[3 - i] < 2:
            A[i] = B[I[1]]
"""
    with pytest.raises(Refuted, match="lies within the bounds") as refusal:
        Schedule(text)
    assert refusal.value.replay is not None and refusal.value.confirmed
    assert refusal.value.replay.arguments["I"][1] == 3


# -- assumptions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("assumed", "low", "high"),
    [
        ("0 <= I[i] and I[i] < 9", 0, 9),
        ("5 <= I[i] and I[i] < 7", 5, 7),
        ("I[i] == 4", 4, 5),
        ("I[i] % 3 == 1 and I[i] >= 0 and I[i] < 9", 1, 8),
    ],
)
def test_indices_from_memory_meet_what_is_assumed_of_them(assumed: str, low: int, high: int) -> None:
    before = program("scatter").replace("0 <= I[i] and I[i] < 9", assumed)
    after = before.replace("B[I[i]] = A[i]", "B[I[i]] = A[i] + T.float32(1)")
    found = replay(programs(before, after), {})
    assert found.confirmed, found.message
    indices = found.arguments["I"]
    assert ((low <= indices) & (indices < high)).all()


def test_sorted_indices_and_related_buffers() -> None:
    before = """
@T.prim_func
def f(P: T.Buffer((5,), "int32"), A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        T.assume(0 <= P[i] and P[i] <= P[i + 1] and P[i + 1] <= 8)
    for i in range(4):
        B[i] = T.float32(0)
        for k in range(P[i], P[i + 1]):
            B[i] = B[i] + A[k]
"""
    found = replay(programs(before, before.replace("A[k]\n", "A[k] + T.float32(1)\n")), {})
    assert found.confirmed, found.message
    assert (np.diff(found.arguments["P"]) >= 0).all()


@pytest.mark.nightly
def test_an_assumption_that_nothing_meets() -> None:
    before = program("scatter").replace("0 <= I[i] and I[i] < 9", "I[i] < 0 and I[i] > 0")
    found = replay(programs(before, before.replace("A[i]", "A[i] + T.float32(1)")), {})
    assert found.message == "no input small enough to run was found"


# -- layouts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (lambda s: s.transform_layout("A", lambda i: [i // 2]), "whose place another element takes"),
        (lambda s: s.transform_layout("B", lambda i: [i % 13]), "whose place another element takes"),
    ],
)
def test_elements_that_share_a_place(steps: Steps, message: str) -> None:
    refusal = refused("relu_1d", steps, "are mapped to the same place")
    assert refusal.replay is not None
    assert message in refusal.replay.message


def test_a_layout_without_arrays() -> None:
    """At n = -1 there is an array of no elements; in the new layout there would have to be one of -1."""
    text = """
@T.prim_func
def f(A: T.Buffer((n + 1,), "float32"), C: T.Buffer((n + 1, n + 1), "float32"), n: T.int32):
    for i in range(n + 1):
        A[i] = 1.0
"""
    with pytest.raises(Refuted, match=r"the extent .* is not negative") as refusal:
        Schedule(text).transform_layout("A", lambda i: [2 * i], pad_value=1.0)
    assert refusal.value.replay is not None and refusal.value.confirmed
    assert refusal.value.replay.message == "A has the shape (-1) after"
    assert refusal.value.replay.arguments["n"] == -1


def test_differences_are_told_in_the_layout_before_the_step() -> None:
    """Also where padding was declared by a function of the indices."""

    def steps(s: Schedule) -> None:
        s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=lambda i, a, b: 7.0)
        s.sequential_buffer_access("A")
        s.remove_branching_through_overcompute()

    refusal = refused("row_sum", steps, "writes the bits that are there already")
    assert refusal.replay is not None
    assert refusal.replay.message.startswith("B[0] = 105.0 before, 119.0 after")
    assert refusal.replay.arguments["A"].shape == (3, 4, 4)
    assert (refusal.replay.arguments["A"][:, 3, 2:] == 7).all()


def test_programs_are_run_when_somebody_asks_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[object] = []
    monkeypatch.setattr(replay_module, "run", lambda *a, **k: runs.append(a) or run(*a, **k))
    s = Schedule(program("row_sum"))
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=1.0)
    s.sequential_buffer_access("A")
    with pytest.raises(Refuted) as refusal:
        s.remove_branching_through_overcompute()
    assert refusal.value.summary() and refusal.value.counterexample and not runs
    assert refusal.value.confirmed
    asked = len(runs)
    assert asked and refusal.value.replay is refusal.value.replay and len(runs) == asked


def test_a_later_replay_does_as_much_work_as_one_at_once() -> None:
    text = COPY.format(dtype="float32", value="A[i] + T.float32(1)")
    with brief_replays(100):
        brief, later = replay(programs(text, text), {}), replay_later(programs(text, text), {})
    assert later().inputs == brief.inputs < replay_later(programs(text, text), {})().inputs


def test_what_stands_in_undefined_padding_is_not_compared() -> None:
    """Two programs that leave different values there are not told apart; those that differ elsewhere are."""
    text = """
@T.prim_func
def f(A: T.Buffer((14,), "float32"), C: T.Buffer((14,), "float32")):
    for i in range(14):
        C[i] = A[i]
"""

    def padded() -> Schedule:
        s = Schedule(text)
        for name in ("A", "C"):
            s.transform_layout(name, lambda i: [i // 4, i % 4], pad_value=T.undef())
        s.sequential_buffer_access("C")
        s.remove_branching_through_overcompute()
        return s

    two, three = padded(), padded()

    def storing(s: Schedule, value: Callable[[Store], Expr]) -> PrimFunc:
        return rewrite(s.func, lambda n: Store(n.buffer, value(n), n.indices) if isinstance(n, Store) else None)

    inside = storing(two, lambda n: Select(n.indices[0] * 4 + n.indices[1] < 14, n.value, const(7.0, "float32")))
    outside = storing(three, lambda n: n.value + const(1.0, "float32"))
    for s, changed, differs in ((two, inside, False), (three, outside, True)):
        paddings = s.theorem.paddings
        found = replay(Programs(s.func, changed, paddings, paddings, ()), {})
        assert found.confirmed == differs, found.message


def test_a_race_is_named() -> None:
    with pytest.raises(Refuted) as refusal:
        Schedule(program("stencil")).parallel("t")
    assert refusal.value.replay is not None
    assert refusal.value.replay.message == "race at A[1, 2] between t = 0 and 1"


PRODUCT = """
@T.prim_func
def f(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""


@pytest.mark.nightly
def test_watching_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A licence that no race shows to be wrong: a copy of scope local, outside of the threads that use it."""
    taken: list[int] = []
    monkeypatch.setattr(replay_module, "run", lambda *a, **k: taken.append(k["max_steps"]) or run(*a, **k))
    s = Schedule(PRODUCT)
    outer, _ = s.split("i", [None, 8])
    s.bind(outer, "blockIdx.x")
    s.cache_write("C", "C", "local")
    with pytest.raises(Refuted) as refusal:
        s.prove_race_free()
    assert refusal.value.replay is not None and not refusal.value.confirmed
    assert sum(taken) <= STEPS


def test_contents_of_every_type_have_the_buffers_shape() -> None:
    func = parse_func('@T.prim_func\ndef f(A: T.Buffer((2, 3), "bfloat16"), B: T.Buffer((), "bool")):\n    pass\n')
    of = shapes(func, {})
    assert of == {"A": (2, 3), "B": ()}
    for arrays in contents(func, of):
        assert arrays["A"].shape == (2, 3)
        assert arrays["B"].dtype == np.bool_
