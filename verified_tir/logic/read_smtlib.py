"""Canonical text back to formulas.

Reads what ``verified_tir.logic.smtlib`` writes, and nothing else: a text counts as read only if writing the formulas
gives the same text again, letter for letter.  So whatever is proved of the formulas is proved of the text.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from verified_tir.logic.formula import (
    BOOL,
    FALSE,
    FLOAT_SORTS,
    INT,
    TRUE,
    Term,
    app,
    floating,
    integer,
    make,
    not_,
    not_a_number,
    var,
)
from verified_tir.logic.smtlib import query

Expression: TypeAlias = "str | list[Any]"

_TOKEN: Final = re.compile(r"[()]|[^\s()]+")
_NUMBER: Final = re.compile(r"\d+")
_FLOATS: Final = {sizes: sort for sort, sizes in FLOAT_SORTS.items()}
_TO_BOOL: Final = {
    "not": 1, "=>": 2, "=": 2, "<=": 2, "<": 2, "fp.eq": 2, "fp.lt": 2, "fp.leq": 2, "fp.isNaN": 1, "fp.isInfinite": 1,
    "fp.isNegative": 1, "fp.isZero": 1,
}  # fmt: skip
_TO_INT: Final = {"+": 2, "-": 2, "*": 2, "div": 2, "mod": 2}
"""Operations with the number of their operands."""
_ROUNDED: Final = {"fp.add": 2, "fp.sub": 2, "fp.mul": 2, "fp.div": 2, "fp.fma": 3, "fp.sqrt": 1}
_BITWISE: Final = frozenset({"bvand", "bvor", "bvxor"})


class NotCanonical(ValueError):
    """A text that :func:`read` does not understand."""


def read(text: str) -> tuple[tuple[Term, ...], Term]:
    """The givens and the goal of a query's text (declarations and assertions, the last of which denies the goal).

    :raises NotCanonical: if it is not what ``query`` writes of them.
    """
    try:
        given, goal = _Reader(text).query()
    except (IndexError, KeyError, TypeError, ValueError, AssertionError, RecursionError) as problem:
        raise NotCanonical(f"{type(problem).__name__}: {problem}") from problem
    if query(given, goal).text != text:
        raise NotCanonical("written again, it is another text")
    return given, goal


def _parse(text: str) -> list[Any]:
    """The expressions of a text as nested lists of symbols."""
    stack: list[list[Any]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    if len(stack) != 1:
        raise NotCanonical("brackets do not match")
    return stack[0]


def _float_sort(exponent: str, significand: str) -> str:
    return _FLOATS[int(exponent), int(significand)]


class _Reader:
    def __init__(self, text: str) -> None:
        self._sorts: dict[str, tuple[str, bool]] = {}
        """Sort of a variable, or of a function's results, and whether it is a function."""
        self._bits: set[str] = set()
        """The constants that stand for the bits of a float."""
        self._floats: dict[str, Expression] = {}
        """The float whose bits a constant stands for."""
        self._assertions: list[Expression] = []
        for command in _parse(text):
            match command:
                case ["declare-fun", name, [], ["_", "BitVec", _]]:
                    self._bits.add(name)
                case ["declare-fun", name, domain, result]:
                    self._sorts[name] = self._sort(result), bool(domain)
                case ["assert", ["=", [["_", "to_fp", _, _], str(name)], value]] if name in self._bits:
                    self._floats[name] = value
                case ["assert", expression]:
                    self._assertions.append(expression)
                case _:
                    raise NotCanonical(f"this is neither a declaration nor an assertion: {command}")

    def query(self) -> tuple[tuple[Term, ...], Term]:
        terms = [self._term(a, {}) for a in self._assertions]
        return tuple(terms[:-1]), not_(terms[-1])

    @staticmethod
    def _sort(expression: Expression) -> str:
        match expression:
            case "Int":
                return INT
            case "Bool":
                return BOOL
            case ["_", "FloatingPoint", e, s]:
                return _float_sort(e, s)
        raise NotCanonical(f"{expression} is not a sort")

    def _term(self, e: Expression, names: dict[str, Term]) -> Term:
        while isinstance(e, list) and e and e[0] == "let":
            _, [[name, value]], inner = e
            names = {**names, name: self._term(value, names)}
            e = inner
        return self._atom(e, names) if isinstance(e, str) else self._compound(e, names)

    def _atom(self, name: str, names: dict[str, Term]) -> Term:
        if name in names:
            return names[name]
        if name in ("true", "false"):
            return TRUE if name == "true" else FALSE
        if _NUMBER.fullmatch(name):
            return integer(int(name))
        sort, function = self._sorts[name]
        if function:
            raise NotCanonical(f"{name} lacks its arguments")
        return var(name, sort)

    def _compound(self, e: list[Any], names: dict[str, Term]) -> Term:
        def term(x: Expression) -> Term:
            return self._term(x, names)

        match e:
            case ["-", str(digits)] if _NUMBER.fullmatch(digits):
                return integer(-int(digits))
            case ["_", "NaN", x, s]:
                return not_a_number(_float_sort(x, s))
            case ["fp", sign, exponent, fraction]:
                bits = sign[2:] + exponent[2:] + fraction[2:]
                return floating(_FLOATS[len(exponent) - 2, len(fraction) - 1], int(bits, 2))
            case [["_", "to_fp", x, s], "RNE", ["to_real", a]]:
                return make("fp.from_int", (term(a),), _float_sort(x, s))
            case [["_", "to_fp", x, s], "RNE", a]:
                return make("fp.from_fp", (term(a),), _float_sort(x, s))
            case [["_", "to_fp", x, s], [["_", "int_to_bv", _], a]]:
                return make("fp.from_bits", (term(a),), _float_sort(x, s))
            case ["to_int", ["fp.to_real", ["fp.roundToIntegral", "RTZ", a]]]:
                return make("fp.to_int", (term(a),), INT)
            case ["fp.roundToIntegral", mode, a]:
                rounded = term(a)
                return make(f"fp.roundToIntegral {mode}", (rounded,), rounded.sort)
            case ["ubv_to_int", str(name)]:
                return make("fp.to_bits", (self._term(self._floats[name], {}),), INT)
            case ["ubv_to_int", [str(op), [["_", "int_to_bv", width], a], [["_", "int_to_bv", _], b]]] if (
                op in _BITWISE
            ):
                return make(op, (term(a), term(b)), INT, int(width))
            case [str(op), "RNE", *rest] if _ROUNDED.get(op) == len(rest):
                operands = tuple(term(a) for a in rest)
                return make(op, operands, operands[0].sort)
            case [str(op), *rest]:
                return self._applied(op, tuple(term(a) for a in rest))
        raise NotCanonical(f"{e} is not a term")

    def _applied(self, op: str, args: tuple[Term, ...]) -> Term:
        if op in self._sorts:
            return app(op, args, self._sorts[op][0])
        if op in ("and", "or") and len(args) > 1:
            return make(op, args, BOOL)
        if _TO_BOOL.get(op) == len(args):
            return make(op, args, BOOL)
        if _TO_INT.get(op) == len(args):
            return make(op, args, INT)
        if op == "ite" and len(args) == 3:
            return make(op, args, args[1].sort)
        if op == "fp.abs" and len(args) == 1:
            return make(op, args, args[0].sort)
        raise NotCanonical(f"there is no operation {op} of {len(args)} operands")
