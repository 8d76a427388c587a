"""Programs written as Python functions: ``@T.prim_func`` on a real ``def``.

The function is never called.  Its source is found with ``inspect`` and parsed like any text; names of the enclosing
scope (``N = 16``) are looked up in the closure and the globals of the function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any, TypeVar, final

from verified_tir.ir.dtype import VOID
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.script.module import Surroundings, parse_source
from verified_tir.ir.script.source import Source
from verified_tir.ir.script.values import Value


def from_python(function: Callable[..., object], namespace: ModuleType) -> PrimFunc:
    """The program that a Python function spells out; ``namespace`` is the module that its ``T`` stands for.

    :raises ScriptError: for a mistake in the program.
    :raises IRError: if the function has no source text.
    """
    if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
        raise IRError("T.prim_func decorates a function")
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise IRError(f"the source of {function.__name__} cannot be found") from None
    text = "".join(lines)
    filename = inspect.getsourcefile(function) or "<unknown>"
    outer = _enclosing(function)
    around = Surroundings(
        constants=_Constants(outer),
        aliases=frozenset({"T", *(name for name, value in outer.items() if value is namespace)}),
        type_vars=frozenset(name for name, value in outer.items() if isinstance(value, TypeVar)),
        functions={name: value.ret_type or VOID for name, value in outer.items() if isinstance(value, PrimFunc)},
    )
    module = parse_source(Source(text, filename, first - 1, indented=text[:1].isspace()), around)
    return module[function.__name__]


def _enclosing(function: FunctionType) -> dict[str, Any]:
    """Names of the closure and the globals of a function."""
    found = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # assigned only after the function
            continue
    return found


@final
class _Constants(Mapping[str, Value]):
    """The names that a program may use; what they stand for is checked when one is used."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = {k: v for k, v in names.items() if not isinstance(v, (ModuleType, PrimFunc, TypeVar, type))}

    def __getitem__(self, name: str) -> Value:
        value = self.names[name]
        if type(value) in (bool, int, float, str):
            found: Value = value
            return found
        raise IRError(
            f"{name} is a {type(value).__name__} of the enclosing scope; only int, float, bool and str can be used"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
