"""Reading ONNX models.

Each node is checked against ONNX's own schemas first (``schema``).  Nodes whose operands are all constants are computed
at once, if the evaluator of the ``onnx`` package can (``in_advance``); the others become operators of the graph
(``convert``), with results of the types that the schema infers.  Shapes must be numbers: sizes of symbolic dimensions
are given by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np

from verified_tir.graph.constants import constants_folded
from verified_tir.graph.element_types import array_dtype
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array, Graph, GraphBuilder, Value
from verified_tir.graph.onnx.control import CONTROL, expanded, free_names, used_names
from verified_tir.graph.onnx.functions import called, definition, key_of, local_functions
from verified_tir.graph.onnx.in_advance import computed, evaluated, fits
from verified_tir.graph.onnx.schema import Shape, inferred, opset_of, signature, type_of

Sizes: TypeAlias = "Mapping[str, int | Sequence[int]]"

MOST_NODES = 50_000
"""Of models that are larger when functions and loops are unrolled, some are endless."""

MOST_CALLS = 50

_OPEN = "the shape of its result depends on the elements of its operands, and shapes are numbers here"
_RANDOM = "it draws random numbers"
_SEQUENCE = "only tensors are values here, and no sequences or optional values"
REFUSED = {
    **dict.fromkeys(("NonZero", "Unique", "NonMaxSuppression"), _OPEN),
    **dict.fromkeys(("Range", "ConstantOfShape"), f"{_OPEN}; with constant operands it is computed in advance"),
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
    :raises GraphError: if the file is no model, or a node has no counterpart; the message names it.
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
        raise GraphError(f"{path} is no ONNX model: {said or type(problem).__name__}") from None
    return model


def _onnx() -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.numpy_helper
    except ImportError:
        raise GraphError("reading ONNX models needs the extra onnx: pip install 'verified_tir[onnx]'") from None
    return onnx


def from_onnx(model: Any, sizes: Sizes | None = None, name: str = "main") -> Graph:
    """The graph of a model in memory (``onnx.ModelProto``)."""
    return constants_folded(_Reader(model, sizes or {}, name).read())


def name_of(node: Any) -> str:
    """The name of a node, or what it computes."""
    return str(node.name) or f"{node.op_type} ({', '.join(node.output)})"


def _at(node: Any, message: str) -> GraphError:
    return GraphError(f"node {shown(name_of(node), 200)} ({shown(node.op_type, 80)}): {shown(message, 600)}")


def shown(text: str, most: int) -> str:
    """A text of somebody else's in one line, not too long, and without what a terminal would obey."""
    plain = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
    return plain if len(plain) <= most else f"{plain[:most]}…"


@final
class Attributes(Mapping[str, Any]):
    """The attributes of a node; those that a conversion does not look at are none that it knows."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = dict(given)
        self._seen: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self._seen.add(name)
        return self._given[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The attribute, or its default; numbers with a point have the precision of float32, as those given have."""
        found = self[name] if name in self._given else default
        return float(np.float32(found)) if isinstance(found, float) else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    @property
    def unknown(self) -> list[str]:
        """Those that were not looked at."""
        return [n for n in self._given if n not in self._seen]


