"""RemoveAssume, RemoveStoreUndef, LowerInitBlock, Simplify: each hit beside a near miss."""

from __future__ import annotations

from tests.lower.lower_support import gives, lowered
from verified_tir.ir.script import script
from verified_tir.lower.lower_init_block import LowerInitBlock
from verified_tir.lower.remove_assume import RemoveAssume
from verified_tir.lower.remove_store_undef import RemoveStoreUndef
from verified_tir.lower.simplify import Simplify


def program(body: str, params: str = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")') -> str:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return f"@T.prim_func\ndef f({params}):\n{lines}\n"


def test_assumptions_go_with_what_held_only_them() -> None:
    text = """
T.assume(A[0] == 0.0)
for i in range(8):
    for j in range(2):
        if i >= 3:
            T.assume(B[i] > 0.0)
B[0] = A[1]
T.assume(B[0] == 1.0)
T.assume(B[0] == 1.0)
"""
    assert gives(program(text), RemoveAssume(), "B[0] = A[1]") == []


def test_an_assumption_that_a_licence_rests_on_stays() -> None:
    params = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), n: T.int32'
    text = "T.assume(n == 8)\nT.assume(n >= 1)\nfor i in T.parallel(8):\n    B[i % n] = A[i]"
    notes = gives(program(text, params), RemoveAssume(), text.replace("T.assume(n >= 1)\n", ""))
    assert notes == [
        "kept T.assume(n == 8): not proved: no two iterations of the parallel loop over i write the same element of B"
    ]
    free = text.replace("T.parallel(8)", "range(8)")
    assert gives(program(free, params), RemoveAssume(), "for i in range(8):\n    B[i % n] = A[i]") == []


def test_stores_of_undef_go() -> None:
    text = """
for i in range(8):
    B[i] = T.undef()
    if i < 3:
        B[i] = B[i] + T.undef()
B[0] = A[0]
A[1] = T.Select(A[0] > 0.0, A[2], T.undef())
"""
    rest = "B[0] = A[0]\nif A[0] > T.float32(0.0):\n    A[1] = A[2]"
    gives(program(text), RemoveStoreUndef(), rest)


def test_a_store_that_is_undefined_now_and_then_is_left_where_it_is_not() -> None:
    text = "for i in range(8):\n    B[i] = T.if_then_else(i < 4, A[i], T.undef())"
    gives(program(text), RemoveStoreUndef(), "for i in range(8):\n    if i < 4:\n        B[i] = A[i]")
    text = "for i in range(8):\n    B[i] = A[i] + T.if_then_else(i < 4, A[i], T.undef())"
    gives(program(text), RemoveStoreUndef(), text.replace("undef()", 'undef(dtype="float32")'))


def test_the_padding_block_of_a_layout_goes() -> None:
    from verified_tir import Schedule
    from verified_tir.script import tir as T

    s = Schedule(program("for i in range(8):\n    B[i] = A[i]").replace("(8,)", "(7,)").replace("range(8)", "range(7)"))
    s.transform_layout("B", lambda i: [i // 4, i % 4], pad_value=T.undef())
    gives(s, RemoveStoreUndef(), "for i in range(7):\n    B[i // 4, i % 4] = A[i]")


def test_labels_go_and_sequences_join() -> None:
    text = """
for i in range(8):
    with T.block("b"):
        vi = T.axis.spatial(8, i)
        with T.init():
            B[vi] = 0.0
        B[vi] = B[vi] + A[vi]
    with T.block("c"):
        A[i] = B[i]
"""
    theorem, _ = lowered(program(text), LowerInitBlock())
    again, records = lowered(program(text), LowerInitBlock() >> LowerInitBlock())
    assert records[1].rules == 0
    assert script(theorem.after) == script(again.after)
    gives(program(text), LowerInitBlock(), """
for i in range(8):
    B[i] = T.float32(0.0)
    B[i] = B[i] + A[i]
    A[i] = B[i]
""")  # fmt: skip


def test_simplify_runs_to_the_end() -> None:
    text = """
for i, j in T.grid(2, 4):
    for k in range(1):
        if i * 4 + j < 8 and (i * 4 + j) // 4 == i:
            B[(i * 4 + j) // 4 * 4 + (i * 4 + j) % 4 + k] = A[j * 1 + i * 4]
for k in range(0):
    B[k] = 0.0
"""
    gives(program(text), Simplify(), "for i, j in T.grid(2, 4):\n    B[4 * i + j] = A[j + i * 4]")


def test_simplify_leaves_what_may_overflow() -> None:
    params = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), n: T.int32'
    text = "T.assume(n < 100)\nB[0] = A[0] + 1 - 1\nif n + 1 > n:\n    B[1] = A[1] * 2 // 2"
    kept = "T.assume(n < 100)\nB[0] = A[0] + 1 - 1\nB[1] = A[1] * 2 // 2"
    gives(program(text, params), Simplify(), kept)  # what is loaded wraps, so that A[1] * 2 // 2 is not A[1]


def test_canonical_index_arithmetic() -> None:
    text = """
for i, j in T.grid(2, 4):
    if i * 4 + j < 7:
        B[j + i * 4] = A[i * 4 + j] + A[(i * 2 + 1) * 2 - 2 + j] + T.Cast("float32", j + i)
"""
    gives(program(text), Simplify(canonical=True), """
for i, j in T.grid(2, 4):
    if 4 * i + j < 7:
        B[4 * i + j] = A[4 * i + j] + A[4 * i + j] + T.Cast("float32", i + j)
""")  # fmt: skip
    _, records = lowered(program(text), Simplify(canonical=True) >> Simplify(canonical=True))
    assert records[1].rules == 0


def test_canonical_leaves_data() -> None:
    params = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
    text = "for i in range(8):\n    B[i] = 1 + A[i] * 2 - 1 + i"
    gives(program(text, params), Simplify(canonical=True), text)
