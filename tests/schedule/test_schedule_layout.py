"""transform_layout on parameters and local buffers, with every kind of padding, and in TVM's forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.schedule.schedule_programs import program
from tests.schedule.schedule_support import Steps, accepted, agree, not_applicable, refused
from verified_tir import AXIS_SEPARATOR, IndexMap, Schedule
from verified_tir.ir.sugar import const
from verified_tir.script import tir as T
from verified_tir.semantics.interpreter import run

Golden = Callable[[str, str], None]

IN_FOURS = lambda i: [i // 4, i % 4]  # noqa: E731

MAPS: list[tuple[str, str, Any]] = [
    ("relu_1d", "A", IN_FOURS),
    ("relu_1d", "B", lambda i: [(i + 2) // 8, (i + 2) % 8]),
    ("relu_1d", "A", lambda i: [i % 4, i // 4]),
    ("relu_1d", "A", lambda i: [i + 3]),
    ("relu_1d", "A", lambda i: [0, i]),
    ("add_2d", "A", lambda i, j: [j, i]),
    ("add_2d", "C", lambda i, j: [i // 2, j // 3, i % 2, j % 3]),
    ("add_2d", "B", lambda i, j: [i * 7 + j]),
    ("add_2d", "B", lambda i, j: [i, i + j]),
    ("add_2d", "B", lambda i, j: [i, j ^ (i & 3)]),
    ("add_2d", "A", lambda i, j: [(i & 1) << 1 | (j & 1) | (i & 2) << 2 | (j & 2) << 1 | (i & 4) << 3 | (j & 4) << 2]),
    ("symbolic_3d", "A", lambda i, j, k: [i, j, k ^ (j & 7)]),
    ("scale_3d", "A", lambda *indices: list(reversed(indices))),
    ("scale_3d", "B", lambda i, *rest: [rest[0], i, rest[1] // 2, rest[1] % 2]),
    ("copy_4d", "B", lambda n, h, w, c: [n, c // 2, h, w, c % 2]),
    ("matmul", "C", lambda i, j: [i // 2, j // 4, i % 2, j % 4]),
    ("conv2d_nhwc", "W", lambda h, w, i, o: [o, h, w, i]),
    ("wide", "A", lambda i, j: [i, j // 4, j % 4]),
    ("count", "A", lambda i, j: [j, i]),
    ("transpose", "A", lambda i, j: [i, j // 4, j % 4]),
    ("gather", "A", IN_FOURS),
    ("gather", "I", IN_FOURS),
    ("scatter", "B", IN_FOURS),
    ("in_place", "A", IN_FOURS),
    ("stencil", "A", lambda t, x: [x // 4, t, x % 4]),
    ("scalar", "A", lambda: []),
    ("scalar", "A", lambda: [0, 0]),
    ("total", "C", lambda: [1]),
    ("symbolic_1d", "A", IN_FOURS),
    ("symbolic_3d", "B", lambda i, j, k: [j // 4, i, k // 8, j % 4, k % 8]),
    ("matmul_symbolic", "B", lambda k, j: [j // 8, k, j % 8]),
    ("cached", "A_cache", IN_FOURS),
    ("scratch", "t", lambda i: [3 - i]),
    ("scratch", "t", lambda i: [i // 3, i % 3]),
    ("transpose_in_place", "t", lambda i: [i, i]),
    ("softmax", "most", lambda i: [i // 2, i % 2]),
]
PADDINGS = {"None": None, "zero": 0.0, "undef": T.undef(), "function": lambda *i: 0 if len(i) > 1 else T.undef()}


@pytest.mark.sample(4)
@pytest.mark.parametrize(("name", "buffer", "index_map"), MAPS, ids=lambda x: x if isinstance(x, str) else "")
def test_layouts_keep_the_result(name: str, buffer: str, index_map: Any) -> None:
    for value in PADDINGS.values():
        s = Schedule(program(name))
        s.transform_layout(buffer, index_map, pad_value=value)
        agree(s, work=250)


def test_a_swizzle_that_loses_a_bit_is_refused() -> None:
    lossy = lambda i, j: [i & 6, j ^ (i & 3)]  # noqa: E731
    refused("matmul", lambda s: s.transform_layout("C", lossy), "no two elements of C are mapped to the same place")


def test_the_interface_holds_the_packed_array() -> None:
    """Running the scheduled program on ``IndexMap.pack`` of the arrays, unpacked, gives what the original gives."""
    index_map = IndexMap.from_func(lambda i: [(i + 2) // 8, (i + 2) % 8], 1)
    s = Schedule(program("relu_1d"))
    s.transform_layout("A", index_map, pad_value=np.float32(-1))
    s.transform_layout("B", index_map, pad_value=2)
    a = np.arange(-7, 7, dtype=np.float32)
    before = run(s.steps[0].before, {"A": a, "B": np.zeros(14, np.float32)}).arrays["B"]
    packed = {"A": index_map.pack(a, -1.0), "B": index_map.pack(np.zeros(14, np.float32), 2.0)}
    after = run(s.func, packed).arrays["B"]
    assert (index_map.unpack(after, (14,)) == before).all()
    assert (after[0, :2] == 2).all() and (after[1, 8:] == 2).all()


# -- padding -----------------------------------------------------------------------------------------------------------


def test_a_written_parameter_gets_a_stage_that_writes_its_padding(golden: Golden) -> None:
    """RFC 77, "Enhancement - transform_layout": ``B`` is an argument and is written."""
    text = """
