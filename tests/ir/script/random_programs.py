"""Random programs, built as IR: every node class, names that collide, types of all kinds."""

from __future__ import annotations

import random

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, HANDLE, INT32, INT64, VOID, DType
from verified_tir.ir.expr import (
    TRUE,
    Binary,
    Broadcast,
    Call,
    Cast,
    Expr,
    IfThenElse,
    LetExpr,
    Load,
    Not,
    Ramp,
    Select,
    Shuffle,
    StringImm,
    Undef,
    Var,
)
from verified_tir.ir.func import PrimFunc
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

NAMES = ["i", "j", "i_1", "A", "x", "T", "for", "n", "a.b", "", "1st", "Module", "x_1"]
TYPES = [
    DType.parse(t) for t in ("int32", "int64", "uint8", "float32", "float16", "bfloat16", "float64", "bool", "int8")
]


class Generator:
    """Draws programs; scalars and buffers in scope are kept in lists."""

    def __init__(self, seed: int, for_tvm: bool = False) -> None:
        self.r = random.Random(seed)
        self.for_tvm = for_tvm
        """Whether to leave out what TVM 0.27 has no form for."""
        self.vars: list[Var] = []
        self.buffers: list[Buffer] = []

    def name(self) -> str:
        return self.r.choice(NAMES)

    # -- expressions

    def expr(self, t: DType, depth: int) -> Expr:
        r = self.r
        if t.lanes > 1:
            return self.vector(t, depth)
        if depth <= 0 or r.random() < 0.15:
            return self.leaf(t)
        if t.is_bool:
            return self.boolean(depth)
        choices = ["leaf", "binary", "binary", "binary", "select", "ite", "cast", "let", "load", "call"]
        match r.choice(choices):
            case "binary":
                ops = ["add", "sub", "mul", "min", "max"]
                ops += ["div"] if t.is_float else ["floordiv", "floormod", "truncdiv", "truncmod"]
                ops += [] if t.is_float else ["bitand", "bitor", "bitxor", "shl", "shr"]
                return Binary(r.choice(ops), self.expr(t, depth - 1), self.expr(t, depth - 1))
            case "select":
                return Select(self.expr(BOOL, depth - 1), self.expr(t, depth - 1), self.expr(t, depth - 1))
            case "ite":
                return IfThenElse(self.expr(BOOL, depth - 1), self.expr(t, depth - 1), self.expr(t, depth - 1))
            case "cast":
                return Cast(t, self.expr(r.choice(TYPES), depth - 1))
            case "let":
                var = Var.fresh(self.name(), r.choice(TYPES))
                value = self.expr(var.dtype, depth - 1)
                self.vars.append(var)
                body = self.expr(t, depth - 1)
                self.vars.pop()
                return LetExpr(var, value, body)
            case "call":
                return self.call(t, depth)
            case "load":
                return self.load(t, depth)
        return self.leaf(t)

    def leaf(self, t: DType) -> Expr:
        r = self.r
        known = [v for v in self.vars if v.type is t]
        if known and r.random() < 0.6:
            return r.choice(known)
        if r.random() < 0.1 and not self.for_tvm:
            return Undef(t)
        if t.is_float:
            return const(r.choice([0.0, -0.0, 1.0, -1.5, 1e-8, 3.14159, float("inf"), float("-inf"), float("nan")]), t)
        if t.is_bool:
            return const(r.random() < 0.5, t)
        return const(r.choice([0, 1, 2, 7, t.max_value, t.min_value]), t)

    def boolean(self, depth: int) -> Expr:
        r = self.r
        match r.choice(["compare", "and", "or", "not", "isnan", "bit"]):
            case "compare":
                t = r.choice(TYPES)
                op = r.choice(["eq", "ne", "lt", "le", "gt", "ge"])
                return Binary(op, self.expr(t, depth - 1), self.expr(t, depth - 1))
            case "not":
                return Not(self.expr(BOOL, depth - 1))
            case "isnan":
                return Call(BOOL, "isnan", (self.expr(DType("float", 32), depth - 1),))
            case "bit":
                return Binary("bitand", self.expr(BOOL, depth - 1), self.expr(BOOL, depth - 1))
            case op:
                return Binary(op, self.expr(BOOL, depth - 1), self.expr(BOOL, depth - 1))

    def call(self, t: DType, depth: int) -> Expr:
        r = self.r
        if t.is_float:
            name = r.choice(["exp", "sqrt", "fma", "pow", "abs"])
            count = {"fma": 3, "pow": 2}.get(name, 1)
            return Call(t, name, tuple([self.expr(t, depth - 1) for _ in range(count)]))
        known = ["extern", "reinterpret", "bitwise_not"]
        match r.choice(known if self.for_tvm else [*known, "unknown", "clz", "packed"]):
            case "extern":
                return Call(t, "call_extern", (StringImm('f"x'), self.expr(r.choice(TYPES), depth - 1)))
            case "unknown":
                return Call(t, "mystery", (self.expr(r.choice(TYPES), depth - 1), StringImm("s")))
            case "clz":
                return Call(t, "clz", (self.expr(INT32, depth - 1),))
            case "bitwise_not":
                return Call(t, "bitwise_not", (self.expr(t, depth - 1),))
            case "packed":
                return Call(t, "call_packed", (self.expr(INT32, depth - 1),))
        return Call(t, "reinterpret", (self.expr(t, depth - 1),))

    def load(self, t: DType, depth: int) -> Expr:
        known = [b for b in self.buffers if b.dtype is t]
        if not known:
            return self.leaf(t)
        b = self.r.choice(known)
        return Load(b, tuple([self.expr(self.r.choice([INT32, INT64]), depth - 1) for _ in b.shape]))

    def vector(self, t: DType, depth: int) -> Expr:
        r = self.r
        element = t.scalar
        known = [b for b in self.buffers if b.dtype is element and b.shape]
        match r.choice(["broadcast", "binary", "ramp", "load", "shuffle"]):
            case "ramp" if element.is_int:
                return Ramp(self.expr(element, depth - 1), const(r.choice([1, 2]), element), t.lanes)
            case "load" if known:
                b = r.choice(known)
                first = [self.expr(INT32, depth - 1) for _ in b.shape[:-1]]
                return Load(b, (*first, Ramp(self.expr(INT32, depth - 1), const(r.choice([1, 3])), t.lanes)))
            case "binary" if depth > 0 and not t.is_bool:
                return Binary("add", self.vector(t, depth - 1), self.vector(t, depth - 1))
            case "shuffle" if depth > 0:
                parts = (self.vector(t, depth - 1), self.expr(element, depth - 1))
                return Shuffle(parts, tuple(r.randrange(t.lanes + 1) for _ in range(t.lanes)))
        return Broadcast(self.expr(element, depth - 1), t.lanes)

    # -- statements

    def body(self, depth: int) -> Stmt:
        count = self.r.choice([0, 1, 1, 2, 3])
        return seq(*[self.stmt(depth) for _ in range(count)]) if count else SKIP

    def stmt(self, depth: int) -> Stmt:
        r = self.r
        if depth <= 0:
            return self.store()
        kinds = ["store", "store", "for", "for", "if", "let", "alloc", "decl", "block", "assume", "assert", "evaluate",
                 "while", "attr", "vector", "grid"]  # fmt: skip
        match r.choice(kinds):
            case "for":
                return self.loop(depth)
            case "grid":
                outer, inner = Var.fresh("i", INT32), Var.fresh("i", INT32)
                self.vars += [outer, inner]
                body = self.body(depth - 1)
                del self.vars[-2:]
                extent = r.choice([const(4), outer])
                return For(outer, const(0), const(8), For(inner, const(0), extent, body))
            case "if":
                other = self.body(depth - 1) if r.random() < 0.5 else None
                return If(self.expr(BOOL, 2), self.body(depth - 1), other)
            case "while":
                return While(self.expr(BOOL, 2), self.body(depth - 1))
            case "let":
                var = Var.fresh(self.name(), r.choice(TYPES))
                value = self.expr(var.dtype, 2)
                self.vars.append(var)
                body = self.body(depth - 1)
                self.vars.pop()
                return LetStmt(var, value, body)
            case "alloc":
                b = self.buffer()
                self.buffers.append(b)
                body = self.body(depth - 1)
                self.buffers.pop()
                return Allocate(b, body, (("k", (1, "two", (3.5, True))),) if r.random() < 0.3 else ())
            case "decl":
                base = r.choice(self.buffers)
                b = self.buffer(base)
                self.buffers.append(b)
                body = self.body(depth - 1)
                self.buffers.pop()
                return DeclBuffer(b, body)
            case "block":
                return self.block(depth)
            case "assume":
                return Assume(self.expr(BOOL, 2))
            case "assert":
                return Assert(self.expr(BOOL, 2), 'a "message"\n')
            case "evaluate":
                barrier = Call(HANDLE, "barrier", (self.buffers[0].data,))
                e = self.expr(INT32, 2)
                return Evaluate(e if self.for_tvm else r.choice([e, barrier, self.invocation()]))
            case "attr":
                about = r.choice([*self.vars, "text", const(0)])
                return AttrStmt("key", about, self.expr(INT32, 1), self.body(depth - 1))
            case "vector":
                return self.vector_store()
        return self.store()

    def invocation(self) -> Expr:
        return Call(self.r.choice([VOID, INT32]), "@other", (self.buffers[0].data, const(3)))

    def store(self) -> Stmt:
        b = self.r.choice(self.buffers)
        indices = tuple([self.expr(self.r.choice([INT32, INT64]), 2) for _ in b.shape])
        return Store(b, self.expr(b.dtype, 3), indices)

    def vector_store(self) -> Stmt:
        r = self.r
        known = [b for b in self.buffers if b.shape and b.dtype.lanes == 1]
        b = r.choice(known)
        ramp = Ramp(self.expr(INT32, 1), const(r.choice([1, 2, -1])), 4)
        indices = (*[self.expr(INT32, 1) for _ in b.shape[:-1]], ramp)
        return Store(b, self.vector(b.dtype.with_lanes(4), 2), indices)

    def buffer(self, base: Buffer | None = None) -> Buffer:
        r = self.r
        t = r.choice(TYPES) if base is None else base.dtype
        shape = [
            r.choice([const(4), const(16), const(8, INT64), self.extent(1)]) for _ in range(r.choice([0, 1, 1, 2]))
        ]
        strides = [const(32) for _ in shape] if r.random() < 0.2 else []
        offset = self.extent(1) if r.random() < 0.2 else const(0)
        scope = r.choice(["global", "global", "shared"]) if base is None else base.scope
        separators = (1,) if len(shape) == 2 and not self.for_tvm and r.random() < 0.2 else ()
        return Buffer.declare(
            self.name(), tuple(shape), t, data=None if base is None else base.data, strides=tuple(strides),
            elem_offset=offset, scope=scope, axis_separators=separators,
        )  # fmt: skip

    def extent(self, depth: int) -> Expr:
        """An integer expression without loads, lets and calls, as shapes have them."""
        known = [v for v in self.vars if v.type is INT32]
        base: Expr = self.r.choice(known) if known else const(5)
        return base if depth <= 0 else Binary("mul", self.extent(depth - 1), const(self.r.choice([1, 2, 4])))

    def loop(self, depth: int) -> Stmt:
        r = self.r
        t = r.choice([INT32, INT32, INT64])
        var = Var.fresh(self.name(), t)
        low = const(0, t) if r.random() < 0.6 else self.expr(t, 1)
        extent = self.expr(t, 1)
        self.vars.append(var)
        body = self.body(depth - 1)
        self.vars.pop()
        kind = r.choice(["serial", "serial", "parallel", "vectorized", "unrolled", "thread_binding"])
        thread = "threadIdx.x" if kind == "thread_binding" else ""
        notes = (("unroll", 4), ("w", const(3)), ("b", True)) if r.random() < 0.2 else ()
        return For(var, low, extent, body, kind, thread, notes)

    def block(self, depth: int) -> Stmt:
        r = self.r
        loop = Var.fresh("i", INT32)
        ivs = []
        for _ in range(r.choice([0, 1, 2, 3])):
            low = const(r.choice([0, 0, 3]))
            value = loop if r.random() < 0.5 else Binary("mul", loop, const(2))
            extent = const(8) if r.random() < 0.6 else self.extent(1)
            ivs.append(
                IterVar(Var.fresh(self.name(), INT32), low, extent, r.choice(["spatial", "reduce", "opaque"]), value)
            )
        self.vars += [loop, *(iv.var for iv in ivs)]
        regions = tuple(self.region() for _ in range(r.choice([0, 1, 2])))
        alloc = tuple(self.buffer() for _ in range(r.choice([0, 0, 1])))
        self.buffers += alloc
        init = self.body(depth - 1) if r.random() < 0.4 else None
        body = self.body(depth - 1)
        for _ in alloc:
            self.buffers.pop()
        del self.vars[-1 - len(ivs) :]
        predicate = TRUE if r.random() < 0.6 else Binary("lt", loop, const(5))
        reads = regions if r.random() < 0.5 else None
        writes = regions if r.random() < 0.5 else None
        made = Block(
            "b", tuple(ivs), predicate, reads, writes, init, body, alloc, (("n", ()),) if r.random() < 0.2 else ()
        )
        return For(loop, const(0), const(8), made)

    def region(self) -> Region:
        b = self.r.choice(self.buffers)
        mins = tuple([self.extent(1) for _ in b.shape])
        extents = tuple([self.r.choice([const(1), const(4), self.extent(0)]) for _ in b.shape])
        return Region(b, mins, extents)


