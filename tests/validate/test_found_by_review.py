"""Wrong verdicts that a review found, the smallest pair for each."""

import pytest

from verified_tir import parse_func
from verified_tir.logic.solver import Solver
from verified_tir.validate import Correspondence, Different, Equal, EqualInPart, Unknown, validate
from verified_tir.validate.demand import compare_on_demand
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import Terms

COUNTS = 'N: T.Buffer((5,), "int32")'
WIDE = 'A: T.Buffer((1,), "uint64"), n: T.uint64'


def program(params: str, *lines: str):
    return parse_func("\n".join(["@T.prim_func(s_tir=True)", f"def f({params}):", *["    " + line for line in lines]]))


def verdict(params, before, after, **options):
    return validate(program(params, *before), program(params, *after), **options).verdict


@pytest.mark.parametrize("fast", [True, False])
def test_bounds_of_an_inner_loop_that_an_earlier_iteration_of_the_outer_one_wrote(fast):
    before = [
        "for z in range(5):",
        "    N[z] = 1",
        "for i in range(3):",
        "    for j in range(N[i]):",
        "        N[i + 1] = 0",
    ]  # the second iteration of i is empty, so the third is not
    right, wrong = ([f"N[{k}] = {v}" for k, v in enumerate(digits)] for digits in ("10101", "10001"))
    assert isinstance(verdict(COUNTS, before, right, fast=fast), Equal)
    assert isinstance(verdict(COUNTS, before, wrong, fast=fast), Different)


def test_index_arithmetic_that_leaves_uint64():
    most = {"n": 2**63 - 1}
    assert isinstance(verdict(WIDE, ["A[0] = n"], ["A[0] = n + n - n"], sizes=most), Equal)
    assert isinstance(verdict(WIDE, ["A[0] = n"], ["A[0] = n + n + n - n - n"], sizes=most), Different)
    below = ["A[0] = T.uint64(1) - T.uint64(2) + T.uint64(1)"]
    assert isinstance(verdict(WIDE, ["A[0] = T.uint64(0)"], below, sizes=most), Different)
    top = ["A[0] = T.shift_left(n, T.uint64(1))"]
    assert isinstance(verdict(WIDE, top, top, sizes={"n": 2**62}), Equal)


def test_sizes_of_uint64_from_2_to_the_63_on():
    assert isinstance(verdict(WIDE, ["A[0] = n"], ["A[0] = n + T.uint64(0)"], sizes={"n": 2**63}), Equal)
    assert isinstance(verdict(WIDE, ["A[0] = n"], ["A[0] = n + n - n"], sizes={"n": 2**63}), Different)
    assert isinstance(verdict(WIDE, ["A[0] = n"], ["A[0] = n"], sizes={"n": 2**64}), Unknown)
    assert isinstance(on_demand(WIDE, ["A[0] = n"], ["A[0] = n + T.uint64(0)"], {"n": 2**63}), EqualInPart)
    assert isinstance(on_demand(WIDE, ["A[0] = n"], ["A[0] = n + n - n"], {"n": 2**63}), Different)
    assert isinstance(on_demand(WIDE, ["A[0] = n"], ["A[0] = n"], {"n": 2**64}), Unknown)


def test_loops_over_uint64():
    once = ["for i in range({}):", "    A[0] = T.uint64(3)"]
    many = [once[0].format("T.uint64(9223372036854775808)"), once[1]]
    assert isinstance(verdict(WIDE, [once[0].format(4), once[1]], [once[0].format("T.uint64(4)"), once[1]]), Equal)
    assert isinstance(verdict(WIDE, many, ["A[0] = A[0]"]), Unknown)  # it is no loop without iterations


def test_index_arithmetic_that_overflows_if_a_bool_parameter_is_true():
    params = 'A: T.Buffer((1,), "int32"), c: T.bool, n: T.int32'
    before, after = ["A[0] = T.Select(c, n, 0)"], ["A[0] = T.Select(c, n, 0) + 1 - 1"]
    assert isinstance(verdict(params, before, before, sizes={"n": 2**31 - 1}), Equal)
    assert isinstance(verdict(params, before, after, sizes={"n": 2**31 - 1}), Different)


def test_bools_in_order():
    params = 'A: T.Buffer((2,), "bool"), B: T.Buffer((2,), "bool")'
    less = ["A[0] = A[0] < B[0]", "A[1] = A[1] <= B[1]"]
    assert isinstance(verdict(params, less, ["A[0] = not A[0] and B[0]", "A[1] = not A[1] or B[1]"]), Equal)
    assert isinstance(verdict(params, less, ["A[0] = A[0] and not B[0]", "A[1] = not A[1] or B[1]"]), Different)


def test_integer_parameters_that_trade_names():
    """Parameters correspond by position."""
    params = 'A: T.Buffer((1,), "int32"), {}: T.int32, {}: T.int32'
    before = program(params.format("m", "n"), "A[0] = m")
    traded, renamed = (program(params.format(*names), f"A[0] = {names[1]}") for names in ("nm", "xy"))
    again = program(params.format("n", "m"), "A[0] = n + 0")
    assert isinstance(validate(before, traded, sizes={"m": 2, "n": 7}).verdict, Different)
    assert isinstance(validate(before, renamed, sizes={"m": 2, "n": 7, "x": 2, "y": 2}).verdict, Different)
    assert isinstance(validate(before, again, sizes={"m": 2, "n": 7}).verdict, Equal)


def on_demand(params, before, after, sizes):
    pair = program(params, *before), program(params, *after)
    return compare_on_demand(*pair, sizes, {}, Builder(Terms()), Solver(budget=300_000), budget=10**6)


def test_assertions_of_programs_that_are_evaluated_on_demand():
    params = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), n: T.int32'
    plain, asserting = ["B[0] = A[0]"], ['assert n > 5, "too small"', "B[0] = A[0]"]
    inside = ["if n > 7:", '    assert n > 9, "too small"', "B[0] = A[0]"]
    assert isinstance(on_demand(params, plain, asserting, {"n": 6}), EqualInPart)
    assert isinstance(on_demand(params, plain, asserting, {"n": 5}), Unknown)
    assert isinstance(on_demand(params, plain, inside, {"n": 5}), EqualInPart)
    assert isinstance(on_demand(params, plain, inside, {"n": 8}), Unknown)
    ended = on_demand(params, asserting, ["B[0] = A[1]"], {"n": 5})
    assert isinstance(ended, Equal)
    assert ended.vacuous  # before ends on every input; what memory holds then is unspecified


def test_padding_that_is_undef_where_a_value_is_owed():
    before = program('A: T.Buffer((6,), "float32")', "A[0] = A[0]")
    after = program('A: T.Buffer((2, 4), "float32")', "A[1, 3] = T.undef('float32')")
    for owed in (0.0, 2.0):
        maps = {"A": Correspondence(lambda i: (i // 4, i % 4), padding=owed)}
        found = validate(before, after, maps=maps).verdict
        assert isinstance(found, Different)
        assert (found.element, found.before, found.after) == ("the padding of A", owed, None)
