"""A plug-in for mypy: ``A: T.Buffer((16,), "float32")`` is no mistake where a parameter of a program is declared.

Enter it in the settings of mypy::

    [tool.mypy]
    plugins = ["verified_tir.mypy_plugin"]

The declaration is a call, and mypy takes no call for a type, whatever the types of this package say; no hook is asked.
But each file is handed to plug-ins before it is analysed, with the lines on which the author wants errors ignored.  The
lines of such declarations are added to those, for this one error.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mypy.nodes import MypyFile
from mypy.plugin import Plugin

_CODES: Final = ("valid-type", "unused-ignore")  # the second: the line has no comment that could be superfluous


class ProgramPlugin(Plugin):
    """Lets parameters of ``@T.prim_func`` functions be declared by calls."""

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """Note the lines of ``file`` where parameters are declared by calls; nothing more is imported."""
        for line in declarations(file.path):
            codes = file.ignored_lines.setdefault(line, list(_CODES))
            if codes and _CODES[0] not in codes:  # `type: ignore` without codes ignores all errors already
                codes.append(_CODES[0])
        return []


def declarations(path: str) -> set[int]:
    """The lines of a file where a parameter of a program is declared by a call."""
    try:
        source = Path(path).read_bytes()
        return set(_lines(ast.parse(source))) if b"prim_func" in source else set()
    except (OSError, SyntaxError, ValueError):  # mypy itself says so
        return set()


def _lines(module: ast.Module) -> Iterator[int]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and any(map(_is_prim_func, node.decorator_list)):
            arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            for declared in (a.annotation for a in arguments if a.annotation is not None):
                yield from (call.lineno for call in ast.walk(declared) if isinstance(call, ast.Call))


def _is_prim_func(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return getattr(called, "attr", getattr(called, "id", None)) == "prim_func"


def plugin(version: str) -> type[ProgramPlugin]:
    """What mypy calls first, with its version."""
    return ProgramPlugin
