"""Fuzzing campaigns: random programs and schedules against the properties that make the compiler trustworthy.

A *target* (``target.py``) draws cases and says what must hold of them; ``registry.py`` knows them by name.  A
*campaign* (``campaign.py``) hands *rounds* of cases (``cases.py``) to *workers* (``pool.py``, ``worker.py``) that may
die at any moment, makes what fails smaller (``finish.py``, in a ``sandbox.py`` if need be), and writes it as a test
(``findings.py``).  ``state.py`` remembers, ``plan.py`` decides what is next, ``database.py`` shares it with other
machines.
"""

from verified_tir.fuzz.replay import replay, replay_round

__all__ = ["replay", "replay_round"]
