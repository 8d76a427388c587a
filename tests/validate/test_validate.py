"""Verdicts on pairs of programs: what is equal, what is not, and each way to be wrong about it."""

import numpy as np
import pytest

from verified_tir import parse_func
from verified_tir.validate import Correspondence, Different, Equal, EqualOverReals, Report, Unknown, validate
from verified_tir.validate.verdict import Verdict

HEAD = "@T.prim_func\ndef f({params}):\n"


def program(body: str, params: str = 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")'):
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    return parse_func(HEAD.format(params=params) + lines + "\n")


def report(before: str, after: str, params: str = 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")', **more):
    one = validate(program(before, params), program(after, params), **more)
    slow = validate(program(before, params), program(after, params), fast=False, **more)
    assert type(one.verdict) is type(slow.verdict), (one.verdict, slow.verdict)
    return one


def verdict(before: str, after: str, *args, **more) -> Verdict:
    found = report(before, after, *args, **more)
    assert isinstance(found, Report)
    return found.verdict


INTS = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")'


def store(expr: str) -> str:
    return f"B[0] = {expr}"


def test_the_same_instances_in_another_order():
    found = verdict(
        "for i in range(4):\n    B[i] = A[i] * T.float32(2)",
        "for i, j in T.grid(2, 2):\n    B[3 - i - 2 * j] = A[3 - i - 2 * j] * T.float32(2)",
    )
    assert isinstance(found, Equal) and not found.vacuous


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A[0]", "A[0] + T.float32(-0.0)"),
        ("A[0]", "A[0] - T.float32(0)"),
        ("A[0]", "A[0] * T.float32(1)"),
        ("A[0] * A[1] + A[2]", "A[2] + A[1] * A[0]"),
        ("T.min(A[0], A[1])", "T.Select(A[0] < A[1], A[0], A[1])"),
        ("T.Select(A[0] != A[1], A[0], A[1])", "T.Select(A[0] == A[1], A[1], A[0])"),
    ],
)
def test_float_identities(before, after):
    assert isinstance(verdict(store(before), store(after)), Equal)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A[0]", "A[0] + T.float32(0)"),  # -0.0
        ("A[0] * T.float32(0)", "T.float32(0)"),
        ("T.float32(0)", "A[0] - A[0]"),  # NaN
        ("T.float32(0)", "T.float32(-0.0)"),
        ("T.Select(A[0] == A[0], A[1], A[2])", "A[1]"),  # NaN
        ("A[0] * T.float32(0.5) + A[1] * T.float32(0.5)", "A[0]"),
    ],
)
def test_float_identities_that_are_none(before, after):
    found = verdict(store(before), store(after))
    assert isinstance(found, Different) and found.element == "B[0]"


def test_reassociated_sums_are_equal_over_the_reals_only():
    found = verdict(store("(A[0] + A[1]) + A[2]"), store("A[0] + (A[1] + A[2])"))
    assert isinstance(found, EqualOverReals) and "B" in found.which[0]
    assert isinstance(verdict(store("A[0] + A[1] + A[2]"), store("A[0] + A[2] + A[2]")), Different)


def test_a_float_minimum_in_another_order_is_equal_over_the_reals_only():
    found = verdict(store("T.min(A[0], A[1])"), store("T.min(A[1], A[0])"))
    assert isinstance(found, EqualOverReals)
    assert isinstance(verdict(store("T.min(A[0], A[1])"), store("T.max(A[1], A[0])")), Different)


def test_integer_sums_in_another_order_are_equal():
    for one, other in (
        ("A[0] + A[1] + A[2]", "A[2] + (A[1] + A[0])"),
        ("(A[0] + A[1]) * 3", "A[0] * 3 + 3 * A[1]"),
        ("A[0] * 65536 * 65536", "0"),
        ("A[0] - A[1] - (A[0] - A[1])", "0"),
        ("T.max(A[0], T.max(A[1], A[2]))", "T.max(T.max(A[2], A[0]), A[1])"),
    ):
        assert isinstance(verdict(store(one), store(other), INTS), Equal), (one, other)
    assert isinstance(verdict(store("A[0] * 65536 * 65536"), store("A[0] * 65536 * 32768"), INTS), Different)


