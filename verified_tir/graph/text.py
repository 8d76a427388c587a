"""Graphs as text, as Relax writes them: PrimFuncs, and a ``@R.function`` with one binding a line.

Sizes that are open are written as Python has them: ``R.Tensor((batch, 2 * n), "float32")``.

Small constants are written out.  Of large ones the text has the type; the arrays go beside it (``save_graph`` writes
an ``.npz`` file), and :func:`parse_graph` takes them by name.  Nothing is executed: the text is read with Python's
grammar.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array, Graph
from verified_tir.graph.read_text import GraphReader
from verified_tir.graph.relax_operators import is_relax
from verified_tir.graph.write_text import graph_text, is_written, names_of
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse


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


def parse_graph(
    text: str, constants: Mapping[str, Array] | None = None, filename: str = "<string>", *, name: str | None = None
) -> Graph:
    """The graph that a text describes: functions one after the other, or a module of Relax as TVM prints it.

    In a module of Relax (a class, a text with dataflow blocks, or one that begins as TVM's do) operators mean what they
    mean in TVM; one of which this is not known is refused.

    :param constants: the arrays of ``R.constant``, by name.
    :param name: which function of Relax, if there are several; ``main`` unless said.
    :raises GraphError: for a mistake, with its line and column; a mistake in a PrimFunc raises ScriptError.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError as problem:
        raise GraphError(f"{filename}:{problem.lineno or 1}:{problem.offset or 1}: {problem.msg}") from None
    except (ValueError, RecursionError, MemoryError) as problem:  # null characters; brackets without end
        raise GraphError(f"{filename}: this is not the text of a graph: {problem or type(problem).__name__}") from None
    parts = _Parts(text.split("\n"))
    parts.collect(tree.body)
    graph = parts.graph(name, filename)
    functions: dict[str, PrimFunc] = {}
    for p in parts.programs:
        for key, f in parse(p, filename).functions:
            if key in functions:
                raise GraphError(f"{filename}: there are two functions called {key}")
            functions[key] = f
    relax = is_relax(text, graph not in tree.body)
    return GraphReader(functions, constants or {}, filename, relax).read(graph)


class _Parts:
    """The functions of a text: graphs, and the texts of PrimFuncs."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.graphs: list[ast.FunctionDef] = []
        self.symbols: list[str] = []
        self.functions: list[ast.FunctionDef] = []

    def collect(self, body: Sequence[ast.stmt]) -> None:
        """Sort the statements of a text, or of the class that is a module."""
        for item in body:
            match item:
                case ast.ClassDef(body=inner):
                    self.collect(inner)
                case ast.FunctionDef(decorator_list=decorators) if any(map(_is_relax, decorators)):
                    self.graphs.append(item)
                case ast.FunctionDef():
                    self.functions.append(item)
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="TypeVar"))):
                    self.symbols.append(f'{name} = TypeVar("{name}")')

    def graph(self, name: str | None, filename: str) -> ast.FunctionDef:
        """The function of Relax that is asked for.

        :raises GraphError: if there is none, or one of several.
        """
        wanted = name or ("main" if len(self.graphs) > 1 else None)
        found = [g for g in self.graphs if wanted in (None, g.name)]
        if len(found) == 1:
            return found[0]
        if name is None or not self.graphs:
            raise GraphError(f"{filename}: a graph is one function with @R.function; there are {len(self.graphs)}")
        have = ", ".join(g.name for g in self.graphs)
        raise GraphError(f"{filename}: there is no one function {name} with @R.function; there are {have}")

    @property
    def programs(self) -> Iterator[str]:
        """The text of each PrimFunc, on its lines; behind the symbols that the module declares."""
        for f in self.functions:
            first = min([f.lineno, *(d.lineno for d in f.decorator_list)])
            body = textwrap.dedent("\n".join(self.lines[first - 1 : f.end_lineno]))
            yield ("; ".join(self.symbols) if first > 1 else "") + "\n" * (first - 1) + body


def _is_relax(decorator: ast.expr) -> bool:
    """Whether it is ``R.function`` or ``R.function(…)``."""
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator) == "R.function"


__all__ = ["graph_text", "is_written", "load_graph", "names_of", "parse_graph", "save_graph"]
