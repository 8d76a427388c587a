"""What a plan believes, compared at run time: calls of functions from outside on moved tensors.

Nobody can prove that a library's function in NHWC computes what its function in NCHW does.  With both at hand, as
Python functions on arrays, the graphs before and after are run on some input, and what each believed call gives is
compared with what it stands for, element by element.  Agreement proves nothing for other inputs; a difference shows
that the word was wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from verified_tir.graph.element_types import array_dtype
from verified_tir.graph.errors import GraphError
from verified_tir.graph.execute import evaluate_all
from verified_tir.graph.ir import Array, Value
from verified_tir.graph.layouts import Layout, pack

if TYPE_CHECKING:
    from verified_tir.graph.plan import Plan

Functions = Mapping[str, Callable[..., Any]]
"""Functions from outside by their names; each gets the arrays of its call, and writes the last ones."""


def check_believed(
    made: Plan, inputs: Mapping[str, Any] | Sequence[Any], functions: Functions, *, rtol: float = 0.0, atol: float = 0.0
) -> int:
    """Run both graphs of a plan, and compare what every believed call gives; gives how many were compared.

    :param functions: what the programs call from outside, by name.
    :param rtol: how much elements may differ, as in ``numpy.allclose``; by default not at all (NaN equals NaN).
    :raises GraphError: for the first call that gives something else, with the first element; or for a function that is
        called and not given.
    """
    before = evaluate_all(made.before, inputs, functions)
    after = evaluate_all(made.graph, inputs, functions)
    compared = 0
    for node in made.graph.nodes:
        if node not in made.external:
            continue
        for v in node.outputs:
            of, text = made.stands_for[v]
            _compare(str(made.implements[node]), v, after[v], before[of], made.layouts[text], (rtol, atol))
        compared += 1
    return compared


def _compare(where: str, v: Value, found: Array, plain: Array, layout: Layout, tolerance: tuple[float, float]) -> None:
    """Compare the elements; padding is not compared."""
    dtype = array_dtype(v.dtype)
    expected = pack(layout, plain.view(dtype), v.dtype)
    elements = pack(layout, np.ones(plain.shape, np.uint8), "uint8") != 0
    a, b = found.view(dtype), expected
    rtol, atol = tolerance
    same = np.isclose(a.astype(float), b.astype(float), rtol=rtol, atol=atol, equal_nan=True) | ~elements
    if not same.all():
        place = tuple(int(k) for k in np.argwhere(~same)[0])
        raise GraphError(
            f"{where}: {v.name}{list(place)} is {a[place]}, and {b[place]} was to be there; the word is wrong"
        )
