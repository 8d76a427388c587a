"""Integer instructions on lanes.

Known operands are computed with at once, flags checked: what a flag forbids is poison.  On data a flag becomes a
condition under which the result is undef, unless intervals show that it is never met.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Final, final

from verified_tir.ir.dtype import BOOL, DType
from verified_tir.validate.llvm.graph import UNDEF, Graph, Lane, integer, signed
from verified_tir.validate.llvm.ranges import Ranges
from verified_tir.validate.memory import Refused

_PLAIN: Final = {"add": "add", "sub": "sub", "mul": "mul", "and": "bitand", "or": "bitor", "xor": "bitxor"}
_DIVIDE: Final = {
    "udiv": ("uint", "floordiv"), "urem": ("uint", "floormod"),
    "sdiv": ("int", "truncdiv"), "srem": ("int", "truncmod"),
}  # fmt: skip
_COMPARE: Final = {"gt": ("lt", True), "ge": ("le", True), "lt": ("lt", False), "le": ("le", False)}


@final
class Integers:
    """``undefined(condition, what)`` is told of divisions that have no result."""

    def __init__(self, graph: Graph, undefined: Callable[[Lane, str], None]) -> None:
        self.graph, self.undefined = graph, undefined
        self.ranges = Ranges(graph)

    # ------------------------------------------------------------------------------------------------- types

    def common(self, bits: int, x: Lane, y: Lane) -> DType:
        """The type at which two lanes meet where signs do not matter: one that costs no conversion, if there is."""
        for lane in (x, y):
            if lane < UNDEF and self.graph.known_term(lane) is not None and self.graph.dtypes[~lane].is_int:
                return self.graph.dtypes[~lane]
        for lane in (x, y):
            if lane < UNDEF and self.graph.dtypes[~lane].is_int:
                return self.graph.dtypes[~lane]
        return integer(bits)

    # ---------------------------------------------------------------------------------------------- arithmetic

    def binary(self, op: str, bits: int, flags: Set[str], x: Lane, y: Lane) -> Lane:
        """``op`` of LLVM on lanes of ``i<bits>``."""
        if op in _DIVIDE:
            return self._divide(op, bits, flags, x, y)
        if UNDEF in (x, y):
            return UNDEF
        if x >= 0 and y >= 0:
            return _known(op, bits, flags, x, y)
        if bits == 1:
            if flags:
                raise Refused(f"LLVM IR: {op} {' '.join(sorted(flags))} of data of type i1")
            return self._logic(op, x, y)
        if op in ("shl", "lshr", "ashr"):
            return self._shift(op, bits, flags, x, y)
        dtype = self.common(bits, x, y)
        if op == "xor" and (1 << bits) - 1 in (x, y):
            return self.graph.call("bitwise_not", dtype, dtype, x if y >= 0 else y)
        result = self.graph.binary(_PLAIN[op], dtype, x, y)
        return self._checked(op, bits, flags, x, y, dtype, result)

    def _checked(self, op: str, bits: int, flags: Set[str], x: Lane, y: Lane, dtype: DType, result: Lane) -> Lane:
        """The result, undef where a flag is violated."""
        for flag, code in (("nsw", "int"), ("nuw", "uint")):
            if flag in flags:
                kind = integer(bits, code)
                if not self._within(op, kind, x, y):
                    result = self.graph.poison_if(self.graph.overflow(op, kind, x, y), dtype, result)
        if "disjoint" in flags and not self._disjoint(bits, x, y):
            result = self.graph.poison_if(self.graph.overflow("disjoint", integer(bits, "uint"), x, y), dtype, result)
        return result

    def _within(self, op: str, kind: DType, x: Lane, y: Lane) -> bool:
        (a, b), (c, d) = self.ranges.of(x, kind), self.ranges.of(y, kind)
        ends = {
            "add": (a + c, b + d), "sub": (a - d, b - c), "mul": (a * c, a * d, b * c, b * d),
            "shl": (a << max(0, min(d, 64)), b << max(0, min(d, 64))),
        }[op]  # fmt: skip
        return kind.min_value <= min(ends) and max(ends) <= kind.max_value

    def _disjoint(self, bits: int, x: Lane, y: Lane) -> bool:
        """Whether one operand ends below the lowest bit that the other one may have."""
        kind = integer(bits, "uint")
        return any(self.ranges.of(a, kind)[1] < 1 << self._trailing(b) for a, b in ((x, y), (y, x)))

    def _trailing(self, lane: Lane) -> int:
        """How many low bits of a lane are certainly zero."""
        if lane >= 0:
            return (lane & -lane).bit_length() - 1 if lane else 64
        made = self.graph.operation(lane)
        if made is None:
            return 0
        (kind, op, _, _), (a, b, _) = made
        if kind == "cast" and self.graph.dtypes[a].is_int:
            return self._trailing(~a)
        if kind == "binary" and op in ("shl", "mul"):
            term = self.graph.known_term(~b)
            if term is not None and self.graph.terms.op_of(term) == "const":
                value = int(self.graph.terms.value(term))
                return value if op == "shl" else (value & -value).bit_length() - 1 if value else 64
        return 0

    def _logic(self, op: str, x: Lane, y: Lane) -> Lane:
        g = self.graph
        match op:
            case "and" | "mul":
                return self._strict(x, y, lambda a, b: g.choose(BOOL, a, b, 0))
            case "or":
                return self._strict(x, y, lambda a, b: g.choose(BOOL, a, 1, b))
            case "xor" | "add" | "sub":
                if x >= 0:
                    x, y = y, x
                if y >= 0:
                    return g.negate(x) if y else x
                return g.negate(g.binary("eq", BOOL, x, y))
        raise Refused(f"LLVM IR: {op} of data of type i1")

    def _strict(self, x: Lane, y: Lane, make: Callable[[Lane, Lane], Lane]) -> Lane:
        """A choice in place of a strict operator: the operand that a choice may drop must be defined."""
        if x >= 0 or y >= 0:
            number, other = (x, y) if x >= 0 else (y, x)
            made = make(number, other)
            return made if made < 0 else self.graph.poison_if(self.graph.is_undef(other), BOOL, made)
        if not self.graph.doubtful(y):
            return make(x, y)
        if not self.graph.doubtful(x):
            return make(y, x)
        return self.graph.poison_if(self.graph.is_undef(y), BOOL, make(x, y))

    def _shift(self, op: str, bits: int, flags: Set[str], x: Lane, y: Lane) -> Lane:
        g = self.graph
        kind = integer(bits, "uint")
        wide = y >= bits if y >= 0 else self.ranges.of(y, kind)[1] >= bits
        if wide and y >= 0:
            return UNDEF
        dtype = self.common(bits, x, 0) if op == "shl" else integer(bits, "uint" if op == "lshr" else "int")
        if op == "lshr" and self.ranges.of(x, integer(bits))[0] >= 0 and x < 0 and g.dtypes[~x].code == "int":
            dtype = integer(bits)  # of a number that is not negative both shifts are one
        result = g.binary("shl" if op == "shl" else "shr", dtype, x, y)
        if wide:
            fits = g.binary("lt", kind, y, bits)
            result = g.choose(dtype, fits, result, UNDEF)
        if op == "shl":
            return self._checked(op, bits, flags, x, y, dtype, result)
        if "exact" in flags:
            result = g.poison_if(g.overflow("lost", kind, x, y), dtype, result)
        return result

    def _divide(self, op: str, bits: int, flags: Set[str], x: Lane, y: Lane) -> Lane:
        g = self.graph
        code, name = _DIVIDE[op]
        if y == UNDEF:
            self.undefined(1, f"{op} by undef")
            return UNDEF
        if y == 0:
            self.undefined(1, f"{op} by zero")
            return UNDEF
        if x >= 0 and y >= 0:
            if code == "int" and y == (1 << bits) - 1 and x == 1 << (bits - 1):
                self.undefined(1, f"{op} overflows")
                return UNDEF
            return _quotient(op, bits, flags, x, y)
        dtype = integer(bits, code)
        if y < 0:
            self.undefined(g.is_undef(y), f"{op} by undef")
            low, high = self.ranges.of(y, dtype)
            if low <= 0 <= high:
                self.undefined(g.binary("eq", dtype, y, 0), f"{op} by zero")
        if code == "int":
            self._least(op, dtype, x, y)
        if x == UNDEF:
            return UNDEF
        nonnegative = integer(bits)
        if code == "uint" and min(self.ranges.of(x, nonnegative)[0], self.ranges.of(y, nonnegative)[0]) >= 0:
            if x < 0 and g.dtypes[~x].code == "int":
                dtype = nonnegative  # then all four divisions agree; the program's own is among them
        result = g.binary(name, dtype, x, y)
        if "exact" in flags:
            result = g.poison_if(g.overflow("inexact", dtype, x, y), dtype, result)
        return result

    def _least(self, op: str, dtype: DType, x: Lane, y: Lane) -> None:
        """The least number divided by -1 has no quotient."""
        g, minus = self.graph, (1 << dtype.bits) - 1
        low, high = self.ranges.of(y, dtype)
        if (y >= 0 and y != minus) or not low <= -1 <= high or self.ranges.of(x, dtype)[0] > dtype.min_value:
            return
        if x == UNDEF:
            self.undefined(g.binary("eq", dtype, y, minus), f"{op} of undef by -1")
            return
        least = g.binary("eq", dtype, x, 1 << (dtype.bits - 1))
        self.undefined(least if y == minus else g.both(g.binary("eq", dtype, y, minus), least), f"{op} overflows")

    # --------------------------------------------------------------------------------------------- comparisons

    def compare(self, word: str, bits: int, flags: Set[str], x: Lane, y: Lane) -> Lane:
        """``icmp`` of lanes."""
        if UNDEF in (x, y):
            return UNDEF
        if x >= 0 and y >= 0:
            if "samesign" in flags and (x >> (bits - 1)) != (y >> (bits - 1)):
                return UNDEF
            if word[0] == "s":
                x, y = signed(bits, x), signed(bits, y)
            return int({"eq": x == y, "ne": x != y, "gt": x > y, "ge": x >= y, "lt": x < y, "le": x <= y}[
                word if word in ("eq", "ne") else word[1:]
            ])  # fmt: skip
        g = self.graph
        if bits == 1 and flags:
            raise Refused("LLVM IR: icmp samesign of data of type i1")
        if word in ("eq", "ne"):
            dtype = BOOL if bits == 1 else self.common(bits, x, y)
            equal = g.negate(x if y >= 0 else y) if bits == 1 and 0 in (x, y) else g.binary("eq", dtype, x, y)
            return g.negate(equal) if word == "ne" else equal
        op, swap = _COMPARE[word[1:]]
        same = (
            "samesign" in flags or all(self.ranges.of(k, integer(bits))[0] >= 0 for k in (x, y)) if bits > 1 else False
        )
        dtype = integer(bits, "int" if word[0] == "s" or same else "uint")
        if bits == 1 and word[0] == "s":
            swap = not swap  # true is -1
        found = g.binary(op, dtype, y, x) if swap else g.binary(op, dtype, x, y)
        if "samesign" in flags:
            found = self._same_sign(bits, x, y, found)
        return found

    def _same_sign(self, bits: int, x: Lane, y: Lane, found: Lane) -> Lane:
        g, kind = self.graph, integer(bits)
        signs = []
        for k in (x, y):
            low, high = self.ranges.of(k, kind)
            signs.append(0 if low >= 0 else 1 if high < 0 else g.binary("lt", kind, k, 0))
        a, b = signs
        if a >= 0 and b >= 0:
            return found if a == b else UNDEF
        return g.poison_if(self._logic("xor", a, b), BOOL, found)

    def extreme(self, op: str, bits: int, x: Lane, y: Lane) -> Lane:
        """``smin``, ``umax`` …"""
        if UNDEF in (x, y):
            return UNDEF
        if x >= 0 and y >= 0:
            pick = min if op[1:] == "min" else max
            return pick(x, y, key=lambda k: signed(bits, k)) if op[0] == "s" else pick(x, y)
        if bits == 1:
            return self._logic("and" if op in ("umin", "smax") else "or", x, y)
        return self.graph.binary(op[1:], integer(bits, "int" if op[0] == "s" else "uint"), x, y)


def _known(op: str, bits: int, flags: Set[str], x: int, y: int) -> Lane:
    """The operation on numbers; poison where a flag is violated."""
    mask = (1 << bits) - 1
    if op in ("shl", "lshr", "ashr") and y >= bits:
        return UNDEF
    match op:
        case "and":
            return x & y
        case "or":
            return UNDEF if "disjoint" in flags and x & y else x | y
        case "xor":
            return x ^ y
        case "lshr" | "ashr":
            if "exact" in flags and x & ((1 << y) - 1):
                return UNDEF
            return x >> y if op == "lshr" else (signed(bits, x) >> y) & mask
    compute: Callable[[int, int], int] = {
        "add": int.__add__, "sub": int.__sub__, "mul": int.__mul__, "shl": int.__lshift__,
    }[op]  # fmt: skip
    exact = compute(x, y)
    if flags:
        if "nuw" in flags and exact & mask != exact:
            return UNDEF
        if "nsw" in flags:
            number = compute(signed(bits, x), y if op == "shl" else signed(bits, y))
            if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
                return UNDEF
    return exact & mask


def _quotient(op: str, bits: int, flags: Set[str], x: int, y: int) -> Lane:
    if op[0] == "u":
        quotient, rest = divmod(x, y)
    else:
        a, b = signed(bits, x), signed(bits, y)
        quotient = abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b))
        rest = a - b * quotient
    if "exact" in flags and rest:
        return UNDEF
    return (quotient if op.endswith("div") else rest) & ((1 << bits) - 1)
