"""Programs for printer and parser: every node class, types of all kinds, names that collide.

They are well-formed, and otherwise mean nothing: indices leave their buffers, divisors are zero.
"""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st

from tests.parts.syntax_expressions import STRINGS, ExpressionSyntax
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, HANDLE, INT32, INT64, VOID, DType
from verified_tir.ir.expr import TRUE, Binary, Call, Expr, Ramp, Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.stmt import (
    SKIP,
    Allocate,
    Assert,
    Assume,
    AttrStmt,
    Block,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    If,
    IterVar,
    LetStmt,
    Region,
    Stmt,
    Store,
    While,
    seq,
)
from verified_tir.ir.sugar import const
from verified_tir.testing.drawing import Picker


@st.composite
def syntactic_functions(draw: st.DrawFn, name: str = "main", for_tvm: bool = False) -> PrimFunc:
    """Closed functions with every node class.

    :param for_tvm: whether to leave out what TVM 0.27 has no form for.
    """
    return _function(_Generator(Picker(draw), for_tvm), name)


@st.composite
def syntactic_modules(draw: st.DrawFn, for_tvm: bool = False) -> IRModule:
    """Modules of one to three such functions."""
    names = draw(st.lists(st.sampled_from(["main", "f", "Main", "value"]), min_size=1, max_size=3, unique=True))
    return IRModule(tuple((name, draw(syntactic_functions(name, for_tvm))) for name in names))


