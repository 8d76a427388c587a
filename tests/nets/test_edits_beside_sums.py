"""With a licence, an edit is right for every choice of trees: with each, both programs do the same.

Small programs that sum into ``B``, copy the result, compute with it and branch on it, and random edits of what they
store.  Where the kernel accepts an edit, both programs are run with many choices of trees over the terms of ``B``, one
tree for the same terms.  Nothing of the kernel's own reasoning is used: a run keeps the terms of ``B``.
"""

from __future__ import annotations

import random
from functools import cache, reduce
from typing import Any

import numpy as np
import pytest

from tests.kernel.programs import buffer as buffer_of
from tests.kernel.programs import licensed_for, load, program, take
from tests.nets.test_licensed_results import NASTY, bits, results
from tests.nightly import few
from verified_tir.ir.expr import Expr, FloatImm
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import at, places
from verified_tir.ir.stmt import Store
from verified_tir.ir.sugar import binary
from verified_tir.kernel.theorem import Refines
from verified_tir.schedule.edits import rewritten

F32 = np.float32
PARAMS = ", ".join(f'{name}: T.Buffer((2,), "float32")' for name in "ABCD")
NAMES = {"+": "add", "*": "mul"}
PARTS, PROGRAMS, EDITS, RUNS = few(2, 8), few(12, 400), 12, 10

Tree = tuple[Any, ...]
"""An expression (a number, an element ``(buffer, index)``, or ``(op, a, b)``) or a statement (``("store", element,
value)`` or ``("if", (relation, a, b), then, else)``)."""


def leaf(rng: random.Random) -> Any:
    return rng.choice([("B", 0), ("B", 0), ("C", 0), ("C", 1), ("A", 0), ("A", 1), 0.0, 1.0, -0.0, 2.0])


def expression(rng: random.Random) -> Any:
    return leaf(rng) if rng.random() < 0.6 else (rng.choice("+*"), leaf(rng), leaf(rng))


def statements(rng: random.Random, op: str, depth: int) -> list[Tree]:
    """Some statements: terms for B, copies of it, and branches."""
    found: list[Tree] = []
    for _ in range(rng.randrange(1, 4)):
        kind = rng.random()
        if kind < 0.3:
            found.append(("store", ("B", 0), (op, ("B", 0), leaf(rng))))
        elif kind < 0.35:
            found.append(("store", ("B", 0), leaf(rng)))
        elif kind < 0.8 or not depth:
            found.append(("store", rng.choice([("C", 0), ("C", 1), ("D", 0), ("D", 1)]), expression(rng)))
        else:
            condition = (rng.choice(["<", "==", "<="]), rng.choice([("B", 0), ("C", 0)]), rng.choice([0.0, 1.0]))
            found.append(("if", condition, statements(rng, op, 0), statements(rng, op, 0)))
    return found


def text(e: Any) -> str:
    if isinstance(e, float):
        return f"T.float32({e})"
    return f"{e[0]}[{e[1]}]" if len(e) == 2 else f"({text(e[1])} {e[0]} {text(e[2])})"


def lines(body: list[Tree], indent: str = "") -> list[str]:
    found = []
    for s in body:
        if s[0] == "store":
            found.append(f"{indent}{text(s[1])} = {text(s[2])}")
        else:
            found += [f"{indent}if {text(s[1])}:", *lines(s[2], indent + "    ")]
            found += [f"{indent}else:", *lines(s[3], indent + "    ")]
    return found


class Run:
    """A run with a choice of trees: the terms of B are kept, and what B is read as is one of their trees' values."""

    def __init__(self, op: str, given: list[np.float32], seed: int) -> None:
        self.op, self.seed = op, seed
        self.memory = {("A", 0): given[0], ("A", 1): given[1]}
        self.memory.update({(name, k): F32(1) for name in "CD" for k in (0, 1)})
        self.terms = [given[2]]

    def value(self, e: Any) -> np.float32:
        if isinstance(e, float):
            return F32(e)
        if e == ("B", 0):
            return of_some_tree(self.op, tuple(sorted(bits(t) for t in self.terms)), self.seed)
        if len(e) == 2:
            return self.memory[e]
        a, b = self.value(e[1]), self.value(e[2])
        return F32(a + b if e[0] == "+" else a * b)

    def run(self, body: list[Tree]) -> None:
        for s in body:
            if s[0] == "if":
                relation, x, y = s[1][0], self.value(s[1][1]), self.value(s[1][2])
                self.run(s[2] if {"<": x < y, "==": x == y, "<=": x <= y}[relation] else s[3])
            elif s[1] != ("B", 0):
                self.memory[s[1]] = self.value(s[2])
            elif (term := self.added(s[2])) is not None:
                self.terms.append(self.value(term))
            elif s[2] != ("B", 0):
                self.terms = [self.value(s[2])]

    def added(self, e: Any) -> Any:
        """The term that an update of B adds; ``None`` if the store begins anew, or leaves B as it is."""
        if not isinstance(e, tuple) or e[0] != self.op or (e[1] == ("B", 0)) == (e[2] == ("B", 0)):
            return None
        return e[2] if e[1] == ("B", 0) else e[1]

    def end(self) -> tuple[bytes, ...]:
        return (*(bits(v) for v in self.memory.values()), bits(self.value(("B", 0))))


