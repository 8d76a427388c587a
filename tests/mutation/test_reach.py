"""Which tests reach a statement, when the function has changed since some of them were recorded."""

from __future__ import annotations

from pathlib import Path

from tests.mutation.operators import mutants
from tests.mutation.reach import Key, Reach, digest_of_bytes
from tests.mutation.reach import TestFile as OfFile
from tests.mutation.sources import Source
from tests.mutation.swap import code_of

SOURCE = """def fits(n):
    if n < 0:
        return False
    return n < 10
"""


def recorded(test: str, digest: str, lines: list[int]) -> OfFile:
    keys: list[Key] = [("m.py", "fits", digest, line) for line in lines]
    files = {"m.py": digest_of_bytes(SOURCE.encode())}
    return OfFile("", keys, {test: (0.1, "passed")}, {test: (1 << len(keys)) - 1}, files)


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


def test_a_function_that_was_not_there_is_reached_by_whoever_reached_its_file() -> None:
    reach = Reach()
    reach.add(recorded("a::test", Source("m.py", SOURCE.encode()).function("fits").digest(), [0]))
    more = SOURCE + "\n\ndef new(n):\n    return n < 10\n"
    of_new = [m for m in mutants(Source("m.py", more.encode())) if m.function == "new"]
    assert of_new and all(set(reach.reaching(m, Source("m.py", more.encode()))) == {"a::test"} for m in of_new)
    moved = Source("other.py", SOURCE.encode())
    assert all(set(reach.reaching(m, moved)) == {"a::test"} for m in mutants(moved))


def test_a_function_that_was_there_and_not_reached_is_reached_by_nobody() -> None:
    source = Source("m.py", SOURCE.encode())
    reach = Reach()
    reach.add(recorded("a::test", "", []))
    assert all(set(reach.reaching(m, source)) == set() for m in mutants(source))


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
