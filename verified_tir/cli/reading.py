"""Files that commands read as a whole: ordinary files of ordinary size, in UTF-8.

A pipe might never end, and a device never does.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

LARGEST: Final = 64 << 20
"""Bytes of a file with programs or schedules."""


def problem_with(path: Path, largest: int | None = LARGEST) -> str:
    """Why a path cannot be read as a file, in one sentence; empty if it can."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return "there is no such file or folder"
    except ValueError:
        return "this is not a path: it contains a null character"
    except OSError as problem:
        return f"this cannot be read: {problem.strerror}"
    if stat.S_ISDIR(found.st_mode):
        return "this is a folder; give one file"
    if not stat.S_ISREG(found.st_mode):
        return "this is a pipe or a device; write its contents to a file first"
    if largest is not None and found.st_size > largest:
        return f"this file has {found.st_size:,} bytes; at most {largest:,} are read"
    if not os.access(path, os.R_OK):
        return "this cannot be read: Permission denied"
    return ""


def text_of(path: Path) -> str:
    """The text of a file.

    :raises ValueError: if there is none, with the reason in one sentence, which does not name the file.
    """
    problem = problem_with(path)
    if problem:
        raise ValueError(problem)
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as bad:
        raise ValueError(not_utf8(bad)) from None
    except OSError as bad:
        raise ValueError(f"this cannot be read: {bad.strerror}") from None


def not_utf8(bad: UnicodeDecodeError) -> str:
    """What is wrong with a text in another encoding, and what to do."""
    line = bad.object.count(b"\n", 0, bad.start) + 1
    return f"the byte 0x{bad.object[bad.start]:02x} in line {line} is not UTF-8; save the file in that encoding"
