"""What the conversion of an ONNX node works with: its operands, its attributes, and the graph in the making."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, final

import numpy as np

from verified_tir.graph.element_types import SMALL
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array, Value
from verified_tir.graph.onnx.counts import listed
from verified_tir.graph.onnx.schema import FLAGS
from verified_tir.graph.operators.reduction import HALVES
from verified_tir.graph.sizes import Dim, remedy, shape_text, symbols_of

if TYPE_CHECKING:
    from verified_tir.graph.onnx.load import Reader


def name_of(node: Any) -> str:
    """The name of a node, or what it computes."""
    return str(node.name) or f"{node.op_type} ({', '.join(node.output)})"


def at(node: Any, message: str) -> GraphError:
    """An error that names a node."""
    return GraphError(f"node {shown(name_of(node), 200)} ({shown(node.op_type, 80)}): {shown(message, 600)}")


def shown(text: str, most: int) -> str:
    """A text of somebody else's in one line, not too long, and without what a terminal would obey."""
    plain = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
    return plain if len(plain) <= most else f"{plain[:most]}…"


@final
class Attributes:
    """The attributes of a node; those that a conversion does not look at are none that it knows.

    ``a[name]`` is the attribute, or what ONNX's schema says where it is left out; ``name in a`` if it is not left out.
    """

    def __init__(self, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        self._given = dict(given)
        self._defaults = defaults
        self._seen: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self._seen.add(name)
        found = self._given[name] if name in self._given else self._defaults[name]
        return bool(found) if name in FLAGS else found

    def __contains__(self, name: object) -> bool:
        return name in self._given

    def get(self, name: str, default: Any = None) -> Any:
        """The attribute, or the default of opsets in which there is none; numbers with a point have the precision of
        float32, as those given have."""
        found = self[name] if name in self._given or name in self._defaults else default
        return float(np.float32(found)) if isinstance(found, float) else found

    @property
    def unknown(self) -> list[str]:
        """Those that were not looked at."""
        return [n for n in self._given if n not in self._seen]


@final
class Converter:
    """What a conversion of a node works with: its operands, its attributes, and the graph in the making."""

    def __init__(self, reader: Reader, node: Any, schema: Any) -> None:
        self.reader = reader
        self.schema = schema
        self.builder = reader.builder
        self.node = node
        self.opset = reader.opset
        defaults = {n: reader.attribute(v) for n, a in schema.attributes.items() if (v := a.default_value).name}
        self.attributes = Attributes({a.name: reader.attribute(a) for a in node.attribute}, defaults)
        self.name = name_of(node)
        self.room = False
        """Whether operands that are floats of 16 bits are taken as float32."""
        self._widened: dict[int, Value] = {}

    def fail(self, message: str) -> GraphError:
        """An error that names the node."""
        return at(self.node, message)

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
        found = self.reader.value(self.node.input[k], self)
        if not self.room or found.dtype not in HALVES:
            return found
        if k not in self._widened:
            self._widened[k] = self.cast(found, "float32")
        return self._widened[k]

    def type_of(self, k: int) -> str:
        """The element type of the k-th operand, of which nothing else matters."""
        name = self.node.input[k]
        if name in self.reader.counts:
            return self.reader.counts[name].dtype
        found = self.reader.arrays.get(name)
        return self.value(k).dtype if found is None else str(found.dtype)

    def values(self) -> list[Value]:
        """All operands; optional ones at the end may be left out."""
        count = max((k + 1 for k in range(len(self.node.input)) if self.has(k)), default=0)
        return [self.value(k) for k in range(count)]

    def array(self, k: int, what: str) -> Array | None:
        """The k-th operand as a constant; ``None`` if it is left out.

        :raises GraphError: if it is not a constant.
        """
        if not self.has(k):
            return None
        found = self.reader.arrays.get(self.node.input[k])
        if found is None:
            open_ = self.reader.counts.get(self.node.input[k])
            if open_ is not None:
                raise self._open(listed(open_, what), what)
            raise self.fail(f"its {what} is computed by the model, and must be a constant here")
        return found

    def _open(self, sizes: list[Dim], what: str) -> GraphError:
        return self.fail(f"its {what} is {shape_text(sizes)}, and must be numbers here; {remedy(sizes)}")

    def indices(self, k: int, *sizes: Dim) -> Value:
        """The k-th operand, places of elements; of several dimensions if there are several sizes, side by side.

        :raises GraphError: if it is a constant, and there is no such place.
        """
        found = self.reader.arrays.get(self.node.input[k], np.empty(0))
        for d, n in enumerate(sizes if found.size else ()):
            part = found if len(sizes) == 1 else found[..., d]
            if isinstance(n, int) and not (-n <= part.min() and part.max() < n):
                raise self.fail(f"its indices are {part.min()} to {part.max()}, and there are {n} elements")
        return self.value(k)

    def sizes(self, k: int, attribute: str, number: bool = False) -> list[Dim] | None:
        """Numbers, or sizes that are open, that are an attribute in older models and an operand in newer ones.

        :param number: whether the operand may be a number, instead of a list of them.
        """
        if attribute in self.attributes:
            return [int(n) for n in self.attributes[attribute]]
        found = self.reader.counts.get(self.node.input[k]) if self.has(k) else None
        array = self.array(k, attribute) if found is None else found.array
        if array is None:
            return None
        if array.ndim > 1 or (not array.ndim and not number):
            raise self.fail(f"its {attribute} is a list of numbers, and not of shape {[*array.shape]}")
        return listed(array if found is None else found, attribute)

    def numbers(self, k: int, attribute: str, number: bool = False) -> list[int] | None:
        """Integers that are an attribute in older models and an operand in newer ones."""
        found = self.sizes(k, attribute, number)
        if found is not None and symbols_of(found):
            raise self._open(found, attribute)
        return None if found is None else [n for n in found if isinstance(n, int)]

    def number(self, k: int, what: str) -> Any:
        """The k-th operand as a constant of one element; ``None`` if it is left out.

        :raises GraphError: if it is not a constant, or has other elements.
        """
        array = self.array(k, what)
        if array is None:
            return None
        if array.size != 1:
            raise self.fail(f"its {what} is one number, and not of shape {[*array.shape]}")
        return array.item()

    def constant(self, value: Any, dtype: str, name: str) -> Value:
        """A constant of the graph."""
        return self.builder.constant(np.asarray(value, dtype), name)

    def cast(self, v: Value, dtype: str, saturate: bool = True) -> Value:
        """The elements in another type, small ones by their own operator; the same if they are of it."""
        if v.dtype == dtype:
            return v
        if v.dtype in SMALL or dtype in SMALL:
            return self.op("convert", v, from_dtype=v.dtype, dtype=dtype, saturate=saturate)
        return self.op("astype", v, dtype=dtype)

    def op(self, name: str, *inputs: Value, **attrs: Any) -> Value:
        """The result of a node of the graph, named after this one's result."""
        (made,) = self.results(name, *inputs, **attrs)
        return made

    def results(self, name: str, *inputs: Value, **attrs: Any) -> tuple[Value, ...]:
        """The results of a node of the graph, which may have several."""
        made = self.builder.op(name, *inputs, name=self.node.output[0], source=self.name, **attrs)
        return made if isinstance(made, tuple) else (made,)
