"""Graphs as text, as Relax writes them: PrimFuncs, and a ``@R.function`` with one binding a line.

Sizes that are open are written as Python has them: ``R.Tensor((batch, 2 * n), "float32")``.

Small constants are written out.  Of large ones the text has the type; the arrays go beside it (``save_graph`` writes
an ``.npz`` file), and :func:`parse_graph` takes them by name.  Nothing is executed: the text is read with Python's
grammar.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from verified_tir.graph.builder import GraphBuilder
from verified_tir.graph.element_types import array_dtype
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array, Graph, TensorType, Value
from verified_tir.graph.operators import result_types
from verified_tir.graph.sizes import Dim, normal, symbol, symbols_of
from verified_tir.graph.write_text import graph_text, is_written, names_of
from verified_tir.index.parse import parse_index_map
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.script import parse
from verified_tir.ir.sugar import binary


def save_graph(graph: Graph, path: Path) -> None:
    """Write the text to ``path``, and the large constants beside it (``<path>.npz``)."""
    path.write_text(graph_text(graph) + "\n")
    names = names_of(graph)
    large = {names[v]: a for v, a in graph.constants.items() if not is_written(a)}
    plain: dict[str, Any] = {
        k: a if a.dtype.kind in "biuf" else a.view(f"u{a.dtype.itemsize}") for k, a in large.items()
    }
    with Path(f"{path}.npz").open("wb") as file:
        np.savez(file, **plain)


def load_graph(path: Path) -> Graph:
    """The graph that :func:`save_graph` wrote."""
    beside = Path(f"{path}.npz")
    arrays = dict(np.load(beside)) if beside.exists() else {}
    return parse_graph(path.read_text(), arrays, str(path))


# -- reading -----------------------------------------------------------------------------------------------------------


def parse_graph(text: str, constants: Mapping[str, Array] | None = None, filename: str = "<string>") -> Graph:
    """The graph that a text describes.

    :param constants: the arrays of ``R.constant``, by name.
    :raises GraphError: for a mistake, with its line and column; a mistake in a PrimFunc raises ScriptError.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError as problem:
        raise GraphError(f"{filename}:{problem.lineno or 1}:{problem.offset or 1}: {problem.msg}") from None
    except (ValueError, RecursionError, MemoryError) as problem:  # null characters; brackets without end
        raise GraphError(f"{filename}: this is not the text of a graph: {problem or type(problem).__name__}") from None
    parts: list[str] = []
    graphs: list[ast.FunctionDef] = []
    for item in tree.body:
        if isinstance(item, ast.FunctionDef) and any(ast.unparse(d) == "R.function" for d in item.decorator_list):
            graphs.append(item)
        elif isinstance(item, ast.FunctionDef):
            first = min([item.lineno, *(d.lineno for d in item.decorator_list)])
            parts.append("\n" * (first - 1) + "\n".join(text.split("\n")[first - 1 : item.end_lineno]))
    if len(graphs) != 1:
        raise GraphError(f"{filename}: a graph is one function with @R.function; there are {len(graphs)}")
    functions: dict[str, PrimFunc] = {}
    for p in parts:
        for name, f in parse(p, filename).functions:
            if name in functions:
                raise GraphError(f"{filename}: there are two functions called {name}")
            functions[name] = f
    return _Reader(functions, constants or {}, filename).read(graphs[0])


_SIZES = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "floordiv", ast.Mod: "floormod"}
"""The operators of sizes."""

_FORMS = {
    "const": 'R.const([1.0, 2.0], "float32")',
    "constant": 'R.constant(R.Tensor((2,), "float32"))',
    "call_tir": 'R.call_tir(function, (x, y), out_sinfo=R.Tensor((2,), "float32"))',
}


