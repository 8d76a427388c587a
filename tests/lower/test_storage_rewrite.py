"""StorageRewrite: buffers that are not alive at the same time share memory."""

from __future__ import annotations

import pytest

from tests.lower.lower_support import body_of, gives, lowered
from tests.lower.test_removals import program
from verified_tir.lower.storage_rewrite import StorageRewrite

TWO = """
t = T.alloc_buffer((8,), "float32")
u = T.alloc_buffer((4,), "float64")
for i in range(8):
    t[i] = A[i]
for i in range(8):
    B[i] = t[i]
for i in range(4):
    u[i] = T.Cast("float64", B[i])
for i in range(4):
    A[i] = T.Cast("float32", u[i])
"""


def test_sizes_and_types() -> None:
    gives(program(TWO), StorageRewrite(), """
t_u = T.alloc_buffer((4,), "float64")
with T.decl_buffer((8,), "float32", data=t_u.data) as t:
    for i in range(8):
        t[i] = A[i]
    for i in range(8):
        B[i] = t[i]
u = T.decl_buffer((4,), "float64", data=t_u.data)
for i in range(4):
    u[i] = T.Cast("float64", B[i])
for i in range(4):
    A[i] = T.Cast("float32", u[i])
""")  # fmt: skip
    _, records = lowered(program(TWO), StorageRewrite() >> StorageRewrite())
    assert records[1].after is records[0].after and records[1].rules == 0


def test_buffers_alive_together_do_not_share() -> None:
    text = TWO.replace('u[i] = T.Cast("float64", B[i])', 'u[i] = T.Cast("float64", t[i])')
    theorem, _ = lowered(program(text), StorageRewrite())
    assert "data=" not in body_of(theorem)


def test_out_of_serial_loops_only() -> None:
    text = """
for k in {}(8):
    t = T.alloc_buffer((8,), "float32")
    t[k] = A[k]
    A[k] = t[k] + 1.0
for k in range(8):
    u = T.alloc_buffer((8,), "float32")
    u[k] = A[k]
    B[k] = u[k] + 1.0
"""
    theorem, _ = lowered(program(text.format("range")), StorageRewrite())
    assert body_of(theorem).startswith('t_u = T.alloc_buffer((8,), "float32")\n')
    theorem, _ = lowered(program(text.format("T.parallel")), StorageRewrite())
    assert "data=" not in body_of(theorem) and body_of(theorem).startswith("for k in T.parallel(8):\n    t = ")


def test_symbolic_sizes_must_be_the_same() -> None:
    params = 'A: T.Buffer(("n",), "float32"), B: T.Buffer((n,), "float32"), n: T.int32'
    text = """
t = T.alloc_buffer((n,), "float32")
u = T.alloc_buffer(({},), "float32")
for i in range(n):
    t[i] = A[i]
    B[i] = t[i]
for i in range(n):
    u[i] = A[i]
    B[i] = u[i] * 2.0
"""
    theorem, _ = lowered(program(text.format("n"), params), StorageRewrite())
    assert body_of(theorem).startswith('t_u = T.alloc_buffer((n,), "float32")\n')
    theorem, _ = lowered(program(text.format("n + 1"), params), StorageRewrite())
    assert "data=" not in body_of(theorem)


def test_several_physical_axes_and_scopes() -> None:
    text = """
t = T.alloc_buffer((2, 4), "float32", axis_separators=[1]{})
u = T.alloc_buffer((4, 2), "float32", axis_separators=[1])
for i in range(2):
    t[i, 0] = A[i]
    B[i] = t[i, 0]
for i in range(2):
    u[i, 0] = A[i]
    A[i] = u[i, 0]
"""
    theorem, _ = lowered(program(text.format("")), StorageRewrite())
    assert 'T.decl_buffer((2, 4), "float32", data=t_u.data, axis_separators=[1])' in body_of(theorem)
    theorem, _ = lowered(program(text.format(', scope="shared"')), StorageRewrite())
    assert "data=" not in body_of(theorem)


