"""Graphs as modules of Relax, which TVM 0.27 reads: ``from_source(relax_text(graph))``.

Operators that mean in Relax what they mean here keep their names; any other is a call of its program.  Large constants
have no text in TVM's script: they become parameters behind the inputs, to be bound by ``relax.transform.BindParams``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array, Graph, Node, Value
from verified_tir.graph.names import Names, identifier
from verified_tir.graph.program import program_of
from verified_tir.graph.relax_attributes import operand_names, relax_name, theirs
from verified_tir.graph.relax_operators import COMPARING, SAME
from verified_tir.graph.sizes import dim_text
from verified_tir.graph.write_text import is_written, names_of
from verified_tir.index.map import IndexMap
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Binary, Call, Expr, Not
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.ir.visit import free_vars, rewrite
from verified_tir.script import tir as T  # noqa: N812


def relax_text(graph: Graph, class_name: str = "Module") -> str:
    """The text of a module with the graph as its function ``main`` (or as the graph is called).

    :raises GraphError: if a type, or a size, has no text there.
    """
    values = names_of(graph)
    writer = _Writer(graph, values)
    return writer.text(class_name)


def large_constants(graph: Graph) -> dict[str, Array]:
    """The constants that are parameters in :func:`relax_text`, by their names there."""
    names = names_of(graph)
    return {names[v]: a for v, a in graph.constants.items() if not is_written(a)}


class _Writer:
    def __init__(self, graph: Graph, values: Mapping[Value, str]) -> None:
        self.graph = graph
        self.values = values
        self.names = Names({*values.values(), identifier(graph.name), "cls"})
        self.programs: dict[object, tuple[str, PrimFunc]] = {}

    def text(self, class_name: str) -> str:
        g = self.graph
        large = [v for v, a in g.constants.items() if not is_written(a)]
        parameters = ", ".join(f"{self.values[v]}: {_type(v)}" for v in (*g.inputs, *large))
        body = [
            f'{self.values[v]} = R.const({a.tolist()}, "{v.dtype}")' for v, a in g.constants.items() if is_written(a)
        ]
        body += [line for n in g.nodes for line in self.binding(n)]
        results = [self.values[v] for v in g.outputs]
        computed = {self.values[v] for n in g.nodes for v in n.outputs} | {self.values[v] for v in g.constants}
        returned = ", ".join(results) if len(results) == 1 else f"({', '.join(results)})"
        kept = ", ".join(dict.fromkeys(r for r in results if r in computed))
        lines = ["@R.function", f"def {identifier(g.name)}({parameters}):"]
        if self.programs:
            lines.append(f"    cls = {class_name}")
        if kept:
            lines += ["    with R.dataflow():", *(f"        {line}" for line in (*body, f"R.output({kept})"))]
        lines.append(f"    return {returned}")
        return self.module(class_name, lines)

    def module(self, class_name: str, function: Sequence[str]) -> str:
        symbols = dict.fromkeys(v.name for v in self.graph.symbols)
        blocks = []
        for name, f in self.programs.values():
            renamed = PrimFunc(name, f.params, f.buffer_map, f.body, f.attrs, f.ret_type)
            text = script(renamed)
            symbols |= dict.fromkeys(v.name for b in f.buffers for e in b.shape for v in free_vars(e))
            blocks.append(text[text.index("@T.prim_func") :].split("\n"))
        head = [
            "# from typing import TypeVar" if symbols else "", "# from tvm.script import ir as I",
            "# from tvm.script import tirx as T", "# from tvm.script import relax as R", "",
            *(f'{s} = TypeVar("{s}")' for s in symbols), "@I.ir_module", f"class {class_name}:",
        ]  # fmt: skip
        indented = ["\n".join(f"    {line}" if line else "" for line in b) for b in (*blocks, function)]
        return "\n".join([line for k, line in enumerate(head) if line or k]) + "\n" + "\n\n".join(indented)

    def binding(self, n: Node) -> list[str]:
        """A call; of several results their tuple is bound first."""
        results = [self.values[v] for v in n.outputs]
        if len(results) == 1:
            return [f"{results[0]} = {self.call(n)}"]
        name = self.names.fresh(f"{results[0]}_and_more")
        return [f"{name} = {self.call(n)}", *(f"{r} = {name}[{k}]" for k, r in enumerate(results))]

    def call(self, n: Node) -> str:
        inputs = [self.values[v] for v in n.inputs]
        if n.op in SAME | COMPARING and not _differs(n):
            return f"R.{relax_name(n.op)}({', '.join(self.arguments(n, inputs))})"
        types = ", ".join(map(_type, n.outputs))
        types = types if len(n.outputs) == 1 else f"[{types}]"
        operands = f"({', '.join(inputs)},)" if len(inputs) == 1 else f"({', '.join(inputs)})"
        return f"R.call_tir(cls.{self.program(n)}, {operands}, out_ty={types})"

    def arguments(self, n: Node, inputs: list[str]) -> list[str]:
        """Operands and attributes as Relax takes them."""
        attrs = {} if n.op == "matmul" else theirs(n.op, n.attrs)
        attrs.pop("by_comparison", None)
        if n.op in ("reshape", "broadcast_to"):
            attrs["shape"] = n.output.dims
        operands = [f"({', '.join(inputs)},)"] if n.op == "concat" else inputs
        behind = [_attribute(attrs.pop(name)) for name in operand_names(n.op) if name in attrs]
        named = [f"{k}={_attribute(v, k)}" for k, v in attrs.items()]
        return [*operands, *behind, *named]

    def program(self, n: Node) -> str:
        """The name of a node's program; equal ones are written once."""
        key: object = (
            n.func if n.func is not None else (n.op, repr(sorted(n.attrs.items())), *(v.type for v in n.inputs))
        )
        if key not in self.programs:
            f = rewrite(program_of(n), _nan_test)
            self.programs[key] = self.names.fresh(identifier(f.name)), f
        return self.programs[key][0]


