"""Index maps as text: ``"lambda i, j: [j // 4, AXIS_SEPARATOR, i, j % 4]"``, as ``str(IndexMap)`` writes them.

Read with Python's grammar and never executed: the outputs are expressions of TVMScript.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from verified_tir.ir.dtype import INT32, DType
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import Evaluate, Seq
from verified_tir.ir.visit import substitute
from verified_tir.schedule.index_map import AXIS_SEPARATOR, IndexMap


def parse_index_map(text: str, symbols: Mapping[str, Var] | None = None, dtype: DType = INT32) -> IndexMap:
    """The map that a text stands for.

    :param symbols: shape symbols that the outputs may mention, by name.
    :param dtype: the type of the indices.
    :raises IRError: if the text is no such function.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as problem:
        raise IRError(f"{text!r} is no index map: {problem.msg}") from None
    if not isinstance(tree, ast.Lambda):
        raise IRError(f"{text!r} is no index map; write lambda i, j: [j, i]")
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


def _expression(item: ast.expr, names: Mapping[str, Var], dtype: DType, text: str) -> Expr:
    """One output, read as an expression of a function whose parameters are the names."""
    params = ", ".join(f"{name}: T.{v.dtype}" for name, v in names.items())
    number = isinstance(item, ast.Constant) and type(item.value) is int
    source = f"T.{dtype}({ast.unparse(item)})" if number else ast.unparse(item)
    try:
        func = parse_func(f"@T.prim_func\ndef index_map({params}):\n    T.evaluate({source})\n")
    except IRError as problem:
        raise IRError(f"in the index map {text!r}: {problem}") from None
    body = func.body.stmts[0] if isinstance(func.body, Seq) else func.body
    assert isinstance(body, Evaluate)
    return substitute(body.value, dict(zip(func.params, names.values(), strict=True)))
