"""Arguments of a call in the text, matched with the names that the callee gives them."""

from __future__ import annotations

import ast

from verified_tir.ir.script.source import Source


def match_arguments(
    source: Source, call: ast.Call, names: tuple[str, ...], required: int = 0, positional: int | None = None
) -> dict[str, ast.expr]:
    """The arguments by name; ``None`` literals count as not given.

    Names after the first ``positional`` ones are given by name only: dialects differ in their order.

    :raises ScriptError: too many, an unknown or repeated name, or one of the first ``required`` missing.
    """
    found: dict[str, ast.expr] = {}
    if len(call.args) > len(names):
        raise source.error(call.args[len(names)], f"at most {len(names)} arguments are taken: {', '.join(names)}")
    if positional is not None and len(call.args) > positional:
        shown = ", ".join(names[positional:])
        raise source.error(call.args[positional], f"from here on, arguments are given by name: {shown}")
    for name, arg in zip(names, call.args, strict=False):
        if isinstance(arg, ast.Starred):
            raise source.error(arg, "a starred argument has no meaning here")
        found[name] = arg
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg not in names:
            raise source.error(keyword.value, f"unknown argument {keyword.arg}; known: {', '.join(names)}")
        if keyword.arg in found:
            raise source.error(keyword.value, f"the argument {keyword.arg} is given twice")
        found[keyword.arg] = keyword.value
    found = {k: v for k, v in found.items() if not (isinstance(v, ast.Constant) and v.value is None)}
    for name in names[:required]:
        if name not in found:
            raise source.error(call, f"the argument {name} is missing")
    return found
