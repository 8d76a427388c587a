"""Arrays for the inputs of a model: from files, random, or a ramp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from verified_tir.cli.execute import random_array
from verified_tir.cli.reading import problem_with
from verified_tir.graph.element_types import array_dtype
from verified_tir.graph.errors import GraphError
from verified_tir.graph.memory import machine_memory
from verified_tir.graph.sizes import remedy, symbols_of
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Var
from verified_tir.ir.numpy_types import numpy_dtype

if TYPE_CHECKING:
    from verified_tir.graph.ir import Array, Graph, TensorType, Value

MADE = ("random", "ramp")
"""What inputs may be instead of files; a ramp is 0, 1/n, 2/n … (the inputs of onnx's own tests of whole models)."""


def input_arrays(graph: Graph, texts: Sequence[str], seed: int = 0) -> tuple[dict[str, Array], dict[str, str]]:
    """An array for each input of a graph, and a word on each: its type and where it comes from.

    :param texts: ``name=file.npy``, ``name=file.pb`` or ``name=random``; without a name where there is one input. Those
        that are not mentioned are random.
    :raises GraphError: for an unknown input, a file that does not exist, or an array that does not fit.
    """
    names = {v.name: v for v in graph.inputs}
    given: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals and len(names) == 1:
            name, value = next(iter(names)), text
        elif not equals:
            raise GraphError(f"--input {text}: write name=file.npy, name=file.pb, name=random or name=ramp")
        if name not in names:
            raise GraphError(f"--input {text}: the model has no input {name}; it has {', '.join(names) or 'none'}")
        if name in given:
            raise GraphError(f"--input {text}: {name} is given twice")
        given[name] = value
    rng = np.random.default_rng(seed)
    sources = {name: given.get(name, "random") for name in names}
    read = {name: read_array(Path(source)) for name, source in sources.items() if source not in MADE}
    sizes = _sizes(names, sources, read)
    arrays: dict[str, Array] = {}
    words: dict[str, str] = {}
    for name, v in names.items():
        source = sources[name]
        missing = [e for e in symbols_of(v.dims) if e not in sizes]
        if missing:
            raise GraphError(f"the input {name} is {v.type}; {remedy(missing)}, or its array: --input {name}=FILE")
        t = v.type.at(sizes)
        if t.nbytes > machine_memory():
            raise GraphError(f"the input {name} is {t}: {t.nbytes:,} bytes are more than this machine's memory")
        arrays[name] = read[name] if name in read else _array(t, source, rng)
        words[name] = f"{v.dtype}{list(t.shape)}, {f'random (seed {seed})' if source == 'random' else source}"
    return arrays, words


def _sizes(names: Mapping[str, Value], sources: Mapping[str, str], read: Mapping[str, Array]) -> dict[Var, int]:
    """The sizes that are open in a model, as arrays from files have them.

    :raises GraphError: if an array does not fit.
    """
    found: dict[Var, int] = {}
    for name, array in read.items():
        if array.ndim == names[name].rank:
            for e, n in zip(names[name].dims, array.shape, strict=True):
                if isinstance(e, Var):
                    found.setdefault(e, n)
    for name, array in read.items():
        v = names[name]
        if array.ndim != v.rank or array.shape != v.type.at(found).dims or array.dtype != array_dtype(v.dtype):
            where = "".join(f", where {e.name} = {found[e]}" for e in symbols_of(v.dims) if e in found)
            wanted = f"{v.dtype}{list(v.shape)}" if not v.type.is_open else f"{v.type}{where}"
            raise GraphError(f"{sources[name]} holds {array.dtype}{list(array.shape)}; the input {name} is {wanted}")
    return found


def _array(t: TensorType, source: str, rng: np.random.Generator) -> Array:
    """An array that is made up."""
    dtype = DType.parse(t.dtype)
    if source == "random":
        return random_array(rng, dtype, t.shape)
    steps = np.arange(t.size).reshape(t.shape)
    return (steps / max(1, t.size) if dtype.is_float else steps).astype(numpy_dtype(dtype))


def read_array(path: Path) -> Array:
    """The array in a file: ``.npy`` of NumPy, ``.pb`` of ONNX (a TensorProto).

    :raises GraphError: if there is none.
    """
    if problem := problem_with(path, None):
        raise GraphError(f"{path}: {problem}")
    try:
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False))
        if path.suffix == ".pb":
            import onnx
            from onnx import numpy_helper

            tensor = onnx.TensorProto()
            tensor.ParseFromString(path.read_bytes())
            return np.asarray(numpy_helper.to_array(tensor))
    except ImportError:
        from verified_tir.extras import missing

        raise GraphError(missing(f"{path}: reading it", "onnx")) from None
    except Exception as problem:  # of NumPy and of the protocol, of many kinds
        raise GraphError(f"{path} holds no array: {problem}") from None
    raise GraphError(f"{path}: arrays are read from .npy and .pb files")
