"""Statements: what changes memory, and in which order.

Blocks are sugar: ``verified_tir.kernel.entry`` checks their claims (axis kinds, regions) and expands them; after that
only a bare :class:`Block` without iteration variables remains, as a label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import TRUE, Expr, Var, access_dtype
from verified_tir.ir.node import IRError, Node

ForKind = Literal["serial", "parallel", "vectorized", "unrolled", "thread_binding"]
IterKind = Literal["spatial", "reduce", "opaque"]
AnnotationValue: TypeAlias = "Expr | str | int | float | bool | tuple[AnnotationValue, ...]"
Annotations: TypeAlias = tuple[tuple[str, AnnotationValue], ...]


class Stmt(Node):
    """Base of all statements."""

    __slots__ = ()


@final
@dataclass(frozen=True, slots=True, eq=False)
class Store(Stmt):
    """``buffer[indices] = value``; the value has element lanes × index lanes, stored in order.

    Lanes of the index where ``predicate`` is false are not stored.
    """

    buffer: Buffer
    value: Expr
    indices: tuple[Expr, ...]
    predicate: Expr | None = None

    def check(self) -> None:
        want = access_dtype(self.buffer, self.indices, self.predicate)
        if self.value.dtype is not want:
            raise IRError(f"{self.buffer.name}[…] has type {want}; a value of type {self.value.dtype} is stored")


@final
@dataclass(frozen=True, slots=True, eq=False)
class For(Stmt):
    """``for var in [min, min + extent)``.  The meaning is serial; that it may run as ``kind`` says, its race
    freedom, must be proved."""

    var: Var
    min: Expr
    extent: Expr
    body: Stmt
    kind: ForKind = "serial"
    thread: str = ""
    annotations: Annotations = ()

    def check(self) -> None:
        t = self.var.dtype
        if not (self.min.dtype is self.extent.dtype is t) or not t.is_int or t.lanes != 1:
            types = f"has min {self.min.dtype}, extent {self.extent.dtype}"
            raise IRError(f"loop {self.var.name} of type {t} {types}; all are of one scalar integer type")
        if (self.kind == "thread_binding") != bool(self.thread):
            raise IRError(f"loop {self.var.name}: a thread binding names its thread, and only a thread binding does")


@final
@dataclass(frozen=True, slots=True, eq=False)
class If(Stmt):
    """``if condition: then_body else: else_body``."""

    condition: Expr
    then_body: Stmt
    else_body: Stmt | None = None

    def check(self) -> None:
        _check_condition(self.condition, "an if")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Seq(Stmt):
    """Statements in order.  Built by :func:`seq`, which flattens; the empty one does nothing."""

    stmts: tuple[Stmt, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class LetStmt(Stmt):
    """``let var = value in body``."""

    var: Var
    value: Expr
    body: Stmt

    def check(self) -> None:
        if self.var.dtype is not self.value.dtype:
            raise IRError(f"{self.var.name} has type {self.var.dtype}, its value {self.value.dtype}")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Allocate(Stmt):
    """A fresh block, undefined throughout, alive in ``body``."""

    buffer: Buffer
    body: Stmt
    annotations: Annotations = ()


@final
@dataclass(frozen=True, slots=True, eq=False)
class DeclBuffer(Stmt):
    """Another view of a block that exists already (``buffer.data`` is bound outside)."""

    buffer: Buffer
    body: Stmt


@final
@dataclass(frozen=True, slots=True, eq=False)
class Region(Node):
    """``buffer[min : min + extent, …]``, one (min, extent) pair a dimension."""

    buffer: Buffer
    mins: tuple[Expr, ...]
    extents: tuple[Expr, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class IterVar(Node):
    """A block's iteration variable: its domain, its declared kind and the value bound to it."""

    var: Var
    min: Expr
    extent: Expr
    kind: IterKind
    value: Expr


@final
@dataclass(frozen=True, slots=True, eq=False)
class Block(Stmt):
    """``with T.block(name)``: iteration variables, claims about what is read and written, ``init`` and ``body``.

    ``reads``/``writes`` are ``None`` when the text does not declare them.  A block without iteration variables,
    predicate, regions and init is a label.
    """

    name: str
    iter_vars: tuple[IterVar, ...]
    predicate: Expr
    reads: tuple[Region, ...] | None
    writes: tuple[Region, ...] | None
    init: Stmt | None
    body: Stmt
    alloc_buffers: tuple[Buffer, ...] = ()
    annotations: Annotations = ()

    def check(self) -> None:
        _check_condition(self.predicate, f"the predicate of block {self.name}")

    @staticmethod
    def label(name: str, body: Stmt, annotations: Annotations = ()) -> Block:
        """A block that only names its body."""
        return Block(name, (), TRUE, None, None, None, body, (), annotations)

    @property
    def is_label(self) -> bool:
        return (
            not self.iter_vars and self.predicate is TRUE and self.init is None and not self.alloc_buffers
            and self.reads is None and self.writes is None
        )  # fmt: skip


@final
@dataclass(frozen=True, slots=True, eq=False)
class Assume(Stmt):
    """``T.assume(condition)``: undefined behaviour if false; no check at run time."""

    condition: Expr

    def check(self) -> None:
        _check_condition(self.condition, "an assumption")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Assert(Stmt):
    """Stops the program with ``message`` if the condition is false."""

    condition: Expr
    message: str

    def check(self) -> None:
        _check_condition(self.condition, "an assertion")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Evaluate(Stmt):
    """Evaluates an expression for its effect."""

    value: Expr


@final
@dataclass(frozen=True, slots=True, eq=False)
class While(Stmt):
    """``while condition: body``."""

    condition: Expr
    body: Stmt

    def check(self) -> None:
        _check_condition(self.condition, "a while")


@final
@dataclass(frozen=True, slots=True, eq=False)
class AttrStmt(Stmt):
    """An annotation on a body, about ``node`` (a variable, mostly); it changes nothing about the meaning."""

    key: str
    node: Expr | str
    value: Expr
    body: Stmt


def _check_condition(condition: Expr, what: str) -> None:
    if not condition.dtype.is_bool or condition.dtype.lanes != 1:
        raise IRError(f"{what} takes a scalar bool, not {condition.dtype}")


def seq(*stmts: Stmt) -> Stmt:
    """The statements in order, nested sequences flattened; a single one stays itself."""
    flat = [part for s in stmts for part in (s.stmts if isinstance(s, Seq) else (s,))]
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


SKIP = Seq(())
