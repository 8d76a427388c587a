"""What is known at a place of a program.

A :class:`Context` is built by walking from the function's entry to a path: loop variables with their ranges,
conditions passed, lets, and the version of every block.  Nothing is proved here; the walk only writes down what any run
that reaches the place has been through.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import final

from verified_tir import ir
from verified_tir.kernel.effects import EVERYTHING, assumes, effects, opaque_calls, written_blocks
from verified_tir.kernel.memory import Allocated, Element, Entry, Event, Memory, Ran, Stored, Version
from verified_tir.kernel.open_bits import only_compares, stored, usable
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, Encoder, Safety, Unencodable, fresh, sort_of

NOT_EXPANDED = "its blocks are not expanded"
"""Why a program is refused: its blocks must be labels.  All others are sugar, and expanded before."""


@final
@dataclass(slots=True, eq=False)
class Context:
    """What is known at one place: ``path`` are conditions that hold there, ``memory`` the blocks' versions, ``env`` the
    variables' values."""

    func: ir.PrimFunc
    entry: Entry
    path: list[Term]
    env: dict[ir.Var, Encoded]
    memory: Memory
    views: dict[ir.Var, tuple[ir.Buffer, ...]]
    """The buffers through which each block is seen; the first is the one as which it was allocated or passed."""
    functions: dict[object, tuple[Version, ir.Buffer]]
    """What the functions of the logic stand for that give elements of memory: a version, seen through a view; shared by
    all forks."""
    observed: list[Ran] = field(default_factory=list)
    """Statements that ran and assumed something."""
    shadow: ir.Var | None = None
    """A block whose definedness bits stand for "was written": its stores count as defined whatever they store.  What
    they store may then be any value, of its type."""
    blocks: dict[object, ir.Var] = field(default_factory=dict)
    """The block of each unknown that stands for an element's value, by the unknown's name; shared by all forks."""
    held_facts: dict[Term, tuple[Term, ...]] = field(default_factory=dict)
    """What is known of the unknown that a store left in a licensed block, whatever the order of the terms; shared by
    all forks."""
    seen: set[Version] = field(default_factory=set)
    """All versions of blocks that exist in a run on its way here."""
    given_trees: bool = False
    """Whether what is proved needs to hold only of the trees that the sums of a run have (see ``open_bits``)."""

    def fork(self) -> Context:
        """A copy that can be walked on without changing this one."""
        return self.at(self.memory, self.env)

    def bound(self, variables: Iterable[ir.Var], values: Iterable[Term]) -> Context:
        """A fork in which variables have these values."""
        here = self.fork()
        here.env.update({v: Encoded(x, f.TRUE, False) for v, x in zip(variables, values, strict=True)})
        return here

    def at(self, memory: Memory, env: Mapping[ir.Var, Encoded]) -> Context:
        """A copy in which blocks have other versions, and variables other values: those before a run, for instance."""
        return replace(
            self, path=[*self.path], env={**env}, memory={**memory}, observed=[*self.observed], seen={*self.seen}
        )

    def new_versions(self, event: Event, *blocks: ir.Var) -> Memory:
        """Give blocks new versions, made by an event, from here on; these are returned."""
        new = {data: Version(data, event) for data in blocks}
        self.memory.update(new)
        self.seen.update(new.values())
        return new

    def any_lane(self, node: ir.Expr | ir.Buffer) -> Term | None:
        """An arbitrary lane of a vector; ``None`` for a scalar."""
        if node.dtype.lanes == 1:
            return None
        lane = fresh("lane", f.INT)
        self.path.append(f.between(f.integer(0), lane, f.integer(node.dtype.lanes)))
        return lane

    # -- loads ---------------------------------------------------------------------------------------------------

    def several_views(self, data: ir.Var) -> bool:
        """Whether elements of a block are known by flat address: it has several views, or strides that may overlap."""
        views = self.views.get(data, ())
        return len(views) > 1 or any(b.strides for b in views)

    def several_types(self, data: ir.Var) -> bool:
        """Whether a block is seen at several types: bits that mean nothing at one (a NaN's, those of a byte that is not
        a bool) may be defined at another, so that to store there what was read there may lose them."""
        return len({b.dtype.scalar for b in self.views.get(data, ())}) > 1

    def load_from(self, memory: Memory, buffer: ir.Buffer, indices: tuple[Term, ...], lane: Term | None) -> Element:
        """The element that a load gives."""
        if buffer.data not in memory:
            raise Unencodable(f"buffer {buffer.name} is used outside of its lifetime")
        return self.element(memory[buffer.data], buffer, self.address(buffer, indices, lane))

    def element(self, version: Version, buffer: ir.Buffer, address: tuple[Term, ...]) -> Element:
        """The element at an address, as the logic knows it: views of another type are other functions."""
        scalar = buffer.dtype.scalar
        seen_as = f":{scalar.code}{scalar.bits}" if self.several_views(version.block) else ""
        name = version.function + seen_as
        self.blocks[name] = version.block
        value, defined = f.app(name, address, sort_of(scalar)), f.app(f"{name}.def", address, f.BOOL)
        for t in (value, defined):
            _, view = self.functions.setdefault(t.payload, (version, buffer))
        return Element(version, view, value.args, value, defined)

    def element_of(self, term: Term) -> Element | None:
        """The element whose value, or whose definedness bit, a term is; ``None`` if it is neither."""
        known = self.functions.get(term.payload)
        return None if known is None else self.element(*known, term.args)

    def address(self, buffer: ir.Buffer, indices: tuple[Term, ...], lane: Term | None) -> tuple[Term, ...]:
        """The address under which the logic knows an element (one scalar lane of it)."""
        if not self.several_views(buffer.data):
            return indices if lane is None else (*indices, lane)
        flat = Encoder(self.env).flat_address(buffer, indices)
        return (flat if lane is None else f.add(f.mul(flat, f.integer(buffer.dtype.lanes)), lane),)

    def held(self, buffer: ir.Buffer, value: Encoded) -> Encoded:
        """What an element holds after a store (see ``shadow`` and ``open_bits``)."""
        if buffer.data is self.shadow:
            value = Encoded(f.ite(value.defined, value.value, fresh(buffer.name, value.value.sort)), f.TRUE, value.data)
        if buffer.data not in self.entry.licensed:
            return value
        written = written_blocks(self.func.body)
        held, known = stored(value, self.blocks, self.memory if EVERYTHING in written else written)
        if held is not value:
            self.blocks[held.value.payload] = buffer.data
            self.held_facts[held.value] = known
        return held

    def usable(self, *premises: Term) -> tuple[Term, ...]:
        """Those of some premises that hold for every order in which a licence allows floats to be summed."""
        licensed = () if self.given_trees else self.entry.licensed
        return tuple([p for p in premises if usable(p, self.blocks, licensed)]) if licensed else premises

    def usable_facts(self, block: ir.Var, *facts: Term) -> tuple[Term, ...]:
        """Those of some facts about a block that hold for every such order: if the block is licensed, they may compare
        its elements."""
        licensed = self.entry.licensed
        if block not in licensed:
            return self.usable(*facts)
        return tuple([t for t in facts if only_compares(t, self.blocks, licensed)])

    # -- access --------------------------------------------------------------------------------------------------

    def accessible(self, buffer: ir.Buffer, indices: tuple[Term, ...]) -> Term:
        """The condition under which an element may be accessed: it lies in its block, and not in padding that is
        declared inaccessible."""
        conditions = [self._within_block(buffer, indices)]
        for p in self.entry.paddings_of(buffer.data):
            if p.value is None and p.predicate is not ir.FALSE:
                place = indices if p.buffer is buffer else self._seen_from(p.buffer, buffer, indices)
                if place is None:
                    return f.FALSE  # a view over partly inaccessible memory: not understood, so not allowed
                conditions.append(f.not_(self.bound(p.indices, place).encoder().value(p.predicate)))
        return f.and_(*conditions)

    def _seen_from(self, base: ir.Buffer, view: ir.Buffer, indices: tuple[Term, ...]) -> tuple[Term, ...] | None:
        """The indices in ``base`` of an element of another view; ``None`` unless both are row-major with equal elements
        and all extents of ``base`` but the first are constants.  Only for an element that lies in the block (see
        ``_within_block``): an array that has strides, or no element, has none that other views may touch."""
        inner = [e.value for e in base.shape[1:] if isinstance(e, ir.IntImm)]
        if view.strides or base.dtype is not view.dtype or len(inner) != len(base.shape) - 1:
            return None
        encoder = Encoder(self.env)
        rest = f.sub(encoder.flat_address(view, indices), encoder.value(base.elem_offset))
        found: list[Term] = []
        for extent in reversed(inner):
            found.insert(0, f.floormod(rest, f.integer(extent)))
            rest = f.floordiv(rest, f.integer(extent))
        return (rest, *found)

    def _within_block(self, buffer: ir.Buffer, indices: tuple[Term, ...]) -> Term:
        """The condition that an element of a view lies inside the block that the view was declared over."""
        base = self.views.get(buffer.data, (buffer,))[0]
        if base is buffer and base in self.func.buffers:
            return f.TRUE
        encoder = Encoder(self.env)
        if base is buffer:  # an allocation is as large as its elements reach, upwards from 0
            return f.and_(*[f.le(f.integer(0), encoder.value(e)) for e in (*base.strides, base.elem_offset)])
        if base.strides:
            return f.FALSE  # which bytes between the elements belong to the block is not understood
        first = f.mul(encoder.value(base.elem_offset), f.integer(base.dtype.nbytes))
        start = f.mul(encoder.flat_address(buffer, indices), f.integer(buffer.dtype.nbytes))
        end, last = f.add(start, f.integer(buffer.dtype.nbytes)), f.add(first, encoder.bytes_of(base))
        return f.and_(f.le(f.integer(0), start), f.le(first, start), f.le(end, last))

    def encoder(self, safety: list[Safety] | None = None, memory: Memory | None = None) -> Encoder:
        """An encoder for expressions that are evaluated here (or with an earlier memory)."""

        def load(buffer: ir.Buffer, indices: tuple[Term, ...], lane: Term | None, _: object) -> tuple[Term, Term]:
            found = self.load_from(self.memory if memory is None else memory, buffer, indices, lane)
            return found.value, found.defined

        return Encoder(self.env, load, safety, self.accessible)

    # -- walking -------------------------------------------------------------------------------------------------

    def passed(self, e: Encoded) -> None:
        """Note a condition that is true and defined in every run that gets past this point."""
        for part in (e.value, e.defined):
            if part is not f.TRUE:
                self.path.extend(part.args if part.op == "and" else (part,))

    def bind_loop(self, loop: ir.For, variable: Term | None = None, bounds: Sequence[Encoded] | None = None) -> Term:
        """Enter an arbitrary iteration of a loop: its variable, and the range it lies in."""
        v = fresh(loop.var.name, f.INT) if variable is None else variable
        encoder = self.encoder()
        low, extent = [e.value for e in bounds or map(encoder.encode, (loop.min, loop.extent))]
        self.env[loop.var] = Encoded(v, f.TRUE, False)
        self.path.extend((f.le(low, v), f.lt(v, f.add(low, extent))))
        return v

    def ran(self, stmt: ir.Stmt, reached: Term | None = None, after: Memory | None = None) -> Ran:
        """Arbitrarily many iterations of a loop may have run; or (``after``) a statement has run to its end: new
        versions of all that it may write.

        :param reached: the value of the loop's variable in the iteration that begins.  Those before it are smaller.
        :return: the event; its memory is of the blocks that it may read or write: no load in it is of another one.
        """
        reads, writes = effects(stmt)
        if EVERYTHING in writes:
            reads, writes = (), tuple(self.memory)
        before = {data: self.memory[data] for data in (*reads, *writes) if data in self.memory}
        event = Ran(before, {**self.env}, stmt, after, reached)
        new = self.new_versions(event, *[data for data in writes if data in before])
        if after is not None:
            after.update(new)
        return event

    def execute(self, stmt: ir.Stmt) -> None:
        """Walk past a statement that has run to its end."""
        match stmt:
            case ir.Seq(stmts=stmts):
                for s in stmts:
                    self.execute(s)
            case ir.Assume(condition=c) | ir.Assert(condition=c):
                self.passed(self.evaluated(c, claim=isinstance(stmt, ir.Assume)))
            case ir.Store(buffer=b, value=value, indices=indices) if value.dtype.lanes == 1 and not opaque_calls(stmt):
                encoder = self.encoder()
                address, lane, _ = encoder.access(ir.Load(b, indices), None)
                left = self.held(b, encoder.encode(value))
                where = self.address(b, address, lane)
                self.new_versions(Stored(self.memory[b.data], b, where, left), b.data)
            case ir.DeclBuffer() | ir.AttrStmt() | ir.Block():
                self.execute(self.into(stmt, 0, ()))
            case ir.Allocate(buffer=b, body=body):
                self.new_versions(Allocated(), b.data)
                self.execute(body)
                del self.memory[b.data]
            case _:
                event = self.ran(stmt, after=Memory())
                if assumes(stmt):
                    self.observed.append(event)

    def evaluated(self, expr: ir.Expr, *, claim: bool = False) -> Encoded:
        """The value of an expression (an assumed ``claim``) that is evaluated here.

        That of an opaque call, which may have written everything, is unknown; so is what is loaded before it, or after.
        """

        def load(buffer: ir.Buffer, *_: object) -> tuple[Term, Term]:
            value = fresh(buffer.name, sort_of(buffer.dtype.scalar))
            self.blocks[value.payload] = buffer.data
            return value, fresh(f"{buffer.name}.def", f.BOOL)

        def call(_: Encoder, call: ir.Call) -> Encoded:
            return Encoded(fresh("call", sort_of(call.dtype.scalar)), f.TRUE, True)

        encoder = self.encoder()
        if opaque_calls(expr):
            self.execute(ir.Evaluate(expr))
            encoder = Encoder(self.env, load, call=call)
        return encoder.claim(expr) if claim else encoder.encode(expr, self.any_lane(expr))

    def enter(self, stmt: ir.Stmt, step: int) -> ir.Stmt:
        """Walk into the ``step``-th sub-statement, from the point where ``stmt`` begins."""
        values: tuple[Encoded, ...] = ()
        match stmt:
            case ir.Seq(stmts=stmts):
                for s in stmts[:step]:
                    self.execute(s)
            case ir.While(condition=c):
                self.ran(stmt)
                values = (self.evaluated(c),)
            case ir.If(condition=e) | ir.LetStmt(value=e):
                values = (self.evaluated(e),)
            case ir.Allocate(buffer=b):
                self.new_versions(Allocated(), b.data)
        sub = self.into(stmt, step, values)
        if isinstance(stmt, ir.For):  # the bounds are evaluated once, before the first iteration
            self.ran(stmt, self.env[stmt.var].value)
        return sub

    def into(self, stmt: ir.Stmt, step: int, values: Sequence[Encoded]) -> ir.Stmt:
        """Note what holds in the ``step``-th sub-statement, given the values of what ``stmt`` evaluates first; return
        it."""
        match stmt:
            case ir.For():
                self.bind_loop(stmt, bounds=values)
            case ir.If() | ir.While():
                ((value, defined, data),) = values
                self.passed(Encoded(f.not_(value) if step else value, defined, data))
            case ir.LetStmt(var=v):
                (self.env[v],) = values
            case ir.Block(is_label=False):
                raise Unencodable(NOT_EXPANDED)
        return ir.sub_statements(stmt)[step]

    def inside(self, stmt: ir.Stmt, wanted: Collection[int] | None = None) -> Iterator[tuple[int, ir.Stmt, Context]]:
        """Each direct sub-statement with what is known where it begins: what ``enter`` says, of a fork for each.

        A sequence is walked once, and not from its beginning for every statement in it.

        :param wanted: the steps of those that are asked for; all unless given.
        """
        here = self.fork() if isinstance(stmt, ir.Seq) else self
        subs = ir.sub_statements(stmt)
        for k, sub in enumerate(subs if wanted is None else subs[: max(wanted, default=-1) + 1]):
            if wanted is None or k in wanted:
                inner = here.fork()
                if not isinstance(stmt, ir.Seq):
                    inner.enter(stmt, k)
                yield k, sub, inner
            if isinstance(stmt, ir.Seq):
                here.execute(sub)

    def places(
        self, stmt: ir.Stmt, path: ir.Path = (), wanted: Collection[ir.Path] | None = None
    ) -> Iterator[tuple[ir.Path, ir.Stmt, Context]]:
        """Each statement of ``stmt``, which stands at ``path``, with its place and what is known where it begins.

        :param wanted: the places to go to (and what is on the way there); everywhere, unless given.
        """
        yield path, stmt, self
        n = len(path)
        steps = None if wanted is None else {p[n] for p in wanted if p[:n] == path and p != path}
        for k, sub, inner in self.inside(stmt, steps):
            yield from inner.places(sub, (*path, k), wanted)
