"""Branches and block predicates on data: choices between terms, and what they may not hide."""

from verified_tir import parse_func
from verified_tir.validate import Different, Equal, validate

BLOCK = """\
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.sblock("C"):
            vi = T.axis.spatial({domain}, i)
            T.where({predicate})
            C[vi] = A[vi] + {more}
"""


def block(predicate: str, more: int = 1, domain: str = "4"):
    return parse_func(BLOCK.format(predicate=predicate, more=more, domain=domain))


def test_a_block_predicate_on_data():
    asked = block("A[i] < 10")
    for fast in (True, False):
        assert isinstance(validate(asked, block("not (10 <= A[i])"), fast=fast).verdict, Equal)
        assert isinstance(validate(asked, block("A[i] <= 10"), fast=fast).verdict, Different)
        assert isinstance(validate(asked, block("A[i] < 10", 2), fast=fast).verdict, Different)
        assert isinstance(validate(asked, block("A[i] < 10 or i < 0"), fast=fast).verdict, Equal)
        assert isinstance(validate(asked, block("A[i] < 10 or i < 1"), fast=fast).verdict, Different)


def test_a_domain_that_is_left_where_the_predicate_holds():
    asked = block("A[i] < 10")
    assert isinstance(validate(asked, block("A[i] < 10", domain="3")).verdict, Different)
    assert isinstance(validate(asked, block("A[i] < 10 and i < 3", domain="3")).verdict, Different)
    assert isinstance(validate(block("A[i] < 10 and i < 3"), block("A[i] < 10 and i < 3", domain="3")).verdict, Equal)
    below = block("A[i] < 10", domain="3")  # undefined behaviour on a condition, of before too
    found = validate(below, below).verdict
    assert isinstance(found, Equal) and not found.vacuous
