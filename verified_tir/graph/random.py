"""Random weights for graphs and models: what is right does not depend on them, and models often come without."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from verified_tir.graph.ir import Array, Graph


def random_weights(rng: np.random.Generator, array: Array) -> Array:
    """An array of the same shape and type.

    Those of two dimensions or more are normal around 0, scaled so that activations keep their size (He et al., 2015);
    vectors, among them variances, are between 0.5 and 1.5.  Numbers alone, and what are not floats, stay as they are.
    """
    if array.dtype.kind != "f" or array.size <= 1:
        return array
    if array.ndim == 1:
        return rng.uniform(0.5, 1.5, array.shape).astype(array.dtype)
    inputs = max(1, int(np.prod(array.shape[1:])))
    made: Any = rng.standard_normal(array.shape, np.float32) * np.sqrt(2.0 / inputs)
    return np.asarray(made).astype(array.dtype)


def random_constants(graph: Graph, seed: int = 0) -> Graph:
    """The graph with other constants."""
    rng = np.random.default_rng(seed)
    constants = {v: random_weights(rng, a) for v, a in graph.constants.items()}
    return replace(graph, constants=constants)