class _Generator(ExpressionSyntax):
    """Draws statements."""

    def body(self, depth: int) -> Stmt:
        count = self.p.among([0, 1, 1, 2, 3])
        return seq(*[self.stmt(depth) for _ in range(count)]) if count else SKIP

    def stmt(self, depth: int) -> Stmt:
        simple = (self.store, self.store, self.assumed, self.evaluated, self.vector_store)
        nested = (self.loop, self.loop, self.grid, self.branch, self.branch, self.let, self.allocated, self.viewed,
                  self.block, self.attribute)  # fmt: skip
        made = self.p.among((*simple, *nested) if depth > 0 else simple[:1])
        return self.p.statement(lambda: made(depth))

    def grid(self, depth: int) -> Stmt:
        outer, inner = Var.fresh("i", INT32), Var.fresh("i", INT32)
        body = self.within((outer, inner), depth)
        notes = (("unroll", 4),) if self.p.rarely(6) else ()
        extent = self.p.one(const(4), const(4), outer, self.head(INT32, 1))
        nest = For(inner, const(self.p.one(0, 0, 0, 1)), extent, body, annotations=notes)
        return For(outer, const(0), const(8), nest)

    def branch(self, depth: int) -> Stmt:
        condition = self.head(BOOL, 2)
        if not self.p.rarely(4):
            other: Stmt | None = None
            if self.p.flip():  # one branch alone is printed as ``elif``
                other = self.branch(depth - 1) if depth > 0 and self.p.flip() else self.body(depth - 1)
            return If(condition, self.body(depth - 1), other)
        return While(condition, self.body(depth - 1))

    def let(self, depth: int) -> Stmt:
        var = Var.fresh(self.name(), self.p.among(self.types))
        value = self.expr(var.dtype, 2)
        return LetStmt(var, value, self.within((var,), depth))

    def allocated(self, depth: int) -> Stmt:
        notes = (("k", (1, self.p.among(STRINGS), (3.5, True))),) if self.p.rarely(3) else ()
        b = self.buffer()
        return Allocate(b, self.with_buffer(b, depth), notes)

    def viewed(self, depth: int) -> Stmt:
        b = self.buffer(self.p.among(self.buffers))
        return DeclBuffer(b, self.with_buffer(b, depth))

    def assumed(self, depth: int) -> Stmt:
        condition = self.head(BOOL, 2)
        return Assert(condition, self.p.among(STRINGS)) if self.p.flip() else Assume(condition)

    def evaluated(self, depth: int) -> Stmt:
        if self.for_tvm or not self.p.rarely(3):
            return Evaluate(self.expr(INT32, 2))
        return Evaluate(self.p.one(Call(HANDLE, "barrier", (self.buffers[0].data,)), self.invocation()))

    def attribute(self, depth: int) -> Stmt:
        nodes: list[Expr | str] = ["text", const(0), *self.vars]
        return AttrStmt("key", self.p.among(nodes), self.expr(INT32, 1), self.body(depth - 1))

    def within(self, variables: tuple[Var, ...], depth: int) -> Stmt:
        """A body in which more variables are known."""
        self.vars += variables
        body = self.body(depth - 1)
        del self.vars[-len(variables) :]
        return body

    def with_buffer(self, b: Buffer, depth: int) -> Stmt:
        """A body in which one more buffer is known."""
        self.buffers.append(b)
        body = self.body(depth - 1)
        self.buffers.pop()
        return body

    def invocation(self) -> Expr:
        return Call(self.p.among([VOID, INT32]), "@other", (self.buffers[0].data, const(3)))

    def store(self, depth: int = 0) -> Stmt:
        b = self.p.among(self.buffers)
        indices = tuple([self.expr(self.p.among([INT32, INT64]), 2) for _ in b.shape])
        return Store(b, self.expr(b.dtype, 3), indices)

    def vector_store(self, depth: int) -> Stmt:
        p = self.p
        known = [b for b in self.buffers if b.shape and b.dtype.lanes == 1]
        b = p.among(known)
        ramp = Ramp(self.expr(INT32, 1), const(p.among([1, 2, -1])), 4)
        indices = (*[self.expr(INT32, 1) for _ in b.shape[:-1]], ramp)
        return Store(b, self.vector(b.dtype.with_lanes(4), 2), indices, self.mask(4, 1))

    def buffer(self, base: Buffer | None = None) -> Buffer:
        p = self.p
        t = p.among(self.types) if base is None else base.dtype
        shape = [p.among([const(4), const(16), const(8, INT64), self.extent(1)]) for _ in range(p.among([0, 1, 1, 2]))]
        strides = [const(32) for _ in shape] if p.rarely(5) else []
        offset = self.extent(1) if p.rarely(5) else const(0)
        scope = p.among(["global", "global", "shared"]) if base is None else base.scope
        separators = (1,) if len(shape) == 2 and not self.for_tvm and p.rarely(5) else ()
        return Buffer.declare(
            self.name(), tuple(shape), t, data=None if base is None else base.data, strides=tuple(strides),
            elem_offset=offset, scope=scope, axis_separators=separators,
        )  # fmt: skip

    def extent(self, depth: int) -> Expr:
        """An integer expression without loads, lets and calls, as shapes have them."""
        known = [v for v in self.vars if v.type is INT32]
        base: Expr = self.p.among(known) if known else const(5)
        return base if depth <= 0 else Binary("mul", self.extent(depth - 1), const(self.p.among([1, 2, 4])))

    def loop(self, depth: int) -> Stmt:
        p = self.p
        t = p.among([INT32, INT32, INT64])
        var = Var.fresh(self.name(), t)
        low = const(0, t) if p.integer(0, 4) < 3 else self.head(t, 1)
        extent = self.head(t, 1)
        self.vars.append(var)
        body = self.body(depth - 1)
        self.vars.pop()
        kind = p.among(get_args(ForKind))
        thread = "threadIdx.x" if kind == "thread_binding" else ""
        notes = (("unroll", 4), ("w", const(3)), ("b", True)) if p.rarely(5) else ()
        return For(var, low, extent, body, kind, thread, notes)

    def block(self, depth: int) -> Stmt:
        p = self.p
        loop = Var.fresh("i", INT32)
        ivs = []
        for _ in range(p.among([0, 1, 2, 3])):
            low = const(p.among([0, 0, 3]))
            value = loop if p.flip() else Binary("mul", loop, const(2))
            extent = const(8) if p.integer(0, 4) < 3 else self.extent(1)
            ivs.append(
                IterVar(Var.fresh(self.name(), INT32), low, extent, p.among(["spatial", "reduce", "opaque"]), value)
            )
        self.vars += [loop, *(iv.var for iv in ivs)]
        regions = tuple(self.region() for _ in range(p.among([0, 1, 2])))
        alloc = tuple(self.buffer() for _ in range(p.among([0, 0, 1])))
        self.buffers += alloc
        init = self.body(depth - 1) if p.rarely(3) else None
        body = self.body(depth - 1)
        for _ in alloc:
            self.buffers.pop()
        del self.vars[-1 - len(ivs) :]
        predicate = TRUE if p.integer(0, 4) < 3 else Binary("lt", loop, const(5))
        reads = regions if p.flip() else None
        writes = regions if p.flip() else None
        made = Block("b", tuple(ivs), predicate, reads, writes, init, body, alloc, (("n", ()),) if p.rarely(5) else ())
        return For(loop, const(0), const(8), made)

    def region(self) -> Region:
        b = self.p.among(self.buffers)
        mins = tuple([self.extent(1) for _ in b.shape])
        extents = tuple([self.p.among([const(1), const(4), self.extent(0)]) for _ in b.shape])
        return Region(b, mins, extents)


def _function(g: _Generator, name: str) -> PrimFunc:
    """A closed function."""
    scalars = [Var.fresh(g.name(), g.p.among(g.types)) for _ in range(g.p.among([0, 1, 2]))]
    symbols = [Var.fresh(g.name(), g.p.among([INT32, INT64, DType("int", 8)])) for _ in range(g.p.among([0, 1, 2]))]
    g.vars += [v for v in [*scalars, *symbols] if v.type is INT32]
    buffers = [g.buffer() for _ in range(g.p.among([1, 2, 3]))]
    buffers.append(Buffer.declare("A", (*symbols, const(4)), "float32"))
    # a symbol that no parameter mentions would be free, so all are named by the last buffer
    g.vars = [*scalars, *symbols]
    g.buffers += buffers
    params: list[Var] = list(scalars)
    pairs = []
    for b in buffers:
        handle = Var.fresh(b.name, HANDLE)
        params.insert(g.p.integer(0, len(params)), handle)
        pairs.append((handle, b))
    order = {p: k for k, p in enumerate(params)}
    pairs.sort(key=lambda p: order[p[0]])
    attrs = (("tirx.noalias", True), ("global_symbol", "main")) if g.p.rarely(3) else ()
    return PrimFunc(name, tuple(params), tuple(pairs), g.body(3), attrs)
