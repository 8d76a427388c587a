"""The playground over HTTP: a page, its two files, and the work.

Whoever asks must name the token, which only the printed address has.  The name of the host must be this machine's, so
that a page of another site cannot reach the server under a name of its own (DNS rebinding).  What a program is made of
is text to the page; the content security policy forbids scripts and connections that are not the server's.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from typing import Any, Final, final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from verified_tir.child.limits import Children, Ending
from verified_tir.serve.limits import AT_ONCE, LARGEST, MEMORY, SLOWEST, WAITING

HOSTS: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_FILES: Final = {"page.js": "text/javascript", "page.css": "text/css", "examples.json": "application/json"}

Next = Callable[[Request], Awaitable[Response]]


@final
class Playground:
    """Answers the browser.

    :param token: what every request must name.
    :param seconds: the most time for the work on one request.
    """

    def __init__(self, token: str, seconds: float) -> None:
        self._token, self._seconds = token, seconds
        self._children = Children("verified_tir.serve.worker", seconds)
        self._turns = asyncio.Semaphore(AT_ONCE)
        self.asked = 0
        """Requests that are being answered, or wait for it."""

    def application(self) -> Starlette:
        """What a server runs."""
        routes = [
            Route("/", self._guarded(self._page), methods=["GET"]),
            *(Route(f"/{name}", self._guarded(_file(name, kind)), methods=["GET"]) for name, kind in _FILES.items()),
            Route("/work", self._guarded(self._work), methods=["POST"]),
        ]
        everything_else = {404: self._unknown, 405: self._unknown}
        return Starlette(routes=routes, exception_handlers=everything_else)  # type: ignore[arg-type]

    def close(self) -> None:
        """End the child that waits for work."""
        self._children.close()

    # -- who may ask --------------------------------------------------------------------------------------------------

    def _guarded(self, then: Next) -> Next:
        async def answer(request: Request) -> Response:
            refused = self._refused(request)
            response = refused if refused is not None else await then(request)
            response.headers.update(_HEADERS)
            return response

        return answer

    def _refused(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if re.sub(r":\d+$", "", host) not in HOSTS:
            return PlainTextResponse("this name of the host is not served: use 127.0.0.1", 403)
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return PlainTextResponse("pages of other sites are not answered", 403)
        given = request.headers.get("x-vtir-token") or request.query_params.get("token", "")
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            return PlainTextResponse("the token is missing or wrong: use the address that vtir serve has printed", 403)
        return None

    async def _unknown(self, request: Request, problem: HTTPException) -> Response:
        """What there is not, to those who may know."""
        response = self._refused(request) or PlainTextResponse(str(problem.detail), problem.status_code)
        response.headers.update(_HEADERS)
        return response

    # -- what is asked ------------------------------------------------------------------------------------------------

    async def _page(self, request: Request) -> Response:
        self._children.prepare()
        text = _text("page.html").replace("{token}", self._token)
        return Response(text, media_type="text/html")

    async def _work(self, request: Request) -> Response:
        """Answers as they are found, a JSON value a line."""
        try:
            async with asyncio.timeout(SLOWEST):
                body = await _body(request)
        except TimeoutError:
            return PlainTextResponse("the request did not arrive in time", 408)
        if body is None:
            return PlainTextResponse(f"a program with its steps may have {LARGEST // 2**10} KiB at the most", 413)
        try:
            asked = json.loads(body)
            wanted = {key: asked[key] for key in ("program", "steps")}
        except (ValueError, TypeError, KeyError, RecursionError):
            return PlainTextResponse("a request is a JSON object with program and steps", 400)
        if not all(isinstance(value, str) for value in wanted.values()):
            return PlainTextResponse("program and steps are texts", 400)
        if self.asked >= AT_ONCE + WAITING:
            return PlainTextResponse("there is too much to do at the moment: try again", 503)
        return _Counted(self, self._answers(wanted), media_type="application/x-ndjson")

    async def _answers(self, wanted: dict[str, str]) -> AsyncIterator[bytes]:
        async with self._turns:
            found: asyncio.Queue[Any] = asyncio.Queue()
            task = asyncio.create_task(self._children.run(wanted, found.put_nowait))
            task.add_done_callback(lambda _: found.put_nowait(None))
            try:
                while (answer := await found.get()) is not None:
                    yield _line(answer)
                ending = await task
                if not ending.done:
                    yield _line({"stopped": self._why(ending)})
            finally:
                task.cancel()

    def _why(self, ending: Ending) -> str:
        if ending.late:
            return (
                f"stopped after {self._seconds:g} seconds, which is the most that one run may take here: "
                "try smaller extents or fewer steps, or a schedule file and vtir verify"
            )
        return (
            f"the work was ended ({ending}), perhaps since it took more than {MEMORY // 2**30} GiB of memory: try "
            "smaller extents, or a schedule file and vtir verify"
        )


@final
class _Counted(StreamingResponse):
    """Answers that count as long as they are sent, however that ends."""

    def __init__(self, playground: Playground, answers: AsyncIterator[bytes], media_type: str) -> None:
        super().__init__(answers, media_type=media_type)
        self._playground = playground

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._playground.asked += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._playground.asked -= 1


async def _body(request: Request) -> bytes | None:
    """The body, or ``None`` if it is too large; no more of it is read then."""
    found = bytearray()
    if int(request.headers.get("content-length") or 0) > LARGEST:
        return None
    async for part in request.stream():
        found += part
        if len(found) > LARGEST:
            return None
    return bytes(found)


def _line(answer: object) -> bytes:
    return json.dumps(answer).encode() + b"\n"


def _text(name: str) -> str:
    return files("verified_tir.serve").joinpath("page", name).read_text(encoding="utf-8")


def _file(name: str, kind: str) -> Next:
    async def answer(request: Request) -> Response:
        return Response(_text(name), media_type=kind)

    return answer
