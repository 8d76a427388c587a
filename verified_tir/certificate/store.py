"""A folder of certificates.

    DIR/manifest.json                       the certificates and their root hashes
    DIR/<file>/<schedule>.json              one certificate for each schedule function
    DIR/obligations/<first two>/<hash>.smt2 each question once, named by the SHA-256 of its text

The folder is a function of the certificates in it: nothing tells when or where it was written.  Certificates that are
there already stay, unless they are written again; questions that no certificate needs any more are removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from verified_tir.certificate.canonical import BadJson, read, value_hash, write

SCHEMA: Final = 1
"""Version of the format.  Another one is not read."""

MANIFEST: Final = "manifest.json"
OBLIGATIONS: Final = "obligations"


class BadStore(ValueError):
    """A folder that is no store of certificates; the message names the file."""


def obligation_path(digest: str) -> PurePosixPath:
    """Where a question stands, below the folder."""
    return PurePosixPath(OBLIGATIONS, digest[:2], f"{digest}.smt2")


def queries_of(certificate: Mapping[str, Any]) -> Iterator[str]:
    """The hashes of all questions that a certificate names, in the order of the trace, also those named again."""
    for step in certificate["trace"]:
        for rule in step["rules"]:
            for o in rule["obligations"]:
                yield o["query"]


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a store.

    :raises BadStore: if there is none, or it is of another schema.
    """
    path = folder / MANIFEST
    try:
        found = read(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadStore(f"{path}: there is no such file; is this a folder that vtir verify --certify wrote?") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise BadStore(f"{path}: {problem}") from None
    except BadJson as problem:
        raise BadStore(f"{path}: {problem}") from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise BadStore(f"{path}: this is no manifest of schema {SCHEMA}")
    certificates = found.get("certificates")
    if not isinstance(certificates, dict) or not all(isinstance(v, str) for v in certificates.values()):
        raise BadStore(f"{path}: it lists no certificates")
    outside = next((n for n in certificates if PurePosixPath(n).is_absolute() or ".." in PurePosixPath(n).parts), None)
    if outside is not None:
        raise BadStore(f"{path}: {outside} lies outside the folder")
    return found


def save(directory: Path | str, certificates: Mapping[str, dict[str, Any]], queries: Mapping[str, str]) -> None:
    """Put certificates into a folder, in place of those of the same names.

    :param certificates: by name: their paths below the folder, without ``.json``.
    :param queries: the texts of their questions, by hash.
    :raises BadStore: if the folder holds a manifest that cannot be read, or other certificates that cannot.
    :raises OSError: if a file cannot be written.
    """
    folder = Path(directory)
    known: dict[str, str] = {}
    if (folder / MANIFEST).exists():
        known = dict(read_manifest(folder)["certificates"])
    needed = set(queries)
    for name in known.keys() - certificates.keys():
        needed |= _needed_by(folder, name)
    for digest, text in queries.items():
        _write(folder / obligation_path(digest), text)
    for name, certificate in certificates.items():
        _write(folder / f"{name}.json", write(certificate))
        known[name] = certificate["root"]
    for path in (folder / OBLIGATIONS).glob("*/*.smt2"):
        if path.stem not in needed:
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()
    manifest = {"schema": SCHEMA, "certificates": dict(sorted(known.items()))}
    _write(folder / MANIFEST, write(manifest | {"root": value_hash(manifest)}))


def _needed_by(folder: Path, name: str) -> set[str]:
    path = folder / f"{name}.json"
    try:
        return set(queries_of(read(path.read_text(encoding="utf-8"))))
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise BadStore(
            f"{path}: the manifest lists this certificate, but it cannot be read ({problem}); remove the folder, or "
            "write into another one"
        ) from None


def _write(path: Path, text: str) -> None:
    """Write a file as a whole; one that is interrupted leaves the old one."""
    data = text.encode("utf-8")
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.replace(path)


def file_text(path: Path) -> str:
    """A file's text, byte for byte.

    :raises OSError: if it cannot be read.
    :raises UnicodeDecodeError: if it is no UTF-8.
    """
    return path.read_bytes().decode("utf-8")


__all__ = [
    "MANIFEST", "OBLIGATIONS", "SCHEMA", "BadStore", "file_text", "obligation_path", "queries_of", "read_manifest",
    "save",
]  # fmt: skip