@final
class Converter:
    """What a conversion of a node works with: its operands, its attributes, and the graph in the making."""

    def __init__(self, reader: _Reader, node: Any) -> None:
        self.reader = reader
        self.builder = reader.builder
        self.node = node
        self.opset = reader.opset
        self.attributes = Attributes({a.name: reader.attribute(a) for a in node.attribute})
        self.name = name_of(node)

    def fail(self, message: str) -> GraphError:
        """An error that names the node."""
        return _at(self.node, message)

    def has(self, k: int) -> bool:
        """Whether there is a k-th operand; optional ones may be left out."""
        return k < len(self.node.input) and self.node.input[k] != ""

    @property
    def several(self) -> bool:
        """Whether more than its first result is used."""
        return any(n in self.reader.used for n in self.node.output[1:] if n)

    def value(self, k: int) -> Value:
        """The k-th operand as a value of the graph."""
        if not self.has(k):
            raise self.fail(f"operand {k} is missing")
        return self.reader.value(self.node.input[k], self)

    def type_of(self, k: int) -> str:
        """The element type of the k-th operand, of which nothing else matters."""
        found = self.reader.arrays.get(self.node.input[k])
        return self.value(k).dtype if found is None else str(found.dtype)

    def values(self) -> list[Value]:
        """All operands."""
        return [self.value(k) for k in range(len(self.node.input))]

    def array(self, k: int, what: str) -> Array | None:
        """The k-th operand as a constant; ``None`` if it is left out.

        :raises GraphError: if it is no constant.
        """
        if not self.has(k):
            return None
        found = self.reader.arrays.get(self.node.input[k])
        if found is None:
            raise self.fail(f"its {what} is computed by the model, and must be a constant here")
        return found

    def numbers(self, k: int, attribute: str) -> list[int] | None:
        """Integers that are an attribute in older models and an operand in newer ones."""
        if attribute in self.attributes:
            found = self.attributes[attribute]
            return [int(n) for n in found]
        array = self.array(k, attribute)
        return None if array is None else [int(n) for n in array.reshape(-1)]

    def op(self, name: str, *inputs: Value, **attrs: Any) -> Any:
        """A node of the graph, named after this one's result."""
        return self.builder.op(name, *inputs, name=self.node.output[0], source=self.name, **attrs)


