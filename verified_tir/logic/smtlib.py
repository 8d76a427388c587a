"""SMT-LIB text of formulas.

A query's text is *canonical*: variables and functions are numbered by first occurrence, shared subterms are bound by
``let`` in a fixed order.  The text is at once what the solver reads, the key of the verdict cache and the certificate.

It is standard SMT-LIB (2.7, for ``int_to_bv`` and ``ubv_to_int``), so that solvers other than Z3 can check it.  The
standard has no function from a float to its bits: a constant ``b`` with ``((_ to_fp …) b) = x`` takes its place.  Every
float has such bits, so nothing follows from that assertion; only, two NaNs need not have the same ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

from verified_tir.logic import formula as f
from verified_tir.logic.formula import FLOAT_SORTS, Term, rebuild, subterms

SORTS: Final = {f.BOOL: f.BOOL, f.INT: f.INT} | {
    sort: f"(_ FloatingPoint {e} {s})" for sort, (e, s) in FLOAT_SORTS.items()
}
"""How sorts are written."""

Names: TypeAlias = dict[tuple[Any, ...], str]
"""By what tells variables and functions apart: the kind, the name, the sort, and what it is of."""


@final
@dataclass(frozen=True, slots=True)
class Script:
    """A query as text, with the names in it; ``roots`` is what is asserted, if it is known."""

    text: str
    names: Names
    roots: tuple[Term, ...] = ()


_LETTERS: Final = {"var": "x", "app": "f", "fp.to_bits": "b"}
_FORMS: Final = {
    "var": "{op}",
    **dict.fromkeys(("fp.add", "fp.sub", "fp.mul", "fp.div", "fp.fma", "fp.sqrt"), "({op} RNE {args})"),
    "fp.from_fp": "((_ to_fp {e} {s}) RNE {args})",
    "fp.from_int": "((_ to_fp {e} {s}) RNE (to_real {args}))",
    "fp.from_bits": "((_ to_fp {e} {s}) ((_ int_to_bv {bits}) {args}))",
    "fp.to_bits": "(ubv_to_int {op})",
    "fp.to_int": "(to_int (fp.to_real (fp.roundToIntegral RTZ {args})))",
    **dict.fromkeys(f.BITWISE, "(ubv_to_int ({op} ((_ int_to_bv {bits}) {0}) ((_ int_to_bv {bits}) {1})))"),
}
"""How operations are written that are not called in SMT-LIB as they are here, or take more than their operands there;
``e`` and ``s`` are the sizes of the result's exponent and significand, ``bits`` that of all of it."""


def _const_text(t: Term) -> str:
    v = f.value_of(t)
    if t.sort == f.BOOL:
        return "true" if v else "false"
    if t.sort == f.INT:
        return str(v) if v >= 0 else f"(- {-v})"
    e, s = FLOAT_SORTS[t.sort]
    if t is f.not_a_number(t.sort):
        return f"(_ NaN {e} {s})"
    bits = f"{v:0{e + s}b}"
    return f"(fp #b{bits[0]} #b{bits[1 : e + 1]} #b{bits[e + 1 :]})"


def _symbol(t: Term) -> tuple[Any, ...]:
    return t.op, t.payload, t.sort, tuple([a.sort for a in t.args]) if t.op == "app" else t.args


def apply_text(t: Term, args: Sequence[str], names: Names) -> str:
    """A term as text, of the texts of its operands and the names of variables and functions."""
    if t.op == "const":
        return _const_text(t)
    op = names[_symbol(t)] if t.op in _LETTERS else t.op
    if t.op not in _FORMS:
        return f"({op} {' '.join(args)})"
    e, s = FLOAT_SORTS.get(t.sort, (0, 0))
    return _FORMS[t.op].format(*args, op=op, args=" ".join(args), e=e, s=s, bits=t.payload or e + s)


def query(given: tuple[Term, ...], goal: Term) -> Script:
    """The query whose unsatisfiability is the theorem ``given ⟹ goal``."""
    roots = (*given, f.not_(goal))
    names: Names = {}
    declarations: list[str] = []
    texts: dict[Term, str] = {}
    terms = [*subterms(*roots)]
    uses = Counter([a for t in terms for a in t.args])
    for t in terms:
        if t.op in _LETTERS and (symbol := _symbol(t)) not in names:
            name = names[symbol] = f"{_LETTERS[t.op]}{len(names)}"
            sort = f"(_ BitVec {sum(FLOAT_SORTS[t.args[0].sort])})" if t.op == "fp.to_bits" else SORTS[t.sort]
            domain = " ".join([SORTS[a.sort] for a in t.args if t.op == "app"])
            declarations.append(f"(declare-fun {name} ({domain}) {sort})")
        if not t.args or t.op == "fp.to_bits":
            texts[t] = apply_text(t, (), names)
    for t in [t for t in texts if t.op == "fp.to_bits"]:
        e, s = FLOAT_SORTS[t.args[0].sort]
        value = _with_lets(t.args[0], uses, texts, names)
        declarations.append(f"(assert (= ((_ to_fp {e} {s}) {names[_symbol(t)]}) {value}))")
    lines = [*declarations, *[f"(assert {_with_lets(r, uses, texts, names)})" for r in roots]]
    return Script("\n".join(lines), names, roots)


def _with_lets(root: Term, uses: Counter[Term], texts: dict[Term, str], names: Names) -> str:
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
