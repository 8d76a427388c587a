"""An offset of a parameter that is a symbol was taken to be zero, also where the program reads the symbol."""

from __future__ import annotations

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.validate.pairs import Budget, judge

OFFSET = """
@T.prim_func
def f(a: T.handle, B: T.Buffer((4,), "int32")):
    {name} = T.int32()
    A = T.match_buffer(a, (4,), "int32", elem_offset={name})
    for i in range(4):
        B[i] = {value}
"""


def word(before: PrimFunc, after: PrimFunc) -> str:
    return judge("f", before, after, {}, Budget()).word


def offset(value: str, name: str = "off") -> PrimFunc:
    return parse_func(OFFSET.format(name=name, value=value.replace("off", name)))


def test_an_offset_that_is_read_has_several_values() -> None:
    """It is the argument's, whatever its name; what nobody reads makes no difference."""
    assert word(offset("off"), offset("0")) == "different"
    assert word(offset("0"), offset("off")) == "different"
    assert word(offset("off + A[i]"), offset("A[i] + off")) == "equal at sizes"
    assert word(offset("off + A[i]"), offset("A[i] + off", "o")) == "equal at sizes"
    assert word(offset("A[i] + 1"), offset("1 + A[i]", "o")) == "equal"


def test_a_stride_that_is_read_needs_a_size() -> None:
    """Also if a symbol of the same name is an offset in the other program."""
    stride = parse_func(OFFSET.format(name="off", value="off").replace("elem_offset=off", "strides=(off,)"))
    assert word(stride, offset("1")) == "unknown"
    assert word(offset("0"), stride) == "unknown"
    assert word(offset("1"), stride) == "unknown"
