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
COMBINED: dict[str, Callable[[np.float32, np.float32], np.float32]] = {
    "+": lambda x, y: x + y,
    "*": lambda x, y: x * y,
    "min": lambda x, y: x if x < y else y,
    "max": lambda x, y: x if x > y else y,
}
"""As the language has them: of two zeros a minimum is the second."""
NASTY = [F32(v) for v in (1e30, -1e30, 3e38, -0.0, 0.0, np.inf, -np.inf, np.nan, 1e-45, 1e-30, 1.0, -1.0, 2.5)]
PARTS = few(2, 4)
CASES = few(20, 4000)
BLOCKS = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((2,), "float32"),
      D: T.Buffer((1,), "int32")):
{assumed}    for i, j in T.grid(2, 2):
        with T.block("B"):
            vi, vj = T.axis.remap("RR", [i, j])
            with T.init():
                B[0] = T.float32({first})
            B[0] = {update}
{after}
"""
LOOPS = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((2,), "float32"),
      D: T.Buffer((1,), "int32")):
{assumed}    B[0] = T.float32({first})
    for i, j in T.grid(2, 2):
        with T.block("B"):
            B[0] = {update}
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
ZERO = """
    C[0] = B[0] + T.float32(0)
    if B[0] == T.float32(0):
        D[0] = 1
    else:
        D[0] = 2
    C[1] = C[0]
"""
"""What is stored to C is not -0.0 in any order."""
NO_NAN = """    for k in range(4):
        T.assume(A[k] == A[k])
"""
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
                        found.add(bits(COMBINED[op](x, y)))
        return frozenset(found)

    with np.errstate(all="ignore"):
        return set(of(frozenset(range(len(terms)))))


def bits(value: np.float32) -> bytes:
    return F32("nan").tobytes() if np.isnan(value) else F32(value).tobytes()


def consistent(out: Outcome, after: str) -> bool:
    """Copies have the bits of the result, and the branch is the one that it decides."""
    result = out.arrays["B"][0]
    if after is GUARDED:
        wanted = 4 if result < 1 else 5
    else:
        wanted = 1 if result == 0 else 2 if after is ZERO or result == result else 3
    copies = {bits(c) for c in out.arrays["C"]}
    return (
        copies == {bits(result + F32(0) if after is ZERO else result)}
        and out.arrays["D"][0] == wanted
        and all(d.all() for d in out.defined.values())
    )


def drawn(seed: int) -> tuple[Schedule, str, float, str, list[str]]:
    """A schedule, and what happened: the licensed step somewhere among others, each taken or refused."""
    rng = random.Random(seed)
    op = rng.choice([*COMBINED])
    first, after = rng.choice((0.0, 1.0)), GUARDED if rng.random() < 0.4 else rng.choice((AFTER, COPIED, ZERO))
    program = rng.choice((BLOCKS, LOOPS))
    term = "A[vi * 2 + vj]" if program is BLOCKS else "A[i * 2 + j]"
    choice = op in ("min", "max")
    update = f"T.{op}(B[0], {term})" if choice else f"B[0] {op} {term}"
    text = program.format(first=first, update=update, after=after, assumed=NO_NAN if choice else "")
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
    return s, op, first, after, said


@pytest.mark.parametrize("part", range(PARTS))
def test_the_result_is_that_of_one_tree(part: int) -> None:
    licensed = 0
    for seed in range(part, CASES, PARTS):
        s, op, first, after, said = drawn(seed)
        licensed += bool(s.theorem.reassociated)
        rng = random.Random(seed)
        for _ in range(12):
            a = np.array([rng.choice(NASTY) for _ in range(4)], F32)
            if op in ("min", "max"):
                a[np.isnan(a)] = -0.0
            shape = [int(e.value) for e in s.func.buffers[0].shape]  # type: ignore[attr-defined]
            packed = a if len(shape) == 1 else np.ascontiguousarray(a.reshape(2, 2).T)
            given = {"A": packed, "B": np.ones(1, F32), "C": np.ones(2, F32), "D": np.zeros(1, "int32")}
            out = run(s.func, given)
            why = f"seed {seed}: {a.tolist()} gives {out.arrays}\n{said}\n{s.script()}"
            assert consistent(out, after), why
            allowed = results(op, [F32(first), *a])
            assert bits(out.arrays["B"][0]) in allowed, why
    assert licensed >= max(1, CASES // 40), "hardly any licence was used"
