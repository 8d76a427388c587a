"""2,000 random maps against brute force: shapes, inverses, padding predicates, refusals."""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter

import numpy as np
import pytest

from tests.index.random_maps import RandomMap
from tests.nightly import few
from verified_tir.durations import duration
from verified_tir.index.map import NegativeIndex, NotInjective
from verified_tir.index.text import index_text

COUNT = few(400, 1000)
ENVIRONMENT = {"select": lambda c, a, b: a if c else b, "min": min, "max": max}


def compiled(names, text):
    """The printed expression as a Python function: a second reading of what was meant."""
    return eval(f"lambda {', '.join(names)}: {text}", dict(ENVIRONMENT))


def check(case: RandomMap) -> str:
    f = case.map
    rows = np.stack(case.values, axis=1)
    points = list(itertools.product(*[range(n) for n in case.shape]))
    images = [tuple(int(x) for x in r) for r in rows]
    negative = rows.min() < 0

    if negative:
        with pytest.raises(NegativeIndex) as error:
            f.padded_shape(case.shape)
        assert images[points.index(error.value.point)][error.value.axis] == error.value.value < 0
    else:
        assert [e.value for e in f.padded_shape(case.shape)] == [int(m) + 1 for m in rows.max(axis=0)]

    if len(set(images)) < len(images):
        with pytest.raises(NotInjective) as error:
            f.inverse(case.shape)
        first, second = error.value.first, error.value.second
        assert first != second
        assert images[points.index(first)] == images[points.index(second)] == error.value.output
        outcome = "not injective"
    else:
        inverse = f.inverse(case.shape)
        back = compiled([v.name for v in inverse.inputs], str(inverse).split(":", 1)[1])
        assert all(tuple(back(*image)) == point for point, image in zip(points, images, strict=True))
        outcome = "negative, injective" if negative else "injective"

    if not negative:
        check_padding(case, set(images))
    return outcome


def check_padding(case: RandomMap, images: set[tuple[int, ...]]) -> None:
    names, predicate = case.map.padding_predicate(case.shape)
    is_padding = compiled([v.name for v in names], index_text(predicate))
    box = [range(int(v.max()) + 1) for v in case.values]
    everywhere = list(itertools.islice(itertools.product(*box), 3000))
    assert all(bool(is_padding(*y)) == (y not in images) for y in everywhere)
    assert not any(is_padding(*y) for y in images)


def test_random_maps(capsys):
    rng = random.Random(20240)
    counts: Counter[str] = Counter()
    start = time.perf_counter()
    for number in range(COUNT):
        case = RandomMap.draw(rng)
        try:
            counts[check(case)] += 1
        except Exception as problem:
            raise AssertionError(f"map {number}: {case.map} on {case.shape}: {problem!r}") from problem
    with capsys.disabled():
        print(f"\n{COUNT} random maps in {duration(time.perf_counter() - start)}: {dict(counts)}")
    assert counts["injective"] > COUNT // 4
    assert counts["not injective"] > COUNT // 10
