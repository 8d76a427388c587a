"""Verdicts on random programs and their mutants, held against the interpreter."""

import random

import numpy as np
import pytest

from tests.validate.test_execute import random_program
from verified_tir import ScriptError, parse_func
from verified_tir.ir.node import IRError
from verified_tir.semantics.interpreter import UndefinedBehaviour, refines, run
from verified_tir.validate import Different, Equal, EqualOverReals, validate

SWAPS = (
    ("+", "-"), ("*", "+"), ("max", "min"), ("<", ">"), ("(3)", "(2)"), ("1.5", "0.0"),
    ("float32(0)", "float32(-0.0)"),
)  # fmt: skip


def mutant(text: str, rng: random.Random) -> str:
    """The program with a sign, an operator, or a digit changed at one place of its body."""
    head, body = text.split("):\n", 1)
    swaps = [*SWAPS, *((str(d), str((d + 1) % 6)) for d in range(6))]
    rng.shuffle(swaps)
    for old, new in swaps:
        places = [k for k in range(len(body)) if body.startswith(old, k)]
        if places:
            k = rng.choice(places)
            return head + "):\n" + body[:k] + new + body[k + len(old) :]
    return text


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    pool = np.array([0.0, -0.0, np.nan, np.inf, 1.5, -2.0, 3e38, 1e-45, 7.0, 0.1], np.float32)
    floats = {name: rng.choice(pool[rng.integers(0, 4) :], (6, 6)) for name in "AB"}
    return {**floats, "C": rng.integers(-9, 9, (6, 6)).astype(np.int32)}


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(60))
def test_no_equal_that_an_input_refutes(seed):
    rng = random.Random(seed)
    text = random_program(seed + 1000)
    try:
        before, after = parse_func(text), parse_func(mutant(text, rng))
    except (ScriptError, IRError):  # a mutant that is no program says nothing
        return
    verdict = validate(before, after).verdict
    differs = False
    for k in range(12):
        try:
            first = run(before, inputs(k))
        except UndefinedBehaviour:
            continue
        if isinstance(verdict, (Equal, EqualOverReals)):
            assert not verdict.vacuous
        try:
            differs |= bool(refines(first, run(after, inputs(k))))
        except UndefinedBehaviour:
            differs = True
    if isinstance(verdict, Equal):
        assert not differs
    if isinstance(verdict, Different):  # what it shows is so
        first = run(before, verdict.arguments)
        try:
            assert refines(first, run(after, verdict.arguments_after))
        except UndefinedBehaviour:
            assert verdict.element == ""
