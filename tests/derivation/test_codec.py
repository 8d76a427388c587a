"""Spelling: one for each value, and a message for whatever is none."""

from __future__ import annotations

import contextlib
import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nightly import few
from tests.rules.random_programs import programs
from verified_tir.derivation import notation
from verified_tir.derivation.classes import records
from verified_tir.derivation.codec import BadText, Quoted, Reader, Scope, Writer, read_program, write_program
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import FloatImm, IntImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.ir.sugar import const
from verified_tir.kernel.rules.erase import Erase

FUNC = parse_func("""
@T.prim_func
def f(A: T.Buffer((4, "n"), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((1,), "int32"), k: T.int32):
    n = T.int32()
    for i in range(4):
        with T.block("b"):
            B[i] = A[i, 0] + T.float32(1)
    C[0] = k
""")
TEXT = write_program(FUNC)

atoms = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(), st.floats(allow_nan=False), st.integers(2**63, 2**70)
)
values = st.recursive(atoms, lambda inner: st.lists(inner).map(tuple))


@pytest.mark.nightly
@settings(max_examples=few(30, 100))
@given(values)
def test_plain_values(value: object) -> None:
    text = Writer().write(value)
    assert text.isascii() and text.isprintable()
    back = Reader().read(text)
    assert repr(back) == repr(value) and Writer().write(back) == text


@given(st.floats(width=32))
def test_floats_to_the_bit(value: float) -> None:
    text = Writer().write(FloatImm(const(0.0, "float32").dtype, value))
    back = Reader().read(text)
    assert isinstance(back, FloatImm)
    assert struct.pack("<d", back.value) == struct.pack("<d", math.nan if math.isnan(value) else value)


@pytest.mark.nightly
@given(programs())
def test_programs(func: PrimFunc) -> None:
    text = write_program(func)
    back = read_program(text)
    assert structural_equal(back, func) and write_program(back) == text and back is not func


def test_a_variable_is_spelled_out_once() -> None:
    i = Var.fresh("i")
    assert Writer().write((i, i, IntImm(i.dtype, 3))) == '[(Var 0 "i" int32) %0 (IntImm int32 3)]'
    assert Writer(Scope([i])).write((i, Var.fresh("i"))) == '[%0 (Var 1 "i" int32)]'
    b = Buffer.declare("B", (i,))
    text = '[(Buffer 0 "B" (Var 0 "B" (PointerType float32 "global")) float32 [(Var 1 "i" int32)] [] ' \
        "(IntImm int32 0) []) @0 %1]"  # fmt: skip
    assert Writer().write((b, b, i)) == text


def test_what_is_quoted_is_read_later() -> None:
    found = Reader().read("[(Apply (Erase [0] 0 false)) (Apply (X (Y [%9])))]")
    assert found == (Quoted("(Erase [0] 0 false)"), Quoted("(X (Y [%9]))"))
    assert Writer().write(found) == "[(Apply (Erase [0] 0 false)) (Apply (X (Y [%9])))]"
    assert Reader(records=records()).read(found[0].text) == Erase((0,), 0, False)


