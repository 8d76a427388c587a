"""What code generation cannot do, it says."""

from __future__ import annotations


class CodegenError(Exception):
    """A program that has a meaning, but no machine code here; the message names the culprit and the remedy."""


class MayRace(CodegenError):
    """A program of which it could not be proved that its loops may run as they are marked."""
