"""Float instructions and casts on lanes."""

from __future__ import annotations

from collections.abc import Set
from typing import Final, final

from verified_tir.ir.dtype import BFLOAT16, BOOL, FLOAT32, DType
from verified_tir.ir.floats import bits_of
from verified_tir.validate.llvm.graph import UNDEF, Graph, Lane, integer, signed
from verified_tir.validate.llvm.ranges import Ranges
from verified_tir.validate.llvm.syntax import FLOATS, FloatType, IntType, PointerType, Scalar
from verified_tir.validate.memory import Refused

_OPERATIONS: Final = {"fadd": "add", "fsub": "sub", "fmul": "mul", "fdiv": "div"}


@final
class Floats:
    """Float arithmetic, comparisons, and conversions between all scalar types."""

    def __init__(self, graph: Graph, ranges: Ranges) -> None:
        self.graph, self.ranges = graph, ranges

    def binary(self, op: str, dtype: DType, x: Lane, y: Lane) -> Lane:
        """``fadd`` … ``fdiv``."""
        name = _OPERATIONS.get(op)
        if name is None:
            raise Refused(f"LLVM IR: {op}")
        if dtype.bits == 16:
            return self.rounded(dtype, self.graph.binary(name, FLOAT32, self.single(dtype, x), self.single(dtype, y)))
        return self.graph.binary(name, dtype, x, y)

    def single(self, dtype: DType, x: Lane) -> Lane:
        """A 16-bit float as float32.  Its arithmetic is that of float32, rounded back (``reference.py`` says why)."""
        return self.graph.cast(dtype, FLOAT32, x)

    def rounded(self, dtype: DType, x: Lane) -> Lane:
        """A float32 as a 16-bit float."""
        return self.graph.cast(FLOAT32, dtype, x)

    def negate(self, dtype: DType, x: Lane) -> Lane:
        """``fneg``: for every x but NaN, whose sign does not exist, that is -0.0 - x."""
        return self.binary("fsub", dtype, 1 << (dtype.bits - 1), x)

    def compare(self, word: str, dtype: DType, x: Lane, y: Lane) -> Lane:
        """``fcmp``: the unordered predicates are the negations of the ordered ones."""
        g = self.graph
        if dtype.bits == 16:
            x, y, dtype = self.single(dtype, x), self.single(dtype, y), FLOAT32
        match word:
            case "false" | "true":
                return int(word == "true")
            case "oeq":
                return self._equal(dtype, x, y)
            case "olt" | "ole":
                return g.binary(word[1:], dtype, x, y)
            case "ogt" | "oge":
                return g.binary("lt" if word == "ogt" else "le", dtype, y, x)
            case "one":
                size = self._size_against_infinity(x, y)
                if size is not None:
                    return g.call("isfinite", dtype, BOOL, size)
                return g.choose(BOOL, g.binary("lt", dtype, x, y), 1, g.binary("lt", dtype, y, x))
            case "uno":
                return self._unordered(dtype, x, y)
        opposite = {"une": "oeq", "ult": "oge", "ule": "ogt", "ugt": "ole", "uge": "olt", "ueq": "one", "ord": "uno"}
        return g.negate(self.compare(opposite[word], dtype, x, y))

    def _equal(self, dtype: DType, x: Lane, y: Lane) -> Lane:
        size = self._size_against_infinity(x, y)
        if size is not None:
            return self.graph.call("isinf", dtype, BOOL, size)
        return self.graph.binary("eq", dtype, x, y)

    def _size_against_infinity(self, x: Lane, y: Lane) -> Lane | None:
        """z, if the operands are ``fabs(z)`` and infinity."""
        made = self.graph.operation(x)
        if made is None or made[0][:2] != ("call", "abs") or self._constant(y) != float("inf"):
            return None
        return ~made[1][0]

    def _constant(self, lane: Lane) -> float | None:
        term = self.graph.known_term(lane) if lane < 0 else None
        if term is None or self.graph.terms.op_of(term) != "const":
            return None
        return float(self.graph.terms.value(term))

    def _unordered(self, dtype: DType, x: Lane, y: Lane) -> Lane:
        g = self.graph
        found = []
        for lane in dict.fromkeys((x, y)):
            value = self._constant(lane)
            if value is None:
                found.append(g.call("isnan", dtype, BOOL, lane))
            elif value != value:  # noqa: PLR0124 (the test for NaN)
                return 1
        if not found:
            return 0
        return found[0] if len(found) == 1 else g.choose(BOOL, found[0], 1, found[1])

    # --------------------------------------------------------------------------------------------------- casts

    def cast(self, op: str, source: Scalar, target: Scalar, flags: Set[str], x: Lane) -> Lane:
        """One lane converted; ``bitcast`` between types of one width too."""
        if x == UNDEF:
            return UNDEF
        if isinstance(source, IntType) and isinstance(target, IntType) and op != "bitcast":
            return self._resize(op, source.bits, target.bits, flags, x)
        if op in ("ptrtoint", "inttoptr") or (op == "bitcast" and source == target):
            if source == target or (x >= 0 and 64 in (source.bits, target.bits) and source.bits == target.bits):
                return x
            raise Refused(f"LLVM IR: {op} of data or to another width")
        if op == "bitcast":
            return self.bits(source, target, x)
        if isinstance(source, FloatType) and isinstance(target, FloatType):
            return self.graph.cast(FLOATS[source.name], FLOATS[target.name], x)
        if isinstance(source, FloatType):
            code = "int" if op == "fptosi" else "uint"
            if target.bits == 1:
                raise Refused(f"LLVM IR: {op} to i1")
            return self.graph.cast(FLOATS[source.name], integer(target.bits, code), x)
        if isinstance(target, FloatType):
            return self._to_float(op, source.bits, FLOATS[target.name], flags, x)
        raise Refused(f"LLVM IR: {op} from {source} to {target}")

    def bits(self, source: Scalar, target: Scalar, x: Lane) -> Lane:
        """The same bits at another scalar type of the same width."""
        if x == UNDEF or source == target:
            return x
        if isinstance(target, PointerType) or isinstance(source, PointerType):
            return x
        if isinstance(target, FloatType):
            return self._float_of_bits(FLOATS[target.name], x)
        return self.graph.reinterpret(x, integer(target.bits, "uint"))

    def _float_of_bits(self, dtype: DType, x: Lane) -> Lane:
        """A float from its bits; the upper half of a float32 is a bfloat16."""
        g = self.graph
        if dtype is FLOAT32 and x < 0:
            made = g.operation(x)
            if made is not None and made[0][:2] == ("binary", "shl") and self._number(made[1][1]) == 16:
                inner = g.operation(~made[1][0])
                if (
                    inner is not None
                    and inner[0][0] == "cast"
                    and inner[0][2].bits == 16
                    and inner[0][2].code == "uint"
                ):
                    return g.cast(BFLOAT16, FLOAT32, g.reinterpret(~inner[1][0], BFLOAT16))
        return g.reinterpret(x, dtype)

    def _number(self, node: int) -> int | None:
        term = self.graph.known_term(~node)
        if term is None or self.graph.terms.op_of(term) != "const":
            return None
        return int(self.graph.terms.value(term))

    def _resize(self, op: str, old: int, new: int, flags: Set[str], x: Lane) -> Lane:
        if x >= 0:
            return _resized(op, old, new, flags, x)
        g = self.graph
        if flags and 1 in (old, new):
            raise Refused(f"LLVM IR: {op} {' '.join(sorted(flags))} of data from or to i1")
        if old == 1:
            kind = integer(new)
            return g.cast(BOOL, kind, x) if op == "zext" else g.choose(kind, x, (1 << new) - 1, 0)
        if new == 1:
            return self._low_bit(old, x)
        own = g.dtypes[~x]
        if op == "trunc":
            result = g.cast(own, integer(new, own.code), x)
            for flag, code in (("nsw", "int"), ("nuw", "uint")):
                if flag in flags:
                    result = self._unless_fits(x, integer(old, code), integer(new, code), result)
            return result
        nonnegative = self.ranges.of(x, integer(old))[0] >= 0
        if op == "sext" or nonnegative or "nneg" in flags:
            if nonnegative and own.code == "uint":
                result = g.cast(own, integer(new), x)
            else:
                result = g.cast(integer(old), integer(new), x)
            return result if op == "sext" or nonnegative else self._unless_positive(old, x, integer(new), result)
        return g.cast(integer(old, "uint"), integer(new), x)

    def _low_bit(self, old: int, x: Lane) -> Lane:
        g = self.graph
        made = g.operation(x)
        if made is not None and made[0][0] == "cast" and made[0][2].is_bool:
            return ~made[1][0]
        kind = g.dtypes[~x]
        return g.negate(g.binary("eq", kind, g.binary("bitand", kind, x, 1), 0))

    def _unless_fits(self, x: Lane, wide: DType, narrow: DType, result: Lane) -> Lane:
        g = self.graph
        low, high = self.ranges.of(x, wide)
        mask = (1 << wide.bits) - 1
        if low < narrow.min_value:
            result = g.poison_if(g.binary("lt", wide, x, narrow.min_value & mask), g.dtypes[~result], result)
        if high > narrow.max_value:
            result = g.poison_if(g.binary("lt", wide, narrow.max_value, x), g.dtypes[~result], result)
        return result

    def _unless_positive(self, bits: int, x: Lane, dtype: DType, result: Lane) -> Lane:
        negative = self.graph.binary("lt", integer(bits), x, 0)
        return self.graph.poison_if(negative, dtype, result)

    def _to_float(self, op: str, bits: int, target: DType, flags: Set[str], x: Lane) -> Lane:
        g = self.graph
        if bits == 1:
            if flags:
                raise Refused("LLVM IR: uitofp nneg of data of type i1")
            if op == "uitofp":
                return g.cast(BOOL, target, x)
            return g.choose(target, x, g.constant(target, bits_of(target, -1.0)), 0)
        kind = integer(bits, "int" if op == "sitofp" else "uint")
        nonnegative = self.ranges.of(x, integer(bits))[0] >= 0
        if op == "uitofp" and (nonnegative or "nneg" in flags) and (x >= 0 or g.dtypes[~x].code == "int"):
            kind = integer(bits)
        elif op == "sitofp" and nonnegative and x < 0 and g.dtypes[~x].code == "uint":
            kind = integer(bits, "uint")
        result = g.cast(kind, target, x)
        if "nneg" in flags and not nonnegative:
            result = self._unless_positive(bits, x, target, result)
        return result


def _resized(op: str, old: int, new: int, flags: Set[str], x: int) -> Lane:
    mask = (1 << new) - 1
    if op == "trunc":
        kept = x & mask
        if ("nuw" in flags and kept != x) or ("nsw" in flags and signed(new, kept) != signed(old, x)):
            return UNDEF
        return kept
    if "nneg" in flags and x >> (old - 1):
        return UNDEF
    return x if op == "zext" else signed(old, x) & mask
