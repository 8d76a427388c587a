"""Steps that somebody wrote, as calls of primitives.  The text is parsed, never executed.

A step is a call of a primitive, as in a schedule file, with or without the schedule in front; what it gives may be
named::

    i0, i1 = split("i", factors=[None, 4])
    s.reorder(i1, i0)
    transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=0.0)

Arguments are literals, names, and lambdas and expressions over indices, symbols and buffers.  The latter become notes
as :mod:`verified_tir.schedule.recording` makes them, whose text the parser of programs reads.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, final

from verified_tir.ir.expr import Var
from verified_tir.ir.script import ScriptError
from verified_tir.schedule.recorded_text import Unrecordable, variable_noted
from verified_tir.schedule.recording import PRIMITIVES, Call, revived
from verified_tir.schedule.schedule import Schedule
from verified_tir.schedule.session import TacticFailed
from verified_tir.schedule.spelling import meant
from verified_tir.schedule.tactics.layout import find_symbol

QUESTIONS: Final = ("loops", "get_loops", "get_block", "get_sblock", "buffer", "symbol")
"""Methods of schedules that only look."""

_MAPS: Final = frozenset({"transform_layout", "transform_block_layout", "reindex_cache_read", "reindex_cache_write"})
"""Primitives whose first lambda is an index map."""
_FUNCTIONS: Final = frozenset({"transform_layout", "add_buffer_constraint", "assume", "restate", "write_padding"})
"""Primitives that take functions of a buffer's indices."""
_FLOATS: Final = frozenset({"inf", "-inf", "nan", "-nan"})


