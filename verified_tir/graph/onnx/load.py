"""Reading ONNX models.

Each node is checked against ONNX's own schemas first (``schema``).  It becomes operators of the graph (``convert``),
with results of the types that the schema infers; where its operands are constants, so are these.  Some operators that
are not known here are computed of constants by the evaluator of the ``onnx`` package (``in_advance``).  Dimensions
without a size stay open (``inputs``), unless sizes are given by name; what nodes compute of these is known as sizes
(``counts``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from verified_tir.graph.builder import GraphBuilder
from verified_tir.graph.constants import FEW, constants_folded
from verified_tir.graph.element_types import array_dtype
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array, Graph, Value
from verified_tir.graph.onnx.control import CONTROL, expanded, free_names, used_names
from verified_tir.graph.onnx.convert import CONVERSIONS
from verified_tir.graph.onnx.converter import Converter, at, name_of, shown
from verified_tir.graph.onnx.counts import MOST_COUNTED, Counts, computed_of_sizes, counts, listed
from verified_tir.graph.onnx.declared import check_names, check_types
from verified_tir.graph.onnx.functions import called, definition, key_of, local_functions, opset_in
from verified_tir.graph.onnx.in_advance import computed, fits
from verified_tir.graph.onnx.inputs import Sizes, input_shapes
from verified_tir.graph.onnx.schema import Shape, inferred, opset_of, signature, type_of
from verified_tir.graph.operators.shape import axis_of
from verified_tir.graph.sizes import Dim, numbers, product, symbols_of

MOST_NODES = 50_000
"""Of models that are larger when functions and loops are unrolled, some are endless."""

MOST_CALLS = 50

_OPEN = "the shape of its result depends on the elements of its operands"
_RANDOM = "it draws random numbers"
_SEQUENCE = "only tensors are values here, and no sequences or optional values"
REFUSED = {
    **dict.fromkeys(("NonZero", "Unique", "NonMaxSuppression"), _OPEN),
    **dict.fromkeys(("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
                     "RandomUniformLike"), _RANDOM),
    **dict.fromkeys(("SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert",
                     "SequenceLength", "SequenceMap", "SplitToSequence", "ConcatFromSequence", "Optional",
                     "OptionalGetElement", "OptionalHasElement"), _SEQUENCE),
}  # fmt: skip
"""Why some operators that models use are not known here."""


def load_onnx(path: Path | str, sizes: Sizes | None = None) -> Graph:
    """The graph of the model in a file.

    :param sizes: numbers for symbolic dimensions, or whole shapes of inputs, by name.
    :raises GraphError: if the file is not a model, or a node has no counterpart; the message names it.
    """
    return from_onnx(read_onnx(path), sizes, Path(path).stem)


def read_onnx(path: Path | str) -> Any:
    """The model in a file (``onnx.ModelProto``), checked by the package ``onnx``.

    :raises GraphError: if there is none.
    """
    onnx = _onnx()
    try:
        model = onnx.load(str(path))
        onnx.checker.check_model(model)
    except FileNotFoundError:
        raise GraphError(f"there is no file {path}") from None
    except Exception as problem:  # the protocol's own errors, of many kinds
        said = shown(" ".join(str(problem).split()), 400)
        if said.startswith("Field 'shape' of"):
            raise GraphError(
                f"{path}: an input or a result of the model has no shape; export the model with shapes, or add them "
                "with onnx.shape_inference.infer_shapes"
            ) from None
        if said.startswith("No Op registered for"):
            raise GraphError(f"{path}: the model has an operator that ONNX does not define: {said}") from None
        raise GraphError(f"{path} is not an ONNX model: {said or type(problem).__name__}") from None
    return model


def _onnx() -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.numpy_helper
    except ImportError:
        from verified_tir.extras import missing

        raise GraphError(missing("reading ONNX models", "onnx")) from None
    return onnx


def from_onnx(model: Any, sizes: Sizes | None = None, name: str = "main") -> Graph:
    """The graph of a model in memory (``onnx.ModelProto``)."""
    return constants_folded(Reader(model, sizes or {}, name).read())


class Reader:
    """Reads a model once."""

    def __init__(self, model: Any, sizes: Sizes, name: str) -> None:
        self.onnx = _onnx()
        self.model = model
        self.sizes = sizes
        self.builder = GraphBuilder(name)
        self.opset = opset_of(model)
        self.arrays: dict[str, Array] = {}
        """Constants by their names in the model; values of the graph are made of those that it uses."""
        self.counts: dict[str, Counts] = {}
        """Integers that depend on sizes that are open."""
        self.known: dict[str, Value] = {}
        self.functions = local_functions(model)
        self.calls: list[Any] = []
        """Functions of the model whose nodes are being taken."""
        self.taken = 0
        """How many nodes were taken, those of functions and loops as often as they are."""
        self.inputs: list[Value] = []
        self.definitions = 0
        self.names = {i.name for i in (*model.graph.input, *model.graph.initializer)}
        self.used = used_names(model.graph)
        self.names |= self.used | {n for node in model.graph.node for n in node.output}

    def read(self) -> Graph:
        graph = self.model.graph
        check_names(graph)
        for t in graph.initializer:
            self.arrays[t.name] = self.tensor(t)
        for name, element, shape in input_shapes(graph, self.sizes, self.arrays):
            v = self.builder.input(name, shape, self.dtype(element, f"the input {name}"))
            self.known[name] = v
            self.inputs.append(v)
        for node in graph.node:
            self.node(node)
        outputs = [self.result(o) for o in graph.output]
        if not outputs:
            raise GraphError("the model has no results")
        check_types(self, graph)
        return self.builder.finish(*outputs, names=[o.name for o in graph.output])

    def result(self, o: Any) -> Value:
        """A result of the model."""
        v, t = self.value(o.name, None), o.type
        if t.WhichOneof("value") not in (None, "tensor_type"):
            raise GraphError(f"the result {o.name} is not a tensor")
        if t.HasField("tensor_type"):
            self.dtype(t.tensor_type.elem_type, f"the result {o.name}")
        return v

    def dtype(self, element: int, where: str) -> str:
        try:
            found = str(self.onnx.helper.tensor_dtype_to_np_dtype(element))
        except (KeyError, ValueError):
            raise GraphError(f"{where} has element type {element}, which there is not here") from None
        return found

    def tensor(self, t: Any) -> Array:
        try:
            return np.asarray(self.onnx.numpy_helper.to_array(t))
        except (KeyError, TypeError, ValueError) as problem:
            raise GraphError(f"the elements of {t.name or 'a tensor'} cannot be read: {problem}") from None

    def attribute(self, a: Any) -> Any:
        found = self.onnx.helper.get_attribute_value(a)
        if isinstance(found, bytes):
            try:
                return found.decode()
            except UnicodeDecodeError:
                raise GraphError(f"the attribute {a.name} is not valid UTF-8") from None
        if isinstance(found, self.onnx.TensorProto):
            return self.tensor(found)
        return found

    def value(self, name: str, where: Converter | None) -> Value:
        """The value of that name; a constant becomes one of the graph when it is used first."""
        if name not in self.known and name in self.counts:
            self.known[name] = self.counted_value(name)
        if name not in self.known:
            if name not in self.arrays:
                message = f"{name} is computed nowhere"
                raise where.fail(message) if where is not None else GraphError(message)
            self.known[name] = self.builder.constant(self.arrays[name], name)
        return self.known[name]

    def counted_value(self, name: str) -> Value:
        """Sizes as a tensor, for what computes with them when the graph runs."""
        c = self.counts[name]
        sizes = listed(c, name)
        made: Value = self.builder.op(
            "sizes", *self.shown(sizes), values=tuple(sizes), shape=c.array.shape, dtype=c.dtype, name=name
        )
        return made

    def shown(self, sizes: Sequence[Dim]) -> list[Value]:
        """Inputs of the model that have the symbols of some sizes as extents."""
        found = [next(v for v in self.inputs if e in v.dims) for e in symbols_of(sizes)]
        return list(dict.fromkeys(found))

    def node(self, node: Any) -> None:
        """Take a node: what is known of its results becomes known, or an operator computes them."""
        try:
            self.taken += 1
            if self.taken > MOST_NODES:
                raise GraphError(f"the model is made of more than {MOST_NODES} nodes, each function and loop unrolled")
            for k, n in enumerate(node.output):
                if n and (n in self.known or n in self.arrays or n in self.counts or n in node.output[:k]):
                    raise GraphError(f"its result {n} is there already")
            if (body := self.functions.get(key_of(node))) is not None:
                self.call(node, body)
                return
            c = Converter(self, node, signature(node, self.opset))
            if node.op_type in CONTROL:
                expanded(self, node)
                return
            types = {n: self.type(n, c) for n in node.input if n}
            wanted = inferred(node, c.schema, types, self.arrays, self.imports)
            if self.shape_of(node) or computed_of_sizes(self, node, wanted):
                return
            if all(n in self.arrays for n in node.input if n):
                self.constant(c, types, wanted)
            elif not self.defined(node, types, wanted):
                self.convert(c, wanted)
        except GraphError as problem:
            said, name = str(problem), name_of(node)
            raise problem if said.startswith("node ") else at(node, said.removeprefix(f"{name}: ")) from None
        except MemoryError:
            raise at(node, "it takes more memory than there is") from None
        except (ArithmeticError, LookupError, TypeError, ValueError) as problem:  # an attribute that makes no sense
            raise at(node, f"it makes no sense: {type(problem).__name__}: {problem}") from problem

    def call(self, node: Any, body: Any) -> None:
        """Take the nodes of a function of the model, in the place of a node that calls it."""
        if body in self.calls:
            raise GraphError(f"the function {node.op_type} calls itself")
        if len(self.calls) == MOST_CALLS:
            raise GraphError(f"functions call each other more than {MOST_CALLS} deep")
        self.calls.append(body)
        self.take(called(node, body, self.fresh(node.op_type)), opset_in(body, self.opset))
        self.calls.pop()

    def take(self, nodes: Sequence[Any], opset: int) -> None:
        """Take nodes that stand for another one, and are of an opset of their own."""
        self.used |= {n for inner in nodes for n in free_names(inner)}
        around, self.opset = self.opset, opset
        for inner in nodes:
            self.node(inner)
        self.opset = around

    @property
    def imports(self) -> list[Any]:
        """The opsets of the nodes that are being taken."""
        others = [i for i in self.model.opset_import if i.domain not in ("", "ai.onnx")]
        return [self.onnx.helper.make_opsetid("", self.opset), *others]

    def type(self, name: str, where: Converter | None) -> Any:
        """The type of an operand, as ONNX writes it."""
        found = self.arrays.get(name)
        if found is not None:
            return type_of(found.dtype, found.shape)
        if name in self.counts:
            return type_of(self.counts[name].dtype, self.counts[name].array.shape)
        v = self.value(name, where)
        return type_of(array_dtype(v.dtype), v.dims)

    def dims(self, name: str) -> tuple[Dim, ...]:
        """The shape of a value or constant."""
        found = self.arrays.get(name)
        if found is None and name in self.counts:
            found = self.counts[name].array
        return tuple(found.shape) if found is not None else self.value(name, None).dims

    def shape(self, name: str) -> tuple[int, ...]:
        """The same in numbers.

        :raises GraphError: if an extent is open.
        """
        return numbers(self.dims(name), name)

    def fresh(self, word: str) -> str:
        """What no name begins with: names inside of nodes must be nobody's."""
        while True:
            self.definitions += 1
            prefix = f"_{self.definitions}_{word}_"  # no other prefix begins so, whatever the words are
            if not any(n.startswith(prefix) for n in self.names):
                return prefix

    def constant(self, c: Converter, types: Mapping[str, Any], wanted: Mapping[str, tuple[str, Shape]]) -> None:
        """Take a node whose operands are constants: its results are what they would be if these were inputs.

        Small results are known at once, as shapes, axes and counts may depend on them; others when the graph is made.
        Some of what is not known here is computed by the evaluator of the package ``onnx``.
        """
        node, mark = c.node, self.builder.mark()
        if not self.defined(node, types, wanted):
            results = computed(c, self.arrays, self.imports, wanted)
            if results is not None:
                self.arrays.update(zip([n for n in node.output if n], results, strict=True))
                return
            self.convert(c, wanted)
        names = [n for n in node.output if n in self.known]
        few = all(self.known[n].type.size <= MOST_COUNTED for n in names)
        if few or self.builder.size_since(mark) <= FEW:
            self.arrays.update(zip(names, self.builder.fold(mark, [self.known[n] for n in names]), strict=True))

    def shape_of(self, node: Any) -> bool:
        """``Shape`` and ``Size`` of a value are constants, or sizes that are open."""
        if node.op_type not in ("Shape", "Size"):
            return False
        shape = self.dims(node.input[0])
        attrs = {a.name: self.attribute(a) for a in node.attribute}
        if node.op_type == "Size":
            whole = counts([product(shape)])
            self.know(node.output[0], Counts(whole.array.reshape(()), whole.dtype))
        else:
            self.know(node.output[0], counts(shape[attrs.get("start", 0) : attrs.get("end", len(shape))]))
        return True

    def know(self, name: str, found: Counts) -> None:
        """Sizes under a name: constants, if they are numbers."""
        if found.known is not None:
            self.arrays[name] = found.known
        else:
            self.counts[name] = found

    def defined(self, node: Any, types: Mapping[str, Any], wanted: Mapping[str, tuple[str, Shape]]) -> bool:
        """Take the nodes of an operator's definition, if it is not known here and ONNX defines it by others.

        Results have the shapes of the schema: some definitions make a vector of one element of a number.
        """
        if node.op_type in CONVERSIONS:
            return False
        for a in node.attribute:  # definitions count from there on, whatever it is
            for axis in [a.i] if a.name == "axis" else a.ints if a.name == "axes" else ():
                axis_of(axis, len(self.dims(node.input[0])))
        found = definition(node, self.opset, types, self.fresh(node.op_type.lower()))
        if found is None:
            return False
        self.take(*found)
        for n, (_, shape) in wanted.items():
            v = self.known.get(n)
            if v is not None and shape == () and v.dims == (1,):
                self.known[n] = self.builder.op("reshape", v, shape=(), name=n, source=node.name)
                self.arrays.pop(n, None)
            elif v is not None and shape is not None and not fits(v.dims, shape):
                raise GraphError(
                    f"its result {n} has shape {list(shape)} by its schema, and {v.type} by its definition"
                )
        return True

    def convert(self, c: Converter, types: Mapping[str, tuple[str, Shape]]) -> None:
        node = c.node
        if node.domain not in ("", "ai.onnx") or node.op_type not in CONVERSIONS:
            why = REFUSED.get(node.op_type, "") if node.domain in ("", "ai.onnx") else ""
            name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
            raise c.fail(f"the operator {name} is not known here{why and ': '}{why}")
        made = CONVERSIONS[node.op_type](c)
        if c.attributes.unknown:
            raise c.fail(f"the attribute {', '.join(c.attributes.unknown)} is not known here (opset {self.opset})")
        results = [made] if isinstance(made, Value) else made
        for k, n in enumerate(node.output):
            if n and k < len(results):
                self.known[n] = results[k]
            elif n in self.used:
                raise c.fail(f"its result {n} is used, which is not known here")
        for n, (dtype, shape) in types.items():
            v = self.known.get(n)
            if v is not None and ((dtype and v.dtype != dtype) or (shape is not None and not fits(v.dims, shape))):
                raise c.fail(f"its result {n} is {dtype}{list(shape or ())} by ONNX's schema, and {v.type} here")
