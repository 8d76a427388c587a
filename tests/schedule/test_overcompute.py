"""remove_branching_through_overcompute: each way of doing no harm, with a neighbour that does (RFC 77)."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import accepted, not_applicable, refused
from verified_tir import Refuted, Schedule, script
from verified_tir.schedule.tactics.hoist import HoistConditional

LARGEST = "3.4028234663852886e+38"


def text(params: str, body: str) -> str:
    return f"@T.prim_func\ndef f({params}):\n" + "".join(f"    {line}\n" for line in body.strip("\n").splitlines())


def buffers(**of: str) -> str:
    """``A="4x4 int32"`` as parameters."""
    parts = {name: what.split() for name, what in of.items()}
    return ", ".join(f'{n}: T.Buffer(({s.replace("x", ", ")},), "{t}")' for n, (s, t) in parts.items())


def overcompute(s: Schedule) -> int:
    return s.remove_branching_through_overcompute()


def body(s: Schedule) -> str:
    return script(s.func.body)


NO_OP = "the inserted store to B writes the bits that are there already"

# ------------------------------------------------------------------------------------------- neutral elements of sums

REDUCTION = """
for i, j in T.grid(4, 4):
    T.assume(4 * i + j < 14 or A[i, j] == {pad})
{assume}
B[0] = {start}
for i, j in T.grid(4, 4):
    if 4 * i + j < 14:
        B[0] = {update}
