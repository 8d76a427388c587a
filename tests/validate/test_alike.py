"""Statements that do the same in all rows run once for all of them, which must not show."""

import contextlib
import random

import pytest

from verified_tir import parse_func
from verified_tir.validate import Different, Equal, validate
from verified_tir.validate.interface import Side
from verified_tir.validate.memory import Refused
from verified_tir.validate.operators import Builder
from verified_tir.validate.session import Exit, execute
from verified_tir.validate.terms import Terms


def executed(func, build: Builder, *, fast: bool) -> Exit:
    return execute(Side.of(func, {}), build, fast=fast, budget=10**7)


def assert_rows_are_serial(text: str) -> Exit:
    """Both ways to execute end in the same memory; returned is the fast one."""
    func, build = parse_func(text), Builder(Terms())
    slow, fast = executed(func, build, fast=False), executed(func, build, fast=True)
    assert slow.undefined == fast.undefined
    assert slow.events == fast.events
    for k, (elements, _) in slow.memory.items():
        assert slow.undefined is not None or (elements == fast.memory[k][0]).all()
    return fast


def statement(rng: random.Random, outer: list[str], depth: int, count: list[int]) -> list[str]:
    """Stores and loops, whose bodies mention outer variables now and then only."""

    def at(extra: list[str]) -> str:
        return rng.choice([*extra, *extra, "0", "1", rng.choice(outer)])

    if depth == 0 or rng.random() < 0.35:
        extra = outer[-1:] if rng.random() < 0.7 else []
        target, source = rng.choice(["S", "S", "S", "B"]), rng.choice(["S", "A", "B"])
        value = f"{source}[{at(extra)}] + {rng.choice(['S', 'A'])}[{at(extra)}]"
        guard = f"if {at(extra)} < 2:\n    " if rng.random() < 0.2 else ""
        return f"{guard}{target}[{at(extra)}] = {value}".split("\n")
    count[0] += 1
    name = f"j{count[0]}"
    lines = [f"for {name} in range({rng.choice(['2', '3', '4'])}):"]
    inside = [name] if rng.random() < 0.6 else [*outer, name]
    for _ in range(rng.randint(1, 3)):
        lines += [f"    {line}" for line in statement(rng, inside, depth - 1, count)]
    return lines


def program(seed: int) -> str:
    rng = random.Random(seed)
    lines = ["for i in range(4):"]
    for _ in range(rng.randint(1, 4)):
        lines += [f"    {line}" for line in statement(rng, ["i"], 2, [rng.randint(0, 10**6)])]
    params = ", ".join(f'{name}: T.Buffer((4,), "int32")' for name in "ABS")
    return f"@T.prim_func\ndef f({params}):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(200))
def test_what_is_alike_in_all_rows_means_what_it_says(seed: int) -> None:
    with contextlib.suppress(Refused):
        assert_rows_are_serial(program(seed))


HEAD = '@T.prim_func\ndef f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), S: T.Buffer((4,), "int32")):\n'


@pytest.mark.parametrize(
    "body",
    [
        "S[0] = S[0] + 1",  # every iteration reads what the one before it wrote
        "B[i] = S[0]\n        for j in range(4):\n            S[j] = A[j]",  # read before it is written
        "for j in range(4):\n            S[j] = S[j] + A[j]",
        "for j in range(4):\n            S[j] = A[j]\n        S[0] = i\n        B[i] = S[0] + S[1]",
        "for j in range(4):\n            S[j] = A[j]\n        B[i] = S[1]\n        S[i] = 7",
        "if i < 2:\n            for j in range(4):\n                S[j] = A[j]\n        B[i] = S[1]",
        "for k in range(3):\n            B[i] = S[k]\n            for j in range(4):\n                S[j] = A[j] + k",
    ],
)
def test_what_only_seems_alike(body: str) -> None:
    assert_rows_are_serial(f"{HEAD}    for i in range(4):\n        {body}\n")


def test_a_tile_that_all_iterations_load_is_loaded_once() -> None:
    body = "for j in range(4):\n            S[j] = A[j]\n        B[i] = S[3 - i]"
    once = assert_rows_are_serial(f"{HEAD}    for i in range(4):\n        {body}\n")
    assert once.undefined is None
    text = HEAD + "    for i in range(4):\n        {}\n"
    loaded = text.format(body)
    assert isinstance(
        validate(parse_func(text.format("S[i] = A[i]\n        B[3 - i] = A[i]")), parse_func(loaded)).verdict, Equal
    )
    late = text.format("B[i] = S[3 - i]\n        for j in range(4):\n            S[j] = A[j]")
    assert isinstance(validate(parse_func(loaded), parse_func(late)).verdict, Different)


THREADS = """
@T.prim_func
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            S = T.alloc_buffer((16,), "float32", scope="shared")
            for ux in T.thread_binding(16, thread="threadIdx.x"):
                S[ux] = A[bx * 16 + ux]
            B[bx * 16 + tx] = S[{}]
"""


def test_threads_that_load_a_tile_together() -> None:
    mirrored = parse_func(THREADS.format("15 - tx"))
    plain = parse_func(
        HEAD.replace("4,", "64,").replace("int32", "float32").replace(', S: T.Buffer((64,), "float32")', "")
        + "    for b, i in T.grid(4, 16):\n        B[b * 16 + i] = A[b * 16 + 15 - i]\n"
    )
    report = validate(plain, mirrored)
    assert isinstance(report.verdict, Equal)
    assert isinstance(validate(plain, parse_func(THREADS.format("tx"))).verdict, Different)
    assert {str(f) for f in report.findings} == set(validate(plain, mirrored, fast=False).findings)
