"""The text of a strategy with the decisions of a candidate in its calls: Python that can be pasted."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import final

from verified_tir.tune.space import Choice, Decision, Site


@final
class CannotPaste(ValueError):
    """A call that has several decisions, or stands elsewhere."""


def decided(file: Path, taken: Sequence[tuple[Choice, Decision]]) -> str:
    """The text of a file in which each sampling call has its decision.

    :raises CannotPaste: if a call was made several times with different decisions, or in another file.
    """
    decisions: dict[Site, Decision] = {}
    for choice, decision in taken:
        site = choice.site
        if Path(site.file) != file:
            raise CannotPaste(f"{site.file}:{site.line} samples, which is another file")
        if decisions.setdefault(site, decision) != decision:
            raise CannotPaste(f"the call in line {site.line} is made several times, with different decisions")
    text = file.read_bytes()
    lines = text.split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    for site in _last_first(decisions):
        begin = starts[site.line - 1] + site.column
        end = starts[site.end_line - 1] + site.end_column
        text = text[:begin] + _with(text[begin:end].decode(), decisions[site]).encode() + text[end:]
    return text.decode()


def function_text(text: str, line: int) -> str:
    """The function that begins in a line of a text, with its decorators."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == line:
                return "\n".join(text.split("\n")[first - 1 : node.end_lineno])
    raise CannotPaste(f"no function begins in line {line}")


def _last_first(decisions: Mapping[Site, Decision]) -> Iterable[Site]:
    return sorted(decisions, key=lambda s: (s.line, s.column), reverse=True)


def _with(call: str, decision: Decision) -> str:
    """A call with a decision in place of that which it has."""
    value = str(list(decision) if isinstance(decision, tuple) else decision)
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    for keyword in node.keywords:
        if keyword.arg == "decision":
            lines = call.encode().split(b"\n")
            at = [sum(len(line) + 1 for line in lines[: n - 1]) + column for n, column in _ends(keyword.value)]
            return (call.encode()[: at[0]] + value.encode() + call.encode()[at[1] :]).decode()
    inside = call[:-1].rstrip()
    return f"{inside}{'' if inside.endswith((',', '(')) else ','} decision={value})"


def _ends(node: ast.expr) -> list[tuple[int, int]]:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return [(node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)]
