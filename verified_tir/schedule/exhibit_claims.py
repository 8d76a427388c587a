"""What a program assumes of its arguments, as formulas about sizes and elements.

A claim is what an assumption or an assertion says at one iteration, where it is about what the arguments hold at entry:
it reads nothing that may have been written before.  A run without undefined behaviour that reaches its end has found
each of them true.  So no run does, if they contradict each other; and values that satisfy them are worth a try.

* :class:`ConcreteClaims`: the sizes are numbers.  Loops are unrolled, and each element is an unknown of its own.
* :class:`SymbolicClaims`: the sizes are unknowns.  Of a loop there is an arbitrary iteration, and a load is a function
  of its indices; :func:`instances` chooses the iterations that are put to the solver.

What has no form here is left out, and ``complete`` says so.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Final, TypeAlias, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import (
    Allocate,
    Assert,
    Assume,
    AttrStmt,
    Block,
    DeclBuffer,
    For,
    If,
    LetStmt,
    Seq,
    Stmt,
    seq,
)  # fmt: skip
from verified_tir.ir.visit import nodes_of, walk
from verified_tir.kernel.begin import LARGEST
from verified_tir.kernel.effects import EVERYTHING, written_blocks
from verified_tir.logic import formula as f
from verified_tir.logic.concrete import NoValue, Value, evaluate
from verified_tir.logic.formula import Term
from verified_tir.schedule.replay_inputs import Sizes, symbols
from verified_tir.semantics.encode import Encoded, Encoder, Unencodable, in_range, sort_of

Place: TypeAlias = tuple[Buffer, tuple[int, ...]] | Var
"""An element of an argument, or a scalar parameter."""

MOST_ITERATIONS: Final = 2_000
"""How many iterations of a nest of loops are looked at."""
MOST_CHOICES: Final = 64
"""How many elements a load may be of whose indices are not known."""
MOST_INSTANCES: Final = 200
"""How many iterations are put to the solver where sizes are unknowns."""
_ELEMENT: Final = "element!"


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """What the statement at ``path`` says: ``formula``, for all values of the variables of the loops around it.

    ``loops`` has for each of these its variable, its first and its last value, the outermost first.
    """

    formula: Term
    path: Path
    loops: tuple[tuple[Term, Term, Term], ...] = ()


def claims_something(stmt: Stmt) -> bool:
    """Whether anything is assumed or asserted in a statement."""
    return any(isinstance(n, (Assume, Assert)) for n in walk(stmt))


def leading(body: Stmt) -> Stmt | None:
    """The first statements of a body, if they do nothing but assume, and nothing is assumed behind them."""
    while isinstance(body, Block) and body.is_label:
        body = body.body
    stmts = body.stmts if isinstance(body, Seq) else (body,)
    first = tuple(itertools.takewhile(_only_assumes, stmts))
    return seq(*first) if first and not any(map(claims_something, stmts[len(first) :])) else None


def _only_assumes(stmt: Stmt) -> bool:
    return claims_something(stmt) and all(
        isinstance(n, (Assume, Assert, For, If, LetStmt, Seq, Block)) for n in nodes_of(stmt, Stmt)
    )


class _Claims(ABC):
    """A walk from the entry that collects claims."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.claims: list[Claim] = []
        self.complete = True
        self._env: dict[Var, Encoded] = {}
        self._encoder = Encoder(self._env, self._load)
        self._guards: list[Term] = []
        self._loops: list[tuple[Term, Term, Term]] = []
        self._written: set[Var] = set()
        self._claiming: dict[Stmt, bool] = {}

    def collect(self) -> None:
        """Walk through the whole program."""
        self._visit(self.func.body, ())

    @abstractmethod
    def _element(self, buffer: Buffer, where: tuple[Term, ...]) -> Term:
        """An element of an argument at entry; the lane is the last of its indices."""

    @abstractmethod
    def _loop(self, loop: For, low: Term, extent: Term, path: Path) -> None:
        """The claims in the body of a loop."""

    def _load(self, buffer: Buffer, indices: tuple[Term, ...], lane: Term | None, _: object) -> tuple[Term, Term]:
        if buffer not in self.func.buffers or self._written & {buffer.data, EVERYTHING}:
            raise Unencodable(f"what {buffer.name} holds there is not what an argument held at entry")
        return self._element(buffer, indices if lane is None else (*indices, lane)), f.TRUE

    def _visit(self, stmt: Stmt, path: Path) -> None:
        if stmt not in self._claiming:
            self._claiming[stmt] = claims_something(stmt)
        if self._claiming[stmt]:
            try:
                self._claims_of(stmt, path)
            except (Unencodable, IRError, NoValue):
                self.complete = False
        self._written |= written_blocks(stmt)

    def _claims_of(self, stmt: Stmt, path: Path) -> None:
        match stmt:
            case Assume(condition=condition):
                self._claim(self._encoder.claim(condition), path)
            case Assert(condition=condition):
                self._claim(self._encoder.encode(condition), path)
            case Seq(stmts=stmts):
                for k, s in enumerate(stmts):
                    self._visit(s, (*path, k))
            case Allocate(body=body) | DeclBuffer(body=body) | AttrStmt(body=body) | Block(is_label=True, body=body):
                self._visit(body, (*path, 0))
            case LetStmt(var=v, value=value, body=body):
                try:
                    self._env[v] = self._encoder.encode(value)
                except (Unencodable, IRError, NoValue):
                    self._env.pop(v, None)  # what uses it has no form
                self._visit(body, (*path, 0))
            case For():
                low, extent = self._encoder.value(stmt.min), self._encoder.value(stmt.extent)
                self._loop(stmt, low, extent, path)
            case If(condition=condition, then_body=then_body, else_body=else_body):
                taken = self._encoder.value(condition)
                self._under(taken, then_body, (*path, 0))
                if else_body is not None:
                    self._under(f.not_(taken), else_body, (*path, 1))
            case _:
                self.complete = False

    def _under(self, guard: Term, stmt: Stmt, path: Path) -> None:
        if guard is f.FALSE:
            return
        self._guards.append(guard)
        self._visit(stmt, path)
        self._guards.pop()

    def _claim(self, e: Encoded, path: Path) -> None:
        formula = f.implies(f.and_(*self._guards), f.and_(e.value, e.defined))
        if formula is not f.TRUE:
            self.claims.append(Claim(formula, path, tuple(self._loops)))


