"""An editor for tests: the client of pygls, which speaks to ``vtir lsp`` over its standard input and output."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tests.cli.files import MAIN


class Editor:
    """What an editor sees of the server: the diagnostics of each file, newest last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client = LanguageClient("tests", "1")
        self.published: dict[str, list[types.PublishDiagnosticsParams]] = {}
        self.refreshed: set[str] = set()
        self._news = asyncio.Event()
        self._versions: dict[str, int] = {}

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.published.setdefault(params.uri, []).append(params)
            self._news.set()

        @self.client.feature(types.WORKSPACE_CODE_LENS_REFRESH)
        def lenses(params: None) -> None:
            self.refreshed.add("lenses")

        @self.client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)
        def hints(params: None) -> None:
            self.refreshed.add("hints")

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    async def start(self, *options: str) -> None:
        await self.client.start_io(sys.executable, "-c", MAIN, "lsp", "--pause", "0.1", *options, cwd=self.folder)
        able = types.WorkspaceClientCapabilities(
            code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True),
            inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True),
        )
        params = types.InitializeParams(types.ClientCapabilities(workspace=able), process_id=os.getpid())
        await self.client.initialize_async(params)
        self.client.initialized(types.InitializedParams())

    def open(self, name: str, text: str) -> None:
        self._versions[name] = 1
        document = types.TextDocumentItem(self.uri(name), "python", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def change(self, name: str, text: str) -> None:
        self._versions[name] += 1
        document = types.VersionedTextDocumentIdentifier(self._versions[name], self.uri(name))
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    async def diagnostics(self, name: str) -> list[types.Diagnostic]:
        """Those of the text as it is now, as soon as they are there."""

        def there() -> list[types.Diagnostic] | None:
            of_now = [p for p in self.published.get(self.uri(name), []) if p.version == self._versions[name]]
            return list(of_now[-1].diagnostics) if of_now else None

        async with asyncio.timeout(60):
            while (found := there()) is None:
                self._news.clear()
                await self._news.wait()
        return found

    async def hover(self, name: str, line: int, character: int) -> str:
        at = types.Position(line, character)
        found = await self.client.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(self.uri(name)), at)
        )
        if found is None:
            return ""
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value

    async def end(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()


def with_editor(folder: Path, test: Callable[[Editor], Awaitable[Any]], *options: str) -> None:
    """Run a test with an editor in a folder, and end the server in the order that the protocol asks for."""

    async def run() -> None:
        editor = Editor(folder)
        await editor.start(*options)
        try:
            await test(editor)
        finally:
            async with asyncio.timeout(20):
                await editor.end()

    asyncio.run(run())
