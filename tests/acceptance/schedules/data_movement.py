"""Transposes, gathers and scatters with provable indices, bit reversal, concatenation, strided slices, padding."""

from __future__ import annotations

import numpy as np

from tests.acceptance.textbook import textbook
from verified_tir import Schedule
from verified_tir.script import tir as T


@T.prim_func
def transpose(A: T.Buffer((32, 24), "float32"), B: T.Buffer((24, 32), "float32")):
    for i, j in T.grid(24, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]


@textbook(transpose, reference=lambda A: {"B": A.T})
def transpose_through_a_tile(s: Schedule) -> None:
    """Tiles of 8 by 8 through local memory: read along rows, stored along rows."""
    i, j = s.get_loops("B")
    i0, j0, i1, j1 = s.tile(i, j, factors=[8, 8])
    tile = s.cache_read("B", "A", "local", j0)
    s.vectorize(j1)
    s.vectorize(s.get_loops(tile)[-1])
    s.parallel(i0)


@textbook(transpose, reference=lambda A: {"B": A.T})
def transpose_shared_by_threads(s: Schedule) -> None:
    """The GPU's transpose: a padded shared tile, loaded and stored by the same threads."""
    i, j = s.get_loops("B")
    i0, j0, i1, j1 = s.tile(i, j, factors=[8, 8])
    tile = s.cache_read("B", "A", "shared", j0)
    s.transform_layout(tile, lambda y, x: [y, x], shape=[8, 9], pad_value=T.undef())
    s.bind(i0, "blockIdx.y")
    s.bind(j0, "blockIdx.x")
    s.unroll(i1)
    s.vectorize(j1)


@T.prim_func
def transpose_in_place(A: T.Buffer((16, 16), "float32")):
    for i in range(16):
        for j in range(i):
            with T.block("swap"):
                x: T.let[T.float32] = A[i, j]
                A[i, j] = A[j, i]
                A[j, i] = x


@textbook(transpose_in_place, reference=lambda A: {"A": A.T})
def triangle_in_parallel(s: Schedule) -> None:
    """Each pair of elements is swapped in one iteration: rows in parallel, in blocks of four."""
    i, j = s.get_loops("swap")
    s.parallel(i)
    i0, i1 = s.split(i, factors=[None, 4])
    s.unroll(i1)


