"""Memory that threads do not share is allocated in their loops, wherever the text declares it."""

from __future__ import annotations

import pytest

from verified_tir import Refuted, Schedule

HEAD = '@T.prim_func\ndef f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):\n'
OWN = """
    x = T.alloc_buffer((1,), "float32", scope="{scope}")
    for i in T.thread_binding(4, thread="{outer}"):
        for j in T.thread_binding(4, thread="{inner}"):
            x[0] = A[i, j]
            B[i, j] = x[0] + x[0]
"""


def printed(text: str) -> str:
    return Schedule(HEAD + text).script().partition("):\n")[2]


def own(scope: str, outer: str = "blockIdx.x", inner: str = "threadIdx.x") -> str:
    return printed(OWN.format(scope=scope, outer=outer, inner=inner))


def test_local_memory_is_each_thread_s() -> None:
    lines = own("local").splitlines()
    assert [line.strip()[:9] for line in lines[:3]] == ["for i in ", "for j in ", "x = T.all"]
    assert own("local", "threadIdx.y").splitlines()[2] == lines[2]


def test_shared_memory_is_each_block_s() -> None:
    with pytest.raises(Refuted, match=r"no two iterations of the .* write the same element of x"):
        own("shared")  # all threads of a block meet there
    lines = own("shared", "blockIdx.y", "blockIdx.x").splitlines()
    assert "alloc" in lines[2]


def test_views_are_declared_with_their_memory() -> None:
    text = OWN.format(scope="local", outer="blockIdx.x", inner="threadIdx.x").replace("x[0] +", "v[0] +")
    text = text.replace(
        "    for i in", '    v = T.decl_buffer((1,), "float32", data=x.data, scope="local")\n    for i in'
    )
    lines = [line.strip()[:9] for line in printed(text).splitlines()]
    assert lines[:4] == ["for i in ", "for j in ", "x = T.all", "v = T.dec"]


def test_other_memory_and_other_loops_stay() -> None:
    with pytest.raises(Refuted, match="write the same element of x"):
        own("global")
    serial = OWN.replace('T.thread_binding(4, thread="{outer}")', "range(4)")
    serial = serial.replace('T.thread_binding(4, thread="{inner}")', "range(4)")
    assert printed(serial.format(scope="local")).startswith("    x = T.alloc_buffer")


@pytest.mark.parametrize(
    "text",
    [
        # used behind the loop, too
        OWN.format(scope="local", outer="blockIdx.x", inner="threadIdx.x") + "    B[0, 0] = x[0]\n",
        # in two loops
        OWN.format(scope="local", outer="blockIdx.x", inner="threadIdx.x")
        + "    for k in T.thread_binding(4, thread='blockIdx.x'):\n        x[0] = A[k, 0]\n        B[k, 0] = x[0]\n",
    ],
    ids=["behind", "two loops"],
)
def test_what_others_use_is_refused(text: str) -> None:
    with pytest.raises(Refuted, match="uses x of scope local from outside"):
        Schedule(HEAD + text)


EARLIER = """
    x = T.alloc_buffer((1,), "int32", scope="local")
    for i in T.thread_binding(4, thread="threadIdx.x"):
        if i > 0:
            B[i, 0] = T.Cast("float32", x[0])
        {store}
"""


def test_what_another_iteration_stored_keeps_memory_outside() -> None:
    """The text means that B[1, 0] is what the first thread stored, which threads do not see."""
    with pytest.raises(Refuted, match="uses x of scope local from outside"):
        Schedule(HEAD + EARLIER.format(store="x[0] = 1"))


def test_allocations_of_blocks_and_of_called_functions_move_too() -> None:
    blocks = """
    with T.sblock("root"):
        T.reads()
        T.writes()
        y = T.sblock_alloc_buffer((4,), "float32", scope="shared")
        x = T.sblock_alloc_buffer((1,), "float32", scope="local")
        for i in T.thread_binding(4, thread="blockIdx.x"):
            for j in range(4):
                with T.sblock("copy"):
                    v = T.axis.spatial(4, j)
                    y[v] = A[i, v]
            for j in T.thread_binding(4, thread="threadIdx.x"):
                with T.sblock("first"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    x[0] = y[vj]
                with T.sblock("second"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = x[0]
"""
    lines = [line.strip() for line in printed(blocks).splitlines()]
    assert lines.index('y = T.alloc_buffer((4,), "float32", scope="shared")') == 2
    assert lines.index('x = T.alloc_buffer((1,), "float32", scope="local")') > lines.index(
        'for j in T.thread_binding(4, thread="threadIdx.x"):'
    )
