"""One expression, two meanings: the interpreter's result against what Z3 says of the encoding.

A :class:`Sample` is an expression with the values of its variables and of the elements that it loads.
:func:`disagreement` runs the interpreter, encodes every lane of the expression, and asks Z3, for a whole batch at once:

* *folded*: operands are constants of the logic, so that the folding in ``logic/formula.py`` has its say too;
* *given*: operands are variables of the logic, known by hypotheses ``x = constant`` only.

Where the run has a meaning, the safety conditions must be proved, definedness must be what it was, and every defined
lane must be proved to have the interpreter's bits (NaNs equal, zeros of different sign not).  Where it has none, some
safety condition of the corresponding kind must be proved to be violated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from weakref import WeakKeyDictionary

from hypothesis.vendor.pretty import RepresentationPrinter as PrettyPrinter

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary, Call, Cast, Expr, LetExpr, Load, Var
from verified_tir.ir.find import data_vars
from verified_tir.ir.floats import bits_of
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.script import script
from verified_tir.ir.visit import walk
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.smtlib import query
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Refuted
from verified_tir.semantics.encode import Encoded, Encoder, Safety, sort_of
from verified_tir.semantics.errors import UndefinedBehaviour
from verified_tir.semantics.interpreter.expressions import meaning_of
from verified_tir.semantics.interpreter.frame import Frame, Run
from verified_tir.semantics.memory import Extents, View
from verified_tir.semantics.values import UNDEF, Number, Scalar, lanes_of, vector

KINDS: dict[str, frozenset[str]] = {
    "index-overflow": frozenset({"no overflow"}),
    "division-overflow": frozenset({"no overflow"}),
    "division-by-zero": frozenset({"no division by zero"}),
    "undef-divisor": frozenset({"a divisor that is undef", "no overflow"}),  # undef // -1 might overflow
    "shift": frozenset({"a shift amount in range"}),
    "undef-shift": frozenset({"a shift amount that is undef"}),
    "undef-branch": frozenset({"a branch on undef"}),
    "undef-index": frozenset({"an index that is undef"}),
    "out-of-bounds": frozenset({"in bounds"}),
}
"""The interpreter's kinds of undefined behaviour in expressions, and the safety conditions that stand for each."""

Elements: TypeAlias = dict[Buffer, tuple[Scalar, ...]]


@dataclass(frozen=True, repr=False)
class Sample:
    """``expr`` where its variables have these values, and its buffers (of one dimension) these scalar lanes."""

    expr: Expr
    values: dict[Var, Number] = field(default_factory=dict)
    elements: Elements = field(default_factory=dict)

    def __repr__(self) -> str:
        nodes = list(walk(self.expr))
        known = [f"{v.name} = {x}" for v, x in self.values.items() if v in nodes]
        known += [f"{b.name} = {list(x)}" for b, x in self.elements.items() if b in nodes]
        return f"{script(self.expr)}\n  where {', '.join(known)}"

    def _repr_pretty_(self, printer: PrettyPrinter, cycle: bool) -> None:
        printer.text(repr(self))


# ----------------------------------------------------------------------------------------------------- interpreter


class Subject:
    """What all samples of one expression share: its meaning, its operators, whether it is index arithmetic."""

    def __init__(self, expr: Expr) -> None:
        nodes = list(walk(expr))
        self.data = data_vars(expr) if any(isinstance(n, LetExpr) for n in nodes) else frozenset()
        self.meaning = meaning_of(expr, self.data)
        self.is_index = None if expr.dtype.is_float else is_index(expr, self.data)
        self.operators = list(operators_of(nodes, self.data))


_SUBJECTS: WeakKeyDictionary[Expr, Subject] = WeakKeyDictionary()


def subject(expr: Expr) -> Subject:
    found = _SUBJECTS.get(expr)
    if found is None:
        found = _SUBJECTS[expr] = Subject(expr)
    return found