@final
class ConcreteClaims(_Claims):
    """The claims at given sizes.

    :ivar unknowns: the elements, and parameters that are not integers, for which variables stand.
    :param known: values of all unknowns.  Where a bound or an index depends on one, it is pinned to that value:
        ``pinned`` says that this happened, and then a contradiction shows nothing.
    """

    def __init__(
        self,
        func: PrimFunc,
        sizes: Sizes,
        shapes: Mapping[str, tuple[int, ...]],
        known: Mapping[Place, Value] | None = None,
    ) -> None:
        super().__init__(func)
        self.unknowns: dict[Term, Place] = {}
        self.pinned = False
        self._left = 0
        self._inside = False
        self._variables: dict[Place, Term] = {}
        self._shapes = shapes
        self._known = known
        for v in symbols(func):
            value = f.integer(sizes[v.name]) if v.dtype.is_int else self._unknown(v, v.dtype)
            self._env[v] = Encoded(value, f.TRUE, False)

    def _unknown(self, place: Place, dtype: DType) -> Term:
        if place not in self._variables:
            found = f.var(f"e{len(self.unknowns)}", sort_of(dtype))
            self._variables[place], self.unknowns[found] = found, place
        return self._variables[place]

    def _element(self, buffer: Buffer, where: tuple[Term, ...]) -> Term:
        shape = self._shapes[buffer.name]
        choices: Iterable[tuple[int, ...]]
        if all(x.op == "const" for x in where) or self._known is not None:
            choices = [tuple(self._number(x) for x in where)]
        elif prod(shape) <= MOST_CHOICES:
            choices = itertools.product(*map(range, shape))
        else:
            raise Unencodable(f"which element of {buffer.name} is read is not known")
        found: Term | None = None
        for at in choices:
            if not all(0 <= x < extent for x, extent in zip(at, shape, strict=True)):
                break
            one = self._unknown((buffer, at), buffer.dtype.scalar)
            here = f.and_(*[f.eq(x, f.integer(k)) for x, k in zip(where, at, strict=True)])
            found = one if found is None else f.ite(here, one, found)
        if found is None:
            raise Unencodable(f"{buffer.name} has no such element")
        return found

    def _loop(self, loop: For, low: Term, extent: Term, path: Path) -> None:
        start, count = self._number(low), self._number(extent)
        if count > 1:
            self._written |= written_blocks(loop.body)
        outermost, self._inside = not self._inside, True
        if outermost:
            self._left = MOST_ITERATIONS
        for k in range(start, start + count):
            if self._left <= 0:
                self.complete = False
                break
            self._left -= 1
            self._env[loop.var] = Encoded(f.integer(k), f.TRUE, False)
            self._visit(loop.body, (*path, 0))
        self._inside = not outermost

    def _number(self, t: Term) -> int:
        """The value of a bound or an index."""
        if t.op == "const":
            return f.value_of(t)
        if self._known is None:
            raise Unencodable("a bound or an index depends on what an argument holds")
        values = {x: self._known[place] for x, place in self.unknowns.items() if place in self._known}
        number = int(evaluate(t, values, {}))
        self.pinned = True
        self.claims.append(Claim(f.eq(t, f.integer(number)), ()))
        return number

    def dtype(self, t: Term) -> DType:
        """The type of an unknown."""
        place = self.unknowns[t]
        return place.dtype if isinstance(place, Var) else place[0].dtype.scalar

    def ranges(self, terms: Iterable[Term]) -> list[Term]:
        """The integers among some unknowns fit their types."""
        return [in_range(t, self.dtype(t)) for t in terms if t.sort == f.INT]


