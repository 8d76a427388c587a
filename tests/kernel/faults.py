"""The two classic faults of a kernel, put in by tests: instances not renamed apart, facts that outlive a store."""

from __future__ import annotations

import pytest

from verified_tir.ir.expr import Var
from verified_tir.kernel import region
from verified_tir.kernel.context import Context
from verified_tir.kernel.memory import Allocated, Version


def instances_share_loads(patch: pytest.MonkeyPatch) -> None:
    """Loads from memory that a region writes are the same in all its instances."""
    start, load_from = region._Walker.__init__, Context.load_from
    versions: dict[Var, Version] = {}

    def shared(self: region._Walker, context: Context, havocked: object, *rest: object) -> None:
        start(self, context, set(), *rest)  # type: ignore[arg-type]

    def lenient(self: Context, memory: object, buffer: object, indices: object, lane: object) -> object:
        version = versions.setdefault(buffer.data, Version(buffer.data, Allocated()))  # type: ignore[attr-defined]
        return load_from(self, {buffer.data: version}, buffer, indices, lane)  # type: ignore[attr-defined, arg-type]

    patch.setattr(region._Walker, "__init__", shared)
    patch.setattr(Context, "load_from", lenient)


def stores_change_nothing(patch: pytest.MonkeyPatch) -> None:
    """A walk forgets that a store gives its block a new version."""
    patch.setattr(Context, "execute", lambda self, stmt: None)
