"""SMT-LIB text of formulas.

A query's text is *canonical*: variables and functions are numbered by first occurrence, shared subterms are bound by
``let`` in a fixed order.  The text is at once what the solver reads, the key of the verdict cache and the certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.logic.formula import BOOL, FLOAT_SORTS, INT, Term, is_const, not_, subterms, value_of


def sort_text(sort: str) -> str:
    """SMT-LIB name of a sort."""
    if sort in FLOAT_SORTS:
        e, s = FLOAT_SORTS[sort]
        return f"(_ FloatingPoint {e} {s})"
    return sort


@final
@dataclass(frozen=True, slots=True)
class Script:
    """A query as text, and which of its names stands for which variable or function of ours."""

    text: str
    names: dict[str, tuple[str, str]]  # SMT-LIB name -> (our name, sort of the result)


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
            return f"((_ to_fp {e} {s}) ((_ int2bv {bits}) {a}))"
        return f"((_ to_fp {e} {s}) RNE {a if t.op == 'fp.from_fp' else f'(to_real {a})'})"
    if t.op == "fp.to_bits":
        return f"(bv2nat (fp.to_ieee_bv {a}))"
    return f"(to_int (fp.to_real (fp.roundToIntegral RTZ {a})))"


def _apply_text(t: Term, args: list[str], names: dict[tuple[str, str], str]) -> str:
    op = t.op
    if op == "const":
        return _const_text(t)
    if op in ("var", "app"):
        name = names[(str(t.payload), t.sort)]
        return name if op == "var" else f"({name} {' '.join(args)})"
    if op in _ROUNDED:
        return f"({op} RNE {' '.join(args)})"
    if op == "fp.roundToIntegral":
        return f"({op} {t.payload} {args[0]})"
    if op in ("fp.from_fp", "fp.from_int", "fp.from_bits", "fp.to_bits", "fp.to_int"):
        return _convert_text(t, args[0])
    if op in ("bvand", "bvor", "bvxor"):
        return f"(bv2nat ({op} ((_ int2bv {t.payload}) {args[0]}) ((_ int2bv {t.payload}) {args[1]})))"
    return f"({op} {' '.join(args)})"


def show(t: Term) -> str:
    """A term as text with our own names, for people."""
    memo: dict[Term, str] = {}

    def go(u: Term) -> str:
        if u not in memo:
            memo[u] = str(u.payload) if u.op == "var" else _show_one(u, [go(a) for a in u.args])
        return memo[u]

    return go(t)


def _show_one(u: Term, args: list[str]) -> str:
    if u.op == "app":
        return f"({u.payload} {' '.join(args)})"
    return _apply_text(u, args, {})


def query(given: tuple[Term, ...], goal: Term) -> Script:
    """The query whose unsatisfiability is the theorem ``given ⟹ goal``."""
    roots = (*given, not_(goal))
    names: dict[tuple[str, str], str] = {}
    declarations: list[str] = []
    uses: dict[Term, int] = {}
    for t in subterms(*roots):
        for a in t.args:
            uses[a] = uses.get(a, 0) + 1
        if t.op in ("var", "app"):
            key = (str(t.payload), t.sort)
            if key not in names:
                name = f"{'x' if t.op == 'var' else 'f'}{len(names)}"
                names[key] = name
                domain = " ".join(sort_text(a.sort) for a in t.args)
                declarations.append(f"(declare-fun {name} ({domain}) {sort_text(t.sort)})")
    lines = [*declarations, *[f"(assert {_with_lets(r, uses, names)})" for r in roots]]
    return Script("\n".join(lines), {short: key for key, short in names.items()})


def _with_lets(root: Term, uses: dict[Term, int], names: dict[tuple[str, str], str]) -> str:
    memo: dict[Term, str] = {}
    lets: list[str] = []
    stack: list[tuple[Term, bool]] = [(root, False)]
    while stack:
        t, ready = stack.pop()
        if t in memo:
            continue
        if not ready:
            stack.append((t, True))
            stack.extend((a, False) for a in reversed(t.args) if a not in memo)
            continue
        text = _apply_text(t, [memo[a] for a in t.args], names)
        if t.args and t is not root and uses.get(t, 0) > 1 and not is_const(t):
            name = f"l{len(lets)}"
            lets.append(f"(let (({name} {text})) ")
            text = name
        memo[t] = text
    return "".join(lets) + memo[root] + ")" * len(lets)
