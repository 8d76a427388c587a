"""How the program calls the unknowns of a question."""

from __future__ import annotations

from verified_tir.ir.script import parse_func
from verified_tir.logic import formula as f
from verified_tir.logic.called import called
from verified_tir.logic.verdict import Obligation

PROGRAM = """
@T.prim_func
def g(A: T.Buffer((8,), "int32"), n: T.int32):
    for i, lane in T.grid(n, 2):
        A[i] = lane
"""


def test_the_second_of_one_name_has_a_prime() -> None:
    """What a buffer holds, and what the logic makes up, is not a variable; unless the program has one of that name."""
    n, one, two, a, x, lane = (f.var(t, f.INT) for t in ("n!3", "i!11", "i!9", "A!4", "x!5", "lane!6"))
    flag = f.var("p!7", f.BOOL)
    asked = Obligation("order", "claim", (f.lt(one, n), f.lt(a, x), flag), f.eq(two, lane))
    assert called(asked, parse_func(PROGRAM)) == {"n!3": "n", "lane!6": "lane", "i!9": "i", "i!11": "i'"}
    assert called(asked) == {"n!3": "n", "A!4": "A", "i!9": "i", "i!11": "i'"}
