"""Index maps as text, such as ``T.index_map(lambda i, j: (i // 4, j, i % 4))``: read with ``ast``, never executed.

A recorded step of another compiler says in its arguments how a layout changed.  What is read here are the lambdas in
such a text; arithmetic on indices, ``min``, ``max`` and conversions are understood, names other than the parameters are
symbols with known sizes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from verified_tir.validate.memory import Refused
from verified_tir.validate.terms import Ids

_LONGEST: Final = 4000
_BINARY: Final[dict[type[ast.operator], Callable[[Ids, Ids], Any]]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.remainder,
}
_CALLS: Final[dict[str, Callable[[Ids, Ids], Any]]] = {
    "floordiv": np.floor_divide,
    "floormod": np.remainder,
    "indexdiv": np.floor_divide,
    "indexmod": np.remainder,
    "min": np.minimum,
    "max": np.maximum,
}


@final
@dataclass(frozen=True, slots=True)
class IndexMap:
    """A lambda over indices.  ``arity`` is the number of its parameters, or of those besides a starred one.

    ``sizes`` are the symbols that its body may use.
    """

    source: ast.Lambda
    sizes: Mapping[str, int]

    @property
    def arity(self) -> int:
        arguments = self.source.args
        return len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)

    def takes(self, rank: int) -> bool:
        """Whether it can be applied to a buffer with this many dimensions."""
        return rank >= self.arity if self.source.args.vararg is not None else rank == self.arity

    def __call__(self, *indices: Ids) -> list[Ids]:
        """Indices before to indices after.

        :raises Refused: for what is no arithmetic on indices, or divides by zero.
        """
        arguments = self.source.args
        names: dict[str, Any] = {name: np.int64(value) for name, value in self.sizes.items()}
        leading = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        trailing = [a.arg for a in arguments.kwonlyargs]
        names.update(zip(leading, indices, strict=False))
        if arguments.vararg is not None:
            names[arguments.vararg.arg] = list(indices[len(leading) : len(indices) - len(trailing)])
        names.update(zip(trailing, indices[len(indices) - len(trailing) :], strict=True))
        return _listed(self.source.body, names)


def index_maps(text: str, sizes: Mapping[str, int]) -> list[tuple[IndexMap, str, str]]:
    """The lambdas with parameters in a text, each with what stands before it and after it."""
    found = []
    at = 0
    text = text[:_LONGEST]
    while (start := text.find("lambda", at)) >= 0:
        at = start + len("lambda")
        end = _end(text, start)
        if end is not None:
            source = ast.parse(text[start:end], mode="eval").body
            assert isinstance(source, ast.Lambda)
            found.append((IndexMap(source, sizes), text[:start], text[end:]))
            at = end
    return found


def _end(text: str, start: int) -> int | None:
    """Where the lambda that begins at ``start`` ends; ``None`` for one without parameters, or that is no Python."""
    for end in range(len(text), start + len("lambda"), -1):
        if text[end - 1].isspace():
            continue
        try:
            body = ast.parse(text[start:end], mode="eval").body
        except (SyntaxError, ValueError):
            continue
        if isinstance(body, ast.Lambda):
            a = body.args
            return end if a.posonlyargs or a.args or a.vararg or a.kwonlyargs else None
    return None


def _listed(body: ast.expr, names: Mapping[str, Any]) -> list[Ids]:
    """The indices that a map's body lists; separators of axes are no indices."""
    if not isinstance(body, (ast.Tuple, ast.List)):
        return [_number(body, names)]
    found: list[Ids] = []
    for item in body.elts:
        match item:
            case ast.Starred(value=ast.Name(id=name)) if isinstance(names.get(name), list):
                found.extend(names[name])
            case ast.Attribute(attr="AXIS_SEPARATOR"):
                continue
            case _:
                found.append(_number(item, names))
    return found


def _number(expr: ast.expr, names: Mapping[str, Any]) -> Any:
    match expr:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int(v)):
            return np.int64(v)
        case ast.Name(id=name) if name in names and not isinstance(names[name], list):
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _apply(_BINARY[type(op)], [left, right], names)
        case ast.Call(func=func, args=arguments, keywords=[]):
            name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
            if name in ("int32", "int64") and len(arguments) == 1:
                return _number(arguments[0], names)
            if name in _CALLS and len(arguments) == 2:
                return _apply(_CALLS[name], arguments, names)
    raise Refused(
        f"the index map has {ast.unparse(expr)}, which is no arithmetic on its indices; give the map yourself"
    )


def _apply(operation: Callable[[Ids, Ids], Any], operands: Sequence[ast.expr], names: Mapping[str, Any]) -> Any:
    a, b = (_number(x, names) for x in operands)
    if operation in (np.floor_divide, np.remainder) and np.any(np.asarray(b) == 0):
        raise Refused("the index map divides by zero")
    return operation(a, b)
