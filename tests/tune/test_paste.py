"""The text of a strategy with decisions in its calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tune import strategies
from verified_tir.tune.paste import CannotPaste, decided, function_text
from verified_tir.tune.space import Choice, Decision, Tuned

FILE = Path(strategies.__file__)


def taken(*decisions: Decision) -> list[tuple[Choice, Decision]]:
    made = Tuned(strategies.fill)
    made.decisions = [(None, d) for d in decisions]
    strategies.tiled.apply(made)
    return made.taken


def test_decisions_stand_in_the_calls() -> None:
    text = decided(FILE, taken((2, 8), 0))
    assert function_text(text, strategies.tiled.line) == (
        "@schedule(fill)\n"
        "def tiled(s: Schedule) -> None:\n"
        '    i, _ = s.split("i", s.sample_perfect_tile("i", 2, decision=[2, 8]))\n'
        "    if s.sample_categorical([0, 1], [0.5, 0.5], decision=0):\n"
        '        s.parallel("j")  # a sum: refused\n'
        "    s.unroll(i)"
    )
    assert len(text.splitlines()) == len(FILE.read_text().splitlines())


def test_calls_of_several_lines_and_other_characters(tmp_path: Path) -> None:
    file = tmp_path / "s.py"
    file.write_text(
        "def f(s):\n    'ä'; s.sample_categorical(\n        [1, 2],\n        [1, 1],\n    ); "
        "s.sample_categorical([3], [1])\n"
    )
    made = Tuned(strategies.fill)
    namespace: dict[str, object] = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    namespace["f"](made)  # type: ignore[operator]
    found = decided(file, made.taken)
    assert found == (
        "def f(s):\n    'ä'; s.sample_categorical(\n        [1, 2],\n        [1, 1], decision=0); "
        "s.sample_categorical([3], [1], decision=0)\n"
    )


def test_a_call_with_several_decisions_cannot_be_written() -> None:
    (tile, _), word = taken((2, 8), 0)
    with pytest.raises(CannotPaste, match="is made several times, with different decisions"):
        decided(FILE, [(tile, (2, 8)), (tile, (4, 4)), word])
    assert decided(FILE, [(tile, (2, 8)), (tile, (2, 8))])
    with pytest.raises(CannotPaste, match="another file"):
        decided(FILE.with_name("other.py"), [(tile, (2, 8))])
