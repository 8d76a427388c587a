"""FlattenBuffer: one physical index, or as many as the axis separators ask for."""

from __future__ import annotations

import pytest

from tests.lower.lower_support import body_of, gives, lowered
from verified_tir import Schedule, script
from verified_tir.lower.flatten_buffer import FlattenBuffer


def program(body: str, params: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return f"@T.prim_func\ndef f({params}):\n{lines}\n"


def test_rfc_63() -> None:
    """RFC 63, "Removing pre-flattened buffer": the calling convention is unchanged."""
    text = program("for i, j in T.grid(2, 3):\n    X[i, j] = T.float32(0.0)", 'X: T.Buffer((2, 3), "float32")')
    theorem, _ = lowered(text, FlattenBuffer())
    assert (
        script(theorem.after).split("\n\n")[1]
        == """\
@T.prim_func(s_tir=True)
def f(X: T.Buffer((2, 3), "float32")):
    X_flattened = T.decl_buffer((6,), "float32", data=X.data)
    for i, j in T.grid(2, 3):
        X_flattened[i * 3 + j] = T.float32(0.0)"""
    )


ALL = program(
    """
t = T.alloc_buffer((2, 3, 4), "float32")
for i, j in T.grid(2, 3):
    t[i, j, 3] = X[i, j]
    X[i, j] = t[i, j, 3]
    if i < n and j < m:
        Y[i, j, 0:4] = Y[i, j, T.Broadcast(0, 4)]
""",
    'X: T.Buffer((2, 3), "float32"), Y: T.Buffer(("n", "m", 4), "float32", axis_separators=[2]), '
    "n: T.int32, m: T.int32",
)


def test_locals_symbols_separators_and_vector_indices() -> None:
    gives(ALL, FlattenBuffer(), """
X_flattened = T.decl_buffer((6,), "float32", data=X.data)
Y_flattened = T.decl_buffer((n * m, 4), "float32", data=Y.data, axis_separators=[1])
t = T.alloc_buffer((24,), "float32")
for i, j in T.grid(2, 3):
    t[i * 12 + j * 4 + 3] = X_flattened[i * 3 + j]
    X_flattened[i * 3 + j] = t[i * 12 + j * 4 + 3]
    if i < n and j < m:
        Y_flattened[i * m + j, 0:4] = Y_flattened[i * m + j, T.Broadcast(0, 4)]
""")  # fmt: skip


def test_flattening_twice_changes_nothing() -> None:
    _, (first, second) = lowered(ALL, FlattenBuffer() >> FlattenBuffer())
    assert first.rules > 0 and second.rules == 0
    assert second.after is first.after


def test_scalars_and_views() -> None:
    text = program("""
t = T.alloc_buffer((), "float32")
V = T.decl_buffer((2, 2), "float32", data=B.data, elem_offset=4)
t[()] = X[()]
V[1, 1] = t[()]
B[0] = V[1, 0]
""", 'X: T.Buffer((), "float32"), B: T.Buffer((8,), "float32")')  # fmt: skip
    gives(text, FlattenBuffer(), """
X_flattened = T.decl_buffer((1,), "float32", data=X.data)
t = T.alloc_buffer((1,), "float32")
V = T.decl_buffer((4,), "float32", data=B.data, elem_offset=4)
t[0] = X_flattened[0]
V[3] = t[0]
B[0] = V[2]
""")  # fmt: skip


def test_views_of_a_local_block() -> None:
    text = program("""
t = T.alloc_buffer((4, 4), "float32")
v = T.decl_buffer((2, 8), "float32", data=t.data)
for i, j in T.grid(4, 4):
    t[i, j] = B[i]
B[0] = v[1, 7]
""", 'B: T.Buffer((8,), "float32")')  # fmt: skip
    gives(text, FlattenBuffer(), """
t = T.alloc_buffer((16,), "float32")
v = T.decl_buffer((16,), "float32", data=t.data)
for i, j in T.grid(4, 4):
    t[i * 4 + j] = B[i]
B[0] = v[15]
""")  # fmt: skip


@pytest.mark.parametrize(
    ("separators", "shape"),
    [("[]", "(120,)"), ("[2]", "(6, 20)"), ("[1, 3]", "(2, 12, 5)"), ("[1, 2, 3]", "(2, 3, 4, 5)"),
     ("[0]", "(1, 120)"), ("[4]", "(120, 1)"), ("[2, 2]", "(6, 1, 20)")],
)  # fmt: skip
def test_groups_of_axes(separators: str, shape: str) -> None:
    """The lists of the RFC's section on ``te.AXIS_SEPARATOR``, and separators at the ends."""
    text = program(f'x = T.alloc_buffer((2, 3, 4, 5), "float32", axis_separators={separators})\n'
                   "for i, j, k, l in T.grid(2, 3, 4, 5):\n    x[i, j, k, l] = B[l]\nB[0] = x[1, 2, 3, 4]",
                   'B: T.Buffer((5,), "float32")')  # fmt: skip
    theorem, records = lowered(text, FlattenBuffer() >> FlattenBuffer())
    assert f"x = T.alloc_buffer({shape}," in body_of(theorem)
    assert records[1].rules == 0


def test_int32_that_might_overflow_becomes_int64() -> None:
    text = program(
        "B[0] = X[65535 - n % 2, 65535]", 'X: T.Buffer((65536, 65536), "int8"), B: T.Buffer((1,), "int8"), n: T.int32'
    )
    notes: list[str] = []
    after = FlattenBuffer().run(Schedule(text), after=lambda r: notes.extend(r.notes))
    assert body_of(after).split("\n") == [
        'X_flattened = T.decl_buffer((T.int64(4294967296),), "int8", data=X.data)',
        'B[0] = X_flattened[T.Cast("int64", 65535 - n % 2) * T.int64(65536) + T.int64(65535)]',
    ]
    assert notes == ["X: flat indices are computed in int64, since int32 may not hold them"]


def test_int64_stays() -> None:
    text = program('for i, j in T.grid(T.int64(2), T.int64(3)):\n    X[i, j] = T.float32(0.0)',
                   'X: T.Buffer((T.int64(2), T.int64(3)), "float32")')  # fmt: skip
    theorem, records = lowered(text, FlattenBuffer())
    assert "X_flattened[i * T.int64(3) + j] = " in body_of(theorem)
    assert records[0].notes == ()


def test_strides_are_kept_and_said_so() -> None:
    text = """
@T.prim_func
def f(x: T.handle, B: T.Buffer((4,), "float32")):
    X = T.match_buffer(x, (4, 3), "float32", strides=[8, 1])
    for i, j in T.grid(4, 3):
        X[i, j] = B[i]
"""
    theorem, records = lowered(text, FlattenBuffer())
    assert "X[i, j] = B[i]" in body_of(theorem)
    assert records[0].notes[0].startswith("X has strides and keeps its dimensions: ")


def test_loads_in_indices_move_too() -> None:
    text = program("for i in range(4):\n    if P[i, 0] >= 0 and P[i, 0] < 4:\n"
                   "        X[P[i, 0], P[P[i, 0], 1] % 2] = 1",
                   'P: T.Buffer((4, 2), "int32"), X: T.Buffer((4, 2), "int32")')  # fmt: skip
    theorem, _ = lowered(text, FlattenBuffer())
    assert " X[" not in body_of(theorem) and "P[" not in body_of(theorem).replace("P_flattened[", "")
    assert "X_flattened[P_flattened[i * 2] * 2 + P_flattened[P_flattened[i * 2] * 2 + 1] % 2] = 1" in body_of(theorem)
