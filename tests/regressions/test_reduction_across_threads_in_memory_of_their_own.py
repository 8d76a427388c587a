"""Found by a campaign: a sum across threads was no finding where it is in memory of which each thread has its own.

Scope ``local`` is where TVM wants it to be; and a thread that reads there what another one wrote is no better than
one that does so in global memory.
"""

import pytest

from tests.parts.verdicts import assert_verdict_holds
from verified_tir import parse_func

PROGRAM = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((2, 4), "int32"), C: T.Buffer((4, 2), "int32")):
    B = T.sblock_alloc_buffer((2,), "int32", scope="{scope}")
    for i in range(2):
        for k in T.thread_binding(4, thread="threadIdx.x"):
            with T.sblock("B"):
                vi, vk = T.axis.remap("S{kind}", [i, k])
                {first}
                B[vi] = B[vi] + A[vi, vk]
    {last}
"""
READ = 'for k in T.thread_binding(4, thread="threadIdx.x"):\n        for i in range(2):\n            C[k, i] = B[i]'
SUM = "with T.init():\n                    B[vi] = 0"


def found(**words: str) -> tuple[str, ...]:
    func = parse_func(PROGRAM.format(**words))
    return tuple(f for f in assert_verdict_holds(func, func).findings if f.startswith("before: "))


@pytest.mark.parametrize("scope", ["local", "shared", "global"])
def test_a_sum_across_threads(scope: str) -> None:
    assert found(scope=scope, kind="R", first=SUM, last=READ) == ("before: reduction across threads at B, over k",)


def test_a_value_of_another_thread_and_one_that_is_not() -> None:
    race = "before: race between threads at B between iterations of k"
    assert found(scope="local", kind="S", first="pass", last="pass") == (race,)
    assert found(scope="local", kind="S", first="B[vi] = vk", last="pass") == ()
    assert found(scope="global", kind="S", first="B[vi] = vk", last="pass") == (race,)