@final
class BadStep(Exception):
    """A text that is not a step; ``line`` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@final
@dataclass(frozen=True, slots=True)
class Written:
    """A step as it was written: the primitive, its arguments, and what its result is called."""

    name: str
    call: ast.Call
    line: int
    results: tuple[str, ...] = ()
    several: bool = False


def steps_in(text: str) -> Iterator[Written]:
    """The steps of a text, in its order; those before one that is not a step can be taken.

    :raises BadStep: if the text is not Python, or a statement is not a call.
    """
    try:
        body = ast.parse(textwrap.dedent(text)).body
    except SyntaxError as problem:
        raise BadStep(f"this is not Python: {problem.msg}", problem.lineno or 1) from None
    except (ValueError, RecursionError, MemoryError):
        raise BadStep("this is nested too deeply, or has characters that no text has", 1) from None
    yield from map(_written, body)


def _written(s: ast.stmt) -> Written:
    match s:
        case ast.Expr(value=ast.Call() as call):
            return Written(_primitive(call), call, s.lineno)
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
            return Written(_primitive(call), call, s.lineno, (name,))
        case ast.Assign(targets=[ast.Tuple(elts=targets) | ast.List(elts=targets)], value=ast.Call() as call):
            names = tuple(t.id for t in targets if isinstance(t, ast.Name))
            if len(names) == len(targets):
                return Written(_primitive(call), call, s.lineno, names, several=True)
    _bad(s, 'a step is a call of a primitive, such as split("i", [None, 4]); its result may be named')


def _primitive(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name):
            pass
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner != "T":
            pass
        case _:
            _bad(call, "a step is a call of a primitive by its name")
    if name not in PRIMITIVES and name not in QUESTIONS:
        _bad(call, f"there is no primitive {name!r}{meant(name, [*PRIMITIVES, *QUESTIONS])}")
    return name


def _bad(node: ast.stmt | ast.expr, message: str) -> NoReturn:
    raise BadStep(message, node.lineno)


def take(schedule: Schedule, step: Written, known: dict[str, Any]) -> None:
    """Take a step.  ``known`` are the results of earlier ones by name; this one's are added.

    :raises BadStep: if an argument is not one.
    :raises ScheduleError: if the step is refused.
    """
    arguments = _Arguments(schedule, step.name, known)
    args = [v for a in step.call.args for v in arguments.values(a)]
    if any(k.arg is None for k in step.call.keywords):
        _bad(step.call, "** is not taken here: write the arguments out")
    named = {str(k.arg): arguments.value(k.value) for k in step.call.keywords}
    if step.name in PRIMITIVES:
        result = PRIMITIVES[step.name](schedule, *args, **named)
    else:
        result = getattr(schedule, step.name)(*args, **named)
    if not step.several:
        known.update((name, result) for name in step.results)
        return
    results = list(result) if isinstance(result, (list, tuple)) else []
    if len(results) != len(step.results):
        count = f"{len(results)} results" if results else "one result"
        _bad(step.call, f"{step.name} gives {count}, and {len(step.results)} names are written")
    known.update(zip(step.results, results, strict=True))


@final
@dataclass(slots=True)
class _Arguments:
    """The arguments of one step as values."""

    schedule: Schedule
    primitive: str
    known: dict[str, Any]
    maps: int = 0

    def values(self, node: ast.expr) -> Iterator[Any]:
        """The value of an argument, or of each of a named list behind a star."""
        match node:
            case ast.Starred(value=ast.Name(id=name)) if isinstance(self.known.get(name), (list, tuple)):
                yield from self.known[name]
            case ast.Starred():
                _bad(node, "behind a star stands the name of several results")
            case _:
                yield self.value(node)

    def value(self, node: ast.expr) -> Any:
        """The value of an argument."""
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() as plain):
                return plain
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return -number
            case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))], keywords=[]):
                if text in _FLOATS:
                    return float(text)
            case ast.List(elts=items):
                return [self.value(v) for v in items]
            case ast.Tuple(elts=items):
                return tuple(self.value(v) for v in items)
            case ast.Dict(keys=keys, values=items) if all(k is not None for k in keys):
                return {self.value(k): self.value(v) for k, v in zip(keys, items, strict=True) if k is not None}
            case ast.Name(id=name):
                return self.known[name] if name in self.known else self.named(name)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(k))) if isinstance(
                self.known.get(name), (list, tuple)
            ):
                if not -len(self.known[name]) <= k < len(self.known[name]):
                    _bad(node, f"{name} has {len(self.known[name])} results")
                return self.known[name][k]
            case ast.Lambda():
                return self.function(node)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="T"), attr="undef"), args=[], keywords=[]):
                return self.revived(node, {"undef": "float32"})
        return self.revived(node, {"expression": self.texts(node, (), [node])})

    def named(self, name: str) -> Any:
        """A name that stands alone: a symbol, or else what a text of that name means."""
        try:
            return find_symbol(self.schedule._session, name)
        except TacticFailed:
            return name

    def function(self, node: ast.Lambda) -> Any:
        """A lambda: an index map, or a function of a buffer's indices."""
        a = node.args
        if a.posonlyargs or a.vararg or a.kwonlyargs or a.kwarg or a.defaults:
            _bad(node, "a lambda takes its indices one by one here, as in lambda i, j: [i, j // 4, j % 4]")
        own = [x.arg for x in a.args]
        if len(set(own)) < len(own):
            _bad(node, "the indices of a lambda have different names")
        if self.primitive in _MAPS and not self.maps:
            self.maps += 1
            items = node.body.elts if isinstance(node.body, (ast.List, ast.Tuple)) else [node.body]
            outputs = [e for e in items if not _is_separator(e)]
            found = self.texts(node, own, outputs)
            found["separators"] = [k - n for n, k in enumerate(k for k, e in enumerate(items) if _is_separator(e))]
            return self.revived(node, {"index_map": found})
        if self.primitive in _FUNCTIONS:
            return self.revived(node, {"function": self.texts(node, own, [node.body])})
        _bad(node, f"a lambda is not taken by {self.primitive} here")

    def texts(self, node: ast.expr, own: Sequence[str], exprs: Sequence[ast.expr]) -> dict[str, Any]:
        """Expressions as a note, with what their names mean."""
        session = self.schedule._session
        names = dict.fromkeys(n.id for e in exprs for n in ast.walk(e) if isinstance(n, ast.Name))
        found: dict[str, Any] = {"of": [[name, "int32"] for name in own], "where": {}, "buffers": {}}
        for name in names:
            places = [k for k, b in enumerate(session.buffers) if b.name == name]
            if name in own or name == "T":
                continue
            if name in self.known or not places:
                found["where"][name] = self.variable(node, name)
            else:
                found["buffers"][name] = places[0]
        found["text"] = [ast.unparse(e) for e in exprs]
        return found

    def variable(self, node: ast.expr, name: str) -> dict[str, Any]:
        """What a name in an expression means: an earlier result, a symbol or a loop."""
        session = self.schedule._session
        try:
            meant_here = self.known[name] if name in self.known else self.named(name)
            variable = session.named_loop(meant_here).var if isinstance(meant_here, str) else meant_here
            if isinstance(variable, Var):
                return variable_noted(session, variable)
        except (TacticFailed, Unrecordable):
            pass
        _bad(node, f"{name} is neither an index nor a symbol, a loop or a buffer of the program")

    def revived(self, node: ast.expr, noted: dict[str, Any]) -> Any:
        """The value that a note stands for."""
        try:
            return revived(self.schedule, Call(self.primitive, [noted]))[0][0]
        except Unrecordable as problem:
            cause = problem.__cause__
            _bad(node, f"this is not an argument: {cause.message if isinstance(cause, ScriptError) else problem}")


def _is_separator(e: ast.expr) -> bool:
    return (isinstance(e, ast.Name) and e.id == "AXIS_SEPARATOR") or (
        isinstance(e, ast.Attribute) and e.attr == "AXIS_SEPARATOR"
    )
