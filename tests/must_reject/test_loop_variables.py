"""Must reject 18: rewritten loops whose statements keep a variable that no loop binds any more.

RFC 77's producer stores ``1000 + i`` and, once its loop follows the padded layout, still does, though ``i`` is gone
("Explicitly write next operator's desired default").  Such a text is refused where it is read, and no rule makes one.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.must_reject.support import accepted
from verified_tir import NotApplicable, Schedule
from verified_tir.ir.script import ScriptError, parse
from verified_tir.ir.stmt import For

PRODUCER = """
@T.prim_func
def producer(A: T.Buffer((14,), "int32")):
    for i in range(14):
        A[i] = 1000 + i
"""

AS_DISPLAYED = """
@T.prim_func
def producer(A: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            A[io, ii] = 1000 + i
"""


def test_18_a_variable_that_no_loop_binds_is_refused_by_the_parser() -> None:
    with pytest.raises(ScriptError, match="unknown name i") as refused:
        parse(AS_DISPLAYED)
    assert "1000 + i" in str(refused.value)


def test_18_a_variable_out_of_its_loop_is_refused_by_the_parser() -> None:
    text = PRODUCER + "    A[0] = i\n"
    with pytest.raises(ScriptError):
        parse(text)


def test_18_a_node_with_a_free_variable_is_refused_by_the_schedule() -> None:
    f = Schedule(PRODUCER).func
    loop = f.body
    assert isinstance(loop, For)
    with pytest.raises(NotApplicable, match="variable i is not in scope here"):
        Schedule(f.with_body(loop.body))


def test_18_the_value_follows_the_loop() -> None:
    def steps(s: Schedule) -> None:
        s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0)
        s.sequential_buffer_access("A")

    s = accepted(PRODUCER, steps)
    assert "A[i_0, i_1] = 1000 + (4 * i_0 + i_1)" in s.script()


def test_18_the_value_follows_the_loop_bit_for_bit() -> None:
    accepted(PRODUCER, lambda s: s.split("i", [None, 4]), A=np.zeros(14, np.int32))
