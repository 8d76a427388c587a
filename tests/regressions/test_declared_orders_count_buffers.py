"""A number of a buffer counted the accesses, where TVM counts the regions of ``T.reads`` and ``T.writes``.

With ``T.reads(B, A)`` and the value ``A + 2 * B``, ``cache_read(block, 0)`` copied A, and TVM copies B.
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule, ScheduleError, Trace

TEXT = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), E: T.Buffer((8,), "int32")):
    C = T.alloc_buffer((8,), "int32")
    D = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.sblock("CD"):
            vi = T.axis.spatial(8, i)
            T.reads({0})
            T.writes({1})
            C[vi] = A[vi] + 2 * B[vi]
            D[vi] = B[vi]
    for i in range(8):
        with T.sblock("E"):
            vi = T.axis.spatial(8, i)
            E[vi] = C[vi] * D[vi]
"""
OTHER = TEXT.format("B[vi], A[vi]", "D[vi], C[vi]")
SAME = TEXT.format("A[vi], B[vi]", "C[vi], D[vi]")


def test_caches() -> None:
    for text, read, written in ((OTHER, "B", "D"), (SAME, "A", "C")):
        s = Schedule(text)
        assert s.cache_read("CD", 0, "local").name == f"{read}_local"
        assert s.cache_write("CD", 0, "local").name == f"{written}_local"


def test_numbers_go_on_counting_after_steps() -> None:
    s = Schedule(OTHER)
    assert [s.cache_read("CD", k, "local").name for k in (0, 1)] == ["B_local", "A_local"]
    assert [s.cache_read("CD", k, "shared").name for k in (0, 1)] == ["B_local_shared", "A_local_shared"]
    s.transform_layout("CD", ("write", 0), lambda i: [i // 4, i % 4])
    assert len(s.buffer("D").shape) == 2
    again = Schedule(OTHER)
    s.trace.apply_to_schedule(again)
    assert again.script() == s.script()
    assert [i.attrs[0] for i in s.trace.insts if i.kind in ("CacheRead", "TransformLayout")] == [0, 1, 0, 1, 0]


def test_scopes_and_layouts() -> None:
    s = Schedule(OTHER)
    s.set_scope("CD", 0, "shared")
    assert [s.buffer(b).scope for b in "CD"] == ["global", "shared"]
    s.unsafe_set_dtype("CD", 1, "int64")
    assert str(s.buffer("C").dtype) == "int64"
    s.transform_layout("CD", ("read", 1), lambda i: [i // 4, i % 4])
    assert len(s.buffer("A").shape) == 2


def test_a_region_of_each_part() -> None:
    """A buffer is counted once for each region."""
    s = Schedule(TEXT.format("A[vi], A[vi], B[vi]", "C[vi], D[vi]"))
    assert [s.cache_read("CD", k, "local").name for k in (2, 0)] == ["B_local", "A_local"]


def test_what_is_declared_and_not_accessed() -> None:
    s = Schedule(TEXT.format("E[vi], B[vi], A[vi]", "C[vi], D[vi]"))
    with pytest.raises(ScheduleError, match="block CD has no read buffer number 0; it reads B, A"):
        s.cache_read("CD", 0, "local")
    assert s.cache_read("CD", 1, "local").name == "B_local"


STAGED = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    X = T.alloc_buffer((8,), "int32")
    Y = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.sblock("X"):
            X[i] = A[i] + 1
    for i in range(8):
        with T.sblock("Y"):
            Y[i] = B[i] + 1
    for i in range(8):
        with T.sblock("C"):
            T.reads(Y[i], X[i])
            T.writes(C[i])
            C[i] = X[i] + 2 * Y[i]
"""


def test_an_order_that_steps_have_spoiled() -> None:
    s = Schedule(STAGED)
    s.compute_inline("X")
    assert s.cache_read("C", 1, "local").name == "A_local"  # the one that is new stands for the one that went
    s = Schedule(STAGED)
    s.compute_inline("X")
    s.compute_inline("Y")
    with pytest.raises(ScheduleError, match="declared that it reads Y, X, in this order, and it reads A, B now"):
        s.cache_read("C", 0, "local")
    assert s.cache_read("C", "B", "local").name == "B_local"


def test_a_trace_of_tvm() -> None:
    copy = ["CacheRead", ["b0", []], [0, "local"], ["b1"]]
    for text, name in ((OTHER, "B_local"), (SAME, "A_local")):
        s = Schedule(text)
        Trace.apply_json_to_schedule([[["GetSBlock", [], ["CD", "main"], ["b0"]], copy], []], s)
        assert name in {b.name for b in s.buffers}


def test_producers_come_in_the_order_that_is_declared() -> None:
    s = Schedule(STAGED)
    insts = [["GetSBlock", [], ["C", "main"], ["b0"]], ["GetProducers", ["b0"], [], ["b1", "b2"]],
             ["Annotate", ["b1", 1], ["k"], []]]  # fmt: skip
    Trace.apply_json_to_schedule([insts, []], s)
    assert str(s.steps[-1]) == "annotate(Y, k, 1)"
