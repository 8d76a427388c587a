"""Questions about terms in the theory of bit vectors and floats.

``solve.py`` asks about integers as numbers, which is what programs are about.  What an optimiser does to them is about
bits: shifts for products, masks for remainders, exclusive or for a comparison of signs.  Here integers are bit vectors
of their width, and every operator of the terms has its exact meaning, overflow conditions too.

There are two *views* of where a term is defined.  In the program's own, the bits of a NaN are undefined.  In LLVM's
they are some bits, the same ones wherever they are used.  A solver is asked whether, wherever the program's term is
defined, LLVM's is defined too and has the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal, TypeAlias, final

from verified_tir.ir.dtype import BOOL, FLOATS, DType
from verified_tir.ir.floats import exponent_bits, significand_bits
from verified_tir.logic.smtlib import Script
from verified_tir.validate.llvm.graph import OVERFLOWS
from verified_tir.validate.terms import MAY_UNDEF, UNDEF_ID, Terms

View: TypeAlias = Literal["program", "llvm"]

_SORTS: Final = {str(dtype): (exponent_bits(dtype), significand_bits(dtype)) for dtype in FLOATS}
_ROUNDED: Final = {op: f"fp.{op}" for op in ("add", "sub", "mul", "div", "fma", "sqrt")}
_WHOLE: Final = {"floor": "RTN", "ceil": "RTP", "trunc": "RTZ", "nearbyint": "RNE", "round": "RNE"}
_TESTS: Final = {"isnan": "(fp.isNaN {0})", "isinf": "(fp.isInfinite {0})"}
_VECTORS: Final = {
    "add": "bvadd", "sub": "bvsub", "mul": "bvmul", "bitand": "bvand", "bitor": "bvor", "bitxor": "bvxor",
    "shl": "bvshl",
}  # fmt: skip
_SIGNED: Final = {"shr": "bvashr", "lt": "bvslt", "le": "bvsle", "truncdiv": "bvsdiv", "truncmod": "bvsrem",
                  "floormod": "bvsmod"}  # fmt: skip
_UNSIGNED: Final = {"shr": "bvlshr", "lt": "bvult", "le": "bvule", "truncdiv": "bvudiv", "truncmod": "bvurem",
                    "floormod": "bvurem", "floordiv": "bvudiv"}  # fmt: skip


def sort_of(dtype: DType) -> str:
    """The SMT-LIB sort of a scalar type."""
    if dtype.is_bool:
        return "Bool"
    if dtype.is_int:
        return f"(_ BitVec {dtype.bits})"
    exponent, significand = _SORTS[str(dtype)]
    return f"(_ FloatingPoint {exponent} {significand})"


def number(bits: int, value: int) -> str:
    return f"(_ bv{value & ((1 << bits) - 1)} {bits})"


@final
class Question:
    """One script under construction.

    :param below: the terms that a term is computed from.
    :param cut: terms that nothing is known about, but where they may be undef.
    :param abstract: products, divisions and float arithmetic are functions that nothing is known about.
    :ivar hard: whether one of those is in the script as what it is.
    """

    def __init__(
        self, terms: Terms, below: Callable[[int], tuple[int, ...]], cut: Iterable[int] = (), *, abstract: bool = False
    ) -> None:
        self.terms, self.below, self.cut, self.abstract = terms, below, frozenset(cut), abstract
        self.lines: list[str] = []
        self.hard = False
        self._names: dict[object, str] = {}
        self._done: dict[tuple[int, View], tuple[str, str]] = {}

    def refines(self, program: int, llvm: int, given: Iterable[tuple[int, int]] = (), view: View = "program") -> Script:
        """Where ``program`` is defined, ``llvm`` is so too, with the same value.

        :param given: pairs of conditions that are not both true.
        :param view: of the first one; with ``"llvm"`` it is a term of LLVM's as well.
        """
        value, there = self.term(program, view)
        other, here = self.term(llvm, "llvm")
        assumed = self._given(given)
        goal = f"(=> {there} (and {here} (= {value} {other})))"
        return self._script([*assumed, f"(assert (not {goal}))"])

    def never(self, guard: int, condition: int, given: Iterable[tuple[int, int]] = ()) -> Script:
        """That two conditions of LLVM's are never both true."""
        one, _ = self.term(guard, "llvm")
        other, _ = self.term(condition, "llvm")
        return self._script([*self._given(given), f"(assert (and {one} {other}))"])

    def _given(self, pairs: Iterable[tuple[int, int]]) -> list[str]:
        return [f"(assert (not (and {self.term(g, 'program')[0]} {self.term(c, 'program')[0]})))" for g, c in pairs]

    def _script(self, asserts: list[str]) -> Script:
        return Script("\n".join([*self.lines, *asserts, ""]), {})

    # ------------------------------------------------------------------------------------------- translation

    def term(self, root: int, view: View) -> tuple[str, str]:
        """The value of a term, and where it is defined."""
        stack = [root]
        while stack:
            here = stack[-1]
            if (here, view) in self._done:
                stack.pop()
                continue
            missing = [k for k in self._operands(here) if (k, view) not in self._done]
            if missing:
                stack += missing
                continue
            stack.pop()
            self._done[here, view] = self._translate(here, view)
        return self._done[root, view]

    def _operands(self, term: int) -> tuple[int, ...]:
        return () if term in self.cut else self.below(term)

    def _named(self, key: object, sort: str) -> str:
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = f"v{len(self._names)}"
            self.lines.append(f"(declare-const {found} {sort})")
        return found

    def _defined(self, sort: str, text: str) -> str:
        name = f"v{len(self._names)}"
        self._names[("definition", len(self._names))] = name
        self.lines.append(f"(define-fun {name} () {sort} {text})")
        return name

    def _translate(self, term: int, view: View) -> tuple[str, str]:
        terms = self.terms
        op, dtype, result = terms.op_of(term), terms.dtype_of(term), terms.result_dtype(term)
        if term == UNDEF_ID:
            return self._named(("undef", term), "Bool"), "false"
        if op == "const":
            return self._constant(term, dtype), "true"
        children = self._operands(term)
        if term in self.cut or not children:
            return self._named(term, sort_of(result)), self._cut(term, view)
        parts = [self._done[k, view] for k in children]
        values = [v for v, _ in parts]
        if op == "ite":
            there = [d for _, d in parts]
            condition = values[0]
            chosen = [self._of_sort(v, k, result) for v, k in zip(values[1:], children[1:], strict=True)]
            value = self._defined(sort_of(result), f"(ite {condition} {chosen[0]} {chosen[1]})")
            if set(there) == {"true"}:
                return value, "true"
            return value, self._defined("Bool", f"(and {there[0]} (ite {condition} {there[1]} {there[2]}))")
        if op == "is_undef":
            return self._defined("Bool", f"(not {parts[0][1]})"), "true"
        defined = _all(d for _, d in parts)
        if any(k == UNDEF_ID for k in children):
            return self._named(("any", term), sort_of(result)), "false"
        text, also = self._apply(term, op, dtype, result, values, view)
        if also != "true":
            defined = self._defined("Bool", _all((defined, also)))
        return self._defined(sort_of(result), text), defined

    def _cut(self, term: int, view: View) -> str:
        """Where a term that nothing is known about is defined: for LLVM wherever for the program."""
        if not self.terms.flags[term] & MAY_UNDEF:
            return "true"
        program = self._named(("defined", term), "Bool")
        if view == "program":
            return program
        return self._defined("Bool", f"(or {program} {self._named(('more', term), 'Bool')})")

    def _of_sort(self, value: str, term: int, result: DType) -> str:
        return self._named(("undef", str(result)), sort_of(result)) if term == UNDEF_ID else value

    def _constant(self, term: int, dtype: DType) -> str:
        terms = self.terms
        if dtype.is_bool:
            return "true" if terms.value(term) else "false"
        if dtype.is_int:
            return number(dtype.bits, int(terms.value(term)))
        exponent, significand = _SORTS[str(dtype)]
        if terms.value(term) != terms.value(term):
            return f"(_ NaN {exponent} {significand})"
        bits = int(terms.columns[1, term]) & ((1 << dtype.bits) - 1)
        return f"((_ to_fp {exponent} {significand}) {number(dtype.bits, bits)})"

    def _apply(self, term: int, op: str, dtype: DType, result: DType, v: list[str], view: View) -> tuple[str, str]:
        """The value of an operator that is strict, and a condition under which it is defined besides."""
        terms = self.terms
        if op.startswith("overflow "):
            _, kind, name = op.split()
            return overflow(kind, DType.parse(name), v[0], v[1]), "true"
        if op == "not":
            return f"(not {v[0]})", "true"
        if _is_hard(op, dtype):
            if self.abstract:
                return self._abstract(term, op, dtype, result, v), "true"
            self.hard = True
        if op == "reinterpret":
            return self._reinterpreted(term, result, v[0], view)
        if op == "part":  # a cell of a scalar, and two cells as one (``widths``)
            whole, place, _ = terms.operands(term)
            bits, defined = self._bits_of(whole, v[0], view)
            low = result.bits * int(terms.value(place))
            return f"((_ extract {low + result.bits - 1} {low}) {bits})", defined
        if op == "join":
            return f"(concat {v[1]} {v[0]})", "true"
        if op == "bits":  # of a part, which is undefined where its number is a NaN
            return v[0], "true"
        if op.startswith("cast:"):
            return cast(DType.parse(op[5:]), result, v[0])
        if op in ("eq", "lt", "le"):
            return _compare(op, dtype, v), "true"
        if dtype.is_float:
            found = _float(op, result, v)
        elif dtype.is_bool:
            words = {"bitand": "and", "bitor": "or", "bitxor": "xor"}
            found = f"({words[op]} {v[0]} {v[1]})" if op in words else None
        else:
            found = _integer(op, dtype, v)
        return found or self._uninterpreted(term, op, dtype, result, v), "true"

    def _abstract(self, term: int, op: str, dtype: DType, result: DType, v: list[str]) -> str:
        if op in ("add", "mul", "fma"):
            v = [*sorted(v[:2]), *v[2:]]
        if op in ("floordiv", "floormod") and dtype.code == "int":  # by the quotient and the remainder of machines
            quotient = self._uninterpreted(term, "truncdiv", dtype, result, v)
            return _floor(dtype.bits, v[1], quotient, self._uninterpreted(term, "truncmod", dtype, result, v), op)
        return self._uninterpreted(term, op, dtype, result, v)

    def _uninterpreted(self, term: int, op: str, dtype: DType, result: DType, v: list[str]) -> str:
        sorts = [sort_of(self.terms.result_dtype(k)) for k in self._operands(term)]
        key = ("function", op, str(dtype))
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"f{len(self._names)}"
            self.lines.append(f"(declare-fun {name} ({' '.join(sorts)}) {sort_of(result)})")
        return f"({name} {' '.join(v)})"

    def _reinterpreted(self, term: int, result: DType, value: str, view: View) -> tuple[str, str]:
        whole = self.terms.below(term)[0]
        source = self.terms.result_dtype(whole)
        if source.is_int and result.is_float:
            return f"((_ to_fp {' '.join(map(str, _SORTS[str(result)]))}) {value})", "true"
        if result.is_int and not source.is_bool:
            return self._bits_of(whole, value, view)
        return self._named(term, sort_of(result)), "false"

    def _bits_of(self, whole: int, value: str, view: View) -> tuple[str, str]:
        """The bits of a number, and where they are defined: for the program, a NaN has none."""
        source = self.terms.result_dtype(whole)
        if not source.is_float:
            return value, "true"
        bits = self._named(("bits", whole), f"(_ BitVec {source.bits})")
        back = f"((_ to_fp {' '.join(map(str, _SORTS[str(source)]))}) {bits})"
        fact = f"(assert (= {back} {value}))"
        if fact not in self.lines:
            self.lines.append(fact)
        return bits, f"(not (fp.isNaN {value}))" if view == "program" else "true"


