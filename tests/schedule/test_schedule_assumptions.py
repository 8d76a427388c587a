"""What ``Schedule.assumptions`` says: every axiom in a sentence, and no sentence about nothing."""

from __future__ import annotations

from verified_tir import Schedule

COPY = """
@T.prim_func
def copy(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, {width}), "float32")
    B = T.match_buffer(b, (n, {width}), "float32")
    for i, j in T.grid(n, {width}):
        B[i, j] = A[i, j]
"""
FILLED = """
@T.prim_func
def fill(A: T.Buffer((8,), "int32")):
{body}
"""
ARRAYS = "A, B hold definite values, and what is written overlaps no other argument"
SYMBOL = "0 <= n <= 2147418112, and so for every number of elements"


def filled(*body: str) -> list[str]:
    return Schedule(FILLED.format(body="\n".join(f"    {line}" for line in body))).assumptions


def test_arrays_and_symbols() -> None:
    assert Schedule(COPY.format(width=16)).assumptions == [ARRAYS, SYMBOL]


def test_one_array_holds_and_overlaps_nothing() -> None:
    assert filled("for i in range(8):", "    A[i] = i") == ["A holds definite values"]


def test_no_array() -> None:
    text = '@T.prim_func\ndef f():\n    t = T.alloc_buffer((1,), "int32")\n    t[0] = 0\n'
    assert Schedule(text).assumptions == ["the function has no arrays"]


def test_padding_that_there_is_none_of_is_not_mentioned() -> None:
    for pad in (0.0, None):
        s = Schedule(COPY.format(width=16))
        s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=pad)
        assert s.assumptions == [ARRAYS, SYMBOL]


def test_padding_is_described_where_it_is() -> None:
    s = Schedule(COPY.format(width=14))
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=0.0)
    said = s.assumptions
    assert said[:2] == [ARRAYS, SYMBOL]
    (padding,) = said[2:]
    assert padding.startswith("A[")
    assert "== T.float32(0.0) where" in padding
    assert "T.bool" not in padding


def test_definite_values_but_for_forbidden_padding() -> None:
    s = Schedule(COPY.format(width=14))
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=None)
    assert s.assumptions[0] == ARRAYS.replace("values", "values but for their padding")
    assert "is touched by nobody where" in s.assumptions[-1]
    one = Schedule(FILLED.format(body="    for i in range(8):\n        A[i] = i"))
    one.transform_layout("A", lambda i: [i // 3, i % 3], pad_value=None)
    assert one.assumptions[0] == "A holds definite values but for its padding"


def test_an_extent_that_is_an_expression() -> None:
    text = COPY.format(width="n - 1")
    said = Schedule(text).assumptions
    assert said == [ARRAYS, SYMBOL, SYMBOL.replace("<= n <=", "<= n - 1 <=")]


def test_wide_and_narrow_symbols() -> None:
    wide = Schedule(COPY.format(width=4).replace("n: T.int32", "n: T.int64")).assumptions
    assert wide[1].startswith(f"0 <= n <= {2**47}, ")


def test_what_is_assumed_is_said_with_what_is_around_it() -> None:
    said = filled(
        "T.assume(A[0] >= 0)",
        "for i in range(8):",
        "    if A[i] > 5:",
        "        T.assume(A[i] < 7 and A[i] != 6)",
        "    else:",
        "        T.assume(A[i] <= 5)",
        "for j in range(2, 5):",
        "    T.assume(A[j] == 3)",
    )
    assert said[1:] == [
        "A[0] >= 0 (T.assume in the program)",
        "A[i] < 7, for i in range(8), if A[i] > 5 (T.assume in the program)",
        "A[i] != 6, for i in range(8), if A[i] > 5 (T.assume in the program)",
        "A[i] <= 5, for i in range(8), unless A[i] > 5 (T.assume in the program)",
        "A[j] == 3, for j in range(2, 5) (T.assume in the program)",
    ]


def test_an_assumption_of_accessibility_is_no_comparison() -> None:
    said = filled('T.assume(A[3] == T.undef("int32"))')
    assert said[1:] == ["A[3] is accessible (T.assume in the program)"]
