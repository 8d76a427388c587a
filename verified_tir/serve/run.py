"""Run the playground until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import socket
import sys

import uvicorn

from verified_tir.serve.limits import SECONDS
from verified_tir.serve.server import Playground


def run(port: int, token: str = "", *, seconds: float = SECONDS, in_container: bool = False) -> int:
    """Serve the page; gives the exit code.

    :param seconds: the most time for the work on one request.
    """
    if token and not re.fullmatch(r"[A-Za-z0-9_-]{16,200}", token):
        print("vtir serve: a token has at least 16 letters, digits, - and _", file=sys.stderr)
        return 2
    token = token or secrets.token_urlsafe(24)
    try:
        listening = _listening("0.0.0.0" if in_container else "127.0.0.1", port)
    except OSError as problem:
        print(f"vtir serve: port {port}: {problem.strerror}; --port 0 takes any that is free", file=sys.stderr)
        return 2
    with listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/?token={token}"
        print(f"the playground is at {address}\nCtrl-C ends it", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_serve(listening, token, seconds))
    return 0


def _listening(host: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen()  # who gets the address may ask at once
    except OSError:
        made.close()
        raise
    return made


async def _serve(listening: socket.socket, token: str, seconds: float) -> None:
    playground = Playground(token, seconds)
    config = uvicorn.Config(
        playground.application(), log_level="warning", access_log=False, server_header=False, lifespan="off", ws="none",
        http="h11", loop="asyncio", limit_concurrency=64, timeout_graceful_shutdown=1,
    )  # fmt: skip
    try:
        await uvicorn.Server(config).serve(sockets=[listening])
    finally:
        playground.close()
