"""Programs of the user's own files, compared with those of a certificate.

The files are never executed: the programs in them are read as TVMScript, and all else is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from verified_tir.certificate.program_text import Ambiguous, program_text
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.script import parse, script


class BadSource(ValueError):
    """A file that cannot be read, or holds no such function."""


def other_program(certificate: Mapping[str, Any], which: str, found: Sequence[PrimFunc]) -> str:
    """Why a certificate's program (``before`` or ``after``) is none of some others; empty if it is one of them."""
    text = "\n".join(certificate[which]["text"])
    if any(script(f) == text for f in found):
        return ""
    return f"the program of the certificate is not {' and not '.join(f.name for f in found)}"


def attributes_apart(certificate: Mapping[str, Any], which: str, found: Sequence[PrimFunc]) -> str:
    """That one of some other programs is a certificate's but for its attributes, in a clause; empty if none is."""
    own, rest = _attributes(certificate[which]["text"])
    for f in found:
        attributes, other = _attributes(script(f).split("\n"))
        if other == rest:
            return f"only attributes differ: the certificate has {own or 'none'}, {f.name} has {attributes or 'none'}"
    return ""


def _attributes(lines: Sequence[str]) -> tuple[str, list[str]]:
    """The attributes of a function's text, and the text without them."""
    said = [line for line in lines if line.startswith("    T.func_attr(")]
    return " ".join(line.strip() for line in said), [line for line in lines if line not in said]


def programs(where: str) -> list[PrimFunc]:
    """The functions of ``FILE``, or the one of ``FILE:FUNCTION``.

    :raises BadSource: if the file cannot be read, or holds no such function.
    """
    head, colon, name = where.rpartition(":")
    path, name = (Path(head), name) if colon and name.isidentifier() else (Path(where), "")
    try:
        read = parse(program_text(path.read_text(encoding="utf-8")), filename=str(path))
    except (OSError, UnicodeDecodeError, IRError, Ambiguous) as problem:
        said = str(problem)  # an error in a text names the file itself
        raise BadSource(said if said.startswith(f"{path}:") else f"{path}: {said}") from None
    found = [read] if isinstance(read, PrimFunc) else [f for _, f in read.functions]
    chosen = [f for f in found if name in ("", f.name)]
    if not found:
        raise BadSource(f"{path}: there is no program in it, no function decorated with @T.prim_func")
    if not chosen:
        raise BadSource(f"{path}: there is no function {name}; there are {', '.join(f.name for f in found)}")
    return chosen
