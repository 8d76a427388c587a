"""Arguments as Python source, for tests that are written by a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.parts.trees import tree_text
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func, script

_MANY = 24


def argument_text(value: object) -> str:
    """The source of an array, with ``array_of``, or of a number, with ``inf`` and ``nan`` for floats."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    dtype = "bool" if value.dtype == np.bool_ else str(value.dtype)
    compact = np.ascontiguousarray(value).reshape(value.shape)
    plain = 0 < value.size <= _MANY and not (value.dtype.kind not in "iub" and np.isnan(value.astype(np.float64)).any())
    shown = repr(compact.tolist()) if plain else f'({value.shape!r}, "{compact.tobytes().hex()}")'
    strides = "" if value.strides == compact.strides or not value.size else f", strides={value.strides!r}"
    return f'array_of("{dtype}", {shown}{strides})'


def arguments_text(arguments: Mapping[str, Any], indent: str = "    ") -> str:
    """The source of arguments by name, a dict over several lines."""
    lines = [f"{indent}    {name!r}: {argument_text(value)}," for name, value in arguments.items()]
    return "\n".join(["{", *lines, indent + "}"])


def program_text(func: PrimFunc) -> str:
    """The source of a function: its text to be parsed, or, if that does not mean the same, its tree."""
    try:
        text = script(func)
        same = structural_equal(parse_func(text), func)
    except Exception:
        same = False
    quotes = "'" * 3
    if same and quotes not in text and "\\" not in text:
        return f"parse_func({quotes}\n{text}\n{quotes})"
    return f"from_tree({tree_text(func)})"


_IMPORTS = {"parse_func": "verified_tir", "array_of": "verified_tir.testing", "from_tree": "tests.parts.trees"}


def needed_imports(source: str) -> str:
    """The imports of what the literals in a source need."""
    maths = [n for n in ("inf", "nan") if any(part in source for part in (f" {n}", f"[{n}", f"-{n}"))]
    lines = [f"from math import {', '.join(maths)}\n"] if maths else []
    lines += [f"from {module} import {name}\n" for name, module in _IMPORTS.items() if f"{name}(" in source]
    return "".join(lines)
