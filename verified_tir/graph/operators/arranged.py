"""Tensors whose dimensions stand in another order, by their letters: ``data_layout="NHWC"``.

An operator is defined in its plain order; here its operands are read, and its result is stored, in another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast, final

from verified_tir import te
from verified_tir.graph.errors import GraphError
from verified_tir.ir.expr import Expr
from verified_tir.te.tensor import Tensor


@final
class Arranged:
    """A tensor as if its dimensions stood in the plain order."""

    def __init__(self, tensor: Tensor, places: Sequence[int]) -> None:
        self.tensor = tensor
        self.places = places
        """Where each plain dimension stands in the tensor."""
        self.name, self.dtype, self.ndim = tensor.name, tensor.dtype, tensor.ndim

    @property
    def shape(self) -> tuple[Expr, ...]:
        return tuple(self.tensor.shape[p] for p in self.places)

    def __getitem__(self, indices: tuple[Any, ...]) -> Any:
        own = dict(zip(self.places, indices, strict=True))
        return self.tensor[tuple(own[k] for k in range(self.ndim))]


def places(layout: str, plain: str) -> list[int]:
    """Where each letter of ``plain`` stands in a layout.

    :raises GraphError: if it is not an arrangement of these letters.
    """
    if not isinstance(layout, str) or sorted(layout) != sorted(plain):
        raise GraphError(f"a layout here is an arrangement of {plain}, not {layout!r}")
    return [layout.index(letter) for letter in plain]


def arranged(tensor: Tensor, layout: str, plain: str) -> Tensor:
    """A tensor in a layout, to be read in the plain order.

    :raises GraphError: if the layout is not an arrangement of the plain one's letters.
    """
    found = places(layout, plain)
    if layout == plain or tensor.ndim != len(plain):
        return tensor
    return cast(Tensor, Arranged(tensor, found))  # what an operator asks of a tensor: its shape, and elements


def computed(
    shape: Sequence[Any], element: Callable[..., Any], name: str, layout: str = "NCHW", plain: str = "NCHW"
) -> Tensor:
    """The tensor of this plain shape and these elements, stored in a layout."""
    found = places(layout, plain)
    order = [plain.index(letter) for letter in layout]

    def moved(*i: Expr) -> Any:
        return element(*(i[p] for p in found))

    made = te.compute([shape[k] for k in order], element if layout == plain else moved, name=name)
    assert isinstance(made, Tensor)
    return made
