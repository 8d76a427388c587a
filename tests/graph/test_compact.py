"""Rewrites of layouts recognised in PrimFuncs: by what they do, with a theorem, and near misses with a reason."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verified_tir import IndexMap, Schedule
from verified_tir.graph import GraphBuilder, TensorType
from verified_tir.graph.compact import Compact, compact, decomposed
from verified_tir.graph.errors import NoCopy
from verified_tir.graph.execute import evaluate
from verified_tir.graph.operators import legalize
from verified_tir.graph.program import program_of_graph, same_program
from verified_tir.graph.rewrite_passes import (
    compact_rewrites,
    decompose_rewrites,
    legalize_rewrites,
    without_copies,
)
from verified_tir.index.padded import padded_box
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.schedule.errors import ScheduleError
from verified_tir.semantics.interpreter import run


def copying(x: tuple[int, ...], out: tuple[int, ...], body: str, dtype: str = "float32") -> PrimFunc:
    """A function of an array x and a result out."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return parse_func(f"""
@T.prim_func
def move(x: T.Buffer({x}, "{dtype}"), out: T.Buffer({out}, "{dtype}")):
{lines}
""")


def agrees(made: Compact) -> None:
    """The theorem is about the function and its steps; and the steps give what the function gives."""
    assert same_program(made.theorem.after, program_of_graph(made.graph))
    assert [b.name for b in made.theorem.before.buffers] == [b.name for b in made.func.buffers]
    (v,) = made.graph.inputs
    (y,) = made.graph.outputs
    x = np.arange(1, v.type.size + 1).reshape(v.shape).astype(v.dtype)
    zeros = np.zeros(y.shape, v.dtype)
    name = made.copied.target.name
    wanted = run(made.func, {made.copied.source.name: x, name: zeros.copy()})
    given = run(program_of_graph(made.graph), {v.name: x, y.name: zeros.copy()})
    known = given.defined[y.name]
    np.testing.assert_array_equal(given.arrays[y.name][known], wanted.arrays[name][known])
    filled = made.copied.direction == "backward" or bool(known.all())
    assert filled or made.copied.pad_value is None


BY_FOUR = "[i0, i1 // 4, i2, i3, i1 % 4]"
RECOGNISED = {
    "as Relax writes it": (
        (2, 8, 3, 3), (2, 2, 3, 3, 4),
        """
for i0, i1, i2, i3, i4 in T.grid(2, 2, 3, 3, 4):
    with T.block("T_layout_trans"):
        ax0, ax1, ax2, ax3, ax4 = T.axis.remap("SSSSS", [i0, i1, i2, i3, i4])
        T.reads(x[ax0, ax1 * 4 + ax4, ax2, ax3])
        T.writes(out[ax0, ax1, ax2, ax3, ax4])
        out[ax0, ax1, ax2, ax3, ax4] = x[ax0, ax1 * 4 + ax4, ax2, ax3]
""",
        [("layout_transform", BY_FOUR, None)],
    ),
    "loops of the source": (
        (16, 16), (16, 4, 4), "for i, j in T.grid(16, 16):\n    out[j, i // 4, i % 4] = x[i, j]",
        [("layout_transform", "[i1, i0 // 4, i0 % 4]", None)],
    ),
    "fused, split, of all kinds": (
        (2, 12, 6, 5), (2, 3, 6, 5, 4),
        """
