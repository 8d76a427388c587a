"""Loops.

The loop variable is a 64-bit integer.  A loop that may make no iteration is guarded, and then tests at its end::

    if extent > 0: { i = min; do { body; i = i + 1 } while (i < min + extent) }

An unrolled loop of constant extent is written out, so that the variable is a constant in each copy, unless that gets
too long.  A parallel loop runs on threads (``parallel.py``).  All others are serial here: the proof of a vectorized
loop allows LLVM to do better, and LLVM sees that by itself where it can (to demand it would make LLVM print warnings);
the meaning of a thread binding is the serial loop too.
"""

from __future__ import annotations

from collections.abc import Callable

from verified_tir.codegen.builder import INDEX, NONNEGATIVE, Function, Register
from verified_tir.codegen.indices import arithmetic, wide
from verified_tir.codegen.parallel import parallel
from verified_tir.ir.expr import Expr, IntImm, Var
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import For, Stmt, Store
from verified_tir.ir.visit import children
from verified_tir.semantics.values import wrap

Statement = Callable[[Function, Stmt], None]

SHORT = 32
"""Up to how many iterations it is left to LLVM whether an innermost loop, even over vectors, is written out."""

LONGEST_UNROLLED = 32768
"""How many instructions, by estimate, an unrolled loop may be written out to."""


def loop(b: Function, s: For, statement: Statement) -> None:
    """A loop of any kind."""
    first, extent = (_of_type(s.var, wide(b, e)) for e in (s.min, s.extent))
    flags = INDEX | NONNEGATIVE if _nonnegative(b, s.min) else INDEX
    if isinstance(extent, int) and extent <= 0:
        return
    if extent == 1:
        _once(b, s, first, flags, statement)
        return
    if s.kind == "unrolled" and isinstance(extent, int) and extent * weight(b, s.body) <= LONGEST_UNROLLED:
        for k in range(extent):
            _once(b, s, arithmetic(b, "add", first, k), flags, statement)
        return
    if s.kind == "parallel" and b.outer is None and b.module.target.threads > 1:

        def body(inner: Function, low: str, high: str) -> None:
            iterate(inner, s.var, low, high, flags, lambda: statement(inner, s.body))

        parallel(b, first, extent, body, positive=_positive(s.var))
        return
    _serial(b, s, first, extent, flags, statement)


def _of_type(var: Var, value: Register) -> Register:
    """A constant as the variable's type has it: indices are computed modulo 2**64, with a sign."""
    return wrap(var.dtype, value) if isinstance(value, int) else value


def _nonnegative(b: Function, expr: Expr) -> bool:
    if isinstance(expr, IntImm):
        return expr.value >= 0
    return isinstance(expr, Var) and bool(b.module.flags.get(expr, 0) & NONNEGATIVE)


def _once(b: Function, s: For, value: Register, flags: int, statement: Statement) -> None:
    """The body at one value of the variable."""
    mark = b.enter()
    b.bind_wide(s.var, _of_type(s.var, value), flags)
    statement(b, s.body)
    b.leave(mark)


def _serial(b: Function, s: For, first: Register, extent: Register, flags: int, statement: Statement) -> None:
    done = b.new_label("endfor")
    if not isinstance(extent, int):
        some, start = b.assign(f"icmp {_positive(s.var)} i64 {extent}, 0"), b.new_label("start")
        b.branch_if(some, start, done)
        b.open(start)
    stop = arithmetic(b, "add", first, extent)
    loops, short = b.module.loops, isinstance(extent, int) and extent <= SHORT
    iterate(b, s.var, first, stop, flags, lambda: statement(b, s.body))
    if short and b.module.loops == loops + 1:
        b.module.optimise_loops = True
    b.branch(done)
    b.open(done)


def _positive(var: Var) -> str:
    """The comparison with 0 that says that an extent of this type is positive (uint64 is not sign-extended)."""
    return "ne" if var.dtype.code == "uint" else "sgt"


def iterate(b: Function, var: Var, first: Register, stop: Register, flags: int, body: Callable[[], None]) -> None:
    """``do { body } while (++var != stop)``: at least one iteration.

    (The test is for inequality: with 64 bits, ``stop`` may be 2**63, which is not greater than anything.)
    """
    before, head, done = b.block, b.new_label("for"), b.new_label("exit")
    b.branch(head)
    mark = b.enter()
    b.open(head)
    variable, following = b.fresh("i"), b.fresh("next")
    phi = len(b.lines)
    b.lines.append("")
    b.bind_wide(var, variable, flags)
    loops, stores = b.module.loops, b.module.scalar_stores
    body()
    if b.module.loops == loops and b.module.scalar_stores > stores:
        b.module.optimise_loops = True
    b.module.loops += 1
    exact = var.dtype.bits < 64
    b.line(f"{following} = add{' nsw' if exact else ''} i64 {variable}, 1")
    more = b.assign(f"icmp {'slt' if exact else 'ne'} i64 {following}, {stop}")
    b.lines[phi] = f"  {variable} = phi i64 [ {first}, %{before} ], [ {following}, %{b.block} ]"
    b.line(f"br i1 {more}, label %{head}, label %{done}")
    b.leave(mark)
    b.open(done)


def weight(b: Function, node: Node) -> int:
    """About how many instructions a statement takes, loops counted once for each constant iteration."""
    known = b.module.weights
    found = known.get(node)
    if found is None:
        match node:
            case For(extent=IntImm(value=extent), body=body, kind="unrolled"):
                found = max(extent, 0) * weight(b, body)
            case For(body=body):
                found = 5 + weight(b, body)
            case Stmt() | Expr():
                found = (1 if isinstance(node, (Expr, Store)) else 0) + sum(
                    weight(b, c) for c in children(node) if isinstance(c, (Stmt, Expr))
                )
            case _:
                found = 0
        known[node] = found
    return found
