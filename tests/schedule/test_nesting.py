"""Programs that nest more deeply than Python lets them be walked are refused, with what to do."""

from __future__ import annotations

import sys

import pytest

from verified_tir import NotApplicable, Schedule, parse_func
from verified_tir.lower import UnrollLoop
from verified_tir.schedule.nesting import depth, walked

HEAD = '@T.prim_func\ndef f(A: T.Buffer((8,), "int32")):\n'
FORMS = {
    "lets": lambda n: "".join(f"    x{k}: T.int32 = A[{k % 8}]\n" for k in range(n)) + f"    A[0] = x0 + x{n - 1}\n",
    "allocations": lambda n: (
        "".join(f'    L{k} = T.alloc_buffer((1,), "int32")\n' for k in range(n)) + "    A[0] = 1\n"
    ),
}


def test_depth() -> None:
    assert depth(parse_func(HEAD + "    A[0] = 1").body) == 3
    assert depth(parse_func(HEAD + "    for i in range(2):\n        A[i] = 1 + (A[i] + 2)").body) == 7


@pytest.mark.nightly
@pytest.mark.parametrize("form", FORMS)
def test_a_program_that_nests_too_deeply(form: str) -> None:
    text = HEAD + FORMS[form](400)
    with pytest.raises(NotApplicable, match=r"nests 40\d levels deep.*sys\.setrecursionlimit\(6\d\d\d\)") as found:
        Schedule(text)
    assert "the program itself" in str(found.value)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(6500)
    try:
        s = Schedule(text)
        (UnrollLoop() >> UnrollLoop()).run(s)
    finally:
        sys.setrecursionlimit(limit)
    with pytest.raises(NotApplicable, match=r"simplify\(\): the program nests"), walked("simplify()", s.func):
        raise RecursionError


def test_a_function_that_calls_itself_without_end_is_another_matter() -> None:
    with pytest.raises(RecursionError), walked("step", parse_func(HEAD + "    A[0] = 1")):
        raise RecursionError
