"""What stands where the arguments of an instruction that TVM does not have name loops and buffers by their place.

Such arguments are those of certificates, which are replayed on the program of which they were noted.  A trace may be
applied to another one, where another loop may stand at the place: what stood there is noted beside, and compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from verified_tir.ir.node import IRError
from verified_tir.ir.paths import at
from verified_tir.ir.script import script
from verified_tir.ir.stmt import Block, For
from verified_tir.ir.visit import nodes_of
from verified_tir.schedule.session import Session
from verified_tir.schedule.trace_instructions import TraceError


def places_noted(session: Session, arguments: Any) -> list[list[Any]]:
    """What stands at each place that the arguments name: a loop's name, range and blocks, or a buffer's name."""
    return [_loop(session, place) if isinstance(place, list) else [_buffer(session, place)]
            for place, _ in _named(arguments)]  # fmt: skip


def check_places(session: Session, arguments: Any, noted: list[list[Any]] | None) -> None:
    """Check that the places that the arguments name are those of the trace.

    :param noted: what stood there, if the trace says it; names stand in the arguments, too.
    :raises TraceError: if something else stands at one.
    """
    places = list(_named(arguments))
    try:
        found = places_noted(session, arguments)
    except (IRError, IndexError) as problem:
        raise TraceError(f"a place that it names is not there: {problem}") from problem
    wanted: list[Any] = noted if noted is not None else [[name] for _, name in places]
    if len(wanted) != len(found):
        raise TraceError(f"its arguments name {len(found)} places, and it says of {len(wanted)} what stands there")
    for (place, name), there, expected in zip(places, found, wanted, strict=True):
        if there[0] != name or (noted is not None and there != expected):
            what = "loop" if isinstance(place, list) else "buffer"
            raise TraceError(
                f"the {what} at {place} is not the one of the trace, {_shown(expected)}; here it is {_shown(there)}"
            )


def _named(value: Any) -> Iterator[tuple[list[int] | int, str]]:
    """The places of loops and the numbers of buffers in arguments, with their names."""
    match value:
        case {"loop": list(place), "name": str(name)}:
            yield place, name
        case {"buffer": int(number), "name": str(name)}:
            yield number, name
        case {"of": _, "buffers": dict(buffers), **rest}:
            yield from ((number, name) for name, number in buffers.items() if isinstance(number, int))
            yield from _named(rest)
        case Mapping():
            for v in value.values():
                yield from _named(v)
        case list() | tuple():
            for v in value:
                yield from _named(v)


def _loop(session: Session, place: list[int]) -> list[Any]:
    loop = at(session.func.body, tuple(place))
    if not isinstance(loop, For):
        return ["no loop"]
    return [loop.var.name, script(loop.min), script(loop.extent), [b.name for b in nodes_of(loop, Block)]]


def _buffer(session: Session, number: int) -> str:
    return session.buffers[number].name


def _shown(there: list[Any]) -> str:
    match there:
        case [name, low, extent, blocks]:
            around = f" around {', '.join(blocks)}" if blocks else ""
            return f"{name} from {low} over {extent}{around}"
    return ", ".join(map(str, there))
