"""Found by a campaign: LLVM IR of programs that see an argument at another type.

What is stored through a view of floats was, at the end, an undefined element of an integer argument; and cells of
scalars (``part``, ``join``) had no sample values, so that the comparison crashed.
"""

import pytest

from tests.parts.llvm_verdicts import assert_llvm_verdict_holds
from verified_tir import Schedule
from verified_tir.codegen.build import prove_no_races
from verified_tir.codegen.compile import optimise
from verified_tir.codegen.emit import emit
from verified_tir.codegen.target import Target
from verified_tir.validate import Different, Equal

STORED = """
@T.prim_func
def main(A: T.Buffer((2,), "{element}"), B: T.Buffer((2,), "{viewed}")):
    V = T.decl_buffer((2,), "{viewed}", data=A.data)
    for i in range(2):
        V[i] = {value}
"""
CELLS = """
@T.prim_func
def main(A: T.Buffer((1,), "int32"), B: T.Buffer((2, 2), "int32")):
    for i, j in T.grid(2, 2):
        V = T.decl_buffer((2,), "int8", data=A.data)
        B[i, j] = 0
        V[j] = T.int8(0)
"""
JOINED = """
@T.prim_func
def main(A: T.Buffer((2,), "{element}"), B: T.Buffer((1,), "uint64"), C: T.Buffer((2,), "{element}")):
    V = T.decl_buffer((1,), "uint64", data=A.data)
    A[0] = C[1]
    A[1] = C[0]
    B[0] = V[0]
"""


def texts(program: str) -> tuple[Schedule, list[str]]:
    s = Schedule(program)
    prove_no_races(s.theorem, s.solver)
    emitted = emit(s.func, Target.host(2)).text
    return s, [emitted, str(optimise(emitted, Target.host(2))[0])]


@pytest.mark.nightly
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("element", "viewed", "value"),
    [
        ("int32", "float32", "B[1 - i]"), ("uint64", "float64", "T.float64(-0.0)"), ("int16", "bfloat16", "B[i]"),
        ("float32", "int32", "T.int32(7)"), ("uint16", "float16", "T.float16(1.0)"),
    ],
)  # fmt: skip
def test_what_a_view_of_another_type_stores_is_there_at_the_end(element: str, viewed: str, value: str) -> None:
    s, found = texts(STORED.format(element=element, viewed=viewed, value=value))
    for text in found:
        assert isinstance(assert_llvm_verdict_holds(s.func, text).verdict, Equal)


def test_near_miss_another_number_is_stored() -> None:
    program = STORED.format(element="int32", viewed="float32", value="T.float32(1.0)")
    s, (emitted, _) = texts(program)
    assert "0x3FF0000000000000" in emitted
    wrong = emitted.replace("0x3FF0000000000000", "0x4000000000000000")
    assert isinstance(assert_llvm_verdict_holds(s.func, wrong).verdict, Different)


def test_cells_of_an_element_have_sample_values() -> None:
    s, found = texts(CELLS)
    for text in found:
        assert isinstance(assert_llvm_verdict_holds(s.func, text).verdict, Equal)
    wrong = found[0].replace(", 2\n", ", 3\n")
    assert wrong != found[0]
    assert_llvm_verdict_holds(s.func, wrong)


@pytest.mark.nightly
@pytest.mark.sample(2)
@pytest.mark.parametrize("element", ["int32", "uint32", "float32"])
def test_elements_that_are_joined_have_sample_values(element: str) -> None:
    s, found = texts(JOINED.format(element=element))
    for text in found:
        assert not isinstance(assert_llvm_verdict_holds(s.func, text).verdict, Different)
    wrong = found[0].replace("i64 1", "i64 0", 1)
    assert wrong != found[0]
    assert not isinstance(assert_llvm_verdict_holds(s.func, wrong).verdict, Equal)
