"""Object code on disk."""

from __future__ import annotations

import ast
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import verified_tir
from verified_tir import PrimFunc, Schedule, Target, build, parse_func
from verified_tir.codegen import build as building
from verified_tir.codegen import cache
from verified_tir.codegen.cache import Compiled
from verified_tir.codegen.cache_key import PARTS, cache_key, canonical_text, program_hash, tools

KEY = "0" * 64
ENTRY = Compiled(b"\x7fELF object", ("n is too large", "ä"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VTIR_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_is_stored_is_loaded(folder: Path) -> None:
    assert cache.load(KEY) is None
    assert cache.store(KEY, ENTRY)
    assert cache.load(KEY) == ENTRY
    assert [p.name for p in folder.iterdir()] == [f"{KEY}.vtir"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / f"{KEY}.vtir").stat().st_mode) == 0o600


def test_a_corrupt_entry_is_no_entry(folder: Path) -> None:
    cache.store(KEY, ENTRY)
    path = folder / f"{KEY}.vtir"
    whole = path.read_bytes()
    for k in range(len(whole)):
        path.write_bytes(whole[:k] + bytes([whole[k] ^ 1]) + whole[k + 1 :])
        assert cache.load(KEY) is None
    for k in range(len(whole)):
        path.write_bytes(whole[:k])
        assert cache.load(KEY) is None
    path.write_bytes(whole + b"\0")
    assert cache.load(KEY) is None
    path.write_bytes(whole)
    assert cache.load(KEY) == ENTRY


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder / f"{KEY}.vtir", 0o600)  # nobody writes to it
    assert cache.load(KEY) is None
    assert cache.store(KEY, ENTRY)
    assert cache.load(KEY) == ENTRY


def test_what_others_may_write_is_not_read(folder: Path) -> None:
    cache.store(KEY, ENTRY)
    path = folder / f"{KEY}.vtir"
    for mode in (0o620, 0o602):
        path.chmod(mode)
        assert cache.load(KEY) is None
    path.chmod(0o644)
    assert cache.load(KEY) == ENTRY
    path.unlink()
    path.mkdir()
    assert cache.load(KEY) is None
    assert not cache.store(KEY, ENTRY)
    assert [p.name for p in folder.iterdir()] == [path.name]  # nothing half-written stays


