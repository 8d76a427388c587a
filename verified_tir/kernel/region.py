"""The accesses of a statement: which elements its instances touch, and when.

:func:`instance` encodes one arbitrary run of a statement.  Two instances must not share what can differ between them,
so inner loop variables, lets, and *every load from memory that the region writes or allocates* are fresh in each; only
loads of outer memory that the region does not write stand for the same value in all instances.  (Forgetting the last
point proves falsehoods: see ``tests/kernel/test_renaming.py``.)
"""

from __future__ import annotations

from collections.abc import Iterable

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import Call, Expr, Load, Var
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import (
    Allocate,
    Assert,
    Assume,
    AttrStmt,
    Block,
    DeclBuffer,
    Evaluate,
    For,
    If,
    LetStmt,
    Seq,
    Stmt,
    Store,
    While,
)
from verified_tir.ir.visit import children, map_children, sub_statements, walk
from verified_tir.kernel.access import Access, Assumed, Instance
from verified_tir.kernel.admissible import NOT_EXPANDED
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import EVERYTHING, written_blocks
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, Encoder, Safety, Unencodable, fresh, in_range, sort_of


def instance(
    context: Context, stmt: Stmt, *, env: dict[Var, Encoded] | None = None, given: Iterable[Term] = (),
    with_safety: bool = False, share_loads: bool = False, also_written: Iterable[Var] = (),
) -> Instance:  # fmt: skip
    """Encode one arbitrary run of ``stmt`` from the memory of ``context``.

    :param env: values for variables bound around ``stmt`` (an iteration's loop variable).
    :param given: conditions under which the instance runs.
    :param share_loads: all loads see the memory of ``context``: only right for a statement that changes nothing.
    :param also_written: blocks that something else writes while the instance runs.
    """
    here = context.fork()
    if env:
        here.env.update(env)
    volatile = {*also_written} if share_loads else {*written_blocks(stmt), *also_written}
    local = {n.buffer.data for n in walk(stmt) if isinstance(n, Allocate)}
    walker = _Walker(here, volatile | local, local, with_safety, list(given))
    walker.statement(stmt)
    return walker.result


