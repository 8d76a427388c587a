"""Races were compared by the name of the memory that they are at.  One that only *after* has was not new if *before*
had one at another block of the same name: an allocation that is called like a parameter of *after*, or another
allocation of the same name.  Parameters correspond by position, and a race at one that has another name was new."""

from __future__ import annotations

import pickle

import pytest

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.validate import Equal, validate
from verified_tir.validate.pairs import Budget, judge
from verified_tir.validate.validator import Report
from verified_tir.validate.verdict import new_races, unplaced

ALLOCATED = "C = T.alloc_buffer((1,), 'float32')\nfor i in T.parallel(8):\n    C[0] = A[i]"
LAST = "for i in {}(8):\n    {}[0] = A[i]"


def program(body: str, result: str = "B") -> PrimFunc:
    head = f'@T.prim_func\ndef f(A: T.Buffer((8,), "float32"), {result}: T.Buffer((8,), "float32")):\n'
    return parse_func(head + "\n".join("    " + line for line in body.split("\n")))


def judged(before: PrimFunc, after: PrimFunc) -> Report:
    report = validate(before, after)
    assert isinstance(report.verdict, Equal)
    again = pickle.loads(pickle.dumps(judge("f", before, after, {}, Budget())))
    assert new_races(again.findings) == report.new_races
    return report


def test_an_allocation_excuses_no_parameter() -> None:
    before = program(f"{ALLOCATED}\n{LAST.format('range', 'B')}")
    race = "after: race at C between iterations of i"
    assert judged(before, program(LAST.format("T.parallel", "C"), "C")).new_races == (race,)
    both = program(f"{ALLOCATED}\n{LAST.format('T.parallel', 'B')}")
    assert judged(before, both).new_races == (race.replace("C", "B"),)
    assert judged(before, before).new_races == ()


def test_a_parameter_excuses_no_allocation() -> None:
    before = program(LAST.format("T.parallel", "C"), "C")
    after = program(f"{ALLOCATED}\n{LAST.format('T.parallel', 'B')}")
    assert judged(before, after).new_races == ("after: race at C between iterations of i",)


def test_parameters_correspond_by_position() -> None:
    racing = [program(LAST.format("T.parallel", name), name) for name in "BC"]
    assert len(judged(*racing).findings) == 2 and judged(*racing).new_races == ()
    assert judged(*racing[::-1]).new_races == ()


TWO = """\
for k in range(2):
    C = T.alloc_buffer((1,), "float32")
    for i in {}(8):
        C[0] = A[i]
    B[k] = C[0]
for k in range(2):
    C = T.alloc_buffer((1,), "float32")
    for i in {}(8):
        C[0] = A[i]
    B[k + 2] = C[0]"""


@pytest.mark.parametrize(("first", "second"), [("T.parallel", "range"), ("range", "T.parallel")])
def test_allocations_of_one_name_are_told_apart(first: str, second: str) -> None:
    one, both = program(TWO.format(first, second)), program(TWO.format("T.parallel", "T.parallel"))
    other = "C#2" if second == "range" else "C"
    assert judged(one, both).new_races == (f"after: race at {other} between iterations of i",)
    assert judged(both, one).new_races == () == judged(both, both).new_races
    assert len(judged(both, both).findings) == 4


STRAY = """\
y = T.alloc_buffer((1,), "float32", scope="local")
y[0] = A[{0}]
for tx in T.thread_binding(4, thread="threadIdx.x"):
    B[tx + {0}] = y[0]"""
PLACED = """\
y = T.alloc_buffer((1,), "float32", scope="local")
for tx in T.thread_binding(4, thread="threadIdx.x"):
    y[0] = A[{0}]
    B[tx + {0}] = y[0]"""


@pytest.mark.parametrize("first", [STRAY, PLACED])
def test_memory_of_threads_by_name(first: str) -> None:
    """Another allocation of the name is used outside of the loops over threads already: that excuses nothing."""
    second = PLACED if first is STRAY else STRAY
    one, both = (program(f"{a.format(0)}\n{b.format(4)}") for a, b in ((first, second), (STRAY, STRAY)))
    (found,) = unplaced(judged(one, both).findings)
    assert found.startswith(f"after: memory of each thread at {'y#2' if first is STRAY else 'y'} is used outside")
    assert unplaced(judged(both, both).findings) == () == unplaced(judged(both, one).findings)
