"""Search for an input that satisfies the assumptions of a program, so that its theorem is not vacuous.

A theorem speaks of the inputs that satisfy what the program assumes.  Assumptions may contradict each other, and then
every claim is proved.  So one input is exhibited: sizes and arrays that satisfy every assumption, on which the program
runs without undefined behaviour.

Sizes are small ones first, then those that the solver finds for what is assumed of them.  At given sizes the
assumptions about entry contents are solved (:mod:`verified_tir.schedule.exhibit_values`); then the program is run, and
what it assumes elsewhere is repaired as in replays.  Nothing here is trusted, nothing rests on an input that was
found; that there is none is said where the solver has proved it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Final, Literal, final

import numpy as np

from verified_tir.derivation.assumptions import assumed_at
from verified_tir.index.evaluate import evaluate as evaluate_index
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import at
from verified_tir.ir.stmt import Assume
from verified_tir.logic import formula as f
from verified_tir.logic.concrete import NoValue, Value, evaluate
from verified_tir.logic.formula import Term
from verified_tir.logic.names import has_floats
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Refuted
from verified_tir.schedule.exhibit_claims import (
    Claim,
    ConcreteClaims,
    Place,
    SymbolicClaims,
    claims_something,
    instances,
    leading,
)  # fmt: skip
from verified_tir.schedule.exhibit_values import Satisfied, arrays_of, contradictory
from verified_tir.schedule.replay_inputs import Array, extents_of, repair, symbols, with_lanes
from verified_tir.semantics.interpreter import StepLimit, Stopped, UndefinedBehaviour, Unsupported, run
from verified_tir.semantics.memory import row_major

Found = Literal["input", "not run", "vacuous", "no input found"]

WORK: Final = 300_000
"""How many stores and iterations all runs may take,"""
STEPS: Final = 100_000
"""one run of a program that assumes something,"""
GLANCE: Final = 1_000
"""and one that only confirms what is known: that the input satisfies all that is assumed."""
COST: Final = 50
"""What a run counts that ends early."""
BUDGET: Final = 1_000_000
"""Resource limit of one question to the solver."""
ELEMENTS: Final = 1 << 20
"""How many elements all arrays of an input may have that is run."""
MODELS: Final = 6
"""How many sizes the solver is asked for."""
_UNIFORM: Final = (3, 1, 2, 4, 5, 8, 16)


@final
@dataclass(frozen=True, slots=True)
class Exhibit:
    """An input that satisfies all that a program assumes, or that none was found.

    :ivar found: ``"input"``; ``"not run"`` where it could not be run past all assumptions; ``"vacuous"`` if it is
        proved that there is none; ``"no input found"``.
    :ivar sizes: the scalar parameters and shape symbols, by name.
    :ivar arrays: by the name of the buffer; none if they would be too large.
    :ivar steps: stores and iterations of the run.
    :ivar complete: whether the run reached its end.  If not, the input still satisfies all assumptions, unless it is
        ``"not run"``.
    :ivar why: what kept the input from being run, or what is wrong with the inputs that were tried.
    :ivar contradictory: assumptions that contradict each other, in sentences.
    """

    found: Found
    sizes: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)
    steps: int = 0
    complete: bool = False
    why: str = ""
    contradictory: tuple[str, ...] = ()

    @property
    def exists(self) -> bool:
        """Whether there is an input, as far as that was found out."""
        return self.found in ("input", "not run")

    def __str__(self) -> str:
        at = ", ".join(f"{name} = {value}" for name, value in self.sizes.items())
        where = f" with {at}" if at else ""
        match self.found:
            case "input":
                how = "runs to its end" if self.complete else f"satisfies the assumptions; {self.why}"
                return f"an input{where} {how}"
            case "not run":
                return f"an input{where} was not run past all assumptions: {self.why}"
            case "vacuous":
                which = f": {'; '.join(self.contradictory)}" if self.contradictory else ""
                return f"no input satisfies what the program assumes{which}"
            case "no input found":
                why = f" ({self.why})" if self.why else ""
                return f"no input was found that satisfies what the program assumes{why}"


def exhibit(func: PrimFunc) -> Exhibit:
    """An input of a program whose meaning was proved, its assumptions included."""
    return _Search(func).search()


def exhibit_of(func: PrimFunc, sizes: dict[str, Any]) -> Exhibit | None:
    """An input of these sizes, of such a program; ``None`` if none was found."""
    return _Search(func).of(sizes)


@final
class _Search:
    """The search for an input, with what came of it so far."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.solver = Solver(BUDGET)
        self.symbolic = SymbolicClaims(func)
        self.assumes = claims_something(func.body)
        self.work = 0
        self.rng = np.random.default_rng(1)
        self.impossible: list[dict[str, Any]] = []
        self.tried: list[dict[str, Any]] = []
        self.contradiction: list[Claim] = []
        self.not_run: Exhibit | None = None
        self.why = ""
        if self.assumes:
            self.symbolic.collect()

    def search(self) -> Exhibit:
        for sizes in self.choices():
            self.tried.append(sizes)
            found = self.of(sizes)
            if found is not None:
                return found
            if self.work > WORK:
                break
        if self.not_run is not None:
            return self.not_run
        if self.vacuous():
            return Exhibit("vacuous", contradictory=self.in_words(self.contradiction))
        return Exhibit("no input found", why=self.why, contradictory=self.in_words(self.contradiction))

    def in_words(self, claims: list[Claim]) -> tuple[str, ...]:
        return tuple(assumed_at(self.func, path) for path in dict.fromkeys(c.path for c in claims))

    # -- sizes -----------------------------------------------------------------------------------------------------

    def choices(self) -> Iterator[dict[str, Any]]:
        """Sizes that satisfy what is assumed of them alone, small positive ones first."""
        wanted = symbols(self.func)
        free = [v for v in wanted if v.dtype.is_int and v not in self.derived()]
        seen: list[dict[Var, int]] = []
        mixed = {v: k + 2 for k, v in enumerate(free)}
        for sizes in (*(dict.fromkeys(free, k) for k in _UNIFORM), mixed):
            if sizes not in seen and self.fits(sizes):
                seen.append(sizes)
                yield self.named(sizes)
        if free:
            for positive in (True, False):
                for sizes in self.solved(free, seen, positive):
                    seen.append(sizes)
                    yield self.named(sizes)

    def fits(self, sizes: Mapping[Var, int]) -> bool:
        """Whether sizes satisfy what is assumed of them alone."""
        values: dict[Term, Value] = {t: sizes[v] for v, t in self.symbolic.sizes.items() if v in sizes}
        try:
            return all(evaluate(t, values, {}) for t in self.symbolic.bounds if _over(t, values)) and all(
                evaluate(c.formula, values, {}) for c in self.symbolic.plain() if _over(c.formula, values)
            )
        except (NoValue, OverflowError):
            return True

    def solved(self, free: list[Var], seen: list[dict[Var, int]], positive: bool) -> Iterator[dict[Var, int]]:
        """Sizes at which the assumptions do not contradict each other at single iterations."""
        terms = tuple(self.symbolic.sizes[v] for v in free)
        claims = [c for c in instances(self.symbolic.claims) if not has_floats(c.formula)]
        given = (*self.symbolic.bounds, *self.symbolic.ranges(claims), *[c.formula for c in claims])
        if positive:
            given += tuple(f.le(f.integer(1), self.symbolic.sizes[v]) for v in free if self.in_shapes(v))
        for _ in range(MODELS):
            others = [f.or_(*[f.ne(self.symbolic.sizes[v], f.integer(x)) for v, x in s.items()]) for s in seen]
            verdict = self.solver.prove((*given, *others), f.FALSE, terms)
            if not isinstance(verdict, Refuted):
                break
            values = verdict.model.values
            yield {v: values.get(str(t.payload), 1) for v, t in zip(free, terms, strict=True)}

    def in_shapes(self, v: Var) -> bool:
        return any(v in b.shape for b in self.func.buffers)

    def derived(self) -> dict[Var, int | None]:
        """Symbols that are nothing but a stride or an offset: what they are for arrays without gaps.

        A stride follows from the sizes: ``None``.
        """
        found: dict[Var, int | None] = {}
        for b in self.func.buffers:
            found.update({e: None for e in b.strides if isinstance(e, Var)})
            if isinstance(b.elem_offset, Var):
                found[b.elem_offset] = 0
        return {v: x for v, x in found.items() if v not in self.func.params and not self.in_shapes(v)}

    def named(self, sizes: Mapping[Var, int]) -> dict[str, Any]:
        """The sizes by name, with the other parameters."""
        values: dict[Var, Any] = {**sizes}
        derived = self.derived()
        values.update({v: x for v, x in derived.items() if x is not None})
        for b in self.func.buffers:
            dims = _numbers(b.shape, values)
            if dims is not None and len(b.strides) == len(dims):
                pairs = zip(b.strides, row_major(tuple(dims)), strict=True)
                values.update({s: x for s, x in pairs if isinstance(s, Var) and s in derived})
        return {v.name: values.get(v, 1 if v.dtype.is_int else v.dtype.is_bool or 1.5) for v in symbols(self.func)}

    # -- one choice of sizes -----------------------------------------------------------------------------------------

    def of(self, sizes: dict[str, Any]) -> Exhibit | None:
        """An input of these sizes."""
        shapes = self.shapes(sizes)
        if shapes is None:
            return None
        values, decided = self.values(sizes, shapes)
        if values is None:
            self.impossible.append(sizes)
            return None
        chosen = {**sizes, **{p.name: x for p, x in values.items() if isinstance(p, Var)}}
        if sum(map(prod, shapes.values())) > ELEMENTS:
            return self.beyond(Exhibit("input", chosen, why="its arrays are too large to be run"), decided)
        return self.run(chosen, arrays_of(self.func, shapes, values), decided)

    def shapes(self, sizes: Mapping[str, Any]) -> dict[str, tuple[int, ...]] | None:
        """The shapes of the arrays; the lanes of a vector element are one more axis.  ``None`` if there are none."""
        dims = extents_of(self.func, sizes)
        return None if dims is None else {b.name: with_lanes(b, dims[b.name]) for b in self.func.buffers}

    def values(
        self, sizes: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
    ) -> tuple[Mapping[Place, Value] | None, bool]:
        """Values of elements that satisfy what is assumed of them, and whether that is all that is assumed.

        ``None`` in place of values: there are none, which is proved.
        """
        if not self.assumes:
            return {}, True
        known: Mapping[Place, Value] | None = None
        for _ in range(3):  # bounds and indices that depend on elements are looked at once these have values
            claims = ConcreteClaims(self.func, sizes, shapes, known)
            claims.collect()
            tried = Satisfied(self.func, claims, sizes, shapes, self.solver)
            if tried.contradiction:
                if not claims.pinned:
                    self.contradiction = contradictory(self.solver, claims.ranges(claims.unknowns), tried.contradiction)
                    return None, False
                break
            decided = tried.decided and claims.complete
            found = {**(known or {}), **tried.values}
            if claims.complete or found == known:
                return found, decided
            known = found
        return known or {}, False

    def run(self, sizes: dict[str, Any], arrays: dict[str, Array], decided: bool) -> Exhibit | None:
        """This input, if the program runs on it."""
        first = None if decided else leading(self.func.body)
        if first is not None:  # the rest may take long
            passed = self.on(self.func.with_body(first), sizes, arrays, min(STEPS, WORK - self.work))
            if passed is None:
                return None
            decided = passed.complete
        steps = GLANCE if decided else min(STEPS, max(WORK - self.work, GLANCE))
        found = self.on(self.func, sizes, arrays, steps)
        return found if found is None or found.complete else self.beyond(found, decided)

    def on(self, func: PrimFunc, sizes: dict[str, Any], arrays: dict[str, Array], steps: int) -> Exhibit | None:
        """A run of the program, or of its beginning; where it assumes what is false, an element is changed."""
        repaired: list[tuple[object, ...]] = []
        while True:
            try:
                outcome = run(func, {**arrays, **sizes}, max_steps=steps)
            except StepLimit:
                self.work += steps
                return Exhibit("input", sizes, arrays, steps, why=f"its run was stopped after {steps} steps")
            except Unsupported as unknown:
                why = f"the interpreter cannot run the program: {unknown.message}"
                return Exhibit("input", sizes, arrays, why=why)
            except UndefinedBehaviour as ub:
                self.work += COST + 4 * sum(a.size for a in arrays.values())
                self.why = self.described(func, sizes, ub)
                violated = (ub.place, *ub.iteration.items())
                if violated in repaired or not self.repaired(func, sizes, arrays, ub):
                    return None
                repaired.append(violated)
                continue
            except (Stopped, IRError, ValueError, OverflowError) as problem:
                self.work += COST
                self.why = self.shown(sizes, str(problem))
                return None
            self.work += outcome.steps
            return Exhibit("input", sizes, arrays, outcome.steps, complete=True)

    def repaired(self, func: PrimFunc, sizes: dict[str, Any], arrays: dict[str, Array], ub: UndefinedBehaviour) -> bool:
        """Whether an element could be changed so that what is assumed is true of the arguments."""
        return ub.kind == "assume" and self.work <= WORK and repair(func, arrays, sizes, ub, self.rng)

    def described(self, func: PrimFunc, sizes: Mapping[str, Any], ub: UndefinedBehaviour) -> str:
        """Why a run on an input has no meaning, in words."""
        place = ub.place or ()
        if ub.kind == "assume" and isinstance(at(func.body, place), Assume):
            return self.shown(sizes, f"this is false: {assumed_at(func, place)}")
        return self.shown(sizes, ub.message)

    def shown(self, sizes: Mapping[str, Any], what: str) -> str:
        at = ", ".join(f"{name} = {value}" for name, value in sizes.items())
        return f"with {at}, {what}" if at else what

    def beyond(self, found: Exhibit, decided: bool) -> Exhibit | None:
        """An input that is not run to its end: enough if it is known to satisfy all that the program assumes."""
        if decided:
            return found
        self.not_run = self.not_run or replace(found, found="not run")
        return None

    # -- none --------------------------------------------------------------------------------------------------------

    def vacuous(self) -> bool:
        """Whether it is proved that there is no input; ``contradiction`` says why."""
        if len(self.impossible) == len(self.tried) > 0 and not self.symbolic.sizes:
            return True
        claims = instances(self.symbolic.claims)
        given = (*self.symbolic.bounds, *self.symbolic.ranges(claims))
        formulas = [c.formula for c in claims]
        if self.solver.contradictory((*given, *formulas)):
            self.contradiction = contradictory(self.solver, given, claims)
            return True
        if not self.symbolic.sizes or len(self.impossible) < len(self.tried):
            return False
        tried = [f.or_(*[f.ne(t, f.integer(s[v.name])) for v, t in self.symbolic.sizes.items()]) for s in self.tried]
        return isinstance(self.solver.prove((*given, *formulas, *tried), f.FALSE), Proved)


def _over(t: Term, values: Mapping[Term, Value]) -> bool:
    """Whether all unknowns of a formula have values."""
    return all(u in values for u in f.subterms(t) if u.op in ("var", "app"))


def _numbers(exprs: tuple[Any, ...], values: Mapping[Var, Any]) -> list[int] | None:
    try:
        return [int(x) for x in evaluate_index(list(exprs), values)]
    except IRError:
        return None
