"""A function of the module under construction: lines of LLVM text, and what stands in which register.

:class:`Function` knows nothing of expressions and statements.  It hands out names, opens and ends basic blocks, and
remembers values: in :attr:`Function.values` those that hold as long as the scope in which they were computed, in
:attr:`Function.loaded` those that the next store may change.  A *scope* is a piece of the program that does not
dominate what follows it: the body of a loop, the arm of a branch.

The body of a parallel loop becomes a function of its own.  What it uses of the function around it is *captured*: the
first use adds a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, final

from verified_tir.codegen.errors import CodegenError
from verified_tir.codegen.llvm_types import REGISTER
from verified_tir.codegen.target import Target
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import BinaryOp, Expr, Var
from verified_tir.ir.node import Node

Register: TypeAlias = "str | int"
"""The text of an operand.  An integer or bool constant is a Python ``int``, so that it can be computed with."""

Value: TypeAlias = tuple[Register, DType, int]
"""An operand, its type, and what is known about it (the flags below)."""

INDEX, NONNEGATIVE, MEMORY = 1, 2, 4
"""Flags of a value: it is index arithmetic; is index arithmetic and not negative; depends on the contents of memory."""

KEPT = INDEX | NONNEGATIVE

Rule: TypeAlias = "Callable[[Function, Any], Value]"
"""How expressions of one class are computed."""


@final
@dataclass(frozen=True, slots=True)
class Storage:
    """A block of memory: the register with its address, and the alignment of that in bytes.

    ``size`` is in bytes, and 0 unless the block is on the stack of this function.
    """

    pointer: str
    alignment: int
    size: int = 0


@final
@dataclass(frozen=True, slots=True)
class View:
    """A buffer, where it is declared: a block's address, and how indices become addresses in it.

    ``strides`` and ``offset`` count elements; they are constants or i64 registers.  ``alignment`` is in bytes, of any
    element.  ``note`` is metadata for its accesses (``aliases.py``).  ``room`` is how many elements a block on the
    stack has, from its start, and 0 for any other.
    """

    buffer: Buffer
    block: str
    strides: tuple[Register, ...]
    offset: Register
    lanes: int
    scalar: DType
    memory: str
    alignment: int
    note: str
    room: int = 0


@final
class Module:
    """What the functions of one module share.

    ``optimise_loops`` says that LLVM's loop optimisations are worth their time: some innermost loop stores scalars, or
    is short.  ``orders`` are the operators, with the types of their operands, that are calls (``order.py``).
    ``from_integers`` says that floats are computed from integers somewhere (``floats.narrow`` asks).
    """

    def __init__(self, target: Target, rules: Mapping[type[Expr], Rule]) -> None:
        self.target = target
        self.rules = rules
        self.functions: list[str] = []
        self.declarations: dict[str, None] = {}
        self.metadata: list[str] = []
        self.messages: list[str] = []
        self.notes: dict[Buffer, str] = {}
        self.flags: dict[Var, int] = {}
        self.index: dict[Expr, bool] = {}
        self.harmless: dict[Expr, bool] = {}
        self.orders: dict[tuple[BinaryOp, DType], None] = {}
        self.from_integers = False
        self.parallel = False
        self.weights: dict[Node, int] = {}
        self.loops = self.scalar_stores = self.bodies = 0
        self.optimise_loops = self.threads = False

    def declare(self, declaration: str) -> None:
        """Declare a function of the C library (intrinsics of LLVM need no declaration)."""
        self.declarations[declaration] = None

    def assertion(self, message: str) -> int:
        """The number, from 1, of an assertion with this message."""
        if message not in self.messages:
            self.messages.append(message)
        return self.messages.index(message) + 1


@final
@dataclass
class Function:
    """A function under construction.

    :param outer: the function whose parallel loop this one is the body of.
    """

    module: Module
    outer: Function | None = None
    lines: list[str] = field(default_factory=list)
    allocas: list[str] = field(default_factory=list)
    stack: dict[Var, str] = field(default_factory=dict)
    stack_bytes: int = 0
    values: dict[Expr, Value] = field(default_factory=dict)
    loaded: dict[Expr, Value] = field(default_factory=dict)
    wide: dict[Expr, Register] = field(default_factory=dict)
    addresses: dict[tuple[str, str, Register], str] = field(default_factory=dict)
    views: dict[Buffer, View] = field(default_factory=dict)
    blocks: dict[Var, Storage] = field(default_factory=dict)
    heap: list[str] = field(default_factory=list)
    captured: dict[str, tuple[str, str]] = field(default_factory=dict)
    trail: list[tuple[dict[Any, Any], Any]] = field(default_factory=list)
    count: int = 0
    block: str = "entry"
    fails: bool = False

    # -- text ------------------------------------------------------------------------------------------------------

    def fresh(self, hint: str = "v") -> str:
        """A register name that nothing else has."""
        self.count += 1
        return f"%{hint}{self.count}"

    def assign(self, operation: str) -> str:
        """A fresh register that holds the result of an operation."""
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"  {name} = {operation}")
        return name

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def new_label(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def open(self, label: str) -> None:
        """Begin a basic block; the one before has ended in a branch."""
        self.lines.append(f"{label}:")
        self.block = label

    def branch(self, label: str) -> None:
        """End the basic block with a jump."""
        self.lines.append(f"  br label %{label}")

    def branch_if(self, condition: Register, then: str, otherwise: str) -> None:
        self.lines.append(f"  br i1 {condition}, label %{then}, label %{otherwise}")

    def give_up(self, status: Register) -> None:
        """Leave the function: what it allocated is freed first."""
        for pointer in reversed(self.heap):
            self.line(f"call void @free(ptr {pointer})")
        self.line(f"ret i32 {status}")
        self.fails = True

    # -- values ----------------------------------------------------------------------------------------------------

    def value(self, expr: Expr) -> Value:
        """The value of an expression in its own type, computed once where that is possible.

        :raises CodegenError: if there is no machine code for it.
        """
        found = self.values.get(expr)
        if found is None:
            found = self.loaded.get(expr)
            if found is None:
                found = self.module.rules[type(expr)](self, expr)
                if found[2] & MEMORY:
                    self.loaded[expr] = found
                else:
                    self.values[expr] = found
                    self.trail.append((self.values, expr))
        return found

    # -- what is known where ---------------------------------------------------------------------------------------

    def enter(self) -> int:
        """Begin a scope; what it returns is for :meth:`leave`."""
        self.loaded.clear()
        return len(self.trail)

    def leave(self, mark: int) -> None:
        """End a scope: what was computed in it is forgotten, since it does not dominate what follows."""
        self.forget(mark)
        self.loaded.clear()

    def forget(self, mark: int) -> None:
        """Forget what was remembered since the trail was ``mark`` long, but for values that depend on memory."""
        trail = self.trail
        while len(trail) > mark:
            table, key = trail.pop()
            table.pop(key, None)

    def bind(self, var: Var, value: Value) -> None:
        """Give a variable its value, as long as the scope lasts."""
        self.values[var] = value
        self.trail.append((self.values, var))
        self.module.flags[var] = value[2]

    def bind_wide(self, var: Var, register: Register, flags: int) -> None:
        """Give an index variable its value as a 64-bit integer, as long as the scope lasts."""
        self.wide[var] = register
        self.trail.append((self.wide, var))
        self.module.flags[var] = flags

    # -- what is captured from the function around -----------------------------------------------------------------

    def capture(self, register: Register, kind: str) -> Register:
        """A register (of LLVM type ``kind``) of the function around, here."""
        if isinstance(register, int) or not register.startswith("%"):
            return register  # a constant
        found = self.captured.get(register)
        if found is None:
            found = self.captured[register] = (f"%c{len(self.captured)}", kind)
        return found[0]

    def wide_variable(self, var: Var) -> Register | None:
        """The 64-bit value of a variable, if it is kept as one."""
        found = self.wide.get(var)
        if found is None and self.outer is not None and var not in self.values:
            outside = self.outer.wide_variable(var)
            if outside is not None:
                found = self.wide[var] = self.capture(outside, "i64")
        return found

    def variable(self, var: Var) -> Value | None:
        """The value of a variable, if it is kept in its own type."""
        found = self.values.get(var)
        if found is None and self.outer is not None:
            outside = self.outer.variable(var)
            if outside is not None:
                register, dtype, flags = outside
                found = self.values[var] = (self.capture(register, REGISTER[dtype]), dtype, flags)
        return found

    def storage(self, data: Var) -> Storage | None:
        """The block that a data variable names."""
        found = self.blocks.get(data)
        if found is None and self.outer is not None:
            outside = self.outer.storage(data)
            if outside is not None:
                found = self.blocks[data] = Storage(str(self.capture(outside.pointer, "ptr")), outside.alignment)
        return found

    def view(self, buffer: Buffer) -> View:
        """What a buffer stands for.

        :raises CodegenError: if no parameter, allocation or declaration around the place provides it.
        """
        found = self.views.get(buffer)
        if found is None:
            if self.outer is None:
                raise CodegenError(f"buffer {buffer.name} is not declared where it is used")
            outside = self.outer.view(buffer)
            found = self.views[buffer] = replace(
                outside, block=str(self.capture(outside.block, "ptr")),
                strides=tuple([self.capture(s, "i64") for s in outside.strides]),
                offset=self.capture(outside.offset, "i64"),
            )  # fmt: skip
        return found


_AWKWARD = re.compile(r"[^A-Za-z0-9_]")


def readable(name: str) -> str:
    """A program's name as part of an LLVM name."""
    plain = _AWKWARD.sub("_", name)
    return plain if plain and not plain[0].isdigit() else f"_{plain}"
