"""The accesses of a statement: which elements its instances read and write, and under which conditions.

:func:`instance` encodes one arbitrary run of a statement.  Two instances must not share what can differ between them,
so inner loop variables, lets, and *every load from memory that the region writes or allocates* (which is havocked) are
fresh in each; only loads of outer memory that the region does not write stand for the same value in all
instances.  (Forgetting the last point proves falsehoods: see ``tests/kernel/test_renaming.py``.)

What leads to a sub-statement is what ``Context.into`` says; what a statement evaluates itself, before that, is noted
here (:func:`evaluation`).
"""

from __future__ import annotations

from collections.abc import Collection

from verified_tir import ir
from verified_tir.kernel.access import BARRIER, Access, Instance
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import EVERYTHING, opaque_calls, written_blocks
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, Encoder, Safety, fresh, in_range, sort_of

_NO_VALUE = ("handle", "void")
"""Types of expressions that have no value in the logic."""


def instance(context: Context, stmt: ir.Stmt, *, written: Collection[ir.Var] | None = None) -> Instance:
    """Encode one arbitrary run of ``stmt`` from the memory of ``context``.

    :param written: blocks that are written while the instance runs: those that it writes itself, unless given.  Without
        them the loads see the memory of ``context``, which is right for a statement that changes nothing.
    """
    local = {n.buffer.data for n in ir.nodes_of(stmt, ir.Allocate)}
    walker = _Walker(context.fork(), {*(written_blocks(stmt) if written is None else written), *local}, local)
    walker.statement(stmt, ())
    del walker.context.path[walker.begun :]
    return walker.result


def evaluation(context: Context, stmt: ir.Stmt) -> Instance:
    """Encode what a statement evaluates itself at the place of ``context``, without its sub-statements."""
    walker = _Walker(context.fork(), set(), set())
    if isinstance(stmt, ir.While):  # its condition is evaluated again after each iteration
        walker.context.ran(stmt)
    walker.itself(stmt, ())
    del walker.context.path[walker.begun :]
    return walker.result


