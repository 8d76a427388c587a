"""A folder of certificates.

    DIR/manifest.json                       the certificates and their root hashes; plans likewise, if there are any
    DIR/<file>/<schedule>.json              one certificate for each schedule function
    DIR/<model>/plan.json                   how certificates make up the plan of a model (see ``plans``)
    DIR/obligations/<first two>/<hash>.smt2 each question once, named by the SHA-256 of its text
    DIR/constants/<first two>/<hash>.bin    elements of large constants that a plan packs, named by their hash there

The folder is a function of the certificates in it: nothing tells when or where it was written.  Certificates that are
there already stay, unless they are written again; questions and constants of what is listed that nothing needs any
more are removed, and no other file is.  No symbolic link below the folder is followed.  Who writes has the folder to
himself, where the system can lock one.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final, final

from verified_tir.certificate.canonical import BadJson, read, value_hash, write

SCHEMA: Final = 5
"""Version of the format.  Another one is not read."""

MANIFEST: Final = "manifest.json"
OBLIGATIONS: Final = "obligations"
CONSTANTS: Final = "constants"
LARGEST: Final = 2**28
"""Bytes of a file, at most, but for those of constants, whose size is known."""
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class BadStore(ValueError):
    """A folder that is not a store of certificates; the message names the file."""


def obligation_path(digest: str) -> PurePosixPath:
    """Where a question stands, below the folder."""
    return PurePosixPath(OBLIGATIONS, digest[:2], f"{digest}.smt2")


def constant_path(digest: str) -> PurePosixPath:
    """Where the elements of a constant lie, below the folder."""
    return PurePosixPath(CONSTANTS, digest[:2], f"{digest}.bin")


def constants_of(plan: Mapping[str, Any]) -> Iterator[str]:
    """The hashes of the constants before."""
    return (constant["sha256"] for constant in plan["constants"]["before"].values())


def other_schema(found: object, read: int = SCHEMA) -> str:
    """What is said of a file of another schema than the one that is read."""
    return f"{repr(found)[:40]}; this program reads {read}: certify again, with --certify, into an empty folder"


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
    except (FileNotFoundError, NotADirectoryError):
        raise BadStore(f"{path}: there is no such file; is this a folder that vtir verify --certify wrote?") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise BadStore(f"{path}: {getattr(problem, 'strerror', None) or problem}") from None
    except BadJson as problem:
        raise BadStore(f"{path}: {problem}") from None
    if not isinstance(found, dict):
        raise BadStore(f"{path}: this is not a manifest")
    if found.get("schema") != SCHEMA:
        raise BadStore(f"{path}: its schema is {other_schema(found.get('schema'))}")
    certificates = found.get("certificates")
    if not isinstance(certificates, dict) or not all(isinstance(v, str) for v in certificates.values()):
        raise BadStore(f"{path}: it lists no certificates")
    plans = found.get("plans", {})
    if not isinstance(plans, dict) or not all(isinstance(v, str) for v in plans.values()):
        raise BadStore(f"{path}: its plans are not list of plans")
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
        raise BadStore(f"{path}: {name!r} is not a name of a certificate: it is not a path, or cannot be shown")


def save(
    directory: Path | str,
    certificates: Mapping[str, dict[str, Any]],
    queries: Mapping[str, str],
    plans: Mapping[str, dict[str, Any]] | None = None,
    constants: Mapping[str, bytes] | None = None,
) -> None:
    """Put certificates into a folder, in place of those of the same names.

    :param certificates: by name: their paths below the folder, without ``.json``.
    :param queries: the texts of their questions, by hash.
    :param plans: how some of them make up the plan of a model, by name likewise.  Certificates that belonged to a plan
        of that name, and to no plan now, are removed.
    :param constants: the elements of constants that plans name, by hash.
    :raises BadStore: if the folder holds a manifest that cannot be read, or other certificates that cannot; or if a
        name is none.
    :raises OSError: if a file cannot be written.
    """
    folder = Path(directory)
    for name in (*certificates, *(plans or {})):
        _check_name(folder, name)
    folder.mkdir(parents=True, exist_ok=True)
    _no_links(folder, [OBLIGATIONS, CONSTANTS, MANIFEST, *(f"{name}.json" for name in (*certificates, *(plans or {})))])
    with _alone(folder):
        _save(folder, certificates, queries, plans or {}, constants or {})


def _save(
    folder: Path,
    certificates: Mapping[str, dict[str, Any]],
    queries: Mapping[str, str],
    plans: Mapping[str, dict[str, Any]],
    constants: Mapping[str, bytes],
) -> None:
    known: dict[str, str] = {}
    planned: dict[str, str] = {}
    if (folder / MANIFEST).exists():
        manifest = read_manifest(folder)
        known, planned = dict(manifest["certificates"]), dict(manifest.get("plans", {}))
        _no_links(folder, [f"{name}.json" for name in (*known, *planned)])
    before = {digest for name in known for digest in _listed_by(folder, name, again=name in certificates)}
    old, kept = _planned(folder, planned, plans)
    for name in (old.certificates - kept.certificates) & known.keys() - certificates.keys():
        del known[name]
        (folder / f"{name}.json").unlink(missing_ok=True)
    needed = set(queries)
    for name in known.keys() - certificates.keys():
        needed |= _needed_by(folder, name)
    stored = [obligation_path(digest) for digest in needed | before]
    _no_links(folder, [*stored, *(constant_path(digest) for digest in constants.keys() | old.constants)])
    for digest, text in queries.items():
        _write(folder / obligation_path(digest), text.encode("utf-8"))
    for digest, data in constants.items():
        _write(folder / constant_path(digest), data)
    for name, certificate in certificates.items():
        _write(folder / f"{name}.json", write(certificate).encode("utf-8"))
        known[name] = certificate["root"]
    gone = [obligation_path(digest) for digest in sorted(before - needed)]
    gone += [constant_path(digest) for digest in sorted(old.constants - kept.constants - constants.keys())]
    for path in (folder / p for p in gone):
        path.unlink(missing_ok=True)
        if path.parent.is_dir() and not any(path.parent.iterdir()):
            path.parent.rmdir()
    for name, plan in plans.items():
        _write(folder / f"{name}.json", write(plan).encode("utf-8"))
        planned[name] = plan["root"]
    manifest = {"schema": SCHEMA, "certificates": dict(sorted(known.items()))}
    manifest |= {"plans": dict(sorted(planned.items()))} if planned else {}
    _write(folder / MANIFEST, write(manifest | {"root": value_hash(manifest)}).encode("utf-8"))


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


@final
@dataclass(slots=True)
class _Named:
    """Certificates and constants that plans name."""

    certificates: set[str] = field(default_factory=set)
    constants: set[str] = field(default_factory=set)


def _planned(folder: Path, planned: Mapping[str, str], plans: Mapping[str, dict[str, Any]]) -> tuple[_Named, _Named]:
    """What the plans name that are written again, and what the others do."""
    old, kept = _Named(), _Named()
    for name in planned:
        named = old if name in plans else kept
        try:
            plan = read(file_text(folder / f"{name}.json"))
            named.certificates |= {c for step in plan["steps"] if isinstance(c := step["certificate"], str)}
            named.constants |= {d for d in constants_of(plan) if _DIGEST.fullmatch(d)}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
            raise _unreadable(folder / f"{name}.json", "plan", problem) from None
    return old, kept


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
        raise _unreadable(path, "certificate", problem) from None


def _unreadable(path: Path, what: str, problem: Exception) -> BadStore:
    listed = f"the manifest lists this {what}, but it cannot be read ({problem})"
    return BadStore(f"{path}: {listed}; remove the folder, or write into another one")


def _listed_by(folder: Path, name: str, *, again: bool) -> set[str]:
    """The questions of a certificate; of one that is written again and cannot be read, none is known."""
    try:
        return _needed_by(folder, name)
    except BadStore:
        if again:
            return set()
        raise


def _write(path: Path, data: bytes) -> None:
    """Write a file as a whole; one that is interrupted leaves the old one."""
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
    _assert_file(path)
    if path.stat().st_size > LARGEST:
        raise OSError(f"{path.name} is larger than {LARGEST} bytes")
    return path.read_bytes().decode("utf-8")


def constant_bytes(folder: Path, digest: str, size: int) -> bytes | None:
    """The elements of a constant; ``None`` if they do not lie in the folder.

    :raises OSError: if they cannot be read, or are not of this size.
    """
    path = folder / constant_path(digest)
    if not path.exists():
        return None
    _assert_file(path)
    if path.stat().st_size != size:
        raise OSError(f"{constant_path(digest)} has {path.stat().st_size} bytes, not {size}")
    return path.read_bytes()


def _assert_file(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise OSError(f"{path.name} is not a regular file")