@cache
def of_some_tree(op: str, terms: tuple[bytes, ...], seed: int) -> np.float32:
    """The value of one tree over some terms, in which those that are neutral stand last: they may come and go."""
    values = [F32(np.frombuffer(t, F32)[0]) for t in terms]
    rest = [v for v in values if v != (0 if op == "+" else 1)]
    neutral = sum([v for v in values if v == 0], start=F32(-0.0)) if op == "+" else F32(1)
    if not rest:
        return F32(neutral)
    chosen = random.Random(f"{seed} {[bits(v) for v in rest]}").choice(sorted(results(op, rest)))
    value = F32(np.frombuffer(chosen, F32)[0])
    return F32(value + neutral if op == "+" else value)


def positions(e: Any, where: tuple[int, ...] = (0,)) -> list[tuple[int, ...]]:
    found = [where]
    for k, part in enumerate(e[1:] if isinstance(e, tuple) and len(e) == 3 else ()):
        found += positions(part, (*where, k))
    return found


def put(e: Any, where: tuple[int, ...], new: Any) -> Any:
    if not where:
        return new
    parts = [put(part, where[1:], new) if k == where[0] else part for k, part in enumerate(e[1:])]
    return (e[0], *parts)


def built(e: Any, func: PrimFunc) -> Expr:
    if isinstance(e, float):
        return FloatImm(buffer_of(func, "A").dtype, e)
    if len(e) == 2:
        return load(buffer_of(func, e[0]), e[1])
    return binary(NAMES[e[0]], built(e[1], func), built(e[2], func))


def edited(body: list[Tree], number: int, where: tuple[int, ...], new: Any) -> list[Tree]:
    """The statements with another expression in the ``number``-th store."""
    count = [number]

    def go(s: Tree) -> Tree:
        if s[0] == "if":
            return ("if", s[1], [go(t) for t in s[2]], [go(t) for t in s[3]])
        count[0] -= 1
        return ("store", s[1], put(s[2], where[1:], new)) if count[0] == -1 else s

    return [go(s) for s in body]


def stores(body: list[Tree]) -> list[Tree]:
    return reduce(lambda found, s: found + ([s] if s[0] == "store" else stores(s[2]) + stores(s[3])), body, [])


@pytest.mark.parametrize("part", range(PARTS))
def test_both_do_the_same_with_every_choice_of_trees(part: int) -> None:
    accepted = 0
    for seed in range(part, PROGRAMS, PARTS):
        rng = random.Random(seed)
        op = rng.choice("+*")
        body = [("store", ("B", 0), (op, ("B", 0), ("A", 0))), *statements(rng, op, 1), *statements(rng, op, 1)]
        func = program("\n".join(lines(body)), PARAMS)
        theorem = licensed_for(func, "B")
        found = [p for p, _ in places(func.body, lambda s: isinstance(s, Store))]
        for _ in range(EDITS):
            number = rng.randrange(len(found))
            old = stores(body)[number]
            assert text(old[1]).startswith(at(func.body, found[number]).buffer.name)  # type: ignore[attr-defined]
            where, new = rng.choice(positions(old[2])), expression(rng)
            rule = rewritten(found[number], where, built(new, func))
            if not isinstance(take(rule, theorem), Refines):
                continue
            after = edited(body, number, where, new)
            accepted += after != body
            for turn in range(RUNS):
                given = [rng.choice(NASTY) for _ in range(3)]
                first, second = Run(op, given, turn), Run(op, given, turn)
                with np.errstate(all="ignore"):
                    first.run(body)
                    second.run(after)
                    assert first.end() == second.end(), f"{seed}: {lines(body)}\n{lines(after)}\n{given}"
    assert accepted >= PROGRAMS // PARTS // 12, "hardly any edit was accepted"