# -------------------------------------------------------------------------------------------------------- operators


def _all(conditions: Iterable[str]) -> str:
    found = dict.fromkeys(c for c in conditions if c != "true")
    return next(iter(found), "true") if len(found) < 2 else f"(and {' '.join(found)})"


def overflow(kind: str, dtype: DType, a: str, b: str) -> str:
    """The conditions of :data:`OVERFLOWS`."""
    assert kind in OVERFLOWS, kind
    w = dtype.bits
    extend = f"(_ {'sign' if dtype.code == 'int' else 'zero'}_extend {w})"
    zero = number(w, 0)
    match kind:
        case "disjoint":
            return f"(not (= (bvand {a} {b}) {zero}))"
        case "lost":
            return f"(not (= (bvshl (bvlshr {a} {b}) {b}) {a}))"
        case "inexact":
            rest = "bvsrem" if dtype.code == "int" else "bvurem"
            return f"(not (= ({rest} {a} {b}) {zero}))"
        case "shl":
            back = "bvashr" if dtype.code == "int" else "bvlshr"
            return f"(not (= ({back} (bvshl {a} {b}) {b}) {a}))"
    exact = f"(bv{kind} ({extend} {a}) ({extend} {b}))"
    return f"(not (= {exact} ({extend} ((_ extract {w - 1} 0) {exact}))))"


