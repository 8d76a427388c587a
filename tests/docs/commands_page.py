"""docs/reference/commands.md, made of what ``vtir --help`` is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from verified_tir.cli.main import app

HEAD = """\
# Commands

<!-- Made by tests/docs/commands_page.py: pytest tests/docs/test_reference.py --update-golden -->

What `vtir COMMAND --help` says, in one page. `vtir --version` prints the version.

| command | does |
|---|---|
"""


def page() -> str:
    """The text of the page."""
    commands = {name: c for name, c in typer.main.get_command(app).commands.items() if not c.hidden}  # type: ignore[attr-defined]
    lines = [f"| [`vtir {name}`](#vtir-{name}) | {c.short_help} |" for name, c in commands.items()]
    for name, command in commands.items():
        lines += ["", f"## `vtir {name}`", "", *_entry(name, command)]
    return HEAD + "\n".join(lines).rstrip() + "\n"


def _entry(name: str, command: Any) -> Iterator[str]:
    arguments = [p for p in command.params if not p.opts[0].startswith("-") and not p.hidden]
    options = [p for p in command.params if p.opts[0].startswith("-") and not p.hidden]
    yield "```text"
    yield " ".join([f"vtir {name}", *(["[OPTIONS]"] if options else []), *map(_argument, arguments)])
    yield "```"
    yield ""
    yield from _help(command.help)
    for parameter in (*arguments, *options):
        yield ""
        yield _term(parameter)
        yield f": {_escaped(parameter.help or '')}{_default(parameter)}"


def _help(text: str) -> Iterator[str]:
    r"""The paragraphs of a help text; those after ``\b`` are laid out already."""
    for k, paragraph in enumerate(text.split("\n\n")):
        if k:
            yield ""
        if paragraph.startswith("\b"):
            lines = paragraph.removeprefix("\b").strip("\n").splitlines()
            indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
            yield "```text"
            yield from (line[indent:] for line in lines)
            yield "```"
        else:
            yield _escaped(paragraph.replace("\n", " "))


def _escaped(text: str) -> str:
    """Markdown that shows a text as it is; options and what stands in quotes as code."""
    text = re.sub(r"([<>*_\[\]|])", r"\\\1", text)
    return re.sub(r"(?<![\w`-])(--[a-z][a-z-]*)", r"`\1`", text)


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    many = "..." if parameter.nargs == -1 else ""
    return f"{name}{many}" if parameter.required else f"[{name}]{many}"


def _term(parameter: Any) -> str:
    if not parameter.opts[0].startswith("-"):
        return f"`{parameter.metavar or parameter.name.upper()}`"
    names = [*parameter.opts, *parameter.secondary_opts]
    value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
    return ", ".join(f"`{name}{value}`" for name in names)


def _default(parameter: Any) -> str:
    if getattr(parameter, "is_flag", False) or not parameter.show_default or parameter.default in (None, "", [], ()):
        return ""
    return f" Default: `{parameter.default}`."
