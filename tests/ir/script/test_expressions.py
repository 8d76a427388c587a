"""Types of literals, operators, calls and accesses, as the parser reads them."""

from __future__ import annotations

import pytest

from verified_tir.ir.dtype import FLOAT16, FLOAT32, INT32, INT64, DType
from verified_tir.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Expr,
    FloatImm,
    IfThenElse,
    IntImm,
    LetExpr,
    Load,
    Not,
    Ramp,
    Select,
    Undef,
    Var,
)
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func, script
from verified_tir.ir.stmt import Evaluate, Seq, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import walk

HEAD = """
@T.prim_func
def main(F: T.Buffer((8, 8), "float32"), H: T.Buffer((8,), "float16"), I: T.Buffer((8,), "int32"),
         L: T.Buffer((8,), "int64"), U: T.Buffer((8,), "uint8"), P: T.Buffer((8,), "bool"),
         i: T.int32, l: T.int64, f: T.float32, p: T.bool):
"""


def func_of(body: str) -> PrimFunc:
    return parse_func(HEAD + "".join(f"    {line}\n" for line in body.splitlines()))


def value_of(text: str) -> Expr:
    """The expression as the parser reads it where no type is wanted."""
    body = func_of(f"T.evaluate({text})").body
    assert isinstance(body, Evaluate)
    return body.value


def stored(text: str) -> Expr:
    """The value of a store."""
    body = func_of(text).body
    assert isinstance(body, Store)
    return body.value


def shown(text: str) -> str:
    """The expression read and written again."""
    line = script(func_of(f"T.evaluate({text})")).splitlines()[-1].strip()
    return line[len("T.evaluate(") : -1] if line.startswith("T.evaluate(") else line


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("F[0, 0] = 0", const(0.0, "float32")),
        ("F[0, 0] = 0.1", const(0.1, "float32")),
        ("H[0] = 0.1", const(0.1, "float16")),
        ("H[0] = -2", const(-2.0, "float16")),
        ("I[0] = -3", const(-3)),
        ("L[0] = 5000000000", const(5000000000, "int64")),
        ("U[0] = 255", const(255, "uint8")),
        ("P[0] = True", const(True, "bool")),
        ("F[0, 0:4] = 1", Broadcast(const(1.0, "float32"), 4)),
        ("I[0] = 2 + 3 * 4", const(14)),
        ("F[0, 0] = 1 / 4", const(0.25, "float32")),
        ("F[0, 0] = T.undef()", Undef(FLOAT32)),
        ('F[0, 0] = T.undef(dtype="float32")', Undef(FLOAT32)),
        ("H[0] = T.undef()", Undef(FLOAT16)),
        ("I[0] = 1 + T.undef()", Binary("add", const(1), Undef(INT32))),
    ],
)
def test_a_literal_takes_the_type_of_the_buffer(statement: str, value: Expr) -> None:
    assert stored(statement) is value


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("2 * F[0, 0]", "float32"), ("H[0] + 0.5", "float32"), ("H[0] + 1", "float16"), ("l + 1", "int64"),
        ("1 - l", "int64"),
        ("U[0] // 2", "int32"), ("U[0] // T.uint8(2)", "uint8"),
        ("i * 2", "int32"), ("T.max(l, 0)", "int64"), ("T.fma(f, 2, 0.5)", "float32"),
        ("T.exp(1)", "float32"), ("T.int64(4)", "int64"), ("3", "int32"), ("0.5", "float32"), ("True", "bool"),
        ("F[0, 0:4]", "float32x4"), ("F[0, T.Ramp(0, 2, 8)]", "float32x8"), ("F[0, 0:4] * 2", "float32x4"),
        ("i < 3", "bool"), ("F[0, 0:4] < 1.0", "boolx4"), ("0 <= i < 3", "bool"), ("l == 0", "bool"),
        ("T.Cast('int8', i)", "int8"), ("i.astype('float16')", "float16"), ("T.float64(f)", "float64"),
        ("T.Cast('float32', I[0:4])", "float32x4"), ("T.isnan(f)", "bool"), ("T.clz(l)", "int32"),
        ("T.reinterpret('int32', f)", "int32"), ("~U[0]", "uint8"), ("p & P[0]", "bool"), ("f ** 2", "float32"),
        ("T.if_then_else(p, 1, l)", "int64"), ("1.0 if p else f", "float32"), ("T.Select(p, 1, 2)", "int32"),
        ("T.min_value('int8')", "int8"), ("T.infinity('float16')", "float16"),
        ("T.call_extern('float32', 'f', i)", "float32"), ("T.q_multiply_shift(i, 3, 31, 1)", "int32"),
    ],
)  # fmt: skip
def test_types(text: str, dtype: str) -> None:
    assert value_of(text).dtype is DType.parse(dtype)


