"""Handles mean the same loops as in TVM: after each step of the same schedule, here and there."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
import tvm

from tests.interop_tvm.programs import function
from tests.nightly import few
from verified_tir import Schedule
from verified_tir.ir.stmt import Block
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.session import TacticFailed

CHAIN = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 12), "int32"), C: T.Buffer((8, 6), "int32"), Bm: T.Buffer((12, 6), "int32"), E: T.Buffer((8, 6), "int32")):
    S = T.sblock_alloc_buffer((8, 12), "int32")
    P = T.sblock_alloc_buffer((8, 6), "int32")
    for i, j in T.grid(8, 12):
        with T.sblock("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = A[vi, vj] + 1
    for i, j, k in T.grid(8, 6, 12):
        with T.sblock("P"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                P[vi, vj] = 0
            P[vi, vj] = P[vi, vj] + S[vi, vk] * Bm[vk, vj]
    for i, j in T.grid(8, 6):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = P[vi, vj] * 2
    for i, j in T.grid(8, 6):
        with T.sblock("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = C[vi, vj] - P[vi, vj]
"""  # noqa: E501
SHARED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 4, 6), "int32"), B: T.Buffer((4,), "int32"), D: T.Buffer((4, 6), "int32")):
    for i in range(4):
        for j, k in T.grid(4, 6):
            with T.sblock("B"):
                vi, vj, vk = T.axis.remap("SRR", [i, j, k])
                with T.init():
                    B[vi] = 0
                B[vi] = B[vi] + A[vi, vj, vk]
        for j in range(6):
            with T.sblock("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = A[vi, 0, vj] * 5
"""
SUM = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 8, 6), "int32"), B: T.Buffer((4,), "int32")):
    for i, k, l in T.grid(4, 8, 6):
        with T.sblock("B"):
            vi, vk, vl = T.axis.remap("SRR", [i, k, l])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk, vl]
"""
REFUSED = (RuntimeError, ValueError, IndexError)
"""What TVM raises where it refuses a step, or a handle is no longer good."""
KINDS = ("serial", "parallel", "vectorized", "unrolled", "thread_binding")

Loop = tuple[int, str, tuple[str, ...]]
"""The extent of a loop, its kind, and the blocks in it."""


class Both:
    """A program scheduled here and in TVM, with pairs of handles."""

    def __init__(self, program: str) -> None:
        self.there = tvm.s_tir.Schedule(tvm.IRModule({"main": function(program)}))
        self.here = Schedule(program)
        self.here._session.handles_of_tvm = True  # as in a trace
        self.handles: list[tuple[Any, Any]] = []
        self.blocks = [(b, b) for b in self.here.blocks]
        self.look()

    def look(self) -> None:
        """Take handles of the loops of all blocks that both have."""
        for block in self.blocks:
            pairs = self.loops(block)
            self.handles += [p for p in pairs if p not in self.handles]

    def loops(self, block: tuple[str, str]) -> list[tuple[Any, Any]]:
        """The loops of a block; none where it is gone, or has others."""
        try:
            there, here = self.there.get_loops(self.there.get_sblock(block[0])), self.here.get_loops(block[1])
        except (*REFUSED, ScheduleError):
            return []
        return list(zip(there, here, strict=True)) if len(there) == len(here) else []

    def step(self, name: str, *arguments: tuple[Any, Any]) -> tuple[Any, Any] | None:
        """The same step here and there; ``None`` where it is refused here."""
        there, here = zip(*arguments, strict=True) if arguments else ((), ())
        try:
            made = getattr(self.here, name)(*here)
        except ScheduleError:
            return None
        return getattr(self.there, name)(*there), made

    def differences(self) -> list[tuple[Loop, Loop]]:
        """The loops of which a pair of handles means other ones; a handle may be gone in one of the two."""
        pairs = [(self.loop_there(a), self.loop_here(b)) for a, b in self.handles]
        return [(a, b) for a, b in pairs if a is not None and b is not None and a != b]

    def loop_there(self, handle: Any) -> Loop | None:
        try:
            loop = self.there.get(handle)
        except REFUSED:
            return None
        blocks: list[str] = re.findall(r'with T.sblock\("(\w+)"\)', loop.script())
        return int(loop.extent), KINDS[int(loop.kind)], tuple(sorted(map(canonical, blocks)))

    def loop_here(self, handle: Any) -> Loop | None:
        try:
            path, loop = self.here._session.loop(handle)
        except TacticFailed:
            return None
        blocks = [b.name for _, b in self.here._session.find(Block, under=path)]
        extent: Any = loop.extent
        return extent.value, loop.kind, tuple(sorted(map(canonical, blocks)))


def canonical(block: str) -> str:
    """The name of a block, here and there."""
    return block.removesuffix("_update").removesuffix("_back")


# -- single steps ------------------------------------------------------------------------------------------------------


def marked(both: Both, name: str, k: int) -> None:
    assert both.step(name, both.handles[k])


def split(both: Both, k: int, factors: list[int | None]) -> None:
    made = both.step("split", both.handles[k], (factors, factors))
    assert made is not None
    both.handles += zip(*made, strict=True)


@pytest.mark.parametrize(
    "before",
    [
        lambda both: None,
        lambda both: marked(both, "parallel", 0),
        lambda both: marked(both, "unroll", 0),
        lambda both: marked(both, "unroll", 2),
        lambda both: both.step("bind", both.handles[0], ("blockIdx.x", "blockIdx.x")),
        lambda both: both.step("reorder", both.handles[1], both.handles[0]),
        lambda both: split(both, 0, [2, 2]),
        lambda both: split(both, 0, [3, 2]),
        lambda both: split(both, 2, [None, 3]),
    ],
)
def test_handles_after_rfactor(before: Callable[[Both], object]) -> None:
    both = Both(SUM)
    before(both)
    assert both.step("rfactor", both.handles[1], (0, 0))
    both.blocks.append(("B_rf", "B_rf"))
    both.look()
    assert both.differences() == []
    marked(both, "unroll", 1)
    assert both.loop_here(both.handles[1][1]) == both.loop_there(both.handles[1][0]) == (8, "unrolled", ("B",))
    assert both.differences() == []


@pytest.mark.parametrize("kind", ["parallel", "unroll", "vectorize"])
def test_a_fused_loop_is_serial_there_too(kind: str) -> None:
    both = Both(SHARED)
    loop = both.loops(("D", "D"))[1]
    assert both.step(kind, loop)
    fused = both.step("fuse", loop)
    assert fused is not None
    both.handles.append(fused)
    assert both.differences() == []


def test_a_copy_is_moved_without_what_reads_it() -> None:
    both = Both(CHAIN)
    copy = both.step("cache_read", ("E", "E"), (0, 0), ("local", "local"))
    assert copy is not None
    assert both.step("reverse_compute_at", copy, both.loops(("C", "C"))[0])
    both.look()
    assert both.differences() == []
    assert both.loop_here(both.loops(("C", "C"))[0][1]) == (8, "serial", ("C", "C_local"))


def test_a_result_that_is_written_at_once_stays_in_the_nest_that_it_shares() -> None:
    both = Both(SHARED)
    assert both.step("cache_write", ("D", "D"), (0, 0), ("local", "local"))
    assert both.step("reverse_compute_inline", ("D_local", "D_local_back"))
    assert both.differences() == []
    assert both.loop_here(both.handles[0][1]) == (4, "serial", ("B", "D"))


DECLARED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 4), "int32"), C: T.Buffer((4,), "int32")):
    for i, j in T.grid(8, 4):
        with T.sblock("C"):
            {axes}
            with T.init():
                C[vj] = 0
            C[vj] = C[vj] + A[vi, vj]