@T.prim_func
def symbolic_transpose(a: T.handle, b: T.handle):
    m, n = T.int32(), T.int32()
    A = T.match_buffer(a, (m, n), "int32")
    B = T.match_buffer(b, (n, m), "int32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]


@textbook(symbolic_transpose, reference=lambda A: {"B": A.T}, sizes={"m": 9, "n": 13})
def symbolic_transpose_in_tiles(s: Schedule) -> None:
    """Tiles of an unknown matrix; the window at the border is smaller."""
    i, j = s.get_loops("B")
    i0, j0, i1, j1 = s.tile(i, j, factors=[4, 4])
    s.parallel(i0)
    s.cache_read("B", "A", "local", j0)
    s.cache_write("B", "B", "local", j0)


@T.prim_func
def gather(A: T.Buffer((30, 8), "float32"), index: T.Buffer((12,), "int32"), B: T.Buffer((12, 8), "float32")):
    for i, j in T.grid(12, 8):
        with T.block("B"):
            B[i, j] = A[T.min(T.max(index[i], 0), 29), j]


@textbook(gather, reference=lambda A, index: {"B": A[np.clip(index, 0, 29)]})
def clamped_gather(s: Schedule) -> None:
    """The clamped index once in each row, rows in vectors."""
    i, j = s.get_loops("B")
    s.cache_read("B", "index", "local", i)
    s.bind_expr("B", "T.min(T.max(index_local[0], 0), 29)", "row")
    s.vectorize(j)
    s.parallel(i)


@T.prim_func
def scatter_rows(A: T.Buffer((12, 8), "float32"), index: T.Buffer((12,), "int32"), B: T.Buffer((30, 8), "float32")):
    for i in range(12):
        T.assume(0 <= index[i] and index[i] < 30)
    for i, j in T.grid(12, 8):
        with T.block("B"):
            B[index[i], j] = A[i, j]


def scatter_numpy(A: np.ndarray, index: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    for i in range(12):
        B[index[i]] = A[i]
    return {"B": B}


@textbook(scatter_rows, reference=scatter_numpy,
          draw=lambda rng: {"index": rng.integers(0, 30, 12, dtype=np.int32)})  # fmt: skip
def scatter_columns_in_lanes(s: Schedule) -> None:
    """Two rows may go to one place, so rows stay in order; columns are independent, even outermost."""
    i, j = s.get_loops("B")
    j0, j1 = s.split(j, factors=[None, 4])
    s.reorder(j0, i, j1)
    s.parallel(j0)
    s.vectorize(j1)


@T.prim_func
def permute_by_table(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    place = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("iota"):
            place[i] = 15 - i
    for i in range(16):
        with T.block("B"):
            B[place[i]] = A[i]


@textbook(permute_by_table, reference=lambda A: {"B": A[::-1]})
def table_of_places_inlined(s: Schedule) -> None:
    """The table is computed by the program: its contents are known, so the scatter may run in parallel."""
    s.parallel(s.get_loops("B")[0])
    s.vectorize(s.get_loops("iota")[0])
    s.compute_inline("iota")
    s.simplify()


@T.prim_func
def scatter_add(V: T.Buffer((20,), "int32"), index: T.Buffer((20,), "int32"), B: T.Buffer((10,), "int32")):
    for i in range(20):
        T.assume(index[i] >= 0 and index[i] < 10)
    for i in range(20):
        with T.block("B"):
            B[index[i]] = B[index[i]] + V[i]


def scatter_add_numpy(V: np.ndarray, index: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    np.add.at(B, index, V)
    return {"B": B}


@textbook(scatter_add, reference=scatter_add_numpy,
          draw=lambda rng: {"index": rng.integers(0, 10, 20, dtype=np.int32)})  # fmt: skip
def scatter_add_on_a_copy(s: Schedule) -> None:
    """In chunks, on a local copy of the bins."""
    (i,) = s.get_loops("B")
    i0, i1 = s.split(i, factors=[None, 4])
    s.cache_write("B", "B", "local")
    s.cache_read("B", "V", "local", i0)
    s.unroll(i1)


@T.prim_func
def bit_reversal(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for i in range(32):
        with T.block("B"):
            B[i] = A[i % 2 * 16 + i // 2 % 2 * 8 + i // 4 % 2 * 4 + i // 8 % 2 * 2 + i // 16]


REVERSED = np.array([int(f"{i:05b}"[::-1], 2) for i in range(32)])


@textbook(bit_reversal, reference=lambda A: {"B": A[REVERSED]})
def bits_as_loops(s: Schedule) -> None:
    """Five loops of two: reversal is a transposition; then the loops follow the source."""
    (i,) = s.get_loops("B")
    b4, b3, b2, b1, b0 = s.split(i, factors=[2, 2, 2, 2, 2])
    s.simplify()
    s.reorder(b0, b1, b2, b3, b4)
    s.fuse(b0, b1)
    s.parallel(s.get_loops("B")[0])


@textbook(bit_reversal, reference=lambda A: {"B": A[REVERSED]})
def reversed_in_a_layout(s: Schedule) -> None:
    """The source in five dimensions instead: its layout makes the index simple."""
    s.transform_layout("A", lambda k: [k // 16, k // 8 % 2, k // 4 % 2, k // 2 % 2, k % 2])
    s.simplify()
    s.sequential_buffer_access("A")


@T.prim_func
def concatenate(A: T.Buffer((4, 10), "float32"), B: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 16), "float32")):
    for i, j in T.grid(4, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(vj < 10, A[vi, vj], B[vi, vj - 10])


@textbook(concatenate, reference=lambda A, B: {"C": np.concatenate([A, B], axis=1)})
def concatenation_without_conditions(s: Schedule) -> None:
    """The loop cut where the operands meet; each part then copies without a question."""
    i, j = s.get_loops("C")
    s.parallel(i)
    first, second = s.partition(j, 10)
    s.simplify()
    s.vectorize(first)
    s.vectorize(second)


@T.prim_func
def slice_and_reverse(A: T.Buffer((20, 20), "int32"), B: T.Buffer((6, 9), "int32")):
    for i, j in T.grid(6, 9):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[3 * vi + 1, 19 - 2 * vj]


@textbook(slice_and_reverse, reference=lambda A: {"B": A[1:19:3, 19:2:-2]})
def strided_slice_backwards(s: Schedule) -> None:
    """Strides of three and minus two; the region that is staged is the bounding box."""
    i, j = s.get_loops("B")
    s.reorder(j, i)
    s.cache_read("B", "A", "local", j)
    s.parallel(j)
    s.vectorize(i)


@T.prim_func
def space_to_depth(A: T.Buffer((4, 8, 8), "float32"), B: T.Buffer((16, 4, 4), "float32")):
    for c, h, w in T.grid(16, 4, 4):
        with T.block("B"):
            vc, vh, vw = T.axis.remap("SSS", [c, h, w])
            B[vc, vh, vw] = A[vc % 4, vh * 2 + vc // 8, vw * 2 + vc // 4 % 2]


def space_to_depth_numpy(A: np.ndarray) -> dict[str, np.ndarray]:
    return {"B": A.reshape(4, 4, 2, 4, 2).transpose(2, 4, 0, 1, 3).reshape(16, 4, 4)}


@textbook(space_to_depth, reference=space_to_depth_numpy)
def blocks_of_pixels(s: Schedule) -> None:
    """The channel split into the three indices that it encodes, pixels of the source in sequence."""
    c, h, w = s.get_loops("B")
    y, x, c = s.split(c, factors=[2, 2, 4])
    s.simplify()
    s.reorder(c, h, y, w, x)
    s.parallel(c)
    s.unroll(x)


@T.prim_func
def reflect_pad(A: T.Buffer((3, 10), "float32"), B: T.Buffer((3, 14), "float32")):
    for i, j in T.grid(3, 14):
        with T.block("B"):
            B[i, j] = A[i, T.if_then_else(j < 2, 2 - j, T.if_then_else(j < 12, j - 2, 20 - j))]


@textbook(reflect_pad, reference=lambda A: {"B": np.pad(A, ((0, 0), (2, 2)), mode="reflect")})
def reflection_in_three_parts(s: Schedule) -> None:
    """Borders and interior apart."""
    i, j = s.get_loops("B")
    left, rest = s.partition(j, 2)
    middle, right = s.partition(rest, 12)
    s.simplify()
    s.vectorize(middle)
    s.unroll(left)
    s.unroll(right)
    s.parallel(i)


@T.prim_func
def roll(A: T.Buffer((20,), "float32"), B: T.Buffer((20,), "float32")):
    for i in range(20):
        with T.block("B"):
            B[(i + 7) % 20] = A[i]


@textbook(roll, reference=lambda A: {"B": np.roll(A, 7)})
def rolled_in_parallel(s: Schedule) -> None:
    """Every element goes to a place of its own, whatever the modulus."""
    (i,) = s.get_loops("B")
    s.parallel(i)
    s.sequential_buffer_access("B")


@T.prim_func
def one_hot(label: T.Buffer((6,), "int32"), H: T.Buffer((6, 10), "float32")):
    for i, c in T.grid(6, 10):
        with T.block("H"):
            vi, vc = T.axis.remap("SS", [i, c])
            H[vi, vc] = T.if_then_else(label[vi] == vc, T.float32(1), T.float32(0))


@textbook(one_hot, reference=lambda label: {"H": np.eye(10, dtype=np.float32)[label]},
          draw=lambda rng: {"label": rng.integers(0, 10, 6, dtype=np.int32)})  # fmt: skip
def one_hot_rows(s: Schedule) -> None:
    """The label in a register, classes in lanes."""
    i, c = s.get_loops("H")
    s.cache_read("H", "label", "local", i)
    c0, c1 = s.split(c, factors=[None, 5])
    s.vectorize(c1)
    s.parallel(i)
