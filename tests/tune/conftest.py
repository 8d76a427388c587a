"""Tests of the search are collected where Optuna is installed."""

from __future__ import annotations

import importlib.util

collect_ignore = [] if importlib.util.find_spec("optuna") else ["test_search.py"]
