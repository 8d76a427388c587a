"""BoolStorage: bool buffers as bytes."""

from __future__ import annotations

from tests.lower.lower_support import gives, lowered, refused
from tests.lower.test_removals import program
from verified_tir.ir.script import script
from verified_tir.lower.bool_storage import BoolStorage

PARAMS = 'X: T.Buffer((8,), "bool"), Y: T.Buffer((8,), "float32")'


def test_parameters_and_locals() -> None:
    text = """
t = T.alloc_buffer((8,), "bool")
for i in range(8):
    t[i] = X[i] and Y[i] > T.float32(0.0)
    if t[i]:
        X[i] = not t[i]
"""
    gives(program(text, PARAMS), BoolStorage(), """
X_bytes = T.decl_buffer((8,), "int8", data=X.data)
t_bytes = T.alloc_buffer((8,), "int8")
for i in range(8):
    t_bytes[i] = T.Cast("int8", T.Cast("bool", X_bytes[i]) and Y[i] > T.float32(0.0))
    if T.Cast("bool", t_bytes[i]):
        X_bytes[i] = T.Cast("int8", not T.Cast("bool", t_bytes[i]))
""")  # fmt: skip
    _, records = lowered(program(text, PARAMS), BoolStorage() >> BoolStorage())
    assert records[1].rules == 0


def test_without_bools_nothing_happens() -> None:
    text = "Y[0] = T.float32(1.0)"
    _, (record,) = lowered(program(text, PARAMS), BoolStorage())
    assert record.rules == 0


def test_other_views_are_refused() -> None:
    text = """
t = T.alloc_buffer((8,), "bool")
v = T.decl_buffer((4,), "bool", data=t.data)
t[0] = X[0]
v[1] = X[1]
X[0] = t[1]
"""
    refused(program(text, PARAMS), BoolStorage(), "t has other views, which would see bytes where they saw bools")


def test_a_local_buffer_that_does_not_fill_its_block_stays() -> None:
    text = """
t = T.alloc_buffer((4,), "bool", {})
for i in range(4):
    t[i] = X[i]
for i in range(4):
    X[i + 4] = not t[i]
"""
    for form in ("strides=[2]", "elem_offset=4"):
        theorem, (record,) = lowered(program(text.format(form), PARAMS), BoolStorage())
        assert "t[i] = T.Cast" in script(theorem.after) and "X_bytes" in script(theorem.after)
        assert record.notes == ("t stays an array of bool: its elements do not fill its block",)


def test_one_that_nobody_uses() -> None:
    text = 't = T.alloc_buffer((4,), "bool")\nY[0] = T.float32(1.0)'
    gives(program(text, PARAMS), BoolStorage(), text.replace("t =", "t_bytes =").replace("bool", "int8"))