DEEP = notation.DEPTH + 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not one value"),
        ("1 2", "not one value"),
        ("(", "begins nothing"),
        ("[1", "not one value"),
        ("1]", "brackets do not match"),
        ("[1)", "brackets do not match"),
        ("(Seq []]", "brackets do not match"),
        ("(Seq [(Apply 1 2)", "not one value"),
        ("(Apply", "not one value"),
        ("[" * DEEP + "]" * DEEP, f"nested more than {notation.DEPTH} deep"),
        ("(Not " * DEEP + ")" * DEEP, "nested more than"),
        ("(Apply " * DEEP, "nested more than"),
        ("9" * 5000, "a number has 5000 digits"),
        ("%" + "9" * 5000, "a number has 5001 digits"),
        ("0x1." + "0" * 5000 + "p+0", "a number has 5007 digits"),
        ("0x1.0p+99999", "is not a float"),
        ("%0", "nothing has the number %0"),
        ("@7", "nothing has the number @7"),
        ('(Var 1 "i" int32)', "the next Var has the number 0, not 1"),
        ('[(Var 0 "i" int32) (Var 0 "i" int32)]', "the next Var has the number 1, not 0"),
        ('(Var true "i" int32)', "not True"),
        ('(Var 0 "i")', "a Var has a number, a name and a type"),
        ('(Var 0 "i" 7)', "DType or PointerType is wanted"),
        ('(Var 0 7 int32)', "str is wanted"),
        ("(Var)", "a Var has"),
        ("(Buffer)", "a Buffer has 7 fields"),
        ('(Buffer 0 "B" @0 float32 [] [] (IntImm int32 0) [])', "nothing has the number @0"),
        ("(Nothing)", "there is no form 'Nothing'"),
        ("(Expr)", "there is no form 'Expr'"),
        ('(DType "int" 32 1)', "there is no form 'DType'"),
        ("(IntImm int32)", "a IntImm has 2 fields, not 1"),
        ("(IntImm int32 3 4)", "a IntImm has 2 fields, not 3"),
        ("(IntImm int32 true)", "IntImm.value: a bool is not a number"),
        ("(IntImm int32 0x1.8p+1)", "IntImm.value: int is wanted, not a float"),
        ('(IntImm int32 "3")', "IntImm.value: int is wanted, not a str"),
        ("(IntImm int32 99999999999)", "does not fit int32"),
        ("(IntImm int33 1)", "'int33' is neither a word nor a type"),
        ("(FloatImm float32 1)", "FloatImm.value: float is wanted, not a int"),
        ("(Not (IntImm int32 1))", "not takes bool operands"),
        ("(Not [])", "Not.a: Expr is wanted, not a tuple"),
        ("(Store 1 2 3 4)", "Store.buffer: Buffer is wanted, not a int"),
        ("(Erase [0] none false)", "Erase.overwritten_by: int is wanted, not a NoneType"),
        ('(Erase [true] 0 false)', "Erase.path: a bool is not a number"),
        ('(Erase 0 0 false)', "Erase.path: tuple is wanted"),
        ('(Insert [] (Seq []) "fast" 0)', "Insert.where: one of"),
        ("(Erase [] 0 1)", "Erase.dead_at_end: bool is wanted, not a int"),
        ("(Refine [] none (Arguments [] []))", "Refine.lemma"),
        ("1;2", "begins nothing"),
        ('"\\x41"', "begins nothing"),
        ('"é"', "begins nothing"),
        ("#t", "begins nothing"),
        ("(a 1)", "there is no form 'a'"),
    ],
)  # fmt: skip
def test_what_is_no_value(text: str, problem: str) -> None:
    with pytest.raises(BadText, match=r"(?s).*") as refused:
        Reader(records=records()).read(text)
    assert problem in str(refused.value), str(refused.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(Seq ", "(Seq  "), ("\n", " "), ("(IntImm int32 0)", "(IntImm int32 00)"),
        ("0x1.0000000000000p+0", "0x1.0p+0"), ('"n"', '"\\u006e"'), ("int32", "int32x1"),
        ("(IntImm int32 0)", "(IntImm int32 -0)"),
    ],
)  # fmt: skip
def test_there_is_one_spelling(old: str, new: str) -> None:
    assert old in TEXT
    with pytest.raises(BadText):
        read_program(TEXT.replace(old, new, 1))


def test_a_program_is_a_function() -> None:
    with pytest.raises(BadText, match="this is a int, not a program"):
        read_program("1")
    with pytest.raises(BadText, match="this is a Seq, not a program"):
        read_program("(Seq [])")


@given(st.text(alphabet='()[]%@"0123 -xabtrueSeqIfNotVar.\n', max_size=60))
def test_no_text_ends_in_anything_else(text: str) -> None:
    with contextlib.suppress(BadText):
        Reader(records=records()).read(text)


@given(st.data())
def test_no_change_of_a_program_ends_in_anything_else(data: st.DataObject) -> None:
    """One character is another, or some go: a program all the same, or a message."""
    at = data.draw(st.integers(0, len(TEXT) - 1))
    cut = data.draw(st.integers(0, 4))
    new = data.draw(st.sampled_from(["", "(", ")", "[", "1", "%0", '"', "true", " "]))
    with contextlib.suppress(BadText):
        read_program(TEXT[:at] + new + TEXT[at + cut :])