class _Walker:
    """Walks a statement once, collecting accesses under the conditions that lead to them: those in the path of the
    context that were added since the walk ``begun``."""

    def __init__(self, context: Context, havocked: set[ir.Var], local: set[ir.Var]) -> None:
        self.context = context
        self.begun = len(context.path)
        self.havocked = havocked
        self.place: ir.Path = ()
        self.loops: tuple[Term, ...] = ()
        self.result = Instance(context, [], [], local, [], [])

    @property
    def given(self) -> tuple[Term, ...]:
        """The conditions, within the walk, that lead to the current place."""
        return tuple(self.context.path[self.begun :])

    # -- expressions ----------------------------------------------------------------------------------------------

    def evaluate(self, expr: ir.Expr, lane: Term | None = None, *, claim: bool = False, undef: str = "") -> Encoded:
        """Encode an expression (an assumed ``claim``), noting its loads and safety conditions.

        :param undef: what is wrong if it is undefined, if that is a condition.
        """
        encoder = self.encoder()
        encoded = encoder.claim(expr) if claim else encoder.encode(expr, lane)
        self.keep_safety(encoder)
        if opaque_calls(expr):
            self.barrier()
        if undef:
            self.require(undef, expr, encoded.defined)
        return encoded

    def handed(self, encoder: Encoder, e: ir.Expr) -> None:
        """Encode an argument of a call; of one that has no value in the logic, its parts that have one."""
        if e.dtype.code in _NO_VALUE and not isinstance(e, (ir.LetExpr, ir.Load)):
            if isinstance(e, ir.IfThenElse):  # it is a branch, whatever it chooses
                encoder.encode(ir.IfThenElse(e.condition, ir.TRUE, ir.TRUE))
            for part in ir.children(e):
                assert isinstance(part, ir.Expr)
                self.handed(encoder, part)
        else:
            encoder.encode(e, self.context.any_lane(e))

    def called(self, encoder: Encoder, call: ir.Call) -> Encoded:
        """The result of an opaque call: an arbitrary value, another one for each call."""
        for a in call.args:
            self.handed(encoder, a)
        return Encoded(self.havoc("call", call.dtype.scalar), f.TRUE, True)

    def havoc(self, name: str, scalar: ir.DType) -> Term:
        """An arbitrary value of a type, which may differ between instances."""
        value = fresh(name, sort_of(scalar))
        self.result.havoc.append(value)
        if scalar.is_int:
            self.result.typed.add(in_range(value, scalar))
            self.context.path.append(in_range(value, scalar))
        return value

    def encoder(self) -> Encoder:
        return Encoder(self.context.env, self.load, [], self.context.accessible, self.called)

    def keep_safety(self, encoder: Encoder) -> None:
        for s in encoder.safety or ():
            premises = (*self.given, *s.premises)
            self.result.safety.append((self.place, Safety(s.kind, s.expr, premises, s.condition)))

    def require(self, kind: str, expr: ir.Expr, condition: Term) -> None:
        if condition is not f.TRUE:
            self.result.safety.append((self.place, Safety(kind, expr, self.given, condition)))

    def load(
        self, buffer: ir.Buffer, indices: tuple[Term, ...], lane: Term | None, premises: tuple[Term, ...]
    ) -> tuple[Term, Term]:
        """The value of a load; it is havocked in every instance if the region may write what it reads."""
        address = self.context.address(buffer, indices, lane)
        given = (*self.given, *premises)
        if buffer.data in self.havocked or EVERYTHING in self.havocked:
            value, defined = self.havoc(buffer.name, buffer.dtype.scalar), fresh(f"{buffer.name}.def", f.BOOL)
            self.result.havoc.append(defined)
            self.context.blocks[value.payload] = buffer.data
        else:
            element = self.context.load_from(self.context.memory, buffer, indices, lane)
            value, defined = element.value, element.defined
        found = Encoded(value, defined, True)
        self.result.accesses.append(Access(buffer, indices, lane, address, False, given, self.place, self.loops, found))
        return value, defined

    def barrier(self) -> None:
        """An assertion that fails, or a loop that does not end, keeps what follows from running: nothing moves past
        it."""
        self.result.accesses.append(Access(BARRIER, (), None, (), True, self.given, self.place, self.loops))

    # -- statements -----------------------------------------------------------------------------------------------

    def within(self, variable: Term) -> None:
        """From here on the variable distinguishes the instances of what is walked over."""
        self.loops = (*self.loops, variable)
        self.result.inner.append(variable)

    def statement(self, stmt: ir.Stmt, place: ir.Path) -> None:
        path, loops, begun = self.context.path, self.loops, len(self.context.path)
        values = self.itself(stmt, place)
        for k, sub in enumerate(ir.sub_statements(stmt)):
            entered = len(path)
            self.context.into(stmt, k, values)
            if isinstance(stmt, ir.For):
                self.within(self.context.env[stmt.var].value)
            self.statement(sub, (*place, k))
            self.loops = loops
            if not isinstance(stmt, ir.Seq):
                del path[entered:]
        if not isinstance(stmt, (ir.Seq, ir.Assume, ir.Assert)):  # what was assumed stays known to what follows
            del path[begun:]

    def itself(self, stmt: ir.Stmt, place: ir.Path) -> list[Encoded]:
        """Note what a statement evaluates before any sub-statement of it runs; the values of that."""
        self.place = place
        if opaque_calls(*[e for e in ir.children(stmt) if isinstance(e, ir.Expr)]):
            self.havocked = {EVERYTHING}  # a call may write before a load, wherever in the statement they stand
        return self.evaluated(stmt)

    def evaluated(self, stmt: ir.Stmt) -> list[Encoded]:
        """Note what a statement evaluates, at the current place; return the values."""
        match stmt:
            case ir.Store():
                self.store(stmt)
            case ir.For():
                return self.bounds(stmt)
            case ir.If(condition=c) | ir.While(condition=c):
                if isinstance(stmt, ir.While):
                    self.barrier()
                return [self.evaluate(c, undef="a branch on undef")]
            case ir.LetStmt(value=value) | ir.Evaluate(value=value):
                return [self.evaluate(value, self.context.any_lane(value))]
            case ir.Allocate(buffer=b) | ir.DeclBuffer(buffer=b):
                for e in (*b.shape, *b.strides, b.elem_offset):
                    extent = self.evaluate(e, undef="an extent that is undef")
                    if isinstance(stmt, ir.Allocate) and e in b.shape:
                        self.require("an extent that is not negative", e, f.le(f.integer(0), extent.value))
            case ir.Assume() | ir.Assert():
                self.assumption(stmt)
        return []

    def assumption(self, stmt: ir.Assume | ir.Assert) -> None:
        """Note an assumption or assertion: its condition holds in everything that follows."""
        if isinstance(stmt, ir.Assert):
            self.barrier()
        c = stmt.condition
        e = self.evaluate(c, claim=isinstance(stmt, ir.Assume), undef="a branch on undef")
        if isinstance(stmt, ir.Assume):
            self.require("the assumption holds", c, e.value)
        self.result.assumed.append(Safety("it was found true", c, self.given, f.and_(e.value, e.defined)))
        self.context.passed(e)

    def bounds(self, loop: ir.For) -> list[Encoded]:
        values = [self.evaluate(e, undef="a loop bound that is undef") for e in (loop.min, loop.extent)]
        low, extent = [e.value for e in values]
        last = in_range(f.sub(f.add(low, extent), f.integer(1)), loop.var.dtype)
        self.require("no overflow", loop.extent, f.implies(f.lt(f.integer(0), extent), last))
        return values

    def store(self, stmt: ir.Store) -> None:
        lane = self.context.any_lane(stmt.value)
        if lane is not None:
            self.within(lane)
        if opaque_calls(stmt) and not opaque_calls(stmt.value):  # in an index, or in the mask
            self.barrier()
        written = self.evaluate(stmt.value, lane)
        value = self.context.held(stmt.buffer, written)
        if value.value is not written.value:
            self.result.havoc.append(value.value)
            self.result.held.add(value.value)
        encoder = self.encoder()
        indices, element_lane, taken = encoder.access(ir.Load(stmt.buffer, stmt.indices, stmt.predicate), lane)
        self.keep_safety(encoder)
        self.context.path.extend(taken)
        address, given, place = self.context.address(stmt.buffer, indices, element_lane), self.given, self.place
        self.result.accesses.append(
            Access(stmt.buffer, indices, element_lane, address, True, given, place, self.loops, value, written)
        )