def cast(source: DType, target: DType, x: str) -> tuple[str, str]:
    """A conversion, and where it is defined."""
    if source.is_bool:
        if target.is_float:
            return f"(ite {x} {_float_number(target, 1)} {_float_number(target, 0)})", "true"
        return f"(ite {x} {number(target.bits, 1)} {number(target.bits, 0)})", "true"
    if target.is_bool:
        return (f"(not (fp.isZero {x}))" if source.is_float else f"(not (= {x} {number(source.bits, 0)}))"), "true"
    if source.is_int and target.is_int:
        return _resize(source, target, x), "true"
    if target.is_float:
        how = "to_fp_unsigned" if source.code == "uint" else "to_fp"
        return f"((_ {how} {' '.join(map(str, _SORTS[str(target)]))}) RNE {x})", "true"
    how = "fp.to_sbv" if target.code == "int" else "fp.to_ubv"
    below, above = _bound(source, target.min_value - 1, "RTN"), _bound(source, target.max_value + 1, "RTP")
    return f"((_ {how} {target.bits}) RTZ {x})", f"(and (fp.gt {x} {below}) (fp.lt {x} {above}))"


def _bound(dtype: DType, value: int, rounding: str) -> str:
    """An integer as a float, rounded away from the range that it bounds (there an infinity is right, too)."""
    sort = " ".join(map(str, _SORTS[str(dtype)]))
    wide = number(72, value)
    return f"((_ to_fp {sort}) {rounding} {wide})"