def test_what_the_one_left_is_not_seen_by_the_other() -> None:
    """u is read before it is written: undefined, whatever t left there.  (The interpreter compares what is defined.)"""
    text = """
t = T.alloc_buffer((1,), "float32")
u = T.alloc_buffer((1,), "float32")
t[0] = A[0]
B[0] = t[0]
B[1] = u[0]
u[0] = A[1]
B[2] = u[0]
"""
    theorem, _ = lowered(program(text), StorageRewrite())
    assert body_of(theorem).count("data=t_u.data") == 2


THREE = """
t = T.alloc_buffer((4,), "float32"{})
u = T.alloc_buffer((8,), "float32")
w = T.alloc_buffer((2,), "float32")
for i in range(4):
    t[i] = A[i]
    B[i] = t[i]
for i in range(8):
    u[i] = A[i]
    B[i] = u[i] * 2.0
for i in range(2):
    w[i] = B[i]
    B[i] = w[i] + 1.0
"""


def test_the_block_is_as_large_as_the_largest() -> None:
    theorem, _ = lowered(program(THREE.format("")), StorageRewrite())
    assert body_of(theorem).startswith('t_u_w = T.alloc_buffer((8,), "float32")\n')


def test_a_buffer_of_another_scope_keeps_the_others_from_nothing() -> None:
    theorem, _ = lowered(program(THREE.format(', scope="shared"')), StorageRewrite())
    text = body_of(theorem)
    assert 'u_w = T.alloc_buffer((8,), "float32")' in text and "t_" not in text
    assert 'T.alloc_buffer((4,), "float32", scope="shared")' in text


CHAIN = """
t = T.alloc_buffer((8,), "float32")
u = T.alloc_buffer((8,), "float32")
v = T.alloc_buffer((8,), "float32")
for i in range(8):
    t[i] = A[i]
for i in range(8):
    u[i] = T.float32(2.0) * t[{0}]
for i in range(8):
    v[i] = T.float32(3.0) * u[{0}]
for i in range(8):
    B[i] = v[i]
"""


def test_a_buffer_is_reused_in_place() -> None:
    gives(program(CHAIN.format("i")), StorageRewrite(), """
v = T.alloc_buffer((8,), "float32")
for i in range(8):
    v[i] = A[i]
for i in range(8):
    v[i] = T.float32(2.0) * v[i]
for i in range(8):
    v[i] = T.float32(3.0) * v[i]
for i in range(8):
    B[i] = v[i]
""")  # fmt: skip


@pytest.mark.nightly
def test_lifetimes_that_cross() -> None:
    """The first and the last of three share, though both overlap the one between."""
    shared = CHAIN.format("7 - i").replace(
        "".join(f'{name} = T.alloc_buffer((8,), "float32")\n' for name in "tuv"),
        'u = T.alloc_buffer((8,), "float32")\nt_v = T.alloc_buffer((8,), "float32")\n'
        't = T.decl_buffer((8,), "float32", data=t_v.data)\nv = T.decl_buffer((8,), "float32", data=t_v.data)\n',
    )
    gives(program(CHAIN.format("7 - i")), StorageRewrite(), shared)
    later = CHAIN.format("7 - i").replace("B[i] = v[i]", "B[i] = v[i] + t[i]")
    theorem, _ = lowered(program(later), StorageRewrite())
    assert "data=" not in body_of(theorem)


def test_what_is_read_again_is_not_reused() -> None:
    text = CHAIN.format("i").replace("B[i] = v[i]", "B[i] = v[i] + t[i] + u[i]")
    theorem, _ = lowered(program(text), StorageRewrite())
    assert body_of(theorem).count("alloc_buffer") == 3


def test_views_and_unused_blocks() -> None:
    text = """
t_data = T.alloc_buffer((16,), "float32")
t = T.decl_buffer((4, 4), "float32", data=t_data.data)
unused = T.alloc_buffer((16,), "float32")
for i in range(4):
    t[i, 0] = A[i]
for i in range(4):
    B[i] = t[i, 0]
"""
    gives(program(text), StorageRewrite(), """
t = T.alloc_buffer((4, 4), "float32")
for i in range(4):
    t[i, 0] = A[i]
for i in range(4):
    B[i] = t[i, 0]
""")  # fmt: skip
