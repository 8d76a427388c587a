"""What a schedule says to somebody who spells something otherwise, and what it shows of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from verified_tir import IndexMap, NotApplicable, Schedule, build, parse_func, schedule, script
from verified_tir.ir.node import IRError
from verified_tir.ir.script import parse

PROGRAM = """
@T.prim_func
def twice(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            B[i] = A[i] * 2.0
"""


def script_of() -> None:
    """A function that is not a program."""


@pytest.mark.parametrize(
    ("wrong", "kind", "words"),
    [
        (lambda s: s.splt("i", [None, 4]), AttributeError, "a Schedule has no 'splt'; did you mean 'split'?"),
        (lambda s: s.get_blok("B"), AttributeError, "did you mean 'get_block'?"),
        (lambda s: s.zzz, AttributeError, "a Schedule has no 'zzz'$"),
        (lambda s: s.split("i", factor=[None, 4]), TypeError, "no parameter 'factor'; did you mean 'factors'?"),
        (lambda s: Schedule(None), TypeError, "takes a program .a function with @T.prim_func above it, .* not None$"),
        (lambda s: Schedule(3), TypeError, "takes a program .*, not 3$"),
        (lambda s: Schedule([]), TypeError, "takes a program .*, not a list$"),
        (
            lambda s: Schedule(""),
            IRError,
            "takes a program, and the module has none: write a function",
        ),
        (lambda s: Schedule(script_of), TypeError, "not the function script_of; write @T.prim_func above it$"),
        (lambda s: schedule(3), TypeError, "@schedule.program. takes a program .*, not 3$"),
        (lambda s: schedule(script_of), TypeError, "not the function script_of: write the program in brackets$"),
        (lambda s: s.cache_read("B", "A", 'sh ared\n"'), NotApplicable, r"there is no storage scope 'sh ared\\n\"'"),
        (lambda s: s.split("i"), TypeError, r"split\(loop, factors, .*: missing a required argument: 'factors'"),
        (lambda s: s.fuse(loops=3), TypeError, "there is no parameter 'loops'"),
        (lambda s: s.cache_read("B", "A", "local", 1, 2, 3, 4), TypeError, "too many positional arguments"),
        (lambda s: s.validate(sizes=[{"n": 3}]), ValueError, "no symbol called 'n'; it has no symbols"),
        (lambda s: build(s, pipeline="default"), TypeError, "not 'default'; by name: build.*PIPELINES"),
    ],
)
def test_a_sentence_for_what_is_spelt_otherwise(
    wrong: Callable[[Any], object], kind: type[Exception], words: str
) -> None:
    s = Schedule(PROGRAM)
    before = s.script()
    with pytest.raises(kind, match=words):
        wrong(s)
    assert s.script() == before and len(s.steps) == 1
    s.split("i", factors=[None, 4])


def test_sizes_of_symbols_that_are_there() -> None:
    s = Schedule("""
@T.prim_func
def twice(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = A[i] * 2.0
""")
    s.split("i", [None, 4])
    assert s.validate(sizes=[{"n": 3}]).word == "agrees"
    with pytest.raises(ValueError, match="no symbol called 'zz'; its symbols are n"):
        s.validate(sizes=[{"n": 3, "zz": 3}])


def test_what_is_printed_is_the_program() -> None:
    s = Schedule(PROGRAM)
    assert str(s) == s.script() and repr(s) == "<Schedule of twice: 0 steps>"
    s.split("i", [None, 4])
    assert str(s) == s.script() and repr(s) == "<Schedule of twice: 1 step>"
    func = parse_func(PROGRAM)
    assert str(func) == script(func) and str(parse(PROGRAM)) == script(parse(PROGRAM))


def test_lists_are_arrays_too() -> None:
    pairs = IndexMap.from_func(lambda i: [i // 2, i % 2], 1)
    packed = pairs.pack([1, 2, 3, 4])  # type: ignore[arg-type]
    assert packed.tolist() == [[1, 2], [3, 4]]
    assert pairs.unpack([[1, 2], [3, 4]], (4,)).tolist() == [1, 2, 3, 4]  # type: ignore[arg-type]
    assert isinstance(packed, np.ndarray)
