"""Marked loops run as they are marked: iterations take turns, and no accepted schedule shows it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.acceptance.book import book
from tests.acceptance.textbook import Textbook, arguments
from tests.nightly import WHOLE, sample
from verified_tir import Schedule, ScheduleError
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import For
from verified_tir.ir.visit import walk
from verified_tir.kernel.race_free import MARKED
from verified_tir.semantics.interpreter import UndefinedBehaviour, run
from verified_tir.semantics.interpreter.outcome import same_bits

SEEDS = range(3)
LONGEST = 100_000 if WHOLE else 20_000
"""Steps of a run of the interpreter: what takes more is left out."""


def marked(node: Node) -> bool:
    return any(isinstance(n, For) and n.kind in MARKED for n in walk(node))


def results(func: PrimFunc, **arrays: np.ndarray) -> set[object]:
    """What the serial run and several others leave in memory, or how they end."""
    found: set[object] = set()
    for seed in (None, *range(20)):
        try:
            outcome = run(func, arrays, interleaved=seed)
            found.add(tuple(a.tobytes() + outcome.defined[n].tobytes() for n, a in outcome.arrays.items()))
        except UndefinedBehaviour as end:
            found.add(end.kind)
    return found


def program(body: str, params: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return parse_func(f"@T.prim_func\ndef f({params}):\n{lines}\n")


TWO = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")'
ONE_CELL = """
for t in T.thread_binding(8, thread="threadIdx.x"):
    X = T.alloc_buffer((1,), "float32", scope="{scope}")
    {declared}{name}[0] = A[t]
    B[t] = {name}[0]
"""
VIEW = 'V = T.decl_buffer((1,), "float32", data=X.data)\n    '
ADDED_UP = "for i in T.parallel(8):\n    B[0] = B[0] + A[i]"
SHIFTED = "for i in T.{kind}(7):\n    B[i{to}] = B[i{of}] + A[i]"
PASSED_ON = "for i in T.vectorized(7):\n    B[i + 1] = B[i]"

CASES = [
    (ONE_CELL.format(scope="shared", declared="", name="X"), False),
    (ONE_CELL.format(scope="shared", declared=VIEW, name="V"), False),
    (ONE_CELL.format(scope="shared.dyn", declared=VIEW, name="V"), False),
    (ONE_CELL.format(scope="warp", declared=VIEW, name="V"), False),
    (ONE_CELL.format(scope="local", declared="", name="X"), True),
    (ONE_CELL.format(scope="local", declared=VIEW, name="V"), True),
    (ONE_CELL.format(scope="local", declared="", name="X").replace("threadIdx", "blockIdx"), True),
    (ONE_CELL.format(scope="shared", declared=VIEW, name="V").replace("threadIdx", "blockIdx"), True),
    (ADDED_UP, False),
    (SHIFTED.format(kind="parallel", to=" + 1", of=""), False),
    (SHIFTED.format(kind="vectorized", to=" + 1", of=""), False),
    (SHIFTED.format(kind="parallel", to="", of=""), True),
    (SHIFTED.format(kind="vectorized", to="", of=""), True),
    (
        'V = T.decl_buffer((8,), "float32", data=B.data)\n' + "for i in T.parallel(7):\n    V[i + 1] = B[i] + A[i]",
        False,
    ),
    ('V = T.decl_buffer((8,), "float32", data=B.data)\n' + "for i in T.vectorized(7):\n    V[i] = B[i] + A[i]", True),
    (
        'V = T.decl_buffer((4,), "float32", data=B.data, elem_offset=4)\n'
        "for i in T.parallel(4):\n    V[i] = B[i]",
        True,
    ),
    (
        'V = T.decl_buffer((4,), "float32", data=B.data, elem_offset=3)\n'
        "for i in T.parallel(4):\n    V[i] = B[i]",
        False,
    ),
]  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize(("body", "fine"), CASES, ids=range(len(CASES)))
def test_what_is_refused_shows_in_some_order_and_what_is_accepted_in_none(body: str, fine: bool) -> None:
    func = program(body, TWO)
    a, b = np.arange(1, 9, dtype="float32"), np.arange(9, 17, dtype="float32") * np.float32(1e7)
    assert (len(results(func, A=a, B=b)) == 1) == fine
    if fine:
        Schedule(func, cache=False)
    else:
        with pytest.raises(ScheduleError, match=r"no (two iterations|iteration) of the"):
            Schedule(func, cache=False)


def test_lanes_load_before_they_store() -> None:
    """A vector is loaded whole: where the serial loop would hand on what the lane before it stored."""
    func = program(PASSED_ON, TWO)
    arrays = {"A": np.zeros(8, "float32"), "B": np.arange(8, dtype="float32")}
    assert run(func, arrays, interleaved=1).arrays["B"].tolist() == [0, 0, 1, 2, 3, 4, 5, 6]
    assert run(func, arrays).arrays["B"].tolist() == [0] * 8


def test_nested_loops_and_failures() -> None:
    func = program(
        """
for i in T.parallel(12):
    for j in T.parallel(12):
        for k in T.vectorized(4):
            C[i, j, k] = C[i, j, k] + 1.0
        for k in range(2):
            D[i, j] = D[i, j] + C[i, j, k]
""",
        'C: T.Buffer((12, 12, 4), "float32"), D: T.Buffer((12, 12), "float32")',
    )
    c, d = np.ones((12, 12, 4), "float32"), np.zeros((12, 12), "float32")
    out = run(func, {"C": c, "D": d}, interleaved=3)
    assert (out.arrays["C"] == 2).all() and (out.arrays["D"] == 4).all()
    bad = program("for i in T.parallel(8):\n    for j in T.parallel(4):\n        B[i * 4 + j] = A[0]", TWO)
    with pytest.raises(UndefinedBehaviour, match="outside its shape"):
        run(bad, {"A": np.ones(8, "float32"), "B": np.ones(8, "float32")}, interleaved=0)


@pytest.mark.parametrize("entry", sample(book(), 6, 5), ids=lambda b: b.id)
def test_accepted_schedules_give_the_same_bits(entry: Textbook) -> None:
    s = Schedule(entry.program, cache=False)
    try:
        entry.function(s)
    except ScheduleError:
        pytest.skip("a step is refused today")
    if not marked(s.func.body) or s.theorem.relation:
        return
    given = arguments(entry, np.random.default_rng(3), specials=True)
    serial = run(s.func, given)
    if serial.steps > LONGEST:
        return
    for seed in SEEDS:
        turns = run(s.func, given, interleaved=seed)
        for name, array in serial.arrays.items():
            assert (turns.defined[name] == serial.defined[name]).all()
            assert (same_bits(array, turns.arrays[name]) | ~serial.defined[name]).all(), f"{name}\n{s.script()}"
