"""A block was made of a nest in which a let is an index: its region was to be proved in terms of that let.

Outside of the nest the variable is not known, and the tactic crashed.  (Found by a campaign; made smaller by hand.)
"""

from verified_tir import Schedule

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), P: T.Buffer((8,), "int32")):
    for i in range(2):
        for j in range(4):
            with T.sblock("b"):
                x: T.let[T.int32] = T.min(T.max(P[i * 4 + j], 0), 7)
                B[i * 4 + j] = A[x]
"""


def test_what_such_a_block_reads_is_the_whole_buffer() -> None:
    s = Schedule(PROGRAM)
    s.blockize(s.loops()[1], name="outer")
    assert '"reads": ["P[4 * i:4 * i + 4]", "A[0:8]"], "writes": ["B[4 * i:4 * i + 4]"]' in s.script()
