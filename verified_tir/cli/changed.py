"""Which schedule files may end otherwise than at a revision of Git: those that changed, or import what changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

from verified_tir.cli.discover import Found, is_entered, walk
from verified_tir.cli.git import NoChanges, git
from verified_tir.cli.imports import ImportGraph
from verified_tir.cli.submodules import changed_submodules


@final
@dataclass(frozen=True, slots=True)
class Changes:
    """What changed since a revision, by paths in the resolved folder of the repository.

    :ivar changed: files that are new, deleted, or have other contents; a renamed one is deleted and new.  Links that
        lead elsewhere, and what lies below them, are among them; and Python files of which Git knows nothing.  Of a
        submodule in which anything changed all files count.
    :ivar python: all Python files of the project, and those that were deleted.
    :ivar all_known: whether all that was deleted is known; if not, everything has to be verified.
    """

    changed: frozenset[Path]
    python: frozenset[Path]
    all_known: bool = True

    def affected(self, files: Iterable[Found], settings: Path | None = None) -> list[Found]:
        """The files that have to be verified: they, or what they import, changed, or Git does not know them.

        :param settings: the pyproject.toml that was read; if it changed, all files have to be.
        """
        if not self.all_known or (settings is not None and settings.resolve() in self.changed):
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

    What is not committed counts, untracked files included.  Of Python files that Git is told to ignore, or that belong
    to other repositories, it is not known whether they changed, and so they did; but not those in virtual environments
    and hidden folders.

    :raises NoChanges: if that cannot be said.
    """
    try:
        root = Path(git(folder, "rev-parse", "--show-toplevel", failing=f"{folder} is in no Git repository")[0])
    except OSError as problem:
        raise NoChanges(f"--changed-since needs git, which cannot be run: {problem.strerror}") from None
    unknown = f"--changed-since: there is no revision {revision!r} here; in a shallow clone, fetch it first"
    if not revision or revision.startswith("-"):
        raise NoChanges(unknown)
    (commit,) = git(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", failing=unknown)
    unrelated = f"--changed-since: {revision} and HEAD have no common commit; in a shallow clone, fetch more of it"
    base = git(folder, "merge-base", commit, "HEAD", failing=unrelated)[0]
    broken = f"--changed-since: git cannot compare with {revision}"
    diff = ("diff", "--name-only", "-z", "--no-renames", "--ignore-submodules=all")
    changed = git(root, *diff, base, "--", failing=broken)
    submodules = changed_submodules(root, base)
    new = git(root, "ls-files", "-z", "--others", "--exclude-standard", failing=broken)
    known = git(root, "ls-files", "-z", "--recurse-submodules", failing=broken)
    top = root.resolve()
    # What lies in a submodule that was not fetched, Git does not know.
    tracked = frozenset(_with_contents(top, (n for n in known if n.endswith(".py") or (top / n).is_symlink())))
    here = (folder / name for folder, names in walk(top, is_entered) for name in names if name.endswith(".py"))
    unknown_to_git = [file for file in here if file not in tracked]
    within = [n for n in known if any(n.startswith(f"{path}/") for path in submodules.paths)]
    listed = (*changed, *new, *submodules.paths, *submodules.had, *within)
    differ = frozenset((*_with_contents(top, listed), *unknown_to_git))
    python = frozenset(f for f in (*differ, *tracked) if f.suffix == ".py")
    return Changes(differ, python, submodules.all_known)


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
