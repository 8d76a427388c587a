"""Graphs: dataflow of operators on tensors (Relax's dataflow blocks, as far as they are pure).

A graph has inputs, constants, nodes in an order in which each uses what comes before it, and outputs.  A node is

* a named operator (``nn.conv2d``) with attributes, whose meaning is a tensor expression (``graph.operators``);
* ``call_tir``: a PrimFunc that writes its last arguments, the node's results;
* a rewrite of a layout: ``layout_transform`` (an index map and what padding holds), ``pad`` or ``crop``.

Extents are numbers, or sizes that are known when the graph runs (``graph.sizes``): each symbol is the extent of an
input.  Values are compared by identity; their names are for readers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, final

import numpy.typing as npt

from verified_tir.graph.element_types import array_dtype, held_as, unchanging
from verified_tir.graph.errors import GraphError
from verified_tir.graph.sizes import (
    Dim,
    dim_of,
    dim_text,
    narrowed,
    numbers,
    replaced,
    shape_text,
    solved,
    symbols_of,
    value,
)
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.kernel.effects import written_blocks

Array: TypeAlias = npt.NDArray[Any]

LARGEST: Final = 2**31 - 1
"""The largest extent: indices are int32."""


@final
@dataclass(frozen=True, slots=True)
class TensorType:
    """Extents and element type; an extent that is a number is not negative."""

    dims: tuple[Dim, ...]
    dtype: str

    def __post_init__(self) -> None:
        try:
            array_dtype(self.dtype)
        except (IRError, ValueError) as problem:
            raise GraphError(f"there is no type {self.dtype!r}: {problem}") from None
        object.__setattr__(self, "dims", tuple(map(dim_of, self.dims)))
        for e in self.dims:
            if isinstance(e, int) and e < 0:
                raise GraphError(f"a shape holds numbers that are not negative, not {e!r}")
            if isinstance(e, int) and e > LARGEST:
                raise GraphError(f"a dimension has at most {LARGEST} elements here, not {e}")

    def __str__(self) -> str:
        return f'R.Tensor({shape_text(self.dims)}, "{self.dtype}")'

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents as numbers.

        :raises GraphError: if one is open.
        """
        return numbers(self.dims, f"a {self.dtype} tensor")

    @property
    def is_open(self) -> bool:
        """Whether an extent is not a number."""
        return any(not isinstance(e, int) for e in self.dims)

    def at(self, sizes: Mapping[Var, int]) -> TensorType:
        """The type with numbers for symbols.

        :raises GraphError: if a symbol has none, or an extent is negative.
        """
        return TensorType(tuple(value(e, sizes) for e in self.dims), self.dtype) if self.is_open else self

    @property
    def size(self) -> int:
        """How many elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """How many bytes."""
        return self.size * array_dtype(self.dtype).itemsize


@final
@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A tensor that flows along an edge."""

    name: str
    type: TensorType

    @property
    def dims(self) -> tuple[Dim, ...]:
        return self.type.dims

    @property
    def rank(self) -> int:
        """How many dimensions."""
        return len(self.type.dims)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents as numbers.

        :raises GraphError: if one is open.
        """
        return numbers(self.dims, self.name)

    @property
    def dtype(self) -> str:
        return self.type.dtype

    def __repr__(self) -> str:
        return f"{self.name}: {self.type}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An operation: ``outputs = op(inputs, **attrs)``; ``func`` is the PrimFunc of ``call_tir``.

    ``source`` says where the node came from (the name of an ONNX node), for messages and reports.
    """

    op: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    func: PrimFunc | None = None
    source: str = ""

    @property
    def output(self) -> Value:
        """The only result.

        :raises GraphError: if there are several.
        """
        if len(self.outputs) != 1:
            raise GraphError(f"{self} has {len(self.outputs)} results")
        return self.outputs[0]

    def __str__(self) -> str:
        return f"{self.op} {self.source or ', '.join(v.name for v in self.outputs)}".rstrip()


