"""Durations: as commands show them, and as their options take them."""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}


def duration(seconds: float) -> str:
    """``40 µs``, ``1.0 ms``, ``12 ms``, ``1.3 s``, ``123 s``: two or three digits, whatever the size."""
    for unit, size, exact in (("µs", 1e-6, 9.95), ("ms", 1e-3, 9.95)):
        if seconds < 999.5 * size:
            return _number(seconds / size, exact) + " " + unit
    return _number(seconds, 99.5) + " s"


def _number(value: float, exact: float) -> str:
    return f"{value:.1f}" if value < exact else f"{value:.0f}"


def clock(seconds: float) -> str:
    """What takes minutes and hours, as a clock shows it: ``0:01:30``."""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def seconds_of(text: str) -> float:
    """The seconds of ``90s``, ``10m``, ``1h30m`` or ``2d``; a number alone is seconds.

    :raises ValueError: for anything else, and for no time at all.
    """
    if re.fullmatch(r"\d+(\.\d+)?", text):
        found = float(text)
    elif re.fullmatch(r"(\d+(\.\d+)?[dhms])+", text):
        found = sum(float(n) * _UNITS[unit] for n, unit in re.findall(r"([\d.]+)([dhms])", text))
    else:
        raise ValueError("write a duration as 90s, 10m or 1h30m")
    if found <= 0:
        raise ValueError("no time at all")
    return found


__all__ = ["clock", "duration", "seconds_of"]
