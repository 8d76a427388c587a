"""What Git says of a repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import final


@final
class NoChanges(ValueError):
    """It cannot be said what changed: there is no repository, no such revision, or no Git."""


def git(folder: Path, *arguments: str, failing: str, other: bool = False) -> list[str]:
    """What a command of Git prints: names that end in NUL, or lines.

    :param other: whether the folder is another repository than the one that environment variables may name.
    :raises NoChanges: with the text ``failing``, if the command fails.
    """
    kept = {k: v for k, v in os.environ.items() if not other or not k.startswith("GIT_") or k.startswith("GIT_CONFIG_")}
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False, env=kept)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise NoChanges(f"{failing} ({said})" if said else failing)
    text = done.stdout.decode(errors="surrogateescape")
    return [name for name in text.split("\0" if "-z" in arguments else "\n") if name]
