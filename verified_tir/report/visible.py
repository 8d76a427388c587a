"""Texts from elsewhere, names of files among them, on a terminal: what they contain is shown and not obeyed."""

from __future__ import annotations


def visible(text: str) -> str:
    """A text with its control characters, and those that change the direction of writing, as escapes; tabs stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode("ascii") for c in text)
