"""The questions that every part of the parser asks about an expression: its value, its type, the access it names.

:meth:`Reader.value` reads whatever an expression may stand for (a literal without a type, a buffer, a dtype, …);
:meth:`Reader.expr` insists on a typed expression.  How the expression is taken apart is in ``exprs``.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from contextlib import contextmanager

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32, DType
from verified_tir.ir.expr import Call, Expr, Load, Ramp, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.script.dtypes import dtype_named
from verified_tir.ir.script.linear import constant_difference
from verified_tir.ir.script.scalars import is_one_element
from verified_tir.ir.script.scope import Scope
from verified_tir.ir.script.source import Located, ScriptError, Source
from verified_tir.ir.script.values import (
    PLAIN_UNDEF,
    Plain,
    PlainUndef,
    Selection,
    Slice,
    Value,
    condition,
    typed,
    unified,
)
from verified_tir.ir.sugar import as_expr
from verified_tir.ir.visit import walk


class Reader:
    """Reads expressions in the light of the names in scope."""

    def __init__(self, source: Source, scope: Scope, aliases: frozenset[str], functions: dict[str, DType]) -> None:
        self.source = source
        self.scope = scope
        self.aliases = aliases
        """Names of the namespace ``T``."""
        self.functions = functions
        """Functions of the text that may be called, with the type each returns."""
        self.symbols: set[Var] = set()
        """Variables that a declaration such as ``n = T.int32()`` made and that nothing has given a value yet."""
        self.unallocated: set[Var] = set()
        """Blocks of buffers that were declared without data, and of which no ``Allocate`` was read yet."""
        self.scalars: set[Buffer] = set()
        """Buffers of one element that stand for a scalar variable: its name means the element."""
        self.pointers: set[Var] = set()
        """Pointers that a buffer was declared with by their name: they may point into any block."""
        self.lane: tuple[Var, int] | None = None
        """Inside the store of a scalable vector of ``c * T.vscale()`` lanes: one of its lanes, and ``c``."""
        self.entered: Located | None = None
        """Where the text says that a device runs the rest of the function."""
        self.device: Var | None = None
        """The pointer that what belongs to a device is about, once there is such a thing (``device``)."""
        self.opaque_depth = 0
        """Above zero where an unknown call may stand: in an expression statement, and inside opaque calls."""

    # -- errors ---------------------------------------------------------------------------------------------------

    def error(self, place: Located, message: str) -> ScriptError:
        """A mistake at ``place``."""
        return self.source.error(place, message)

    def unknown_name(self, place: Located, name: str) -> ScriptError:
        """The mistake of a name that is not in scope, with the nearest one that is."""
        near = difflib.get_close_matches(name, self.scope.names(), 1)
        return self.error(place, f"unknown name {name}" + (f"; did you mean {near[0]}?" if near else ""))

    @contextmanager
    def located(self, node: Located) -> Iterator[None]:
        """Reports at ``node`` what the IR refuses inside."""
        try:
            yield
        except ScriptError:
            raise
        except IRError as e:
            raise self.error(node, str(e)) from None

    # -- the two questions ----------------------------------------------------------------------------------------

    def value(self, node: ast.expr, want: DType | None = None) -> Value:
        """Whatever the expression stands for; ``want`` is the type that the place prefers."""
        with self.computed(node):
            return self._value(node, want)

    @contextmanager
    def computed(self, node: Located) -> Iterator[None]:
        """Reports at ``node`` what the IR refuses inside, and constants that cannot be computed."""
        try:
            with self.located(node):
                yield
        except ScriptError:  # a ValueError too
            raise
        except (OverflowError, ZeroDivisionError, ValueError) as e:
            raise self.error(node, f"the constant has no value: {e}") from None

    def _value(self, node: ast.expr, want: DType | None) -> Value:
        """The value by the kind of the node; IR errors may escape."""
        raise self.error(node, "no expression can stand here")

    def expr(self, node: ast.expr, want: DType | None = None) -> Expr:
        """The expression, typed; plain literals take the wanted type."""
        return self.typed(node, self.number(node, want), want)

    def typed(self, node: ast.expr, value: Expr | Plain, want: DType | None = None) -> Expr:
        """A value that was read at ``node`` as an expression."""
        with self.located(node):
            return typed(value, want)

    def number(self, node: ast.expr, want: DType | None = None) -> Expr | Plain:
        """An expression, or a literal that has yet to take its type."""
        found = self.value(node, want)
        if isinstance(found, Selection):
            return self.load(node, found)
        if isinstance(found, (Expr, int, float, PlainUndef)):
            return found
        if isinstance(found, Buffer) and is_one_element(found):  # TVM prints its only element so
            return Load(found, (as_expr(0, found.shape[0].dtype),))
        raise self.error(node, f"{kind_of(found)} is used where a number is needed")

    def is_number(self, node: ast.expr) -> bool:
        """Whether the expression is a number, as opposed to a buffer, a string, a thread and so on."""
        return isinstance(self.value(node), (Expr, int, float, PlainUndef, Selection))

    def condition(self, node: ast.expr) -> Expr:
        """A bool expression."""
        with self.located(node):
            return condition(self.number(node))

    def int_constant(self, node: ast.expr) -> int:
        """A constant integer: a number of lanes, an axis."""
        found = self.value(node)
        if isinstance(found, Expr):
            constant = constant_difference(found, as_expr(0)) if found.dtype.is_int else None
            if constant is not None:
                return constant
        if isinstance(found, int) and not isinstance(found, bool):
            return found
        raise self.error(node, "a constant integer is needed")

    def lanes(self, node: ast.expr) -> int:
        """The number of lanes of a ramp or broadcast."""
        found = self.number(node)
        if isinstance(found, Expr) and any(isinstance(n, Call) and n.op == "vscale" for n in walk(found)):
            raise self.error(node, "the number of lanes is neither a constant nor a constant times T.vscale()")
        return self.int_constant(node)

    def string(self, node: ast.expr) -> str:
        """A string literal."""
        found = self.value(node)
        if not isinstance(found, str):
            raise self.error(node, "a string is needed")
        return found

    def dtype(self, node: ast.expr) -> DType:
        """A dtype: ``"float32"``, ``T.float32``, ``A.dtype``."""
        found = self.value(node)
        if isinstance(found, DType):
            return found
        if not isinstance(found, str):
            raise self.error(node, 'a dtype is needed, such as "float32"')
        if self.lane is not None:  # of one lane, the type of one lane
            found = found.removesuffix(f"xvscalex{self.lane[1]}")
        with self.located(node):
            return dtype_named(found)

    # -- accesses -------------------------------------------------------------------------------------------------

    def indices(self, buffer: Buffer, parts: list[ast.expr]) -> tuple[Expr | Slice, ...]:
        """What stands between the brackets of an access, one part a dimension."""
        found: list[Expr | Slice] = []
        for part in parts:
            if isinstance(part, ast.Slice):
                found.append(self.slice(buffer, part))
            else:
                found.append(self.expr(part, INT32 if self.value(part) is PLAIN_UNDEF else None))
        return tuple(found)

    def slice(self, buffer: Buffer, node: ast.Slice) -> Expr | Slice:
        """``start : stop : step``; the step is a constant, and a literal bound takes the type of the other."""
        start = None if node.lower is None else self.number(node.lower)
        stop = None if node.upper is None else self.number(node.upper)
        step = 1 if node.step is None else self.int_constant(node.step)
        place = node.lower or node.upper
        if place is None:
            return Slice(None, None, step)
        with self.located(place):
            if start is not None and stop is not None:
                return Slice(*unified(start, stop, None), step)
            return Slice(
                None if start is None else typed(start, None), None if stop is None else typed(stop, None), step
            )

    def access(self, node: Located, selection: Selection) -> tuple[Expr, ...]:
        """The indices of a load or store; a slice in the last place means lanes."""
        found: list[Expr] = []
        for part in selection.indices:
            found.append(self._lanes(node, part) if isinstance(part, Slice) else part)
        return tuple(found)

    def _lanes(self, node: Located, part: Slice) -> Expr:
        if part.start is None or part.stop is None:
            raise self.error(node, "a slice in an access needs both bounds")
        span = constant_difference(part.stop, part.start)
        if span is None:
            raise self.error(node, "the number of lanes of this slice is not constant")
        lanes = -(-span // part.step) if part.step else 0
        if lanes < 1:
            raise self.error(node, "a slice in an access has a step and at least one lane")
        return part.start if lanes == 1 else Ramp(part.start, as_expr(part.step, part.start.dtype), lanes)

    def load(self, node: ast.expr, selection: Selection) -> Expr:
        """The selection as a value."""
        with self.located(node):
            return Load(selection.buffer, self.access(node, selection))


def kind_of(value: Value) -> str:
    """The value in an error message."""
    match value:
        case Buffer(name=name):
            return f"the buffer {name}"
        case Selection():
            return "an access"
        case str():
            return "a string"
        case DType():
            return f"the dtype {value}"
        case None:
            return "None"
        case tuple():
            return "a tuple"
        case Expr():
            return f"an expression of type {value.dtype}"
        case int() | float():
            return "a number"
    return "a thread" if value is not PLAIN_UNDEF else "T.undef()"
