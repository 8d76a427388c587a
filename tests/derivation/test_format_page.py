"""``docs/certificate-format.md`` has every form with its fields.  ``--update-golden`` rewrites the tables."""

from __future__ import annotations

import re
import types
import typing
from pathlib import Path
from typing import Any

import pytest

from verified_tir.derivation.classes import records
from verified_tir.derivation.codec import Quoted, node_classes
from verified_tir.ir.dtype import DType
from verified_tir.ir.exact import _AnnotationValue, field_types
from verified_tir.kernel.refines import Refines
from verified_tir.kernel.rules import RULES
from verified_tir.kernel.step import Rule

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "certificate-format.md"
WORDS: dict[Any, str] = {
    int: "integer", str: "string", bool: "bool", float: "float", types.NoneType: "none", DType: "type", Rule: "a rule",
    Refines: "Theorem", Quoted: "Apply", _AnnotationValue: "annotation",
}  # fmt: skip


def shown(hint: Any) -> str:
    """A type as the page has it."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint in WORDS:
        return WORDS[hint]
    if origin in (typing.Union, types.UnionType):
        words = [shown(a) for a in args]
        return "annotation" if "[annotation …]" in words else " or ".join(words)
    if origin is typing.Literal:
        return " or ".join(f'"{a}"' for a in args)
    if origin is tuple:
        items = [f"{shown(args[0])} …"] if args[-1] is Ellipsis else [shown(a) for a in args]
        return f"[{' '.join(items)}]"
    name: str = hint.__name__
    return name


def fields(kind: type) -> str:
    found = [(n, t) for n, t in field_types(kind) if (kind.__name__, n) != ("Var", "uid")]
    return "; ".join(f"`{name}`: {shown(hint)}" for name, hint in found) or "none"


def base(kind: type) -> str:
    """Which kind of node it is."""
    return {"Expr": "Expr", "Stmt": "Stmt"}.get(kind.__mro__[1].__name__, "")


def page_of(rule: type) -> str:
    return rule.__module__.rpartition(".")[2]


def tables() -> dict[str, list[str]]:
    rules = {k.__name__: k for k in RULES}
    nodes = [f"| `{n}` | {base(k)} | {fields(k)} |" for n, k in sorted(node_classes().items())]
    own = [f"| `{n}` | {fields(k)} | [{page_of(k)}](rules/{page_of(k)}.md) |" for n, k in sorted(rules.items())]
    rest = [f"| `{n}` | {fields(k)} |" for n, k in records().items() if n not in rules]
    return {
        "nodes": ["| head | kind | fields |", "|---|---|---|", *nodes],
        "rules": ["| head | fields | what it computes and owes |", "|---|---|---|", *own],
        "records": ["| head | fields |", "|---|---|", *rest],
    }


@pytest.mark.parametrize("name", tables())
def test_the_page_has_every_form(name: str, request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->", f"<!-- end of the {name} -->"
    head, rest = text.split(begin)
    written, tail = rest.split(end)
    now = "\n".join(tables()[name])
    if request.config.getoption("--update-golden"):
        PAGE.write_text(f"{head}{begin}\n{now}\n{end}{tail}", encoding="utf-8")
        return
    assert written.strip() == now, "the format has other forms: run pytest with --update-golden, and raise SCHEMA"


def test_every_rule_has_a_page() -> None:
    text = (ROOT / "docs" / "certificate-format.md").read_text(encoding="utf-8")
    for page in re.findall(r"\(rules/(\w+)\.md\)", text):
        assert (ROOT / "docs" / "rules" / f"{page}.md").exists(), page