def operators_of(nodes: Iterable[object], data: frozenset[Var]) -> Iterator[tuple[str, str]]:
    """Every operator among the nodes, with the scalar type of its operand; index arithmetic is told apart."""
    for node in nodes:
        match node:
            case Binary(op=op, a=a):
                yield (f"index {op}" if a.dtype.is_int and is_index(node, data) else op), str(a.dtype.scalar)
            case Cast(type=t, value=v):
                yield f"cast to {t.scalar}", str(v.dtype.scalar)
            case Call(op=op, args=args):
                yield op, str(args[0].dtype.scalar)
            case Var() | Load():
                pass
            case Expr():
                index = node.dtype.is_int and is_index(node, data)
                yield f"{'index ' if index else ''}{type(node).__name__}", str(node.dtype.scalar)


def frame_of(sample: Sample) -> Frame:
    """A run's state in which the sample's variables and buffers are bound."""
    frame = Frame(Run(), dict(sample.values))
    for buffer, lanes in sample.elements.items():
        width = buffer.dtype.lanes
        count = len(lanes) // width
        block = frame.run.new_block(buffer.name, count * buffer.dtype.nbytes)
        view = frame.views[buffer] = View(buffer.name, buffer.dtype, block, Extents((count,), (1,)))
        for k in range(count):
            view.store((k,), vector(lanes[k * width : (k + 1) * width]))
    return frame


def interpreted(sample: Sample) -> tuple[Scalar, ...] | str:
    """The lanes of the result, or the kind of undefined behaviour."""
    try:
        return lanes_of(subject(sample.expr).meaning(frame_of(sample)))
    except UndefinedBehaviour as end:
        return end.kind


# -------------------------------------------------------------------------------------------------------- encoding


def constant(dtype: DType, value: Scalar) -> Term:
    """A defined scalar as a constant of the logic."""
    assert value is not UNDEF
    if dtype.is_bool:
        return f.boolean(bool(value))
    return f.floating(sort_of(dtype), bits_of(dtype, value)) if dtype.is_float else f.integer(int(value))


def another(dtype: DType, value: Scalar) -> Term:
    """A constant that is not ``value``: near it, or its negative."""
    assert value is not UNDEF
    if dtype.is_bool:
        return f.boolean(not value)
    if dtype.is_float:
        bits = bits_of(dtype, value)
        return f.floating(sort_of(dtype), 0 if value != value else bits ^ (1 << (dtype.bits - 1)))
    return f.integer(int(value) + 1)


class Operands:
    """What operands stand for: constants, or variables with ``given`` equations."""

    def __init__(self, sample: Sample, number: int, *, folded: bool) -> None:
        self.sample, self.number, self.folded = sample, number, folded
        self.given: dict[Term, None] = {}
        self.env = {
            v: Encoded(self.stands_for(f"{v.name}", v.dtype, x), f.TRUE, v.dtype.is_float)
            for v, x in sample.values.items()
        }

    def stands_for(self, name: str, dtype: DType, value: Scalar) -> Term:
        known = constant(dtype, value)
        if self.folded:
            return known
        variable = f.var(f"{name}.{self.number}", known.sort)
        self.given[f.eq(variable, known)] = None
        return variable

    def element(self, buffer: Buffer, position: int) -> tuple[Term, Term]:
        """One scalar lane of the memory: its value and whether it is defined."""
        value, scalar = self.sample.elements[buffer][position], buffer.dtype.scalar
        name = f"{buffer.name}[{position}]"
        known = f.boolean(value is not UNDEF)
        defined = known if self.folded else f.var(f"{name}.def.{self.number}", f.BOOL)
        if not self.folded:
            self.given[f.eq(defined, known)] = None
        if value is UNDEF:
            return f.var(f"{name}.any.{self.number}", sort_of(scalar)), defined
        return self.stands_for(name, scalar, value), defined

    def load(self, buffer: Buffer, indices: tuple[Term, ...], lane: Term | None, _: object = ()) -> tuple[Term, Term]:
        width = buffer.dtype.lanes
        at = f.add(f.mul(indices[0], f.integer(width)), lane if lane is not None else f.integer(0))
        value, defined = self.element(buffer, 0)
        for position in range(1, len(self.sample.elements[buffer])):
            here = f.eq(at, f.integer(position))
            if here is f.FALSE:
                continue
            v, d = self.element(buffer, position)
            value, defined = f.ite(here, v, value), f.ite(here, d, defined)
        return value, defined


@dataclass(frozen=True)
class Claim:
    """What the interpreter's result says about the encoding: ``goal`` holds; ``wrong``, where it has one, does not."""

    sample: Sample
    what: str
    goal: Term
    wrong: Term | None = None


