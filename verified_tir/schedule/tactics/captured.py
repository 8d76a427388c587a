"""Functions that name a buffer, as RFC 77 writes them: ``pad_value=lambda io, ii: B[0, (io - 14) % 4]``.

There ``B`` is the buffer that is being transformed, which exists only after the step.  The name is the caller's, so the
function is made anew with something else in its place: reads with as many indices as the new layout has are of the new
layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr
from verified_tir.ir.node import IRError


@final
class EitherLayout:
    """A buffer that is read in the layout of as many indices as are given; in the old one if both have as many."""

    __iter__ = None

    def __init__(self, old: Buffer, new: Buffer) -> None:
        self._old, self._new = old, new

    def __getitem__(self, indices: Any) -> Expr:
        given = indices if isinstance(indices, tuple) else (indices,)
        fits_new = len(given) != len(self._old.shape) and len(given) == len(self._new.shape)
        return (self._new if fits_new else self._old)[given]

    def __call__(self, *indices: Any) -> Expr:
        return self[indices]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._old, name)


def in_either_layout(function: Callable[..., Any], arguments: Sequence[Any], old: Buffer, new: Buffer) -> Any:
    """What the function gives; a buffer that it names may be read in the old layout and in the new one.

    :raises IRError: what the function raises, if it does not name the buffer.
    """
    try:
        return function(*arguments)
    except (IRError, TypeError):
        either = EitherLayout(old, new)
        other = rebound(function, lambda v: either if v is old else v)
        if other is function:
            raise
        return other(*arguments)


def rebound(function: Callable[..., Any], replaced: Callable[[Any], Any]) -> Callable[..., Any]:
    """The function with other values for the names that it takes from around it, or from its defaults.

    :param replaced: the value to use for a value, or the value itself.  What is no plain function stays as it is, and
        so does one of which nothing is replaced.
    """
    if not isinstance(function, FunctionType):
        return function
    cells = function.__closure__ or ()
    closure = tuple(_cell(c, replaced) for c in cells)
    found = {n: function.__globals__[n] for n in _names(function.__code__) if n in function.__globals__}
    other = {n: new for n, v in found.items() if (new := replaced(v)) is not v}
    defaults = tuple(map(replaced, function.__defaults__ or ()))
    same = all(a is b for a, b in zip((*cells, *(function.__defaults__ or ())), (*closure, *defaults), strict=True))
    if same and not other:
        return function
    made = FunctionType(
        function.__code__, function.__globals__ | other if other else function.__globals__, function.__name__,
        defaults or None, closure if cells else None,
    )  # fmt: skip
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _cell(cell: CellType, replaced: Callable[[Any], Any]) -> CellType:
    try:
        value = cell.cell_contents
    except ValueError:  # not assigned yet
        return cell
    new = replaced(value)
    return cell if new is value else CellType(new)


def _names(code: CodeType) -> Iterator[str]:
    """The global names of a function, and of those inside it."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)
