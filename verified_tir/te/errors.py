"""What the tensor-expression front end says when something cannot be done."""

from __future__ import annotations


class TEError(Exception):
    """A mistake in a definition or in a directive; the message names the tensor, the axis and the remedy."""
