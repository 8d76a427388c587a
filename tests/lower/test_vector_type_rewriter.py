"""VectorTypeRewriter: ramps of stride 1 as scalar indices into views of vectors."""

from __future__ import annotations

import pytest

from tests.lower.lower_support import body_of, gives, lowered
from tests.lower.test_removals import program
from verified_tir.lower.expression import PipelineError, parse_pipeline
from verified_tir.lower.flatten_buffer import FlattenBuffer
from verified_tir.lower.passes import Pipeline
from verified_tir.lower.vector_type_rewriter import VectorTypeRewriter
from verified_tir.lower.vectorize_loop import VectorizeLoop

COPY = "for i in range(4):\n    B[i * 4:i * 4 + 4] = A[i * 4:i * 4 + 4]"
SIXTEEN = 'A: T.Buffer((16,), "float32"), B: T.Buffer((18,), "float32")'


def test_a_copy() -> None:
    gives(program(COPY, SIXTEEN), VectorTypeRewriter(), """
A_float32x4 = T.decl_buffer((4,), "float32x4", data=A.data)
B_float32x4 = T.decl_buffer((4,), "float32x4", data=B.data)
for i in range(4):
    B_float32x4[i] = A_float32x4[i]
""")  # fmt: skip
    _, records = lowered(program(COPY, SIXTEEN), VectorTypeRewriter() >> VectorTypeRewriter())
    assert records[1].after is records[0].after


def test_the_whole_way() -> None:
    text = """
t = T.alloc_buffer((8,), "float32")
for i in range(16):
    for j in T.vectorized(4):
        t[j] = X[i, j] + T.float32(1.0)
    if i * 4 + 4 <= n:
        for j in T.vectorized(4):
            Z[i * 4 + j] = t[j]
"""
    params = 'X: T.Buffer((16, 4), "float32"), Z: T.Buffer(("n",), "float32"), n: T.int32'
    gives(program(text, params), FlattenBuffer() >> VectorizeLoop() >> VectorTypeRewriter(), """
Z_float32x4 = T.decl_buffer((n // 4,), "float32x4", data=Z.data)
X_float32x4 = T.decl_buffer((16,), "float32x4", data=X.data)
t = T.alloc_buffer((8,), "float32")
t_float32x4 = T.decl_buffer((2,), "float32x4", data=t.data)
for i in range(16):
    t_float32x4[0] = X_float32x4[i] + T.Broadcast(T.float32(1.0), 4)
    if i * 4 + 4 <= n:
        Z_float32x4[i] = t_float32x4[0]
""")  # fmt: skip


@pytest.mark.parametrize("access", ["A[i * 4 + 1:i * 4 + 5]", "A[T.Ramp(i * 4 + 3, -1, 4)]", "A[T.Ramp(i, 4, 4)]"])
def test_other_ramps_stay(access: str) -> None:
    text = f"for i in range(3):\n    B[i * 4:i * 4 + 4] = {access}"
    theorem, (record,) = lowered(program(text, SIXTEEN), VectorTypeRewriter())
    assert "A_float32x4" not in str(theorem.after)
    assert len(record.notes) == (1 if "Ramp" not in access else 0)
    for note in record.notes:
        assert note.startswith("A[T.Ramp(i * 4 + 1, 1, 4)] keeps its ramp: not proved: the load of A_float32x4 reads")


def test_several_numbers_of_lanes_and_masks() -> None:
    mask = "predicate=T.Ramp(n, 1, 4) < T.Broadcast(2, 4)"
    masked = f"B.vstore([T.Ramp(4, 1, 4)], A.vload([T.Ramp(4, 1, 4)], {mask}), {mask})"
    text = f"T.assume(n < 9)\nB[0:4] = A[0:4]\nB[8:16] = A[8:16]\n{masked}"
    whole = program(text, SIXTEEN + ", n: T.int32")
    theorem, _ = lowered(whole, VectorTypeRewriter())
    lines = body_of(theorem).split("\n")
    assert 'A_float32x8 = T.decl_buffer((2,), "float32x8", data=A.data)' in lines
    assert "B_float32x4[0] = A_float32x4[0]" in lines and "B_float32x8[1] = A_float32x8[1]" in lines
    assert lines[-1].startswith("B.vstore([T.Ramp(4, 1, 4)], A.vload(")


def test_without_pointer_casts() -> None:
    text = """
t = T.alloc_buffer((8,), "float32")
u = T.alloc_buffer((8,), "float32")
for i in range(4):
    t[4:8] = A[i * 4:i * 4 + 4]
    u[0:4] = A[0:4]
    B[i * 4:i * 4 + 4] = t[4:8]
    B[0] = u[1]
"""
    notes = gives(program(text, SIXTEEN), VectorTypeRewriter(pointer_casts=False), """
t = T.alloc_buffer((2,), "float32x4")
u = T.alloc_buffer((8,), "float32")
for i in range(4):
    t[1] = A[T.Ramp(i * 4, 1, 4)]
    u[0:4] = A[T.Ramp(0, 1, 4)]
    B[i * 4:i * 4 + 4] = t[1]
    B[0] = u[1]
""")  # fmt: skip
    assert notes == [
        "u stays an array of float32: it is accessed in several ways",
        "A stays an array of float32: its caller decides the type of its elements; declare it with "
        'elements of type "float32x4"',
        "B stays an array of float32: it is accessed in several ways",
    ]


@pytest.mark.parametrize("target", ["vulkan", "webgpu", "cuda", "llvm"])
def test_the_target_decides(target: str) -> None:
    """RFC on vectorized TIR: a pass introduces casts of pointers only if the target supports them."""
    theorem, _ = lowered(program(COPY, SIXTEEN), VectorTypeRewriter(target=target))
    assert ("data=A.data" in body_of(theorem)) == (target in ("cuda", "llvm"))
    assert parse_pipeline(f'VectorTypeRewriter(target="{target}")') == Pipeline(VectorTypeRewriter(target=target))


def test_a_target_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="'gpu' is not a target; there are c, cuda"):
        VectorTypeRewriter(target="gpu")
    with pytest.raises(PipelineError, match="'gpu' is not a target"):
        parse_pipeline("VectorTypeRewriter(target='gpu')")


def test_parameters_of_vectors_need_no_cast_and_casts_of_the_program_are_named() -> None:
    vectors = 'A: T.Buffer((4,), "float32x4"), B: T.Buffer((16,), "float32")'
    text = """
V = T.decl_buffer((4,), "float32x4", data=B.data)
for i in range(4):
    V[i] = A[i]
"""
    notes = gives(program(text, vectors), VectorTypeRewriter(target="vulkan"), text)
    assert notes == ["V sees B (float32) as float32x4: a pointer cast, which the target does not have"]
    assert gives(program(text, vectors), VectorTypeRewriter(target="cuda"), text) == []


def test_buffers_that_are_left_alone() -> None:
    for params in (
        'A: T.Buffer((4,), "float32x4"), B: T.Buffer((4,), "float32x4")',
        'A: T.Buffer((16,), "float32", strides=[1]), B: T.Buffer((16,), "float32", strides=[1])',
    ):
        body = "B[0:4] = A[0:4]"
        _, (record,) = lowered(program(body, params), VectorTypeRewriter())
        assert record.rules == 0
