"""What code generation cannot do, it says."""

from __future__ import annotations


class CodegenError(Exception):
    """A program that has a meaning, but no machine code here; the message names the culprit and the remedy."""