def test_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache.cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("VTIR_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / "verified_tir"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / ".cache" / "verified_tir"


def test_without_a_folder_there_is_no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("VTIR_CACHE_DIR", str(file / "below"))
    assert not cache.store(KEY, ENTRY)
    assert cache.load(KEY) is None
    run(build(Schedule(PROGRAM)))


def test_old_entries_go_first(folder: Path) -> None:
    keys = [str(k) * 64 for k in range(4)]
    for k, key in enumerate(keys[:3]):
        cache.store(key, ENTRY)
        os.utime(folder / f"{key}.vtir", (1000 + k, 1000 + k))
    size = (folder / f"{KEY}.vtir").stat().st_size
    assert cache.load(keys[0]) is not None  # now the last one used
    (folder / ".left.tmp").write_bytes(b"x" * 10)
    os.utime(folder / ".left.tmp", (0, 0))
    (folder / "notes.txt").write_text("not ours")
    cache.store(keys[3], ENTRY, largest=3 * size + size // 2)
    assert sorted(p.name for p in folder.iterdir()) == [*(f"{keys[k]}.vtir" for k in (0, 2, 3)), "notes.txt"]
    cache.store(keys[3], ENTRY, largest=0)
    assert [p.name for p in folder.iterdir()] == ["notes.txt"]


# -- keys -------------------------------------------------------------------------------------------------------------

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i] + 1.0
"""


def func(old: str = "", new: str = "") -> PrimFunc:
    return parse_func(PROGRAM.replace(old, new) if old else PROGRAM)


def test_names_do_not_matter() -> None:
    renamed = parse_func("""
@T.prim_func
def other(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    for k in range(4):
        Y[k] = X[k] + 1.0
""")
    assert program_hash(renamed) == program_hash(func())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("B[i] = A[i]", "B[i] = B[i]"),
        ("A[i] + 1.0", "A[3 - i] + 1.0"),
        ("1.0", "0.0"),
        ("1.0", "T.float32(-0.0)"),
        ('A: T.Buffer((4,), "float32")', 'A: T.Buffer((5,), "float32")'),
        ("range(4)", "T.parallel(4)"),
        ("range(4)", "T.vectorized(4)"),
        ("range(4)", "range(3)"),
        ("    for i", '    assert T.bool(True), "text"\n    for i'),
    ],
)
def test_everything_else_does(old: str, new: str) -> None:
    assert program_hash(func(old, new)) != program_hash(func())


def test_zero_has_a_sign_and_messages_matter() -> None:
    assert program_hash(func("1.0", "0.0")) != program_hash(func("1.0", "T.float32(-0.0)"))
    first, second = (func("    for i", f'    assert T.bool(True), "{m}"\n    for i') for m in ("one", "two"))
    assert program_hash(first) != program_hash(second)


def test_a_shared_expression_is_written_once() -> None:
    from verified_tir.ir.expr import Load
    from verified_tir.ir.stmt import Store
    from verified_tir.ir.sugar import const

    program = func()
    a, b = program.buffers
    value = Load(a, (const(0),))
    for _ in range(200):
        value = value + value  # type: ignore[assignment]
    assert len(canonical_text(program.with_body(Store(b, value, (const(0),)))).splitlines()) < 250


def test_the_target_is_part_of_the_key() -> None:
    host = Target.host(1)
    others = [Target.host(2), Target(host.triple, "x86-64", ""), Target(host.triple, host.cpu, host.features, False, 1)]
    keys = {cache_key(func(), (), t) for t in (host, *others)}
    assert len(keys) == 4


def test_what_the_entry_checks_is_part_of_the_key() -> None:
    program = func()
    extra = func('A: T.Buffer((4,), "float32")', 'A: T.Buffer((5,), "float32")').buffers[:1]
    keys = {cache_key(program, shapes, Target.host(1)) for shapes in ((), program.buffers, extra, (*extra, *extra))}
    assert len(keys) == 4


def test_the_key_is_the_same_in_another_process() -> None:
    code = f"""
from verified_tir import parse_func, Target
from verified_tir.codegen.cache_key import cache_key
print(cache_key(parse_func({PROGRAM!r}), (), Target.host(1)))
"""
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stdout
    assert out.strip() == cache_key(func(), (), Target.host(1))
    assert len(tools().split()[-1]) == 64


def imported(file: Path) -> set[str]:
    """The modules of the package that a source file imports, also where it does so late."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
    return {name for name in found if name.startswith("verified_tir.")}


def test_all_that_makes_code_has_a_part_in_the_key() -> None:
    """Whoever changes how blocks are expanded, say, must not find the object code of before."""
    package = Path(verified_tir.__file__).parent
    beside = {"build.py", "cache.py"}
    """They use solver and files of ``logic``, for what the code has no part in."""
    makers = [f for f in (package / "codegen").glob("*.py") if f.name not in beside]
    reached = {"verified_tir.codegen.emit"} | {name for f in makers for name in imported(f)}
    assert {name.split(".")[1] for name in reached} <= set(PARTS)
    waiting, seen = ["verified_tir.codegen.emit"], set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        file = package.joinpath(*name.split(".")[1:])
        file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
        waiting += [n for n in imported(file) if n not in seen]
    assert "verified_tir.elaborate.blocks" in seen and "verified_tir.semantics.operators" in seen
    assert {name.split(".")[1] for name in seen} <= set(PARTS)


# -- with build -------------------------------------------------------------------------------------------------------


def run(f: object) -> None:
    assert callable(f)
    a, b = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    f(a, b)
    assert (b == a + 1).all()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were compiled."""
    texts: list[str] = []
    original = building.compile_llvm

    def counting(text: str, target: Target) -> bytes:
        texts.append(text)
        return original(text, target)

    monkeypatch.setattr(building, "compile_llvm", counting)
    return texts


def test_a_program_is_compiled_once(compiled: list[str], folder: Path) -> None:
    for _ in range(3):
        run(build(Schedule(PROGRAM)))
    assert len(compiled) == 1
    renamed = PROGRAM.replace("A", "X").replace("def f", "def g")
    run(build(Schedule(renamed)))
    assert len(compiled) == 1
    run(build(Schedule(PROGRAM), cache=False))
    assert len(compiled) == 2
    (entry,) = folder.iterdir()
    entry.write_bytes(entry.read_bytes()[:-1])
    run(build(Schedule(PROGRAM)))
    assert len(compiled) == 3
    run(build(Schedule(PROGRAM)))
    assert len(compiled) == 3


def test_messages_and_names_come_from_the_right_places(compiled: list[str]) -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), n: T.int32):
    assert n <= 4, "at most four"
    for i in range(4):
        A[i] = 1.0
"""
    for name in ("A", "Z"):
        f = build(Schedule(text.replace("A", name)))
        with pytest.raises(AssertionError, match=r"^at most four$"):
            f(np.zeros(4, np.float32), 5)
        with pytest.raises(ValueError, match=f"^{name} is float32"):
            f(np.zeros(5, np.float32), 4)
    assert len(compiled) == 1


def test_texts_are_there_after_a_load(compiled: list[str]) -> None:
    made, loaded = build(Schedule(PROGRAM)), build(Schedule(PROGRAM))
    assert made.llvm_ir == loaded.llvm_ir
    assert "define i32 @vtir_kernel" in loaded.llvm_ir
    assert made.asm == loaded.asm
    assert "vtir_kernel" in loaded.asm
    assert len(compiled) == 1
