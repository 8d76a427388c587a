"""The primitives of a TVM schedule, as reports name them: ``cache_read(block "C", 0, "shared")``."""

from __future__ import annotations

import re
from typing import Any, Final

import tvm

LONGEST: Final = 120


def describe(schedule: Any, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    """A call of a primitive in the program's own names; asked before the call, while these still exist.

    :param schedule: the ``tvm.s_tir.Schedule``.
    """
    shown = [_shown(schedule, value) for value in arguments]
    shown += [f"{key}={_shown(schedule, value)}" for key, value in keywords.items()]
    return f"{name}({', '.join(shown)})"


def _shown(schedule: Any, value: Any) -> str:
    match value:
        case list() | tuple():
            inside = ", ".join(_shown(schedule, v) for v in value)
            return f"[{inside}]" if isinstance(value, list) else f"({inside})"
        case tvm.s_tir.schedule.SBlockRV() | tvm.s_tir.schedule.LoopRV():
            return _named(schedule, value)
        case tvm.tirx.PrimFunc():
            return "a function"
    if callable(value) and not isinstance(value, tvm.runtime.Object):
        return _index_map(value)
    text = " ".join((repr(value) if isinstance(value, str) else str(value)).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _named(schedule: Any, variable: Any) -> str:
    try:
        place = schedule.get(variable)
    except Exception:  # it was removed, or is of another schedule; the primitive will say so
        return type(variable).__name__
    if isinstance(place, tvm.s_tir.SBlock):
        return f'block "{place.name_hint}"'
    return f"loop {place.loop_var.name}"


def _index_map(function: Any) -> str:
    try:
        text = str(tvm.tirx.IndexMap.from_func(function))
    except Exception:  # an index map over *args, or no index map
        return getattr(function, "__name__", type(function).__name__)
    text = re.sub(r"T\.int64\((-?\d+)\)", r"\1", text)
    return text.removeprefix("T.index_map(").removesuffix(")")
