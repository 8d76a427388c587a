"""``vtir doctor``: what is installed here, and whether it works."""

from __future__ import annotations

import json
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal, final

from verified_tir import __version__, extras
from verified_tir.cli.tables import aligned

_BASE: Final = {
    "z3": "z3-solver",
    "numpy": "numpy",
    "llvmlite": "llvmlite",
    "islpy": "islpy",
    "ml_dtypes": "ml_dtypes",
    "networkx": "networkx",
    "rich": "rich",
    "typer": "typer",
}
"""What every installation has: the modules, and the packages that bring them."""

_PACKAGES: Final = {"tvm": "apache-tvm"}
"""Packages whose modules have other names."""


@final
@dataclass(frozen=True, slots=True)
class Check:
    """One line of the table; ``missing`` is said of what is optional, and is no failure."""

    group: Literal["installed", "extra", "works"]
    name: str
    state: Literal["ok", "missing", "failed"]
    detail: str


def run(*, as_json: bool) -> int:
    """Check, print a table or JSON, and give the exit code: 0, or 1 if something failed."""
    checks = [*_installed(), *_extras(), *_works()]
    failed = [c for c in checks if c.state == "failed"]
    if as_json:
        print(json.dumps({"ok": not failed, "checks": [asdict(c) for c in checks]}, indent=2, ensure_ascii=False))
        return 1 if failed else 0
    for group in ("installed", "extra", "works"):
        print({"installed": "Installed", "extra": "Extras", "works": "Works"}[group])
        rows = [(c.name, c.detail if c.state == "ok" else f"{c.state}: {c.detail}") for c in checks if c.group == group]
        print("\n".join(f"  {line}" for line in aligned(rows)) + "\n")
    print(f"{len(failed)} of {len(checks)} checks failed" if failed else "all is well")
    return 1 if failed else 0


def _installed() -> Iterator[Check]:
    yield Check("installed", "verified_tir", "ok", f"{__version__}, {Path(extras.__file__).parent}")
    yield Check("installed", "Python", "ok", f"{platform.python_version()}, {sys.executable}")
    for module, package in _BASE.items():
        yield _tried("installed", package, partial(_imported, module, package))


def _imported(module: str, package: str) -> str:
    __import__(module)
    return version(package)


def _extras() -> Iterator[Check]:
    for module, extra in extras.EXTRAS.items():
        if find_spec(module) is None:
            yield Check("extra", module, "missing", extras.install(extra))
        else:
            try:
                yield Check("extra", module, "ok", version(_PACKAGES.get(module, module)))
            except PackageNotFoundError:
                yield Check("extra", module, "ok", "of unknown version")


def _works() -> Iterator[Check]:
    yield _tried("works", "proof", _proof)
    yield _tried("works", "machine code", _machine_code)
    yield _tried("works", "cache", _cache)


_PROGRAM: Final = """
@T.prim_func
def double(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = A[i] + A[i]
"""


def _proof() -> str:
    from verified_tir.schedule.errors import ScheduleError
    from verified_tir.schedule.schedule import Schedule

    s = Schedule(_PROGRAM)
    s.split("i", [None, 4])
    try:
        s.split("i_0", [3, 1])
    except ScheduleError:
        return "a step that is right is proved, one that is wrong is refused"
    raise AssertionError("a wrong step was accepted")


def _machine_code() -> str:
    import numpy as np

    from verified_tir.codegen.build import build
    from verified_tir.schedule.schedule import Schedule

    s = Schedule(_PROGRAM)
    s.vectorize(s.split("i", [None, 4])[1])
    a, b = np.arange(16, dtype="float32"), np.zeros(16, "float32")
    build(s)(a, b)
    if not (b == 2 * a).all():
        raise AssertionError(f"the sums are {b.tolist()}")
    return "a program is compiled, and computes what it should"


def _cache() -> str:
    from verified_tir.codegen.cache import cache_folder

    folder = cache_folder()
    if folder is None:
        raise AssertionError("there is no home folder to keep a cache in; set VTIR_CACHE_DIR")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        return f"{folder} can be written to"


def _tried(group: Literal["installed", "works"], name: str, check: Callable[[], str]) -> Check:
    """What a check says, or why it failed: whatever is wrong is to be in the table."""
    try:
        return Check(group, name, "ok", check())
    except Exception as problem:
        said = " ".join(str(problem).split())
        kind = "" if isinstance(problem, AssertionError) else f"{type(problem).__name__}: "
        return Check(group, name, "failed", f"{kind}{said}")