@pytest.mark.parametrize(
    ("text", "again"),
    [
        # signs of Python keep their precedence
        ("(i + 1) * 2", "(i + 1) * 2"),
        ("i + 1 * i", "i + i"),
        ("i - (i - 1)", "i - (i - 1)"),
        ("i - i - 1", "i - i - 1"),
        ("-i", "0 - i"),
        ("-f", "T.float32(-1.0) * f"),
        ("(i << 3 | 7) & ~i", "(i << 3 | 7) & T.bitwise_not(i)"),
        ("not p and p or p", "not p and p or p"),
        ("not (p and p)", "not (p and p)"),
        ("(i < 3) == p", "(i < 3) == p"),
        ("0 <= i < 8", "0 <= i and i < 8"),
        ("~p", "not p"),
        # signs fold, calls do not
        ("i + 0", "i"),
        ("T.Add(i, 0)", "T.Add(i, 0)"),
        ("T.Add(1, 2)", "T.Add(1, 2)"),
        ("T.int64(1) + T.int64(2)", "T.int64(3)"),
        ("T.EQ(0, 1)", "T.EQ(0, 1)"),
        ("f + 0.0", "f + T.float32(0.0)"),
        ("i * 0", "i * 0"),
        # division
        ("i / 2", "T.truncdiv(i, 2)"),
        ("f / 2", "f / T.float32(2.0)"),
        ("T.Div(i, 2)", "T.truncdiv(i, 2)"),
        ("i // 2 % 3", "i // 2 % 3"),
        ("T.ceildiv(i, 4)", "(i + 4 - 1) // 4"),
        # other names
        ("T.fabs(f)", "T.abs(f)"),
        ("T.shift_left(i, 2)", "i << 2"),
        ("T.floormod(i, 3)", "i % 3"),
        ("T.And(p, p, p)", "p and p and p"),
        ("T.cast(i, 'float32')", 'T.Cast("float32", i)'),
        ("T.Cast('int32', i)", 'T.Cast("int32", i)'),
        ("T.float32('-inf')", 'T.float32("-inf")'),
        ("T.float32(-0.0)", "T.float32(-0.0)"),
        ("T.bool(False)", "T.bool(False)"),
        ("T.int64(-3)", "T.int64(-3)"),
        ("F.shape[1]", "8"),
        ("F.strides[0]", "8"),
        ("I.elem_offset + 1", "1"),
    ],
)
def test_text(text: str, again: str) -> None:
    assert shown(text) == again


def test_division_of_integers_by_a_slash_truncates() -> None:
    match value_of("I[0] / I[1]"):
        case Binary(op="truncdiv", a=Load(), b=Load()):
            pass
        case other:
            pytest.fail(str(other))


def test_choice_and_negation() -> None:
    assert isinstance(value_of("T.if_then_else(p, f, 0.0)"), IfThenElse)
    assert isinstance(value_of("f if p else 0.0"), IfThenElse)
    assert isinstance(value_of("T.Select(p, f, 0.0)"), Select)
    assert isinstance(value_of("not p"), Not)


def test_a_cast_of_the_same_type_stays_only_if_written_as_a_cast() -> None:
    assert isinstance(value_of("T.Cast('float32', f)"), Cast)
    assert isinstance(value_of("T.float32(f)"), Var)
    assert isinstance(value_of("f.astype('float32')"), Var)


def test_let_binds_its_own_variable() -> None:
    first = value_of("T.Let(x + x, where={x: i * 2}) + T.Let(x, where={x: i})")
    lets = [n for n in walk(first) if isinstance(n, LetExpr)]
    assert len(lets) == 2
    assert lets[0].var is not lets[1].var


def test_comparison_with_undef_takes_the_type_of_the_other_side() -> None:
    match value_of("H[0] == T.undef()"):
        case Binary(op="eq", b=Undef(type=t)):
            assert t is FLOAT16
        case other:
            pytest.fail(str(other))


def test_long_sums_are_no_deep_nesting() -> None:
    text = " + ".join(["i"] * 700)
    assert shown(text) == text


def test_slices_are_ramps() -> None:
    match value_of("F[1, 2:10:2]"):
        case Load(indices=(IntImm(value=1), Ramp(base=IntImm(value=2), stride=IntImm(value=2), lanes=lanes))):
            assert lanes == 4
        case other:
            pytest.fail(str(other))
    match value_of("L[l * 2 + 3:l * 2 + 7]"):
        case Load(indices=(Ramp(base=base, lanes=lanes),)):
            assert lanes == 4
            assert base.dtype is INT64
        case other:
            pytest.fail(str(other))


def test_one_lane_is_no_vector() -> None:
    assert value_of("I[i:i + 1]").dtype is INT32


def test_an_unknown_call_may_stand_for_its_effect() -> None:
    match value_of("T.tvm_storage_sync('shared', T.inner(1))"):
        case Call(op="tvm_storage_sync", args=(_, Call(op="inner"))):
            pass
        case other:
            pytest.fail(str(other))
    assert value_of("i + T.mystery(1, dtype='int32')").dtype is INT32


def test_a_scalar_is_repeated_into_the_lanes_of_a_store() -> None:
    match func_of("F[0, 0:4] = f").body:
        case Store(value=Broadcast(value=Var(), lanes=4)):
            pass
        case other:
            pytest.fail(str(other))


def test_float_constants_are_rounded_to_their_type() -> None:
    match value_of("T.float32(0.1)"):
        case FloatImm(value=v):
            assert v == 0.10000000149011612
        case other:
            pytest.fail(str(other))


def test_augmented_assignment() -> None:
    assert script(func_of("F[0, 0] += 1\nF[0, 0] *= f")).splitlines()[-2:] == [
        "    F[0, 0] = F[0, 0] + T.float32(1.0)",
        "    F[0, 0] = F[0, 0] * f",
    ]
    assert isinstance(func_of("F[0, 0] += 1\nF[0, 0] *= f").body, Seq)