def test_z3_decides_small_integer_questions():
    assert isinstance(verdict(store("A[0] // 2 * 2 + A[0] % 2"), store("A[0]"), INTS), Equal)
    found = verdict(store("T.truncdiv(A[0], 2)"), store("A[0] // 2"), INTS)
    assert isinstance(found, Different) and found.element == "B[0]"


# ----------------------------------------------------------------------------------------------- ways to be wrong


def test_constants_of_several_types_and_signs_are_not_merged():
    params = 'B: T.Buffer((4,), "float32"), C: T.Buffer((1,), "int32"), D: T.Buffer((1,), "float16")'
    assert isinstance(verdict("B[0] = T.float32(0)", "B[0] = T.float32(-0.0)", params), Different)
    before = "C[0] = 1\nB[0] = T.float32(1)\nD[0] = T.float16(1)"
    assert isinstance(verdict(before, before, params), Equal)
    cast = 'B[0] = T.Cast("float32", C[0])'
    assert isinstance(verdict(cast, 'B[0] = T.Cast("float32", T.Cast("float16", C[0]))', params), Different)


def test_undef_minus_undef_is_no_zero():
    undef = 'T.undef("int32")'
    assert isinstance(verdict(store(f"{undef} - {undef}"), store("0"), INTS), Equal)
    assert not isinstance(verdict(store("0"), store(f"{undef} - {undef}"), INTS), Equal | EqualOverReals)
    shared = f"x: T.let[T.int32] = {undef}\nB[0] = x - x"
    assert isinstance(verdict(store("0"), shared, INTS), Different)


def test_undef_perhaps_is_not_dropped():
    doubtful = 'T.Select(A[0] > 0, A[1], T.undef("int32"))'
    assert isinstance(verdict(store("0"), store(f"{doubtful} - {doubtful}"), INTS), Different)
    assert isinstance(verdict(store(f"{doubtful} - {doubtful}"), store("0"), INTS), Equal)
    assert isinstance(verdict(store(doubtful), store("A[1]"), INTS), Equal)
    assert isinstance(verdict(store("A[1]"), store(doubtful), INTS), Different)


def test_undef_before_is_not_taken_for_a_value():
    before = 't = T.alloc_buffer((1,), "float32")\nB[0] = t[0]'
    assert isinstance(verdict(before, store("A[3]")), Equal)
    assert isinstance(verdict(store("A[3]"), before), Different)


def test_a_before_that_never_has_a_meaning_is_vacuous():
    for nothing in ("B[4] = T.float32(0)", "T.assume(A[0] != A[0] and A[0] == A[0])\nB[0] = T.float32(1)"):
        found = verdict(nothing, store("T.float32(2)"))
        assert isinstance(found, (Equal, Unknown)), nothing
        if isinstance(found, Equal):
            assert found.vacuous
    found = verdict("B[4] = T.float32(0)", store("T.float32(2)"))
    assert isinstance(found, Equal) and found.vacuous


def test_undefined_behaviour_that_after_adds():
    assert isinstance(verdict(store("A[0]"), "B[0] = A[0]\nB[4] = A[0]"), Different)
    assert isinstance(verdict(store("A[0] // 2"), store("A[0] // A[1] * 0 + A[0] // 2"), INTS), Different)


def test_addresses_that_wrap():
    overflow = "for i in range(1):\n    B[(i + 2147483647) + 1 - 2147483647 - 1] = A[0]"
    assert isinstance(verdict(store("A[0]"), overflow, INTS), Different)


def test_integer_division_and_comparison_know_signedness():
    params = 'A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32"), U: T.Buffer((1,), "uint32")'
    signed = "B[0] = T.Select(A[0] < 5, 1, 0)"
    unsigned = 'B[0] = T.Select(T.Cast("uint32", A[0]) < T.uint32(5), 1, 0)'
    assert isinstance(verdict(signed, unsigned, params), Different)


def test_nan_payloads_do_not_exist():
    assert isinstance(verdict(store("A[0] + A[1]"), store("A[1] + A[0]")), Equal)


