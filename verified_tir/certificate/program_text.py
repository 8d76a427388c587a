"""The TVMScript in a Python file of schedules: its programs, and the constants that they may use.

A file of schedules is not a text of TVMScript: there are functions of Python in it, and whatever else.  It is not
executed here.  So all statements are left out but these: imports, ``@T.prim_func`` functions, ``@I.ir_module`` classes,
symbols, and names that are given a constant once.  A name that may be given another value anywhere (in a loop, by
``global``, by ``import *``) is left out, too: a program that uses it cannot be read then, and is never read with a
wrong value.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator


class Ambiguous(ValueError):
    """A program's name is given another meaning elsewhere in the file."""


def program_text(text: str) -> str:
    """The text with all else left out; what stays is on the line where it was.

    :raises Ambiguous: if a program's name is bound more than once.
    """
    try:
        tree = ast.parse(text)
        bound = Counter(name for node in tree.body for name in _bound(node))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text  # whoever reads it says what is wrong
    old = text.split("\n")
    new = [""] * (len(old) + 1)
    constants: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.ClassDef() if _is_program(node):
                if bound[node.name] > 1:
                    raise Ambiguous(f"line {node.lineno}: {node.name} is given a meaning more than once")
                first = min(d.lineno for d in node.decorator_list)
                new[first - 1 : node.end_lineno] = old[first - 1 : node.end_lineno]
            case ast.Import() | ast.ImportFrom():
                new[node.lineno - 1] += f"{ast.unparse(node)}; "
            case ast.Assign() | ast.AnnAssign():
                for name, value in _assigned(node):
                    if bound[name] == 1 and not bound["*"] and _is_constant(value, constants):
                        constants.add(name)
                        new[node.lineno - 1] += f"{name} = {ast.unparse(value)}; "
    return "\n".join(new)


def _is_program(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """Whether its one decorator is ``T.prim_func`` or ``I.ir_module``, with arguments or without."""
    match node.decorator_list:
        case [ast.Call(func=found)] | [found]:
            name = "prim_func" if isinstance(node, ast.FunctionDef) else "ir_module"
            return isinstance(found, (ast.Name, ast.Attribute)) and ast.unparse(found).rpartition(".")[2] == name
    return False


def _assigned(node: ast.Assign | ast.AnnAssign) -> Iterator[tuple[str, ast.expr]]:
    """Names and their values, also of ``M, N = 4, 8``."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
            yield from ((n.id, v) for n, v in zip(names, values, strict=True) if isinstance(n, ast.Name))


def _is_constant(value: ast.expr, known: set[str]) -> bool:
    """A number, a string, an expression of these and of known constants, or a symbol."""
    match value:
        case ast.Constant(value=bool() | int() | float() | str()):
            return True
        case ast.Name(id=name):
            return name in known
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_constant(operand, known)
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() | ast.Mod(), left=left, right=right):
            return _is_constant(left, known) and _is_constant(right, known)
        case ast.Call(func=ast.Name(id="TypeVar")):
            return True
    return False


def _bound(node: ast.AST) -> Iterator[str]:
    """Names that a statement may give a meaning to, outside functions and classes; ``*`` stands for any."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
            for inner in ast.walk(node):
                if isinstance(inner, ast.Global):
                    yield from inner.names
            return
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name.partition(".")[0]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
    for child in ast.iter_child_nodes(node):
        yield from _bound(child)
