"""What a base installation says when a command needs an extra: one line, with the command that installs it, and 2."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli.files import GOOD, HEAD, MAIN, invoke, write
from verified_tir import extras

ROOT = Path(__file__).resolve().parents[2]
HERE = f"python -m pip install --editable {ROOT}"
ABSENT = (*extras.EXTRAS, "dask", "tvm_ffi", "lsprotocol")


def base(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``vtir`` without what the extras bring."""
    paths = os.pathsep.join([str(Path(__file__).parent / "base_install"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "VTIR_TESTS_ABSENT": " ".join(ABSENT)}
    return subprocess.run(
        [sys.executable, "-c", MAIN, *arguments], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import onnx
    from onnx import helper

    found = write(tmp_path_factory.mktemp("base"), good=GOOD, plain=HEAD)
    assert invoke("verify", "good.py", "--certify", "certificates", cwd=found).returncode == 0
    x, y = (helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1, 8]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), found / "m.onnx")
    (found / "m.graph").write_text((ROOT / "examples" / "residual.graph").read_text())
    return found


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("arguments", "what", "extra"),
    [
        ("fuzz --time 1s", "vtir fuzz", "testing"),
        ("fuzz --target kernel --examples 1", "vtir fuzz", "testing"),
        ("fuzz --database redis://localhost:1/0", "vtir fuzz", "testing"),
        ("plan m.onnx --layout conv2d=NCHW4c", "reading ONNX models", "onnx"),
        ("plan m.graph --layout conv2d=NCHW4c", "planning", "graph"),
        ("run m.onnx", "reading ONNX models", "onnx"),
        ("run m.onnx --compare onnxruntime", "reading ONNX models", "onnx"),
        ("check certificates --solver cvc5", "--solver cvc5", "cvc5"),
        ("check certificates --solver both", "--solver both", "cvc5"),
        ("check certificates --executor dask", "--executor dask", "dask"),
        ("verify good.py --executor dask", "--executor dask", "dask"),
        ("check certificates --executor dask:tcp://localhost:1", "--executor dask:tcp://localhost:1", "dask"),
        ("check certificates --before m.onnx", "--before m.onnx: reading ONNX models", "onnx"),
        ("tune good.py", "vtir tune", "tune"),
        ("lsp", "vtir lsp", "editor"),
        ("bench good.py", "vtir bench", "bench"),
    ],
)
def test_one_line_says_which_extra(arguments: str, what: str, extra: str, folder: Path) -> None:
    done = base(folder, *arguments.split())
    assert done.stderr == f"vtir: error: {what} needs the extra {extra!r} [VT0016]: {HERE}[{extra}]\n".replace(
        f"{ROOT}[{extra}]", f"'{ROOT}[{extra}]'"
    )
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.nightly
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "arguments",
    [
        "verify good.py --to-llvm",
        "check certificates --jobs 1",
        "check certificates --jobs 1 --regenerate",
        "lower good.py:fill",
        "run m.graph --check",
        "run good.py:fill --check",
        "validate plain.py:fill plain.py:fill",
        "fuzz --list-targets",
        "cache",
    ],
)
def test_what_needs_no_extra_works(arguments: str, folder: Path) -> None:
    done = base(folder, *arguments.split())
    assert done.returncode == 0, done.stdout + done.stderr


def test_libraries_say_it_too(folder: Path) -> None:
    for module, extra in (("testing", "testing"), ("interop.tvm", "tvm")):
        environment = {**os.environ, "VTIR_TESTS_ABSENT": " ".join(ABSENT)}
        environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent / "base_install"), str(ROOT)])
        done = subprocess.run(
            [sys.executable, "-c", f"import verified_tir.{module}"], capture_output=True, text=True, env=environment,
            cwd=folder, timeout=60, check=False,
        )  # fmt: skip
        assert done.stderr.splitlines()[-1].endswith(f"{extras.install(extra)}")


# -- from where it was installed ---------------------------------------------------------------------------------------


def from_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: object) -> str:
    """The command, where pip recorded this."""
    monkeypatch.setattr(extras, "__file__", str(tmp_path / "site-packages" / "verified_tir" / "extras.py"))
    monkeypatch.setattr(extras, "_origin", lambda: record)
    return extras.install("onnx", "graph", "onnx")


@pytest.mark.parametrize(
    ("record", "requirement"),
    [
        ({}, "'verified_tir[onnx,graph]'"),
        ({"url": "file:///a/with%20space", "dir_info": {}}, "'/a/with space[onnx,graph]'"),
        ({"url": "file:///a/v-0.1-py3.whl", "archive_info": {}}, "'/a/v-0.1-py3.whl[onnx,graph]'"),
        (
            {"url": "https://e.com/v.git", "vcs_info": {"vcs": "git", "commit_id": "ab12"}},
            "'verified_tir[onnx,graph] @ git+https://e.com/v.git@ab12'",
        ),
        (
            {"url": "https://e.com/v", "vcs_info": {"vcs": "git", "commit_id": "ab"}, "subdirectory": "x"},
            "'verified_tir[onnx,graph] @ git+https://e.com/v@ab#subdirectory=x'",
        ),
        ({"url": "https://e.com/v.whl", "archive_info": {}}, "'verified_tir[onnx,graph] @ https://e.com/v.whl'"),
    ],
)
def test_the_command(record: object, requirement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert from_where(tmp_path, monkeypatch, record) == f"python -m pip install {requirement}"


@pytest.mark.parametrize("text", ["", "{", "[]", json.dumps({"url": "file:///a", "dir_info": {"editable": True}})])
def test_what_pip_recorded_is_read(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "verified_tir-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: verified_tir\nVersion: 0.1.0\n")
    (info / "direct_url.json").write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(extras, "__file__", str(tmp_path / "verified_tir" / "extras.py"))
    expected = "'/a[onnx]'" if "url" in text else "'verified_tir[onnx]'"
    assert extras.install("onnx") == f"python -m pip install {expected}"


def test_every_extra_that_brings_a_module_is_named() -> None:
    optional = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(extras.EXTRAS.values()) == set(optional) - {"dev", "docs"}
    packages = {"tvm": "apache-tvm"}
    for module, extra in extras.EXTRAS.items():
        names = {re.split(r"[><=;\[]", text)[0] for text in optional[extra]}
        assert packages.get(module, module) in names
