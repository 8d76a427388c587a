"""The second level of size: both programs, evaluated on demand for chosen elements.

1. Choose elements of the parameters that are written: corners, tile boundaries, random ones (``elements.py``).
2. Find the statement instances that they depend on, in either program (``closure.py``).
3. Evaluate these symbolically (``run.py``).  Loops are not cropped: what is left out is what nothing chosen depends on.
4. Compare the chosen elements as the full mode does (``compare.py``, ``decide.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, final

import numpy as np

from verified_tir.ir.dtype import BOOL, PointerType
from verified_tir.ir.find import data_vars
from verified_tir.logic.solver import Solver
from verified_tir.validate.compare import Gap, compare, extra_events
from verified_tir.validate.decide import decide
from verified_tir.validate.demand.closure import Closure
from verified_tir.validate.demand.elements import SEED, choose, tile_sizes
from verified_tir.validate.demand.frames import Frames
from verified_tir.validate.demand.instances import Effort, TooMuch
from verified_tir.validate.demand.outline import Outline
from verified_tir.validate.demand.run import Run
from verified_tir.validate.demand.versions import SparseAccess
from verified_tir.validate.demand.witness import look
from verified_tir.validate.execute import Asserted
from verified_tir.validate.frame import Value
from verified_tir.validate.interface import Parameter, Side, Sides
from verified_tir.validate.memory import LARGEST_BLOCK, Refused, UndefinedRun
from verified_tir.validate.normal import Normaliser, TooLarge
from verified_tir.validate.operators import Builder
from verified_tir.validate.session import Exit, asserted
from verified_tir.validate.terms import Ids, Terms, TooManyTerms
from verified_tir.validate.verdict import Different, Equal, EqualInPart, Unknown, Verdict

MOST_ELEMENTS: Final = 256
_PILOT: Final = 2
_PADDING: Final = 32
_FEW: Final = 2
_LOOKED_AT: Final = 4
_MOST_BOXES: Final = 20_000_000


@final
@dataclass(frozen=True, slots=True)
class Program:
    """One of the two programs, with its sites."""

    side: Side
    outline: Outline

    @staticmethod
    def of(side: Side) -> Program:
        return Program(side, Outline(side))

    @property
    def params(self) -> list[Parameter]:
        return self.side.params

    def written(self) -> set[int]:
        """The positions of the parameters that the program stores to."""
        return {s.parameter for s in self.outline.storage.values() if s.parameter is not None and s.writers}


def too_long(sides: Sides, operations: int) -> bool:
    """Whether it is certain before the execution that one of the programs takes more operations."""
    try:
        return max(Outline(side).length for side in sides) > operations
    except Refused:
        return False


def compare_on_demand(
    sides: Sides, build: Builder, solver: Solver, *, budget: int, elements: int = MOST_ELEMENTS
) -> Verdict:
    """The verdict on some elements.

    :param budget: operations to execute symbolically in each program at most.
    :param elements: how many elements to compare, at most; fewer if they depend on too much.
    """
    try:
        for parameter in sides[1].params:
            if parameter.count <= LARGEST_BLOCK:  # the map of more elements is taken to be injective
                parameter.check_map()
        first, second = map(Program.of, sides)
        while True:
            chosen, total, closures = _needed(first, second, build, elements, budget)
            try:
                return _judge(first, second, closures, chosen, total, build, solver, budget)
            except TooManyTerms:
                count = sum(k.size for k in chosen.values())
                if count <= len(chosen):  # one of each buffer: there are no fewer
                    raise
                elements = count // 2
    except (Refused, TooManyTerms) as problem:
        return Unknown(f"the programs are too large to be executed as a whole; on demand: {problem}")


def _needed(
    first: Program, second: Program, build: Builder, elements: int, most: int
) -> tuple[dict[int, Ids], int, list[Closure]]:
    """The elements to compare, how many there are in all, and what the chosen ones depend on."""
    outputs = sorted(first.written() | second.written())
    count = min(_PILOT, elements)
    pilot, _ = _chosen(first, second, outputs, count)
    effort = Effort(_MOST_BOXES, most)
    try:
        cost = max(depend(p, pilot, build, effort.again(most)).cost for p in (first, second))
        count = max(count, min(elements, sum(k.size for k in pilot.values()) * most // max(1, cost)))
    except TooMuch:
        count = 1
    while True:
        chosen, total = _chosen(first, second, outputs, count)
        try:
            allowed = most if count > 1 else 2 * most  # one element at least, if it is at all feasible
            return chosen, total, [depend(p, chosen, build, effort.again(allowed)) for p in (first, second)]
        except TooMuch:
            if count <= 1:
                raise
            count //= 2


def _chosen(first: Program, second: Program, outputs: Sequence[int], count: int) -> tuple[dict[int, Ids], int]:
    """By position, the elements to compare; and how many there are in all."""
    found: dict[int, Ids] = {}
    total = 0
    for position in outputs:
        place = first.params[position]
        total += place.count
        sites = [
            (p.outline, [w for s in p.outline.storage.values() if s.parameter == position for w in s.writers])
            for p in (first, second)
        ]
        sizes = tile_sizes(place.shape_before, sites)
        share = max(1, count // len(outputs))
        found[position] = np.sort(choose(place.shape_before, sizes, share, SEED + position))
    return found, total


def depend(program: Program, chosen: Mapping[int, Ids], build: Builder, effort: Effort) -> Closure:
    """What the chosen elements depend on in one program, if that takes no more than some effort."""
    access = SparseAccess(build, program.outline, program.params, frozenset())
    doubt = int(build.opaque("perhaps", BOOL, 0))
    closure = Closure(program.outline, Frames(program.outline, access.evaluator, doubt), effort)
    for position, elements in chosen.items():
        p = program.params[position]
        if p.buffer is not None:
            at = np.concatenate([p.scalars(p.positions(elements)), _padding(p)]).reshape(-1)
            closure.demand(p.buffer.data, at, np.full(at.size, program.outline.length + 1), np.full(at.size, -1))
    closure.run()
    return closure


def _padding(p: Parameter) -> Ids:
    """Scalars of the padding to compare, a row for each element, if a value is owed there."""
    positions = np.zeros(0, dtype=np.int64) if p.padding in (None, "undef") else p.rest
    return p.scalars(positions[:: max(1, positions.size // _PADDING)])


def _judge(
    first: Program,
    second: Program,
    closures: Sequence[Closure],
    chosen: Mapping[int, Ids],
    total: int,
    build: Builder,
    solver: Solver,
    budget: int,
) -> Verdict:
    one = evaluate(first, closures[0], chosen, build, budget)
    count = sum(k.size for k in chosen.values())
    if one.undefined is not None:
        return Equal(vacuous=True, undefined=f"{one.undefined}, on every input")
    other = evaluate(second, closures[1], chosen, build, budget)
    if one.asserted is not None:
        return asserted(one, other)

    def replayed(elements: list[tuple[int, int]], padding: Sequence[tuple[int, int]] = ()) -> Different | None:
        effort = Effort(_MOST_BOXES, budget)  # all these searches together

        def again(program: Program, some: Mapping[int, Ids]) -> Closure:
            return depend(program, some, build, effort.again(budget))

        return look(first, second, elements, again, padding)

    if other.asserted is not None:
        return Unknown(f"after ends by the assertion {other.asserted!r} (evaluated on demand)")
    if other.undefined is not None:
        every = [(position, int(e)) for position, elements in chosen.items() for e in elements]
        unknown = f"after ends by {other.undefined}; no input was found on which before does not"
        return replayed(every) or Unknown(f"{unknown} (evaluated on demand)")
    sides = [[p for p in side.params if p.buffer is None or p.position in chosen] for side in (first, second)]
    gap = compare(build.terms, one, other, *sides)
    events = extra_events(build.terms, one, other)
    for part in (Gap(dict(islice(gap.pairs.items(), _FEW))), gap):  # one difference is enough, and deciding takes long
        decision = decide(build.terms, part, one, events, solver)
        if decision.undecided:
            break
    if decision.left:
        pairs = differing(build.terms, one, decision.undecided)
        if decision.undecided and not pairs:  # what is left are long sums, and there was no time for all of them
            raise TooManyTerms("the sums of the chosen elements are too long to be compared")
        if not pairs and decision.reals:  # a difference would be no more than rounding
            return Unknown(f"{decision.left} (evaluated on demand for {count} of {total} elements)")
        doubtful = _doubtful(one, other, chosen, pairs)
        padding = _doubtful_padding(second, other, pairs)
        return replayed(doubtful, padding) or Unknown(
            f"{decision.left} (evaluated on demand for {count} of {total} elements)"
        )
    return EqualInPart(count, total, decision.reals, decision.how)


def differing(terms: Terms, before: Exit, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The first few pairs of terms that differ over the reals too: their values may differ by more than rounding."""
    found = []
    for pair in pairs[:_LOOKED_AT]:
        reals = Normaliser(terms, before.events, reals=True)
        try:
            if reals.normal(pair[0]) != reals.normal(pair[1]):
                found.append(pair)
        except TooLarge:
            continue
    return found