"""


def reduction(dtype: str, pad: str, start: str, update: str, assume: str = "", out: str = "") -> str:
    params = buffers(A=f"4x4 {dtype}", W=f"4x4 {dtype}", B=f"1 {out or dtype}")
    return text(params, REDUCTION.format(pad=pad, start=start, update=update, assume=assume))


INT8 = 'T.Cast("int32", W[i, j]) * T.Cast("int32", A[i, j])'
FINITE = f"for i, j in T.grid(4, 4):\n    T.assume(-{LARGEST} <= W[i, j] and W[i, j] <= {LARGEST})"
NUMBER = "for i, j in T.grid(4, 4):\n    T.assume(A[i, j] == A[i, j])"
INF = 'T.float32("inf")'
NEGATIVE = 'T.float32("-inf")'

HARMLESS = {
    "sum": reduction("int32", "0", "0", "B[0] + A[i, j]"),
    "product with an unknown factor": reduction("int32", "0", "0", "B[0] + W[i, j] * A[i, j]"),
    "int8 times int8": reduction("int8", "T.int8(0)", "0", f"B[0] + {INT8}", out="int32"),
    "uint8": reduction("uint8", "T.uint8(0)", "T.uint8(0)", "B[0] + W[i, j] * A[i, j]"),
    "int64": reduction("int64", "T.int64(0)", "T.int64(0)", "B[0] + A[i, j] * W[i, j]"),
    "float sum": reduction("float32", "0.0", "0.0", "B[0] + A[i, j]"),
    "float sum of negative zeros": reduction("float32", "-0.0", "0.0", "B[0] + A[i, j]"),
    "float sum of finite products": reduction("float32", "0.0", "0.0", "B[0] + W[i, j] * A[i, j]", FINITE),
    "float product": reduction("float32", "1.0", "-0.0", "B[0] * A[i, j]"),
    "int product": reduction("int32", "1", "1", "B[0] * A[i, j]"),
    "int maximum": reduction("int32", "-2147483648", "-5", "T.max(B[0], A[i, j])"),
    "float maximum, the padding first": reduction("float32", NEGATIVE, NEGATIVE, "T.max(A[i, j], B[0])"),
    "float minimum, the padding first": reduction("float32", INF, "-0.0", "T.min(A[i, j], B[0])"),
    "float maximum of numbers": reduction("float32", NEGATIVE, NEGATIVE, "T.max(B[0], A[i, j])", NUMBER),
    "and": reduction("bool", "T.bool(True)", "T.bool(True)", "B[0] and A[i, j]"),
    "or": reduction("bool", "T.bool(False)", "T.bool(False)", "A[i, j] or B[0]"),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", HARMLESS)
def test_neutral_elements(name: str) -> None:
    s = accepted(HARMLESS[name], overcompute)
    assert "if 4 * i + j < 14" not in body(s)
    assert len(s.steps) == 2


HARMFUL = {
    "another padding": reduction("int32", "1", "0", "B[0] + A[i, j]"),
    "the product is not added to": reduction("int32", "0", "1", "B[0] * A[i, j] + W[i, j]"),
    "zero times infinity": reduction("float32", "0.0", "0.0", "B[0] + W[i, j] * A[i, j]"),
    "a NaN is lost": reduction("float32", NEGATIVE, NEGATIVE, "T.max(B[0], A[i, j])"),
    "the maximum of the least": reduction("int32", "-2147483647", "-2147483648", "T.max(B[0], A[i, j])"),
    "or": reduction("bool", "T.bool(True)", "T.bool(False)", "B[0] or A[i, j]"),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", HARMFUL)
def test_no_neutral_element(name: str) -> None:
    refused(HARMFUL[name], overcompute, NO_OP)


def test_a_sum_that_may_be_a_negative_zero() -> None:
    plain = "B[0] = {start}\nfor i in range(14):\n    B[0] = B[0] + A[i]"

    def steps(s: Schedule) -> None:
        s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0.0)
        s.sequential_buffer_access("A")
        s.remove_branching_through_overcompute()

    params = buffers(A="14 float32", B="1 float32")
    accepted(text(params, plain.format(start="0.0")), steps)
    refused(text(params, plain.format(start="-0.0")), steps, NO_OP)


# ------------------------------------------------------------------------------------ what a later statement overwrites

CONVOLUTION = """
with T.block("compute"):
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[io, ii] = 0.0
            for f in range(3):
                B[io, ii] = B[io, ii] + A[io + (ii + f) // 4, (ii + f) % 4]
{between}
with T.block("padding"):
    for io, ii in T.grid(4, 4):
        if io == 3 and ii >= {first}:
            B[io, ii] = 0.0
"""


def convolution(between: str = "", first: int = 2, rows: int = 5) -> str:
    params = buffers(A=f"{rows}x4 float32", B="4x4 float32", C="4x4 float32")
    return text(params, CONVOLUTION.format(between=between, first=first))


def test_the_example_of_the_rfc_with_room_for_what_it_reads() -> None:
    s = accepted(convolution(), lambda s: s.remove_branching_through_overcompute("compute"))
    assert body(s) == (
        'with T.sblock("compute"):\n    for io, ii in T.grid(4, 4):\n        B[io, ii] = T.float32(0.0)\n'
        "        for f in range(3):\n            B[io, ii] = B[io, ii] + A[io + (ii + f) // 4, (ii + f) % 4]\n"
        'with T.sblock("padding"):\n    for io, ii in T.grid(4, 4):\n        if io == 3 and ii >= 2:\n'
        "            B[io, ii] = T.float32(0.0)"
    )


def test_what_stands_between_reads_other_elements() -> None:
    s = accepted(convolution("C[0, 0] = B[3, 1]"), overcompute)
    assert "if 4 * io" not in body(s)


def test_the_example_of_the_rfc_reads_past_the_end() -> None:
    refused(convolution(rows=4), overcompute, "in bounds")
    s = accepted(convolution(rows=4), lambda s: s.remove_branching_through_overcompute(wrap_indices=True))
    assert "A[(io + (ii + f) // 4) % 4, (ii + f) % 4]" in body(s)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("program", "claim"),
    [
        (convolution("C[0, 0] = B[3, 2]"), "no later read sees it"),
        (convolution("C[0, 0] = B[3, 3] * 0.0"), "no later read sees it"),
        (convolution(first=3), NO_OP),
    ],
)
def test_what_is_not_overwritten_or_read_before(program: str, claim: str) -> None:
    refused(program, overcompute, claim)


def test_padding_that_is_undefined_afterwards() -> None:
    params = buffers(A="4x4 int32", B="4x4 int32")
    element_wise = """
for i, j in T.grid(4, 4):
    if 4 * i + j < 14:
        B[i, j] = 2 * A[i, j]
for i, j in T.grid(4, 4):
    if 4 * i + j >= 14:
        B[i, j] = T.undef("int32")
"""
    s = accepted(text(params, element_wise), overcompute)
    assert body(s).startswith("for i, j in T.grid(4, 4):\n    B[i, j] = 2 * A[i, j]\n")


def test_within_a_nest_of_labels_guards_and_other_statements() -> None:
    params = buffers(A="8 int32", B="8 int32", C="8 int32") + ", n: T.int32"
    program = """
with T.block("outer"):
    for i in range(8):
        C[i] = i
        if n > 3:
            with T.block("inner"):
                if i < 6:
                    B[i] = A[i]
        C[i] = C[i] + 1
for i in range(8):
    if i >= 6:
        B[i] = 1
"""
    s = accepted(text(params, program), overcompute)
    assert body(s).startswith(
        'with T.sblock("outer"):\n    for i in range(8):\n        C[i] = i\n        if n > 3:\n'
        '            with T.sblock("inner"):\n                B[i] = A[i]\n        C[i] = C[i] + 1\n'
    )
    refused(text(params, program.replace("C[i] = C[i] + 1", "C[i] = B[i]")), overcompute, NO_OP)


def test_overwritten_in_the_same_iteration() -> None:
    params = buffers(A="8 int32", B="8 int32")
    program = "for i in range(8):\n    if A[i] > 0:\n        B[i] = B[i] + 1\n    B[i] = {value}"
    s = accepted(text(params, program.format(value="A[i]")), overcompute)
    assert body(s) == "for i in range(8):\n    B[i] = B[i] + 1\n    B[i] = A[i]"
    refused(text(params, program.format(value="B[i]")), overcompute, "no later read sees it")


# --------------------------------------------------------------------------------------------------------- equal arms

ARMS = """
for i, j in T.grid(4, 4):
    T.assume(4 * i + j < 14 or A[i, j] == 0)
for i, j in T.grid(4, 4):
    if 4 * i + j {op} 14:
        {one}
    else:
        {other}
"""


@pytest.mark.sample(6)
@pytest.mark.parametrize(("op", "order"), [("<", 1), (">=", -1)])
@pytest.mark.parametrize(
    ("long", "short", "claim"),
    [
        ("B[i, j] = A[i, j] * W[i, j]", "B[i, j] = 0", ""),
        ("B[i, j] = T.max(A[i, j], 3)", "B[i, j] = 3", ""),
        ("B[i, j] = W[i, j] // (T.max(A[i, j], 0) + 1)", "B[i, j] = W[i, j]", ""),
        ("B[i, j] = A[i, j] * W[i, j]", "B[i, j] = 1", "A[i, j] * W[i, j] equals 1"),
        ("B[i, j] = A[i, j] + W[i, j]", "B[i, j] = W[j, i]", "A[i, j] + W[i, j] equals W[j, i]"),
        ("B[i, j] = W[i, j] // T.min(A[i, j] * A[i, j] + 1, 1)", "B[i, j] = W[i, j] + 1", "equals W[i, j] + 1"),
    ],
)
def test_one_arm_is_the_other_simplified(op: str, order: int, long: str, short: str, claim: str) -> None:
    one, other = (long, short)[::order]
    params = buffers(A="4x4 int32", W="4x4 int32", B="4x4 int32")
    program = text(params, ARMS.format(op=op, one=one, other=other))
    if claim:
        with pytest.raises(Refuted) as refusal:
            overcompute(Schedule(program))
        assert refusal.value.confirmed
        return
    s = accepted(program, overcompute)
    assert "if 4 * i + j" not in body(s)
    assert long in body(s)


def test_an_arm_is_not_put_where_it_is_unsafe() -> None:
    params = buffers(A="4x4 int32", W="4x4 int32", B="4x4 int32")
    arms = ARMS.format(op="<", one="B[i, j] = W[i, j] // A[i, j]", other="B[i, j] = W[i, j]")
    program = text(
        params, arms.replace("A[i, j] == 0)", "A[i, j] == 0)\n    T.assume(4 * i + j >= 14 or A[i, j] == 1)")
    )
    with pytest.raises(Refuted) as refusal:  # the other way round all is well: a quotient by 1 is the number
        Schedule(program.replace("A[i, j] == 1)", "A[i, j] == 2)")).remove_branching_through_overcompute()
    assert refusal.value.confirmed
    assert "W[i, j] // A[i, j]" not in body(accepted(program, overcompute))


def test_arms_that_differ_in_statements() -> None:
    params = buffers(A="4x4 int32", W="3 int32", B="4x4 int32")
    long = "B[i, j] = 0\n        for f in range(3):\n            B[i, j] = B[i, j] + A[i, j] * W[f]"
    program = text(params, ARMS.format(op="<", one=long, other="B[i, j] = 0"))
    s = accepted(program, overcompute)
    assert body(s).endswith(
        "for i, j in T.grid(4, 4):\n    B[i, j] = 0\n    for f in range(3):\n        B[i, j] = B[i, j] + A[i, j] * W[f]"
    )
    not_applicable(
        text(params, ARMS.format(op="<", one=long, other="B[i, j] = 5")),
        overcompute,
        "the branch does something else where its condition is false",
    )


# ------------------------------------------------------------------------------------------------ several conditions


def test_conditions_go_one_by_one() -> None:
    params = buffers(A="4x4 int32", B="1 int32") + ", n: T.int32"
    program = """
for i, j in T.grid(4, 4):
    T.assume(4 * i + j < 14 or A[i, j] == 0)
for i, j in T.grid(4, 4):
    if i < n and 4 * i + j < 14 and j != 1:
        B[0] = B[0] + A[i, j]
"""
    s = Schedule(text(params, program))
    assert overcompute(s) == 1
    assert "if i < n and j != 1:\n        B[0] = B[0] + A[i, j]" in body(s)
    with pytest.raises(Refuted) as refusal:
        overcompute(s)
    assert refusal.value.confirmed


def test_only_in_a_block() -> None:
    params = buffers(A="4x4 int32", B="2 int32")
    program = """
for i, j in T.grid(4, 4):
    T.assume(4 * i + j < 14 or A[i, j] == 0)
for i, j in T.grid(4, 4):
    with T.block("first"):
        if 4 * i + j < 14:
            B[0] = B[0] + A[i, j]
    with T.block("second"):
        if 4 * i + j < 14:
            B[1] = B[1] + A[i, j]
"""
    s = Schedule(text(params, program))
    assert s.remove_branching_through_overcompute("second") == 1
    assert body(s).count("if ") == 1
    assert s.remove_branching_through_overcompute(block="first") == 1
    not_applicable(text(params, "B[0] = 1"), overcompute, "there is no branch to remove")
    not_applicable(text(params, program), lambda s: s.remove_branching_through_overcompute("third"), "no block called")


# ------------------------------------------------------------------------------- the implicit default of the RFC

FILTER = f"for fi in range(3):\n    T.assume(-{LARGEST} <= F[fi] and F[fi] <= {LARGEST})"
IMPLICIT = """
for io, ii in T.grid(3, 8):
    T.assume((io == 0 and ii >= 2) or io == 1 or (io == 2 and ii < 2) or A[io, ii] == 0.0)
{assume}
for io, ii in T.grid(3, 8):
    B[io, ii] = 0.0
for io, ii in T.grid(3, 8):
    for fi in range(3):
        if (
            (not (io == 0 and ii < 2))
            and (not (io == 2 and ii >= 2))
            and (not (io == 0 and ii + fi < 2))
            and (not (io == 2 and ii + fi >= 4))
        ):
            B[io + (ii + fi) // 8, (ii + fi) % 8] = B[io + (ii + fi) // 8, (ii + fi) % 8] + F[fi] * A[io, ii]
"""
CONV = buffers(A="3x8 float32", F="3 float32", B="3x8 float32")


@pytest.mark.nightly
def test_the_convolution_whose_padding_writes_itself() -> None:
    def steps(s: Schedule) -> None:
        s.hoist_expression(HoistConditional.BOOLEAN_EXPRESSION)
        s.simplify()
        assert body(s).split("for io in range(3):\n")[1] == (
            "    if io == 0:\n        for ii in range(8):\n            if ii >= 2:\n"
            "                for fi in range(3):\n"
            f"                    {update}\n"
            "    elif io == 2:\n        for ii in range(8):\n            if ii < 2:\n"
            "                for fi in range(3):\n"
            f"                    {update}\n"
            f"    else:\n        for ii, fi in T.grid(8, 3):\n            {update}"
        )
        s.remove_branching_through_overcompute(wrap_indices=True)

    place = "B[io + (ii + fi) // 8, (ii + fi) % 8]"
    update = f"{place} = {place} + F[fi] * A[io, ii]"
    s = accepted(text(CONV, IMPLICIT.format(assume=FILTER)), steps)
    wrapped = "B[(io + (ii + fi) // 8) % 3, (ii + fi) % 8]"
    assert body(s).endswith(f"for io, ii, fi in T.grid(3, 8, 3):\n    {wrapped} = {wrapped} + F[fi] * A[io, ii]")


@pytest.mark.nightly
def test_a_filter_that_may_be_infinite() -> None:
    def steps(s: Schedule) -> None:
        assert s.remove_branching_through_overcompute(wrap_indices=True) == 2  # what the other two imply
        s.remove_branching_through_overcompute(wrap_indices=True)

    refused(text(CONV, IMPLICIT.format(assume="")), steps, NO_OP)


READABLE = """
for io, ii in T.grid(3, 8):
    T.assume((io == 0 and ii >= 2) or io == 1 or (io == 2 and ii < 2) or A[io, ii] == 0.0)
{assume}
for io, ii in T.grid(3, 8):
    B[io, ii] = 0.0
for io in range(3):
    if io == 0:
        for ii in range(8):
            for fi in range(3):
                if ii >= 2 or ii + fi >= 2:
                    B[io, (ii + fi) % 8] = B[io, (ii + fi) % 8] + F[fi] * A[io, ii]
"""


@pytest.mark.nightly
def test_what_is_added_from_padding_is_no_operation() -> None:
    """The steps of the RFC after its conditions were joined by ``or``: hoisted, without effect, and overcomputed."""
    update = "B[io, (ii + fi) % 8] = B[io, (ii + fi) % 8] + F[fi] * A[io, ii]"

    def steps(s: Schedule) -> None:
        assert s.hoist_expression(HoistConditional.BOOLEAN_EXPRESSION) == 1
        assert body(s).endswith(
            "            if ii >= 2:\n                for fi in range(3):\n"
            f"                    {update}\n"
            "            else:\n                for fi in range(3):\n                    if ii + fi >= 2:\n"
            f"                        {update}"
        )
        s.remove_no_op()
        assert body(s).endswith(
            f"            if ii >= 2:\n                for fi in range(3):\n                    {update}"
        )
        assert s.remove_branching_through_overcompute() == 1  # not where io is 1: that is not padding

    s = accepted(text(CONV, READABLE.format(assume=FILTER)), steps)
    assert body(s).endswith(f"    if io == 0:\n        for ii, fi in T.grid(8, 3):\n            {update}")
    unknown = Schedule(text(CONV, READABLE.format(assume="")))
    unknown.hoist_expression(HoistConditional.BOOLEAN_EXPRESSION)
    unknown.remove_no_op()
    assert "if ii + fi >= 2" in body(unknown)
