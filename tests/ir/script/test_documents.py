"""Programs as RFC 39 and RFC 63 write them, letter for letter."""

from __future__ import annotations

import pytest

from verified_tir import parse, parse_func, script
from verified_tir.ir.node import IRError
from verified_tir.ir.script import ScriptError

# -- types of accesses: ``assert A[0].dtype == …`` ---------------------------------------------------------------------

TYPING = {
    "scalar_load_from_scalar_buffer": """
@T.prim_func
def scalar_load_from_scalar_buffer(A: T.Buffer[(64,), "float32"]):
    assert A[0].dtype == "float32"
""",
    "vector_load_from_vector_buffer": """
@T.prim_func
def vector_load_from_vector_buffer(A: T.Buffer[(16,), "float32x4"]):
    assert A[0].dtype == "float32x4"
""",
    "vector_load_from_vector_buffer, narrower": """
@T.prim_func
def vector_load_from_vector_buffer(A: T.Buffer[(16,), "float32x4"]):
    A_vector_2 = T.buffer_decl([32], "float32x2", data=A.data)
    assert A[0].dtype == "float32x4"
    assert A_vector_2[0].dtype == "float32x2"
""",
    "vector_load_from_scalar_buffer_option1": """
@T.prim_func
def vector_load_from_scalar_buffer_option1(A: T.Buffer[(64,), "float32"]):
    assert A[T.ramp(0, 1, 4)].dtype == "float32x4"
""",
    "vector_load_from_scalar_buffer_option2": """
@T.prim_func
def vector_load_from_scalar_buffer_option2(A: T.Buffer[(64,), "float32"]):
    A_vector = T.buffer_decl([16], "float32x4", data=A.data)
    assert A_vector[0].dtype == "float32x4"
""",
    "scalar_load_from_vector_buffer": """
@T.prim_func
def scalar_load_from_vector_buffer(A: T.Buffer[(16,), "float32x4"]):
    A_scalar = T.buffer_decl([64], "float32", data=A.data)
    assert A_scalar[0].dtype == "float32"
""",
    "nd_scalar_load_from_scalar_buffer": """
#multiple dimensional buffer accesses
@T.prim_func
def nd_scalar_load_from_scalar_buffer(A: T.Buffer[(64, 64,), "float32"]):
    assert A[0, 0].dtype == "float32"
""",
    "nd_vector_load_from_scalar_buffer": """
@T.prim_func
def nd_vector_load_from_scalar_buffer(A: T.Buffer[(64,64), "float32"]):
    assert A[0, T.ramp(0, 1, 4)].dtype == "float32x4"
""",
}


@pytest.mark.parametrize("name", TYPING)
def test_typing_examples(name: str) -> None:
    module = parse(TYPING[name])
    assert "assert" not in script(module)  # what is said of types holds, and nothing is left to check


@pytest.mark.parametrize(
    ("said", "types"),
    [
        ('A[0].dtype == "float32"', "float32x4 and float32"),
        ('A[0].dtype != "float32x4"', "float32x4 and float32x4"),
        ('"int8x4" == A[T.ramp(0, 1, 2)].dtype', "int8x4 and float32x8"),
        ("A.dtype == n.dtype", "float32x4 and int32"),
    ],
)
def test_a_wrong_type_is_an_error_of_the_text(said: str, types: str) -> None:
    text = f'@T.prim_func\ndef f(A: T.Buffer[(16,), "float32x4"], n: T.int32):\n    assert {said}\n'
    with pytest.raises(ScriptError, match=f"this does not hold: the dtypes are {types}"):
        parse(text)


def test_what_is_no_type_is_refused() -> None:
    head = '@T.prim_func\ndef f(A: T.Buffer[(16,), "float32x4"]):\n    '
    with pytest.raises(ScriptError, match="a dtype is needed"):
        parse(head + "assert A[0].dtype == 4\n")
    with pytest.raises(ScriptError):
        parse(head + "assert A[0].dtype < A.dtype\n")


# -- ``T.buffer_decl(X.data, …)`` --------------------------------------------------------------------------------------


