"""Which tests reach a statement, when the function has changed since some of them were recorded."""

from __future__ import annotations

from pathlib import Path

from verified_tir.mutation.operators import mutants
from verified_tir.mutation.reach import Key, Reach
from verified_tir.mutation.reach import TestFile as OfFile
from verified_tir.mutation.sources import Source
from verified_tir.mutation.swap import code_of

SOURCE = """def fits(n):
    if n < 0:
        return False
    return n < 10
"""


def recorded(test: str, digest: str, lines: list[int]) -> OfFile:
    keys: list[Key] = [("m.py", "fits", digest, line) for line in lines]
    return OfFile("", keys, {test: (0.1, "passed")}, {test: (1 << len(keys)) - 1})


def test_a_test_that_reached_the_function_as_it_was_counts(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(SOURCE)
    source = Source.read(tmp_path, "m.py")
    now = source.function("fits").digest()
    last = next(m for m in mutants(source) if m.line == 4)
    reach = Reach()
    reach.add(recorded("new::goes_to_the_end", now, [0, 2, 4]))
    reach.add(recorded("new::ends_before", now, [0, 2, 3]))
    assert set(reach.reaching(last, source)) == {"new::goes_to_the_end"}
    reach.add(recorded("old::anywhere", "another text", [0, 2]))
    assert set(reach.reaching(last, source)) == {"new::goes_to_the_end", "old::anywhere"}


def test_nothing_is_known_of_the_function_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(SOURCE)
    source = Source.read(tmp_path, "m.py")
    reach = Reach()
    reach.add(recorded("old::anywhere", "another text", [0, 2]))
    assert all(set(reach.reaching(m, source)) == {"old::anywhere"} for m in mutants(source))


OVERLOADED = """
@overload
def f(a: int, b: int = 0) -> int: ...
@overload
def f(a: str) -> int: ...
def f(*given):
    return len(given)
"""


def test_the_code_behind_overloads_is_that_of_the_last() -> None:
    """The declarations have its name, and other parameters."""
    code = code_of(compile(OVERLOADED, "m.py", "exec"), "f")
    assert code is not None and code.co_varnames == ("given",)
    assert code_of(compile(OVERLOADED, "m.py", "exec"), "g") is None
