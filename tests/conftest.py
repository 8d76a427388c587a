"""Options and fixtures for all tests.

``pytest --update-golden`` rewrites the golden files with what the code says now; look at the difference before
committing.  Tests against TVM are collected only where TVM is installed.
"""

from __future__ import annotations

import fcntl
import gc
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.nightly import left_out
from verified_tir.logic.verdict_store import VerdictStore

# Almost nothing that is made while tests are collected goes again, and most of what schedules make goes without it.
gc.set_threshold(500_000, 10, 10)

_COMPILED = tempfile.TemporaryDirectory(prefix="vtir-tests-")  # compiled code of tests is not kept
os.environ["VTIR_CACHE_DIR"] = _COMPILED.name
os.environ["VTIR_VERDICT_CACHE"] = "off"  # what the tests see proved was proved now

# The tests draw the same examples every time: a failure is the change's, and not a draw's.  Campaigns draw new ones.
settings.register_profile("tests", derandomize=True)
settings.load_profile("tests")

_WITH_TVM = ["interop_tvm", "must_reject/test_tvm_passes.py", "must_reject/test_tvm_schedules.py"]
collect_ignore = [] if importlib.util.find_spec("tvm") else _WITH_TVM


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes long comes first, so that no worker waits for it at the end, and none takes over a part of it."""
    out = left_out(items, config.args)
    if out:
        config.hook.pytest_deselected(items=out)
        gone = set(map(id, out))
        items[:] = [item for item in items if id(item) not in gone]
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(scope="session", autouse=True)
def _verdicts_of_the_session() -> Iterator[None]:
    """Schedules of one process share what Z3 said of a text, which does not depend on who asks.

    Not those of tests that are marked ``own_store``: they count what is asked, or lie about what was answered.
    """
    module, shared = import_module("verified_tir.schedule.schedule"), VerdictStore()
    opened = module.open_store

    def open_store(wanted: bool = True) -> VerdictStore:
        own = opened(wanted)
        return own if own.folder is not None or not wanted or _OWN_STORE else shared

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "open_store", open_store)
        yield


_OWN_STORE: list[bool] = []
"""Not empty while a test runs that has a store of its own."""


def pytest_runtest_setup(item: pytest.Item) -> None:
    _OWN_STORE[:] = [True] if item.get_closest_marker("own_store") is not None else []


def pytest_collection_finish() -> None:
    """What there is now stays to the end: the garbage collector need not look through it time and again."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files instead of comparing with them")


@dataclass(frozen=True)
class Verified:
    """What ``vtir verify`` says of each file of the examples, by its path below ``examples``, and the certificates that
    it writes (of those in ``rfc77`` none are kept)."""

    files: dict[str, Any]
    certificates: Path


@pytest.fixture(scope="session")
def verified_examples(tmp_path_factory: pytest.TempPathFactory) -> Verified:
    """The examples are verified once, by the worker that asks first; the others wait for it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    report, certificates = folder / "examples.json", folder / "certificates"
    with (folder / "examples.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not report.exists():
            report.write_text(json.dumps(_verify_examples(certificates)), encoding="utf-8")
    return Verified(json.loads(report.read_text(encoding="utf-8")), certificates)


def _verify_examples(certificates: Path) -> dict[str, Any]:
    examples = Path(__file__).parent.parent / "examples"
    certified = [str(p.relative_to(examples)) for p in [*examples.glob("*.py"), *examples.glob("padding/*.py")]]
    found: dict[str, Any] = {}
    for arguments in ([*sorted(certified), "--certify", str(certificates)], ["rfc77"]):
        command = [sys.executable, "-c", "from verified_tir.cli.main import main; main()", "verify", "--json"]
        done = subprocess.run(
            [*command, *arguments], cwd=examples, capture_output=True, text=True, timeout=480, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr
        found |= {file["file"]: file for file in json.loads(done.stdout)["files"]}
    return found


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden(name, text)`` compares the text with ``golden/<name>`` beside the test, whole and letter for letter."""
    folder = Path(request.path).parent / "golden"

    def check(name: str, text: str) -> None:
        path = folder / name
        if request.config.getoption("--update-golden"):
            folder.mkdir(exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")
        assert path.exists(), f"{path.name} does not exist; run pytest --update-golden"
        assert path.read_text(encoding="utf-8") == text + "\n"

    return check
