"""A folder of certificates.

    DIR/manifest.json                       the certificates and their root hashes; plans likewise, if there are any
    DIR/<file>/<schedule>.json              one certificate for each schedule function
    DIR/<model>/plan.json                   how certificates make up the plan of a model (see ``plans``)
    DIR/obligations/<first two>/<hash>.smt2 each question once, named by the SHA-256 of its text

The folder is a function of the certificates in it: nothing tells when or where it was written.  Certificates that are
there already stay, unless they are written again; questions of listed certificates that none needs any more are
removed, and no other file is.  No symbolic link below the folder is followed.  Who writes has the folder to himself,
where the system can lock one.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Final

from verified_tir.certificate.canonical import BadJson, read, value_hash, write

SCHEMA: Final = 3
"""Version of the format.  Another one is not read."""

OTHER_SCHEMA: Final = f"this program reads {SCHEMA}: certify again, with --certify, into an empty folder"

MANIFEST: Final = "manifest.json"
OBLIGATIONS: Final = "obligations"
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


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
        found = read(file_text(path))
    except FileNotFoundError:
        raise BadStore(f"{path}: there is no such file; is this a folder that vtir verify --certify wrote?") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise BadStore(f"{path}: {problem}") from None
    except BadJson as problem:
        raise BadStore(f"{path}: {problem}") from None
    if not isinstance(found, dict):
        raise BadStore(f"{path}: this is no manifest")
    if found.get("schema") != SCHEMA:
        raise BadStore(f"{path}: its schema is {found.get('schema')!r}; {OTHER_SCHEMA}")
    certificates = found.get("certificates")
    if not isinstance(certificates, dict) or not all(isinstance(v, str) for v in certificates.values()):
        raise BadStore(f"{path}: it lists no certificates")
    plans = found.get("plans", {})
    if not isinstance(plans, dict) or not all(isinstance(v, str) for v in plans.values()):
        raise BadStore(f"{path}: its plans are no list of plans")
    for name in (*certificates, *plans):
        _check_name(path, name)
    return found


def _check_name(path: Path, name: str) -> None:
    """Names are paths below the folder; each certificate has one only, and it can be shown on a terminal.

    :raises BadStore: if it is none.
    """
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        raise BadStore(f"{path}: {name!r} lies outside the folder")
    if PurePosixPath(name).as_posix() != name or name == "." or not name.isprintable():
        raise BadStore(f"{path}: {name!r} is no name of a certificate: it is no path, or cannot be shown")


def save(
    directory: Path | str,
    certificates: Mapping[str, dict[str, Any]],
    queries: Mapping[str, str],
    plans: Mapping[str, dict[str, Any]] | None = None,
) -> None:
    """Put certificates into a folder, in place of those of the same names.

    :param certificates: by name: their paths below the folder, without ``.json``.
    :param queries: the texts of their questions, by hash.
    :param plans: how some of them make up the plan of a model, by name likewise.  Certificates that belonged to a plan
        of that name, and to no plan now, are removed.
    :raises BadStore: if the folder holds a manifest that cannot be read, or other certificates that cannot; or if a
        name is none.
    :raises OSError: if a file cannot be written.
    """
    folder = Path(directory)
    for name in (*certificates, *(plans or {})):
        _check_name(folder, name)
    folder.mkdir(parents=True, exist_ok=True)
    _no_links(folder, [OBLIGATIONS, MANIFEST, *(f"{name}.json" for name in (*certificates, *(plans or {})))])
    with _alone(folder):
        _save(folder, certificates, queries, plans or {})


def _save(
    folder: Path,
    certificates: Mapping[str, dict[str, Any]],
    queries: Mapping[str, str],
    plans: Mapping[str, dict[str, Any]],
) -> None:
    known: dict[str, str] = {}
    planned: dict[str, str] = {}
    if (folder / MANIFEST).exists():
        manifest = read_manifest(folder)
        known, planned = dict(manifest["certificates"]), dict(manifest.get("plans", {}))
        _no_links(folder, [f"{name}.json" for name in (*known, *planned)])
    before = {digest for name in known for digest in _listed_by(folder, name, again=name in certificates)}
    for name in _outdated(folder, planned, plans) & known.keys() - certificates.keys():
        del known[name]
        (folder / f"{name}.json").unlink(missing_ok=True)
    needed = set(queries)
    for name in known.keys() - certificates.keys():
        needed |= _needed_by(folder, name)
    _no_links(folder, [obligation_path(digest) for digest in needed | before])
    for digest, text in queries.items():
        _write(folder / obligation_path(digest), text)
    for name, certificate in certificates.items():
        _write(folder / f"{name}.json", write(certificate))
        known[name] = certificate["root"]
    for digest in sorted(before - needed):
        path = folder / obligation_path(digest)
        path.unlink(missing_ok=True)
        if path.parent.is_dir() and not any(path.parent.iterdir()):
            path.parent.rmdir()
    for name, plan in plans.items():
        _write(folder / f"{name}.json", write(plan))
        planned[name] = plan["root"]
    manifest = {"schema": SCHEMA, "certificates": dict(sorted(known.items()))}
    manifest |= {"plans": dict(sorted(planned.items()))} if planned else {}
    _write(folder / MANIFEST, write(manifest | {"root": value_hash(manifest)}))


def _no_links(folder: Path, below: Iterable[PurePosixPath | str]) -> None:
    """Refuse paths that lead out of the folder by a symbolic link: what is written or removed lies in it.

    :raises BadStore: if a part of one is a link.
    """
    seen: set[Path] = set()
    for path in below:
        at = folder
        for part in PurePosixPath(path).parts:
            at = at / part
            if at not in seen and at.is_symlink():
                raise BadStore(f"{at}: this is a symbolic link; nothing is written or removed through one")
            seen.add(at)


def _outdated(folder: Path, planned: Mapping[str, str], plans: Mapping[str, dict[str, Any]]) -> set[str]:
    """The certificates of plans that are written again."""
    old: set[str] = set()
    kept: set[str] = set()
    for name in planned:
        try:
            steps = read(file_text(folder / f"{name}.json"))["steps"]
            (old if name in plans else kept).update(step["certificate"] for step in steps)
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise BadStore(
                f"{folder / name}.json: the manifest lists this plan, but it cannot be read ({problem}); remove the "
                "folder, or write into another one"
            ) from None
    return {n for n in old - kept if isinstance(n, str)}


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until nobody else writes to the folder: two who read one manifest would each drop what the other adds.

    The folder itself is locked, so that no file tells of it.  Where that cannot be done, nothing is.
    """
    try:
        import fcntl
    except ImportError:  # not on Unix
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # file systems that have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _needed_by(folder: Path, name: str) -> set[str]:
    path = folder / f"{name}.json"
    try:
        found = set(queries_of(read(file_text(path))))
        if not all(_DIGEST.fullmatch(digest) for digest in found):
            raise ValueError("a question's hash is none")
        return found
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise BadStore(
            f"{path}: the manifest lists this certificate, but it cannot be read ({problem}); remove the folder, or "
            "write into another one"
        ) from None


def _listed_by(folder: Path, name: str, *, again: bool) -> set[str]:
    """The questions of a certificate; of one that is written again and cannot be read, none is known."""
    try:
        return _needed_by(folder, name)
    except BadStore:
        if again:
            return set()
        raise


def _write(path: Path, text: str) -> None:
    """Write a file as a whole; one that is interrupted leaves the old one."""
    data = text.encode("utf-8")
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()  # left by an interrupted run, or put there by somebody
    with open(temporary, "xb") as file:  # "x" follows no link
        file.write(data)
    temporary.replace(path)


def file_text(path: Path) -> str:
    """A file's text, byte for byte.

    :raises OSError: if it cannot be read, or is a pipe or a device, which might never end.
    :raises UnicodeDecodeError: if it is no UTF-8.
    """
    if path.exists() and not path.is_file():
        raise OSError(f"{path.name} is no regular file")
    return path.read_bytes().decode("utf-8")


__all__ = [
    "MANIFEST", "OBLIGATIONS", "OTHER_SCHEMA", "SCHEMA", "BadStore", "file_text", "obligation_path", "queries_of",
    "read_manifest", "save",
]  # fmt: skip
