"""A function called like a name that TVMScript itself uses (T, range) was read, and printed under another name."""

from __future__ import annotations

import pytest

from verified_tir import ScriptError, parse_func

TEXT = "@T.prim_func\ndef {name}():\n    T.evaluate(0)\n"


@pytest.mark.parametrize("name", ["T", "I", "range", "Module", "é"])
def test_a_name_that_cannot_be_kept_is_refused(name: str) -> None:
    with pytest.raises(ScriptError, match=f"no function can be called {name} here") as caught:
        parse_func(TEXT.format(name=name))
    assert caught.value.line == 2


@pytest.mark.parametrize("name", ["t", "ranges", "_f", "main"])
def test_others_are_kept(name: str) -> None:
    assert parse_func(TEXT.format(name=name)).name == name
