"""How many processors a process may use: files of control groups, as Linux writes them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from verified_tir.codegen import processors
from verified_tir.codegen.processors import cgroup_quota, usable_processors


def files(root: Path, contents: dict[str, str]) -> None:
    for name, text in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    "groups, contents, quota",
    [
        ("0::/", {}, None),
        ("0::/", {"cpu.max": "max 100000"}, None),
        ("0::/", {"cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b", {"a/cpu.max": "200000 100000", "a/b/cpu.max": "max 100000"}, 2.0),
        ("0::/a/b", {"cpu.max": "50000 100000", "a/b/cpu.max": "300000 100000"}, 0.5),
        ("0::/a", {"b/cpu.max": "100000 100000"}, None),
        ("9:memory:/\n4:cpu,cpuacct:/", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ("4:cpu,cpuacct:/x", {"cpu/x/cpu.cfs_quota_us": "250000", "cpu/x/cpu.cfs_period_us": "100000"}, 2.5),
        ("4:cpu:/of/the/host", {"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "100000"}, 1.0),
        ("3:cpuset:/x", {"cpu/x/cpu.cfs_quota_us": "250000", "cpu/x/cpu.cfs_period_us": "100000"}, None),
        ("0::/", {"cpu.max": "150000 0"}, None),
    ],
)
def test_quotas(tmp_path: Path, groups: str, contents: dict[str, str], quota: float | None) -> None:
    files(tmp_path, {"groups": groups, **{f"sys/{name}": text for name, text in contents.items()}})
    assert cgroup_quota(tmp_path / "groups", tmp_path / "sys") == quota


def test_a_system_without_control_groups(tmp_path: Path) -> None:
    assert cgroup_quota(tmp_path / "groups", tmp_path) is None


@pytest.mark.parametrize("quota, most", [(None, 10**6), (0.25, 1), (1.0, 1), (1.5, 2), (1000.0, 10**6)])
def test_quotas_and_affinity_both_limit(monkeypatch: pytest.MonkeyPatch, quota: float | None, most: int) -> None:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    monkeypatch.setattr(processors, "cgroup_quota", lambda: quota)
    assert usable_processors() == min(allowed, most)