def _float_number(dtype: DType, value: int) -> str:
    return f"((_ to_fp {' '.join(map(str, _SORTS[str(dtype)]))}) RNE {number(8, value)})"


def _resize(source: DType, target: DType, x: str) -> str:
    if target.bits <= source.bits:
        return x if target.bits == source.bits else f"((_ extract {target.bits - 1} 0) {x})"
    how = "sign_extend" if source.code == "int" else "zero_extend"
    return f"((_ {how} {target.bits - source.bits}) {x})"


def _compare(op: str, dtype: DType, v: list[str]) -> str:
    if dtype.is_float:
        return f"({ {'eq': 'fp.eq', 'lt': 'fp.lt', 'le': 'fp.leq'}[op] } {v[0]} {v[1]})"
    if op == "eq":
        return f"(= {v[0]} {v[1]})"
    if dtype.is_bool:
        return f"(and (not {v[0]}) {v[1]})" if op == "lt" else f"(=> {v[0]} {v[1]})"
    return f"({(_SIGNED if dtype.code == 'int' else _UNSIGNED)[op]} {v[0]} {v[1]})"


def _float(op: str, result: DType, v: list[str]) -> str | None:
    if op in _ROUNDED:
        return f"({_ROUNDED[op]} RNE {' '.join(v)})"
    if op in _WHOLE:
        return f"(fp.roundToIntegral {_WHOLE[op]} {v[0]})"
    if op == "abs":
        return f"(fp.abs {v[0]})"
    if op == "isfinite":
        return f"(not (or (fp.isNaN {v[0]}) (fp.isInfinite {v[0]})))"
    return _TESTS[op].format(v[0]) if op in _TESTS and result is BOOL else None


def _integer(op: str, dtype: DType, v: list[str]) -> str | None:
    name, _, source = op.partition(":")
    if source:  # the result has another type than the operand
        counted = _integer(name, DType.parse(source), v)
        return None if counted is None else _resize(DType("uint", DType.parse(source).bits), dtype, counted)
    w, signed = dtype.bits, dtype.code == "int"
    table = _SIGNED if signed else _UNSIGNED
    if op in _VECTORS or op in table:
        return f"({_VECTORS.get(op) or table[op]} {v[0]} {v[1]})"
    less = table["lt"]
    made: dict[str, Callable[[], str]] = {
        "min": lambda: f"(ite ({less} {v[0]} {v[1]}) {v[0]} {v[1]})",
        "max": lambda: f"(ite ({less} {v[1]} {v[0]}) {v[0]} {v[1]})",
        "abs": lambda: f"(ite (bvslt {v[0]} {number(w, 0)}) (bvneg {v[0]}) {v[0]})" if signed else v[0],
        "bitwise_not": lambda: f"(bvnot {v[0]})",
        "popcount": lambda: _popcount(w, v[0]),
        "clz": lambda: _leading(w, v[0]),
        "floordiv": lambda: _floor(w, v[1], f"(bvsdiv {v[0]} {v[1]})", f"(bvsrem {v[0]} {v[1]})", op),
    }
    return made[op]() if op in made else None


def _floor(w: int, divisor: str, quotient: str, rest: str, op: str) -> str:
    """Division that rounds down, or its remainder, from the one that rounds towards zero."""
    zero = number(w, 0)
    wrong = f"(and (not (= {rest} {zero})) (bvslt (bvxor {rest} {divisor}) {zero}))"
    if op == "floordiv":
        return f"(ite {wrong} (bvsub {quotient} {number(w, 1)}) {quotient})"
    return f"(ite {wrong} (bvadd {rest} {divisor}) {rest})"


def _is_hard(op: str, dtype: DType) -> bool:
    """Whether an operator takes a solver long."""
    if dtype.is_float:
        return op in _ROUNDED
    return op in ("mul", "floordiv", "floormod", "truncdiv", "truncmod")


def _popcount(w: int, x: str) -> str:
    total = number(w, 0)
    for k in range(w):
        total = f"(bvadd {total} ((_ zero_extend {w - 1}) ((_ extract {k} {k}) {x})))"
    return total


def _leading(w: int, x: str) -> str:
    found = number(w, w)
    for k in range(w):
        found = f"(ite (= ((_ extract {k} {k}) {x}) #b1) {number(w, w - 1 - k)} {found})"
    return found
