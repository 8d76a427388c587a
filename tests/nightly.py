"""What ``make test`` runs of tests that take long; ``make nightly`` runs them whole.

``@pytest.mark.sample(5)`` on a test with many parameters keeps five of its cases, always the same ones; ``sample`` does
so with a list, and ``few`` with a number of examples.  ``@pytest.mark.nightly`` leaves out a test, or one case of it
(``pytest.param(..., marks=pytest.mark.nightly)``), for which others stand in.  With ``VTIR_TESTS=all`` everything runs,
and so does a case that is asked for by its whole name (``pytest "tests/…::test_x[case]"``).
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

import pytest

WHOLE = os.environ.get("VTIR_TESTS", "") == "all"
"""Whether everything is to run."""

T = TypeVar("T")


def sample(cases: Sequence[T], count: int, seed: int | str) -> list[T]:
    """All cases with ``VTIR_TESTS=all``; some of them otherwise, always the same, in their order."""
    return list(cases) if WHOLE else _chosen(cases, count, seed)


def few(some: int, every: int) -> int:
    """How many examples to try: ``every`` with ``VTIR_TESTS=all``, ``some`` otherwise."""
    return every if WHOLE else some


def _chosen(cases: Sequence[T], count: int, seed: int | str) -> list[T]:
    places = random.Random(seed).sample(range(len(cases)), min(count, len(cases)))
    return [cases[k] for k in sorted(places)]


def left_out(items: list[pytest.Item], asked: Sequence[str]) -> list[pytest.Item]:
    """Which of the tests that were collected are not to run now; ``asked`` are the arguments of the command line."""
    if WHOLE:
        return []
    named = tuple(argument for argument in asked if "::" in argument)
    out: list[pytest.Item] = []
    families: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.nodeid.endswith(named):
            continue
        if item.get_closest_marker("nightly") is not None:
            out.append(item)
        elif item.get_closest_marker("sample") is not None:
            families.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, family in families.items():
        mark = family[0].get_closest_marker("sample")
        assert mark is not None
        (count,) = mark.args
        assert count > 0, f"{name}: a sample of nothing"
        stay = {id(item) for item in _chosen(family, count, name)}
        out += [item for item in family if id(item) not in stay]
    return out
