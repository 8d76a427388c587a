"""Record what another compiler's passes do while its own tests run: a plugin for pytest.

    PYTHONPATH=benchmarks pytest -p record_tvm_passes --record-passes FILE.jsonl.gz tests/python/tirx-transform

Each distinct application of a pass is one JSON object a line, as ``tvm_passes.py`` and ``tvm_pairs.py`` read them:
``id`` (the test), ``kind`` (the pass), ``before``, ``after`` (null where TVM raised, then ``error``), ``config`` (the
options of the pass context, as text).  Where a test passes, ``after`` is what it expects.  Sequences without a name are
recorded pass by pass.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from tvm.ir.transform import Pass, PassContext, Sequential

_PLAIN = "sequential"
_state: dict[str, Any] = {"test": "", "out": None, "seen": set()}
_call = Pass.__call__


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-passes", metavar="FILE.jsonl.gz", help="write what passes do to this file")


def pytest_configure(config: pytest.Config) -> None:
    name = config.getoption("--record-passes")
    if name:
        _state["out"] = gzip.open(name, "wt", encoding="utf-8")  # noqa: SIM115 (until the session ends)
        Pass.__call__ = _recorded


def pytest_unconfigure() -> None:
    if _state["out"] is not None:
        _state["out"].close()


def pytest_runtest_setup(item: pytest.Item) -> None:
    _state["test"] = item.nodeid


def _recorded(step: Pass, module: Any) -> Any:
    """Run a pass, and write down its program before and after."""
    if isinstance(step, Sequential) and step.info.name == _PLAIN:
        for part in step.passes:
            module = part(module)
        return module
    line = {"id": _state["test"], "kind": step.info.name, "level": "pass", "before": _text(module), "config": _config()}
    try:
        result = _call(step, module)
    except Exception as problem:
        _write({**line, "after": None, "error": str(problem)[:500]})
        raise
    _write({**line, "after": _text(result), "error": None})
    return result


def _text(module: Any) -> str:
    try:
        return str(module.script())
    except Exception:  # a module that has no text
        return ""


def _config() -> dict[str, str]:
    return {key: str(value) for key, value in PassContext.current().config.items()}


def _write(line: dict[str, Any]) -> None:
    key = json.dumps([line[k] for k in ("kind", "before", "config")])
    if line["before"] and key not in _state["seen"]:
        _state["seen"].add(key)
        print(json.dumps(line), file=_state["out"], flush=True)
