"""What is drawn of a layout: every element once, padding where nobody lives, cuts that keep both sides together."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.explain.stories import example, told
from verified_tir import Schedule
from verified_tir.explain.grids import Marks, layout_grids
from verified_tir.explain.relaid import Layout, Relaid, columns, layout_of, relaid_by, shown, sizes_of
from verified_tir.explain.touched import first_iteration


def only_layout(s: Schedule) -> tuple[Relaid, Layout]:
    record = s.steps[-1]
    (found,) = relaid_by(record.rules, record.before)
    layout = layout_of(found, sizes_of(found, ()) or {})
    assert layout is not None
    return found, layout


def copy(*shape: object) -> Schedule:
    """A program that copies an array, to be laid out anew."""
    names = ", ".join(f"i{k}" for k in range(len(shape)))
    extents = ", ".join(map(str, shape))
    extents += "," if len(shape) == 1 else ""
    loops = (
        f"    for {names} in T.grid({extents.rstrip(',')}):\n"
        if len(shape) > 1
        else f"    for i0 in range({shape[0]}):\n"
    )
    return Schedule(
        f"@T.prim_func\ndef f(A: T.Buffer(({extents}), 'float32'), B: T.Buffer(({extents}), 'float32')):\n"
        f"{loops}        B[{names}] = A[{names}]\n"
    )


@settings(deadline=None, max_examples=30)
@given(rows=st.integers(1, 5), columns=st.integers(1, 12), tile=st.integers(1, 5), turned=st.booleans())
def test_every_logical_index_is_in_the_physical_picture_once(rows: int, columns: int, tile: int, turned: bool) -> None:
    s = copy(rows, columns)

    def tiled(i, j):  # type: ignore[no-untyped-def]
        return [j // tile, i, j % tile] if turned else [i, j // tile, j % tile]

    s.transform_layout("A", tiled, pad_value=0.0)
    _, layout = only_layout(s)
    assume(layout.is_whole)
    _, physical = layout_grids(layout, Marks())
    held = [c.text for c in physical.cells.values() if c.kind != "pad"]
    assert len(held) == len(set(held)) == rows * columns == len(layout.places)
    assert set(layout.places.values()) | layout.padding == set(physical.cells)
    assert not set(layout.places.values()) & layout.padding


def test_both_grids_link_the_same_elements() -> None:
    s = copy(6, 4)
    s.transform_layout("B", lambda i, j: [j, i])
    _, layout = only_layout(s)
    logical, physical = layout_grids(layout, Marks())
    for x, y in layout.places.items():
        assert logical.cells[x].key == physical.cells[y].key
        assert logical.cells[x].fill == physical.cells[y].fill
    assert layout.places[5, 0] == (0, 5)
    assert logical.cells[5, 0].title == "B[5, 0] is B[0, 5]"


def test_of_a_large_layout_both_ends_are_drawn_and_every_place_has_its_element() -> None:
    s = copy(1020, 514)
    s.transform_layout("A", lambda i, j: [i // 8, j // 32, i % 8, j % 32], pad_value=0.0)
    _, layout = only_layout(s)
    assert not layout.is_whole
    assert {0, 127} <= set(layout.physical[0].shown)
    assert layout.padding
    drawn = {y for y in layout.places.values() if all(k in a.shown for k, a in zip(y, layout.physical, strict=True))}
    cells = [()]
    for a in layout.physical:
        cells = [(*c, k) for c in cells for k in a.shown]
    assert drawn | layout.padding == set(cells)
    assert len(cells) <= 16 * 16


def test_symbols_get_values_that_show_the_padding() -> None:
    story = example("nhwc_to_nchwc.py:symbolic_shape")
    layout = story.steps[1].layouts[0].layout
    assert layout is not None
    assert {v.name: n for v, n in layout.sizes.items()}["C"] == 6
    assert layout.padding


def test_sizes_satisfy_what_the_program_assumes(tmp_path: Path) -> None:
    story = told(
        tmp_path,
        "from verified_tir import Schedule, schedule\nfrom verified_tir.script import tir as T\n\n\n"
        "@T.prim_func\ndef f(A: T.Buffer(('n',), 'float32'), n: T.int32):\n"
        "    T.assume(n % 4 == 0 and n >= 8)\n    for i in range(n):\n        A[i] = 0.0\n\n\n"
        "@schedule(f)\ndef tiled(s):\n    s.transform_layout('A', lambda i: [i // 4, i % 4])\n",
    )
    layout = story.steps[1].layouts[0].layout
    assert layout is not None
    assert list(layout.sizes.values()) == [8]
    assert not layout.padding


def test_a_layout_of_local_memory_is_found_and_an_identity_is_not() -> None:
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
    C = T.alloc_buffer((4, 6), "float32")
    for i, j in T.grid(4, 6):
        C[i, j] = A[i, j]
    for i, j in T.grid(4, 6):
        B[i, j] = C[i, j]
""")
    s.transform_layout("C", lambda i, j: [j, i])
    found, layout = only_layout(s)
    assert (found.before.name, found.after.name) == ("C", "C")
    assert layout.places[1, 2] == (2, 1)
    s.transform_layout("A", lambda i, j: [i, j])
    assert not list(relaid_by(s.steps[-1].rules, s.steps[-1].before))