for a in T.parallel(90):
    for b in range(4):
        for c in T.vectorized(2):
            out[c, a // 30, a % 30 // 5, a % 5, b] = x[c, a // 30 * 4 + b, a % 30 // 5, a % 5]
""",
        [("layout_transform", BY_FOUR, None)],
    ),
    "vectors": (
        (8, 16), (8, 4, 4), "for a, b in T.grid(8, 4):\n    out[a, b, 0:4] = x[a, b * 4 : b * 4 + 4]",
        [("layout_transform", "[i0, i1 // 4, i1 % 4]", None)],
    ),
    "tails that are guarded": (
        (13, 7), (7, 13),
        """
for jo, io, ii, ji in T.grid(2, 4, 4, 4):
    if io * 4 + ii < 13 and jo * 4 + ji < 7:
        out[jo * 4 + ji, io * 4 + ii] = x[io * 4 + ii, jo * 4 + ji]
""",
        [("layout_transform", "[i1, i0]", None)],
    ),
    "filled, then copied": (
        (14,), (4, 4),
        """
for i in range(16):
    out[i // 4, i % 4] = T.float32(0)
for f in T.parallel(7):
    for g in T.vectorized(2):
        out[(f * 2 + g) // 4, (f * 2 + g) % 4] = x[f * 2 + g]
""",
        [("layout_transform", "[i0 // 4, i0 % 4]", 0.0)],
    ),
    "padding that nobody fills": (
        (14,), (4, 4), "for f, g in T.grid(4, 4):\n    if f * 4 + g < 14:\n        out[f, g] = x[f * 4 + g]",
        [("layout_transform", "[i0 // 4, i0 % 4]", None)],
    ),
    "padding before and after": (
        (14,), (5, 4),
        """
for f, g in T.grid(5, 4):
    out[f, g] = T.if_then_else(f * 4 + g >= 3 and f * 4 + g - 3 < 14, x[f * 4 + g - 3], T.float32(-1))
""",
        [("layout_transform", "[(i0 + 3) // 4, (i0 + 3) % 4]", -1.0)],
    ),
    "a padded plane": (
        (3, 5), (4, 4),
        "for i, j in T.grid(3, 5):\n    out[(i * 5 + j) // 4, (i * 5 + j) % 4] = x[i, j]\nout[3, 3] = T.float32(7)",
        [("layout_transform", "[(5 * i0 + i1) // 4, (5 * i0 + i1) % 4]", 7.0)],
    ),
    "by way of an array of its own": (
        (2, 6), (2, 2, 4),
        """
p = T.alloc_buffer((2, 8), "float32")
for i, j in T.grid(2, 8):
    with T.block("p"):
        a, b = T.axis.remap("SS", [i, j])
        p[a, b] = T.if_then_else(b < 6, x[a, b], T.float32(0))
for i, j, k in T.grid(2, 2, 4):
    with T.block("o"):
        a, b, c = T.axis.remap("SSS", [i, j, k])
        out[a, b, c] = p[a, b * 4 + c]
""",
        [("layout_transform", "[i0, i1 // 4, i1 % 4]", 0.0)],
    ),
    "padding alone": (
        (3, 4), (5, 6),
        """
for i, j in T.grid(5, 6):
    out[i, j] = T.if_then_else(i >= 1 and i < 4 and j < 4, x[i - 1, j], T.float32(0))
""",
        [("pad", ((1, 1), (0, 2)), 0.0)],
    ),
    "out of a padded layout": (
        (4, 4), (14,), "for i in range(14):\n    out[i] = x[i // 4, i % 4]",
        [("layout_transform", "[4 * i0o + i0i]", None), ("crop", (0,), (14,))],
    ),
    "a part": (
        (5, 6), (2, 3), "for i, j in T.grid(2, 3):\n    out[i, j] = x[i + 1, j + 2]", [("crop", (1, 2), (2, 3))],
    ),
}  # fmt: skip


def described(made: Compact) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for s in made.steps:
        first, second, *_ = s.attrs.values()
        found.append((s.op, str(first).partition(": ")[2] if isinstance(first, IndexMap) else first, second))
    return found


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", RECOGNISED)
def test_a_rewrite_is_recognised_by_what_it_does(name: str) -> None:
    x, out, body, steps = RECOGNISED[name]
    made = compact(copying(x, out, body))
    assert described(made) == steps
    agrees(made)


NEAR_MISSES = {
    "an element is left out": (
        (4, 4), (4, 4), "for i, j in T.grid(4, 4):\n    if not (i == 2 and j == 3):\n        out[j, i] = x[i, j]",
        r"x\[2, 3\] is copied nowhere, and nothing is copied to out\[3, 2\]",
    ),
    "two pad values": (
        (14,), (4, 4),
        "for i in range(16):\n    out[i // 4, i % 4] = T.if_then_else(i < 14, x[T.min(i, 13)], "
        "T.if_then_else(i < 15, T.float32(0), T.float32(1)))",
        r"out\[3, 2\] holds .*0.0.* and out\[3, 3\] .*1.0.*: padding has one value",
    ),
    "the pad value is the wrong zero in one place": (
        (3,), (5,),
        "for i in range(5):\n    out[i] = T.if_then_else(i < 3, x[T.min(i, 2)], "
        "T.if_then_else(i < 4, T.float32(0), T.float32(-0.0)))",
        "padding has one value",
    ),
    "an element goes to two places": (
        (4,), (8,), "for i in range(8):\n    out[i] = x[i // 2]", r"x\[\d\] is copied to out\[\d\] and out\[\d\]",
    ),
    "a place gets two elements": (
        (4, 4), (4,), "for i, j in T.grid(4, 4):\n    out[i] = x[i, j]",
        r"out\[\d\] gets x\[.*\] and x\[.*\]: that is no",
    ),
    "values are scaled": (
        (4,), (2, 2), "for i, j in T.grid(2, 2):\n    out[i, j] = x[i * 2 + j] * T.float32(2)",
        "out gets .*: what is computed from x is not a copy",
    ),
    "holes of no box": (
        (4,), (8,), "for i in range(8):\n    out[i] = T.float32(0)\nfor i in range(4):\n    out[i * 2] = x[i]",
        "in no way that is padding and then a bijection",
    ),
    "the pad value is stored over an element": (
        (4,), (2, 2), "for i in range(4):\n    out[i // 2, i % 2] = x[i]\nout[1, 0] = T.float32(0)",
        r"x\[2\] is copied nowhere, and nothing is copied to out\[1, 0\]",
    ),
    "nothing is copied": (
        (4,), (4,), "for i in range(4):\n    out[i] = T.float32(0)", "no element of x is copied to out",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_misses_are_refused_with_the_element(name: str) -> None:
    x, out, body, message = NEAR_MISSES[name]
    with pytest.raises(NoCopy, match=message):
        compact(copying(x, out, body))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'def f(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32"), out: T.Buffer((4,), "float32")):\n'
            "    for i in range(4):\n        out[i] = T.if_then_else(i < 3, x[i], y[i])",
            "f reads x, y and writes out; a rewrite of a layout reads one array",
        ),
        (
            'def f(x: T.Buffer((4,), "float32"), out: T.Buffer((4,), "float16")):\n'
            '    for i in range(4):\n        out[i] = T.Cast("float16", x[i])',
            "elements are converted",
        ),
        (
            'def f(x: T.Buffer((4,), "int32"), out: T.Buffer((4,), "int32")):\n'
            "    for i in range(4):\n        out[i] = x[x[i] & 3]",
            "depends on the contents of x",
        ),
        (
            'def f(x: T.Buffer((4,), "float32"), n: T.int32, out: T.Buffer((4,), "float32")):\n'
            "    for i in range(4):\n        out[i] = x[i]",
            "reads one array and writes one",
        ),
    ],
)
def test_other_functions_are_refused(text: str, message: str) -> None:
    with pytest.raises(NoCopy, match=message):
        compact(parse_func(f"@T.prim_func\n{text}\n"))


@pytest.mark.parametrize("name", ["loops of the source", "filled, then copied", "out of a padded layout", "a part"])
def test_the_function_may_take_the_place_of_its_compact_form(name: str) -> None:
    x, out, body, _ = RECOGNISED[name]
    made = compact(copying(x, out, body))
    assert same_program(made.back().after, Schedule(made.func).theorem.before)


def test_what_cannot_be_shown_is_refused() -> None:
    """The way back from loops that are fused and split is not found; the refusal is one of the kernel."""
    x, out, body, _ = RECOGNISED["fused, split, of all kinds"]
    made = compact(copying(x, out, body))
    with pytest.raises(ScheduleError):
        made.back()


# -- taking apart ------------------------------------------------------------------------------------------------------


def test_a_padded_map_is_padding_and_a_bijection() -> None:
    index_map = IndexMap.from_func(lambda n, c, h: [n, c // 4, h, c % 4], 3)
    pad, transform = decomposed(index_map, (2, 6, 3), pad_value=0.5)
    assert pad.attrs == {"pad_width": ((0, 0), (0, 2), (0, 0)), "pad_value": 0.5}
    assert str(transform.attrs["index_map"]).endswith("[i0, i1 // 4, i2, i1 % 4]")


def test_dimensions_are_fused_where_padding_fills_up_what_they_make_together() -> None:
    index_map = IndexMap.from_func(lambda i, j: [(i * 5 + j) // 4, (i * 5 + j) % 4], 2)
    parts = padded_box(index_map, (3, 5), (4, 4))
    assert parts.fused is not None and parts.box == (15,) and parts.widths == ((0, 1),)
    line, pad, transform = decomposed(index_map, (3, 5), pad_value=1.0)
    assert [line.op, pad.op, transform.op] == ["layout_transform", "pad", "layout_transform"]


def test_passes_over_a_graph_lead_there_and_back() -> None:
    g = GraphBuilder()
    x = g.input("x", (2, 6, 3))
    y = g.op("layout_transform", x, index_map=IndexMap.from_func(lambda n, c, h: [n, c // 4, h, c % 4], 3), pad_value=2)
    graph = g.finish(g.op("nn.relu", y))
    apart = decompose_rewrites(graph)
    assert [n.op for n in apart.graph.nodes] == ["pad", "layout_transform", "nn.relu"] and len(apart.theorems) == 1
    functions = legalize_rewrites(apart.graph)
    assert [n.op for n in functions.graph.nodes] == ["call_tir", "call_tir", "nn.relu"]
    again = compact_rewrites(functions.graph)
    assert [n.op for n in again.graph.nodes] == ["pad", "layout_transform", "nn.relu"] and len(again.theorems) == 2
    a = np.random.default_rng(0).standard_normal((2, 6, 3)).astype(np.float32)
    for made in (apart, functions, again):
        np.testing.assert_array_equal(evaluate(made.graph, [a])[0], evaluate(graph, [a])[0])


def test_copies_go_and_the_result_stays_an_array_of_its_own() -> None:
    g = GraphBuilder()
    x = g.input("x", (4, 3))
    y = g.op("nn.relu", g.call_tir(legalize("permute_dims", [TensorType((4, 3), "float32")], {"axes": (0, 1)}), [x],
                                   [TensorType((4, 3), "float32")]))  # fmt: skip
    z = g.op("layout_transform", y, index_map=IndexMap.identity(2))
    w = g.op("layout_transform", x, index_map=IndexMap.identity(2))
    made = without_copies(g.finish(z, w))
    assert [n.op for n in made.graph.nodes] == ["nn.relu", "layout_transform"]
    assert made.graph.nodes[0].inputs == (x,) and made.graph.outputs == (y, w)


# -- random ones -------------------------------------------------------------------------------------------------------


@st.composite
def maps(draw: st.DrawFn) -> tuple[IndexMap, tuple[int, ...]]:
    """Dimensions in some order, some split, one shifted perhaps."""
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)))
    tiles = [draw(st.sampled_from([1, 1, 2, 3, 4])) for _ in shape]
    shifts = [draw(st.sampled_from([0, 0, 0, 1, 2])) for _ in shape]
    parts = [(k, 0) for k in range(len(shape))] + [(k, 1) for k in range(len(shape)) if tiles[k] > 1]
    order = draw(st.permutations(parts))

    def of(*i: object) -> list[object]:
        moved = [v + s if s else v for v, s in zip(i, shifts, strict=True)]  # type: ignore[operator]
        split = [(v // t, v % t) if t > 1 else (v, v) for v, t in zip(moved, tiles, strict=True)]
        return [split[k][which] for k, which in order]

    return IndexMap.from_func(of, len(shape)), shape


@pytest.mark.nightly
@settings(max_examples=8, derandomize=True, database=None, deadline=None)
@given(maps(), st.sampled_from([None, 0.0, 3.0]), st.data())
def test_a_rewrite_is_recognised_after_other_loops_were_made_of_it(
    made: tuple[IndexMap, tuple[int, ...]], value: float | None, data: st.DataObject
) -> None:
    index_map, shape = made
    func = legalize("layout_transform", [TensorType(shape, "float32")], {"index_map": index_map, "pad_value": value})
    s = Schedule(func)
    for _ in range(data.draw(st.integers(0, 2))):
        loops = s.loops(s.blocks[0])
        step = data.draw(st.sampled_from(["split", "fuse", "reorder", "parallel"]))
        if step == "split" and loops:
            s.split(data.draw(st.sampled_from(loops)), factors=[None, data.draw(st.integers(1, 3))])
        elif step == "fuse" and len(loops) > 1:
            s.fuse(*loops[:2])
        elif step == "reorder" and len(loops) > 1:
            s.reorder(*data.draw(st.permutations(loops)))
        elif step == "parallel" and loops:
            s.parallel(loops[0])
    found = compact(s.func)
    agrees(found)
    x = np.arange(1, np.prod(shape) + 1).reshape(shape).astype(np.float32)
    packed = index_map.pack(x, 0.0 if value is None else value)
    result = run(program_of_graph(found.graph), {"x": x, found.graph.outputs[0].name: np.zeros_like(packed)})
    known = result.defined[found.graph.outputs[0].name]
    assert known.sum() == (packed.size if value is not None else x.size)
    np.testing.assert_array_equal(result.arrays[found.graph.outputs[0].name][known], packed[known])


@settings(max_examples=25, derandomize=True, database=None, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=6, max_size=6), st.sampled_from([6, 7]))
def test_whatever_is_accepted_is_right(where: list[int], size: int) -> None:
    """Six elements go somewhere; accepted is only what the compact form does too."""
    body = "\n".join(f"out[{b}] = x[{a}]" for a, b in enumerate(where))
    try:
        made = compact(copying((6,), (size,), body))
    except (NoCopy, ScheduleError):
        assert sorted(where) != list(range(6)) or where != sorted(where)
        return
    agrees(made)
