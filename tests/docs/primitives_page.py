"""docs/reference/primitives.md, made of signatures, docstrings, and programs that are really scheduled."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import get_overloads

from tests.docs.before_after import before_after, code_block, shown
from tests.docs.primitive_programs import SECTIONS, Example
from verified_tir import Schedule, TensorIntrin
from verified_tir.script import tir as T

HEAD = """\
# Primitives

<!-- Made by tests/docs/primitives_page.py: pytest tests/docs/test_reference.py --update-golden -->

Every primitive of `Schedule`: its signature, what it does, and a small program before and after it. The programs are
the ones that the schedule prints; lines that differ are marked. *Proved here* counts the obligations of the step by
name, as the [rules](../rules/index.md) call them. How the primitives work together is told in
[](../how-to/write-schedules.md); all arguments and errors are in [](../api.md).
"""
WIDEST = 118


def primitives() -> dict[str, Callable[..., object]]:
    """The methods of a schedule that change the program, by name."""
    return {
        name: inspect.unwrap(value)
        for part in Schedule.__mro__
        for name, value in vars(part).items()
        if not name.startswith("_") and callable(value) and "_do" in inspect.unwrap(value).__code__.co_names
    }


def page() -> str:
    """The text of the page."""
    known = primitives()
    lines = [HEAD]
    for title, examples in SECTIONS:
        lines += [f"[{title}](#{_anchor(title)})", f": {', '.join(f'[`{e.name}`](#{e.name})' for e in examples)}", ""]
    for title, examples in SECTIONS:
        lines += [f"## {title}", ""]
        for example in examples:
            lines += [*_entry(example, known[example.name]), ""]
    return "\n".join(lines).rstrip() + "\n"


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _entry(example: Example, method: Callable[..., object]) -> Iterator[str]:
    before, after, proved = _run(example)
    yield f"### `{example.name}`"
    yield ""
    yield from code_block("python", *(signature(example.name, form) for form in get_overloads(method) or [method]))
    yield ""
    yield sentence(method)
    yield ""
    if example.first:
        yield f"Here after {' and '.join(f'`{call}`' for call in example.first)}:"
        yield ""
    yield from code_block("python", *filter(None, (example.given, example.call)))
    yield ""
    yield _proved(proved)
    yield ""
    yield from before_after(before, after)


def _proved(proved: Counter[str]) -> str:
    count = sum(proved.values())
    if not count:
        return "Nothing has to be proved."
    return f"Proved here: {', '.join(f'{n} {name}' for name, n in sorted(proved.items()))}."


def _run(example: Example) -> tuple[str, str, Counter[str]]:
    """The program before and after the call, and the obligations that were proved, by name."""
    s = Schedule("@T.prim_func\n" + example.program)
    names = {"s": s, "T": T, "Schedule": Schedule, "TensorIntrin": TensorIntrin}
    for call in (*example.first, example.given):
        exec(call, names)
    before = shown(s, example.module)
    old = len(s.steps)
    exec(example.call, names)
    proved = Counter(d.obligation.name for step in s.steps[old:] for d in step.obligations)
    return before, shown(s, example.module), proved


def signature(name: str, method: Callable[..., object]) -> str:
    """How a primitive is called: its parameters with types and defaults, in lines of a page's width."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    shown = [_parameter(p) for p in parameters]
    star = next((k for k, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY), None)
    if star is not None and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        shown.insert(star, "*")
    result = inspect.signature(method).return_annotation
    line = f"s.{name}({', '.join(shown)}) -> {result}"
    if len(line) <= WIDEST:
        return line
    return f"s.{name}(\n" + "".join(f"    {p},\n" for p in shown) + f") -> {result}"


def _parameter(p: inspect.Parameter) -> str:
    stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    kind = f": {p.annotation}" if p.annotation is not p.empty else ""
    default = "" if p.default is p.empty else " = " + re.sub(r"<(.*): .*>", r"\1", repr(p.default))
    return f"{stars}{p.name}{kind}{default}"


def sentence(method: Callable[..., object]) -> str:
    """The first paragraph of a docstring, as Markdown."""
    first = (inspect.getdoc(method) or "").partition("\n\n")[0].replace("\n", " ")
    return re.sub(r":\w+:`~?([^`]*)`", r"`\1`", first).replace("``", "`")