def holds(s: Safety) -> Term:
    return f.implies(f.and_(*s.premises), s.condition)


def claims_about(sample: Sample, result: tuple[Scalar, ...] | str, operands: Operands, *, values: bool) -> list[Claim]:
    """The claims, for every lane.  ``values`` is false where the logic does not determine them."""
    expr = sample.expr
    lanes = expr.dtype.lanes
    found: list[Claim] = []
    safety: list[Safety] = []
    for k in range(lanes):
        lane = None
        if lanes > 1:
            lane = f.integer(k) if operands.folded else f.var(f"lane.{k}.{operands.number}", f.INT)
            operands.given[f.eq(lane, f.integer(k))] = None
        e = Encoder(dict(operands.env), operands.load, safety).encode(expr, lane)
        if e.data is subject(expr).is_index:
            found.append(Claim(sample, "the encoding and index_arith.is_index differ on what is data", f.FALSE))
        if isinstance(result, str):
            continue
        value, scalar = result[k], expr.dtype.scalar
        if value is UNDEF:
            found.append(Claim(sample, f"lane {k} is undef", f.not_(e.defined)))
            continue
        found.append(Claim(sample, f"lane {k} is defined", e.defined))
        if values:
            right, wrong = f.eq(e.value, constant(scalar, value)), f.eq(e.value, another(scalar, value))
            found.append(Claim(sample, f"lane {k} is {value}", right, wrong))
    if isinstance(result, str):
        violated = [f.not_(holds(s)) for s in safety if s.kind in KINDS[result]]
        return [*found, Claim(sample, f"a condition against {result} is violated", f.or_(*violated))]
    return [*found, *[Claim(sample, s.kind, holds(s)) for s in safety]]


# ------------------------------------------------------------------------------------------------------ comparison


def disagreement(
    solver: Solver,
    samples: Sequence[Sample],
    *,
    counts: Counter[tuple[str, str]],
    modes: Sequence[str] = ("folded", "given"),
    values: bool = True,
) -> str | None:
    """Where the encoding differs from the interpreter on a batch of samples, in words; ``None`` if nowhere.

    The samples share neither variables nor elements, even where they name the same ones.  Without ``values``, only
    definedness and safety are compared.

    ``counts`` is told every operator that was compared, by operator and operand type.
    """
    results = [interpreted(s) for s in samples]
    for mode in modes:
        given: list[Term] = []
        claims: list[Claim] = []
        for number, (sample, result) in enumerate(zip(samples, results, strict=True)):
            operands = Operands(sample, number, folded=mode == "folded")
            claims.extend(claims_about(sample, result, operands, values=values))
            given.extend(operands.given)
        trouble = _examine(solver, tuple(given), claims)
        if trouble is not None:
            return f"{mode}: {trouble}"
    counts.update(cell for s in samples for cell in subject(s.expr).operators)
    return None


def _examine(solver: Solver, given: tuple[Term, ...], claims: list[Claim]) -> str | None:
    """One query for all the claims, one for all the near-misses (were the givens contradictory, both would hold)."""
    if not isinstance(_ask(solver, given, f.and_(*[c.goal for c in claims])), Proved):
        for claim in claims:
            verdict = _ask(solver, given, claim.goal)
            if not isinstance(verdict, Proved):
                return f"{describe(claim.sample)}\n  {claim.what}: {verdict}\n  {claim.goal}"
        return "the claims hold one by one and not together"
    wrong = [c.wrong for c in claims if c.wrong is not None]
    if wrong and not isinstance(_ask(solver, given, f.or_(*wrong)), Refuted):
        return f"a wrong value is not refuted, of {describe(claims[0].sample)} or another of the batch"
    return None


def _ask(solver: Solver, given: tuple[Term, ...], goal: Term) -> object:
    """Straight to Z3, all in one query: the shortcuts of ``Solver.prove`` are tested by themselves."""
    if goal is f.TRUE:
        return Proved(0.0, "folded")
    return solver.ask(query(given, goal))


def describe(sample: Sample) -> str:
    """The expression, the values of what it mentions, and what the interpreter says."""
    return f"{sample!r}\n  is {interpreted(sample)}"
