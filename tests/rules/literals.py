"""Programs with rules for them as Python source: nested lists that hold nothing but names, numbers and texts.

A rule mentions variables and buffers of its program, so both are written together.  ``rule_text`` writes, ``rule_made``
makes the program and the rules again.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from functools import cache
from typing import Any

from verified_tir.ir import buffer, expr, func, stmt
from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.kernel import rules as package
from verified_tir.kernel.theorem import Rule


@cache
def _classes() -> dict[str, Any]:
    """The classes of nodes (first) and of rules, by name; the rule ``Rewrite`` is called so as well as its result."""
    modules = [importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)]
    found: dict[str, Any] = {}
    for module in (expr, stmt, buffer, func, *modules):
        for name, value in vars(module).items():
            own = isinstance(value, type) and (value.__module__ == module.__name__ or issubclass(value, Node))
            if own and dataclasses.is_dataclass(value):
                found.setdefault(name, value)
    return found


def rule_text(program: PrimFunc, rules: tuple[Rule, ...]) -> str:
    """A program and rules as one Python literal.

    :raises ValueError: for a rule that holds something without a literal, such as a theorem.
    """
    numbers: dict[Var, int] = {}
    return repr([_literal(program, numbers), [_literal(r, numbers) for r in rules]])


def _literal(value: Any, numbers: dict[Var, int]) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return ["float", value.hex()]
        case DType():
            return ["DType", str(value)]
        case Var(name=name, type=type_):
            return ["Var", name, _literal(type_, numbers), numbers.setdefault(value, len(numbers))]
        case tuple():
            return tuple(_literal(v, numbers) for v in value)
    name = type(value).__name__
    if name not in _classes() and not isinstance(value, PointerType):
        raise ValueError(f"{name} has no literal")
    return [name, *(_literal(getattr(value, f.name), numbers) for f in dataclasses.fields(value))]


def rule_made(literal: list[Any]) -> tuple[PrimFunc, tuple[Rule, ...]]:
    """The program and the rules that a literal stands for."""
    variables: dict[int, Var] = {}
    program, rules = literal
    return _made(program, variables), tuple(_made(r, variables) for r in rules)


def _made(value: Any, variables: dict[int, Var]) -> Any:
    match value:
        case ["DType", name]:
            return DType.parse(name)
        case ["float", text]:
            return float.fromhex(text)
        case ["PointerType", *parts]:
            return PointerType(*(_made(p, variables) for p in parts))
        case ["Var", name, type_, int(number)]:
            if number not in variables:
                variables[number] = Var.fresh(name, _made(type_, variables))
            return variables[number]
        case [str(name), *parts] if isinstance(value, list):
            return _classes()[name](*(_made(p, variables) for p in parts))
        case tuple():
            return tuple(_made(v, variables) for v in value)
    return value
