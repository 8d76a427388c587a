"""Which schedule files may end otherwise than at a revision of Git: those that changed, or import what changed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import final

from verified_tir.cli.discover import Found, is_entered
from verified_tir.cli.imports import ImportGraph


@final
class NoChanges(ValueError):
    """It cannot be said what changed: there is no repository, no such revision, or no Git."""


@final
@dataclass(frozen=True, slots=True)
class Changes:
    """What changed since a revision, by paths in the resolved folder of the repository.

    :ivar changed: files that are new, deleted, or have other contents; a renamed one is deleted and new.  Links that
        lead elsewhere, and what lies below them, are among them; and Python files of which Git knows nothing.
    :ivar python: all Python files of the project, and those that were deleted.
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
        return (
            path not in self.python
            or not self.changed.isdisjoint(_links_to(file.path))
            or not self.changed.isdisjoint(graph.reached(path))
        )


def changes_since(revision: str, folder: Path) -> Changes:
    """What changed in the repository around a folder since the last commit that it shares with a revision.

    What is not committed counts, untracked files included.  Of Python files that .gitignore names it is not known
    whether they changed, and so they did; but not those in virtual environments and hidden folders.

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
    known = _git(root, "ls-files", "-z", "--recurse-submodules", failing=broken)
    ignored = _git(root, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", "*.py", failing=broken)
    top = root.resolve()
    entered = cache(is_entered)
    other = [top / name for name in ignored if all(entered(top / f) for f in Path(name).parents if f.name)]
    differ = frozenset((*_with_contents(top, (*changed, *new)), *other))
    python = frozenset(f for f in (*differ, *_with_contents(top, known)) if f.suffix == ".py")
    return Changes(differ, python)


def _with_contents(top: Path, names: Iterable[str]) -> Iterator[Path]:
    """Paths that Git lists, and the Python files below those that are folders: links, and repositories of their own."""
    for name in names:
        yield top / name
        if not name.endswith(".py") and os.path.isdir(top / name):
            for folder, _, files in os.walk(top / name):
                yield from (Path(folder, file) for file in files if file.endswith(".py"))


def _links_to(path: Path) -> Iterator[Path]:
    """A path and the folders around it, each as it is called in its own folder: one of them may be a link."""
    for here in (path.absolute(), *path.absolute().parents):
        yield here.parent.resolve() / here.name


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
