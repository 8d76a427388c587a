"""The table of interned objects forgets what nobody holds, at once and nothing else."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from verified_tir.ir import node as node_module
from verified_tir.ir.expr import Var
from verified_tir.ir.visit import children, free_vars, walk
from verified_tir.ir.weak_table import WeakTable


class Thing:
    pass


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No cycles are looked for: what goes, goes since nobody refers to it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
def test_an_object_leaves_with_its_last_reference() -> None:
    table: WeakTable[Thing] = WeakTable()
    thing, other = Thing(), Thing()
    table.put("a", thing)
    table.put("b", other)
    assert table.get("a") is thing and table.get("b") is other and table.get("c") is None
    del thing
    assert table.get("a") is None and table.get("b") is other and len(table) == 1


@pytest.mark.usefixtures("uncollected")
def test_what_took_a_key_over_stays_when_the_older_object_goes() -> None:
    table: WeakTable[Thing] = WeakTable()
    older, newer = Thing(), Thing()
    table.put("a", older)
    table.put("a", newer)
    del older
    assert table.get("a") is newer and len(table) == 1


@pytest.mark.usefixtures("uncollected")
def test_what_nodes_remember_does_not_keep_them_alive() -> None:
    x = Var.fresh("x")
    before = len(node_module._TABLE)
    e = (x + 12345) * x
    assert children(e) and free_vars(e) == (x,) == free_vars(x) and len(list(walk(e))) == 4
    assert len(node_module._TABLE) == before + 3
    del e
    assert len(node_module._TABLE) == before
