"""Other code for functions that are already imported.

A mutant lives in a child of a process that has imported everything: its file is compiled, and the code of the one
function that changed replaces that of the function in memory.  Whoever imported the function sees the change, since it
is the same object.  What cannot be changed like that (code outside of functions, other default arguments, other
variables of an enclosing scope) needs a process of its own, in which the file is compiled mutated from the start.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from typing import Any

from verified_tir.mutation.mutant import Mutant
from verified_tir.mutation.sources import Source


class CannotSwap(Exception):
    """The change is not one of a function's code alone."""


def module_name(file: str) -> str:
    """``verified_tir.kernel.rules.reorder`` for its file."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def swap(mutant: Mutant, data: bytes) -> None:
    """Put a mutant into the running process.

    :raises CannotSwap: if that takes a fresh process.
    """
    if not mutant.function:
        raise CannotSwap(mutant.id)
    old, new = Source(mutant.file, data), Source(mutant.file, mutant.apply(data))
    before, after = old.function(mutant.function).node, new.function(mutant.function).node
    if ast.dump(before.args) != ast.dump(after.args) or len(before.decorator_list) != len(after.decorator_list):
        raise CannotSwap(mutant.id)
    module = importlib.import_module(module_name(mutant.file))
    live = live_function(module, mutant.function)
    code = code_of(compile(mutant.apply(data), module.__file__ or mutant.file, "exec"), mutant.function)
    if live is None or code is None or live.__code__.co_freevars != code.co_freevars:
        raise CannotSwap(mutant.id)
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
    """Empty every cache of a package: what was computed without the mutant is not believed."""
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(f"{package}."):
            for key, value in list(vars(module).items()):
                if callable(getattr(value, "cache_clear", None)):
                    value.cache_clear()
                elif key.endswith("_cache") and callable(getattr(value, "clear", None)):
                    value.clear()


class _Mutated(SourceFileLoader):
    """Loads one module from the mutated source, and writes no byte code."""

    def __init__(self, fullname: str, path: str, transform: Callable[[bytes], bytes]) -> None:
        super().__init__(fullname, path)
        self._transform = transform

    def get_code(self, fullname: str) -> types.CodeType:
        data = self.get_data(self.path)
        return compile(self._transform(data), self.path, "exec", dont_inherit=True)


class MutatingFinder(importlib.abc.MetaPathFinder):
    """Finds one module only: the mutated one."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self.name = module_name(mutant.file)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None:
            return None
        spec.loader = _Mutated(fullname, spec.origin, self.mutant.apply)
        return spec


def install(mutant: Mutant) -> None:
    """From now on, the mutant's module is loaded mutated.  It must not have been imported yet."""
    if module_name(mutant.file) in sys.modules:
        raise CannotSwap(f"{module_name(mutant.file)} is imported already")
    sys.meta_path.insert(0, MutatingFinder(mutant))


def functions_in(module: types.ModuleType, source: Source) -> Iterator[tuple[str, types.FunctionType]]:
    """Functions of a source file that are alive in its module, by name."""
    for function in source.functions:
        live = live_function(module, function.name)
        if live is not None and live.__module__ == module.__name__:
            yield function.name, live
