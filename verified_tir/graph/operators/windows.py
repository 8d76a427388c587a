"""Windows over the dimensions of x[n, c, …] behind the second, as convolutions and pooling have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from verified_tir import te
from verified_tir.graph.errors import GraphError
from verified_tir.graph.operators.elementwise import dims
from verified_tir.graph.sizes import Dim, numbers
from verified_tir.ir.expr import Expr, Var
from verified_tir.te.tensor import Tensor


@final
@dataclass(frozen=True, slots=True)
class Windows:
    """A number for each dimension; ``counts`` says how often the windows stand.

    :ivar size: the extents of x; ``before`` and ``after``: elements around these, as far as a window reaches.
    """

    size: tuple[int, ...]
    kernel: Sequence[int]
    strides: Sequence[int]
    dilation: Sequence[int]
    before: Sequence[int]
    after: Sequence[int]
    counts: Sequence[int]

    def axes(self) -> list[Var]:
        """Axes that run through a window."""
        return [te.reduce_axis((0, k), f"r{j}") for j, k in enumerate(self.kernel)]

    def places(self, at: Sequence[Expr], axes: Sequence[Expr]) -> list[Expr]:
        """The indices of an element of a window, counted from the elements before x."""
        return [v * s + r * d for v, s, r, d in zip(at, self.strides, axes, self.dilation, strict=True)]

    def shape(self, *first: Dim) -> list[Dim]:
        """The shape of a result with an element for each window."""
        return [*first, *self.counts]


def windows_over(
    x: Tensor, kernel: Sequence[int], strides: Sequence[int], padding: Sequence[Sequence[int]],
    dilation: Sequence[int], ceil: bool = False,
) -> Windows:  # fmt: skip
    """The windows over x.

    :param ceil: whether one more stands where it reaches beyond what is behind x.
    :raises GraphError: if attributes are none of windows over these dimensions, or a window does not fit.
    """
    size = numbers(dims(x)[2:], f"the dimensions of {x.name} behind the second")
    if not size:
        raise GraphError(f"windows go over x[n, c, …], not over {x.ndim} dimensions")
    before, after = padding
    check_attributes(len(size), kernel, strides, dilation, before, after)
    every = zip(size, kernel, strides, dilation, before, after, strict=True)
    found = [_count(n, d * (k - 1) + 1, s, ceil, p, q) for n, k, s, d, p, q in every]
    behind = [q + more for q, (_, more) in zip(after, found, strict=True)]
    return Windows(size, kernel, strides, dilation, before, behind, [n for n, _ in found])


def check_attributes(rank: int, *given: Sequence[int]) -> None:
    """:raises GraphError: if there is not one number, positive or 0 for paddings, for each dimension."""
    for some, least in zip(given, (1, 1, 1, 0, 0), strict=True):
        if len(some) != rank or any(n < least for n in some):
            raise GraphError(f"windows over {rank} dimensions take as many numbers, {least} at least, not {some}")


def _count(size: int, reach: int, stride: int, ceil: bool, before: int, after: int) -> tuple[int, int]:
    """How often a window stands, and by how much the last one sticks out."""
    room = size + before + after - reach
    if room < 0:
        raise GraphError(f"a window of {reach} does not fit in {size + before + after} elements")
    count = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (count - 1) * stride >= size + before:
        count -= 1  # a window that begins in the padding behind is none
    return count, max(0, (count - 1) * stride + reach - (size + before + after))


def over_two(what: str, strides: Any, padding: Any, dilation: Any = (1, 1)) -> dict[str, Any]:
    """The attributes of windows over height and width, with a number for each; one number or two stand for all.

    :param padding: top, left, bottom, right.
    :raises GraphError: if there are others.
    """

    def many(name: str, given: Sequence[int] | int, count: int, least: int) -> list[int]:
        found = [given] * count if isinstance(given, int) else list(given)
        if count == 4 and len(found) == 2:
            found = [*found, *found]
        found = found * count if len(found) == 1 else found
        if len(found) != count or any(n < least for n in found):
            raise GraphError(f"{name} of {what} is {count} numbers, {least} at least, not {given}")
        return found

    around = many("padding", padding, 4, 0)
    return {
        "strides": many("strides", strides, 2, 1), "padding": (around[:2], around[2:]),
        "dilation": many("dilation", dilation, 2, 1),
    }  # fmt: skip
