"""What is neither a manifest, a certificate nor a plan: ``vtir check`` says so, and neither fails nor waits."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.fuzz.targets.honest_plans import honest
from tests.fuzz.targets.tampering import Agrees
from verified_tir.certificate.canonical import value_hash, write
from verified_tir.certificate.plans import PARTS as OF_PLANS
from verified_tir.certificate.plans import sealed_plan
from verified_tir.certificate.store import MANIFEST, save
from verified_tir.cli import check as command

COUNT: Final = 300
ODD: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 3, 4, 2**64, 10**300, "", "x", ".", "..", "/", "a/../b", "a//b", "\0", "\u202e", "a\nb",
    "é", "9" * 5000, "(" * 5000, "[" * 5000, "unsat", "0" * 64, [], {}, [[]], [None], {"": ""}, {"x": {"x": 1}},
)  # fmt: skip
TEXTS: Final = (
    b"", b"\n", b"null\n", b"[]\n", b"{}\n", b"1\n", b'"x"\n', b"\xff\xfe", b"\xef\xbb\xbf{}\n", b"{",
    b'{"schema": 4}\n', b'{\n "schema": 5\n}\n', b'{"schema": 4, "schema": 4}\n', b'"\\ud800"\n', b"\0" * 1000,
    b'"' + b'\\"' * 50_000, b"[" * 100_000, b'{"a":' * 50_000, b"1" * 5000, b"1e400", b"NaN", b"-",
)  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate, and two documents of a plan."""
    folder = tmp_path_factory.mktemp("malformed") / "honest"
    made = honest(4)
    save(folder, made.written.certificates, made.written.queries, made.documents, made.written.constants)
    return folder


def byte(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def cut(path: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data))])


def inserted(path: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    at = rng.randrange(len(data))
    path.write_bytes(data[:at] + rng.choice([*TEXTS, b'"', b",", b"}", b"\\"]) + b"0" + data[at:])


def another_text(path: Path, rng: random.Random) -> None:
    path.write_bytes(rng.choice(TEXTS))


def no_file(path: Path, rng: random.Random) -> None:
    """A directory, a pipe, a link to itself, or to nothing."""
    path.unlink()
    match rng.randrange(4):
        case 0:
            path.mkdir()
        case 1:
            os.mkfifo(path)
        case 2:
            path.symlink_to(path)
        case _:
            path.symlink_to("nowhere")


def odd_value(path: Path, rng: random.Random) -> None:
    """Something odd in the place of a value or of a key, the hashes left alone."""
    path.write_text(write(_with_odd_value(json.loads(path.read_text()), rng)), errors="surrogatepass")


def sealed(path: Path, rng: random.Random) -> None:
    """The same, and hashes computed anew, as far as they can be."""
    value = _with_odd_value(json.loads(path.read_text()), rng)
    if path.name == MANIFEST:
        value = {k: v for k, v in value.items() if k != "root"}
        value["root"] = value_hash(value)
    elif set(OF_PLANS) <= set(value):
        value = sealed_plan(value)
    elif isinstance(value.get("hashes"), dict):
        value["root"] = value_hash(value["hashes"])
    path.write_text(write(value), errors="surrogatepass")


def _with_odd_value(value: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    at: Any = value
    while True:
        key = rng.choice(sorted(at) if isinstance(at, dict) else range(len(at)))
        if not isinstance(at[key], (dict, list)) or not at[key] or rng.random() < 0.2:
            if isinstance(at, dict) and rng.random() < 0.2:
                at[rng.choice([x for x in ODD if isinstance(x, str)])] = at.pop(key)
            else:
                at[key] = rng.choice([x for x in ODD if x != at[key] or type(x) is not type(at[key])])
            return value
        at = at[key]


CHANGES: Final[tuple[Callable[[Path, random.Random], None], ...]] = (
    byte, cut, inserted, another_text, no_file, odd_value, odd_value, sealed, sealed, sealed,
)  # fmt: skip


@contextmanager
def agrees(*_: object) -> Iterator[Agrees]:
    yield Agrees()


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(COUNT))
def test_what_is_malformed_is_said(
    seed: int, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "executor_of", agrees)
    rng = random.Random(seed)
    folder = Path(shutil.copytree(store, tmp_path / "folder"))
    files = sorted(folder.rglob("*.json"))
    change = CHANGES[seed % len(CHANGES)]
    change(files[seed // len(CHANGES) % len(files)], rng)
    code = command.run(command.Options(folder, json=seed % 3 == 0, questions_only=seed % 5 == 0))
    said = capsys.readouterr()
    assert code in ((0, 1, 2, 3) if change is sealed else (1, 2, 3)), said.out
    assert said.out or said.err.startswith("vtir: error: ")
    assert "Traceback" not in said.out + said.err and "KeyError" not in said.out