class _Walker:
    """Walks a statement once, collecting accesses under the conditions that lead to them."""

    def __init__(
        self, context: Context, volatile: set[Var], local: set[Var], with_safety: bool, given: list[Term]
    ) -> None:
        self.context = context
        self.volatile = volatile
        self.given = given
        self.place: Path = ()
        self.node: Stmt | Expr | None = None
        self.loops: tuple[Term, ...] = ()
        self.with_safety = with_safety
        self.result = Instance(context, [], [], local, [], [])

    # -- expressions ----------------------------------------------------------------------------------------------

    def evaluate(self, expr: Expr, lane: Term | None = None, *, claim: bool = False) -> Encoded:
        """Encode an expression (an assumed ``claim``), noting its loads and safety conditions."""
        encoder = self.encoder()
        if any(isinstance(n, Call) and not is_pure(n.op) for n in walk(expr)):
            self.loads_of(expr)
            if self.with_safety:
                self.around_calls(expr)
            self.barrier()
            result = fresh("call", sort_of(expr.dtype.scalar))
            self.result.unknown.append(result)
            return Encoded(result, f.TRUE, True)
        encoded = encoder.claim(expr) if claim else encoder.encode(expr, lane)
        self.keep_safety(encoder)
        return encoded

    def any_lane(self, expr: Expr) -> Term | None:
        """An arbitrary lane of an expression that has several."""
        if expr.dtype.lanes == 1:
            return None
        lane = fresh("lane", f.INT)
        self.given.append(f.between(f.integer(0), lane, f.integer(expr.dtype.lanes)))
        return lane

    def loads_of(self, expr: Expr) -> None:
        """Visit the outermost loads in an expression that itself has no value in the logic."""
        if isinstance(expr, Load):
            self.evaluate(expr, self.any_lane(expr))
            return
        for child in children(expr):
            if isinstance(child, Expr):
                self.loads_of(child)

    def around_calls(self, expr: Expr) -> None:
        """Safety of an expression that makes opaque calls, each with any result, and of the calls' arguments."""
        kept, outer = len(self.given), self.volatile
        self.volatile = {EVERYTHING}  # a call may write before a load
        arguments: list[Expr] = []

        def unknown(n: Node) -> Node:  # no two occurrences share a result, though they be one node
            n = map_children(n, unknown)
            if not isinstance(n, Call) or is_pure(n.op):
                return n
            arguments.extend(n.args)
            result, scalar = Var.fresh("call", n.dtype), n.dtype.scalar
            value = fresh("call", sort_of(scalar))
            self.context.env[result] = Encoded(value, f.TRUE, True)
            if scalar.is_int:
                self.given.append(in_range(value, scalar))
            return result

        for e in (unknown(expr), *arguments):
            if isinstance(e, Expr) and not isinstance(e, Var) and e.dtype.code not in ("handle", "void"):
                self.evaluate(e, self.any_lane(e))
        self.volatile = outer
        del self.given[kept:]

    def encoder(self) -> Encoder:
        encoder = Encoder(self.context.env, self.load, [] if self.with_safety else None, self.context.accessible)
        self.active = encoder
        return encoder

    def keep_safety(self, encoder: Encoder) -> None:
        for s in encoder.safety or ():
            premises = (*self.given, *s.premises)
            self.result.safety.append((self.place, Safety(s.kind, s.expr, premises, s.condition)))

    def load(self, buffer: Buffer, indices: tuple[Term, ...], lane: Term | None) -> tuple[Term, Term]:
        """A load: fresh in every instance if the region may change what it sees."""
        address = self.context.address(buffer, indices, lane)
        given = (*self.given, *self.active.premises)
        if buffer.data in self.volatile or EVERYTHING in self.volatile:
            scalar = buffer.dtype.scalar
            value, defined = fresh(buffer.name, sort_of(scalar)), fresh(f"{buffer.name}.def", f.BOOL)
            self.result.unknown.extend((value, defined))
            self.context.blocks[value.payload] = buffer.data
            if scalar.is_int:
                self.given.append(in_range(value, scalar))
        else:
            found = self.context.load_from(self.context.memory, buffer, indices, lane)
            value, defined = found.value, found.defined
        self.note(buffer, indices, lane, address, False, given, Encoded(value, defined, True))
        return value, defined

    def note(
        self, buffer: Buffer | None, indices: tuple[Term, ...], lane: Term | None, address: tuple[Term, ...],
        write: bool, given: tuple[Term, ...], value: Encoded | None, written: Encoded | None = None,
    ) -> None:  # fmt: skip
        assert self.node is not None
        self.result.accesses.append(
            Access(buffer, indices, lane, address, write, given, self.place, self.node, value, self.loops, written)
        )

    def barrier(self) -> None:
        """An assertion that fails, or a loop that does not end, keeps what follows from running: nothing moves past
        it."""
        self.note(None, (), None, (), True, tuple(self.given), None)

    # -- statements -----------------------------------------------------------------------------------------------

    def statement(self, stmt: Stmt) -> None:
        self.node = stmt
        kept = len(self.given)
        match stmt:
            case Store():
                self.store(stmt)
            case For():
                self.loop(stmt)
            case If(condition=c, then_body=a, else_body=b):
                e = self.evaluate(c)
                self.require("a branch on undef", c, e.defined)
                self.branch(a, 0, (e.value, e.defined))
                if b is not None:
                    self.branch(b, 1, (f.not_(e.value), e.defined))
            case LetStmt(var=v, value=value):
                self.context.env[v] = self.evaluate(value, self.any_lane(value))
                self.down(stmt)
            case Allocate(buffer=b) | DeclBuffer(buffer=b):
                self.extents(b, isinstance(stmt, Allocate))
                self.down(stmt)
            case While(condition=c, body=body):
                self.barrier()
                e = self.evaluate(c)
                self.require("a branch on undef", c, e.defined)
                self.branch(body, 0, (e.value, e.defined))
            case Assume() | Assert():
                self.assumption(stmt)
                return  # what was assumed stays known to what follows
            case Evaluate(value=value):
                self.evaluate(value, self.any_lane(value))
            case Block(is_label=False):
                raise Unencodable(NOT_EXPANDED)
            case Seq() | AttrStmt() | Block():
                self.down(stmt)
            case _:
                raise AssertionError(stmt)
        if not isinstance(stmt, Seq):
            del self.given[kept:]

    def assumption(self, stmt: Assume | Assert) -> None:
        """What is assumed, or asserted, was found true by whatever follows."""
        if isinstance(stmt, Assert):
            self.barrier()
        c = stmt.condition
        e = self.evaluate(c, claim=isinstance(stmt, Assume))
        self.require("a branch on undef", c, e.defined)
        if isinstance(stmt, Assume):
            self.require("the assumption holds", c, e.value)
        self.result.assumed.append(Assumed(f.and_(e.value, e.defined), tuple(self.given), self.loops))
        self.given.extend(t for t in (e.value, e.defined) if t is not f.TRUE)

    def extents(self, buffer: Buffer, allocated: bool) -> None:
        """What a declaration evaluates."""
        for e in (*buffer.shape, *buffer.strides, buffer.elem_offset):
            found = self.evaluate(e)
            self.require("an extent that is undef", e, found.defined)
            if allocated and e in buffer.shape:
                self.require("an extent that is not negative", e, f.le(f.integer(0), found.value))

    def down(self, stmt: Stmt) -> None:
        outer = self.place
        for k, sub in enumerate(sub_statements(stmt)):
            self.place = (*outer, k)
            self.statement(sub)
        self.place = outer

    def branch(self, stmt: Stmt, step: int, conditions: tuple[Term, ...]) -> None:
        kept, outer = len(self.given), self.place
        for c in conditions:
            self.given.extend(c.args if c.op == "and" else (c,) if c is not f.TRUE else ())
        self.place = (*outer, step)
        self.statement(stmt)
        self.place = outer
        del self.given[kept:]

    def loop(self, stmt: For) -> None:
        low, extent = self.evaluate(stmt.min), self.evaluate(stmt.extent)
        for e, x in ((low, stmt.min), (extent, stmt.extent)):
            self.require("a loop bound that is undef", x, e.defined)
        end = f.add(low.value, extent.value)
        last = in_range(f.sub(end, f.integer(1)), stmt.var.dtype)
        self.require("no overflow", stmt.extent, f.implies(f.lt(f.integer(0), extent.value), last))
        v = fresh(stmt.var.name, f.INT)
        self.context.env[stmt.var] = Encoded(v, f.TRUE, False)
        self.context.names[str(v.payload)] = stmt.var.name
        self.loops = (*self.loops, v)
        self.branch(stmt.body, 0, (f.le(low.value, v), f.lt(v, end)))
        self.loops = self.loops[:-1]

    def store(self, stmt: Store) -> None:
        lane = None
        kept, loops = len(self.given), self.loops
        if stmt.value.dtype.lanes > 1:
            lane = fresh("lane", f.INT)
            self.loops = (*loops, lane)
            self.given.append(f.between(f.integer(0), lane, f.integer(stmt.value.dtype.lanes)))
        written = self.evaluate(stmt.value, lane)
        value = self.context.held(stmt.buffer, written)
        if value.value is not written.value:
            self.result.unknown.append(value.value)
            self.result.held.add(value.value)
        encoder = self.encoder()
        target = Load(stmt.buffer, stmt.indices, stmt.predicate)
        if stmt.predicate is None:
            indices, element_lane = encoder.address(target, stmt.buffer, stmt.indices, lane)
        else:
            encoder.premises = (encoder.mask(target, stmt.buffer, stmt.predicate, lane),)
            indices, element_lane = encoder.address(target, stmt.buffer, stmt.indices, lane, ())
        self.keep_safety(encoder)
        self.given.extend(encoder.premises)
        address = self.context.address(stmt.buffer, indices, element_lane)
        self.note(stmt.buffer, indices, element_lane, address, True, tuple(self.given), value, written)
        self.loops = loops
        del self.given[kept:]

    def require(self, kind: str, expr: Expr, condition: Term) -> None:
        if self.with_safety and condition is not f.TRUE:
            self.result.safety.append((self.place, Safety(kind, expr, tuple(self.given), condition)))
