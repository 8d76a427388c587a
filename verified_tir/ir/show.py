"""Nodes as text for people.  How, nothing below the printer knows, and nothing depends on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_printer: list[Callable[[Any], str]] = [repr]


def show_with(printer: Callable[[Any], str]) -> None:
    """Say how nodes are shown to people: by the package's printer, which nothing here knows."""
    _printer[:] = [printer]


def shown(node: Any) -> str:
    """A node as text for a person; nothing depends on it."""
    return _printer[0](node)