@T.prim_func
def func(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for i in T.serial(14):
        with T.block("compute"):
            B[i] = T.float32(2) * A[i]
"""

    def steps(s: Schedule) -> None:
        s.transform_layout("compute", "A", IN_FOURS, pad_value=-1)
        s.transform_layout("compute", "B", IN_FOURS, pad_value=-2)

    s = accepted(text, steps)
    assert s.blocks == ["compute", "B_padding"]
    golden("layout_written_parameter.txt", s.script())


@pytest.mark.parametrize("pad_value", [None, T.undef(), lambda io, ii: None])
def test_no_stage_where_nothing_is_owed(pad_value: Any) -> None:
    s = accepted("relu_1d", lambda s: s.transform_layout("B", IN_FOURS, pad_value=pad_value))
    assert s.blocks == ["relu"]


def test_no_stage_without_padding() -> None:
    s = accepted("relu_1d", lambda s: s.transform_layout("B", lambda i: [i // 7, i % 7], pad_value=1.0))
    assert s.blocks == ["relu"]


def test_the_caches_of_the_rfc(golden: Golden) -> None:
    def steps(s: Schedule) -> None:
        s.transform_layout(block="compute", buffer="A_cache", index_map=IN_FOURS, pad_value=-1)
        s.transform_layout(block="compute", buffer="B_cache", index_map=IN_FOURS, pad_value=-2)

    golden("layout_caches.txt", accepted("cached", steps).script())


def test_padding_that_wraps_to_the_beginning(golden: Golden) -> None:
    def wrapped(name: str) -> Steps:
        def steps(s: Schedule) -> None:
            whole = s.buffer(name)
            s.transform_layout(name, IN_FOURS, pad_value=lambda io, ii: whole[(io * 4 + ii - 14) % 4])

        return steps

    accepted("relu_1d", wrapped("A"))
    golden("layout_wrapped.txt", accepted("cached", wrapped("A_cache")).script())
    accepted("relu_1d", wrapped("B"))


def test_padding_that_depends_on_its_place() -> None:
    accepted("relu_1d", lambda s: s.transform_layout("A", IN_FOURS, lambda io, ii: T.Cast("float32", io * 4 + ii)))
    one, two = T.float32(1), T.float32(2)
    accepted("cached", lambda s: s.transform_layout("B_cache", IN_FOURS, lambda io, ii: T.Select(ii < 3, one, two)))


def test_padding_of_a_buffer_that_is_read_where_it_is_written() -> None:
    """The stage comes first then, so that later steps may use it."""
    s = accepted("scratch", lambda s: s.transform_layout("t", lambda i: [i // 3, i % 3], pad_value=0))
    assert s.blocks == ["t_padding"]
    assert s.script().index("t_padding") < s.script().index("t[j // 3")


def test_several_local_buffers_and_several_layouts_of_one(golden: Golden) -> None:
    def steps(s: Schedule) -> None:
        s.transform_layout("A", lambda i, j: [j, i])
        s.simplify()
        s.transform_layout("A", lambda j, i: [j // 4, i, j % 4], pad_value=0.0)
        s.simplify()
        s.transform_layout("A", lambda a, i, b: [i // 2, a, i % 2, b], pad_value=1.0)
        s.simplify()

    golden("layout_three_times.txt", accepted("add_2d", steps).script())

    def local(s: Schedule) -> None:
        s.transform_layout("c", lambda i, j: [i, j // 4, j % 4], pad_value=0.0)
        s.transform_layout("c", lambda i, a, b: [a, i, b], pad_value=0.0)
        s.simplify()

    accepted("cached_sum", local)


def test_axis_separators() -> None:
    s = accepted("add_2d", lambda s: s.transform_layout("A", lambda i, j: [i, AXIS_SEPARATOR, j]))
    assert "axis_separators=[1]" in s.script()


# -- TVM's forms -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "steps",
    [
        lambda s: s.transform_layout("A", IN_FOURS, 0.0),
        lambda s: s.transform_layout(s.buffer("A"), IN_FOURS, pad_value=0.0),
        lambda s: s.transform_layout("relu", "A", IN_FOURS, pad_value=0.0),
        lambda s: s.transform_layout("relu", ("read", 0), IN_FOURS, 0.0),
        lambda s: s.transform_layout(s.get_block("relu"), buffer=s.buffer("A"), index_map=IN_FOURS, pad_value=0),
        lambda s: s.transform_layout("A", IndexMap.from_func(IN_FOURS, 1), pad_value=lambda *i: 0),
    ],
)
def test_the_ways_to_say_it(steps: Steps) -> None:
    s = accepted("relu_1d", steps)
    assert "A: T.Buffer((4, 4)" in s.script()


def test_a_schedule_as_tvm_users_write_it() -> None:
    def steps(s: Schedule) -> None:
        block = s.get_block("relu")
        (i,) = s.get_loops(block)
        s.transform_layout(block, ("write", 0), IN_FOURS)
        _, inner = s.split(i, factors=[None, 4])
        s.vectorize(inner)

    accepted("relu_1d", steps)


# -- near-misses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "buffer", "index_map"),
    [
        ("relu_1d", "A", lambda i: [i // 2]),
        ("relu_1d", "B", lambda i: [i % 13]),
        ("add_2d", "A", lambda i, j: [i + j]),
        ("add_2d", "C", lambda i, j: [i]),
        ("cached", "A_cache", lambda i: [i // 3, i % 2]),
        ("symbolic_1d", "A", lambda i: [i // 4]),
    ],
)
def test_two_elements_in_one_place(name: str, buffer: str, index_map: Any) -> None:
    refused(
        name,
        lambda s: s.transform_layout(buffer, index_map),
        f"no two elements of {buffer} are mapped to the same place",
    )


@pytest.mark.parametrize(
    ("name", "steps", "words"),
    [
        ("relu_1d", lambda s: s.transform_layout("Z", IN_FOURS), "no buffer called 'Z'; the buffers are A, B"),
        ("cached", lambda s: s.transform_layout("Z", IN_FOURS), "the buffers are A, B, A_cache, B_cache"),
        ("relu_1d", lambda s: s.transform_layout("A", lambda i, j: [i, j]), "the function takes 2 indices (i, j)"),
        ("relu_1d", lambda s: s.transform_layout("A", lambda i: [i - 1]), "output 0 of the map is -1"),
        ("relu_1d", lambda s: s.transform_layout("A", lambda i: ["i"]), "must be an index of type int32, not 'i'"),
        ("relu_1d", lambda s: s.transform_layout("A", lambda i: [T.Cast("int64", i)]), "of type int32"),
        ("relu_1d", lambda s: s.transform_layout("A", 3), "is a function of the indices or an IndexMap, not 3"),
        ("relu_1d", lambda s: s.transform_layout("A", IN_FOURS, "x"), "cannot be 'x': it is neither a number"),
        ("relu_1d", lambda s: s.transform_layout("A", IN_FOURS, [0]), "cannot be [0]"),
        ("relu_1d", lambda s: s.transform_layout("A", IN_FOURS, lambda i: 0.0), "is a function of 2 indices"),
        ("relu_1d", lambda s: s.transform_layout("A", IN_FOURS, lambda a, b: a), "has type int32, the"),
        ("relu_1d", lambda s: s.transform_layout("A", IN_FOURS, T.Cast("int8", const(1))), "has type int8, the"),
        ("negate_5d", lambda s: s.transform_layout("A", lambda *i: [i[0] + 1, *i[1:]], 0.5), "cannot be 0.5"),
        ("matmul_int8", lambda s: s.transform_layout("A", lambda i, k: [i + 1, k], 300), "cannot be 300"),
        ("relu_1d", lambda s: s.transform_layout("relu", "Z", IN_FOURS), "block relu does not use Z; it uses B, A"),
        ("relu_1d", lambda s: s.transform_layout("relu", ("read", 1), IN_FOURS), "has no read buffer number 1"),
        ("relu_1d", lambda s: s.transform_layout("relu", ("x", 0), IN_FOURS), "not ('x', 0)"),
        ("relu_1d", lambda s: s.transform_layout("blok", "A", IN_FOURS), "no block called 'blok'"),
        ("relu_1d", lambda s: s.transform_layout(7, IN_FOURS), "a buffer is given by its name or itself, not by 7"),
    ],
)  # fmt: skip
def test_a_layout_that_makes_no_sense(name: str, steps: Steps, words: str) -> None:
    not_applicable(name, steps, words)


@pytest.mark.parametrize(
    ("args", "named", "words"),
    [
        ((), {"buffer": "A"}, "transform_layout needs index_map"),
        (("A", IN_FOURS, 0, 1), {}, "4 arguments are given"),
        (("A", IN_FOURS), {"padvalue": 0}, "padvalue is unknown"),
        (("A", IN_FOURS), {"index_map": IN_FOURS}, "given twice"),
    ],
)
def test_arguments_that_do_not_bind(args: tuple[Any, ...], named: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Schedule(program("relu_1d")).transform_layout(*args, **named)


def test_a_mistake_in_a_layout_function_is_the_callers() -> None:
    s = Schedule(program("relu_1d"))
    before = s.func
    with pytest.raises(NameError):
        s.transform_layout("A", lambda i: [i, undefined_name])  # type: ignore[name-defined]  # noqa: F821
    assert s.func is before
    s.transform_layout("A", IN_FOURS)
