"""Values of arguments that satisfy claims about them.

Claims that share no unknown are looked at apart.  A few fillings of the arrays are tried first; where none of them will
do, the solver is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, final

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Var
from verified_tir.ir.float_bits import float_of
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.logic import formula as f
from verified_tir.logic.concrete import NoValue, Value, evaluate
from verified_tir.logic.formula import Term
from verified_tir.logic.names import names_in
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Refuted
from verified_tir.schedule.exhibit_claims import Claim, ConcreteClaims, Place
from verified_tir.schedule.replay_inputs import Array, Sizes, different

FILLINGS: Final = ("different", "zeros", "ones", "ascending")
"""What arrays hold where nothing else is known: small different numbers, from which indices can be told, or else."""


MOST_SMALL: Final = 32
"""Of how many unknowns small values are preferred, which takes more questions."""


def filled(buffer: Buffer, number: int, at: Any, filling: str) -> Any:
    """The values of a filling at elements that are given by number (an integer, or an array of integers)."""
    dtype = buffer.dtype.scalar
    raw = {
        "different": different(dtype, number, at), "zeros": 0 * at, "ones": 0 * at + 1,
        "ascending": 0 * at + 1 if dtype.is_bool else at,
    }[filling]  # fmt: skip
    with np.errstate(all="ignore"):
        return np.asarray(raw).astype(numpy_dtype(dtype))


def arrays_of(func: PrimFunc, shapes: Mapping[str, tuple[int, ...]], values: Mapping[Place, Value]) -> dict[str, Array]:
    """The arrays that hold these values, and a filling elsewhere."""
    made: dict[str, Array] = {}
    for k, b in enumerate(func.buffers):
        shape = shapes[b.name]
        count = int(np.prod(shape, dtype=np.int64))
        made[b.name] = filled(b, k, np.arange(count), FILLINGS[0]).reshape(shape)
    for place, value in values.items():
        if not isinstance(place, Var):
            made[place[0].name][place[1]] = value
    return made


@final
class Satisfied:
    """An attempt to satisfy the claims at given sizes.

    :ivar values: of the unknowns.
    :ivar contradiction: claims that cannot be true together; there are none if the attempt came to something.
    :ivar decided: whether the values are known to satisfy all claims.
    """

    def __init__(
        self,
        func: PrimFunc,
        claims: ConcreteClaims,
        sizes: Sizes,
        shapes: Mapping[str, tuple[int, ...]],
        solver: Solver,
    ) -> None:
        self._func, self._claims, self._sizes, self._shapes = func, claims, sizes, shapes
        self._solver = solver
        self.values: dict[Place, Value] = {place: self._filled(t, FILLINGS[0]) for t, place in claims.unknowns.items()}
        self.contradiction: list[Claim] = []
        self.decided = True
        for part in _apart(claims.claims):
            self._satisfy(part)
            if self.contradiction:
                break

    def _filled(self, t: Term, filling: str) -> Value:
        place = self._claims.unknowns[t]
        if isinstance(place, Var):
            return place.dtype.is_bool or self._sizes[place.name]
        buffer, at = place
        number = int(np.ravel_multi_index(at, self._shapes[buffer.name])) if at else 0
        return _plain(buffer.dtype.scalar, filled(buffer, self._func.buffers.index(buffer), number, filling))

    def _satisfy(self, claims: Sequence[Claim]) -> None:
        unknowns = [t for t in f.subterms(*[c.formula for c in claims]) if t in self._claims.unknowns]
        if any(t.op == "app" for t in f.subterms(*[c.formula for c in claims])):
            self.decided = False  # what a function like ``exp`` gives is not known here; a run will show
            return
        for filling in FILLINGS:
            values = {t: self._filled(t, filling) for t in unknowns}
            try:
                if all(evaluate(c.formula, values, {}) for c in claims):
                    self.values.update({self._claims.unknowns[t]: v for t, v in values.items()})
                    return
            except (NoValue, OverflowError):
                break
        given = (*self._claims.ranges(unknowns), *[c.formula for c in claims])
        small = [t for t in unknowns if t.sort == f.INT]
        verdict = self._solver.prove(given, f.FALSE, tuple(small) if len(small) <= MOST_SMALL else ())
        match verdict:
            case Proved():
                self.contradiction = list(claims)
            case Refuted(model=model):
                for t in unknowns:
                    if str(t.payload) in model.values:
                        value = model.values[str(t.payload)]
                        self.values[self._claims.unknowns[t]] = _valued(self._claims.dtype(t), value)
            case _:
                self.decided = False


def contradictory(solver: Solver, given: Iterable[Term], claims: Sequence[Claim]) -> list[Claim]:
    """The claims of few statements that contradict each other, out of claims that do."""
    given = tuple(given)
    kept = list(claims)
    for path in dict.fromkeys(c.path for c in claims):
        rest = [c for c in kept if c.path != path]
        if solver.contradictory((*given, *[c.formula for c in rest])):
            kept = rest
    return kept


def _apart(claims: Sequence[Claim]) -> Iterator[list[Claim]]:
    """The claims in groups that share no unknown."""
    import networkx as nx

    shared = nx.Graph()
    for number, c in enumerate(claims):
        shared.add_node(number)
        shared.add_edges_from((number, name) for name in names_in(c.formula))
    for group in nx.connected_components(shared):
        yield [c for number, c in enumerate(claims) if number in group]


def _valued(dtype: DType, value: int) -> Value:
    if dtype.is_float:
        return float_of(dtype, value)
    return bool(value) if dtype.is_bool else value


def _plain(dtype: DType, value: Any) -> Value:
    if dtype.is_bool:
        return bool(value)
    return float(value) if dtype.is_float else int(value)
