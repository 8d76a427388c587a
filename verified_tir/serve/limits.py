"""What one request may take."""

from __future__ import annotations

from typing import Final

SECONDS: Final = 10.0
"""For the work on it."""
MEMORY: Final = 2 * 2**30
"""Bytes of address space for the work on it."""
LARGEST: Final = 256 * 2**10
"""Bytes that it may have."""
SLOWEST: Final = 10.0
"""Seconds in which it must have arrived."""
AT_ONCE: Final = 2
"""Requests that are worked on at the same time,"""
WAITING: Final = 8
"""and those that may wait."""
