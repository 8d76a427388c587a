"""Hooks by which the trusted base asks the rest of the package, whose answers it does not believe.

Text for people decides nothing.  Values that are tried can refute a claim, and never prove one.  A search for a proof
calls the rules of a deduction (``logic.deduction``), and gets nothing in otherwise.  What is written to be kept has a
seal, and whoever is told that it was used may remove it.  Who answers says so when the package is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_answers: dict[str, Callable[..., Any]] = {}


def answer(question: str, how: Callable[..., Any]) -> None:
    """Register the function that answers a question from now on."""
    _answers[question] = how


def ask(question: str, *about: Any) -> Any:
    """The answer of the registered function; ``None`` if there is none."""
    return _answers[question](*about) if question in _answers else None


def shown(what: Any) -> str:
    """A node, a term or a claim as text for a person."""
    return str(ask("text", what))