def random_function(seed: int, for_tvm: bool = False) -> PrimFunc:
    """A closed function drawn with this seed."""
    g = Generator(seed, for_tvm)
    scalars = [Var.fresh(g.name(), g.r.choice(TYPES)) for _ in range(g.r.choice([0, 1, 2]))]
    symbols = [Var.fresh(g.name(), g.r.choice([INT32, INT64, DType("int", 8)])) for _ in range(g.r.choice([0, 1, 2]))]
    g.vars += [v for v in [*scalars, *symbols] if v.type.is_int and v.type is INT32]
    buffers = [g.buffer() for _ in range(g.r.choice([1, 2, 3]))]
    buffers.append(Buffer.declare("A", (*symbols, const(4)), "float32"))
    used = set(symbols)
    # a symbol that no parameter mentions would be free, so all are named by the last buffer
    g.vars = [*scalars, *used]
    g.buffers += buffers
    params: list[Var] = list(scalars)
    pairs = []
    for b in buffers:
        handle = Var.fresh(b.name, HANDLE)
        params.insert(g.r.randrange(len(params) + 1), handle)
        pairs.append((handle, b))
    order = {p: k for k, p in enumerate(params)}
    pairs.sort(key=lambda p: order[p[0]])
    attrs = (("tirx.noalias", True), ("global_symbol", "main")) if g.r.random() < 0.3 else ()
    return PrimFunc("main", tuple(params), tuple(pairs), g.body(3), attrs)