"""


@pytest.mark.parametrize("axes", ['vj, vi = T.axis.remap("SR", [j, i])', 'vi, vj = T.axis.remap("RS", [i, j])'])
@pytest.mark.parametrize("rfactored", [False, True])
def test_copies_are_indexed_as_there(axes: str, rfactored: bool) -> None:
    both = Both(DECLARED.format(axes=axes))
    blocks = ["C"]
    if rfactored:
        split(both, 0, [2, 4])
        assert both.step("rfactor", both.handles[2], (0, 0))
        blocks.append("C_rf")
    for block in blocks:
        assert both.step("reindex", (block, block), (("read", 0), ("read", 0)))
    there = {
        b.name.replace(".", "_"): [int(e) for e in b.shape]
        for b in both.there.get(both.there.get_sblock("root")).alloc_buffers
    }
    here = {b.name: [e.value for e in b.shape] for b in both.here.buffers if b.name not in ("A", "C")}  # type: ignore[attr-defined]
    assert here == there


# -- random steps ------------------------------------------------------------------------------------------------------

STEPS = [
    "split", "split", "fuse", "reorder", "cache_read", "cache_write", "compute_at", "reverse_compute_at",
    "decompose_reduction", "merge", "add_unit_loop", "compute_inline", "reverse_compute_inline", "parallel", "unroll",
    "rfactor",
]  # fmt: skip


def some_step(both: Both, draw: random.Random) -> tuple[str, Any] | None:
    """A step that both took, with what it was about; ``None`` if it is refused here."""
    name, block = draw.choice(STEPS), draw.choice(both.blocks)
    loops = both.loops(block)
    if not loops:
        return None
    k = draw.randrange(len(loops))
    some: Any = draw.choice(both.handles)
    made: Any = None
    if name == "split":
        size = draw.choice([2, 3, 4])
        factors = draw.choice([[size, None], [None, size]])
        made = both.step(name, draw.choice([loops[k], some]), (factors, factors))
    elif name == "fuse":
        made = both.step(name, *loops[k : draw.randrange(k, len(loops)) + 1])
        made = made and ([made[0]], [made[1]])
    elif name == "reorder":
        made = both.step(name, *draw.sample(loops, draw.randrange(1, len(loops) + 1)))
    elif name in ("cache_read", "cache_write"):
        made = both.step(name, block, (0, 0), ("local", "local"))
        if made is not None:
            suffix = "_back" if name == "cache_write" else ""
            both.blocks.append((both.there.get(made[0]).name_hint, made[1].name + suffix))
    elif name in ("compute_at", "reverse_compute_at"):
        made = both.step(name, block, some, (True, True))
    elif name == "rfactor" and both.loop_here(loops[0][1])[2] != (block[0],):  # type: ignore[index]
        return None  # a reduction that shares loops stays in them here, with its partial results
    elif name in ("decompose_reduction", "rfactor"):
        made = both.step(name, *((block, loops[k]) if name != "rfactor" else (loops[k], (0, 0))))
        if made is not None:
            both.blocks.append((both.there.get(made[0]).name_hint, made[1]))
        if made is not None and name != "rfactor":
            both.blocks[both.blocks.index(block)] = (f"{block[0]}_update", block[1])
    elif name == "merge":
        made = both.step(name, some, draw.choice(both.handles))
    elif name in ("compute_inline", "reverse_compute_inline"):
        made = both.step(name, block)
    else:
        made = both.step(name, loops[k])
    if isinstance(made, tuple) and isinstance(made[1], list):
        assert len(made[0]) == len(made[1])
        both.handles += zip(*made, strict=True)
    return (name, (block, k)) if made is not None else None


@pytest.mark.parametrize("seed", range(few(4, 200)))
def test_handles_after_random_steps(seed: int) -> None:
    draw = random.Random(seed)
    for program in (CHAIN, SHARED, SUM):
        both = Both(program)
        taken: list[Any] = []
        for _ in range(8):
            try:
                step = some_step(both, draw)
            except REFUSED:  # what TVM does not take; its program may be half changed
                break
            taken.append(step)
            assert both.differences() == [], (taken, both.here.script(), both.there.mod["main"].script())
            both.look()
