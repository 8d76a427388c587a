"""From NHWC to NCHWc, for constant and for symbolic shapes (RFC 39)."""

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def relu(A: T.Buffer((1, 28, 28, 64), "float32"), B: T.Buffer((1, 28, 28, 64), "float32")):
    for n, h, w, c in T.grid(1, 28, 28, 64):
        B[n, h, w, c] = T.max(A[n, h, w, c], T.float32(0))


@schedule(relu)
def constant_shape(s: Schedule) -> None:
    """64 channels are 16 blocks of 4: no padding, and the loops follow the new layout."""
    for name in ("A", "B"):
        s.transform_layout(name, lambda n, h, w, c: [n, c // 4, h, w, c % 4])
    n, c_outer, h, w, c_inner = s.sequential_buffer_access("B")
    s.vectorize(c_inner)
    s.parallel(c_outer)


@T.prim_func
def relu_symbolic(a: T.handle, b: T.handle, N: T.int32, H: T.int32, W: T.int32, C: T.int32):
    A = T.match_buffer(a, (N, H, W, C), "float32")
    B = T.match_buffer(b, (N, H, W, C), "float32")
    for n, h, w, c in T.grid(N, H, W, C):
        B[n, h, w, c] = T.max(A[n, h, w, c], T.float32(0))


@schedule(relu_symbolic)
def symbolic_shape(s: Schedule) -> None:
    """C need not be a multiple of 4.  What stands in the padding of either array does not matter: T.undef()."""
    for name in ("A", "B"):
        s.transform_layout(name, lambda n, h, w, c: [n, c // 4, h, w, c % 4], pad_value=T.undef())
    *_, c_inner = s.sequential_buffer_access("B")
    s.remove_branching_through_overcompute()
    s.vectorize(c_inner)
