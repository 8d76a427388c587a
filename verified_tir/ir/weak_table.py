"""A table of what somebody else holds: where interned nodes and terms are found again.

It does what ``weakref.WeakValueDictionary`` would do here, in two thirds of the time: each node and each term that is
built is looked up, and there are hundreds of thousands of them in a plan for a model.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from typing import Generic, TypeVar, final

T = TypeVar("T")


@final
class _Entry(weakref.ref[T]):
    """A weak reference that knows under which key it stands."""

    __slots__ = ("key",)
    key: Hashable


@final
class WeakTable(Generic[T]):
    """Objects by their keys.  An object that nobody holds any longer leaves the table, its key with it."""

    __slots__ = ("_entries", "_forget")

    def __init__(self) -> None:
        self._entries: dict[Hashable, _Entry[T]] = {}
        entries = self._entries

        def forget(gone: weakref.ref[T]) -> None:
            key = gone.key  # type: ignore[attr-defined]
            found = entries.pop(key, None)
            if found is not None and found is not gone:  # another object stands there since
                entries[key] = found

        self._forget = forget

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> T | None:
        """The object of a key, if it is there and alive."""
        entry = self._entries.get(key)
        return None if entry is None else entry()

    def put(self, key: Hashable, value: T) -> None:
        """Let a key stand for an object."""
        entry = _Entry(value, self._forget)
        entry.key = key
        self._entries[key] = entry


__all__ = ["WeakTable"]
