"""Other code for functions that are already imported.

A mutant lives in a child of a process that has imported everything: its file is compiled, and the code of the one
function that changed replaces that of the function in memory.  Whoever imported the function sees the change, since it
is the same object.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterator
from typing import Any

from tests.mutation.mutant import Mutant
from tests.mutation.sources import Source


class CannotSwap(Exception):
    """The change is not one of a function's code alone."""


def module_name(file: str) -> str:
    """``verified_tir.kernel.rules.reorder`` for its file."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def swap(mutant: Mutant, source: Source) -> None:
    """Put a mutant into the running process.

    :raises CannotSwap: if the change is not in the body of a function that is alive in its module.
    """
    body = source.function(mutant.function).node.body
    module = importlib.import_module(module_name(mutant.file))
    live = live_function(module, mutant.function)
    text = mutant.apply(source.data)
    code = code_of(compile(text, module.__file__ or mutant.file, "exec", dont_inherit=True), mutant.function)
    outside = mutant.start < source.span(body[0])[0]
    if outside or live is None or code is None or live.__code__.co_freevars != code.co_freevars:
        raise CannotSwap(f"{mutant.id} is not the code of a function alone")
    live.__code__ = code


def live_function(module: types.ModuleType, name: str) -> types.FunctionType | None:
    """The function itself, below what decorators made of it."""
    found: Any = module
    for part in name.split("."):
        found = vars(found).get(part) if isinstance(found, (type, types.ModuleType)) else None
    return _unwrapped(found)


def _unwrapped(found: Any) -> types.FunctionType | None:
    while not isinstance(found, types.FunctionType) or hasattr(found, "__wrapped__"):
        match found:
            case staticmethod() | classmethod():
                found = found.__func__
            case property(fget=inner) if inner is not None:
                found = inner
            case _ if hasattr(found, "__wrapped__"):
                found = found.__wrapped__
            case _ if hasattr(found, "func"):  # functools.cached_property
                found = found.func
            case _:
                return None
    return found


def code_of(module: types.CodeType, name: str) -> types.CodeType | None:
    """The code of a function, or method, in the code of its module: of several by one name, that of the last."""
    code: types.CodeType | None = module
    for part in name.split("."):
        inside = code.co_consts if code is not None else ()
        named = [c for c in inside if isinstance(c, types.CodeType) and c.co_name == part]
        code = named[-1] if named else None  # the first ones declare overloads
    return code


def forget_results(package: str) -> None:
    """Empty every cache of a package, and of its tests: what was computed without the mutant is not believed."""
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith((f"{package}.", "tests.")):
            for key, value in list(vars(module).items()):
                if callable(getattr(value, "cache_clear", None)):
                    value.cache_clear()
                elif key.endswith("_cache") and callable(getattr(value, "clear", None)):
                    value.clear()


def functions_in(module: types.ModuleType, source: Source) -> Iterator[tuple[str, types.FunctionType]]:
    """Functions of a source file that are alive in its module, by name."""
    for function in source.functions:
        live = live_function(module, function.name)
        if live is not None and live.__module__ == module.__name__:
            yield function.name, live
