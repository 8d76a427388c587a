"""How many processors this process may use: by its affinity, and by the quotas of its control groups."""

from __future__ import annotations

import math
import os
from functools import cache
from pathlib import Path

MOST_THREADS = 1 << 16
"""Into how many threads a parallel loop may be divided; more than any machine runs at a time."""

_PROC, _SYS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def usable_processors() -> int:
    """The processors that the process may run on now, and no more than its time allows."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cgroup_quota()
    return max(1, count if quota is None else min(count, math.ceil(quota)))


@cache
def cgroup_quota(groups: Path = _PROC, root: Path = _SYS) -> float | None:
    """How many processors' time the process has by its control groups (version 1 or 2); ``None`` without a limit.

    The limit of a group holds for all groups in it.  It is read once: a container has it from its start.

    :param groups: lists the groups of the process.
    :param root: where control groups are mounted.
    """
    quotas: list[float] = []
    for line in _read(groups).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / "cpu" if controllers else root
        folder = top / path.lstrip("/")
        for place in (folder, *folder.parents):
            quotas += _quota(place)
            if place == top:
                break
    return min(quotas, default=None)


def _quota(folder: Path) -> list[float]:
    """The quota of one group, if it has one."""
    quota, _, period = _read(folder / "cpu.max").partition(" ")
    if not quota:
        quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
    try:
        return [int(quota) / int(period)] if int(quota) > 0 else []
    except (ValueError, ZeroDivisionError):  # "max", or no such file
        return []


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
