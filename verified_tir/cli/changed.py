"""Which schedule files may end otherwise than at a revision of Git: those that changed, or import what changed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import final

from verified_tir.cli.discover import Found
from verified_tir.cli.imports import ImportGraph


@final
class NoChanges(ValueError):
    """It cannot be said what changed: there is no repository, no such revision, or no Git."""


@final
@dataclass(frozen=True, slots=True)
class Changes:
    """What changed since a revision, by resolved paths.

    :ivar changed: files that are new, deleted, or have other contents; a renamed one is deleted and new.
    :ivar python: all Python files that Git knows or would add, and those that were deleted.
    """

    changed: frozenset[Path]
    python: frozenset[Path]

    def affected(self, files: Iterable[Found], settings: Path | None = None) -> list[Found]:
        """The files that have to be verified: they, or what they import, changed, or Git does not know them.

        :param settings: the pyproject.toml that was read; if it changed, all files have to be.
        """
        if settings is not None and settings.resolve() in self.changed:
            return list(files)
        graph = ImportGraph(self.python)
        return [f for f in files if self._affected(f, graph)]

    def _affected(self, file: Found, graph: ImportGraph) -> bool:
        path = file.path.resolve()
        if file.problem:
            return path not in self.changed  # it was deleted: nothing is left to verify
        return path not in self.python or not self.changed.isdisjoint(graph.reached(path))


def changes_since(revision: str, folder: Path) -> Changes:
    """What changed in the repository around a folder since the last commit that it shares with a revision.

    What is not committed counts, untracked files included; what .gitignore names does not.

    :raises NoChanges: if that cannot be said.
    """
    try:
        root = Path(_git(folder, "rev-parse", "--show-toplevel", failing=f"{folder} is in no Git repository")[0])
    except OSError as problem:
        raise NoChanges(f"--changed-since needs git, which cannot be run: {problem.strerror}") from None
    unknown = f"--changed-since: there is no revision {revision!r} here; in a shallow clone, fetch it first"
    if not revision or revision.startswith("-"):
        raise NoChanges(unknown)
    (commit,) = _git(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", failing=unknown)
    unrelated = f"--changed-since: {revision} and HEAD have no common commit; in a shallow clone, fetch more of it"
    base = _git(folder, "merge-base", commit, "HEAD", failing=unrelated)[0]
    broken = f"--changed-since: git cannot compare with {revision}"
    changed = _git(root, "diff", "--name-only", "-z", "--no-renames", base, "--", failing=broken)
    new = _git(root, "ls-files", "-z", "--others", "--exclude-standard", failing=broken)
    known = _git(root, "ls-files", "-z", failing=broken)
    top = root.resolve()
    python = frozenset(top / name for name in (*changed, *new, *known) if name.endswith(".py"))
    return Changes(frozenset(top / name for name in (*changed, *new)), python)


def _git(folder: Path, *arguments: str, failing: str) -> list[str]:
    """What a command of Git prints: names that end in NUL, or lines.

    :raises NoChanges: with the text ``failing``, if the command fails.
    """
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise NoChanges(f"{failing} ({said})" if said else failing)
    text = done.stdout.decode(errors="surrogateescape")
    return [name for name in text.split("\0" if "-z" in arguments else "\n") if name]
