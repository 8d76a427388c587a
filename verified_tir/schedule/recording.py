"""Calls of primitives as plain values, so that a schedule can be done again without the file that it came from.

Every primitive of :class:`Schedule` notes how it was called.  A note holds nothing but JSON values: a loop is its place
in the program before the step, a buffer its position, a symbol or a block its name, an index map or an expression its
text over the names of its indices, a float its exact hexadecimal text.  Functions (index maps, padding) are called once
with index variables, at the time of the step, and what they gave is noted.  :func:`revived` turns a note back into
arguments for another schedule that stands at the same program.

Nothing here is trusted: a note that says something else leads to another program or to other obligations, and whoever
does the schedule again compares both.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar, final

import numpy as np

from verified_tir.index.map import IndexMap
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.collector import seldom_collected
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Expr, Undef, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.visit import substitute
from verified_tir.schedule.constraint import IndexFunction
from verified_tir.schedule.copies import block_of_copy, blocks_of_copies
from verified_tir.schedule.errors import refused_by
from verified_tir.schedule.intrinsic import Intrinsic
from verified_tir.schedule.recorded_text import (
    Unrecordable,
    expressions_meant,
    expressions_noted,
    variable_meant,
    variable_noted,
)
from verified_tir.schedule.sampling import unsampled
from verified_tir.schedule.session import Session, TacticFailed
from verified_tir.schedule.spelling import check_call, signature_of
from verified_tir.schedule.tactics.assume import function_of
from verified_tir.schedule.tactics.block_domain import map_of_block
from verified_tir.schedule.tactics.layout import buffer_in, find_buffer, layout_arguments, layout_map, map_of_buffer
from verified_tir.schedule.tactics.pad_value import called, transformed
from verified_tir.schedule.trace_recording import Tracer

PRIMITIVES: Final[dict[str, Callable[..., Any]]] = {}
"""The recorded primitives by name."""

TVM_NAMES: Final[dict[str, dict[str, str]]] = {
    "bind": {"thread_axis": "thread"},
    "blockize": {"target": "loop"},
    "cache_read": {"read_buffer_index": "buffer", "storage_scope": "scope"},
    "cache_write": {"write_buffer_index": "buffer", "storage_scope": "scope"},
    "set_scope": {"buffer_index": "buffer", "storage_scope": "scope"},
    "tensorize": {"block_or_loop": "loop"},
}
"""What TVM calls parameters that have another name here; both are taken."""

FRAMES = 20
"""How many lines of callers a note keeps, at most."""


@final
@dataclass(frozen=True, slots=True)
class Call:
    """A primitive with its arguments as JSON values.

    ``problem`` says why they could not be noted (then they are empty).  ``lines`` are the file and line of the caller
    and of its callers, up to the first one that belongs to this package again.
    """

    primitive: str
    arguments: list[Any] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)
    problem: str = ""
    lines: tuple[tuple[str, int], ...] = ()

    def line_in(self, file: str) -> int:
        """The innermost line of a file from which the primitive was called, perhaps through helpers in others, or 0."""
        return next((line for name, line in self.lines if name == file), 0)


class _Recording(Protocol):
    """What notes its calls."""

    _session: Session
    _call: Call | None
    _tracer: Tracer


S = TypeVar("S", bound=_Recording)
P = ParamSpec("P")
T = TypeVar("T")


def recorded(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Decorator of primitives: before one runs, it is noted how it was called.

    What has no text becomes what has one: functions of the indices of a buffer are called once, and a schedule that is
    passed becomes an intrinsic, its program with its steps.
    """

    @functools.wraps(method)
    def call(self: S, /, *args: P.args, **named: P.kwargs) -> T:
        # As decorators, these would be among the callers that are noted.
        with seldom_collected(), refused_by(self, step=True):
            named = _own_names(method.__name__, named)  # type: ignore[assignment]
            check_call(method, args, named)
            first = next((a for a in args if isinstance(a, (str, Buffer))), None)
            buffer = named.get("block", first) if method.__name__ in _OF_BLOCKS else named.get("buffer", first)
            plain = functools.partial(_plain, self, method.__name__, buffer)
            where = _positional(PRIMITIVES[method.__name__], len(args))
            given, keywords = blocks_of_copies(
                self._session, method.__name__, where, [*map(plain, args)], {k: plain(v) for k, v in named.items()}
            )
            ordinary, words = [unsampled(v) for v in given], {k: unsampled(v) for k, v in keywords.items()}
            self._call = call = note(self._session, method.__name__, ordinary, words)
            begun = self._tracer.begun(
                self._session, method.__name__, method, given, keywords, (call.arguments, call.named)
            )
            try:
                result = method(self, *ordinary, **words)  # type: ignore[arg-type]
            finally:
                self._call = None
            self._tracer = self._tracer.with_step(*begun, result)
            return result

    PRIMITIVES[method.__name__] = call
    return call


