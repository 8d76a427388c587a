"""Random quasi-affine index maps, built twice in step: as expressions and as numpy arrays of their values.

The arrays are the oracle: they are made by numpy's own operators and share no code with what is tested.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from verified_tir.index.map import IndexMap
from verified_tir.ir.expr import Expr, Select, Var
from verified_tir.ir.sugar import binary

LARGEST_COEFFICIENT = 400


@dataclass
class RandomMap:
    """A map under construction: its outputs as expressions and as values at every point of the box."""

    rng: random.Random
    shape: tuple[int, ...]
    inputs: tuple[Var, ...] = ()
    exprs: list[Expr] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)

    @staticmethod
    def draw(rng: random.Random) -> RandomMap:
        rank = rng.choice([1, 1, 2, 2, 3])
        limit = {1: 90, 2: 14, 3: 6}[rank]
        made = RandomMap(rng, tuple(rng.randint(1, limit) for _ in range(rank)))
        made.inputs = tuple(Var.fresh("ijk"[a]) for a in range(rank))
        made.exprs = list(made.inputs)
        made.values = [g.ravel() for g in np.indices(made.shape)]
        for _ in range(rng.randint(0, 6)):
            made.move()
        return made

    @property
    def map(self) -> IndexMap:
        return IndexMap(self.inputs, tuple(e + 0 for e in self.exprs))

    def move(self) -> None:
        moves = [
            self.split, self.split, self.split, self.fuse, self.fuse, self.permute, self.offset, self.reverse,
            self.rotate, self.swizzle, self.stride, self.skew, self.constant, self.drop, self.remainder, self.clamp,
            self.shuffle_tail,
        ]  # fmt: skip
        self.rng.choice(moves)()

    def pick(self) -> int:
        return self.rng.randrange(len(self.exprs))

    def extent(self, k: int) -> int:
        return int(self.values[k].max()) + 1

    def put(self, k: int, expr: Expr | int, value: np.ndarray) -> None:
        if isinstance(expr, Expr) and np.abs(value).max() <= LARGEST_COEFFICIENT:
            self.exprs[k], self.values[k] = expr, value

    def split(self) -> None:
        k, c = self.pick(), self.rng.choice([2, 3, 4, 5, 8])
        if len(self.exprs) < 6:
            e, v = self.exprs[k], self.values[k]
            self.exprs[k : k + 1] = [e // c, e % c]
            self.values[k : k + 1] = [v // c, v % c]

    def fuse(self) -> None:
        if len(self.exprs) < 2:
            return
        k = self.rng.randrange(len(self.exprs) - 1)
        factor = max(1, self.extent(k + 1) + self.rng.choice([0, 0, 0, 0, 1, 3, -1]))
        v = self.values[k] * factor + self.values[k + 1]
        if v.max() <= LARGEST_COEFFICIENT:
            self.exprs[k : k + 2] = [self.exprs[k] * factor + self.exprs[k + 1]]
            self.values[k : k + 2] = [v]

    def permute(self) -> None:
        order = list(range(len(self.exprs)))
        self.rng.shuffle(order)
        self.exprs, self.values = [self.exprs[o] for o in order], [self.values[o] for o in order]

    def offset(self) -> None:
        k, c = self.pick(), self.rng.choice([-1, 1, 2, 3, 5])
        self.put(k, self.exprs[k] + c, self.values[k] + c)

    def reverse(self) -> None:
        k = self.pick()
        last = self.extent(k) - 1
        self.put(k, last - self.exprs[k], last - self.values[k])

    def rotate(self) -> None:
        k, c = self.pick(), self.rng.randint(1, 9)
        n = max(1, self.extent(k) + self.rng.choice([0, 0, 0, 1, 4, -1]))
        self.put(k, (self.exprs[k] + c) % n, (self.values[k] + c) % n)

    def swizzle(self) -> None:
        k, m, c = self.pick(), self.pick(), self.rng.choice([1, 1, 2, 3, -1])
        n = self.extent(k)
        if k != m and n >= 1:
            self.put(k, (self.exprs[k] + c * self.exprs[m]) % n, (self.values[k] + c * self.values[m]) % n)

    def stride(self) -> None:
        k, c = self.pick(), self.rng.choice([2, 3, 4])
        self.put(k, c * self.exprs[k], c * self.values[k])

    def skew(self) -> None:
        k, m, c = self.pick(), self.pick(), self.rng.choice([1, 2])
        if k != m:
            self.put(k, self.exprs[k] + c * self.exprs[m], self.values[k] + c * self.values[m])

    def constant(self) -> None:
        if len(self.exprs) < 6:
            c = self.rng.choice([0, 0, 2])
            self.exprs.append(self.inputs[0] * 0 + c)
            self.values.append(np.full_like(self.values[0], c))

    def drop(self) -> None:
        if len(self.exprs) > 1 and self.rng.random() < 0.4:
            k = self.pick()
            del self.exprs[k], self.values[k]

    def remainder(self) -> None:
        if self.rng.random() < 0.5:
            k, c = self.pick(), self.rng.randint(2, 12)
            self.put(k, self.exprs[k] % c, self.values[k] % c)

    def clamp(self) -> None:
        k, c = self.pick(), self.rng.randint(0, 12)
        if self.rng.random() < 0.5:
            self.put(
                k,
                binary("min", self.exprs[k], self.extent(k) - 1 - c // 8),
                np.minimum(self.values[k], self.extent(k) - 1 - c // 8),
            )

    def shuffle_tail(self) -> None:
        """Moves everything from ``c`` on by ``d``: a hole in the middle, as ``select(x < c, x, x + d)``."""
        k, c, d = self.pick(), self.rng.randint(1, 9), self.rng.choice([-1, 1, 4])
        if self.rng.random() < 0.5:
            e, v = self.exprs[k], self.values[k]
            self.put(k, Select(e < c, e, e + d), np.where(v < c, v, v + d))