def _doubtful(
    one: Exit, other: Exit, chosen: Mapping[int, Ids], pairs: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The elements, one for each of some pairs of terms; all chosen ones if there is no pair."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for position, elements in chosen.items():
        both = zip(elements.tolist(), one.memory[position][0].tolist(), other.memory[position][0].tolist(), strict=True)
        for element, a, b in both:
            for pair in zip(a, b, strict=True):
                if pair in pairs or not pairs:
                    found.setdefault(pair if pairs else (position, element), (position, element))
    return list(found.values())


def _doubtful_padding(second: Program, other: Exit, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The scalars of the padding, one for each of some terms, that may not be what is owed, with their addresses."""
    terms = {b for _, b in pairs}
    found: dict[int, tuple[int, int]] = {}
    for position, (_, rest) in other.memory.items():
        addresses = _padding(second.params[position]).reshape(-1)
        for address, term in zip(addresses.tolist(), rest.reshape(-1).tolist(), strict=True):
            if term in terms:
                found.setdefault(term, (position, address))
    return list(found.values())


def evaluate(
    program: Program,
    closure: Closure,
    chosen: Mapping[int, Ids],
    build: Builder,
    budget: int,
) -> Exit:
    """Evaluate what was found to be needed, and read the chosen elements."""
    build.terms.reserve(closure.cost)
    access = SparseAccess(build, program.outline, program.params, data_vars(program.side.func.body))
    run = Run(program.outline, closure, access, build.operations + 2 * budget)
    for p in program.params:
        if p.buffer is None and p.var not in program.side.values and not isinstance(p.var.type, PointerType):
            term = build.opaque(f"input:{p.position}", p.var.dtype, 0).reshape(1, 1)
            run.frames.scalars[p.var] = Value(p.var.dtype, None, term)
    try:
        run.run()
    except UndefinedRun as found:
        return Exit({}, {}, (), 0, undefined=str(found))
    except Asserted as found:
        return Exit({}, {}, (), 0, asserted=str(found))
    memory = {}
    for position, elements in chosen.items():
        p = program.params[position]
        memory[position] = _read(access, p, p.scalars(p.positions(elements))), _read(access, p, _padding(p))
    return Exit(memory, dict(access.events.found), (), 0)


def _read(access: SparseAccess, parameter: Parameter, at: Ids) -> Ids:
    assert parameter.buffer is not None
    flat = at.reshape(-1)
    end, start = np.full(flat.size, access.outline.length + 1), np.full(flat.size, -1)
    ids = access.values(parameter.buffer.data, flat, end, start).reshape(at.shape)
    return access.typed(ids, access.outline.views[parameter.buffer])


def replayed_in_part(
    sides: Sides, terms: Terms, one: Exit, other: Exit, pairs: Sequence[tuple[int, int]], budget: int
) -> Different | None:
    """A witness for terms that differ, of programs that were executed as a whole but take too long to be run.

    Only where parameters did not move.
    """
    if any(p.index_map is not None for side in sides for p in side.params):
        return None
    build = Builder(Terms())
    try:
        first, second = map(Program.of, sides)
        chosen = {k: np.arange(len(left), dtype=np.int64) for k, (left, _) in one.memory.items()}
        pairs = differing(terms, one, pairs)
        doubtful = _doubtful(one, other, chosen, pairs) if pairs else []
        effort = Effort(_MOST_BOXES, budget)
        return look(first, second, doubtful, lambda program, some: depend(program, some, build, effort.again(budget)))
    except Refused:
        return None
