"""fuse_reduction_epilogue: what is added to a finished sum, in the nest of the sum."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import Steps, accepted, not_applicable, refused
from verified_tir import Schedule, parse_func
from verified_tir.validate import Equal, validate

PRODUCT = """
@T.prim_func
def product(A: T.Buffer((4, 6), "{t}"), B: T.Buffer((5, 6), "{t}"), C: T.Buffer((4, 5), "{t}"), D: T.Buffer((4, 5), "{t}")):
    P = T.alloc_buffer((4, 5), "{t}")
    for i, j, k in T.grid(4, 5, 6):
        with T.block("P"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                P[vi, vj] = {start}
            P[vi, vj] = {update}
    for x, y in T.grid(4, 5):
        with T.block("D"):
            D[x, y] = {value}
"""  # noqa: E501
SUM = "P[vi, vj] + A[vi, vk] * B[vj, vk]"


def product(value: str = "P[x, y] + C[x, y]", t: str = "int32", update: str = SUM) -> str:
    return PRODUCT.format(value=value, t=t, start=f"T.{t}(0)", update=update)


def fused(s: Schedule) -> None:
    s.fuse_reduction_epilogue("P", "D")


def body(s: Schedule) -> str:
    return s.script().split("):\n", 1)[1].rstrip("\n")


@pytest.mark.parametrize("t", ["int32", "float32"])
def test_the_epilogue_follows_its_sum(t: str) -> None:
    s = accepted(product(t=t), fused)
    assert (
        body(s)
        == f"""\
    for i, j in T.grid(4, 5):
        P = T.alloc_buffer((1, 1), "{t}")
        for k in range(6):
            with T.sblock("P"):
                if k == 0:
                    P[0, 0] = {"0" if t == "int32" else "T.float32(0.0)"}
                P[0, 0] = P[0, 0] + A[i, k] * B[j, k]
        with T.sblock("D"):
            D[i, j] = P[0, 0] + C[i, j]"""
    )


def test_it_is_what_tvm_makes_of_integers() -> None:
    tvm = """
@T.prim_func
def product(A: T.Buffer((4, 6), "int32"), B: T.Buffer((5, 6), "int32"), C: T.Buffer((4, 5), "int32"), D: T.Buffer((4, 5), "int32")):
    for i, j, k in T.grid(4, 5, 6):
        with T.block("P"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[vi, vj] = C[vi, vj]
            D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vj, vk]
"""  # noqa: E501
    s = Schedule(product())
    fused(s)
    assert isinstance(validate(s.func, parse_func(tvm)).verdict, Equal)


@pytest.mark.parametrize(
    ("value", "update"),
    [
        ("C[x, y] + P[x, y]", SUM),
        ("T.max(P[x, y], C[x, y])", "T.max(P[vi, vj], A[vi, vk] * B[vj, vk])"),
        ("P[x, y] * 3", "A[vi, vk] * P[vi, vj]"),
    ],
)
def test_the_operation_is_that_of_the_reduction(value: str, update: str) -> None:
    accepted(product(value, update=update), fused)


def test_tiles_of_the_sum_and_another_order_of_the_result() -> None:
    transposed = product("P[y, x] + C[y, x]").replace("D: T.Buffer((4, 5)", "D: T.Buffer((5, 4)")
    transposed = transposed.replace(
        'T.grid(4, 5):\n        with T.block("D")', 'T.grid(5, 4):\n        with T.block("D")'
    )

    def steps(s: Schedule) -> None:
        s.split("k", [2, 3])
        fused(s)

    s = accepted(transposed, steps)
    assert [v.name for v in s.loops("D")] == ["i", "j"]


CLIPPED = "T.min(T.max(P[x, y], {0}(-5)), {0}(5))"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("value", "t"),
    [
        (CLIPPED.format("T.float32"), "float32"),
        (CLIPPED.format("T.int32"), "int32"),
        ("T.max(P[x, y] + C[x, y], T.float32(0))", "float32"),
        ("P[x, y] * 2 + C[x, y]", "int32"),
        ("(P[x, y] + C[x, y]) * (P[x, y] + 1)", "int32"),
    ],
)
def test_what_is_done_to_every_partial_sum_is_another_program(value: str, t: str) -> None:
    """TVM accepts the first three, and changes what they compute."""
    refusal = not_applicable(product(value, t), fused, "block D does more to the result of P than its own operation")
    assert "before, " in refusal.reason and "(confirmed)" in refusal.reason
    accepted(product(value, t), lambda s: s.reverse_compute_at("D", "j"))


@pytest.mark.nightly
@pytest.mark.parametrize(("rows", "words"), [(4, "(confirmed)"), (64, "(confirmed), where low = -1.0, high = 0.0")])
def test_bounds_that_are_passed(rows: int, words: str) -> None:
    program = product("T.min(T.max(P[x, y], low), high)", "float32").replace("(4, ", f"({rows}, ")
    program = program.replace("):\n    P =", ", low: T.float32, high: T.float32):\n    P =")
    assert "Use reverse_compute_at" in not_applicable(program, fused, words).reason


@pytest.mark.parametrize(
    ("program", "steps", "words"),
    [
        (product(), lambda s: s.fuse_reduction_epilogue("D", "P"), "block D is not an initialisation and an update"),
        (product(), lambda s: s.fuse_reduction_epilogue("P", "P"), "block P is not one store to another buffer than P"),
        (product("C[x, y]"), fused, "block D reads 0 elements of P; an epilogue reads one"),
        (product("P[x, y] + P[3 - x, y]"), fused, "block D reads 2 elements of P"),
        (product(), lambda s: s.fuse_reduction_epilogue("P", "Q"), "there is no block called 'Q'"),
        (product(), lambda s: s.fuse_reduction_epilogue(1, "D"), "a block is given by its name, not by 1"),  # type: ignore[arg-type]
        (product(), lambda s: (s.reorder("k", "j"), fused(s)), "reorder the loops of the sum to the inside first"),
        (product(), lambda s: (s.decompose_reduction("P", "k"), fused(s)), "block P is not an initialisation"),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense(program: str, steps: Steps, words: str) -> None:
    not_applicable(program, steps, words)


def test_what_reads_the_sums_in_between_keeps_the_epilogue_in_its_place() -> None:
    between = "    for z in range(4):\n        {}\n    for x, y"
    unrelated = product().replace("    for x, y", between.format("A[z, 0] = B[z, 0]"))
    accepted(unrelated, fused)
    reading = product().replace("    for x, y", between.format("C[z, 0] = P[z, 0]"))
    refused(reading, fused, "the two statements may change places: no dependence between the write and the read of P")
