"""Tests against cvc5 are collected only where cvc5 is installed (the extra ``cvc5``)."""

from __future__ import annotations

import importlib.util

collect_ignore = [] if importlib.util.find_spec("cvc5") else ["test_smtlib_cvc5.py"]
