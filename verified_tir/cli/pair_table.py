"""The table about many judged pairs: verdicts by class and size, what was decided, reasons, and the slowest."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from verified_tir.cli.tables import aligned
from verified_tir.durations import duration
from verified_tir.validate.pairs import WORDS, Judgement, unsupported

_SIZES: Final = ("small", "medium", "huge", "symbolic")
_UNDECIDED: Final = ("races unknown", "unknown", "failed")
_IDS: Final = 6  # of pairs, listed beside a reason
_SLOWEST: Final = 5
_WIDTH: Final = 118


def table(judged: Sequence[Judgement]) -> str:
    """Everything that is said about a file of pairs, several lines."""
    parts = [_verdicts(judged), _shares(judged)]
    for word, title in (
        ("unsupported", "Not supported"), ("unreadable", "Not readable"), ("unknown", "Not decided"),
        ("races unknown", "Races not decided"), ("failed", "Failures of the validator"),
        ("vacuous", "Vacuous"), ("different", "Different"),
    ):  # fmt: skip
        chosen = [j for j in judged if j.word == word]
        if chosen:
            parts.append(_reasons(title, chosen))
    parts.append(_time(judged))
    return "\n\n".join(parts)


def _verdicts(judged: Sequence[Judgement]) -> str:
    counts = Counter((_row(j), j.word) for j in judged)
    words = [w for w in WORDS if any(k[1] == w for k in counts)]
    groups = {k[0] for k in counts}
    rows = sorted(groups, key=lambda g: (g[0], _SIZES.index(g[1]) if g[1] in _SIZES else len(_SIZES), g[1]))
    names = [" ".join(row) for row in rows] + ["total"]
    lines = [["", *words, "all"]]
    for row, name in zip([*rows, None], names, strict=True):
        numbers = [sum(n for (g, w), n in counts.items() if w == word and row in (g, None)) for word in words]
        lines.append([name, *(str(n or "") for n in (*numbers, sum(numbers)))])
    return "\n".join(aligned(lines, numbers=True))


def _row(judged: Judgement) -> tuple[str, str]:
    record = judged.record
    return ("pairs", "") if record is None else (record.group, record.size)


def _shares(judged: Sequence[Judgement]) -> str:
    """What share is supported, and what share of that was decided."""
    words = Counter(j.word for j in judged)
    apart = words["unsupported"] + words["unreadable"]
    supported = len(judged) - apart
    decided = supported - sum(words[w] for w in _UNDECIDED if w in words)
    return (
        f"not supported: {apart} of {len(judged)} pairs ({_percent(apart, len(judged))})\n"
        f"decided: {decided} of {supported} supported pairs ({_percent(decided, supported)})"
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def _reasons(title: str, judged: Sequence[Judgement]) -> str:
    """Reasons that differ in names and numbers only are one line."""
    found: defaultdict[str, list[Judgement]] = defaultdict(list)
    for one in judged:
        found[unsupported(one.reason) or _pattern(_because(one))].append(one)
    lines = [f"{title}:"]
    for same in sorted(found.values(), key=len, reverse=True):
        ids = ", ".join(one.name.partition(" ")[0] for one in same[:_IDS]) + (", …" if len(same) > _IDS else "")
        construct = unsupported(same[0].reason)
        example = (f"{construct}: " if construct else "") + _because(same[0])
        lines += [f"{len(same):5}  {_shortened(example)}", f"       {ids}"]
    return "\n".join(lines)


def _because(judged: Judgement) -> str:
    if judged.word == "vacuous":
        return judged.text
    return judged.reason or judged.text.partition(": ")[2] or judged.text


def _pattern(reason: str) -> str:
    """The reason without what differs from program to program."""
    bare = re.sub(r"\w*_\w*|\w*\d\w*", "#", reason)
    return re.sub(r"\b(of|of block|block|loop|buffer|symbol|for|at|condition of|call|\d) \w+", r"\1 #", bare)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


def _time(judged: Sequence[Judgement]) -> str:
    slow = sorted(judged, key=lambda j: j.seconds, reverse=True)[:_SLOWEST]
    total = sum(j.seconds for j in judged)
    lines = [f"slowest: {', '.join(f'{j.name} {duration(j.seconds)}' for j in slow)}"] if slow else []
    return "\n".join([*lines, f"{len(judged)} pairs in {duration(total)} of work"])