class _Reader:
    """Reads the bindings of one function."""

    def __init__(self, functions: Mapping[str, PrimFunc], arrays: Mapping[str, Array], filename: str) -> None:
        self.functions = functions
        self.arrays = arrays
        self.filename = filename
        self.values: dict[str, Value] = {}
        self.sizes: set[str] | None = None
        """The names of sizes, once all parameters have been read."""

    def read(self, node: ast.FunctionDef) -> Graph:
        g = GraphBuilder(node.name)
        args = node.args
        if args.posonlyargs or args.kwonlyargs or args.vararg or args.kwarg or args.defaults:
            raise self.error(
                node, f"{node.name} takes parameters of the form name: R.Tensor((…), dtype), and no others"
            )
        for a in args.args:
            if a.arg in self.values:
                raise self.error(a, f"{a.arg} is a parameter already")
            if a.annotation is None:
                raise self.error(a, f"the parameter {a.arg} has no type; write {a.arg}: R.Tensor((…), dtype)")
            t = self.type(a.annotation)
            self.values[a.arg] = g.input(a.arg, t.dims, t.dtype)
        self.sizes = {e.name for v in self.values.values() for e in symbols_of(v.dims)}
        for k, stmt in enumerate(node.body):
            match stmt:
                case ast.Assign(targets=[target], value=ast.Call() as call):
                    self.binding(g, target, call)
                case ast.Return(value=value) if value is not None:
                    if k != len(node.body) - 1:
                        raise self.error(node.body[k + 1], "nothing stands behind the return")
                    items = value.elts if isinstance(value, ast.Tuple) else [value]
                    return g.finish(*(self.value(i) for i in items))
                case ast.Expr(value=ast.Constant(value=str())):
                    continue
                case _:
                    raise self.error(stmt, "a graph is bindings (name = R.operator(…)) and a return")
        raise self.error(node, f"{node.name} returns nothing")

    def binding(self, g: GraphBuilder, target: ast.expr, call: ast.Call) -> None:
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        if not names or len(names) != len(targets):
            raise self.error(target, f"{ast.unparse(target)} is neither a name nor a tuple of names")
        for k, n in enumerate(names):
            if n in names[:k]:
                raise self.error(target, f"{n} is bound twice")
            if n in self.values:
                raise self.error(target, f"{n} is bound already")
        op = ast.unparse(call.func)
        if not op.startswith("R."):
            raise self.error(call, f"{op} is not an operator; they are called R.…")
        try:
            made = self.made(g, op[2:], call, names)
        except _Placed:
            raise
        except (GraphError, IRError, ValueError, TypeError, ArithmeticError) as problem:
            raise self.error(call, str(problem)) from None
        results = made if isinstance(made, tuple) else (made,)
        if len(results) != len(names):
            raise self.error(call, f"{op} has {len(results)} results, and {len(names)} names are given")
        self.values.update(zip(names, results, strict=True))

    def made(self, g: GraphBuilder, op: str, call: ast.Call, names: list[str]) -> Any:
        starred = next((a for a in (*call.args, *call.keywords) if isinstance(a, ast.Starred) or is_double(a)), None)
        if starred is not None:
            raise self.error(call, "operands and attributes are written out, without a star")
        attrs = {k.arg: self.attribute(k.value) for k in call.keywords if k.arg is not None and k.arg != "out_sinfo"}
        match op, call.args:
            case "const", [value, ast.Call() as given]:
                t = self.type(given)
                return g.constant(self.elements(value, t.dtype).reshape(t.shape), names[0])
            case "const", [value, dtype]:
                return g.constant(self.elements(value, str(self.attribute(dtype))), names[0])
            case "constant", [given]:
                t = self.type(given)
                if names[0] not in self.arrays:
                    raise self.error(call, f"the array of the constant {names[0]} is not given")
                array = np.asarray(self.arrays[names[0]])
                wanted = array_dtype(t.dtype)
                if wanted.kind == "V" and array.dtype == f"u{wanted.itemsize}":  # numpy keeps such types as bits
                    array = array.view(wanted)
                if array.dtype != wanted or array.shape != t.dims:
                    raise self.error(call, f"the array of {names[0]} is {array.dtype}{list(array.shape)}, not {t}")
                return g.constant(array, names[0])
            case "call_tir", [ast.Name(id=name), ast.Tuple(elts=inputs)]:
                out = next((k.value for k in call.keywords if k.arg == "out_sinfo"), None)
                if name not in self.functions or out is None:
                    raise self.error(call, f"call_tir takes a PrimFunc of this text and out_sinfo; {name} is not one")
                types = [self.type(t) for t in (out.elts if isinstance(out, ast.List) else [out])]
                values = [self.value(i) for i in inputs]
                return self.named(g, "call_tir", values, types, {}, self.functions[name], names)
            case "const" | "constant" | "call_tir", _:
                raise self.error(call, f"it is written {_FORMS[op]}")
        values = [self.value(a) for a in call.args]
        types = result_types(op, [v.type for v in values], attrs)
        return self.named(g, op, values, types, attrs, None, names)

    def elements(self, node: ast.expr, dtype: str) -> Array:
        """The elements that are written out; one that is too large for its type is refused."""
        value = self.attribute(node)
        with np.errstate(over="raise"):
            return np.array(value, array_dtype(dtype))

    def named(
        self, g: GraphBuilder, op: str, inputs: list[Value], types: list[TensorType], attrs: dict[str, Any],
        func: PrimFunc | None, names: list[str],
    ) -> Any:  # fmt: skip
        """A node whose results have the names of the text."""
        return g.add(op, inputs, types, attrs, func, names if len(names) == len(types) else "", "")

    def value(self, node: ast.expr) -> Value:
        if not isinstance(node, ast.Name) or node.id not in self.values:
            raise self.error(node, f"{ast.unparse(node)} is not a value that was bound before")
        return self.values[node.id]

    def type(self, node: ast.expr) -> TensorType:
        match node:
            case ast.Call(func=ast.Attribute(attr="Tensor"), args=[shape, *rest]):
                more = [*rest, *(k.value for k in node.keywords if k.arg == "dtype")]
                dtype = self.attribute(more[0]) if more else "float32"
                extents = self.attribute(shape)
                if isinstance(extents, (tuple, list)) and isinstance(dtype, str):
                    try:
                        return TensorType(tuple(extents), dtype)
                    except GraphError as problem:
                        raise self.error(node, str(problem)) from None
        raise self.error(node, f'{ast.unparse(node)} is not a type; write R.Tensor((2, 3), "float32")')

    def attribute(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Lambda):
            try:
                return parse_index_map(ast.unparse(node))
            except IRError as problem:
                raise self.error(node, str(problem)) from None
        match node:
            case ast.Name() | ast.BinOp() | ast.Call(func=ast.Name(id="min" | "max")):
                try:
                    return normal(self.size(node))
                except RecursionError:
                    raise self.error(node, "this is too deep") from None
            case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))]):
                return float(text)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return (
                    [self.attribute(i) for i in items]
                    if isinstance(node, ast.List)
                    else tuple(self.attribute(i) for i in items)
                )
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError):
            raise self.error(node, f"{ast.unparse(node)} is not a constant") from None

    def size(self, node: ast.expr) -> Dim:
        """A size: numbers and symbols, their sums, products and quotients, the lesser or greater of two."""
        match node:
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                return number
            case ast.Name(id=name):
                if self.sizes is not None and name not in self.sizes:
                    raise self.error(node, f"{name} is neither a constant nor the extent of an input")
                try:
                    return symbol(name)
                except GraphError as problem:
                    raise self.error(node, str(problem)) from None
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIZES:
                return self.combined(node, _SIZES[type(op)], left, right)
            case ast.Call(func=ast.Name(id="min" | "max" as which), args=[left, right], keywords=[]):
                return self.combined(node, which, left, right)
        raise self.error(node, f"{ast.unparse(node)} is not a size; write numbers and names, with + - * // % min max")

    def combined(self, node: ast.expr, op: Any, left: ast.expr, right: ast.expr) -> Dim:
        try:
            return normal(binary(op, self.size(left), self.size(right)))
        except (GraphError, IRError) as problem:
            raise problem if isinstance(problem, _Placed) else self.error(node, str(problem)) from None

    def error(self, node: ast.AST, message: str) -> GraphError:
        place = f"{getattr(node, 'lineno', 1)}:{getattr(node, 'col_offset', 0) + 1}"
        return _Placed(f"{self.filename}:{place}: {message}")


class _Placed(GraphError):
    """A mistake whose message says where it is."""


def is_double(node: ast.AST) -> bool:
    """Whether an argument is ``**something``."""
    return isinstance(node, ast.keyword) and node.arg is None


__all__ = ["graph_text", "is_written", "load_graph", "names_of", "parse_graph", "save_graph"]
