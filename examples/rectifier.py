"""A rectifier over any number of elements: vectors of 64 lanes whose tail is masked, on all threads.

`vtir lower examples/rectifier.py:vectors_with_a_masked_tail --print-after VectorizeLoop` shows the masks.
"""

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def relu(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = T.max(A[i], T.float32(0))


@schedule(relu)
def vectors_with_a_masked_tail(s: Schedule) -> None:
    """Chunks of 65,536 elements for the threads, vectors of 64 lanes in each."""
    chunk, _, lanes = s.split("i", [None, 1024, 64])
    s.parallel(chunk)
    s.vectorize(lanes)
