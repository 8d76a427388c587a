"""Reading the functions of Relax in the text of a graph (``graph.text``): bindings, types, attributes, sizes."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from verified_tir.graph.builder import GraphBuilder
from verified_tir.graph.element_types import array_dtype
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array, Graph, TensorType, Value
from verified_tir.graph.operators import result_types
from verified_tir.graph.relax_attributes import our_name, ours, positional
from verified_tir.graph.relax_operators import read_as
from verified_tir.graph.sizes import Dim, normal, symbol, symbols_of
from verified_tir.index.parse import parse_index_map
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.sugar import binary

_SIZES = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "floordiv", ast.Mod: "floormod"}
"""The operators of sizes."""

_FORMS = {
    "const": 'R.const([1.0, 2.0], "float32")',
    "constant": 'R.constant(R.Tensor((2,), "float32"))',
    "call_tir": 'R.call_tir(function, (x, y), out_sinfo=R.Tensor((2,), "float32"))',
}
_RESULT_TYPES = ("out_sinfo", "out_ty")
"""The result types of ``call_tir``: TVM up to 0.26, and TVM 0.27."""
_INTEGERS = ("int32", "int64")


class GraphReader:
    """Reads the bindings of one function."""

    def __init__(
        self, functions: Mapping[str, PrimFunc], arrays: Mapping[str, Array], filename: str, relax: bool = False
    ) -> None:
        """:param relax: whether operators are those of Relax, and not those of this package."""
        self.functions = functions
        self.arrays = arrays
        self.filename = filename
        self.relax = relax
        self.values: dict[str, Value] = {}
        self.tuples: dict[str, tuple[Value, ...]] = {}
        """Names of several values together, as Relax binds what has several results."""
        self.large: dict[int, Value] = {}
        self.modules: set[str] = set()
        """Names of the module, ``cls``: its functions are called through them."""
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
                case ast.Return(value=value) if value is not None:
                    if k != len(node.body) - 1:
                        raise self.error(node.body[k + 1], "nothing stands behind the return")
                    results = self.several(g, value)
                    if node.returns is not None:
                        self.check_types(node.returns, results)
                    return g.finish(*results)
                case ast.With(items=[ast.withitem(context_expr=ast.Call() as call, optional_vars=None)], body=body) if (
                    _called(call) == "dataflow"
                ):
                    self.dataflow(g, stmt, body)
                case _:
                    self.statement(g, stmt)
        raise self.error(node, f"{node.name} returns nothing")

    def dataflow(self, g: GraphBuilder, block: ast.stmt, body: Sequence[ast.stmt]) -> None:
        """``with R.dataflow():``; behind it only what ``R.output`` names is known."""
        before = {*self.values, *self.tuples}
        *inner, last = body
        for stmt in inner:
            self.statement(g, stmt)
        match last:
            case ast.Expr(value=ast.Call(args=args) as call) if _called(call) == "output":
                kept = {a.id for a in args if isinstance(a, ast.Name)}
                for a in args:
                    self.several(g, a)
            case _:
                raise self.error(last, "a dataflow block ends with R.output(…), which names its results")
        for names in (self.values, self.tuples):
            for name in [n for n in names if n not in before | kept]:
                del names[name]

    def statement(self, g: GraphBuilder, stmt: ast.stmt) -> None:
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr=kind), args=[])) if (
                kind in _INTEGERS
            ):
                if self.sizes is not None and name not in self.sizes:
                    raise self.error(stmt, f"{name} is not the extent of an input")
            case ast.Assign(targets=[target], value=value):
                self.assignment(g, target, value)
            case ast.AnnAssign(target=ast.Name() as target, annotation=annotation, value=value) if value is not None:
                self.assignment(g, target, value)
                self.check_types(annotation, self.several(g, target))
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(attr="func_attr"), args=[ast.Dict(keys=[key], values=[pairs])])
            ) if isinstance(key, ast.Constant) and key.value == "zero_with":
                self.zero_with(g, pairs)
            case (
                ast.Expr(value=ast.Constant(value=str()))
                | ast.Expr(value=ast.Call(func=ast.Attribute(attr="func_attr")))
            ):
                pass
            case _:
                raise self.error(stmt, "a graph is bindings (name = R.operator(…)) and a return")

    def zero_with(self, g: GraphBuilder, said: ast.expr) -> None:
        for pair in said.elts if isinstance(said, ast.Tuple) else [said]:
            if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
                raise self.error(pair, "zero_with is pairs of sizes: ((n, m), (k, 1))")
            g.zero_with(*map(self.size, pair.elts))

    def assignment(self, g: GraphBuilder, target: ast.expr, value: ast.expr) -> None:
        if isinstance(value, ast.Call):
            self.binding(g, target, value)
            return
        if not isinstance(target, ast.Name):
            raise self.error(target, "a graph is bindings (name = R.operator(…)) and a return")
        if isinstance(value, ast.Name) and value.id not in self.values and value.id not in self.tuples:
            self.modules.add(target.id)  # cls = Module
            return
        self.name_free(target, target.id)
        found = self.several(g, value)
        if isinstance(value, ast.Tuple) or (isinstance(value, ast.Name) and value.id in self.tuples):
            self.tuples[target.id] = found
        else:
            self.values[target.id] = found[0]

    def name_free(self, node: ast.expr, name: str) -> None:
        if name in self.values or name in self.tuples:
            raise self.error(node, f"{name} is bound already")

    def check_types(self, annotation: ast.expr, values: Sequence[Value]) -> None:
        """What a text says of types must be what they are; a type of which less is said is not compared."""
        match annotation:
            case ast.Call(func=ast.Attribute(attr="Tuple") | ast.Name(id="Tuple"), args=parts):
                if len(parts) != len(values):
                    raise self.error(annotation, f"there are {len(values)} results, not {len(parts)}")
                for part, v in zip(parts, values, strict=True):
                    self.check_types(part, [v])
            case ast.Call(func=ast.Attribute(attr="Tensor") | ast.Name(id="Tensor"), args=[_, *_]):
                said = self.type(annotation)
                if len(values) != 1 or said != values[0].type:
                    found = ", ".join(str(v.type) for v in values)
                    raise self.error(annotation, f"this is {found}, not {said}")

    def binding(self, g: GraphBuilder, target: ast.expr, call: ast.Call) -> None:
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        if not names or len(names) != len(targets):
            raise self.error(target, f"{ast.unparse(target)} is neither a name nor a tuple of names")
        for k, n in enumerate(names):
            if n in names[:k]:
                raise self.error(target, f"{n} is bound twice")
            self.name_free(target, n)
        results = self.called(g, call, names)
        if len(results) != len(names) and not (isinstance(target, ast.Name) and len(results) > 1):
            raise self.error(
                call, f"{ast.unparse(call.func)} has {len(results)} results, and {len(names)} names are given"
            )
        if len(results) == len(names):
            self.values.update(zip(names, results, strict=True))
        else:
            self.tuples[names[0]] = results

    def called(self, g: GraphBuilder, call: ast.Call, names: list[str]) -> tuple[Value, ...]:
        """The results of a call, under these names."""
        op = ast.unparse(call.func)
        namespace, _, name = op.partition(".")
        if namespace not in ("R", "relax") or not name:
            raise self.error(call, f"{op} is not an operator; they are called R.…")
        try:
            made = self.made(g, our_name(name), call, names)
        except _Placed:
            raise
        except (GraphError, IRError, ValueError, TypeError, ArithmeticError) as problem:
            raise self.error(call, str(problem)) from None
        return made if isinstance(made, tuple) else (made,)

    def made(self, g: GraphBuilder, op: str, call: ast.Call, names: list[str]) -> Any:
        starred = next((a for a in (*call.args, *call.keywords) if isinstance(a, ast.Starred) or is_double(a)), None)
        if starred is not None:
            raise self.error(call, "operands and attributes are written out, without a star")
        typed = _RESULT_TYPES if op == "call_tir" else ()
        attrs = {k.arg: self.attribute(k.value) for k in call.keywords if k.arg is not None and k.arg not in typed}
        if op in _FORMS:
            other = next((name for name in attrs if (op, name) != ("call_tir", "dtype")), None)
            if other is not None:
                raise self.error(call, f"{op} here has no {other}; it is written {_FORMS[op]}")
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
            case "call_tir", [ast.Name() | ast.Attribute() as function, operands, *shape]:
                types = self.types_of_call(call, function, shape)
                values = list(self.several(g, operands))
                return self.named(g, "call_tir", values, types, {}, self.functions[_last(function)], names)
            case "const" | "constant" | "call_tir", _:
                raise self.error(call, f"it is written {_FORMS[op]}")
        behind = positional(op)
        first = next((k for k, a in enumerate(call.args) if behind and not self.is_operand(a)), len(call.args))
        for name, arg in zip(behind, call.args[first:], strict=False):
            attrs[name] = self.attribute(arg)
        values = [v for a in (*call.args[:first], *call.args[first + len(behind) :]) for v in self.several(g, a)]
        types = [v.type for v in values]
        attrs = ours(op, types, attrs)
        if self.relax:
            op, attrs = read_as(op, types, attrs)
        return self.named(g, op, values, result_types(op, types, attrs), attrs, None, names)

    def types_of_call(self, call: ast.Call, function: ast.expr, shape: list[ast.expr]) -> list[TensorType]:
        """The result types of ``call_tir``: ``out_sinfo=``, or a shape and ``dtype=`` as in older texts."""
        if _last(function) not in self.functions:
            raise self.error(
                call, f"call_tir takes a PrimFunc of this text and out_sinfo; {ast.unparse(function)} is not one"
            )
        outs = [k.value for k in call.keywords if k.arg in _RESULT_TYPES]
        outs += [s for s in shape if isinstance(s, ast.Call)]
        out = next(iter(outs), None)
        if out is not None:
            if len({*outs, *shape, *(k for k in call.keywords if k.arg == "dtype")}) > 1:
                raise self.error(call, f"it says the type of the result twice; it is written {_FORMS['call_tir']}")
            return [self.type(t) for t in (out.elts if isinstance(out, (ast.List, ast.Tuple)) else [out])]
        dtype = next((self.attribute(k.value) for k in call.keywords if k.arg == "dtype"), None)
        if len(shape) != 1 or dtype is None:
            raise self.error(call, f"it is written {_FORMS['call_tir']}")
        shapes = shape[0].elts if isinstance(shape[0], ast.List) else [shape[0]]
        dtypes = dtype if isinstance(dtype, list) else [dtype] * len(shapes)
        if len(dtypes) != len(shapes):
            raise self.error(call, f"there are {len(shapes)} shapes and {len(dtypes)} dtypes")
        return [TensorType(self.extents(s), d) for s, d in zip(shapes, dtypes, strict=True)]

    def is_operand(self, node: ast.expr) -> bool:
        """Whether an argument is a tensor, and no attribute."""
        if isinstance(node, ast.Name):
            return node.id in self.values or node.id in self.tuples or node.id not in (self.sizes or ())
        if isinstance(node, (ast.Tuple, ast.List)):
            return bool(node.elts) and all(map(self.is_operand, node.elts))
        return isinstance(node, ast.Subscript) or (isinstance(node, ast.Call) and _called(node) == "const")

    def several(self, g: GraphBuilder, node: ast.expr) -> tuple[Value, ...]:
        """The values of an argument: of a name, a tuple of arguments, or a call that stands in it."""
        match node:
            case ast.Name(id=name) if name in self.tuples:
                return self.tuples[name]
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return tuple(v for i in items for v in self.several(g, i))
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int() as k)) if name in self.tuples:
                if not 0 <= k < len(self.tuples[name]):
                    raise self.error(node, f"{name} has {len(self.tuples[name])} values")
                return (self.tuples[name][k],)
            case ast.Call(func=ast.Attribute(attr="tuple"), args=items):
                return tuple(v for i in items for v in self.several(g, i))
            case ast.Subscript(
                value=ast.Subscript(value=ast.Name(id="metadata")), slice=ast.Constant(value=int() as k)
            ):
                return (self.metadata(g, node, k),)
            case ast.Call():
                return self.called(g, node, [_called(node)])
        return (self.value(node),)

    def metadata(self, g: GraphBuilder, node: ast.expr, k: int) -> Value:
        """A large constant of TVM's text, ``metadata["ir.GenericConst"][0]``, whose array stands elsewhere."""
        name = f"metadata[{k}]"
        if name not in self.arrays:
            raise self.error(
                node, f"the array of the constant {name} is not in the text; give it as constants={{{name!r}: …}}"
            )
        if k not in self.large:
            self.large[k] = g.constant(self.arrays[name], f"const_{k}")
        return self.large[k]

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
        if len(names) != len(types):
            names = [f"{names[0]}_{k}" for k in range(len(types))] if len(names) == 1 else []
        return g.add(op, inputs, types, attrs, func, names or "", "")

    def value(self, node: ast.expr) -> Value:
        if not isinstance(node, ast.Name) or node.id not in self.values:
            raise self.error(node, f"{ast.unparse(node)} is not a value that was bound before")
        return self.values[node.id]

    def type(self, node: ast.expr) -> TensorType:
        match node:
            case ast.Call(func=ast.Attribute(attr="Tensor") | ast.Name(id="Tensor"), args=[shape, *rest]):
                more = [*rest, *(k.value for k in node.keywords if k.arg == "dtype")]
                dtype = self.attribute(more[0]) if more else "float32"
                if isinstance(shape, (ast.Tuple, ast.List)) and isinstance(dtype, str):
                    try:
                        return TensorType(self.extents(shape), dtype)
                    except _Placed:
                        raise
                    except GraphError as problem:
                        raise self.error(node, str(problem)) from None
        raise self.error(node, f'{ast.unparse(node)} is not a type; write R.Tensor((2, 3), "float32")')

    def extents(self, node: ast.expr) -> tuple[Dim, ...]:
        """A shape; sizes that are not known may be written in quotes, as in ``R.Tensor(("n", 16))``."""
        if not isinstance(node, (ast.Tuple, ast.List)):
            raise self.error(node, f"{ast.unparse(node)} is not a shape; write (2, 3)")
        found: list[Any] = []
        for e in node.elts:
            match e:
                case ast.Constant(value=str() as text):
                    try:
                        quoted = ast.parse(text.strip(), mode="eval").body
                    except SyntaxError:
                        raise self.error(e, f"{text!r} is not a size") from None
                    for inner in ast.walk(quoted):
                        ast.copy_location(inner, e)
                    found.append(normal(self.size(quoted)))
                case _:
                    found.append(self.attribute(e))
        return tuple(found)

    def attribute(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Call) and _called(node) in _WRAPPERS and len(node.args) == 1 and not node.keywords:
            return self.attribute(node.args[0])
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


_WRAPPERS = ("shape", "prim_value", "index_map", "int64", "int32", "float32", "float64")
"""What Relax writes around attributes: ``R.shape([2, 3])``, ``R.prim_value(0.0)``, ``T.index_map(lambda i: …)``."""


def _last(node: ast.expr) -> str:
    """``f`` of ``cls.f``."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _called(call: ast.Call) -> str:
    return _last(call.func)


def is_double(node: ast.AST) -> bool:
    """Whether an argument is ``**something``."""
    return isinstance(node, ast.keyword) and node.arg is None
