"""What an assertion of :mod:`tests.parts` raises."""

from __future__ import annotations


class Mismatch(AssertionError):
    """Two things that must agree do not.

    :ivar kind: the property that failed, a short name with hyphens: ``reads-back-as-another``.
    :ivar where: what is to blame, as far as one can tell: a pass, an operator, a part of the parser.
    """

    def __init__(self, kind: str, where: str, message: str) -> None:
        super().__init__(f"{kind} ({where}): {message}")
        self.kind = kind
        self.where = where
        self.message = message
