"""Searches with Hypothesis that go on until they have met what they are about.

Hypothesis draws constants of the modules that are loaded, so which examples it makes depends on the tests that run
beside, even where it draws "the same" ones every time.  A test that asks how many of some kind there were therefore
must not rest on one search: it searches again, from other seeds, until there were enough.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import seed

SEARCHES = 8
"""Searches at the most; each has to find its share on average in one, so that eight leave nothing to chance."""


def search_until(met: Callable[[], bool], search: Callable[[], None], searches: int = SEARCHES) -> int:
    """Run a ``@given`` function, then again with other seeds, until ``met()``; gives how often.

    Whether it was met in the end is the caller's to assert: a failure is to show the caller's own counts.
    """
    search()
    for k in range(1, searches):
        if met():
            return k
        seed(k)(search)()
    return searches