def test_opaque_calls_read_and_write_memory():
    call = 'T.evaluate(T.call_extern("int32", "touch", B.data))'
    stores = "B[0] = A[0]"
    assert isinstance(verdict(f"{stores}\n{call}", f"{stores}\n{call}"), Equal)
    assert isinstance(verdict(f"{stores}\n{call}", f"{call}\n{stores}"), Unknown)
    assert isinstance(verdict(f"{call}\nB[0] = B[1]", f"B[0] = B[1]\n{call}"), Unknown)
    assert isinstance(verdict(call, f"{call}\n{call}"), Unknown)


def test_opaque_calls_with_other_pointers_differ():
    params = 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")'

    def call(what: str) -> str:
        return f'T.evaluate(T.call_extern("int32", "touch", {what}))'

    assert isinstance(verdict(call("A.data"), call("A.data"), params), Equal)
    assert isinstance(verdict(call("A.data"), call("B.data"), params), Unknown)
    assert isinstance(verdict(call("T.address_of(A[1])"), call("T.address_of(A[1])"), params), Equal)
    assert isinstance(verdict(call("T.address_of(A[1])"), call("T.address_of(A[2])"), params), Unknown)
    assert isinstance(verdict(call("A[1]"), call("A[2]"), params), Unknown)


def test_products_with_zero_keep_undef():
    doubtful = '(T.Select(A[0] > 0, A[1], T.undef("int32")))'
    assert isinstance(verdict(store("0"), store(f"{doubtful} * (A[2] - A[2])"), INTS), Different)
    assert isinstance(verdict(store("0"), store("A[1] * (A[2] - A[2])"), INTS), Equal)
    cast = 'T.Cast("int32", T.Cast("float32", T.Select(A[0] > 0, A[1], T.undef("int32"))) * T.float32(3e9))'
    assert not isinstance(verdict(store("T.Select(A[0] > 0, 0, 0)"), store(f"{cast} * 0"), INTS), Equal)


def test_a_vacuous_verdict_names_the_undefined_behaviour():
    bounds = "B is accessed out of bounds, on every input"
    for body, said in (
        ("B[4] = 1", f"vacuous: before has undefined behaviour: {bounds}"),
        ("if A[0] > 0:\n    B[4] = 1\nif A[0] < 1:\n    B[5] = 1", f"{bounds} that was tried"),
        ("T.assume(A[0] * 2 == 7)", "an assumption is false, on every input that was tried"),
    ):
        found = verdict(f"B[1] = 1\n{body}", "B[1] = 1", INTS)
        assert isinstance(found, Equal) and found.vacuous and said in str(found)
    ends = "B[1] = 1\nassert False, 'never'"
    assert "by the assertion 'never', on every input" in str(verdict(ends, ends.replace("= 1", "= 2"), INTS))
    assert verdict("B[1] = 1", "B[1] = 1", INTS).undefined == ""


def test_undefined_behaviour_on_a_condition_about_data():
    bad = "if A[0] > 0:\n    B[4] = 1"
    assert isinstance(verdict("B[1] = 1", f"B[1] = 1\n{bad}", INTS), Different)
    assert isinstance(verdict(f"B[1] = 1\n{bad}", "B[1] = 1", INTS), Equal)
    assert isinstance(verdict(f"B[1] = 1\n{bad}", f"{bad}\nB[1] = 1", INTS), Equal)
    assert isinstance(verdict(store("A[0] // A[1]"), store("A[0] // A[1]"), INTS), Equal)


def test_inputs_that_violate_an_assumption_are_no_witnesses():
    before = "T.assume(A[0] == 7)\nB[0] = A[0]"
    assert isinstance(verdict(before, store("7"), INTS), Equal)
    assert not isinstance(verdict(before, store("8"), INTS), Equal) or verdict(before, store("8"), INTS).vacuous


def test_undecided_addresses_are_unknown_without_a_difference():
    gather = "B[0] = B[A[0] % 4]"
    params = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")'
    assert isinstance(verdict(gather, gather, params), Equal)
    assert isinstance(verdict(gather, "B[0] = B[(A[0] + 1) % 4]", params), Different)
    scatter = "B[A[0] % 4] = B[0]"
    assert isinstance(verdict(scatter, scatter, params), Unknown)
    assert isinstance(verdict(scatter, "B[(A[0] + 1) % 4] = B[0]", params), Different)


