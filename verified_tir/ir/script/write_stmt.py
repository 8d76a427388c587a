"""Statements as text, line by line, with the line on which each statement starts."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import TRUE, Call, Expr, IntImm, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
from verified_tir.ir.script.names import Names
from verified_tir.ir.script.opaque import REDUCER
from verified_tir.ir.script.write_device import hint_text, id_call, id_lets, quote
from verified_tir.ir.script.write_expr import ExprWriter, has_let, pointer_text
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
    IterVar,
    LetStmt,
    Seq,
    Stmt,
    Store,
    While,
)
from verified_tir.ir.visit import walk

_INDENT = "    "
_LOOPS = {"serial": "serial", "parallel": "parallel", "vectorized": "vectorized", "unrolled": "unroll",
          "thread_binding": "thread_binding"}  # fmt: skip
_NAMED_LANES = frozenset({4, 8, 16, 32, 64})
"""The numbers of lanes of the types that TVM 0.27 has as ``T.int32x4`` and the like."""
_AXIS_LETTERS = {"spatial": "S", "reduce": "R"}


class StmtWriter(ExprWriter):
    """Writes statements into ``lines``."""

    def __init__(self, names: Names, flat: bool = False) -> None:
        super().__init__(names)
        self.flat = flat
        """Whether every binding reaches to the end of the scope around it."""
        self.lines: list[str] = []
        self.places: dict[Path, int] = {}
        """The index of the line on which the statement at each path starts."""
        self.loops: dict[Var, tuple[Expr, Expr]] = {}
        """The domains of the loops around the place."""

    def line(self, depth: int, text: str) -> None:
        """One line; declarations that its ``T.Let`` need come before it."""
        for name, dtype in self.names.pending:
            self.lines.append(f"{_INDENT * depth}{name} = T.{dtype}()")
        self.names.pending.clear()
        self.lines.append(f"{_INDENT * depth}{text}")

    def first(self, path: Path, depth: int, text: str) -> None:
        """The line that starts the statement at ``path``."""
        self.line(depth, text)
        self.places[path] = len(self.lines) - 1

    def scope(self, stmt: Stmt, path: Path, depth: int) -> None:
        """A statement as the whole of an indented scope."""
        with self.names.frame():
            self.stmt(stmt, path, depth, last=True)

    def stmt(self, s: Stmt, path: Path, depth: int, last: bool) -> None:
        """A statement; ``last`` says that its scope ends with it, so that a binding may reach to the end."""
        match s:
            case Seq(stmts=()):
                self.first(path, depth, "pass")
            case Seq(stmts=stmts):
                for k, sub in enumerate(stmts):
                    self.stmt(sub, (*path, k), depth, self.flat or (last and k == len(stmts) - 1))
                self.places[path] = self.places[(*path, 0)]
            case For():
                self._for(s, path, depth)
            case If():
                self._if(s, path, depth, "if")
            case While(condition=c, body=body):
                self.first(path, depth, f"while {self.expr(c)}:")
                self.scope(body, (*path, 0), depth + 1)
            case Block():
                self._block(s, path, depth)
            case LetStmt() | Allocate() | DeclBuffer():
                self._binding(s, path, depth, last)
            case AttrStmt(key=key, node=node, value=value, body=body):
                about = quote(node) if isinstance(node, str) else self.expr(node)
                said = hint_text(self, s) or f"T.attr({about}, {quote(key)}, {self._argument(value)})"
                self.first(path, depth, f"with {said}:")
                outer = self.reducers
                if isinstance(node, Call) and node.op == REDUCER:
                    self.reducers = (*outer, node)
                self.scope(body, (*path, 0), depth + 1)
                self.reducers = outer
            case Store(buffer=b, value=value, indices=indices, predicate=Expr() as predicate):
                mask = f"predicate={self.expr(predicate)}"
                place = f"[{self.exprs(indices)}], {self.expr(value)}"
                self.first(path, depth, f"{self.names.name(b)}.vstore({place}, {mask})")
            case Store(buffer=b, value=value, indices=indices):
                place = self.place(b, indices)
                self.first(path, depth, f"{place} = {self.expr(value)}")
            case Assume(condition=c):
                self.first(path, depth, f"T.assume({self.expr(c)})")
            case Assert(condition=c, message=message):
                self.first(path, depth, f"assert {self.expr(c)}, {quote(message)}")
            case Evaluate(value=Call(op="ret", args=(value,))):
                self.first(path, depth, f"return {self.expr(value)}")
            case Evaluate(value=value):
                self.first(path, depth, self.effect(value))
            case _:
                # Stmt cannot be sealed for the type checker; the classes above are all there are
                raise IRError(f"{type(s).__name__} cannot be written")

    # -- loops and branches ----------------------------------------------------------------------------------------

    def _for(self, s: For, path: Path, depth: int) -> None:
        nest = self._nest(s)
        # the header belongs to the scope around the loop
        extents = ", ".join([self.expr(loop.extent) for loop in nest]) if len(nest) > 1 else ""
        header = f"T.grid({extents})" if extents else self._loop_header(s)
        with self.names.frame():
            names = ", ".join([self.names.give(loop.var) for loop in nest])
            self.first(path, depth, f"for {names} in {header}:")
            for k, loop in enumerate(nest):
                self.places[(*path, *(0,) * k)] = self.places[path]
                self.loops[loop.var] = (loop.min, loop.extent)
            self.scope(nest[-1].body, (*path, *(0,) * len(nest)), depth + 1)
            for loop in nest:
                self.loops.pop(loop.var, None)

    @staticmethod
    def _nest(s: For) -> list[For]:
        """The loops that one ``T.grid`` can say: plain, from 0, extents independent of each other."""
        nest = [s]
        while _plain(nest[-1]):
            inner = nest[-1].body
            if not isinstance(inner, For) or not _plain(inner):
                break
            outer = {loop.var for loop in nest}
            if any(n in outer for n in walk(inner.extent)):
                break
            nest.append(inner)
        return nest

    def _loop_header(self, s: For) -> str:
        bounds = self.expr(s.extent) if _zero(s.min) else f"{self.expr(s.min)}, {self.stop(s.min, s.extent)}"
        if s.kind == "serial" and not s.annotations:
            return f"range({bounds})"
        extra = f", thread={quote(s.thread)}" if s.kind == "thread_binding" else ""
        if s.annotations:
            extra += f", annotations={self.annotations(s.annotations)}"
        return f"T.{_LOOPS[s.kind]}({bounds}{extra})"

    def _if(self, s: If, path: Path, depth: int, word: str) -> None:
        self.first(path, depth, f"{word} {self.expr(s.condition)}:")
        self.scope(s.then_body, (*path, 0), depth + 1)
        match s.else_body:
            case None:
                pass
            case If() as inner if not has_let(inner.condition):
                self._if(inner, (*path, 1), depth, "elif")
            case other:
                self.line(depth, "else:")
                self.scope(other, (*path, 1), depth + 1)

    # -- bindings --------------------------------------------------------------------------------------------------

    def _binding(self, s: LetStmt | Allocate | DeclBuffer, path: Path, depth: int, last: bool) -> None:
        """A binding to the end of the scope, or (if the scope goes on after its body) a ``with``."""
        if isinstance(s, LetStmt) and last and (numbered := id_lets(s)) is not None:
            variables, of, body = numbered
            shown = id_call(self, of)
            names = ", ".join([self.names.give(v) for v in variables])
            self.first(path, depth, f"{names} = {shown}")
            for k in range(len(variables)):
                self.places[(*path, *(0,) * k)] = self.places[path]
            self.stmt(body, (*path, *(0,) * len(variables)), depth, last=True)
            return
        frame: AbstractContextManager[None] = nullcontext() if last else self.names.frame()
        match s:
            case LetStmt(var=var, value=value):
                self.pointer = var.type if isinstance(var.type, PointerType) and isinstance(value, Call) else None
                shown = self.expr(value)
                call = f"T.LetStmt({shown})"
                text = f": {self._annotation(var)} = {shown}"
                node: Var | Buffer = var
            case Allocate(buffer=node, annotations=annotations):
                extra = f", annotations={self.annotations(annotations)}" if annotations else ""
                call = f"T.alloc_buffer({self.buffer_args(node)}{extra})"
                text = f" = {call}"
            case DeclBuffer(buffer=node):
                call = f"T.decl_buffer({self.buffer_args(node, data=True)})"
                text = f" = {call}"
        with frame:
            name = self.names.give(node)
            if last:
                self.first(path, depth, f"{name}{text}")
                self.stmt(s.body, (*path, 0), depth, last=True)
            else:
                self.first(path, depth, f"with {call} as {name}:")
                self.scope(s.body, (*path, 0), depth + 1)

    @staticmethod
    def _annotation(var: Var) -> str:
        """``T.let[T.int32]``; without the type where TVM has no name for it."""
        if isinstance(var.type, DType) and var.type.code != "handle":
            named = var.type.lanes == 1 or (
                var.type.lanes in _NAMED_LANES and var.type.code in ("int", "uint", "float")
            )
            return f"T.let[T.{var.type}]" if named else "T.let"
        return f"T.let[{pointer_text(var.type)}]"

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _block(self, s: Block, path: Path, depth: int) -> None:
        self.first(path, depth, f"with T.sblock({quote(s.name)}):")
        with self.names.frame():
            inner = depth + 1
            head = len(self.lines)
            self._axes(s.iter_vars, inner)
            if s.predicate is not TRUE:
                self.line(inner, f"T.where({self.expr(s.predicate)})")
            for buffer in s.alloc_buffers:
                args = self.buffer_args(buffer)
                self.line(inner, f"{self.names.give(buffer)} = T.sblock_alloc_buffer({args})")
            for word, regions in (("reads", s.reads), ("writes", s.writes)):
                if regions is not None:
                    self.line(inner, f"T.{word}({', '.join([self.region(r) for r in regions])})")
            if s.annotations:
                self.line(inner, f"T.sblock_attr({self.annotations(s.annotations)})")
            if s.init is not None:
                self.line(inner, "with T.init():")
                self.scope(s.init, (*path, 0), inner + 1)
            where = (*path, 1 if s.init is not None else 0)
            if isinstance(s.body, Seq) and not s.body.stmts and len(self.lines) > head:
                # the head already fills the block, so nothing needs to stand for its empty body
                self.places[where] = len(self.lines) - 1
            else:
                self.stmt(s.body, where, inner, last=True)

    def _axes(self, iter_vars: tuple[IterVar, ...], depth: int) -> None:
        """The iteration variables; neighbours that run over whole loops share one ``T.axis.remap``."""
        k = 0
        while k < len(iter_vars):
            run = k
            while run < len(iter_vars) and self._is_remap(iter_vars[run]):
                run += 1
            if run - k >= 2:
                group = iter_vars[k:run]
                kinds = "".join([_AXIS_LETTERS[iv.kind] for iv in group])
                values = ", ".join([self.expr(iv.value) for iv in group])
                names = ", ".join([self.names.give(iv.var) for iv in group])
                self.line(depth, f'{names} = T.axis.remap("{kinds}", [{values}])')
                k = run
                continue
            iv = iter_vars[k]
            dom = self.expr(iv.extent)
            if not _zero(iv.min):
                dom = f"({self.expr(iv.min)}, {self.stop(iv.min, iv.extent)})"
            value = self.expr(iv.value)
            self.line(depth, f"{self.names.give(iv.var)} = T.axis.{iv.kind}({dom}, {value})")
            k += 1

    def _is_remap(self, iv: IterVar) -> bool:
        if not isinstance(iv.value, Var) or iv.kind not in _AXIS_LETTERS:
            return False
        domain = self.loops.get(iv.value)
        return domain is not None and domain[0] is iv.min and domain[1] is iv.extent


def _plain(s: For) -> bool:
    """Whether ``T.grid`` can say the loop."""
    return s.kind == "serial" and not s.annotations and _zero(s.min) and not has_let(s.extent)


def _zero(e: Expr) -> bool:
    return isinstance(e, IntImm) and e.value == 0


def bound_buffers(nodes: Iterable[object]) -> set[Buffer]:
    """The buffers that statements among ``nodes`` declare."""
    found: set[Buffer] = set()
    for n in nodes:
        match n:
            case Allocate(buffer=b) | DeclBuffer(buffer=b):
                found.add(b)
            case Block(alloc_buffers=buffers):
                found.update(buffers)
    return found
