"""Values for the fields of rules: such as their types ask for, and others."""

from __future__ import annotations

import dataclasses
import random
import types
import typing
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.exact import NODES, _AnnotationValue
from verified_tir.ir.expr import Expr, IntImm, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.paths import places
from verified_tir.ir.stmt import Stmt
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import walk
from verified_tir.kernel.refines import Refines
from verified_tir.kernel.rules import RULES
from verified_tir.kernel.step import Rule

ALL_RULES = sorted(RULES, key=lambda r: r.__name__)
TEXTS = ("", "B", "B!x", "C@1", "(assert", "a\nb", '"', "\\", "Β", "threadIdx.x", "shared")


class Text(str):
    """Equal to every other."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Whole(int):
    """Smaller than every other, and equal."""

    def __eq__(self, other: object) -> bool:
        return True

    def __lt__(self, other: object) -> bool:
        return True

    def __index__(self) -> int:
        return 0

    __hash__ = int.__hash__


class Real(float):
    """Equal to every other."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = float.__hash__


class Several(tuple):  # type: ignore[type-arg]
    """Shows other things each time it is gone through."""

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __getitem__(self, k: Any) -> Any:
        return None


class Anything:
    """Has every attribute, is called, compared and gone through."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: object, **__: object) -> Any:
        return self

    def __eq__(self, other: object) -> bool:
        return True

    def __iter__(self) -> Any:
        return iter(())

    __hash__ = object.__hash__


class Impostor(Anything):
    """Says that it is of another class."""

    def __init__(self, kind: type) -> None:
        self.kind = kind

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # type: ignore[override]
        return self.kind


def fields_of(record: type) -> dict[str, Any]:
    """The types of the fields of a dataclass."""
    hints = typing.get_type_hints(record, localns={**NODES, "AnnotationValue": _AnnotationValue})
    return {f.name: hints[f.name] for f in dataclasses.fields(record)}


class Drawer:
    """Draws values of a type, with what occurs in a program, and other things."""

    def __init__(self, func: PrimFunc, others: PrimFunc, theorems: list[Refines], rng: random.Random) -> None:
        self.rng = rng
        self.func = func
        self.theorems = theorems
        found: list[Node] = [*walk(func), *walk(others), *func.params, const(0), const(1), const(-1), const(3)]
        found += [IntImm(const(0).dtype, 2**31 - 1), const(1.0, "float32"), Undef(const(0).dtype), Var.fresh("new")]
        found += [
            const(0, "int64"),
            const(1, "bool"),
            Var.fresh("b", DType.parse("bool")),
            Var.fresh("v", DType.parse("int32x4")),
        ]
        found += [Buffer.declare("fresh", (4,)), Buffer.declare("none", (), "int32", scope="local"), others]
        self.nodes = found
        self.places = [path for path, _ in places(func.body, lambda _: True)]

    def of(self, hint: Any) -> Any:
        """Something of a type."""
        rng = self.rng
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if hint in (None, types.NoneType):
            return None
        if hint is Rule:
            return self.rule(rng.choice(ALL_RULES))
        if hint is Refines:
            return rng.choice(self.theorems)
        if origin in (typing.Union, types.UnionType):
            return self.of(rng.choice(args))
        if origin is Literal:
            return rng.choice(args)
        if origin is tuple:
            if len(args) == 2 and args[1] is Ellipsis:
                return tuple([self.of(args[0]) for _ in range(rng.choice((0, 1, 1, 2, 3)))])
            return tuple([self.of(a) for a in args if a != ()])
        if hint is _AnnotationValue:
            return rng.choice((1, 1.5, "s", True, (1, ("x",)), const(2)))
        if hint is bool:
            return rng.random() < 0.5
        if hint is int:
            return rng.choice((0, 0, 0, 1, 1, 2, 3, -1, 2**40))
        if hint is float:
            return rng.choice((0.0, -0.0, float("nan"), float("inf")))
        if hint is str:
            return rng.choice(TEXTS)
        if issubclass(hint, Node):
            return rng.choice([n for n in self.nodes if isinstance(n, hint)])
        return self.record(hint)

    def record(self, kind: type) -> Any:
        drawn = {name: self.of(hint) for name, hint in fields_of(kind).items()}
        for name in {"path", "source"} & set(drawn):
            if self.rng.random() < 0.8:
                drawn[name] = self.rng.choice(self.places)
        return kind(**drawn)

    def rule(self, kind: type) -> Any:
        return self.record(kind)

    def forged(self, value: Any) -> Any:
        """Something that looks like the value, or like nothing."""
        if type(value) is tuple and value and self.rng.random() < 0.5:
            k = self.rng.randrange(len(value))
            return (*value[:k], self.forged(value[k]), *value[k + 1 :])
        choices: list[Callable[[], Any]] = [
            Anything, lambda: Impostor(type(value)), lambda: None, lambda: "text", lambda: 1.5, lambda: np.int64(1),
            lambda: np.zeros(2), lambda: {}, lambda: [value], lambda: {0: value}, lambda: Fraction(1, 2), lambda: True,
            lambda: (((),),), lambda: _blank(type(value)), lambda: type(value), lambda: ..., lambda: b"bytes",
        ]  # fmt: skip
        looks = {str: Text, int: Whole, float: Real, tuple: Several}
        if type(value) in looks:
            choices += [lambda: looks[type(value)](value)] * 8
        if type(value) is tuple:
            choices += [lambda: list(value), lambda: iter(value), lambda: dict(enumerate(value))] * 2
        return self.rng.choice(choices)()


def _blank(kind: type) -> Any:
    """An object of the class of which no constructor knows."""
    try:
        return object.__new__(kind)
    except TypeError:
        return None


__all__ = ["ALL_RULES", "Anything", "Drawer", "Expr", "Impostor", "Several", "Stmt", "Text", "Whole", "fields_of"]
