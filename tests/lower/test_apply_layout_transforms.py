"""ApplyLayoutTransforms: index maps in an attribute."""

from __future__ import annotations

import pytest

from tests.lower.lower_support import lowered, refused
from verified_tir import script
from verified_tir.index.parse import parse_index_map
from verified_tir.ir.dtype import INT64
from verified_tir.ir.expr import Var
from verified_tir.ir.node import IRError
from verified_tir.lower.apply_layout_transforms import ApplyLayoutTransforms

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer(("n",), "float32"), n: T.int32):
    T.func_attr({"tir.noalias": True, "layout_transform_map": MAPS})
    x = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        x[i, j] = A[i, j]
    for i in range(n):
        if i < 8:
            B[i] = x[i, 7 - i]
"""


def with_maps(maps: str) -> str:
    return PROGRAM.replace("MAPS", maps)


def test_several_buffers_and_sequences_of_maps() -> None:
    maps = """{
        "x": ["lambda i, j: [j, i]", "lambda i, j: [i, j // 4, AXIS_SEPARATOR, j % 4]"],
        "A": "lambda r, c: (c, r)",
        "B": "lambda i: n - 1 - i",
    }"""
    theorem, records = lowered(with_maps(maps), ApplyLayoutTransforms() >> ApplyLayoutTransforms())
    assert (
        script(theorem.after).split("\n\n")[1]
        == """\
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer(("n",), "float32"), n: T.int32):
    T.func_attr({"tir.noalias": True})
    x = T.alloc_buffer((8, 2, 4), "float32", axis_separators=[2])
    for i, j in T.grid(8, 8):
        x[j, i // 4, i % 4] = A[j, i]
    for i in range(n):
        if i < 8:
            B[n - 1 - i] = x[7 - i, i // 4, i % 4]"""
    )
    assert records[1].rules == 0


def test_separators_of_the_buffer_are_kept() -> None:
    text = with_maps('{"x": "lambda i, j: [i // 2, i % 2, j]"}').replace(
        '(8, 8), "float32")\n    for', '(8, 8), "float32", axis_separators=[1])\n    for'
    )
    theorem, _ = lowered(text, ApplyLayoutTransforms())
    assert 'x = T.alloc_buffer((4, 2, 8), "float32", axis_separators=[1])' in script(theorem.after)


def test_without_the_attribute_nothing_happens() -> None:
    _, (record,) = lowered(PROGRAM.replace(', "layout_transform_map": MAPS', ""), ApplyLayoutTransforms())
    assert record.rules == 0


@pytest.mark.parametrize(
    ("maps", "words"),
    [
        ('{"x": "lambda i, j: [i]"}', "no two elements of x are mapped to the same place"),
        ('{"y": "lambda i: [i]"}', "there is no buffer called 'y'; the buffers are A, B, x"),
        ('{"x": "lambda i: [i]"}', "layout of x: "),
        ('{"x": "[j, i]"}', "is not an index map; write lambda i, j: [j, i]"),
        ('{"x": "lambda i, j: [k, i]"}', "unknown name k"),
        ('{"x": "lambda *i: i"}', "names one variable for each dimension, and nothing else"),
        ('{"x": "lambda i, j: [i,"}', "is not an index map"),
        ('{"x": "lambda i, j: [__import__(\'os\'), i]"}', "in the index map"),
        ('{"x": 3}', "layout_transform_map maps buffers to index maps or lists of these"),
        ('[["x", "lambda i, j: [j, i]"]]', "layout_transform_map maps buffers to index maps or lists of these"),
    ],
)
def test_refusals(maps: str, words: str) -> None:
    refused(with_maps(maps), ApplyLayoutTransforms(), words)


def test_texts_of_maps() -> None:
    n = Var.fresh("n")
    for text in ("lambda i, j: [j, i // 4, AXIS_SEPARATOR, i % 4]", "lambda i: [n - i - 1]", "lambda: []",
                 "lambda i: [0, i]", "lambda i, j: [j, -1 + i]"):  # fmt: skip
        found = parse_index_map(text, {"n": n})
        assert str(parse_index_map(str(found), {"n": n})) == str(found)
    assert parse_index_map("lambda i: T.AXIS_SEPARATOR").separators == (0,)
    assert parse_index_map("lambda i: [i + 1, 7]", dtype=INT64).dtype is INT64
    assert parse_index_map("lambda n: n", {"n": n}).inputs[0] is not n
    with pytest.raises(IRError, match=r"names a variable twice|no index map"):
        parse_index_map("lambda i, i: [i]")
