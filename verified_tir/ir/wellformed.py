"""Well-formedness: every variable bound once and used in its scope, every buffer declared where it is used.

Rules that compute programs and tactics that build expressions rely on it: a substitution captures nothing because
variables are bound once, and a fact about ``x`` is a fact about the only ``x``.
"""

from __future__ import annotations

from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Call, Expr, LetExpr, Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, AttrStmt, Block, DeclBuffer, For, LetStmt, Region, Stmt
from verified_tir.ir.visit import children, walk

_Scope = frozenset[Var | Buffer]
"""The variables (data pointers among them) and the buffers that may be used at a place."""


class IllFormed(Exception):
    """Why a program is no program; caught by :func:`misplaced`."""


def problem(func: PrimFunc) -> str | None:
    """Why the function is not well-formed, in one sentence; ``None`` if it is."""
    found = misplaced(func)
    return None if found is None else found[1]


def misplaced(func: PrimFunc) -> tuple[Path, str] | None:
    """Where and why the function is not well-formed; ``None`` if it is."""
    checker = _Checker()
    try:
        checker.function(func)
    except IllFormed as found:
        return checker.place, str(found)
    return None


@final
class _Checker:
    """Walks a function with the scope of each place.

    A ``LetExpr`` that occurs several times (it is one object, then) binds its variable once.
    """

    def __init__(self) -> None:
        self.bound: dict[Var, Node] = {}
        self.checked: set[tuple[Expr, _Scope]] = set()
        self.place: Path = ()
        """The statement that is being checked."""

    def function(self, func: PrimFunc) -> None:
        buffers = func.buffers
        symbols = [n for b in buffers for e in (*b.shape, *b.strides, b.elem_offset) for n in _variables(e)]
        scope: _Scope = frozenset()
        for v in (*func.params, *dict.fromkeys(n for n in symbols if n not in func.params)):
            scope = self.bind(scope, v, func)
        if len(buffers) != len(func.buffer_map):
            raise IllFormed("a buffer stands for no parameter, or two of them for one")
        for param, b in func.buffer_map:
            if param.dtype.code != "handle":
                raise IllFormed(f"{param.name} of type {param.dtype} cannot be the buffer {b.name}; it takes a handle")
        for b in buffers:
            scope = self.declare(self.bind(scope, b.data, func), b)
        self.statement(func.body, scope, ())

    def bind(self, scope: _Scope, var: Var, binder: Node) -> _Scope:
        if var in scope or self.bound.setdefault(var, binder) is not binder:
            raise IllFormed(f"{var.name} is bound twice")
        return scope | {var}

    def declare(self, scope: _Scope, buffer: Buffer) -> _Scope:
        for e in (*buffer.shape, *buffer.strides, buffer.elem_offset):
            self.expression(e, scope)
        return scope | {buffer}

    # -- statements -----------------------------------------------------------------------------------------------

    def statement(self, stmt: Stmt, scope: _Scope, place: Path) -> None:
        self.place = place
        inner = (*place, 0)
        match stmt:
            case For(var=v, min=low, extent=extent, body=body):
                self.expression(low, scope)
                self.expression(extent, scope)
                self.once(stmt, v)
                self.statement(body, self.bind(scope, v, stmt), inner)
            case LetStmt(var=v, value=value, body=body):
                self.expression(value, scope)
                self.once(stmt, v)
                self.statement(body, self.bind(scope, v, stmt), inner)
            case Allocate(buffer=b, body=body):
                self.once(stmt, b.data)
                self.statement(body, self.declare(self.bind(scope, b.data, stmt), b), inner)
            case DeclBuffer(buffer=b, body=body):
                if b.data not in scope:
                    raise IllFormed(f"{b.name} is declared over {b.data.name}, which is no block here")
                self.statement(body, self.declare(scope, b), inner)
            case Block():
                self.block(stmt, scope, place)
            case AttrStmt(value=value, body=body):  # the node that an attribute is about may live further inside
                self.expression(value, scope)
                self.statement(body, scope, inner)
            case _:
                nested = 0
                for child in children(stmt):
                    self.place = place
                    if isinstance(child, Stmt):
                        self.statement(child, scope, (*place, nested))
                        nested += 1
                    else:
                        self.use(child, scope)

    def once(self, stmt: Stmt, var: Var) -> None:
        """A binding statement stands at one place only."""
        if var in self.bound:
            raise IllFormed(f"{var.name} is bound twice")

    def block(self, block: Block, scope: _Scope, place: Path) -> None:
        inner = scope
        for iv in block.iter_vars:
            self.expression(iv.value, scope)
            self.once(block, iv.var)
            inner = self.bind(inner, iv.var, block)
        for iv in block.iter_vars:
            self.expression(iv.min, inner)
            self.expression(iv.extent, inner)
        self.expression(block.predicate, inner)
        for b in block.alloc_buffers:
            self.once(block, b.data)
            inner = self.declare(self.bind(inner, b.data, block), b)
        for region in (*(block.reads or ()), *(block.writes or ())):
            self.use(region, inner)
        parts = [part for part in (block.init, block.body) if part is not None]
        for k, part in enumerate(parts):
            self.statement(part, inner, (*place, k))

    # -- expressions ----------------------------------------------------------------------------------------------

    def use(self, node: Node, scope: _Scope) -> None:
        """What a statement mentions directly: expressions, the buffer that it stores to, regions."""
        if isinstance(node, Buffer):
            if node not in scope:
                raise IllFormed(f"buffer {node.name} is not declared here")
        elif isinstance(node, Expr):
            self.expression(node, scope)
        elif isinstance(node, Region):
            for child in children(node):
                self.use(child, scope)

    def expression(self, expr: Expr, scope: _Scope) -> None:
        if (expr, scope) in self.checked:
            return
        self.checked.add((expr, scope))
        match expr:
            case Var():
                if expr not in scope:
                    raise IllFormed(f"variable {expr.name} is not in scope here")
            case LetExpr(var=v, value=value, body=body):
                self.expression(value, scope)
                self.expression(body, self.bind(scope, v, expr))
            case _:
                for child in children(expr):
                    self.use(child, scope)


def _variables(expr: Expr) -> list[Var]:
    if isinstance(expr, Var):
        return [expr]
    return [v for child in children(expr) if isinstance(child, Expr) for v in _variables(child)]


def recursion(module: IRModule) -> list[str] | None:
    """Names of functions that call each other in a circle, in order (the first one again at the end), if any do."""
    calls = {
        name: [n.op[1:] for n in walk(func.body) if isinstance(n, Call) and n.op.startswith("@")]
        for name, func in module.functions
    }
    for start in calls:
        trails: list[list[str]] = [[start]]
        seen: set[str] = set()
        while trails:
            trail = trails.pop()
            for callee in calls.get(trail[-1], ()):
                if callee == start:
                    return [*trail, start]
                if callee not in seen:
                    seen.add(callee)
                    trails.append([*trail, callee])
    return None
