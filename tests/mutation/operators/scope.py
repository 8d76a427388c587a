"""One function as the operators see it: which of its nodes matter, and which way a formula counts.

What cannot matter for what the kernel accepts is left out by these rules and not by hand:

* text: f-strings, claims, names shown to readers, reasons of refusals, and functions that return nothing but text;
* places: ``path``, ``place``, ``where`` of questions and refusals;
* ``assert`` statements, annotations, decorators, imports;
* operands of ``and`` and ``or`` without which the next one cannot be evaluated (see ``conditions``), and refusals that
  are only handed on;
* representation: ``__repr__``, ``__init_subclass__``, properties that return a field.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, final

from tests.mutation.mutant import Effect
from tests.mutation.sources import Source, SourceFunction

Side: TypeAlias = Literal["goal", "given", "unknown"]

_TEXT_FUNCTIONS = frozenset({"_verb", "__repr__", "__init_subclass__", "__reduce__", "__str__"})
_TEXT_VARIABLES = frozenset({"claim", "what", "verb", "verbs", "reason", "why", "place", "told", "label"})
_TEXT_KEYWORDS = frozenset(
    {"claim", "why", "place", "path", "where", "reason", "name", "names", "lemma", "small", "model", "quick"}
)
_REFUSALS = frozenset({"NoMatch", "IRError", "Unencodable", "AssertionError", "TypeError", "script"})
_QUESTION_TEXT = (0, 1, 5, 6)
GOAL, GIVEN = 4, 3
_HELPERS_GIVEN = {
    "no_dependence": 3,
    "safe_questions": 2,
    "evaluated_safely": 2,
    "holds": 1,
    "prove": 1,
}
"""Functions that make questions, or ask them: which argument is what is given."""


def called(node: ast.AST) -> str:
    """The last part of the name of what a call calls; empty for anything else."""
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name
        case _:
            return ""


def formula_call(node: ast.AST) -> str:
    """``and_`` for ``f.and_(…)``: the constructor of a formula that a node calls."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="f"), attr=name)):
            return name
        case _:
            return ""


@final
@dataclass(slots=True)
class Scope:
    """A function, its nodes that matter in textual order, and what stands around each."""

    source: Source
    function: SourceFunction
    nodes: list[ast.AST]
    parents: dict[ast.AST, ast.AST]
    sides: dict[ast.AST, Side]

    @classmethod
    def of(cls, source: Source, function: SourceFunction) -> Scope | None:
        """``None`` for a function that only makes text."""
        node = function.node
        if node.name in _TEXT_FUNCTIONS or _is_text(node) or _is_field(node):
            return None
        nodes: list[ast.AST] = []
        parents: dict[ast.AST, ast.AST] = {}
        for child in node.body:
            _collect(child, node, nodes, parents)
        scope = cls(source, function, nodes, parents, {})
        scope._find_sides()
        return scope

    def text(self, node: ast.AST) -> str:
        return self.source.text(node)

    def short(self, node: ast.AST) -> str:
        """The first words of a node's text, on one line."""
        text = " ".join(self.text(node).split())
        return text if len(text) <= 70 else text[:67] + "…"

    def parent(self, node: ast.AST) -> ast.AST:
        return self.parents[node]

    def side(self, node: ast.AST) -> Side:
        """Whether a formula is (part of) a goal or of what is given, where it stands positively."""
        return self.sides.get(node, "unknown")

    def when_true_more_often(self, node: ast.AST) -> Effect:
        """What becomes of the kernel if this formula holds more often."""
        match self.side(node):
            case "goal":
                return "weaker"
            case "given":
                return "stricter"
            case "unknown":
                return "either"

    def when_true_less_often(self, node: ast.AST) -> Effect:
        match self.side(node):
            case "goal":
                return "stricter"
            case "given":
                return "weaker"
            case "unknown":
                return "either"

    # -- goals and givens -----------------------------------------------------------------------------------------

    def _find_sides(self) -> None:
        named: dict[str, list[ast.expr]] = {}
        for node in self.nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    named.setdefault(name, []).append(value)
                case _:
                    pass
        for node in self.nodes:
            if called(node) == "Question":
                assert isinstance(node, ast.Call)
                for position, side in ((GOAL, "goal"), (GIVEN, "given")):
                    if position < len(node.args):
                        self._mark(node.args[position], "goal" if side == "goal" else "given", named, 0)
            position = _HELPERS_GIVEN.get(called(node), -1)
            if isinstance(node, ast.Call) and 0 <= position < len(node.args):
                self._mark(node.args[position], "given", named, 0)

    def _mark(self, node: ast.AST, side: Side, named: dict[str, list[ast.expr]], depth: int) -> None:
        other: Side = "given" if side == "goal" else "goal"
        known = self.sides.get(node)
        if known is not None and known != side:
            self.sides[node] = "unknown"
            return
        self.sides[node] = side
        match node:
            case ast.Name(id=name) if depth < 3:
                for value in named.get(name, ()):
                    self._mark(value, side, named, depth + 1)
            case ast.Starred(value=value):
                self._mark(value, side, named, depth)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for e in elements:
                    self._mark(e, side, named, depth)
            case ast.ListComp(elt=e) | ast.GeneratorExp(elt=e):
                self._mark(e, side, named, depth)
            case ast.Call(args=args):
                match formula_call(node):
                    case "and_" | "or_":
                        for a in args:
                            self._mark(a, side, named, depth)
                    case "not_":
                        self._mark(args[0], other, named, depth)
                    case "implies":
                        self._mark(args[0], other, named, depth)
                        self._mark(args[1], side, named, depth)
                    case _:
                        if called(node) == "tuple" and args:
                            self._mark(args[0], side, named, depth)
            case _:
                pass


def _is_text(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A function that returns a ``str``: words for a reader.  (``str | None`` is a refusal, and matters.)"""
    return isinstance(node.returns, ast.Name) and node.returns.id == "str"


def _is_field(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    match body:
        case [ast.Return(value=ast.Attribute(value=ast.Name(id="self")))]:
            return True
        case _:
            return False


def _collect(node: ast.AST, parent: ast.AST, nodes: list[ast.AST], parents: dict[ast.AST, ast.AST]) -> None:
    if _is_text_node(node):
        return
    nodes.append(node)
    parents[node] = parent
    for child in _children(node):
        _collect(child, node, nodes, parents)


def _is_text_node(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Assert() | ast.Import() | ast.ImportFrom() | ast.Constant(value=str()):
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) if name in _TEXT_VARIABLES:
            return True
        case ast.Assign(targets=[ast.Subscript(value=ast.Attribute(attr="names"))]):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Attribute(attr="names")))):
            return True
        case ast.keyword(arg=name) if name in _TEXT_KEYWORDS:
            return True
        case ast.Call() if called(node) in _REFUSALS:
            return True
        case _:
            return False


def _children(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Call(func=func, args=args, keywords=keywords) if called(node) == "Question":
            yield func
            yield from (a for k, a in enumerate(args) if k not in _QUESTION_TEXT)
            yield from keywords
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
            yield from body
        case ast.AnnAssign(target=target, value=value):
            yield target
            if value is not None:
                yield value
        case _:
            yield from ast.iter_child_nodes(node)


__all__ = ["GIVEN", "GOAL", "Scope", "Side", "called", "formula_call"]