class _Reader:
    """Reads a model once."""

    def __init__(self, model: Any, sizes: Sizes, name: str) -> None:
        self.onnx = _onnx()
        self.model = model
        self.sizes = sizes
        self.builder = GraphBuilder(name)
        self.opset = opset_of(model)
        self.arrays: dict[str, Array] = {}
        """Constants by their names in the model; values of the graph are made of those that it uses."""
        self.known: dict[str, Value] = {}
        self.functions = local_functions(model)
        self.calls: list[Any] = []
        """Functions of the model whose nodes are being taken."""
        self.taken = 0
        """How many nodes were taken, those of functions and loops as often as they are."""
        self.definitions = 0
        self.names = {i.name for i in (*model.graph.input, *model.graph.initializer)}
        self.used = used_names(model.graph)
        self.names |= self.used | {n for node in model.graph.node for n in node.output}

    def read(self) -> Graph:
        graph = self.model.graph
        for t in graph.initializer:
            self.arrays[t.name] = self.tensor(t)
        inputs = [i for i in graph.input if i.name not in self.arrays]
        named = [i.name for i in inputs] + [d.dim_param for i in inputs for d in i.type.tensor_type.shape.dim]
        for name in self.sizes:
            if name not in named:
                has = ", ".join(dict.fromkeys(n for n in named if n))
                raise GraphError(f"the model has no input or dimension {name}; it has {has}")
        for i in inputs:
            self.known[i.name] = self.input(i)
        for node in graph.node:
            self.node(node)
        outputs = [self.result(o) for o in graph.output]
        if not outputs:
            raise GraphError("the model has no results")
        made = self.builder.finish(*outputs)
        return Graph(made.name, made.inputs, made.constants, made.nodes, made.outputs)

    def input(self, i: Any) -> Value:
        t = i.type.tensor_type
        if not i.type.HasField("tensor_type"):
            raise GraphError(f"the input {i.name} is no tensor")
        whole = self.sizes.get(i.name)
        whole = (whole,) if isinstance(whole, int) else whole
        if isinstance(whole, Sequence) and len(whole) != len(t.shape.dim):
            raise GraphError(f"the input {i.name} has {len(t.shape.dim)} dimensions, and is given {len(whole)}")
        shape: list[int] = []
        for k, d in enumerate(t.shape.dim):
            wanted = whole[k] if isinstance(whole, Sequence) else self.sizes.get(d.dim_param, -1)
            size = d.dim_value if d.HasField("dim_value") else wanted if isinstance(wanted, int) else -1
            what = d.dim_param or f"dimension {k}"
            if d.HasField("dim_value") and isinstance(whole, Sequence) and whole[k] != size:
                raise GraphError(f"the input {i.name} has size {size} in {what} by the model, and is given {whole[k]}")
            if size < 0:
                example = "x".join(str(e.dim_value) if e.HasField("dim_value") else "1" for e in t.shape.dim)
                one = f", or {d.dim_param}=1" if d.dim_param else ""
                raise GraphError(
                    f"the input {i.name} has no fixed size in {what}; give it: --shape {i.name}={example}{one}"
                )
            shape.append(size)
        return self.builder.input(i.name, shape, self.dtype(t.elem_type, f"the input {i.name}"))

    def result(self, o: Any) -> Value:
        """A result of the model, which is of the type that it says."""
        v, t = self.value(o.name, None), o.type
        if t.WhichOneof("value") not in (None, "tensor_type"):
            raise GraphError(f"the result {o.name} is no tensor")
        if t.HasField("tensor_type"):
            dtype = self.dtype(t.tensor_type.elem_type, f"the result {o.name}")
            if dtype != v.dtype:
                raise GraphError(f"the result {o.name} is {dtype} by the model, and {v.dtype} here")
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
            return found.decode()
        if isinstance(found, self.onnx.TensorProto):
            return self.tensor(found)
        return found

    def value(self, name: str, where: Converter | None) -> Value:
        """The value of that name; a constant becomes one of the graph when it is used first."""
        if name not in self.known:
            if name not in self.arrays:
                message = f"{name} is computed nowhere"
                raise where.fail(message) if where is not None else GraphError(message)
            self.known[name] = self.builder.constant(self.arrays[name], name)
        return self.known[name]

    def node(self, node: Any) -> None:
        """Take a node: what is known of its results becomes known, or an operator computes them."""
        try:
            self.taken += 1
            if self.taken > MOST_NODES:
                raise GraphError(f"the model is made of more than {MOST_NODES} nodes, each function and loop unrolled")
            for n in node.output:
                if n and (n in self.known or n in self.arrays):
                    raise GraphError(f"its result {n} is there already")
            if (body := self.functions.get(key_of(node))) is not None:
                self.call(node, body)
                return
            signature(node, self.opset)
            c = Converter(self, node)
            if node.op_type in CONTROL:
                expanded(self, node)
                return
            types = {n: self.type(n, c) for n in node.input if n}
            wanted = inferred(node, self.opset, types, self.arrays, self.model.opset_import)
            if not self.folded(node, wanted) and not self.defined(node, types, wanted):
                self.convert(c, wanted)
        except GraphError as problem:
            said, name = str(problem), name_of(node)
            raise problem if said.startswith("node ") else _at(node, said.removeprefix(f"{name}: ")) from None
        except (ArithmeticError, LookupError, TypeError, ValueError) as problem:  # an attribute that makes no sense
            raise _at(node, f"it makes no sense: {type(problem).__name__}: {problem}") from problem

    def call(self, node: Any, body: Any) -> None:
        """Take the nodes of a function of the model, in the place of a node that calls it."""
        if body in self.calls:
            raise GraphError(f"the function {node.op_type} calls itself")
        if len(self.calls) == MOST_CALLS:
            raise GraphError(f"functions call each other more than {MOST_CALLS} deep")
        self.calls.append(body)
        self.take(called(node, body, self.opset, self.fresh(node.op_type)))
        self.calls.pop()

    def take(self, nodes: Sequence[Any]) -> None:
        """Take nodes that stand for another one."""
        self.used |= {n for inner in nodes for n in free_names(inner)}
        for inner in nodes:
            self.node(inner)

    def type(self, name: str, where: Converter | None) -> Any:
        """The type of an operand, as ONNX writes it."""
        found = self.arrays.get(name)
        if found is not None:
            return type_of(found.dtype, found.shape)
        v = self.value(name, where)
        return type_of(array_dtype(v.dtype), v.shape)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a value or constant."""
        found = self.arrays.get(name)
        return tuple(found.shape) if found is not None else tuple(self.value(name, None).shape)

    def fresh(self, word: str) -> str:
        """What no name begins with: names inside of nodes must be nobody's."""
        while True:
            self.definitions += 1
            prefix = f"_{self.definitions}_{word}_"  # no other prefix begins so, whatever the words are
            if not any(n.startswith(prefix) for n in self.names):
                return prefix

    def folded(self, node: Any, wanted: Mapping[str, tuple[str, Shape]]) -> bool:
        """Compute a node whose operands are constants, if that can be done at once."""
        from verified_tir.graph.onnx.convert import CONVERSIONS

        if not evaluated(node, self.opset) or any(n and n not in self.arrays for n in node.input):
            return self.shape_of(node)
        results = computed(node, self.arrays, self.model.opset_import, wanted, CONVERSIONS)
        if results is None:
            return False
        self.arrays.update(zip([n for n in node.output if n], results, strict=True))
        return True

    def shape_of(self, node: Any) -> bool:
        """``Shape`` and ``Size`` of a value are constants, since shapes are numbers."""
        if node.op_type not in ("Shape", "Size") or node.input[0] not in self.known:
            return False
        shape = self.known[node.input[0]].shape
        attrs = {a.name: self.attribute(a) for a in node.attribute}
        if node.op_type == "Size":
            self.arrays[node.output[0]] = np.array(math.prod(shape), np.int64)
        else:
            some = shape[attrs.get("start", 0) : attrs.get("end", len(shape))]
            self.arrays[node.output[0]] = np.array(some, np.int64)
        return True

    def defined(self, node: Any, types: Mapping[str, Any], wanted: Mapping[str, tuple[str, Shape]]) -> bool:
        """Take the nodes of an operator's definition, if it is not known here and ONNX defines it by others.

        Results have the shapes of the schema: some definitions make a vector of one element of a number.
        """
        from verified_tir.graph.onnx.convert import CONVERSIONS

        if node.op_type in CONVERSIONS:
            return False
        nodes = definition(node, self.opset, types, self.fresh(node.op_type.lower()))
        if nodes is None:
            return False
        self.take(nodes)
        for n, (_, shape) in wanted.items():
            v = self.known.get(n)
            if v is not None and shape == () and v.shape == (1,):
                self.known[n] = self.builder.op("reshape", v, shape=(), name=n, source=node.name)
            elif v is not None and shape is not None and not fits(v.shape, shape):
                raise GraphError(
                    f"its result {n} has shape {list(shape)} by its schema, and {v.type} by its definition"
                )
        return True

    def convert(self, c: Converter, types: Mapping[str, tuple[str, Shape]]) -> None:
        from verified_tir.graph.onnx.convert import CONVERSIONS

        node = c.node
        if node.domain not in ("", "ai.onnx") or node.op_type not in CONVERSIONS:
            why = REFUSED.get(node.op_type, "") if node.domain in ("", "ai.onnx") else ""
            name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
            raise c.fail(f"the operator {name} is not known here{why and ': '}{why}")
        made = CONVERSIONS[node.op_type](c)
        if c.attributes.unknown:
            raise c.fail(f"the attribute {', '.join(c.attributes.unknown)} is not known here (opset {self.opset})")
        results: Sequence[Value] = made if isinstance(made, (tuple, list)) else [made]
        for k, n in enumerate(node.output):
            if n and k < len(results):
                self.known[n] = results[k]
            elif n in self.used:
                raise c.fail(f"its result {n} is used, which is not known here")
        for n, (dtype, shape) in types.items():
            v = self.known.get(n)
            if v is not None and ((dtype and v.dtype != dtype) or (shape is not None and not fits(v.shape, shape))):
                raise c.fail(f"its result {n} is {dtype}{list(shape or ())} by ONNX's schema, and {v.type} here")
