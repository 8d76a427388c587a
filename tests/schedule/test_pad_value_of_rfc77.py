"""Padding functions as RFC 77 writes them: they name the buffer, and read it at indices of the new layout."""

from __future__ import annotations

from typing import Any

import pytest

from verified_tir import NotApplicable, Schedule, script, te

FOURTEEN = """
@T.prim_func
def func(A: T.Buffer((14,), "int32"), C: T.Buffer((14,), "int32")):
    B = T.alloc_buffer((14,), "int32")
    for i in range(14):
        with T.block("B"):
            B[i] = A[i] + 1
    for i in range(14):
        with T.block("C"):
            C[i] = B[i] * 2
"""
transform = lambda i: [i // 4, i % 4]  # noqa: E731

WRITTEN = """\
    for io, ii in T.grid(4, 4):
        with T.sblock("B_padding"):
            if io == 3 and ii >= 2:
                B[io, ii] = B[0, (io - 14) % 4]"""


def test_the_call_of_the_rfc() -> None:
    sched = Schedule(FOURTEEN)
    B = sched.buffer("B")
    sched.transform_layout(B, transform, pad_value=lambda io,ii: B[0, (io-14)%4])  # fmt: skip
    assert WRITTEN in sched.script()


def test_the_call_of_the_rfc_in_tensor_expressions() -> None:
    A = te.placeholder((14,), "int32", name="A")
    B = te.compute((14,), lambda i: A[i] + 1, name="B")
    C = te.compute((14,), lambda i: B[i] * 2, name="C")
    sched = te.create_schedule(C.op)
    sched[B].transform_layout(transform, pad_value=lambda io,ii: B[0, (io-14)%4])  # fmt: skip
    assert WRITTEN in script(te.lower(sched, [A, C], simple_mode=True).after)


def test_an_input_in_tensor_expressions_whose_layout_changes_twice() -> None:
    A = te.placeholder((14,), "int32", name="A")
    C = te.compute((14,), lambda i: A[i] * 2, name="C")
    sched = te.create_schedule(C.op)
    sched[A].transform_layout(lambda i: [i // 7, i % 7])
    sched[A].transform_layout(lambda a, b: [a, b // 4, b % 4], pad_value=lambda a, bo, bi: A[a, 0, bi])
    made = te.to_schedule(sched, [A, C])
    assert str(made.constraints("A")[0]) == "A[a, bo, bi] == A[a, 0, bi] where bo == 1 and bi == 3"


B_AT_MODULE_LEVEL: Any = None


def _named_outside(io: Any, ii: Any) -> Any:
    return next(B_AT_MODULE_LEVEL[0, j] for j in [(io - 14) % 4])


def test_names_are_found_wherever_python_finds_them() -> None:
    global B_AT_MODULE_LEVEL  # noqa: PLW0603 - what is tested
    sched = Schedule(FOURTEEN)
    B = B_AT_MODULE_LEVEL = sched.buffer("B")
    for pad_value in (_named_outside, lambda io, ii, buffer=B: buffer[0, (io - 14) % 4],
                      lambda io, ii: next(B(0, j) for j in [(io - 14) % 4])):  # fmt: skip
        s = Schedule(sched.func)
        s.transform_layout("B", transform, pad_value=pad_value)
        assert WRITTEN in s.script()
    assert B_AT_MODULE_LEVEL is B  # nothing of the caller's has changed


def test_the_number_of_indices_says_which_layout_is_meant() -> None:
    s = Schedule(FOURTEEN)
    b = s.buffer("B")
    s.transform_layout("B", transform, pad_value=lambda io, ii: b[0] + b[0, 1] + b.shape[0])
    assert "B[io, ii] = B[0, 0] + B[0, 1] + 14" in s.script()


@pytest.mark.parametrize(
    ("pad_value", "words"),
    [
        (lambda b: lambda io, ii: b[io, (ii + 1) % 4], "reads B[io, (ii + 1) % 4], which is padding itself at io = 3"),
        (lambda b: lambda io, ii: b[io + 1, 0], "reads B[io + 1, 0], which lies outside of the new shape"),
        (lambda b: lambda io, ii: b[0, 0, 0], "B has 1 dimensions and is accessed with 3 indices"),
    ],
)
def test_near_misses(pad_value: Any, words: str) -> None:
    s = Schedule(FOURTEEN)
    with pytest.raises(NotApplicable) as refused:
        s.transform_layout("B", transform, pad_value=pad_value(s.buffer("B")))
    assert words in refused.value.reason


def test_another_buffer_is_another_buffer() -> None:
    s = Schedule(FOURTEEN)
    a = s.buffer("A")
    with pytest.raises(NotApplicable, match="A has 1 dimensions and is accessed with 2 indices"):
        s.transform_layout("B", transform, pad_value=lambda io, ii: a[0, ii])
