"""``cache_read("D", 0, "local")`` let block D alone read the copy, where TVM lets all blocks that read the buffer.

Traces hold no names of blocks then, so TVM's replay gave another program, and so did the replay of TVM's here.
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule, ScheduleError, Trace

CHAIN = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32"), E: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.sblock("B"):
            B[i] = A[i] + 1
    for i in range(8):
        with T.sblock("D"):
            D[i] = B[i] * 2
{0}    for i in range(8):
        with T.sblock("E"):
            E[i] = B[7 - i] - 3
"""
STORED = '    for i in range(8):\n        with T.sblock("again"):\n            B[i] = A[i] * 3\n'


@pytest.mark.parametrize("block", ["D", "E"])
def test_all_blocks_read_the_copy(block: str) -> None:
    s = Schedule(CHAIN.format(""))
    s.cache_read(block, 0, "local")
    assert "D[i] = B_local[i] * 2" in s.script() and "E[i] = B_local[7 - i] - 3" in s.script()
    assert s.blocks == ["B", "B_local", "D", "E"]
    assert s.trace.insts[-1].inputs == ["b0", []]
    again = Schedule(CHAIN.format(""))
    Trace.apply_json_to_schedule(s.trace.as_json(), again)
    assert again.script() == s.script()


@pytest.mark.parametrize(("block", "other"), ["DE", "ED"])
def test_one_block_reads_the_copy(block: str, other: str) -> None:
    s = Schedule(CHAIN.format(""))
    s.cache_read(block, 0, "local", consumer_blocks=[block])
    _, text = s.script().split(f"    {block}[i] = ")
    assert text.startswith("B_local")
    assert f"{other}[i] = B[" in s.script()
    assert s.trace.insts[-1].inputs == ["b0", ["b0"]]


@pytest.mark.parametrize(("block", "order"), [("D", "B B_local D again E"), ("E", "B D again B_local E")])
def test_what_is_stored_in_between_is_another_value(block: str, order: str) -> None:
    s = Schedule(CHAIN.format(STORED))
    s.cache_read(block, 0, "local")
    assert s.blocks == order.split()
    assert s.script().count("B_local[i]" if block == "D" else "B_local[7 - i]") == 1


def test_a_loop_says_which() -> None:
    s = Schedule(CHAIN.format(""))
    s.cache_read("D", 0, "local", s.get_loops("D")[0])
    assert "E[i] = B[7 - i]" in s.script()


def test_blocks_within_other_blocks_are_not_beside_it() -> None:
    s = Schedule(CHAIN.format(""))
    s.blockize(s.get_loops("E")[0])
    s.cache_read("E", 0, "local")
    assert s.blocks == ["B", "D", "B_local", "E_o", "E"] and "D[i] = B[i]" in s.script()
    s.cache_read("D", 0, "shared")
    assert "B_local[ax0] = B_shared[ax0]" in s.script() and "D[i] = B_shared[i]" in s.script()


def test_a_refusal_says_how_to_name_one_block() -> None:
    """What the call does is not known: it may change what E reads."""
    call = '    T.evaluate(T.call_extern("int32", "f", B.data))\n'
    s = Schedule(CHAIN.format(call))
    with pytest.raises(ScheduleError, match="consumer_blocks says which blocks are to"):
        s.cache_read("D", 0, "local")
    s.cache_read("D", 0, "local", consumer_blocks="D")
    assert s.blocks == ["B", "B_local", "D", "E"]
