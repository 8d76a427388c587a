"""Where two certificates differ: the one that lies there, and the one that was computed anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

COMPARED: Final = ("before", "after", "theorem", "relation", "floats", "axioms")
"""Parts that are compared as a whole; the trace is compared step by step."""

STEP: Final = ("primitive", "arguments", "named", "before", "after")
RULE: Final = ("rule", "value", "after")
OBLIGATION: Final = ("name", "claim", "place", "query", "expected")


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is another one in the certificate ``then`` than in ``now``, with its place."""
    for part in COMPARED:
        if then[part] != now[part]:
            yield part, "the kernel has something else here"
    if len(then["trace"]) != len(now["trace"]):
        yield "trace", f"it has {len(then['trace'])} steps; there should be {len(now['trace'])}"
        return
    for k, (a, b) in enumerate(zip(then["trace"], now["trace"], strict=True)):
        place = f"trace[{k}] {a['primitive']}"
        for key in STEP:
            if a[key] != b[key]:
                yield place, f"{key}: the kernel has something else here"
        if len(a["rules"]) != len(b["rules"]):
            yield place, f"there are {len(a['rules'])} rules; there should be {len(b['rules'])}"
            continue
        for n, (one, other) in enumerate(zip(a["rules"], b["rules"], strict=True)):
            yield from _rule(f"{place}: rules[{n}] {one['rule']}", one, other)


def _rule(place: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in RULE:
        if then[key] != now[key]:
            yield place, f"{key}: the kernel has something else here"
    yield from _obligations(place, then["obligations"], now["obligations"])


def _obligations(place: str, then: list[dict[str, Any]], now: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    if len(then) != len(now):
        yield place, f"there are {len(then)} obligations and lemmas; the kernel asks {len(now)}"
        return
    for m, (a, b) in enumerate(zip(then, now, strict=True)):
        different = [key for key in OBLIGATION if a[key] != b[key]]
        if different:
            yield f"{place}: obligations[{m}] {a['name']}", f"the kernel's {', '.join(different)} is another"
