"""Bit operations in index maps, as quotients and remainders: swizzles (``i, j ^ i``) and Morton orders.

An index is not negative where it is used, so each of its bits is a remainder: bit k of ``x`` is ``x // 2**k % 2``.  In
this form the other modules find inverses and extents (it is quasi-affine), and Z3 decides what they propose without
bit vectors.  An operand whose bits are combined one by one needs constant bounds, which say how many bits it has; a
shift, and a mask of the lowest bits, need none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from verified_tir.index.bounds import Bounds
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.expr import Binary, Expr, IntImm, Var
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import map_children, nodes_of

BIT_OPS: Final = frozenset({"bitand", "bitor", "bitxor", "shl", "shr"})


@final
@dataclass(frozen=True)
class _BitOf:
    """Bit ``place`` of a value that has ``width`` bits."""

    source: Expr
    place: int
    width: int


Bit: TypeAlias = "int | Expr | _BitOf"
"""0 or 1; an expression that is 0 or 1; or a bit of a value."""


def has_bit_operations(*exprs: Expr) -> bool:
    """Whether a bit operation occurs in an expression."""
    return any(n.op in BIT_OPS for e in exprs for n in nodes_of(e, Binary))


def without_bit_operations(exprs: Sequence[Expr], ranges: Mapping[Var, tuple[Expr, Expr]]) -> tuple[Expr, ...]:
    """Expressions with the same values where each variable is within its (least value, extent): by arithmetic alone,
    or as they are where bits are combined of what has no constant bounds or may be negative."""
    arithmetic = _Arithmetic(ranges)
    return tuple([arithmetic.of(e) if has_bit_operations(e) else e for e in exprs])


class _Unbounded(Exception):
    """So many bits are combined that nobody knows how many."""


@final
class _Arithmetic:
    """Rewrites expressions over index variables with given ranges."""

    def __init__(self, ranges: Mapping[Var, tuple[Expr, Expr]]) -> None:
        self.simplifier = Simplifier(Bounds(ranges))

    def of(self, expr: Expr) -> Expr:
        """The expression without bit operations, or as it is."""
        try:
            return self.value(expr)
        except _Unbounded:
            return expr

    def value(self, expr: Expr) -> Expr:
        """The expression without bit operations."""
        match expr:
            case Binary(op=op) if op not in BIT_OPS:
                pass
            case Binary(op="shl", a=a, b=IntImm(value=c)) if 0 <= c < expr.dtype.bits - 1:
                return self.value(a) * (1 << c)
            case Binary(op="shr", a=a, b=IntImm(value=c)) if 0 <= c < expr.dtype.bits - 1:
                return self.value(a) // (1 << c)
            case Binary(op="bitand", a=a, b=IntImm(value=c)) | Binary(op="bitand", a=IntImm(value=c), b=a) if (
                0 <= c < expr.dtype.max_value and c & (c + 1) == 0
            ):
                return self.value(a) % (c + 1)
            case Binary(op="bitor" | "bitxor", a=a, b=b):
                for one, other in ((a, b), (b, a)):
                    width = self.width(one)
                    if width is not None and self.width(other) is None:  # the other's higher bits stay
                        return self.value(other) // (1 << width) * (1 << width) + _joined(self.bits(expr, width), expr)
                return _joined(self.bits(expr), expr)
            case Binary():
                return _joined(self.bits(expr), expr)
        return map_children(expr, lambda n: self.value(n) if isinstance(n, Expr) and not isinstance(n, Var) else n)

    def width(self, expr: Expr) -> int | None:
        """How many bits an expression has, if that is known."""
        try:
            return len(self.bits(expr))
        except _Unbounded:
            return None

    def bits(self, expr: Expr, wanted: int | None = None) -> list[Bit]:
        """The bits of an expression, the lowest first.

        :param wanted: so many of them count, the others may be left out.
        """
        match expr:
            case IntImm(value=value) if value >= 0:
                return [value >> k & 1 for k in range(value.bit_length())]
            case Binary(op="shl", a=a, b=IntImm(value=c)) if 0 <= c < expr.dtype.bits - 1:
                return [*[0] * c, *self.bits(a, None if wanted is None else max(0, wanted - c))]
            case Binary(op="shr", a=a, b=IntImm(value=c)) if 0 <= c < expr.dtype.bits - 1:
                return self.bits(a, None if wanted is None else wanted + c)[c:]
            case Binary(op="bitand", a=a, b=IntImm(value=c)) | Binary(op="bitand", a=IntImm(value=c), b=a) if c >= 0:
                found = self.bits(a, c.bit_length())
                return [bit if c >> k & 1 else 0 for k, bit in enumerate(found[: c.bit_length()])]
            case Binary(op="bitand" | "bitor" | "bitxor" as op, a=a, b=b):
                x, y = self.bits(a, wanted), self.bits(b, wanted)
                width = max(len(x), len(y))
                pairs = zip([*x, *[0] * (width - len(x))], [*y, *[0] * (width - len(y))], strict=True)
                return [_combined(op, p, q, expr) for p, q in pairs][:wanted]
            case Binary(op=op) if op in BIT_OPS:  # a shift by what is not a number, or too large
                raise _Unbounded
        return self._digits(self.value(expr), wanted)

    def _digits(self, expr: Expr, wanted: int | None) -> list[Bit]:
        """The bits of an expression without bit operations."""
        low, high = self.simplifier.bounds.interval(self.simplifier.poly(expr))
        if low is None or low < 0 or high is None:
            if wanted is None or wanted >= expr.dtype.bits - 1:
                raise _Unbounded
            expr, high = expr % (1 << wanted), (1 << wanted) - 1
        return [_BitOf(expr, k, high.bit_length()) for k in range(high.bit_length())]


def _combined(op: str, a: Bit, b: Bit, like: Expr) -> Bit:
    """One bit of a bit operation."""
    if isinstance(b, int):
        a, b = b, a
    if isinstance(a, int):
        if op == "bitxor":
            return b if a == 0 else 1 - b if isinstance(b, int) else const(1, like.dtype) - _bit(b)
        return (b if a == 1 else 0) if op == "bitand" else (1 if a == 1 else b)
    if a == b:
        return 0 if op == "bitxor" else a
    total = _bit(a) + _bit(b)
    return total % 2 if op == "bitxor" else total // 2 if op == "bitand" else (total + 1) // 2


def _bit(bit: Bit) -> Expr:
    """A bit that is no number, as an expression that is 0 or 1."""
    assert not isinstance(bit, int)
    return _run([bit]) if isinstance(bit, _BitOf) else bit


def _run(bits: Sequence[_BitOf]) -> Expr:
    """Successive bits of one value, as a number."""
    first, last = bits[0], bits[-1]
    shifted = first.source // (1 << first.place)
    return shifted if last.place == last.width - 1 else shifted % (1 << len(bits))


def _joined(bits: Sequence[Bit], like: Expr) -> Expr:
    """The number with these bits, the lowest first."""
    if len(bits) >= like.dtype.bits:
        raise _Unbounded
    total, k = const(0, like.dtype), 0
    while k < len(bits):
        run = [bits[k]]
        while k + len(run) < len(bits) and _follows(run[-1], bits[k + len(run)]):
            run.append(bits[k + len(run)])
        if isinstance(run[0], int):
            total = total + run[0] * (1 << k)
        else:
            of_one = [b for b in run if isinstance(b, _BitOf)]
            total = total + (_run(of_one) if of_one else _bit(run[0])) * (1 << k)
        k += len(run)
    return total


def _follows(a: Bit, b: Bit) -> bool:
    """Whether two bits are successive bits of one value."""
    return isinstance(a, _BitOf) and isinstance(b, _BitOf) and (a.source, a.place + 1) == (b.source, b.place)


__all__ = ["has_bit_operations", "without_bit_operations"]