def test_the_flattened_alias_of_rfc_63() -> None:
    """The RFC's text, with the parenthesis and the value that it leaves out."""
    text = """
def fn(X: T.Buffer([2, 3], "float32")):
  X_flattened = T.buffer_decl(X.data, [6], "float32")
  for i in grid(6):
    X_flattened[i] = 1.0
"""
    assert (
        script(parse_func("@T.prim_func" + text)).split("\n\n")[1]
        == """\
@T.prim_func(s_tir=True)
def fn(X: T.Buffer((2, 3), "float32")):
    X_flattened = T.decl_buffer((6,), "float32", data=X.data)
    for i in range(6):
        X_flattened[i] = T.float32(1.0)"""
    )


def test_the_declarations_of_rfc_63() -> None:
    module = parse("""
@T.prim_func
def buffer_alias(A: T.Buffer[(16,), "float"]):
    A_vector = T.buffer_decl([4], "float32x4", data=A.data)

@T.prim_func
def buffer_alloc():
    A = T.buffer_decl([4, 4], "float32")
    Allocate(A.data, [16], "float32")
""")
    assert 'A_vector = T.decl_buffer((4,), "float32x4", data=A.data)' in script(module["buffer_alias"])
    assert 'A = T.alloc_buffer((4, 4), "float32")' in script(module["buffer_alloc"])


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('Allocate(X.data, [6], "float32")', "X has memory already"),
        ('A = T.alloc_buffer([4, 4], "float32")\n    Allocate(A.data, [16], "float32")', "A has memory already"),
        ('A = T.buffer_decl([4, 4], "float32")\n    Allocate(A.data, [15], "float32")', "A needs float32 for as many"),
        ('A = T.buffer_decl([4, 4], "float32")\n    Allocate(A.data, [16], "int32")', "A needs float32 for as many"),
        ('A = T.buffer_decl([4, 4], "float32")\n    Allocate(A.data)', "the argument extents is missing"),
    ],
)
def test_allocations_that_are_not_of_a_declaration(lines: str, words: str) -> None:
    with pytest.raises(ScriptError, match=words):
        parse(f'@T.prim_func\ndef f(X: T.Buffer([2, 3], "float32")):\n    {lines}\n')


def test_data_is_first_only_if_it_is_data() -> None:
    head = '@T.prim_func\ndef f(X: T.Buffer([2, 3], "float32"), n: T.int32):\n    '
    for call in ('T.buffer_decl(X.data, [n], "float32", data=X.data)', "T.buffer_decl(X.data)",
                 'T.alloc_buffer(X.data, [6], "float32")'):  # fmt: skip
        with pytest.raises(ScriptError):
            parse(head + f"Y = {call}\n    Y[0] = 1.0\n")
    found = parse_func(head + 'Y = T.decl_buffer(n, "float32", X.data)\n    Y[0] = 1.0\n')
    assert "Y = T.decl_buffer((n,), " in script(found)


# -- numbers of axis separators ----------------------------------------------------------------------------------------

TEXTURE = """\
@T.prim_func(s_tir=True)
def f(val: T.Buffer((1,), "float32")):
    x = T.alloc_buffer((16, 32, 64, 64, 4), "float32", axis_separators=[2])
    val[0] = x[11, 25, 37, 23, 1]"""


def test_separators_are_counted_as_rfc_39_does_if_asked_for() -> None:
    func = parse_func(TEXTURE, axis_separators="rfc39")
    assert "axis_separators=[3]" in script(func)
    assert script(func, axis_separators="rfc39").split("\n\n")[1] == TEXTURE
    assert "axis_separators=[2]" in script(parse(TEXTURE, axis_separators="rfc39"), axis_separators="rfc39")
    assert script(parse_func(TEXTURE)).split("\n\n")[1] == TEXTURE


def test_numberings_that_there_are_not() -> None:
    with pytest.raises(IRError, match='counted as by "tvm" or by "rfc39", not by \'old\''):
        parse_func(TEXTURE, axis_separators="old")  # type: ignore[arg-type]
    first = parse_func(TEXTURE.replace("[2]", "[0]"))
    with pytest.raises(IRError, match="in front of all axes has no number in RFC 39"):
        script(first, axis_separators="rfc39")
