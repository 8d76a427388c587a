"""With a licence the result is that of some tree over the terms, one and the same wherever it is read.

Small sums and products of nasty values, with branches and copies that depend on the result; a licensed step somewhere
among others, all drawn at random.  Every step is refused, or the outcome is that of one tree.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from tests.nightly import few
from verified_tir import Schedule, ScheduleError
from verified_tir.semantics.interpreter import Outcome, run

F32 = np.float32
NASTY = [F32(v) for v in (1e30, -1e30, 3e38, -0.0, 0.0, np.inf, -np.inf, np.nan, 1e-45, 1e-30, 1.0, -1.0, 2.5)]
PARTS = few(2, 4)
CASES = few(20, 4000)
BLOCKS = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((2,), "float32"),
      D: T.Buffer((1,), "int32")):
    for i, j in T.grid(2, 2):
        with T.block("B"):
            vi, vj = T.axis.remap("RR", [i, j])
            with T.init():
                B[0] = T.float32({first})
            B[0] = B[0] {op} A[vi * 2 + vj]
{after}
"""
LOOPS = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((2,), "float32"),
      D: T.Buffer((1,), "int32")):
    B[0] = T.float32({first})
    for i, j in T.grid(2, 2):
        with T.block("B"):
            B[0] = B[0] {op} A[i * 2 + j]
{after}
"""
SEEN = """
    C[0] = {0}[0]
    if {0}[0] == T.float32(0):
        D[0] = 1
    else:
        if {0}[0] == B[0]:
            D[0] = 2
        else:
            D[0] = 3
    C[1] = B[0]
"""
AFTER = SEEN.format("B")
COPIED = """
    t = T.alloc_buffer((1,), "float32")
    with T.block("t"):
        t[0] = B[0]""" + SEEN.format("t")
GUARDED = """
    if B[0] < T.float32(1):
        C[0] = B[0]
        D[0] = 4
    else:
        C[0] = B[0]
        D[0] = 5
    C[1] = C[0]
"""

Step = Callable[[Schedule], object]
MARKED: list[Step] = [
    lambda s: s.rfactor("i", reassociate="B"),
    lambda s: s.rfactor("j", reassociate="B"),
    lambda s: s.rfactor("i_1", reassociate="B"),
    lambda s: s.reorder("j", "i", reassociate="B"),
    lambda s: s.sequential_buffer_access("A", "B", reassociate="B"),
]
OTHERS: list[Step] = [
    lambda s: s.simplify(),
    lambda s: s.remove_no_op(),
    lambda s: s.compute_inline("t"),
    lambda s: s.cache_write("B", 0, "local"),
    lambda s: s.cache_read("B", "A", "local"),
    lambda s: s.compute_at("B_rf", "i"),
    lambda s: s.split("i", factors=[None, 1]),
    lambda s: s.split("j", factors=[1, None]),
    lambda s: s.fuse("i", "j"),
    lambda s: s.unroll("i"),
    lambda s: s.unroll("j"),
    lambda s: s.decompose_reduction("B", "i"),
    lambda s: s.decompose_reduction("B", "j"),
    lambda s: s.transform_layout("A", lambda k: [k % 2, k // 2]) and None,
]


def results(op: str, terms: list[np.float32]) -> set[bytes]:
    """The bits of all binary trees over all orders of the terms; all NaN are one."""

    @cache
    def of(chosen: frozenset[int]) -> frozenset[bytes]:
        if len(chosen) == 1:
            return frozenset({bits(terms[next(iter(chosen))])})
        found = set()
        for k in range(1, len(chosen) // 2 + 1):
            for part in combinations(sorted(chosen), k):
                for a in of(frozenset(part)):
                    for b in of(chosen - frozenset(part)):
                        x, y = np.frombuffer(a, F32)[0], np.frombuffer(b, F32)[0]
                        found.add(bits(x + y if op == "+" else x * y))
        return frozenset(found)

    with np.errstate(all="ignore"):
        return set(of(frozenset(range(len(terms)))))


def bits(value: np.float32) -> bytes:
    return F32("nan").tobytes() if np.isnan(value) else F32(value).tobytes()


def consistent(out: Outcome, guarded: bool) -> bool:
    """Copies have the bits of the result, and the branch is the one that it decides."""
    result = out.arrays["B"][0]
    if guarded:
        wanted = 4 if result < 1 else 5
    else:
        wanted = 1 if result == 0 else 2 if result == result else 3
    copies = {bits(c) for c in out.arrays["C"]}
    return copies == {bits(result)} and out.arrays["D"][0] == wanted and all(d.all() for d in out.defined.values())


def drawn(seed: int) -> tuple[Schedule, str, float, bool, list[str]]:
    """A schedule, and what happened: the licensed step somewhere among others, each taken or refused."""
    rng = random.Random(seed)
    op = rng.choice("+*")
    first, guarded = rng.choice((0.0, 1.0)), rng.random() < 0.4
    after = GUARDED if guarded else rng.choice((AFTER, COPIED))
    text = rng.choice((BLOCKS, LOOPS)).format(first=first, op=op, after=after)
    s = Schedule(text, cache=False)
    steps = [rng.choice(OTHERS) for _ in range(rng.randrange(3))]
    steps += [rng.choice(MARKED)] + [rng.choice(OTHERS) for _ in range(rng.randrange(4))]
    said = []
    for step in steps:
        try:
            step(s)
            said.append(str(s.steps[-1]))
        except ScheduleError as refused:
            said.append(f"refused: {refused.step}")
    return s, op, first, guarded, said


@pytest.mark.parametrize("part", range(PARTS))
def test_the_result_is_that_of_one_tree(part: int) -> None:
    licensed = 0
    for seed in range(part, CASES, PARTS):
        s, op, first, guarded, said = drawn(seed)
        licensed += bool(s.theorem.reassociated)
        rng = random.Random(seed)
        for _ in range(12):
            a = np.array([rng.choice(NASTY) for _ in range(4)], F32)
            shape = [int(e.value) for e in s.func.buffers[0].shape]  # type: ignore[attr-defined]
            packed = a if len(shape) == 1 else np.ascontiguousarray(a.reshape(2, 2).T)
            given = {"A": packed, "B": np.ones(1, F32), "C": np.ones(2, F32), "D": np.zeros(1, "int32")}
            out = run(s.func, given)
            why = f"seed {seed}: {a.tolist()} gives {out.arrays}\n{said}\n{s.script()}"
            assert consistent(out, guarded), why
            allowed = results(op, [F32(first), *a])
            assert bits(out.arrays["B"][0]) in allowed, why
    assert licensed >= max(1, CASES // 40), "hardly any licence was used"
