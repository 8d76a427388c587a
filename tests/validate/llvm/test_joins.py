"""Where the ways out of a block meet."""

from __future__ import annotations

from typing import Any, cast

from verified_tir.validate.llvm.code import BlockCode, Code

RET: tuple[object, ...] = ("ret", -1)


def meeting(**ends: tuple[object, ...]) -> dict[str, str | None]:
    """The joins of a function whose blocks end so."""
    blocks = {name: BlockCode(name, (), {}, (), (), end) for name, end in ends.items()}
    return Code(cast(Any, None), [], (), blocks).joins


def test_of_branches() -> None:
    either = meeting(a=("if", 0, "b", "c"), b=("br", "d"), c=("br", "d"), d=RET)
    assert either == {"a": "d", "b": "d", "c": "d", "d": None}
    switch = meeting(a=("switch", 0, 8, {1: "b", 2: "d"}, "c"), b=("br", "d"), c=("br", "d"), d=("br", "e"), e=RET)
    assert switch == {"a": "d", "b": "d", "c": "d", "d": "e", "e": None}


def test_of_ways_that_meet_at_the_end_only() -> None:
    assert meeting(a=("if", 0, "b", "c"), b=RET, c=RET)["a"] is None


def test_of_loops() -> None:
    found = meeting(a=("br", "b"), b=("if", 0, "c", "d"), c=("br", "b"), d=RET)
    assert found == {"a": "b", "b": "d", "c": "b", "d": None}


def test_of_ways_that_do_not_end() -> None:
    found = meeting(a=("if", 0, "b", "c"), b=("unreachable",), c=("br", "d"), d=RET)
    assert found["a"] == "c" and found["b"] is None
    assert meeting(a=("br", "a"))["a"] is None
