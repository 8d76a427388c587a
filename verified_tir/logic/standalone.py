"""Queries as files of their own: the smallest logic that SMT-LIB has a name for, declarations, assertions, one check.

The canonical text of a query (``verified_tir.logic.smtlib``) says no logic, and Z3 needs none.  Other solvers choose
their procedures by it: cvc5 proves a three-level split by arithmetic in ``QF_LIA`` at once, and not in ``ALL``.

A file has one command on each line and holds nothing else; :func:`body_of` refuses all others, so that a file cannot
ask something before, behind or instead of its query.
"""

from __future__ import annotations

import re
from typing import Final

from verified_tir.logic.formula import INT, Term, not_, subterms
from verified_tir.logic.names import has_floats
from verified_tir.logic.smtlib import query

_BITS: Final = frozenset({"bvand", "bvor", "bvxor", "fp.to_bits", "fp.from_bits"})
_HEADER: Final = re.compile(r"\(set-logic ([A-Z_]+)\)")
_CHECK: Final = "(check-sat)"


class NotAQuery(ValueError):
    """A text that is not such a file; the message says where."""


def standalone(given: tuple[Term, ...], goal: Term) -> str:
    """The file whose unsatisfiability is the theorem ``given ⟹ goal``; it ends in a line feed."""
    logic = logic_of((*given, not_(goal)))
    body = query(given, goal).text
    return "\n".join([f"(set-logic {logic})", *([body] if body else []), _CHECK, ""])


def logic_of(roots: tuple[Term, ...]) -> str:
    """The name of the smallest logic that holds the terms; ``ALL`` where floats or bit vectors meet other sorts."""
    integers = floats = functions = products = False
    for t in subterms(*roots):
        if t.op in _BITS:
            return "ALL"
        integers = integers or t.sort == INT
        floats = floats or has_floats(t)
        functions = functions or t.op == "app"
        match t.op:
            case "*":
                products = products or all(a.op != "const" for a in t.args)
            case "div" | "mod":
                products = products or t.args[1].op != "const"
    if integers and floats:
        return "ALL"
    prefix = "QF_UF" if functions else "QF_"
    if floats:
        return f"{prefix}FP"
    return f"{prefix}{'N' if products else 'L'}IA"


def body_of(text: str) -> tuple[str, str]:
    """The logic and the declarations and assertions of a file.

    :raises NotAQuery: if the text is anything else than :func:`standalone` writes.
    """
    lines = text.split("\n")
    header = _HEADER.fullmatch(lines[0])
    if header is None:
        raise NotAQuery("line 1 is no (set-logic …)")
    if len(lines) < 3 or lines[-1] or lines[-2] != _CHECK:
        raise NotAQuery(f"the last line is not {_CHECK}")
    for number, line in enumerate(lines[1:-2], 2):
        if not line.startswith(("(declare-fun ", "(assert ")) or not _one_expression(line):
            raise NotAQuery(f"line {number} is neither a declaration nor an assertion")
    return header[1], "\n".join(lines[1:-2])


def _one_expression(line: str) -> bool:
    """Whether the line is one bracketed expression of plain symbols: no quotes, no comments."""
    if re.search(r'["|;\\\r]', line):
        return False
    depth = 0
    for k, character in enumerate(line):
        depth += (character == "(") - (character == ")")
        if depth == 0 and k < len(line) - 1:
            return False
    return depth == 0
