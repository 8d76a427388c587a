"""Small pictures as whole SVG files, and what is written by ``--svg``."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

from tests.explain.stories import SMALL, example, told
from verified_tir import Schedule
from verified_tir.explain import nests
from verified_tir.explain.drawing import alone
from verified_tir.explain.pictures import pictures, write_pictures

Golden = Callable[[str, str], None]


def test_a_padded_layout(golden: Golden, tmp_path: Path) -> None:
    drawing = told(tmp_path, SMALL).steps[1].layouts[0].drawing
    assert drawing is not None
    golden("padded_layout.svg", alone(drawing).rstrip("\n"))


def test_a_loop_nest(golden: Golden) -> None:
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for i, j in T.grid(8, 16):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
""")
    before = s.func
    i, j = s.loops("copy")
    outer, lanes = s.split(j, [None, 4])
    s.parallel(i)
    s.vectorize(lanes)
    s.unroll(outer)
    parts = nests.nest(s.func, before)
    golden("loop_nest.svg", alone(nests.draw(parts, "after")).rstrip("\n"))


def test_unchanged_parts_are_folded_and_new_loops_framed() -> None:
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] = 0.0
    for k in range(8):
        B[k] = 0.0
""")
    before = s.func
    s.split("k", [2, 4])
    old, new = nests.changed(nests.nest(before, s.func), nests.nest(s.func, before))
    assert [p.text for p in old] == ["for i in 8 …  (unchanged)", "for k in 8"]
    assert [p.text for p in new] == ["for i in 8 …  (unchanged)", "for k_0 in 2"]
    assert [old[1].new, new[1].new, new[1].parts[0].new] == [True, True, True]
    assert not nests.same_loops(nests.nest(before), nests.nest(s.func))
    assert nests.same_loops(nests.nest(before), nests.nest(before))


def test_a_large_nest_is_cut_and_says_so() -> None:
    lines = "\n".join(f"    A[{k}] = 0.0" for k in range(200))
    s = Schedule(f"@T.prim_func\ndef f(A: T.Buffer((200,), 'float32')):\n{lines}\n")
    drawn = nests.draw(nests.nest(s.func), "after")
    assert "… and 80 more" in drawn.body
    assert drawn.body.count("<text") == nests.MOST + 1


def test_files_for_papers_are_svg_without_variables_or_network(tmp_path: Path) -> None:
    written = write_pictures(example("row_summation.py:padded_with_ones"), tmp_path / "new" / "folder")
    names = [p.name.removeprefix("padded_with_ones-") for p in written]
    assert names == [
        "01-transform_layout-layout-A.svg",
        "02-sequential_buffer_access-loops.svg",
        "refused-1-remove_branching_through_overcompute-memory-A.svg",
        "refused-1-remove_branching_through_overcompute-memory-B.svg",
        "refused-1-remove_branching_through_overcompute-answers-B.svg",
    ]
    for path in written:
        text = path.read_text(encoding="utf-8")
        root = ET.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.find("{*}title") is not None and root.find("{*}desc") is not None
        assert "var(" not in text
        assert text.count("http") == 1  # the namespace


def test_a_picture_says_in_words_what_it_shows(tmp_path: Path) -> None:
    drawn = dict(pictures(told(tmp_path, SMALL)))
    (layout,) = [d for name, d in drawn.items() if "layout" in name]
    assert "A has 3 × 2 × 4 places" in layout.description
    assert "9 of the places drawn are padding" in layout.description
    (loops,) = [d for name, d in drawn.items() if "loops" in name]
    assert "for i in 3 (for j_0 in 2 (for j_1 in 4))" in loops.description


def test_the_picture_in_the_documentation_is_that_of_today() -> None:
    here = Path(__file__).parent
    page = here.parents[1] / "docs" / "how-to" / "padded-layout.svg"
    assert page.read_bytes() == (here / "golden" / "padded_layout.svg").read_bytes()
