"""Schedules whose stories are told in tests; each is verified once in a process."""

from __future__ import annotations

import functools
from pathlib import Path

from verified_tir.cli.explain import Options, story_of
from verified_tir.explain.story import Story

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

SMALL = """\
from verified_tir import Schedule, expect_refusal, schedule
from verified_tir.script import tir as T


@T.prim_func
def rows(A: T.Buffer((3, 5), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(3):
        B[i] = 0.0
        for j in range(5):
            B[i] = B[i] + A[i, j]


@schedule(rows)
def padded(s: Schedule) -> None:
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=0.0)
    with expect_refusal(s):
        s.parallel("j")
    s.sequential_buffer_access("A")
"""


@functools.cache
def example(where: str) -> Story:
    """The story of ``file.py:schedule`` of the examples."""
    return story_of(Options(f"{EXAMPLES}/{where}"))


def told(folder: Path, text: str, name: str = "", file: str = "given.py") -> Story:
    """The story of a schedule in a file that is written for it."""
    path = folder / file
    path.write_text(text, encoding="utf-8")
    return story_of(Options(f"{path}:{name}" if name else str(path)))
