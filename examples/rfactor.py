"""rfactor: a dot product in eight partial sums, one for each vector lane.

Integers may be summed in any order: the theorem says that every bit stays.  Floats may not.  Their example gives the
user's word and names the sum, and the theorem then promises less: the bits of some order of the same terms.
"""

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def dot_int(A: T.Buffer((250,), "int32"), B: T.Buffer((250,), "int32"), C: T.Buffer((1,), "int32")):
    for k in range(250):
        with T.block("C"):
            vk = T.axis.reduce(250, k)
            with T.init():
                C[0] = 0
            C[0] = C[0] + A[vk] * B[vk]


@T.prim_func
def dot_float(A: T.Buffer((250,), "float32"), B: T.Buffer((250,), "float32"), C: T.Buffer((1,), "float32")):
    for k in range(250):
        with T.block("C"):
            vk = T.axis.reduce(250, k)
            with T.init():
                C[0] = T.float32(0)
            C[0] = C[0] + A[vk] * B[vk]


def in_lanes(s: Schedule, reassociate: str = "") -> None:
    """Eight partial sums, computed in vector lanes and added up in the end."""
    _, lane = s.split("k", [None, 8])
    partial_sums = s.rfactor(lane, reassociate=reassociate)
    s.vectorize(s.loops(partial_sums)[-1])


@schedule(dot_int)
def integers_in_lanes(s: Schedule) -> None:
    """No word is needed."""
    in_lanes(s)


@schedule(dot_float)
def floats_in_lanes(s: Schedule) -> None:
    """The user allows the sum into C to be rounded in another order."""
    in_lanes(s, reassociate="C")


@schedule(dot_float, expect="refused")
def floats_in_lanes_without_a_word(s: Schedule) -> None:
    """Without the word there is a counterexample: other bits."""
    in_lanes(s)
