"""SMT-LIB text of formulas.

A query's text is *canonical*: variables and functions are numbered by first occurrence, shared subterms are bound by
``let`` in a fixed order.  The text is at once what the solver reads, the key of the verdict cache and the certificate.

It is standard SMT-LIB (2.7, for ``int_to_bv`` and ``ubv_to_int``), so that solvers other than Z3 can check it.  The
standard has no function from a float to its bits: a constant ``b`` with ``((_ to_fp …) b) = x`` takes its place.  Every
float has such bits, so nothing follows from that assertion; only, two NaNs need not have the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, final

from verified_tir.logic.formula import BOOL, FLOAT_SORTS, INT, Payload, Term, make, not_, subterms, value_of


def sort_text(sort: str) -> str:
    """SMT-LIB name of a sort."""
    if sort in FLOAT_SORTS:
        e, s = FLOAT_SORTS[sort]
        return f"(_ FloatingPoint {e} {s})"
    return sort


@final
@dataclass(frozen=True, slots=True)
class Script:
    """A query as text, and which of its names stands for which variable or function of ours.

    ``has_float``: a float occurs in it; ``only_floats``: no integer does.  ``roots``: what is asserted, if it is known.
    """

    text: str
    names: dict[str, Term]  # by SMT-LIB names; of a function, one of its applications
    only_floats: bool = False
    has_float: bool = False
    roots: tuple[Term, ...] = ()


Symbol: TypeAlias = tuple[str, Payload, str, tuple[Term, ...] | tuple[str, ...]]
Names: TypeAlias = dict[Symbol, str]

_LETTERS = {"var": "x", "app": "f", "fp.to_bits": "b"}
_AS_THEY_ARE = frozenset({"and", "or", "not", "=>", "ite", "=", "+", "-", "*", "<=", "<", "div", "mod"})
_ROUNDED = frozenset({"fp.add", "fp.sub", "fp.mul", "fp.div", "fp.fma", "fp.sqrt"})


def _const_text(t: Term) -> str:
    v = value_of(t)
    if t.sort == BOOL:
        return "true" if v else "false"
    if t.sort == INT:
        return str(v) if v >= 0 else f"(- {-v})"
    e, s = FLOAT_SORTS[t.sort]
    exponent = (v >> (s - 1)) & ((1 << e) - 1)
    fraction = v & ((1 << (s - 1)) - 1)
    if exponent == (1 << e) - 1 and fraction:
        return f"(_ NaN {e} {s})"
    return f"(fp #b{v >> (e + s - 1)} #b{exponent:0{e}b} #b{fraction:0{s - 1}b})"


def _convert_text(t: Term, a: str) -> str:
    bits = t.payload
    if t.op in ("fp.from_fp", "fp.from_int", "fp.from_bits"):
        e, s = FLOAT_SORTS[t.sort]
        if t.op == "fp.from_bits":
            return f"((_ to_fp {e} {s}) ((_ int_to_bv {bits}) {a}))"
        return f"((_ to_fp {e} {s}) RNE {a if t.op == 'fp.from_fp' else f'(to_real {a})'})"
    return f"(to_int (fp.to_real (fp.roundToIntegral RTZ {a})))"


def _symbol(t: Term) -> Symbol:
    """What tells variables and functions apart: a name may be used at several types."""
    return t.op, t.payload, t.sort, tuple([a.sort for a in t.args]) if t.op == "app" else t.args


def apply_text(t: Term, args: list[str], names: Names) -> str:
    """A term as text, of the texts of its operands and the names of variables and functions."""
    op = t.op
    if op in _AS_THEY_ARE:  # most are
        return f"({op} {' '.join(args)})"
    if op == "const":
        return _const_text(t)
    if op in ("var", "app"):
        name = names[_symbol(t)]
        return name if op == "var" else f"({name} {' '.join(args)})"
    if op == "fp.to_bits":
        return f"(ubv_to_int {names[_symbol(t)]})"
    if op == "bits":
        e, s = FLOAT_SORTS[t.sort]
        return f"((_ to_fp {e} {s}) {t.payload})"
    if op in _ROUNDED:
        return f"({op} RNE {' '.join(args)})"
    if op == "fp.roundToIntegral":
        return f"({op} {t.payload} {args[0]})"
    if op in ("fp.from_fp", "fp.from_int", "fp.from_bits", "fp.to_int"):
        return _convert_text(t, args[0])
    if op in ("bvand", "bvor", "bvxor"):
        return f"(ubv_to_int ({op} ((_ int_to_bv {t.payload}) {args[0]}) ((_ int_to_bv {t.payload}) {args[1]})))"
    return f"({op} {' '.join(args)})"


KEPT = 4096
"""Texts that are kept: a third of all questions was asked a moment ago."""


@lru_cache(maxsize=KEPT)
def query(given: tuple[Term, ...], goal: Term) -> Script:
    """The query whose unsatisfiability is the theorem ``given ⟹ goal``."""
    roots = (*given, not_(goal))
    names: Names = {}
    ours: dict[str, Term] = {}
    declarations: list[str] = []
    converted: list[Term] = []
    uses: dict[Term, int] = {}
    only_floats = True
    for t in subterms(*roots):
        only_floats = only_floats and t.sort != INT
        for a in t.args:
            uses[a] = uses.get(a, 0) + 1
        if t.op in ("var", "app", "fp.to_bits") and (symbol := _symbol(t)) not in names:
            name = names[symbol] = f"{_LETTERS[t.op]}{len(names)}"
            if t.op == "fp.to_bits":
                converted.append(t)
                declarations.append(f"(declare-fun {name} () (_ BitVec {t.payload}))")
                continue
            ours[name] = t
            domain = " ".join(sort_text(a.sort) for a in t.args)
            declarations.append(f"(declare-fun {name} ({domain}) {sort_text(t.sort)})")
    defined = [make("=", (make("bits", (), t.args[0].sort, names[_symbol(t)]), t.args[0]), BOOL) for t in converted]
    lines = [*declarations, *[f"(assert {_with_lets(r, uses, names)})" for r in (*defined, *roots)]]
    has_float = any(r.has_float for r in roots)
    return Script("\n".join(lines), ours, only_floats and has_float, has_float, roots)


def _printed(t: Term) -> tuple[Term, ...]:
    return () if t.op == "fp.to_bits" else t.args


def _with_lets(root: Term, uses: dict[Term, int], names: Names) -> str:
    memo: dict[Term, str] = {}
    lets: list[str] = []
    stack = [root]
    while stack:
        t = stack[-1]
        below = _printed(t)
        if t in memo:
            stack.pop()
            continue
        waiting: list[Term] = []
        for a in below:
            if a in memo:
                continue
            if a.args:
                waiting.append(a)
            else:
                memo[a] = apply_text(a, [], names)
        if waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        text = apply_text(t, [memo[a] for a in below], names)
        if t.args and t is not root and uses.get(t, 0) > 1:
            name = f"l{len(lets)}"
            lets.append(f"(let (({name} {text})) ")
            text = name
        memo[t] = text
    return "".join(lets) + memo[root] + ")" * len(lets)
