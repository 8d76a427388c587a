"""Malformed models (``tests.graph.malformed``) are refused in one line, or are not malformed.

``make test`` has some of them read, ``make nightly`` all; by ``run`` and ``plan`` it has every fifth.  Everything:
``python -m tests.graph.malformed``.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tests.graph.malformed import judge
from tests.graph.malformed.case import Case, model_of, of_bytes
from tests.graph.malformed.judge import judged
from tests.graph.malformed.mutations import cases

CASES = {c.name: c for c in cases()}
FIFTH = list(CASES)[::5]


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_reading(name: str) -> None:
    found = judged(CASES[name], "check")
    assert not found.wrong, found


@pytest.mark.nightly
@pytest.mark.parametrize("command", ["run", "plan"])
@pytest.mark.parametrize("name", FIFTH)
def test_commands(name: str, command: str) -> None:
    found = judged(CASES[name], command)
    assert not found.wrong, found


def test_there_are_many_of_each_kind() -> None:
    kinds = [name.partition(":")[0] for name in CASES]
    assert len(CASES) > 1500
    assert {k: kinds.count(k) >= 14 for k in dict.fromkeys(kinds)} == dict.fromkeys(
        ("file", "name", "type", "tensor", "attribute", "version", "external", "control", "function", "size"), True
    )


# -- the judge ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """What a command does instead of what it is for."""
    instead: dict[str, object] = {}
    monkeypatch.setattr(judge, "_command", lambda folder, command: instead["do"]())  # type: ignore[operator]
    monkeypatch.setattr(judge, "SECONDS", 1)
    monkeypatch.setattr(judge, "PATIENCE", 2)
    monkeypatch.setattr(judge, "MEMORY", 2**28)
    yield instead


def _raise() -> None:
    raise RuntimeError("no line")


def _loop() -> None:
    while True:
        pass


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("do", "wrong"),
    [
        (_raise, "a traceback: .*RuntimeError: no line"),
        (_loop, "killed by SIG(XCPU|KILL)|it hangs"),
        (lambda: time.sleep(60), "it hangs"),
        (lambda: len(bytearray(2**30)), "a traceback: .*MemoryError"),
        (lambda: os._exit(7), "nothing, exit code 7"),
        (lambda: (3, "", "vtir: error: node n", None), "exit code 3"),
        (lambda: (2, "", "vtir: error: node n\nmore", None), "not one line"),
        (lambda: (2, "", "Traceback", None), "not one line"),
        (lambda: (2, "", "vtir: error: node \x1b[2J n", None), "control characters"),
        (lambda: (2, "", "vtir: error: node n" + "n" * 1000, None), "a message of 1019 characters"),
        (lambda: (2, "", "vtir: error: node m", None), "the node node n is not named"),
        (lambda: (2, "", "vtir: error: node n: it makes no sense", None), "does not say what"),
        (lambda: (2, "", "vtir: error: node n", None), "^$"),
    ],
)
def test_what_the_judge_says(do: object, wrong: str, commands: dict[str, object]) -> None:
    commands["do"] = do
    found = judged(Case("case", lambda folder: None, "node n"), "check")
    assert re.search(wrong, found.wrong), found


@pytest.mark.nightly
def test_results_that_are_not_onnxruntimes_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    x = np.ones((2, 3), np.float32)
    for factor, wrong in ((2, ""), (3, "other results than onnxruntime's, by 1.0")):
        monkeypatch.setattr(judge, "_command", lambda folder, command, f=factor: (0, "", "", ([x], [f * x])))
        assert judged(of_bytes("valid", model_of("functions").SerializeToString()), "run").wrong == wrong
    monkeypatch.setattr(judge, "_command", lambda folder, command: (0, "", "", ([x], [x])))
    assert "accepted, and onnxruntime says" in judged(of_bytes("nothing", b""), "run").wrong


def test_a_name_that_nobody_may_hear(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a terminal would obey is written out."""
    from verified_tir.cli.run_model import Options, run

    model = model_of("operators")
    model.graph.node[0].name = "\x1b[2J\u202enode"
    model.graph.node[0].attribute.append(model.graph.node[0].attribute[0])
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert run(Options(tmp_path / "m.onnx")) == 2
    said = capsys.readouterr().err
    assert "\\x1b[2J\\x202enode" in said and "\x1b" not in said and said.count("\n") == 1
