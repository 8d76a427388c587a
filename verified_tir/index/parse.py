"""Index maps as text: ``"lambda i, j: [j // 4, AXIS_SEPARATOR, i, j % 4]"``, as ``str(IndexMap)`` writes them.

Read with Python's grammar and never executed: the outputs are expressions of TVMScript.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from verified_tir.index.map import AXIS_SEPARATOR, IndexMap
from verified_tir.ir.dtype import INT32, DType
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.script import parse_func
from verified_tir.ir.script.dtypes import is_dtype_name
from verified_tir.ir.stmt import Evaluate, Seq
from verified_tir.ir.visit import substitute


def parse_index_map(text: str, symbols: Mapping[str, Var] | None = None, dtype: DType = INT32) -> IndexMap:
    """The map that a text stands for.

    :param symbols: shape symbols that the outputs may mention, by name.
    :param dtype: the type of the indices.
    :raises IRError: if the text is no such function.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as problem:
        raise IRError(f"{text!r} is not an index map: {problem.msg}") from None
    if not isinstance(tree, ast.Lambda):
        raise IRError(f"{text!r} is not an index map; write lambda i, j: [j, i]")
    given = tree.args
    if given.vararg or given.kwonlyargs or given.kwarg or given.defaults or given.posonlyargs:
        raise IRError(f"the index map {text!r} names one variable for each dimension, and nothing else")
    names = [a.arg for a in given.args]
    if len(set(names)) != len(names):
        raise IRError(f"the index map {text!r} names a variable twice")
    items = tree.body.elts if isinstance(tree.body, (ast.List, ast.Tuple)) else [tree.body]
    known = {name: v for name, v in (symbols or {}).items() if name not in names}
    inputs = tuple(Var.fresh(name, dtype) for name in names)
    outputs: list[Expr] = []
    separators: list[int] = []
    for item in items:
        if _is_separator(item):
            separators.append(len(outputs))
        else:
            outputs.append(_expression(item, dict(zip(names, inputs, strict=True)) | known, dtype, text))
    return IndexMap(inputs, tuple(outputs), tuple(separators))


def _is_separator(item: ast.expr) -> bool:
    name = item.attr if isinstance(item, ast.Attribute) else item.id if isinstance(item, ast.Name) else ""
    return name == repr(AXIS_SEPARATOR)


_WORDS = {name: name for name in ("min", "max", "truncdiv", "truncmod", "if_then_else")} | {"select": "Select"}
"""The functions in ``str(IndexMap)``, beside casts, and their names in TVMScript."""


class _Spelling(ast.NodeTransformer):
    """Functions as TVMScript calls them: ``T.min`` for ``min``; no variable has the name of the namespace."""

    def __init__(self, names: Mapping[str, Var]) -> None:
        self.renamed = {name: f"{name}_" for name in names if name == "T"}
        while set(self.renamed.values()) & set(names):
            self.renamed = {old: f"{new}_" for old, new in self.renamed.items()}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        func = node.func
        self.generic_visit(node)
        match func:
            case ast.Name(id=name) if name in _WORDS or is_dtype_name(name):
                node.func = ast.Attribute(ast.Name("T", ast.Load()), _WORDS.get(name, name), ast.Load())
            case ast.Name():
                node.func = func
            case ast.Attribute(value=ast.Name(id="T")):
                node.func = ast.Attribute(ast.Name("T", ast.Load()), func.attr, ast.Load())
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.renamed.get(node.id, node.id), node.ctx)


def _expression(item: ast.expr, names: Mapping[str, Var], dtype: DType, text: str) -> Expr:
    """One output, read as an expression of a function whose parameters are the names."""
    spelling = _Spelling(names)
    params = ", ".join(f"{spelling.renamed.get(name, name)}: T.{v.dtype}" for name, v in names.items())
    number = isinstance(item, ast.Constant) and type(item.value) is int
    spelled = ast.unparse(ast.fix_missing_locations(spelling.visit(item)))
    source = f"T.{dtype}({spelled})" if number else spelled
    try:
        func = parse_func(f"@T.prim_func\ndef index_map({params}):\n    T.evaluate({source})\n")
    except IRError as problem:
        raise IRError(f"in the index map {text!r}: {problem}") from None
    body = func.body.stmts[0] if isinstance(func.body, Seq) else func.body
    assert isinstance(body, Evaluate)
    return substitute(body.value, dict(zip(func.params, names.values(), strict=True)))
