"""Cases 3, 4, 6 and 8 of the list of schedules that a sound tool refuses (accepted by Exo): single statements."""

from __future__ import annotations

import numpy as np
import pytest

from tests.must_reject.support import accepted, refused
from verified_tir import Refuted, Schedule

HEAD = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((9,), "float32")):
"""


def program(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))


def arrays() -> dict[str, np.ndarray]:
    return {"A": np.arange(8, dtype=np.float32), "B": np.ones(8, np.float32), "C": np.full(9, 3, np.float32)}


# -- 3: inlining an assignment past a write to what it reads


ASSIGNMENT = """
t = T.alloc_buffer((1,), "float32")
for i in range(8):
    with T.block("t"):
        t[0] = A[i]
    {write}
    B[i] = t[0]
"""


def test_3_inlining_past_a_write_to_what_is_read_is_refused() -> None:
    text = program(ASSIGNMENT.format(write="A[i] = 0.0"))
    refusal = refused(text, lambda s: s.compute_inline("t"), "A[i] equals t[0]")
    assert refusal.obligation is not None and refusal.obligation.name == "equal"


def test_3_inlining_past_a_write_to_another_element_is_accepted() -> None:
    text = program(ASSIGNMENT.format(write="A[7 - i + i // 7] = 0.0").replace("range(8)", "range(3)"))
    s = accepted(text, lambda s: s.compute_inline("t"), **arrays())
    assert "B[i] = A[i]" in s.script()


LET = """
for i in range(7):
    x: T.float32 = A[i]
    A[i {far}] = 0.0
    B[i] = x
"""


def test_3_putting_a_let_back_past_a_write_to_what_is_read_is_refused() -> None:
    refusal = refused(program(LET.format(far="+ 0")), lambda s: s.inline_let("x"), "A[i] equals x")
    assert refusal.obligation is not None and refusal.obligation.name == "equal"


def test_3_putting_a_let_back_past_a_write_to_another_element_is_accepted() -> None:
    s = accepted(program(LET.format(far="+ 1")), lambda s: s.inline_let("x"), **arrays())
    assert "B[i] = A[i]" in s.script()


# -- 4: splitting a write a = b + a in two so that the old a is lost


def test_4_splitting_a_write_that_reads_what_it_overwrites_is_refused() -> None:
    text = program('for i in range(8):\n    with T.block("w"):\n        B[i] = A[i] + B[i]')
    refusal = refused(text, lambda s: s.split_write("w"), "no later read sees it")
    assert refusal.obligation is not None and refusal.obligation.name == "dead-store"


@pytest.mark.parametrize(
    ("value", "first", "second"),
    [
        ("A[i] + C[i]", "A[i]", "B[i] + C[i]"),
        ("B[i] + A[i]", "B[i]", "B[i] + A[i]"),
        ("B[i] * 2.0 + A[i]", "B[i] * T.float32(2.0)", "B[i] + A[i]"),
    ],
)
def test_4_splitting_a_write_that_keeps_the_old_value_is_accepted(value: str, first: str, second: str) -> None:
    text = program(f'for i in range(8):\n    with T.block("w"):\n        B[i] = {value}')
    s = accepted(text, lambda s: s.split_write("w"), **arrays())
    assert f"B[i] = {first}\n" in s.script() and f"B[i] = {second}" in s.script()


# -- 6: binding an expression to a temporary across a call or a store that writes what it reads


ACROSS = """
for i in range(7):
    with T.block("w"):
        B[i] = A[i] * 2.0
        {between}
        C[i] = A[i] * 2.0
"""


@pytest.mark.parametrize("scope", [None, "local"])
def test_6_binding_across_a_store_to_what_is_read_is_refused(scope: str | None) -> None:
    text = program(ACROSS.format(between="A[i] = C[i]"))
    refusal = refused(text, lambda s: s.bind_expr("w", "A[i] * 2.0", "x", scope), "equals A[i] * T.float32(2.0)")
    assert refusal.obligation is not None and refusal.obligation.name == "equal"


@pytest.mark.parametrize("scope", [None, "local"])
def test_6_binding_across_a_store_to_another_element_is_accepted(scope: str | None) -> None:
    text = program(ACROSS.format(between="A[i + 1] = C[i]"))
    s = accepted(text, lambda s: s.bind_expr("w", "A[i] * 2.0", "x", scope), **arrays())
    assert s.script().count("A[i] * T.float32(2.0)") == 1


def test_6_binding_across_an_opaque_call_is_refused() -> None:
    text = program(ACROSS.format(between='T.evaluate(T.call_extern("int32", "g", A.data))'))
    with pytest.raises(Refuted, match=r"x has the same bits as A\[i\] \* T.float32\(2.0\), which it replaces"):
        Schedule(text).bind_expr("w", "A[i] * 2.0", "x")


# -- 8: merging two writes when an alias reads in between


MERGED = """
V = T.decl_buffer((9,), "float32", data=C.data)
for i in range(8):
    with T.block("first"):
        C[i] = A[i]
    B[i] = V[i + {far}]
    with T.block("second"):
        C[i] = C[i] + 1.0
"""


def test_8_merging_writes_while_an_alias_reads_in_between_is_refused() -> None:
    refusal = refused(
        program(MERGED.format(far=0)),
        lambda s: s.merge_writes("first", "second"),
        "the store to C is dead: no later read sees it",
    )
    assert refusal.obligation is not None and refusal.obligation.name == "dead-store"


def test_8_merging_writes_while_an_alias_reads_another_element_is_accepted() -> None:
    s = accepted(program(MERGED.format(far=1)), lambda s: s.merge_writes("first", "second"), **arrays())
    assert "C[i] = A[i] + T.float32(1.0)" in s.script()
    assert s.blocks == ["second"]


def test_8_an_alias_in_the_second_write_may_read_what_is_not_there_any_more() -> None:
    text = program("""
V = T.decl_buffer((9,), "float32", data=C.data)
W = T.decl_buffer((9,), "int32", data=C.data)
for i in range(8):
    with T.block("first"):
        C[i] = A[i]
    with T.block("second"):
        C[i] = T.{read}
""")
    s = accepted(text.replace("T.{read}", "V[i] * 2.0"), lambda s: s.merge_writes("first", "second"))
    assert "C[i] = A[i] * T.float32(2.0)" in s.script()
    refused(
        text.replace("T.{read}", 'T.Cast("float32", W[i])'),
        lambda s: s.merge_writes("first", "second"),
        "no later read sees it",
    )
