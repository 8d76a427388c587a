"""Both ways to execute agree with each other and, on concrete inputs, with the interpreter."""

import random

import numpy as np
import pytest

from verified_tir import parse_func
from verified_tir.ir.dtype import DType
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.semantics.calls import call_operation
from verified_tir.semantics.interpreter import UndefinedBehaviour, run
from verified_tir.semantics.interpreter.outcome import same_bits
from verified_tir.semantics.operators import binary_operation, cast_operation
from verified_tir.semantics.values import UNDEF
from verified_tir.validate.interface import Side
from verified_tir.validate.memory import Refused
from verified_tir.validate.operators import Builder
from verified_tir.validate.session import Exit, execute
from verified_tir.validate.terms import Terms

PARAMS = 'A: T.Buffer((6, 6), "float32"), B: T.Buffer((6, 6), "float32"), C: T.Buffer((6, 6), "int32")'


def run_terms(func, build: Builder, *, fast: bool) -> Exit:
    return execute(Side.of(func, {}), build, fast=fast, budget=10**7)


def concrete(terms: Terms, term: int, inputs: dict[int, np.ndarray], memo: dict[int, object]) -> object:
    """The value of a term, its inputs given."""
    if term in memo:
        return memo[term]
    op, dtype = terms.op_of(term), terms.dtype_of(term)
    a, b, c = terms.operands(term)

    def of(k: int) -> object:
        return concrete(terms, k, inputs, memo)

    if op == "undef":
        found: object = UNDEF
    elif op == "const":
        found = terms.value(term)
    elif op.startswith("input:"):
        found = inputs[int(op[6:])].reshape(-1)[a].item()
    elif op == "ite":
        chosen = of(a)
        found = UNDEF if chosen is UNDEF else of(b) if chosen else of(c)
    elif op == "not":
        found = UNDEF if of(a) is UNDEF else not of(a)
    elif op.startswith("cast:"):
        found = cast_operation(DType.parse(op[5:]), dtype)(of(a))
    elif op in ("exp", "sqrt", "abs"):
        found = call_operation(op, dtype, dtype)(of(a))
    else:
        found = binary_operation(op, dtype)(of(a), of(b))
    memo[term] = found
    return found


def random_index(rng: random.Random, variables: list[str]) -> str:
    v = rng.choice(variables)
    return rng.choice([v, v, f"5 - {v}", f"({v} + {rng.randint(1, 5)}) % 6", str(rng.randint(0, 5))])


def random_value(rng: random.Random, variables: list[str], depth: int) -> str:
    place = f"[{random_index(rng, variables)}, {random_index(rng, variables)}]"
    if depth == 0:
        return rng.choice([f"A{place}", f"B{place}", f'T.Cast("float32", C{place})', "T.float32(1.5)", "T.float32(0)"])
    one, other = random_value(rng, variables, depth - 1), random_value(rng, variables, depth - 1)
    return rng.choice(
        [
            f"({one} + {other})", f"({one} * {other})", f"({one} - {other})", f"T.max({one}, {other})", f"T.abs({one})",
            f"T.if_then_else({random_index(rng, variables)} < 3, {one}, {other})",
            f"T.Select({one} < {other}, {one}, {other})",
        ]
    )  # fmt: skip


def random_statement(rng: random.Random, variables: list[str], depth: int, names: list[str]) -> list[str]:
    kind = rng.choice(["store", "store", "if", "data", "loop", "loop", "local"] if depth else ["store"])
    place = f"[{random_index(rng, variables)}, {random_index(rng, variables)}]"
    inner = [*variables]
    match kind:
        case "store":
            if rng.random() < 0.2:
                return [f"C{place} = C[{random_index(rng, variables)}, 0] * 3 + {random_index(rng, variables)}"]
            return [f"{rng.choice('AB')}{place} = {random_value(rng, variables, rng.randint(0, 2))}"]
        case "if":
            head = f"if {random_index(rng, variables)} < {rng.randint(0, 6)}:"
        case "data":
            head = f"if A{place} < B[0, 1]:"
        case "local":
            name = f"t{len(names)}"
            names.append(name)
            first = f"{name}[{rng.randint(0, 1)}] = {random_value(rng, variables, 1)}"
            return [f'{name} = T.alloc_buffer((2,), "float32")', first, f"B{place} = {name}[0] + T.float32(2)"]
        case _:
            name = f"i{len(names)}"
            names.append(name)
            inner.append(name)
            extent = rng.choice(["6", "3", "1", "0", rng.choice(variables)])
            head = f"for {name} in range({extent}):"
    body: list[str] = []
    for _ in range(rng.randint(1, 3)):
        body += random_statement(rng, inner, depth - 1, names)
    return [head, *[f"    {line}" for line in body]]


def random_program(seed: int) -> str:
    rng = random.Random(seed)
    names = ["i0"]
    lines = ["for i0 in range(6):"]
    for _ in range(rng.randint(1, 3)):
        lines += [f"    {line}" for line in random_statement(rng, ["i0"], 3, names)]
    return f"@T.prim_func\ndef f({PARAMS}):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.sample(10)
@pytest.mark.parametrize("seed", range(60))
def test_rows_are_the_serial_meaning(seed):
    func = parse_func(random_program(seed))
    build = Builder(Terms())
    try:
        slow = run_terms(func, build, fast=False)
    except Refused as refused:
        with pytest.raises(Refused):
            run_terms(func, build, fast=True)
        assert str(refused)
        return
    fast = run_terms(func, build, fast=True)
    assert slow.undefined == fast.undefined
    if slow.undefined is not None:
        return
    assert slow.events == fast.events
    for k, (elements, _) in slow.memory.items():
        assert (elements == fast.memory[k][0]).all()


@pytest.mark.sample(10)
@pytest.mark.parametrize("seed", range(30))
def test_terms_mean_what_the_interpreter_computes(seed):
    func = parse_func(random_program(seed))
    build = Builder(Terms())
    left = run_terms(func, build, fast=True)
    rng = np.random.default_rng(seed)
    pool = np.array([0.0, -0.0, np.nan, np.inf, 1.5, -2.0, 3e38, 1e-45], np.float32)
    inputs = {0: rng.choice(pool, (6, 6)), 1: rng.choice(pool, (6, 6)), 2: rng.integers(-9, 9, (6, 6)).astype(np.int32)}
    try:
        outcome = run(func, {"A": inputs[0], "B": inputs[1], "C": inputs[2]})
    except UndefinedBehaviour:
        assert left.undefined is not None or left.events
        return
    assert left.undefined is None
    memo: dict[int, object] = {}
    for k, name in enumerate("ABC"):
        for at, term in zip(np.ndindex(6, 6), left.memory[k][0].reshape(-1).tolist(), strict=True):
            value = concrete(build.terms, term, inputs, memo)
            assert (value is not UNDEF) == outcome.defined[name][at]
            if value is not UNDEF:
                dtype = numpy_dtype(DType.parse("int32" if name == "C" else "float32"))
                assert same_bits(np.array([value]).astype(dtype), outcome.arrays[name][at].reshape(1)).all()


@pytest.mark.nightly
def test_a_reduction_runs_in_rows():
    text = """
@T.prim_func
def f(A: T.Buffer((40, 50), "float32"), B: T.Buffer((40,), "float32")):
    for k, i in T.grid(50, 40):
        B[i] = B[i] + A[i, k]
"""
    func = parse_func(text)
    build = Builder(Terms())
    fast, slow = run_terms(func, build, fast=True), run_terms(func, build, fast=False)
    assert (fast.memory[1][0] == slow.memory[1][0]).all()
