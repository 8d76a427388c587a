"""The values of terms on some inputs, many terms at once: terms whose values differ are not worth a proof."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, final

import numpy as np

from verified_tir.ir.dtype import DType
from verified_tir.validate.concrete import contents
from verified_tir.validate.llvm.graph import Graph
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import MAY_NAN, UNDEF_ID, Ids, Terms, beneath

KINDS: Final = ("small", "ends", "bits", "normal", "zeros")
"""Of contents, for inputs of kernels."""
SAMPLES: Final = 20
Signature = tuple[object, ...]


@final
class Simulation:
    """Values of terms on :data:`SAMPLES` inputs, which are drawn for each leaf by its number."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.graph = Graph(Builder(Terms()))
        self._values: dict[int, Ids] = {}

    def run(self, roots: Iterable[int]) -> None:
        levels: dict[int, int] = {}
        groups: dict[tuple[int, int], list[int]] = {}
        for term in beneath((r for r in roots if r not in self._values), self._missing):
            levels[term] = 1 + max([levels[k] for k in self._missing(term)], default=0)
            groups.setdefault((levels[term], int(self.terms.columns[0, term])), []).append(term)
        for key in sorted(groups):
            members = groups[key]
            for k, row in zip(members, self._compute(members), strict=True):
                self._values[k] = row

    def _missing(self, term: int) -> list[int]:
        return [k for k in self.terms.below(term) if k not in self._values]

    def signature(self, term: int) -> Signature:
        """The bits on all inputs, with the kind of value; equal for terms that agree there."""
        dtype = self.terms.result_dtype(term)
        mask = (1 << dtype.bits) - 1
        own = self.graph.terms
        bits = [None if v == UNDEF_ID else self._bits(own, v, mask) for v in self._values[term].tolist()]
        return (f"i{dtype.bits}" if dtype.is_int else str(dtype), *bits)

    def agree(self, program: int, llvm: int) -> bool:
        """Whether LLVM's value is the program's wherever that is defined, on all inputs."""
        kind, *want = self.signature(program)
        other, *have = self.signature(llvm)
        return kind == other and all(w is None or w == h for w, h in zip(want, have, strict=True))

    @staticmethod
    def _bits(terms: Terms, term: int, mask: int) -> object:
        if terms.op_of(term) != "const":
            return "unknown", term
        return int(terms.columns[1, term]) & mask

    def _compute(self, members: Sequence[int]) -> Ids:
        """The values of terms with one operator, a row each."""
        terms, own, build = self.terms, self.graph.terms, self.graph.build
        op, dtype = terms.op_of(members[0]), terms.dtype_of(members[0])
        if op == "undef":
            return np.zeros((len(members), SAMPLES), dtype=np.int64)
        if op == "const":
            constants = [own.constant(dtype, terms.value(k)) for k in members]
            return np.repeat(np.array(constants, dtype=np.int64)[:, None], SAMPLES, axis=1)
        below = [terms.below(k) for k in members]
        if not below[0]:
            return np.stack([self._leaf(k, terms.result_dtype(members[0])) for k in members])
        rows = [np.stack([self._values[b[n]] for b in below]) for n in range(len(below[0]))]
        return self._apply(build, op, dtype, terms.result_dtype(members[0]), rows)

    def _apply(self, build: Builder, op: str, dtype: DType, result: DType, rows: list[Ids]) -> Ids:
        if op == "ite":
            return build.choose(dtype, *rows)
        if op == "not":
            return build.negate(rows[0])
        if op.startswith("cast:"):
            return build.cast(DType.parse(op[5:]), dtype, rows[0])
        if op == "is_undef":
            return np.where(rows[0] == UNDEF_ID, build.terms.true, build.terms.false)
        if op.startswith("overflow "):
            return self.graph.overflows(op, DType.parse(op.split()[2]), *rows)
        if op == "reinterpret":
            return self.graph.bits(dtype, rows[0])
        if op == "part":
            return self._part(result, rows[0], rows[1])
        if op == "join":
            return self._joined(result, rows[0], rows[1])
        if op == "bits":  # of what may be a part of a NaN, which has none: such a part is undef already
            return rows[0]
        if op == "ldexp":
            return build.ldexp(dtype, *rows)
        if len(rows) == 2:
            return build.binary(op, dtype, *rows)
        name, _, source = op.partition(":")
        return build.call(name, DType.parse(source) if source else dtype, result, rows)

    def _part(self, cell: DType, whole: Ids, place: Ids) -> Ids:
        """Cells of scalars (``widths.parts``); a NaN has none."""
        own = self.graph.terms
        there = own.is_const(whole) & (own.flags[whole] & MAY_NAN == 0)
        shifted = own.columns[1, whole[there]] >> (cell.bits * own.columns[1, place[there]])
        found: Ids = np.full(whole.shape, UNDEF_ID, dtype=np.int64)
        found[there] = own.constants(cell, shifted & ((1 << cell.bits) - 1))
        return found

    def _joined(self, result: DType, low: Ids, high: Ids) -> Ids:
        """Two cells as one (``widths.joined``)."""
        own = self.graph.terms
        there = own.is_const(low) & own.is_const(high)
        half = result.bits // 2
        below = (1 << half) - 1
        bits = (own.columns[1, high[there]] & below) << half | own.columns[1, low[there]] & below
        found: Ids = np.full(low.shape, UNDEF_ID, dtype=np.int64)
        found[there] = own.constants(result, bits)
        return found

    def _leaf(self, term: int, dtype: DType) -> Ids:
        """Values of an input, of every kind."""
        parts = []
        for k in range(SAMPLES):
            rng = np.random.default_rng([term, k])
            parts.append(contents(dtype, (1,), KINDS[k % len(KINDS)], rng)[0])
        own = self.graph.terms
        found: Ids = np.array([own.constant(dtype, p.item() if dtype.code != "bfloat" else float(p)) for p in parts])
        return found
