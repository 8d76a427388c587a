"""The language server: texts from an editor to a child process, and what it finds back to the editor.

A schedule file is verified when it is opened or saved, and after a pause when it was changed, as the editor has it.
Hovers, lenses and hints are those of the last text that was verified; while it differs from the editor's, there are
none, since their lines may have moved.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from verified_tir import __version__
from verified_tir.child.limits import Children, Ending
from verified_tir.editor.findings import Found, stopped
from verified_tir.editor.places import Places, Range, is_schedule_file

AT_ONCE: Final = 2
"""Files that are verified at the same time."""

_SEVERITY: Final = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
}


@final
@dataclass(slots=True)
class _Open:
    """What is known of a file that is open: the verification that is under way, and what the last one found."""

    task: asyncio.Task[None] | None = None
    version: int | None = None
    found: Found = field(default_factory=dict)


@final
class Studio:
    """Verifies the open files.

    :param limit: seconds for one file.
    :param pause: seconds without a change before a changed file is verified.
    """

    def __init__(self, limit: float, pause: float) -> None:
        self.server = LanguageServer("vtir", f"v{__version__}")
        self._limit, self._pause = limit, pause
        self._children = Children("verified_tir.editor.worker", limit)
        self._open: dict[str, _Open] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)

    def begin(self, uri: str, pause: float) -> None:
        """Verify a file after a pause, and no longer what it was before."""
        known = self._open.setdefault(uri, _Open())
        if known.task is not None:
            known.task.cancel()
        known.task = asyncio.get_running_loop().create_task(self._check(uri, pause))

    def changed(self, uri: str) -> None:
        """Verify a file once it is no longer being changed."""
        self.begin(uri, self._pause)

    def closed(self, uri: str) -> None:
        """Forget a file."""
        known = self._open.pop(uri, None)
        if known is not None and known.task is not None:
            known.task.cancel()
        self._publish(uri, None, [])

    def prepare(self) -> None:
        """Make a child ready, before the first file is there."""
        self._children.prepare()

    async def end(self) -> None:
        """Stop all that is under way."""
        tasks = [known.task for known in self._open.values() if known.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._children.close()

    # -- one file -----------------------------------------------------------------------------------------------------

    async def _check(self, uri: str, pause: float) -> None:
        await asyncio.sleep(pause)
        async with self._turns:
            document = self.server.workspace.get_text_document(uri)
            text, version = document.source, document.version
            path = to_fs_path(uri)
            found: Found = {}
            if path is not None and uri.startswith("file:") and is_schedule_file(text):
                found = await self._verified(Path(path), text)
        known = self._open.get(uri)
        if known is not None:
            known.version, known.found = version, found
            shown = [_diagnostic(document, d) for d in found.get("diagnostics", [])]
            self._publish(uri, version, shown)
            self._refresh()

    async def _verified(self, path: Path, text: str) -> Found:
        found: Found = {}
        begun: list[str] = []

        def heard(answer: dict[str, Any]) -> None:
            if "begins" in answer:
                begun.append(answer["begins"])
                return
            for kind, values in answer.items():
                found.setdefault(kind, []).extend(values)
            if "lenses" in answer:
                begun.clear()

        ending = await self._children.run({"path": str(path), "text": text}, heard)
        if not ending.done:
            places = Places.of(text)
            line = places.line_of(begun[-1]) if begun else 1
            doing = begun[-1] if begun else "the file"
            found.setdefault("diagnostics", []).append(stopped(line, self._why(ending, doing), places))
        return found

    def _why(self, ending: Ending, doing: str) -> str:
        if ending.late:
            return (
                f"{doing} was stopped after {self._limit:g} s: look for a loop that does not end, or start the server "
                "with a larger --time-limit"
            )
        return f"{doing} ended its process, so what follows was not verified: {ending}"

    def _publish(self, uri: str, version: int | None, found: list[types.Diagnostic]) -> None:
        self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def _refresh(self) -> None:
        """Let the editor ask again for lenses and hints, if it can."""
        able = self.server.client_capabilities.workspace
        if able is not None and able.code_lens is not None and able.code_lens.refresh_support:
            self.server.workspace_code_lens_refresh(None)
        if able is not None and able.inlay_hint is not None and able.inlay_hint.refresh_support:
            self.server.workspace_inlay_hint_refresh(None)

    # -- questions ----------------------------------------------------------------------------------------------------

    def _found(self, uri: str, kind: str) -> tuple[TextDocument, list[dict[str, Any]]]:
        document = self.server.workspace.get_text_document(uri)
        known = self._open.get(uri)
        return document, known.found.get(kind, []) if known is not None and known.version == document.version else []

    def hover(self, uri: str, position: types.Position) -> types.Hover | None:
        """What was proved on a line, or of a function."""
        document, found = self._found(uri, "hovers")
        at = document.position_codec.position_from_client_units(document.lines, position)
        here = (at.line, at.character)
        texts = [h for h in found if tuple(h["range"][:2]) <= here <= tuple(h["range"][2:])]
        if not texts:
            return None
        text = "\n\n---\n\n".join(dict.fromkeys(h["text"] for h in texts))
        content = types.MarkupContent(types.MarkupKind.Markdown, text)
        return types.Hover(content, _range(document, texts[-1]["range"]))

    def lenses(self, uri: str) -> list[types.CodeLens]:
        """The outcome of each schedule, above it."""
        document, found = self._found(uri, "lenses")
        return [types.CodeLens(_range(document, x["range"]), types.Command(x["text"], "")) for x in found]

    def hints(self, uri: str, asked: types.Range) -> list[types.InlayHint]:
        """What was proved on each line, behind it."""
        document, found = self._found(uri, "hints")
        hints = [types.InlayHint(_range(document, x["range"]).end, x["text"], padding_left=True) for x in found]
        return [h for h in hints if asked.start.line <= h.position.line <= asked.end.line]


def _range(document: TextDocument, where: Range) -> types.Range:
    start, end = types.Position(where[0], where[1]), types.Position(where[2], where[3])
    return document.position_codec.range_to_client_units(document.lines, types.Range(start, end))


def _diagnostic(document: TextDocument, found: dict[str, Any]) -> types.Diagnostic:
    return types.Diagnostic(
        _range(document, found["range"]), found["message"], _SEVERITY[found["severity"]], found["code"], source="vtir"
    )


def studio(limit: float, pause: float) -> Studio:
    """A server that answers an editor; ``server.start_io()`` runs it."""
    made = Studio(limit, pause)
    feature = made.server.feature

    @feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        made.begin(params.text_document.uri, 0)

    @feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        made.changed(params.text_document.uri)

    @feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        made.begin(params.text_document.uri, 0)

    @feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        made.closed(params.text_document.uri)

    @feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        return made.hover(params.text_document.uri, params.position)

    @feature(types.TEXT_DOCUMENT_CODE_LENS)
    def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        return made.lenses(params.text_document.uri)

    @feature(types.TEXT_DOCUMENT_INLAY_HINT)
    def hints(params: types.InlayHintParams) -> list[types.InlayHint]:
        return made.hints(params.text_document.uri, params.range)

    @feature(types.INITIALIZED)
    def ready(params: types.InitializedParams) -> None:
        made.prepare()

    @feature(types.SHUTDOWN)
    async def shutdown(params: None) -> None:
        await made.end()

    return made