def test_an_iteration_touches_its_row_and_not_the_padding() -> None:
    story = example("row_summation.py:padded")
    touched = story.steps[1].layouts[0].touched
    assert touched is not None
    assert (touched.loop.name, touched.value) == ("i", 0)
    assert touched.elements == {(0, j // 4, j % 4) for j in range(14)}


def test_conditions_count_for_what_an_iteration_touches() -> None:
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(4, 8):
        if j < 3:
            A[i, j] = 0.0
""")
    found = first_iteration(s.func, s.buffer("A"), {})
    assert found is not None
    assert found.elements == {(0, 0), (0, 1), (0, 2)}


def test_what_an_index_from_memory_touches_is_not_told() -> None:
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((8,), "float32"), I: T.Buffer((8,), "int32")):
    for i in range(8):
        T.assume(0 <= I[i] and I[i] < 8)
    for i in range(8):
        A[I[i]] = 0.0
""")
    assert first_iteration(s.func, s.buffer("A"), {}) is None


@pytest.mark.parametrize(("extents", "count"), [((5,), 5), ((100,), 16), ((28, 28, 64), 256), ((3, 1, 2**31), 48)])
def test_the_number_of_cells_is_bounded(extents: tuple[int, ...], count: int) -> None:
    found = shown(extents)
    cells = 1
    for axis, n in zip(found, extents, strict=True):
        cells *= len(axis)
        assert {0, n - 1} <= axis
    assert cells <= count


def test_an_element_that_must_be_seen_is_drawn() -> None:
    assert 50 in shown((100,), [(50,)])[0]
    assert 200 not in shown((100,), [(200,)])[0]


def test_places_without_an_element_have_a_colour_and_those_in_turn_several_elements() -> None:
    s = Schedule("""
@T.prim_func
def pool(A: T.Buffer((12,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((10,), "int32")
    for a in range(10):
        with T.block("B"):
            B[a] = T.max(A[a], A[a + 2])
    for t in range(2):
        for b in range(4):
            with T.block("C"):
                C[t * 4 + b] = T.max(B[t * 4 + b], B[t * 4 + b + 2])
""")
    s.compute_at("B", "t")
    s.rolling_buffer("B", 0)
    record = s.steps[-1]
    wider, rolled = relaid_by(record.rules, record.before)
    assert rolled.shared and not wider.shared
    for r in (wider, rolled):
        layout = layout_of(r, sizes_of(r, ()) or {})
        assert layout is not None
        for grid in layout_grids(layout, Marks()):
            assert all(c.fill or c.kind for c in grid.cells.values())
    assert grid.cells[0,].title == "B[0] holds B[0], B[6]"
    assert grid.cells[0,].key == "0 6"


@pytest.mark.parametrize(
    ("extents", "across"), [((5,), 1), ((4, 4), 1), ((16, 4, 4), 2), ((2, 2, 2, 2), 3), ((9, 3, 64), 1)]
)
def test_the_last_dimensions_run_across_as_far_as_there_is_room(extents: tuple[int, ...], across: int) -> None:
    assert columns(extents) == across