@final
class SymbolicClaims(_Claims):
    """The claims at arbitrary sizes.

    :ivar sizes: the unknown of each integer symbol.
    :ivar bounds: what arrays there can be.
    """

    def __init__(self, func: PrimFunc) -> None:
        super().__init__(func)
        self.sizes: dict[Var, Term] = {}
        self._names = itertools.count()
        for k, v in enumerate(symbols(func)):
            found = f.var(f"s{k}", sort_of(v.dtype))
            self._env[v] = Encoded(found, f.TRUE, False)
            if v.dtype.is_int:
                self.sizes[v] = found
        self.bounds = [in_range(t, v.dtype) for v, t in self.sizes.items()]
        for b in func.buffers:
            self.bounds += [f.and_(f.le(f.integer(0), x), f.le(x, f.integer(LARGEST[64 if e.dtype.bits == 64 else 32])))
                            for e, x in self._extents(b.shape)]  # fmt: skip

    def _extents(self, shape: Iterable[Expr]) -> Iterator[tuple[Expr, Term]]:
        for e in shape:
            try:
                yield e, self._encoder.value(e)
            except (Unencodable, IRError):
                continue

    def _element(self, buffer: Buffer, where: tuple[Term, ...]) -> Term:
        name = f"{_ELEMENT}{self.func.buffers.index(buffer)}"
        return f.app(name, where or (f.integer(0),), sort_of(buffer.dtype.scalar))

    def _loop(self, loop: For, low: Term, extent: Term, path: Path) -> None:
        v = f.var(f"i{next(self._names)}", f.INT)
        self._env[loop.var] = Encoded(v, f.TRUE, False)
        self._written |= written_blocks(loop.body)
        self._loops.append((v, low, f.sub(f.add(low, extent), f.integer(1))))
        self._guards += [f.le(low, v), f.lt(v, f.add(low, extent))]
        self._visit(loop.body, (*path, 0))
        del self._guards[-2:]
        self._loops.pop()

    def plain(self) -> list[Claim]:
        """The claims about sizes alone, whatever an array holds."""
        return [c for c in self.claims if not c.loops and not any(t.op == "app" for t in f.subterms(c.formula))]

    def ranges(self, claims: Iterable[Claim]) -> list[Term]:
        """The integers that arrays hold fit their types."""
        types = {f"{_ELEMENT}{k}": b.dtype.scalar for k, b in enumerate(self.func.buffers)}
        loads = [t for t in _loads(*[c.formula for c in claims]) if t.sort == f.INT]
        return [in_range(t, types[str(t.payload)]) for t in loads]


def instances(claims: Iterable[Claim]) -> list[Claim]:
    """Claims at single iterations: the first and the last of each loop, and those that read the same element as another
    one does there."""
    claims = tuple(claims)
    found: dict[Claim, None] = {}
    for last in (False, True):
        found.update(dict.fromkeys(_at(c, {}, last=last) for c in claims))
    ground = list(dict.fromkeys(t for c in found for t in _loads(c.formula)))
    for c in claims:
        if not c.loops:
            continue
        for load, other in itertools.product(_loads(c.formula), ground):
            if load.payload == other.payload and len(found) < MOST_INSTANCES:
                found[_at(c, _where(c, load, other))] = None
    return list(found)


def _at(c: Claim, where: Mapping[Term, Term], *, last: bool = False) -> Claim:
    """A claim at the first iteration of its loops, or the last one, unless ``where`` says at which."""
    chosen: dict[Term, Term] = {}
    for v, low, high in c.loops:
        chosen[v] = where[v] if v in where else f.replace(high if last else low, chosen, {})
    return Claim(f.replace(c.formula, chosen, {}), c.path)


def _where(c: Claim, load: Term, other: Term) -> dict[Term, Term]:
    """An iteration at which a load is probably the other one.  If it is not, no harm is done: a claim always holds."""
    first: dict[Term, Term] = {}
    found: dict[Term, Term] = {}
    for v, low, _ in c.loops:
        first[v] = f.replace(low, first, {})
    for index, wanted in zip(load.args, other.args, strict=False):
        for v in (t for t in f.subterms(index) if t in first and t not in found):
            base = f.replace(index, {**first, **found, v: f.integer(0)}, {})
            found[v] = f.sub(wanted, base)
            break
    return found


def _loads(*terms: Term) -> list[Term]:
    return [t for t in f.subterms(*terms) if t.op == "app" and str(t.payload).startswith(_ELEMENT)]
