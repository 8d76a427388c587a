"""Random programs with tiles, blocks, vector accesses, views and reused buffers, on demand against the interpreter."""

import random

import numpy as np
import pytest

from tests.validate.test_execute import concrete
from verified_tir import parse_func
from verified_tir.semantics.interpreter import UndefinedBehaviour, run
from verified_tir.semantics.interpreter.outcome import same_bits
from verified_tir.semantics.values import UNDEF
from verified_tir.validate.demand.instances import Effort
from verified_tir.validate.demand.validator import Program, depend, evaluate
from verified_tir.validate.interface import Side
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import Terms

HEAD = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((48,), "float32"), B: T.Buffer((48,), "float32"), C: T.Buffer((6, 8), "float32x2")):
    V = T.decl_buffer((12, 4), "float32", data=B.data)
    L = T.alloc_buffer((16,), "float32")
"""


class Draw:
    """One random program; ``names`` counts loops and buffers, so that each has its own name."""

    def __init__(self, seed: int) -> None:
        self.rng, self.names = random.Random(seed), 0

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def index(self, loops: list[tuple[str, int]], extent: int) -> str:
        """An index below ``extent``: tiles, fused and reversed loops, constants."""
        variables = [v for v, _ in loops]
        v = self.rng.choice(variables or ["0"])
        w = self.rng.choice(variables or ["0"])
        return self.rng.choice(
            [
                f"({v} * 4 + {w}) % {extent}",
                f"({v} * 16 + {w} * 4 + {self.rng.choice(variables or ['1'])}) % {extent}",
                f"({extent - 1} - {v} * 3) % {extent}", f"({v} // 2 * 5 + {w} % 3) % {extent}", f"{v} % {extent}",
                str(self.rng.randrange(extent)), f"T.min({v} * 7, {extent - 1})",
            ]
        )  # fmt: skip

    def value(self, loops: list[tuple[str, int]], depth: int) -> str:
        if depth == 0:
            return self.rng.choice(
                [
                    f"A[{self.index(loops, 48)}]", f"B[{self.index(loops, 48)}]", f"L[{self.index(loops, 16)}]",
                    f"V[{self.index(loops, 12)}, {self.index(loops, 4)}]", "T.float32(0.5)",
                ]
            )  # fmt: skip
        one, other = self.value(loops, depth - 1), self.value(loops, depth - 1)
        return self.rng.choice(
            [
                f"({one} + {other})", f"({one} * {other})", f"T.max({one}, {other})",
                f"T.if_then_else({self.index(loops, 9)} < 4, {one}, {other})",
                f"T.if_then_else({one} < {other}, {one}, A[{self.index(loops, 48)}])",
            ]
        )  # fmt: skip

    def target(self, loops: list[tuple[str, int]]) -> str:
        return self.rng.choice(
            [f"B[{self.index(loops, 48)}]", f"L[{self.index(loops, 16)}]",
             f"V[{self.index(loops, 12)}, {self.index(loops, 4)}]"]
        )  # fmt: skip

    def statement(self, loops: list[tuple[str, int]], depth: int) -> list[str]:
        leaves = ["store", "update", "vector", "lanes", "let"]
        kind = self.rng.choice([*leaves, "for", "for", "for", "if", "data", "block", "local"] if depth else leaves)
        match kind:
            case "store":
                return [f"{self.target(loops)} = {self.value(loops, self.rng.randrange(3))}"]
            case "update":
                place = self.target(loops)
                return [f"{place} = {place} + {self.value(loops, 1)}"]
            case "vector":
                at = f"{self.index(loops, 11)} * 4"
                return [f"B[T.Ramp({at}, 1, 4)] = B[T.Ramp({at}, 1, 4)] * A[T.Ramp({at} + 3, -1, 4)]"]
            case "lanes":
                at = f"{self.index(loops, 6)}, {self.index(loops, 8)}"
                return [f"C[{at}] = C[{at}] + T.Broadcast({self.value(loops, 0)}, 2)"]
            case "let":
                name = self.fresh("x")
                return [f"{name}: T.let = {self.value(loops, 1)}", f"{self.target(loops)} = {name} + {name}"]
            case "if":
                head, inner = [f"if {self.index(loops, 7)} < {self.rng.randrange(6)}:"], loops
            case "data":
                head, inner = [f"if {self.value(loops, 0)} < {self.value(loops, 0)}:"], loops
            case "local":
                name = self.fresh("t")
                return [
                    f'{name} = T.alloc_buffer((3,), "float32")',
                    f"{name}[{self.index(loops, 3)}] = {self.value(loops, 1)}",
                    f"{self.target(loops)} = {name}[{self.index(loops, 3)}]",
                ]  # fmt: skip
            case "block":
                return self.block(loops)
            case _:
                name, extent = self.fresh("i"), self.rng.choice([0, 1, 2, 3, 4])
                bounds = self.rng.choice([f"{extent}", f"1, {extent + 1}"])
                head, inner = [f"for {name} in range({bounds}):"], [*loops, (name, extent)]
        body = [line for _ in range(self.rng.randint(1, 3)) for line in self.statement(inner, depth - 1)]
        return [*head, *["    " + line for line in body]]

    def block(self, loops: list[tuple[str, int]]) -> list[str]:
        """A reduction with an init and a predicate."""
        i, k, v, r = (self.fresh(stem) for stem in "ikvr")
        place = f"{self.rng.choice(['B', 'L'])}[{v}]"
        return [
            f"for {i}, {k} in T.grid(4, 5):",
            f'    with T.sblock("{self.fresh("sum")}"):',
            f"        {v} = T.axis.spatial(16, {i} * 4 % 16)",
            f"        {r} = T.axis.reduce(5, {k})",
            f"        T.where({i} + {k} < {self.rng.randint(3, 9)})",
            "        with T.init():",
            f"            {place} = {self.rng.choice(['T.float32(0)', f'A[{v}]'])}",
            f"        {place} = {place} + {self.value([*loops, (v, 16), (r, 5)], 1)}",
        ]

    def program(self) -> str:
        filled = ["for z in range(16):", "    L[z] = A[z * 3]"] if self.rng.random() < 0.7 else []
        lines = filled + [line for _ in range(self.rng.randint(2, 4)) for line in self.statement([], 3)]
        return HEAD + "".join(f"    {line}\n" for line in lines)


POOL = np.array([0.0, -0.0, np.nan, np.inf, 1.5, -2.0, 3.0, 0.25], np.float32)


@pytest.mark.sample(10)
@pytest.mark.parametrize("seed", range(120))
def test_on_demand_is_what_the_interpreter_computes(seed):
    func = parse_func(Draw(seed).program())
    rng = np.random.default_rng(seed)
    build = Builder(Terms())
    program = Program.of(Side.of(func, {}))
    chosen = {k: np.sort(rng.choice(48, 5, replace=False)) for k in range(3)}
    left = evaluate(program, depend(program, chosen, build, Effort(10**8, 10**6)), chosen, build, 10**7)
    inputs = {"A": rng.choice(POOL, 48), "B": rng.choice(POOL, 48), "C": rng.choice(POOL, (6, 8, 2))}
    try:
        outcome = run(func, inputs)
    except UndefinedBehaviour:
        return  # it may be where nothing chosen depends on it
    assert left.undefined is None
    memo: dict[int, object] = {}
    given = {k: inputs[name] for k, name in enumerate("ABC")}
    for k, name in enumerate("ABC"):
        lanes = 2 if name == "C" else 1
        values, known = (x[name].reshape(48, lanes) for x in (outcome.arrays, outcome.defined))
        for element, terms in zip(chosen[k].tolist(), left.memory[k][0].tolist(), strict=True):
            for lane, term in enumerate(terms):
                value = concrete(build.terms, term, given, memo)
                assert (value is not UNDEF) == known[element, lane]
                if value is not UNDEF:
                    assert same_bits(np.array([value], np.float32), values[element, lane].reshape(1)).all()
