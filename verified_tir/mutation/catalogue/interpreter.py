"""The reference interpreter: what every counterexample and every comparison with machine code rests on."""

from __future__ import annotations

from typing import Final

from verified_tir.mutation.fault import Fault

_SEMANTICS = "verified_tir/semantics/"
_INTERPRETER = "verified_tir/semantics/interpreter/"

FAULTS: Final[tuple[Fault, ...]] = (
    # ------------------------------------------------------------------------------------------------ integers
    Fault(
        "interpreted-data-does-not-wrap",
        _SEMANTICS + "operators.py",
        "fitted",
        "return wrap(dtype, exact)",
        "return exact",
        "int32 data grows beyond 32 bits, until it is stored.",
    ),
    Fault(
        "interpreted-truncation-floors",
        _SEMANTICS + "operators.py",
        "_truncated_quotient",
        "else -(abs(a) // abs(b))",
        "else a // b",
        "truncdiv(-7, 2) is -4, in agreement with floordiv.",
    ),
    Fault(
        "interpreted-shift-by-the-width",
        _SEMANTICS + "operators.py",
        "_shift",
        "if not 0 <= b < dtype.bits:",
        "if not 0 <= b <= dtype.bits:",
        "x << 32 of an int32 is 0 instead of undefined behaviour.",
    ),
    Fault(
        "interpreted-least-integer-by-minus-one",
        _SEMANTICS + "operators.py",
        "_division",
        "if b == -1 and a == least:",
        "if b == -1 and a == least and least is None:",
        "INT_MIN // -1 is 2**31, which no int32 holds.",
    ),
    Fault(
        "interpreted-undef-by-minus-one",
        _SEMANTICS + "operators.py",
        "_undefined",
        'if b == -1 and dtype.code == "int":',
        'if b == -1 and dtype.code == "uint":',
        "undef // -1 is undef, though it may be INT_MIN // -1: statements are no longer monotone.",
    ),
    # -------------------------------------------------------------------------------------------------- floats
    Fault(
        "interpreted-minimum-of-zeros",
        _SEMANTICS + "operators.py",
        "_minimum",
        "return a if a < b else b",
        "return b if b < a else a",
        "min(0.0, -0.0) is 0.0 and min(NaN, 1.0) is NaN.",
    ),
    Fault(
        "interpreted-conversion-floors",
        _SEMANTICS + "operators.py",
        "_to_integer",
        "whole = int(a)",
        "whole = math.floor(a)",
        "int32 of -0.5 is -1.",
    ),
    Fault(
        "interpreted-fma-rounds-twice",
        _SEMANTICS + "rounding.py",
        "fma_operation",
        "if error != 0.0 and error - error == 0.0:",
        "if error != error:",
        "float32 fma rounds to float64 first: wrong by one unit in the last place where that makes a tie.",
    ),
    Fault(
        "interpreted-rounding-of-ties-up",
        "verified_tir/ir/float_bits.py",
        "round_exact",
        "multiple = round(value / Fraction(2) ** unit)",
        "multiple = math.floor(value / Fraction(2) ** unit + Fraction(1, 2))",
        "A tie goes up instead of to the even neighbour.",
    ),
    Fault(
        "interpreted-integers-round-through-float64",
        _SEMANTICS + "rounding.py",
        "round_integer",
        "if -(1 << 53) <= value <= 1 << 53:",
        "if dtype.bits <= 64:",
        "An int64 becomes a float32 by way of float64, that is twice rounded.",
    ),
    Fault(
        "small-floats-round-through-float32",
        "verified_tir/ir/floats.py",
        "round_to",
        "    precision, largest = significand_bits(dtype), 1 << (exponent_bits(dtype) - 1)\n",
        "    value = float(np.float32(value))\n"
        "    precision, largest = significand_bits(dtype), 1 << (exponent_bits(dtype) - 1)\n",
        "A float64 becomes a bfloat16 by way of float32, as ml_dtypes does.",
    ),
    Fault(
        "interpreted-rounding-of-halves-up",
        _SEMANTICS + "calls.py",
        "",
        '"round": _whole(round)',
        '"round": _whole(lambda a: math.floor(a + 0.5))',
        "round(2.5) is 3.0.",
    ),
    # -------------------------------------------------------------------------------------------------- memory
    Fault(
        "a-byte-of-two-is-true",
        _SEMANTICS + "memory.py",
        "reader",
        "return bool(value) if value <= 1 else UNDEF",
        "return bool(value)",
        "Any byte that is not 0 reads as true.",
    ),
    Fault(
        "storing-undef-leaves-what-was",
        _SEMANTICS + "memory.py",
        "writer",
        "block.state[at : at + size] = undefined\n            return",
        "return",
        "An element into which undef was stored still holds its value: erasing the store seems to change nothing, "
        "inserting one too.",
    ),
    Fault(
        "a-nan-is-read-at-every-type",
        _SEMANTICS + "memory.py",
        "writer",
        "block.state[at : at + size], value = nan, math.nan",
        "value = math.nan",
        "A NaN has the bits of the canonical one, where the logic says undef.",
    ),
    Fault(
        "elements-past-the-block-exist",
        _SEMANTICS + "memory.py",
        "View.locate",
        "if start < 0 or start + self.nbytes > len(block.data):",
        "if start < 0 or start > len(block.data):",
        "The first element behind a block can be written: the bytearray grows.",
    ),
    Fault(
        "padding-may-be-touched-at-its-first-byte",
        _SEMANTICS + "memory.py",
        "View.locate",
        "any(block.inaccessible[start : start + self.nbytes])",
        "any(block.inaccessible[start + 1 : start + self.nbytes])",
        "One-byte elements that are declared inaccessible can be accessed.",
    ),
    # ------------------------------------------------------------------------------------- evaluation, control
    Fault(
        "and-evaluates-both-operands",
        _INTERPRETER + "expressions.py",
        "lazy",
        "return decides if a == decides else right(frame)",
        "b = right(frame)\n        return decides if a == decides else b",
        "`i < n and A[i] > 0` is out of bounds.",
    ),
    Fault(
        "if-then-else-evaluates-both-arms",
        _INTERPRETER + "expressions.py",
        "_if_then_else",
        "return lambda frame: a(frame) if condition(frame) else b(frame)",
        "return lambda frame: (b(frame), a(frame))[bool(condition(frame))]",
        "The arm that is not taken is evaluated: loads out of bounds, divisions by zero.",
    ),
    Fault(
        "a-select-of-undef-takes-an-arm",
        _INTERPRETER + "expressions.py",
        "_choose",
        "if condition is UNDEF:\n        return UNDEF\n    return a if condition else b",
        "return a if condition is UNDEF or condition else b",
        "select(undef, a, b) is a: less defined than any choice, and called a value.",
    ),
    Fault(
        "lanes-of-a-ramp-wrap-one-by-one",
        _INTERPRETER + "expressions.py",
        "_ramp",
        'fitted("ramp", dtype, start + k * step, index) for k in range(expr.lanes)',
        'fitted("ramp", dtype, start + k * step, False) for k in range(expr.lanes)',
        "A vector index that overflows its type wraps, instead of being undefined behaviour.",
    ),
    Fault(
        "masked-lanes-are-loaded",
        _INTERPRETER + "expressions.py",
        "_masked_load",
        "found.extend(lanes_of(view.load(row)) if here else nothing)",
        "found.extend(lanes_of(view.load(row)))",
        "A lane that is masked out is accessed, perhaps out of bounds.",
    ),
    Fault(
        "a-block-starts-with-any-reduction",
        _INTERPRETER + "statements.py",
        "_Statements._block",
        "if all(at_start[k] for k in reductions):",
        "if not reductions or any(at_start[k] for k in reductions):",
        "With two reduction axes the initialisation runs again whenever one of them starts.",
    ),
    Fault(
        "a-loop-may-end-where-its-type-does-not",
        _INTERPRETER + "statements.py",
        "_Statements._for",
        "if start < stop and not fits(var.dtype, stop - 1):",
        "if start < stop and not fits(var.dtype, start):",
        "An int8 loop over 200 iterations runs.",
    ),
    Fault(
        "negative-extents-are-empty",
        _INTERPRETER + "statements.py",
        "_Statements._allocation",
        "if any(extent < 0 for extent in extents.shape):",
        "if any(extent < -(1 << 31) for extent in extents.shape):",
        "An allocation of extent -1 is one of nothing.",
    ),
    # ------------------------------------------------------------------------------------------- what is found
    Fault(
        "a-write-after-a-read-is-no-race",
        _INTERPRETER + "licences.py",
        "_Touched.conflict",
        "earlier = (self.writer, self.reader) if write else (self.writer,)",
        "earlier = (self.writer,)",
        "`A[i] = A[i + 1]` in parallel is not confirmed as a race.",
    ),
    Fault(
        "zeros-of-both-signs-are-the-same",
        _INTERPRETER + "outcome.py",
        "same_bits",
        "return same | both_nan",
        "return same | both_nan | (a == b)",
        "A step that turns 0.0 into -0.0 seems to change nothing.",
    ),
    Fault(
        "what-becomes-undefined-is-no-difference",
        _INTERPRETER + "outcome.py",
        "refines",
        "wrong = before.defined[name] & ~(defined & same_bits(old, new))",
        "wrong = before.defined[name] & defined & ~same_bits(old, new)",
        "A result that is lost is none: dropping every store refines every program.",
    ),
)
