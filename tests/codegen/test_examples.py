"""Every example, compiled: the interpreter gives the same bits."""

from __future__ import annotations

from pathlib import Path

import pytest

from verified_tir.cli import execute as execute_module
from verified_tir.cli.execute import Options, execute

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SIZES = {"rectifier.py": ("n=131",), "row_summation_symbolic.py": ("n=9",)}
SMALLER = {"matmul.py": ("M, N, K = 1020, 1000, 514", "M, N, K = 20, 40, 6")}
"""The interpreter would take hours for the product as it is: the same schedules, fewer tiles."""


@pytest.mark.sample(2)
@pytest.mark.parametrize("pipeline", ["none", "default", "full"])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_machine_code_and_interpreter_agree(
    example: Path, pipeline: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VTIR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(execute_module, "STEPS", 2_000_000)  # the smallest tiles make half a million iterations
    path = example
    if example.name in SMALLER:
        text, (old, new) = example.read_text(encoding="utf-8"), SMALLER[example.name]
        assert old in text
        path = tmp_path / example.name
        path.write_text(text.replace(old, new), encoding="utf-8")
    code = execute(Options(str(path), pipeline, SIZES.get(example.name, ()), seed=1, check=True))
    shown = capsys.readouterr()
    assert code == 0, shown.err + shown.out
    assert "the interpreter gives the same bits" in shown.out