@final
@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Inputs, constants (with their arrays), nodes in order, outputs.

    Arrays of constants cannot be written.  Of one that is given and could be, the graph has a copy.

    :ivar zero_with: pairs of sizes; where the first one is 0, the second one must be, or a call is refused.  So a model
        says in which an extent of 0 means another one (ONNX's ``Reshape``).
    """

    name: str
    inputs: tuple[Value, ...]
    constants: Mapping[Value, Array]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]
    zero_with: tuple[tuple[Dim, Dim], ...] = ()

    def __post_init__(self) -> None:
        known: set[Value] = {*self.inputs, *self.constants}
        sizes = self.symbols
        for e in (e for pair in self.zero_with for e in symbols_of(pair) if e not in sizes):
            raise GraphError(f"no input of {self.name} has the extent {e.name}, which is said not to be 0")
        for v, array in self.constants.items():
            if array.shape != v.dims or array.dtype != array_dtype(v.dtype):
                raise GraphError(f"the constant {v.name} is {array.dtype}{list(array.shape)}, not {v.type}")
        object.__setattr__(self, "constants", {v: unchanging(a) for v, a in self.constants.items()})
        for node in self.nodes:
            for v in node.inputs:
                if v not in known:
                    raise GraphError(f"{node} uses {v.name}, which nothing before it computes")
            for v in node.outputs:
                if v in known:
                    raise GraphError(f"{node} computes {v.name}, which is there already")
                known.add(v)
                for e in (e for e in symbols_of(v.dims) if e not in sizes):
                    raise GraphError(f"{node}: {v.name} is {v.type}, and no input has the extent {e.name}")
            for e in (e for e in symbols_of(sizes_in(node.attrs)) if e not in sizes):
                raise GraphError(f"{node}: no input has the extent {e.name}, which an attribute mentions")
            if (node.op == "call_tir") != (node.func is not None):
                raise GraphError(f"{node}: a PrimFunc belongs to call_tir, and to nothing else")
            if node.func is not None:
                check_call(node)
        for v in self.outputs:
            if v not in known:
                raise GraphError(f"the result {v.name} is computed nowhere")

    @property
    def symbols(self) -> tuple[Var, ...]:
        """The sizes that are open, in the order of the inputs that have them.

        :raises GraphError: if an input has an extent that is made of others which no input has.
        """
        found = dict.fromkeys(e for v in self.inputs for e in v.dims if isinstance(e, Var))
        for v in self.inputs:
            for e in (e for e in symbols_of(v.dims) if e not in found):
                raise GraphError(f"the input {v.name} is {v.type}, and no input has the extent {e.name} itself")
        return tuple(found)

    def producer(self) -> dict[Value, Node]:
        """The node that computes each value (inputs and constants have none)."""
        return {v: n for n in self.nodes for v in n.outputs}

    def consumers(self) -> dict[Value, list[Node]]:
        """The nodes that use each value."""
        found: dict[Value, list[Node]] = {}
        for n in self.nodes:
            for v in dict.fromkeys(n.inputs):
                found.setdefault(v, []).append(n)
        return found

    def values(self) -> Iterator[Value]:
        """Every value, in the order in which it comes to be."""
        yield from self.inputs
        yield from self.constants
        for n in self.nodes:
            yield from n.outputs

    def __str__(self) -> str:
        from verified_tir.graph.write_text import graph_text

        return graph_text(self)


def sizes_in(attribute: Any) -> Iterator[Expr]:
    """The sizes that are open in an attribute, or in all of them."""
    if isinstance(attribute, Mapping):
        attribute = list(attribute.values())
    if isinstance(attribute, (list, tuple)):
        for a in attribute:
            yield from sizes_in(a)
    elif isinstance(attribute, Expr):
        yield attribute


def with_other_sizes(attribute: Any, of: Callable[[Expr], Any]) -> Any:
    """An attribute, or all of them, with others in place of the sizes that are open."""
    if isinstance(attribute, Mapping):
        return {k: with_other_sizes(a, of) for k, a in attribute.items()}
    if isinstance(attribute, (list, tuple)):
        return type(attribute)(with_other_sizes(a, of) for a in attribute)
    return of(attribute) if isinstance(attribute, Expr) else attribute


def with_sizes(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """The graph with positive numbers for some of its symbols (an attribute 0 may mean something else).

    :raises GraphError: if there is no such symbol.
    """
    symbols = {e.name: e for e in graph.symbols}
    for name in sizes:
        if name not in symbols:
            raise GraphError(f"{graph.name} has no open size {name}; it has {', '.join(symbols) or 'none'}")
        if sizes[name] < 1:
            raise GraphError(f"the size {name} is a positive number, not {sizes[name]}")
    by: dict[Var, Dim] = {symbols[name]: n for name, n in sizes.items()}
    values = {v: Value(v.name, TensorType(tuple(replaced(e, by) for e in v.dims), v.dtype)) for v in graph.values()}

    def of(some: Sequence[Value]) -> tuple[Value, ...]:
        return tuple(values[v] for v in some)

    nodes = [
        Node(n.op, of(n.inputs), of(n.outputs), with_other_sizes(n.attrs, lambda e: replaced(e, by)), n.func, n.source)
        for n in graph.nodes
    ]
    constants = {values[v]: a for v, a in graph.constants.items()}
    zero_with = tuple((replaced(e, by), replaced(d, by)) for e, d in graph.zero_with)
    zero_with = tuple((e, d) for e, d in zero_with if isinstance(e, Expr))
    return Graph(graph.name, of(graph.inputs), constants, tuple(nodes), of(graph.outputs), zero_with)


def check_call(node: Node) -> None:
    """A PrimFunc takes arrays of the shapes and types that it is given, and leaves its operands as they are, which
    other nodes read.

    :raises GraphError: if not.
    """
    assert node.func is not None
    buffers = node.func.buffers
    values = (*node.inputs, *node.outputs)
    if len(buffers) != len(node.func.params) or len(buffers) != len(values):
        raise GraphError(f"{node}: {node.func.name} has {len(node.func.params)} parameters and is given {len(values)}")
    for b, v in zip(buffers, values, strict=True):
        if len(b.shape) != len(v.dims) or str(b.dtype) != held_as(v.dtype):
            raise _misfit(node, b, v)
    written = written_blocks(node.func.body)
    changed = next((b for b in buffers[: len(node.inputs)] if b.data in written), None)
    if changed is not None:
        raise GraphError(f"{node}: {node.func.name} writes its operand {changed.name}; a node writes its results only")
    symbol_values(node, node.func)


def symbol_values(node: Node, func: PrimFunc) -> dict[Var, Dim]:
    """What the symbols in the shapes of a node's program are: sizes of the graph.

    :raises GraphError: if the shapes of the node's operands and results are not those of the program.
    """
    pairs = [(b, v) for b, v in zip(func.buffers, (*node.inputs, *node.outputs), strict=True)]
    small: dict[Var, Var] = {}
    found = solved([(narrowed(e, small), d) for b, v in pairs for e, d in zip(b.shape, v.dims, strict=True)])
    if isinstance(found, dict):
        own = {stand_in: v for v, stand_in in small.items()}
        return {own.get(v, v): d for v, d in found.items()}
    for b, v in pairs:
        if not isinstance(solved([(narrowed(e, small), d) for e, d in zip(b.shape, v.dims, strict=True)]), dict):
            raise _misfit(node, b, v)
    left, right = found
    raise GraphError(f"{node}: {func.name} has the extent {dim_text(left)} where {dim_text(right)} is given")


def _misfit(node: Node, b: Buffer, v: Value) -> GraphError:
    assert node.func is not None
    shape = shape_text([narrowed(e, {}) for e in b.shape])
    return GraphError(f"{node}: {node.func.name} takes {b.name} as {b.dtype}{shape}, and {v.name} is {v.type}")
