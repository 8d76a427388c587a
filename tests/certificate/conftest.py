"""A store is written once; each test that changes one has a copy.  Dask's tests are collected where it is installed."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from tests.certificate import stores

collect_ignore = [] if importlib.util.find_spec("distributed") else ["test_dask.py"]


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stores.store(tmp_path_factory.mktemp("store") / "certificates")


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "certificates"))
