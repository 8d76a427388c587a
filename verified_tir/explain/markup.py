"""HTML and SVG as values.

:func:`element` escapes whatever is not :class:`Markup` already.  So a text from a program (a name, a claim, a line of
the schedule) cannot become markup, wherever it is put.  What is written is well-formed XML, too.
"""

from __future__ import annotations

import html
import re
from typing import TypeAlias, final

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no HTML and no XML may contain."""


@final
class Markup(str):
    """A text that is markup; any other text is escaped when it is put into an element."""

    __slots__ = ()


Content: TypeAlias = "Markup | str | int | None"
"""What an element may contain: ``None`` is left out."""


def text(content: str | int) -> Markup:
    """A text, escaped."""
    return Markup(html.escape(_UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(content)), quote=True))


def shortened(content: str, most: int = 1000) -> str:
    """A text without its end, if it is very long."""
    return content if len(content) <= most else f"{content[:most]}… ({len(content) - most:,} more characters)"


def join(*content: Content) -> Markup:
    """Several pieces, one after the other."""
    return Markup("".join(c if isinstance(c, Markup) else text(c) for c in content if c is not None))


def element(name: str, /, *content: Content, **attributes: str | int | float | None) -> Markup:
    """An element.

    In the names of attributes ``class_`` stands for ``class``, and ``data_step`` for ``data-step``.  An attribute that
    is ``None`` is left out, as is content.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = join(*content)
    return Markup(f"<{name}{given}>{inner}</{name}>" if inner or name not in _EMPTY else f"<{name}{given}/>")


_EMPTY = frozenset({"meta", "rect", "line", "path", "br", "use"})
"""Elements without content, which HTML or SVG write with one tag."""


def _number(value: str | int | float) -> str | int:
    """A coordinate in few digits."""
    return f"{value:.1f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