def _own_names(primitive: str, named: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments, those that have TVM's names under our own.

    :raises TypeError: if a parameter is given by both names.
    """
    names = TVM_NAMES.get(primitive, {})
    twice = [k for k in named if k in names and names[k] in named]
    if twice:
        raise TypeError(f"{primitive}() got {twice[0]} and {names[twice[0]]}, which are one parameter")
    return {names.get(k, k): v for k, v in named.items()}


def _plain(schedule: _Recording, primitive: str, buffer: Any, value: Any) -> Any:
    """An argument as a value."""
    if primitive in _OF_SCHEDULES and isinstance(value, type(schedule)):
        return Intrinsic.of_schedule(value)
    if primitive in _OF_INDICES and callable(value) and not isinstance(value, (Expr, IndexFunction)):
        try:
            return function_of(value, find_buffer(schedule._session, buffer)[0])
        except Exception:  # the primitive itself will say what is wrong
            return value
    if primitive in _OF_BLOCKS and callable(value):
        try:
            block = block_of_copy(schedule._session, buffer)
            return map_of_block(schedule._session, block, value, ranges=primitive == "annotate_buffer_access")
        except Exception:  # the primitive itself will say what is wrong
            return value
    return value


_OF_SCHEDULES: Final = frozenset({"tensorize", "refine_call"})
"""Primitives that take schedules of other programs."""
_OF_INDICES: Final = frozenset({"add_buffer_constraint", "assume", "restate"})
"""Primitives that take functions of a buffer's indices."""
_OF_BLOCKS: Final = frozenset(
    {"annotate_buffer_access", "reindex_cache_read", "reindex_cache_write", "transform_block_layout"}
)
"""Primitives that take functions of a block's iteration variables."""
_LOOPS: Final = frozenset({"loop", "first", "second", "handles", "after", "block_or_loop"})
_BUFFERS: Final = frozenset({"buffer"})
_INTRINSICS: Final = frozenset({"tensor_intrin"})
"""Parameters of primitives, by what a name that is passed means."""


def note(session: Session, primitive: str, args: Sequence[Any], named: Mapping[str, Any]) -> Call:
    """The note of a call that is about to be made.  It never raises: what cannot be noted becomes a ``problem``."""
    lines = _callers()
    try:
        if primitive == "transform_layout":
            found = layout_arguments(tuple(args), dict(named))
            wanted = {} if found[-1] is None else {"shape": _noted(session, list(found[-1]))}
            return Call(primitive, _layout(session, *found), wanted, lines=lines)
        parameters = _positional(PRIMITIVES[primitive], len(args))
        arguments = [_noted(session, _placed(session, p, a)) for p, a in zip(parameters, args, strict=True)]
        keywords = {k: _noted(session, _placed(session, k, v)) for k, v in named.items()}
        return Call(primitive, arguments, keywords, lines=lines)
    except (Unrecordable, TacticFailed) as problem:
        return Call(primitive, problem=str(problem), lines=lines)
    except Exception as problem:  # a function of the user's, or a wrong argument: the primitive itself will say so
        return Call(primitive, problem=f"{type(problem).__name__}: {problem}", lines=lines)


@functools.cache
def _positional(primitive: Callable[..., Any], count: int) -> Sequence[str]:
    """The parameters that positional arguments go to, the schedule left out."""
    found: list[str] = []
    for name, parameter in list(inspect.signature(primitive).parameters.items())[1:]:
        rest = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        found += [name] * (count - len(found) if rest else 1)
    return tuple(found[:count])


def _placed(session: Session, parameter: str, value: Any) -> Any:
    """The loop or the buffer that a name means: in the program's text names may be others (``I`` is ``I_`` there)."""
    if not isinstance(value, str):
        return value
    if parameter in _INTRINSICS and value in Intrinsic.registered:
        return Intrinsic.registered[value]
    try:
        if parameter in _LOOPS and not session.has_block(value):
            return session.named_loop(value).var
        return find_buffer(session, value)[0] if _names_buffer(session, parameter, value) else value
    except TacticFailed:  # a view, or one of several of that name: the primitive knows which is meant
        return value


def _names_buffer(session: Session, parameter: str, value: str) -> bool:
    """Whether an argument is a buffer; some primitives take one in the place of a block."""
    return parameter in _BUFFERS or (parameter == "block" and not session.has_block(value))


def _callers() -> tuple[tuple[str, int], ...]:
    frame = sys._getframe(1)
    package = __name__.partition(".")[0]
    while frame is not None and _package(frame) == package:
        frame = frame.f_back  # type: ignore[assignment]
    found: list[tuple[str, int]] = []
    while frame is not None and _package(frame) != package and len(found) < FRAMES:
        found.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(found)


def _package(frame: Any) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


# -- from arguments to notes -------------------------------------------------------------------------------------------


def _noted(session: Session, value: Any) -> Any:
    """One argument as a JSON value."""
    match value:
        case None | bool() | str():
            return value
        case np.bool_():
            return bool(value)
        case int() | np.integer():
            return int(value)
        case float() | np.floating():
            return {"float": _hex(float(value))}
        case list():
            return [_noted(session, v) for v in value]
        case tuple():
            return {"tuple": [_noted(session, v) for v in value]}
        case dict():
            return {"dict": [[_noted(session, k), _noted(session, v)] for k, v in value.items()]}
        case Var():
            return variable_noted(session, value)
        case Undef():
            return {"undef": str(value.dtype)}
        case Expr():
            return {"expression": expressions_noted(session, (), (value,))}
        case Buffer():
            return _buffer(session, value)
        case IndexFunction(inputs=inputs, output=output):
            return {"function": expressions_noted(session, inputs, (output,))}
        case IndexMap(inputs=inputs, outputs=outputs, separators=separators):
            return {"index_map": expressions_noted(session, inputs, outputs) | {"separators": list(separators)}}
        case Intrinsic():
            return {"tensor_intrin": value.as_json()}
    raise Unrecordable(f"an argument of type {type(value).__name__} has no text")


def _hex(value: float) -> str:
    if math.isnan(value):
        return "-nan" if math.copysign(1, value) < 0 else "nan"
    return value.hex()


def _buffer(session: Session, buffer: Buffer) -> dict[str, Any] | str:
    """A buffer by its position; an earlier state of one means the one of its name."""
    position = next((k for k, b in enumerate(session.buffers) if b is buffer), None)
    return buffer.name if position is None else {"buffer": position, "name": buffer.name}


def _layout(session: Session, block: str | None, where: Any, index_map: Any, pad_value: Any, shape: Any) -> list[Any]:
    """The arguments of ``transform_layout``, its functions evaluated."""
    buffer = find_buffer(session, where)[0] if block is None else buffer_in(session, block, where)
    index_map = map_of_buffer(buffer, index_map)
    own = tuple(Var.fresh(f"p{k}", index_map.dtype) for k in range(len(index_map.outputs)))
    new: Buffer | None = None
    if callable(pad_value) and not isinstance(pad_value, Expr):
        made = layout_map(index_map, buffer, shape)
        new = transformed(buffer, made)
        pad_value = called(pad_value, buffer, made, new)
        if isinstance(pad_value, Expr):
            pad_value = substitute(pad_value, dict(zip(made.inverse_inputs, own, strict=True)))
    if isinstance(pad_value, Expr) and not isinstance(pad_value, Undef):
        padding: Any = {"function": expressions_noted(session, own, (pad_value,), new)}
    else:
        padding = _noted(session, pad_value)
    named = [] if block is None else [block]
    where = buffer if block is None else where
    return [*named, _noted(session, where), _noted(session, index_map), padding]


# -- from notes to arguments -------------------------------------------------------------------------------------------


def revived(schedule: _Recording, call: Call) -> tuple[list[Any], dict[str, Any]]:
    """The arguments that a note stands for, where the schedule's program is the one before that step.

    :raises Unrecordable: if the note fits no arguments here.
    """
    if call.problem:
        raise Unrecordable(call.problem)
    session = schedule._session
    try:
        return [_value(session, a) for a in call.arguments], {k: _value(session, v) for k, v in call.named.items()}
    except (IRError, TacticFailed, KeyError, TypeError, ValueError, IndexError, AttributeError) as problem:
        raise Unrecordable(f"{type(problem).__name__}: {problem}") from problem


def repeat(schedule: Any, call: Call) -> Any:
    """Make a call again in a schedule whose program is the one before that step; gives what it gives.

    :raises Unrecordable: if it is not a call of a primitive with arguments that fit.
    """
    if call.primitive not in PRIMITIVES:
        raise Unrecordable(f"there is no primitive {call.primitive!r}")
    arguments, named = revived(schedule, call)
    return PRIMITIVES[call.primitive](schedule, *arguments, **named)


def takes(primitive: str, parameter: str) -> bool:
    """Whether a primitive has a parameter of that name."""
    return primitive in PRIMITIVES and parameter in signature_of(PRIMITIVES[primitive]).parameters


def _value(session: Session, noted: Any) -> Any:
    match noted:
        case None | bool() | int() | str():
            return noted
        case list():
            return [_value(session, v) for v in noted]
        case {"float": str(text), **rest} if not rest:
            return math.copysign(math.nan, -1) if text == "-nan" else float.fromhex(text)
        case {"tensor_intrin": dict(values), **rest} if not rest:
            return Intrinsic.from_json(values)
        case {"tuple": list(items), **rest} if not rest:
            return tuple(_value(session, v) for v in items)
        case {"dict": list(items), **rest} if not rest:
            return {_value(session, k): _value(session, v) for k, v in items}
        case {"loop": _} | {"symbol": _}:
            return variable_meant(session, noted)
        case {"undef": str(dtype), **rest} if not rest:
            return Undef(DType.parse(dtype))
        case {"expression": dict(texts), **rest} if not rest:
            (e,) = expressions_meant(session, texts, ())
            return e
        case {"buffer": int(position), "name": str(name), **rest} if not rest:
            del name  # for people
            return session.buffers[position]
        case {"index_map": dict(texts), **rest} if not rest:
            own = _own(texts)
            return IndexMap(own, expressions_meant(session, texts, own), tuple(texts["separators"]))
        case {"function": dict(texts), **rest} if not rest:
            return _function(session, texts)
    raise Unrecordable(f"{noted!r} is not an argument")


def _function(session: Session, texts: Mapping[str, Any]) -> Callable[..., Any]:
    """A function of indices, and of the transformed buffer if the text reads it."""
    own = _own(texts)
    dtype = next((b["dtype"] for b in texts.get("buffers", {}).values() if isinstance(b, dict)), None)
    if dtype is None:
        (e,) = expressions_meant(session, texts, own)
        return IndexFunction(own, e)

    def of_transformed(*arguments: Any) -> Expr:
        *indices, new = arguments
        (e,) = expressions_meant(session, texts, own, new)
        return substitute(e, dict(zip(own, indices, strict=True)))

    indices = [inspect.Parameter(v.name, inspect.Parameter.POSITIONAL_ONLY) for v in (*own, Var.fresh("buffer"))]
    of_transformed.__signature__ = inspect.Signature(indices)  # type: ignore[attr-defined]
    return of_transformed


def _own(texts: Mapping[str, Any]) -> tuple[Var, ...]:
    return tuple(Var.fresh(name, DType.parse(dtype)) for name, dtype in texts["of"])
