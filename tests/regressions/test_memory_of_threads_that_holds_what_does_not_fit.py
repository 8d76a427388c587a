"""Where it is asked whether private memory is written before it is read, a store of undef counts as one.

Its value was taken for what a cast would give if it fitted: 1000 for an int8, which no int8 is.  From that everything
follows, and memory moved into the threads although a thread reads what another one has stored.
"""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Schedule, ScheduleError, parse_func
from verified_tir.semantics.interpreter import run

TEXT = """
@T.prim_func
def f(A: T.Buffer((2,), "int8"), n: T.int32):
    T.assume(n > 0)
    t = T.alloc_buffer((2,), "int8", scope="local")
    for i in T.thread_binding(2, thread="threadIdx.x"):
        t[0] = T.Cast("int8", T.float32({x}))
        if T.Select(n > 0, 1, T.Cast("int32", t[0])) > 0:
            if i > 0:
                A[i] = t[{read}]
        t[1] = T.Cast("int8", i + 3)
"""


@pytest.mark.parametrize("x", ["100.0", "1000.0"])
def test_what_another_thread_has_stored_is_not_the_threads_own(x: str) -> None:
    with pytest.raises(ScheduleError, match=r"no iteration of the loop over i, bound to threadIdx\.x, uses t"):
        Schedule(TEXT.format(x=x, read=1))


def test_what_the_thread_has_stored_is() -> None:
    text = TEXT.format(x="100.0", read=0)
    s = Schedule(text)
    given = {"A": np.zeros(2, np.int8), "n": 1}
    assert run(s.func, given).arrays["A"].tolist() == run(parse_func(text), given).arrays["A"].tolist() == [0, 100]
