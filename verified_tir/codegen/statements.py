"""Statements into instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verified_tir.codegen.builder import KEPT, Function
from verified_tir.codegen.errors import CodegenError
from verified_tir.codegen.loops import loop
from verified_tir.codegen.memory import store
from verified_tir.codegen.views import allocate, declare, fail_if, free
from verified_tir.ir.dtype import PointerType
from verified_tir.ir.expr import IntImm
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


def statement(b: Function, s: Stmt) -> None:
    """The instructions of a statement.

    :raises CodegenError: if there are none for it.
    """
    _RULES[type(s)](b, s)


def _sequence(b: Function, s: Seq) -> None:
    for part in s.stmts:
        statement(b, part)


def _if(b: Function, s: If) -> None:
    condition, _, _ = b.value(s.condition)
    if isinstance(condition, int):
        chosen = s.then_body if condition else s.else_body
        if chosen is not None:
            statement(b, chosen)
        return
    then, done = b.new_label("then"), b.new_label("endif")
    otherwise = done if s.else_body is None else b.new_label("else")
    b.branch_if(condition, then, otherwise)
    _branch(b, then, s.then_body, done)
    if s.else_body is not None:
        _branch(b, otherwise, s.else_body, done)
    b.open(done)


def _branch(b: Function, label: str, body: Stmt, done: str) -> None:
    mark = b.enter()
    b.open(label)
    statement(b, body)
    b.branch(done)
    b.leave(mark)


def _while(b: Function, s: While) -> None:
    b.module.optimise_loops = True
    head, body, done = b.new_label("while"), b.new_label("body"), b.new_label("endwhile")
    b.branch(head)
    mark = b.enter()
    b.open(head)
    condition, _, _ = b.value(s.condition)
    b.branch_if(condition, body, done)
    b.open(body)
    statement(b, s.body)
    b.branch(head)
    b.leave(mark)
    b.open(done)


def _let(b: Function, s: LetStmt) -> None:
    if isinstance(s.var.type, PointerType):
        raise CodegenError(
            f"{s.var.name} is bound to a pointer; declare a buffer over the block instead: T.decl_buffer(…, data=…)"
        )
    register, dtype, flags = b.value(s.value)
    b.bind(s.var, (register, dtype, flags & KEPT))  # what is bound stays, whatever is stored
    statement(b, s.body)


def _allocate(b: Function, s: Allocate) -> None:
    on_heap = allocate(b, s.buffer)
    statement(b, s.body)
    if on_heap:
        free(b)


def _declare(b: Function, s: DeclBuffer) -> None:
    declare(b, s.buffer)
    statement(b, s.body)


def _block(b: Function, s: Block) -> None:
    """What a label names; all other blocks are expanded before."""
    assert s.is_label
    statement(b, s.body)


def _assume(b: Function, s: Assume) -> None:
    """An assumption costs nothing."""


def _assert(b: Function, s: Assert) -> None:
    condition, _, _ = b.value(s.condition)
    if isinstance(condition, int):
        if not condition:
            fail_if(b, 1, b.module.assertion(s.message))
        return
    number = b.module.assertion(s.message)
    failed = b.assign(f"xor i1 {condition}, true")
    fail_if(b, failed, number)


def _evaluate(b: Function, s: Evaluate) -> None:
    """A value that nobody uses: it is computed for the diagnostics, and the optimiser drops it."""
    if not isinstance(s.value, IntImm):
        b.value(s.value)


def _attribute(b: Function, s: AttrStmt) -> None:
    statement(b, s.body)


_RULES: dict[type[Stmt], Callable[[Function, Any], None]] = {
    Store: store,
    For: lambda b, s: loop(b, s, statement),
    If: _if,
    Seq: _sequence,
    LetStmt: _let,
    Allocate: _allocate,
    DeclBuffer: _declare,
    Block: _block,
    Assume: _assume,
    Assert: _assert,
    Evaluate: _evaluate,
    While: _while,
    AttrStmt: _attribute,
}
