"""What makes programs easy to write in Python: operators of expressions, types by their names, numbers as constants.

The classes of the IR have none of this of their own, since the kernel needs none of it: their fields and what these
must satisfy are all that a proof rests on.  The methods of the classes here are given to those of the IR when the
package is imported; a type checker sees them as bases.  The tests of the rules take them away while the kernel works
(``tests/kernel/programs.py``).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, TypeAlias, get_args

from verified_tir.ir import expr as e
from verified_tir.ir.dtype import BITS, BOOL, FLOAT32, INT32, DType, PointerType
from verified_tir.ir.float_bits import round_to
from verified_tir.ir.node import IRError, Node, once
from verified_tir.ir.outside import shown

if TYPE_CHECKING:
    from verified_tir.ir.buffer import Buffer
    from verified_tir.ir.func import PrimFunc

ExprLike: TypeAlias = "e.Expr | int | float | bool"

ARITHMETIC_OPS: tuple[str, ...] = get_args(e.ArithmeticOp)

_PATTERN = re.compile(rf"({'|'.join(BITS)})([0-9]{{0,4}})(?:x([0-9]{{1,18}}))?")


class NodeSugar:
    """Methods of ``Node``: one is never made but by its class, and no copy is needed of what does not change."""

    __slots__ = ()

    def __copy__(self: Any) -> Any:
        return self

    def __deepcopy__(self: Any, memo: object) -> Any:
        return self

    def __reduce__(self: Any) -> NoReturn:
        raise TypeError("a node cannot be pickled, its variables would be others: write the program as text")


class TypeSugar:
    """Methods of ``DType``."""

    __slots__ = ()

    @staticmethod
    def parse(text: str | DType) -> DType:
        """Read ``"float32x4"``; ``"float"``, ``"int"`` and ``"uint"`` mean 32 bits, as in TVM.

        :raises IRError: if the text names no dtype.
        """
        if isinstance(text, DType):
            return text
        found = _PATTERN.fullmatch(text)
        if found is None:
            raise IRError(f"unknown dtype {text!r}")
        code, bits, lanes = found.groups()
        default = 32 if 32 in BITS[code] else BITS[code][0]
        if code == "bool" and bits == "8":
            bits = "1"
        return DType(code, int(bits) if bits else default, int(lanes) if lanes else 1)  # type: ignore[arg-type]


class ExprSugar:
    """Operators of ``Expr``; they fold integer constants, and take Python numbers."""

    __slots__ = ()

    def __add__(self: Any, other: ExprLike) -> e.Expr:
        return binary("add", self, other)

    def __radd__(self: Any, other: ExprLike) -> e.Expr:
        return binary("add", other, self)

    def __sub__(self: Any, other: ExprLike) -> e.Expr:
        return binary("sub", self, other)

    def __rsub__(self: Any, other: ExprLike) -> e.Expr:
        return binary("sub", other, self)

    def __mul__(self: Any, other: ExprLike) -> e.Expr:
        return binary("mul", self, other)

    def __rmul__(self: Any, other: ExprLike) -> e.Expr:
        return binary("mul", other, self)

    def __truediv__(self: Any, other: ExprLike) -> e.Expr:
        return binary("div", self, other)

    def __rtruediv__(self: Any, other: ExprLike) -> e.Expr:
        return binary("div", other, self)

    def __floordiv__(self: Any, other: ExprLike) -> e.Expr:
        return binary("floordiv", self, other)

    def __rfloordiv__(self: Any, other: ExprLike) -> e.Expr:
        return binary("floordiv", other, self)

    def __mod__(self: Any, other: ExprLike) -> e.Expr:
        return binary("floormod", self, other)

    def __rmod__(self: Any, other: ExprLike) -> e.Expr:
        return binary("floormod", other, self)

    def __and__(self: Any, other: ExprLike) -> e.Expr:
        return binary("bitand", self, other)

    def __rand__(self: Any, other: ExprLike) -> e.Expr:
        return binary("bitand", other, self)

    def __or__(self: Any, other: ExprLike) -> e.Expr:
        return binary("bitor", self, other)

    def __ror__(self: Any, other: ExprLike) -> e.Expr:
        return binary("bitor", other, self)

    def __xor__(self: Any, other: ExprLike) -> e.Expr:
        return binary("bitxor", self, other)

    def __rxor__(self: Any, other: ExprLike) -> e.Expr:
        return binary("bitxor", other, self)

    def __lshift__(self: Any, other: ExprLike) -> e.Expr:
        return binary("shl", self, other)

    def __rlshift__(self: Any, other: ExprLike) -> e.Expr:
        return binary("shl", other, self)

    def __rshift__(self: Any, other: ExprLike) -> e.Expr:
        return binary("shr", self, other)

    def __rrshift__(self: Any, other: ExprLike) -> e.Expr:
        return binary("shr", other, self)

    def __neg__(self: Any) -> e.Expr:
        if self.dtype.is_float:
            return e.Binary("mul", const(-1.0, self.dtype), self)
        return binary("sub", const(0, self.dtype), self)

    def __lt__(self: Any, other: ExprLike) -> e.Expr:
        return binary("lt", self, other)

    def __le__(self: Any, other: ExprLike) -> e.Expr:
        return binary("le", self, other)

    def __gt__(self: Any, other: ExprLike) -> e.Expr:
        return binary("gt", self, other)

    def __ge__(self: Any, other: ExprLike) -> e.Expr:
        return binary("ge", self, other)

    def equal(self: Any, other: ExprLike) -> e.Expr:
        """The expression ``self == other`` (Python's ``==`` on nodes is identity)."""
        return binary("eq", self, other)


class BufferSugar:
    """Methods of ``Buffer``."""

    __slots__ = ()

    @staticmethod
    def declare(
        name: str,
        shape: tuple[ExprLike, ...],
        dtype: DType | str = "float32",
        *,
        data: e.Var | None = None,
        strides: tuple[ExprLike, ...] = (),
        elem_offset: ExprLike = 0,
        scope: str | None = None,
        axis_separators: tuple[int, ...] = (),
    ) -> Buffer:
        """A buffer with Python numbers allowed as extents; a fresh data variable unless one is given.

        :param scope: the storage scope of the fresh block; of a view, that of its block.
        :raises IRError: if it is another one.
        """
        from verified_tir.ir.buffer import Buffer

        dtype = DType.parse(dtype)
        if data is None:
            data = e.Var.fresh(name, PointerType(dtype, scope or "global"))
        made = Buffer(
            name, data, dtype, tuple(as_expr(s) for s in shape), tuple(as_expr(s) for s in strides),
            as_expr(elem_offset) if isinstance(elem_offset, e.Expr) else const(elem_offset), axis_separators,
        )  # fmt: skip
        if scope is not None and scope != made.scope:
            raise IRError(f"{name} is a view of a block in scope {made.scope!r}, not in {scope!r}")
        return made

    def __getitem__(self: Any, indices: ExprLike | tuple[ExprLike, ...]) -> e.Load:
        """The element at some indices, as in a padding function: ``lambda i, j: A[(i + j) % 4]``.

        :raises IRError: for the wrong number of indices, or an index that is not an integer.
        """
        given = indices if isinstance(indices, tuple) else (indices,)
        dtype = self.shape[0].dtype if self.shape else INT32
        return e.Load(self, tuple(as_expr(i, dtype) for i in given))

    __iter__: ClassVar[None] = None
    """Without this, having ``__getitem__`` would make a buffer an endless sequence."""

    def with_data(self: Any, data: e.Var, name: str | None = None) -> Buffer:
        """The same view of another block."""
        from verified_tir.ir.buffer import Buffer

        return Buffer(
            name or self.name, data, self.dtype, self.shape, self.strides, self.elem_offset, self.axis_separators,
        )  # fmt: skip


class FuncSugar:
    """Methods of ``PrimFunc``."""

    __slots__ = ()

    def buffer_of(self: Any, param: e.Var) -> Buffer | None:
        """The buffer behind a parameter, if it is one."""
        return _buffer_map(self).get(param)

    def buffer_named(self: Any, name: str) -> Buffer:
        """The parameter buffer called ``name``.

        :raises IRError: if there is none.
        """
        buffers: tuple[Buffer, ...] = self.buffers
        for b in buffers:
            if b.name == name:
                return b
        raise IRError(f"{self.name} has no parameter {name!r}; it has {', '.join(b.name for b in buffers)}")

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The text, where IPython or Hypothesis shows a function."""
        printer.text("\n" + shown(self))


class ModuleSugar:
    """Methods of ``IRModule``."""

    __slots__ = ()

    def __getitem__(self: Any, name: str) -> PrimFunc:
        functions: tuple[tuple[str, PrimFunc], ...] = self.functions
        for key, f in functions:
            if key == name:
                return f
        raise IRError(f"the module has no function {name!r}")

    _repr_pretty_ = FuncSugar._repr_pretty_


def const(value: ExprLike, dtype: DType | str = INT32) -> e.Expr:
    """``value`` as a constant of ``dtype`` (broadcast if it has lanes); floats are rounded to the type.

    :raises IRError: if an integer does not fit.
    """
    if isinstance(value, e.Expr):
        return value
    dtype = DType.parse(dtype)
    if not dtype.is_float and isinstance(value, float):
        if not value.is_integer():
            raise IRError(f"{value} is not a value of type {dtype}")
        value = int(value)
    if dtype.lanes > 1:
        return e.Broadcast(const(value, dtype.scalar), dtype.lanes)
    return e.const(round_to(dtype, value) if dtype.is_float else value, dtype)


def as_expr(value: ExprLike, like: DType | None = None) -> e.Expr:
    """A Python number as a constant (int32, bool or float32 unless ``like`` says otherwise)."""
    if like is None:
        like = BOOL if isinstance(value, bool) else FLOAT32 if isinstance(value, float) else INT32
    return const(value, like)


_FOLDED: Final[dict[str, Callable[[int, int], int]]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
    "floormod": operator.mod, "min": min, "max": max,
}  # fmt: skip


MATCHED: ContextVar[Callable[[e.BinaryOp, ExprLike, ExprLike], tuple[e.Expr, e.Expr]] | None] = ContextVar(
    "MATCHED", default=None
)
"""How operands meet where a Python number does not take the other operand's type, which is in ``te.compute``."""


def binary(op: e.BinaryOp, left: ExprLike, right: ExprLike) -> e.Expr:
    """``left op right``; Python numbers take the other operand's type; a scalar is broadcast where the other operand
    has lanes, and integer constants fold.

    Folding happens only where it is an identity of index arithmetic (constants that fit, ``x+0``, ``x*1``).
    """
    if (match := MATCHED.get()) is not None:
        a, b = match(op, left, right)
    elif isinstance(left, e.Expr):
        a, b = left, as_expr(right, left.dtype)
    else:
        b = as_expr(right)
        a = as_expr(left, b.dtype)
    lanes = max(a.dtype.lanes, b.dtype.lanes)
    a, b = (e.Broadcast(x, lanes) if x.dtype.lanes == 1 < lanes else x for x in (a, b))
    made = e.Binary(op, a, b)
    x, y = (c.value if isinstance(c, e.IntImm) and c.type.is_int else None for c in (a, b))
    if x is not None and y is not None and op in _FOLDED and (y != 0 or not op.startswith("floor")):
        value = _FOLDED[op](x, y)
        if a.dtype.min_value <= value <= a.dtype.max_value:
            return e.IntImm(a.dtype, value)
    if (op, y) in (("add", 0), ("sub", 0), ("mul", 1), ("floordiv", 1)):
        return a
    return b if (op, x) in (("add", 0), ("mul", 1)) else made


def all_of(conditions: Sequence[e.Expr]) -> e.Expr:
    """The lazy conjunction of the conditions, left to right (true if there is none)."""
    result = conditions[0] if conditions else e.TRUE
    for c in conditions[1:]:
        result = e.Binary("and", result, c)
    return result


def any_of(conditions: Sequence[e.Expr]) -> e.Expr:
    """The lazy disjunction of the conditions, left to right (false if there is none)."""
    if not conditions:
        return e.FALSE
    result = conditions[0]
    for c in conditions[1:]:
        result = e.Binary("or", result, c)
    return result


@once
def _buffer_map(func: PrimFunc) -> dict[e.Var, Buffer]:
    return dict(reversed(func.buffer_map))  # the first entry of a parameter counts


def _type_text(self: DType) -> str:
    name = self.code if self.code in ("bool", "handle", "void") else f"{self.code}{self.bits}"
    return name if self.lanes == 1 else f"{name}x{self.lanes}"


def _pointer_text(self: PointerType) -> str:
    return f"{self.element}*" if self.scope == "global" else f"{self.element}* {self.scope}"


def _variable_text(self: e.Var) -> str:
    return f"{self.name}#{self.uid}"


TEXTS = ((DType, _type_text), (PointerType, _pointer_text), (e.Var, _variable_text))
"""How types and variables are shown to people.  No verdict depends on it."""


def methods() -> Iterator[tuple[type, str, Any]]:
    """What the classes of the IR are given: class, name, method."""
    from verified_tir.ir.buffer import Buffer
    from verified_tir.ir.func import IRModule, PrimFunc

    pairs = (Node, NodeSugar), (DType, TypeSugar), (e.Expr, ExprSugar), (Buffer, BufferSugar), (PrimFunc, FuncSugar)
    for kind, sugar in (*pairs, (IRModule, ModuleSugar)):
        for name, method in vars(sugar).items():
            if name == "__iter__" or isinstance(method, (FunctionType, staticmethod)):
                yield kind, name, method


for _kind, _name, _method in methods():
    setattr(_kind, _name, _method)
for _shown, _text in TEXTS:
    _shown.__repr__ = _text  # type: ignore[method-assign, assignment]
