"""SMT-LIB text of formulas.

A query's text is *canonical*: variables and functions are numbered by first occurrence, shared subterms are bound by
``let`` in a fixed order.  The text is at once what the solver reads, the key of the verdict cache and the certificate.

It is standard SMT-LIB (2.7, for ``int_to_bv`` and ``ubv_to_int``), so that solvers other than Z3 can check it.  The
standard has no function from a float to its bits: a constant ``b`` with ``((_ to_fp …) b) = x`` takes its place.  Every
float has such bits, so nothing follows from that assertion; only, two NaNs need not have the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias, final

from verified_tir.logic.formula import BOOL, FLOAT_SORTS, INT, Term, not_, not_a_number, rebuild, subterms, value_of


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

    ``roots``: what is asserted, if it is known.
    """

    text: str
    names: dict[str, Term]  # by SMT-LIB names; of a function, one of its applications
    roots: tuple[Term, ...] = ()


Symbol: TypeAlias = tuple[object, ...]
Names: TypeAlias = dict[Symbol, str]

_LETTERS: Final = {"var": "x", "app": "f", "fp.to_bits": "b"}
_FORMS: Final = {
    "fp.add": "(fp.add RNE {0} {1})",
    "fp.sub": "(fp.sub RNE {0} {1})",
    "fp.mul": "(fp.mul RNE {0} {1})",
    "fp.div": "(fp.div RNE {0} {1})",
    "fp.fma": "(fp.fma RNE {0} {1} {2})",
    "fp.sqrt": "(fp.sqrt RNE {0})",
    "fp.roundToIntegral": "(fp.roundToIntegral {payload} {0})",
    "fp.from_fp": "((_ to_fp {e} {s}) RNE {0})",
    "fp.from_int": "((_ to_fp {e} {s}) RNE (to_real {0}))",
    "fp.from_bits": "((_ to_fp {e} {s}) ((_ int_to_bv {payload}) {0}))",
    "fp.to_int": "(to_int (fp.to_real (fp.roundToIntegral RTZ {0})))",
    "bvand": "(ubv_to_int (bvand ((_ int_to_bv {payload}) {0}) ((_ int_to_bv {payload}) {1})))",
    "bvor": "(ubv_to_int (bvor ((_ int_to_bv {payload}) {0}) ((_ int_to_bv {payload}) {1})))",
    "bvxor": "(ubv_to_int (bvxor ((_ int_to_bv {payload}) {0}) ((_ int_to_bv {payload}) {1})))",
}
"""How operations are written that are not called in SMT-LIB as they are here, or take more than their operands there;
``e`` and ``s`` are the sizes of the result's exponent and significand."""


def _const_text(t: Term) -> str:
    v = value_of(t)
    if t.sort == BOOL:
        return "true" if v else "false"
    if t.sort == INT:
        return str(v) if v >= 0 else f"(- {-v})"
    e, s = FLOAT_SORTS[t.sort]
    if t is not_a_number(t.sort):
        return f"(_ NaN {e} {s})"
    bits = f"{v:0{e + s}b}"
    return f"(fp #b{bits[0]} #b{bits[1 : e + 1]} #b{bits[e + 1 :]})"


def _symbol(t: Term) -> Symbol:
    """What tells variables and functions apart: a name may be used at several types."""
    return t.op, t.payload, t.sort, tuple([a.sort for a in t.args]) if t.op == "app" else t.args


def apply_text(t: Term, args: Sequence[str], names: Names) -> str:
    """A term as text, of the texts of its operands and the names of variables and functions."""
    if t.op == "const":
        return _const_text(t)
    op = names[_symbol(t)] if t.op in _LETTERS else t.op
    if t.op == "var":
        return op
    if t.op == "fp.to_bits":
        return f"(ubv_to_int {op})"
    if op not in _FORMS:
        return f"({op} {' '.join(args)})"
    e, s = FLOAT_SORTS.get(t.sort, (0, 0))
    return _FORMS[op].format(*args, e=e, s=s, payload=t.payload)


KEPT = 4096
"""Texts that are kept: a third of all questions was asked a moment ago."""


@lru_cache(maxsize=KEPT)
def query(given: tuple[Term, ...], goal: Term) -> Script:
    """The query whose unsatisfiability is the theorem ``given ⟹ goal``."""
    if any(type(t) is not Term for t in (*given, goal)):
        raise TypeError("a query is about terms")
    roots = (*given, not_(goal))
    names: Names = {}
    ours: dict[str, Term] = {}
    declarations: list[str] = []
    converted: list[Term] = []
    uses: dict[Term, int] = {}
    texts: dict[Term, str] = {}
    for t in subterms(*roots):
        for a in t.args:
            uses[a] = uses.get(a, 0) + 1
        if t.op in _LETTERS and (symbol := _symbol(t)) not in names:
            name = names[symbol] = f"{_LETTERS[t.op]}{len(names)}"
            sort = sort_text(t.sort)
            if t.op == "fp.to_bits":
                sort = f"(_ BitVec {t.payload})"
                converted.append(t)
            else:
                ours[name] = t
            domain = " ".join([sort_text(a.sort) for a in t.args if t.op == "app"])
            declarations.append(f"(declare-fun {name} ({domain}) {sort})")
        if not t.args or t.op == "fp.to_bits":
            texts[t] = apply_text(t, (), names)
    for t in converted:
        e, s = FLOAT_SORTS[t.args[0].sort]
        value = _with_lets(t.args[0], uses, texts, names)
        declarations.append(f"(assert (= ((_ to_fp {e} {s}) {names[_symbol(t)]}) {value}))")
    lines = [*declarations, *[f"(assert {_with_lets(r, uses, texts, names)})" for r in roots]]
    return Script("\n".join(lines), ours, roots)


def _with_lets(root: Term, uses: dict[Term, int], texts: dict[Term, str], names: Names) -> str:
    """A formula as text: what is used more than once is written once, and named.

    :param texts: of terms of which nothing is named.
    """
    lets: list[str] = []

    def build(t: Term, args: tuple[str, ...]) -> str:
        text = apply_text(t, args, names)
        if t is root or uses[t] == 1:
            return text
        lets.append(f"(let ((l{len(lets)} {text})) ")
        return f"l{len(lets) - 1}"

    text: str = rebuild(root, build, dict(texts))
    return "".join(lets) + text + ")" * len(lets)
