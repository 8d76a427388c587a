"""``benchmarks/codegen.py`` measures what it says; the figures themselves are not tested."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "codegen.py"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.setenv("VTIR_CACHE_DIR", str(tmp_path))
    spec = importlib.util.spec_from_file_location("benchmark_codegen", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "benchmark_codegen", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "CALLS", 10)
    return module


@pytest.mark.nightly
def test_each_figure_stands_beside_its_peer(benchmark: ModuleType) -> None:
    figures = benchmark.calls(1) + benchmark.loads(1)
    assert [f.name for f in figures] == ["call", "call, symbolic", "call, scalars", "load", "first load"]
    assert all(f.seconds > 0 and f.peer_seconds > 0 for f in figures)


def test_what_is_missed(benchmark: ModuleType) -> None:
    slow = benchmark.Figure("call", 2e-6, "numpy.add", 1e-6, 0.5e-6)
    assert slow.missed
    assert slow.ratio == 0.5
    assert not benchmark.Figure("call", 2e-6, "numpy.add", 1e-6, None).missed
    assert not benchmark.Figure("call", 0.4e-6, "numpy.add", 1e-6, 0.5e-6).missed
