"""The table of interned nodes forgets what nobody holds, at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from verified_tir.ir import node as node_module
from verified_tir.ir.expr import Var
from verified_tir.ir.visit import children, free_vars, walk


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No cycles are looked for: what goes, goes since nobody refers to it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
def test_what_nodes_remember_does_not_keep_them_alive() -> None:
    x = Var.fresh("x")
    before = len(node_module._TABLE)
    e = (x + 12345) * x
    assert children(e) and free_vars(e) == (x,) == free_vars(x) and len(list(walk(e))) == 4
    assert len(node_module._TABLE) == before + 3
    del e
    assert len(node_module._TABLE) == before