# ------------------------------------------------------------------------------------------------------ branches


def test_branches_on_data_become_choices():
    before = "for i in range(4):\n    if A[i] > T.float32(0):\n        B[i] = A[i]"
    after = "for i in range(4):\n    B[i] = T.if_then_else(T.float32(0) < A[i], A[i], B[i])"
    assert isinstance(verdict(before, after), Equal)
    wrong = after.replace("T.float32(0) <", "T.float32(0) <=")
    assert isinstance(verdict(before, wrong), Different)


def test_index_maps_and_padding():
    before = program("for i in range(14):\n    A[i] = A[i] * T.float32(2)", 'A: T.Buffer((14,), "float32")')
    params = 'A: T.Buffer((4, 4), "float32")'
    over = program("for i, j in T.grid(4, 4):\n    A[i, j] = A[i, j] * T.float32(2)", params)

    def judged(padding) -> Verdict:
        return validate(before, over, maps={"A": Correspondence(lambda i: (i // 4, i % 4), padding)}).verdict

    assert isinstance(judged(0.0), Equal)
    assert isinstance(judged("undef"), Equal)
    assert isinstance(judged(1.0), Different)
    assert isinstance(judged(None), Different)
    clash = Correspondence(lambda i: (i // 8, i % 4), 0.0)
    assert isinstance(validate(before, over, maps={"A": clash}).verdict, Unknown)


def test_races_are_findings_of_their_own():
    race = "for i in T.parallel(4):\n    B[0] = A[i]"
    assert report(race, race).findings == tuple(f"{w}: race at B between iterations of i" for w in ("before", "after"))
    mixed = "for i in T.parallel(4):\n    for j in range(4):\n        B[j] = A[i] + B[0]"
    assert report(mixed, mixed).findings[1:] == ("after: race at B between iterations of i",)
    fine = "for i in T.parallel(4):\n    B[i] = A[i]"
    assert report(fine, fine).findings == ()


def test_lanes_that_conflict_are_a_finding():
    shift = "for i in T.vectorized(3):\n    B[i] = B[i + 1]"
    assert report(shift, shift).findings[0] == "before: lane conflict at B between iterations of i"
    only_reads = "for i in T.vectorized(3):\n    B[i] = A[i + 1] + A[0]"
    assert report(only_reads, only_reads).findings == ()


def test_empty_loops_and_extents_of_one():
    for extent in (0, 1):
        loop = f"for i, j in T.grid({extent}, 4):\n    B[i + j] = A[j]"
        other = f"for j, i in T.grid(4, {extent}):\n    B[j + i] = A[j]"
        found = verdict(loop, other)
        assert isinstance(found, Equal) and not found.vacuous
    assert isinstance(verdict("for i in range(0):\n    B[9] = A[0]", "T.evaluate(0)"), Equal)


def test_assertions():
    assert isinstance(verdict('assert False, "no"\nB[0] = A[0]', store("A[1]")), Unknown)
    assert isinstance(verdict('assert False, "no"\nB[0] = A[0]', 'B[0] = A[1]\nassert False, "no"'), Equal)
    assert isinstance(verdict(store("A[1]"), 'B[0] = A[1]\nassert False, "no"'), Different)
    assert isinstance(verdict(store("A[1]"), 'B[0] = A[1]\nassert True, "yes"'), Equal)


def test_the_witness_is_replayable():
    found = verdict(store("A[0]"), store("A[1]"))
    assert isinstance(found, Different)
    a = found.arguments["A"]
    assert isinstance(a, np.ndarray) and found.before == a[0] and found.after == a[1]


def test_symbols_need_sizes():
    params = 'A: T.Buffer(("n",), "int32"), n: T.int32'
    text = "@T.prim_func\ndef f(a: T.handle, n: T.int32):\n    A = T.match_buffer(a, (n,), 'int32')\n"
    one = parse_func(text + "    for i in range(n):\n        A[i] = 1\n")
    two = parse_func(text + "    for i in range(n):\n        A[n - 1 - i] = 1\n")
    assert params and isinstance(validate(one, two).verdict, Unknown)
    for n in (0, 1, 2, 7):
        assert isinstance(validate(one, two, sizes={"n": n}).verdict, Equal)
