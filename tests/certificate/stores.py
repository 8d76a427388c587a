"""A small store of certificates to be checked, and ways to change one."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from verified_tir import Schedule
from verified_tir.certificate.canonical import text_hash, value_hash, write
from verified_tir.certificate.discharge import Work, answers
from verified_tir.certificate.hashes import PARTS, obligation_hash, sealed, step_hash
from verified_tir.certificate.store import MANIFEST, obligation_path, save
from verified_tir.certificate.write import Origin, Written
from verified_tir.logic.recheck import Answer

ROWS = """
@T.prim_func
def rows(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 6), "float32")
    B = T.match_buffer(b, (n, 6), "float32")
    T.assume(n >= 1)
    for i, j in T.grid(n, 6):
        B[i, j] = A[i, j] * T.float32(2)
"""

NAME = "file/rows"


def rows() -> Schedule:
    """A layout with padding, loops that follow it, and a licence."""
    s = Schedule(ROWS)
    s.transform_layout("B", lambda i, j: [i, j // 4, j % 4])
    _, _, inner = s.sequential_buffer_access("B")
    s.parallel("i")
    s.unroll(inner)
    return s


def small() -> Schedule:
    """One step."""
    s = Schedule("@T.prim_func\ndef zero(A: T.Buffer((8,), 'int32')):\n    for i in range(8):\n        A[i] = 0\n")
    s.split("i", [None, 4])
    return s


def store(folder: Path) -> Path:
    """Two certificates in a folder."""
    written = Written()
    written.add(NAME, rows(), Origin("rows", "file.py", 3))
    written.add("file/small", small(), Origin("small", "file.py", 9))
    save(folder, written.certificates, written.queries)
    return folder


Change = Callable[[dict[str, Any]], None]


def content(folder: Path, name: str = NAME) -> dict[str, Any]:
    """A certificate as it is."""
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return found


def change(folder: Path, how: Change, name: str = NAME) -> None:
    """Change a certificate; its hashes stay what they were."""
    found = content(folder, name)
    how(found)
    (folder / f"{name}.json").write_text(write(found), encoding="utf-8")


def forge(folder: Path, how: Change, name: str = NAME) -> None:
    """Change a certificate, and compute all hashes anew: those of steps and obligations, its root, the manifest's."""
    found = content(folder, name)
    how(found)
    for step in found["trace"]:
        for rule in step["rules"]:
            for o in rule["obligations"]:
                o["hash"] = obligation_hash(o)
        step["hash"] = step_hash(step)
    found = sealed({part: found[part] for part in PARTS})
    (folder / f"{name}.json").write_text(write(found), encoding="utf-8")
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    manifest["certificates"][name] = found["root"]
    del manifest["root"]
    manifest["root"] = value_hash(manifest)
    (folder / MANIFEST).write_text(write(manifest), encoding="utf-8")


def tidy(folder: Path) -> None:
    """Remove the questions that no certificate names any more, as somebody who covers his traces would."""
    needed = set()
    for path in folder.rglob("*.json"):
        if path.name != MANIFEST:
            found = json.loads(path.read_text(encoding="utf-8"))
            needed |= {o["query"] for s in found["trace"] for r in s["rules"] for o in r["obligations"]}
    for path in folder.rglob("*.smt2"):
        if path.stem not in needed:
            path.unlink()


def put_question(folder: Path, text: str) -> str:
    """Add a question; gives its hash."""
    digest = text_hash(text)
    path = folder / obligation_path(digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return digest


def obligations(certificate: dict[str, Any]) -> list[dict[str, Any]]:
    """All obligations, in the order of the trace."""
    return [o for step in certificate["trace"] for rule in step["rules"] for o in rule["obligations"]]


class Says(Executor):
    """An executor that answers without asking anybody; for tests of everything else.  Other work is done at once."""

    def __init__(self, verdict: Any = "unsat") -> None:
        self.verdict = verdict
        self.work: list[tuple[str, Work, int]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        if fn is not answers:
            done.set_result(fn(*args, **kwargs))
            return done
        solver, work, budget = args
        self.work.append((solver, work, budget))
        if isinstance(self.verdict, Exception):
            done.set_exception(self.verdict)
        else:
            done.set_result([(digest, Answer(self.verdict, 0.0)) for digest, _ in work])
        return done