def _differs(n: Node) -> bool:
    """Whether an operator of the same name does something else in Relax, for these operands or attributes."""
    if n.op in COMPARING:
        return "float" in n.inputs[0].dtype and not n.attrs.get("by_comparison")
    match n.op:
        case "nn.conv2d" | "nn.conv2d_transpose":
            return len(n.inputs) != 2  # no bias there
        case "matmul":
            return any(n.attrs.values())  # nothing is transposed there
        case "astype":  # a float that an integer type does not hold is undefined there
            return "float" in n.inputs[0].dtype and "int" in n.output.dtype
        case "expand_dims":
            return len(n.attrs["axis"]) != 1  # several are counted otherwise
        case "layout_transform":  # padding is undefined here unless a value is said, and 0 there
            x, y = n.inputs[0].type, n.output.type
            return bool(n.attrs["index_map"].separators) or x.is_open or x.size != y.size
        case "split":
            return any(v.type.is_open for v in n.outputs)
    return False


def _nan_test(node: Any) -> Any:
    """``isnan(x)`` where floats are compared with themselves, which TVM takes for equal."""
    match node:
        case Binary(op="eq" | "ne" as op, a=x, b=y) if x.dtype.is_float and structural_equal(x, y):
            return T.isnan(x) if op == "ne" else Not(T.isnan(x))
        case Not(a=Not(a=Call(op="isnan") as test)):
            return test
    return None


def _type(v: Value) -> str:
    if v.dtype not in ("bool", "float16", "float32", "float64", "bfloat16") and not v.dtype.lstrip("u").startswith(
        "int"
    ):
        raise GraphError(f"{v.name}: TVM has no name for the type {v.dtype}")
    return str(v.type)


def _attribute(value: Any, name: str = "") -> str:
    if isinstance(value, IndexMap):
        return f"T.index_map({str(value).replace('[', '(').replace(']', ',)')})"
    if name == "pad_value" or value is None:
        return repr(value)
    if isinstance(value, Expr):
        return dim_text(value)
    if name == "dtype" or isinstance(value, (str, bool)):
        return repr(value)
    if isinstance(value, tuple | list):
        inner = ", ".join(_attribute(v) for v in value)
        return f"[{inner}]" if name else f"R.shape([{inner}])"
    return repr(value)


__all__ = ["large_constants", "relax_text"]
