"""Where the tensors of a graph stand while it runs: values that do not live at the same time share memory.

A value lives from the node that computes it to the last one that reads it.  Values are taken in the order in which
they come to be; each gets, of the pieces that are free, the smallest that is large enough, or the largest, which then
grows (best fit).  The results of the graph stand apart, as they outlive the run.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TypeAlias, final

import numpy as np

from verified_tir.codegen.aligned_arrays import LINE, aligned_empty
from verified_tir.graph.element_types import array_dtype, held_as
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array, Graph, TensorType, Value
from verified_tir.ir.expr import Var

Sizes: TypeAlias = "Mapping[Var, int]"
"""Numbers for the symbols of a graph."""

KEPT = 4
"""Memory is kept for so many different sizes."""


@final
@dataclass(frozen=True, slots=True)
class Placement:
    """The piece of memory of each value that is computed and is not a result, and the sizes of the pieces in bytes."""

    piece: dict[Value, int]
    sizes: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """All pieces together."""
        return sum(self.sizes)


def place(graph: Graph, symbols: Sizes | None = None) -> Placement:
    """Pieces for what flows between the nodes; a node's results never share one with its operands.

    :param symbols: numbers for those of the graph.
    :raises GraphError: if one is missing, or an extent is negative with these.
    """
    last = {v: k for k, n in enumerate(graph.nodes) for v in (*n.outputs, *n.inputs)}
    results = {*graph.outputs}
    piece: dict[Value, int] = {}
    sizes: list[int] = []
    free: list[int] = []
    ending: dict[int, list[Value]] = {}
    for k, n in enumerate(graph.nodes):
        for v in n.outputs:
            if v in results:
                continue
            size = v.type.at(symbols or {}).nbytes
            fitting = [p for p in free if sizes[p] >= size]
            if fitting:
                chosen = min(fitting, key=lambda p: sizes[p])
            elif free:
                chosen = max(free, key=lambda p: sizes[p])
                sizes[chosen] = size
            else:
                chosen = len(sizes)
                sizes.append(size)
            if chosen in free:
                free.remove(chosen)
            piece[v] = chosen
            ending.setdefault(max(last[v], k), []).append(v)
        free += [piece[v] for v in ending.pop(k, ())]
    return Placement(piece, tuple(sizes))


@final
class Workspace:
    """The memory of one run, made once and used again by later ones of the same sizes."""

    def __init__(self, placement: Placement, sizes: Sizes) -> None:
        pieces = [aligned_empty((size,), np.dtype(np.uint8)) for size in placement.sizes]
        self.sizes = tuple(sizes.items())
        self.arrays: dict[Value, Array] = {
            v: np.ndarray(v.type.at(sizes).shape, array_dtype(held_as(v.dtype)), pieces[p].data)
            for v, p in placement.piece.items()
        }
        """An array for each value that has a piece."""


@final
class Workspaces:
    """The memory of a graph's runs: what is not in use is kept, of the sizes that were used last."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._free: dict[tuple[tuple[Var, int], ...], list[Workspace]] = {}
        self._lock = Lock()

    def take(self, sizes: Sizes) -> Workspace:
        """Memory for a run that nobody else has.

        :raises GraphError: if there is not so much, or an extent is negative with these sizes.
        """
        with self._lock:
            free = self._free.get(tuple(sizes.items()))
            if free:
                return free.pop()
        placement = place(self.graph, sizes)
        enough(self.graph, placement, sizes)
        return Workspace(placement, sizes)

    def give_back(self, workspace: Workspace) -> None:
        """Keep what a run has used."""
        with self._lock:
            free = self._free.pop(workspace.sizes, [])
            self._free[workspace.sizes] = [*free, workspace]
            for old in list(self._free)[:-KEPT]:
                del self._free[old]


def needed(graph: Graph, placement: Placement, sizes: Sizes | None = None) -> int:
    """The bytes of a run: inputs, constants, results, and what flows between the nodes."""
    outside = {*graph.inputs, *graph.constants, *graph.outputs}
    return placement.nbytes + sum(v.type.at(sizes or {}).nbytes for v in outside)


def enough(graph: Graph, placement: Placement, sizes: Sizes | None = None) -> None:
    """:raises GraphError: if a run takes more memory than there is."""
    if (wanted := needed(graph, placement, sizes)) > machine_memory():
        largest = max(graph.values(), key=lambda v: v.type.at(sizes or {}).nbytes)
        raise GraphError(
            f"{graph.name} needs {_gigabytes(wanted)} of memory, and there are {_gigabytes(machine_memory())}; the "
            f"largest tensor is {largest}"
        )


def _gigabytes(nbytes: int) -> str:
    return f"{nbytes / 2**30:.1f} GiB"


def machine_memory() -> int:
    """The bytes of memory that may be taken; very many if the system does not say (Linux does)."""
    found = [2**63]
    for path, pattern, unit in (
        ("/proc/meminfo", r"MemAvailable:\s*(\d+) kB", 1024), ("/sys/fs/cgroup/memory.max", r"(\d+)", 1),
    ):  # fmt: skip
        with contextlib.suppress(OSError, UnicodeDecodeError):
            said = re.search(pattern, Path(path).read_text(encoding="ascii"))
            found += [int(said[1]) * unit] if said is not None else []
    return min(found)


def empty(t: TensorType) -> Array:
    """A new array with elements that are not set, as programs take it."""
    return aligned_empty(t.shape, array_dtype(held_as(t.dtype)))


def aligned(array: Array) -> Array:
    """The array, or a copy of it, dense and aligned."""
    if array.flags.c_contiguous and array.ctypes.data % LINE == 0:
        return array
    made = aligned_empty(array.shape, array.dtype)
    made[...] = array
    return made
