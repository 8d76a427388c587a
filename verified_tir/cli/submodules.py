"""Submodules of a repository: which of them are not what a commit of it says.

Git can be told not to look at them, so each is asked itself.  Files of which it does not know are not found here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from verified_tir.cli.git import NoChanges, git

_LINK: Final = re.compile(r"160000 (?:commit )?(\w+)(?: \d)?\t(.*)", re.DOTALL)
_BROKEN: Final = "--changed-since: git cannot tell about submodules"


@final
@dataclass(frozen=True, slots=True)
class ChangedSubmodules:
    """The submodules that changed, by their paths.

    :ivar had: files that they had, and may not have any more.
    :ivar all_known: whether these are all.
    """

    paths: tuple[str, ...]
    had: tuple[str, ...]
    all_known: bool


def changed_submodules(top: Path, commit: str) -> ChangedSubmodules:
    """What changed in the submodules of a repository since a commit of it.

    :raises NoChanges: if Git cannot tell.
    """
    before = _links(git(top, "ls-tree", "-r", "-z", commit, failing=_BROKEN))
    now = _links(git(top, "ls-files", "-s", "-z", failing=_BROKEN))
    paths = tuple(p for p in {**before, **now} if before.get(p) != now.get(p) or _differs(top / p, now[p]))
    had: list[str] = []
    all_known = True
    for path in paths:
        if path in before:
            files = _files_of(top / path, before[path])
            had += [f"{path}/{name}" for name in files or ()]
            all_known = all_known and files is not None
    return ChangedSubmodules(paths, tuple(had), all_known)


def _links(listed: list[str]) -> dict[str, str]:
    """The commits of submodules by their paths."""
    return {found[2]: found[1] for found in map(_LINK.fullmatch, listed) if found}


def _differs(folder: Path, commit: str) -> bool:
    """Whether the files that a submodule knows are not those of a commit."""
    if not (folder / ".git").exists():  # it was not fetched
        return False
    (head,) = git(folder, "rev-parse", "HEAD", failing=_BROKEN, other=True)
    changed = git(folder, "diff", "--name-only", "--ignore-submodules=all", "HEAD", failing=_BROKEN, other=True)
    return head != commit or bool(changed) or any(_differs(folder / p, c) for p, c in _inner(folder).items())


def _inner(folder: Path) -> Mapping[str, str]:
    return _links(git(folder, "ls-files", "-s", "-z", failing=_BROKEN, other=True))


def _files_of(folder: Path, commit: str) -> list[str] | None:
    """The files of a commit of a submodule; ``None`` if it is not there, or has submodules itself."""
    if not (folder / ".git").exists():
        return None
    try:
        listed = git(folder, "ls-tree", "-r", "-z", commit, failing=_BROKEN, other=True)
    except NoChanges:
        return None
    return None if _links(listed) else [line.partition("\t")[2] for line in listed]
