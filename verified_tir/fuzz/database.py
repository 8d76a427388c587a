"""Cases that failed, kept for the next campaign and shared with other machines.

They are in an example database of Hypothesis: a folder, or a Redis server in addition to it.  The campaign alone talks
to it; workers are handed what is to be replayed.  A server that stops answering ends nothing: the folder is there.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar, final

from hypothesis.database import DirectoryBasedExampleDatabase, ExampleDatabase, MultiplexedDatabase

from verified_tir.fuzz.registry import MissingModule

T = TypeVar("T")

_SECONDS: Final = 5.0
"""How long a Redis server may take to answer."""


@final
class NoDatabase(ValueError):
    """The database that was named cannot be used."""


@final
class Examples:
    """The failing cases of all targets.

    :param place: a folder, or the address of a Redis server (``redis://``, ``rediss://``, ``unix://``).
    :param beside: the folder that is used with a server.
    :raises MissingModule: if the client of Redis is not installed.
    :raises NoDatabase: if the server does not answer, or the folder cannot be made.
    """

    def __init__(self, place: str, beside: Path, complain: Callable[[str], None]) -> None:
        self._complain = complain
        self._shared: ExampleDatabase | None = None
        self._database: ExampleDatabase
        if is_server(place):
            self._shared = _server(place)
            self._database = MultiplexedDatabase(_folder(beside), self._shared)
            self._local = _folder(beside)
        else:
            self._database = self._local = _folder(Path(place))

    @property
    def shared(self) -> bool:
        """Whether other machines may put cases in."""
        return self._shared is not None

    def fetch(self, target: str) -> list[bytes]:
        """The cases of a target, small ones first."""
        return sorted(self._do(lambda d: list(d.fetch(_key(target)))), key=lambda c: (len(c), c))

    def save(self, target: str, choices: bytes) -> None:
        """Keep a case."""
        self._do(lambda d: d.save(_key(target), choices))

    def delete(self, target: str, choices: bytes) -> None:
        """Forget a case: it passes, or there is a smaller one."""
        self._do(lambda d: d.delete(_key(target), choices))

    def _do(self, what: Callable[[ExampleDatabase], T]) -> T:
        try:
            return what(self._database)
        except Exception as problem:
            if self._shared is None:
                raise
            self._shared, self._database = None, self._local
            self._complain(f"the database does not answer any more ({problem}); the campaign goes on without it")
            return what(self._local)


def is_server(place: str) -> bool:
    """Whether a database is named by an address, and not by a folder."""
    return place.startswith(("redis://", "rediss://", "unix://"))


def _key(target: str) -> bytes:
    # Hypothesis gives a test the digest of its source for a name; cases of targets outlive changes of the engine.
    return sha256(f"verified_tir.fuzz/{target}".encode()).digest()


def _folder(path: Path) -> ExampleDatabase:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise NoDatabase(f"{path} cannot be a database: {problem.strerror or problem}") from None
    return DirectoryBasedExampleDatabase(path)


def _server(address: str) -> ExampleDatabase:
    if importlib.util.find_spec("redis") is None:
        raise MissingModule(f"--database {address}", ["redis"])
    from hypothesis.extra.redis import RedisExampleDatabase
    from redis import Redis
    from redis.exceptions import RedisError

    try:
        client = Redis.from_url(address, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS)
        client.ping()
    except (RedisError, ValueError) as problem:
        raise NoDatabase(f"{address} does not answer: {problem}") from None
    return RedisExampleDatabase(client)
