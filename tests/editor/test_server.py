"""``vtir lsp``, seen from an editor."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
from lsprotocol import types

from tests.cli.files import GOOD, HEAD, REFUSED, invoke
from tests.editor.client import Editor, with_editor
from verified_tir.extras import install

LINES = REFUSED.splitlines()
SPLIT, REORDER = len(LINES) - 2, len(LINES) - 1
"""The last two lines of ``REFUSED``, counted from 0."""


def span(d: types.Diagnostic) -> tuple[int, int, int, int]:
    return d.range.start.line, d.range.start.character, d.range.end.line, d.range.end.character


def test_a_refused_step_is_underlined_until_it_is_mended(tmp_path: Path) -> None:
    async def test(editor: Editor) -> None:
        editor.open("racy.py", REFUSED)
        (found,) = await editor.diagnostics("racy.py")
        assert span(found) == (REORDER, 4, REORDER, len(LINES[REORDER]))
        assert (found.severity, found.source) == (types.DiagnosticSeverity.Error, "vtir")
        assert str(found.code).startswith("VT")
        first, *rest = found.message.splitlines()
        assert first.startswith("reorder(i_1, i_0): refused, since this is false: ")
        assert any(line.startswith("counterexample: ") for line in rest), found.message
        assert any(line.startswith("replayed: ") for line in rest), found.message
        assert "# <-- here" in await editor.hover("racy.py", REORDER, 8)

        mended = REFUSED.replace('    s.reorder("i_1", "i_0")\n', "")
        editor.change("racy.py", mended)
        assert await editor.diagnostics("racy.py") == []
        assert editor.refreshed == {"lenses", "hints"}
        assert not (tmp_path / "racy.py").exists(), "the text is the editor's; there is no file"

    with_editor(tmp_path, test)


@pytest.mark.nightly
def test_hovers_lenses_and_hints(tmp_path: Path) -> None:
    async def test(editor: Editor) -> None:
        text = GOOD + "    for k in range(2):\n        s.simplify()\n"
        editor.open("good.py", text)
        assert await editor.diagnostics("good.py") == []
        lines = text.splitlines()
        split = lines.index('    s.split("i", [4, 4])')
        shown = await editor.hover("good.py", split, 6)
        assert shown.startswith("`split(i, [4, 4])`  ")
        assert "```python\n# from tvm.script" in shown
        assert "for i_0, i_1 in T.grid(4, 4):" in shown
        assert "each iteration of loop i is still made after the step" in shown
        assert (await editor.hover("good.py", split + 2, 10)).count("`simplify()`") == 2
        name = lines.index("def good(s):")
        of_function = await editor.hover("good.py", name, 5)
        assert of_function.startswith("**good**  proved: ")
        assert "Four by four." in of_function
        assert "- A holds definite values" in of_function or "It assumes:" in of_function
        assert await editor.hover("good.py", 0, 0) == ""

        document = types.TextDocumentIdentifier(editor.uri("good.py"))
        (lens,) = await editor.client.text_document_code_lens_async(types.CodeLensParams(document)) or []
        assert lens.command is not None
        assert lens.command.title.startswith("proved: ")
        assert lens.range.start.line == name
        everything = types.Range(types.Position(0, 0), types.Position(len(lines), 0))
        hints = await editor.client.text_document_inlay_hint_async(types.InlayHintParams(document, everything)) or []
        assert [h.position.line for h in hints] == [split, split + 2]
        assert all("proved, " in str(h.label) for h in hints)

        editor.change("good.py", "\n" + text)  # the lines have moved, and nothing is known of them yet
        assert await editor.hover("good.py", split, 6) == ""

    with_editor(tmp_path, test)


@pytest.mark.nightly
def test_expected_refusals_inform_and_unexpected_acceptance_is_an_error(tmp_path: Path) -> None:
    async def test(editor: Editor) -> None:
        text = HEAD + '@schedule(total, expect="refused")\ndef wrong(s):\n    s.split("i", [4, 4])\n'
        text += '\n\n@schedule(total)\ndef right(s):\n    with expect_refusal(s):\n        s.parallel("i")\n'
        editor.open("both.py", text)
        wrong, right = await editor.diagnostics("both.py")
        lines = text.splitlines()
        assert span(wrong) == (lines.index("def wrong(s):"), 4, lines.index("def wrong(s):"), 9)
        assert wrong.severity is types.DiagnosticSeverity.Error
        assert "every step was accepted" in wrong.message
        assert right.range.start.line == len(lines) - 1
        assert right.severity is types.DiagnosticSeverity.Information
        assert "refused as expected" in right.message

    with_editor(tmp_path, test)


@pytest.mark.nightly
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("last", "message", "place"),
    [
        ("def broken(:\n", "invalid syntax", (17, 11)),
        ("raise KeyError('x')\n", "KeyError: 'x'", (17, 0)),
        ("@T.prim_func\ndef odd(A: T.Buffer((4,), 'float32')):\n    A[0] = nothing\n", "nothing", (19, 11)),
        ("@schedule(fill)\ndef odd(s):\n    s.splt('i', [4, 4])\n", "no 'splt'", (19, 4)),
    ],
)
def test_mistakes_in_the_file(tmp_path: Path, last: str, message: str, place: tuple[int, int]) -> None:
    async def test(editor: Editor) -> None:
        editor.open("bad.py", HEAD + last)
        (found,) = await editor.diagnostics("bad.py")
        assert message in found.message
        assert (found.range.start.line, found.range.start.character) == place
        assert found.severity is types.DiagnosticSeverity.Error

    with_editor(tmp_path, test)


@pytest.mark.nightly
def test_characters_of_two_code_units_count_as_two(tmp_path: Path) -> None:
    async def test(editor: Editor) -> None:
        text = REFUSED.replace('    s.reorder("i_1", "i_0")', '    "𝔸𝔹"; s.reorder("i_1", "i_0")')
        editor.open("wide.py", text)
        (found,) = await editor.diagnostics("wide.py")
        assert (found.range.start.character, found.range.end.character) == (12, 12 + len('s.reorder("i_1", "i_0")'))

    with_editor(tmp_path, test)


@pytest.mark.nightly
def test_a_file_may_end_its_process_or_never_end(tmp_path: Path) -> None:
    async def test(editor: Editor) -> None:
        editor.open("ends.py", GOOD + "\n\n@schedule(fill)\ndef ends(s):\n    import os\n    os._exit(3)\n")
        (found,) = await editor.diagnostics("ends.py")
        assert found.message == "ends ended its process, so what follows was not verified: it ended with exit code 3"
        assert await editor.hover("ends.py", GOOD.count("\n") - 1, 6), "what came before is known"

        started = time.monotonic()
        child = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], cwd=FOLDER)"
        loops = f"import subprocess, sys\nFOLDER = {str(tmp_path)!r}\n{child}\nwhile True:\n    pass\n"
        editor.open("loops.py", HEAD + loops)
        (found,) = await editor.diagnostics("loops.py")
        assert found.message.startswith("the file was stopped after 6 s: ")
        assert 5 < time.monotonic() - started < 30

        editor.open("noisy.py", REFUSED + "\nimport os\nos.write(1, b'Content-Length: 3')\nprint('{}')\n")
        (found,) = await editor.diagnostics("noisy.py")
        assert found.message.startswith("reorder"), "the server still answers"

    with_editor(tmp_path, test, "--time-limit", "6")
    assert processes_in(tmp_path) == []


@pytest.mark.nightly
def test_shutdown_and_a_lost_connection_leave_no_process_behind(tmp_path: Path) -> None:
    busy = HEAD + "import os\nos.chdir(os.path.dirname(__file__))\nopen('begun', 'w').close()\nwhile True:\n    pass\n"

    async def opened(editor: Editor) -> None:
        editor.open("busy.py", busy)
        async with asyncio.timeout(30):
            while not (tmp_path / "begun").exists():
                await asyncio.sleep(0.05)

    with_editor(tmp_path, opened)
    assert gone(tmp_path)

    async def killed() -> None:
        (tmp_path / "begun").unlink()
        editor = Editor(tmp_path)
        await editor.start()
        await opened(editor)
        server = editor.client._server  # the process
        assert server is not None
        assert processes_in(tmp_path)
        server.kill()
        await server.wait()

    asyncio.run(killed())
    assert gone(tmp_path)


def gone(folder: Path) -> bool:
    """Whether all processes in a folder end soon."""
    until = time.monotonic() + 10
    while processes_in(folder) and time.monotonic() < until:
        time.sleep(0.05)
    return processes_in(folder) == []


def processes_in(folder: Path) -> list[int]:
    """Processes whose working folder this is."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "cwd") == str(folder.resolve()):
                if "Z" not in (entry / "stat").read_text().rpartition(")")[2].split()[0]:
                    found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.nightly
def test_only_schedule_files_are_executed(tmp_path: Path) -> None:
    async def test(editor: Editor) -> None:
        editor.open("other.py", "import verified_tir\nopen('touched', 'w').close()\nraise KeyError\n")
        assert await editor.diagnostics("other.py") == []
        assert not (tmp_path / "touched").exists()

    with_editor(tmp_path, test)


@pytest.mark.nightly
def test_files_beside_it_are_imported_and_saving_looks_again(tmp_path: Path) -> None:
    async def test(editor: Editor) -> None:
        helper = tmp_path / "helper.py"
        helper.write_text("def tile(s):\n    s.split('no_such_loop', [4, 4])\n")
        text = GOOD.replace('s.split("i", [4, 4])', "tile(s)").replace(
            "from verified_tir import", "from helper import tile\nfrom verified_tir import"
        )
        editor.open("uses.py", text)
        (found,) = await editor.diagnostics("uses.py")
        assert found.range.start.line == text.splitlines().index("    tile(s)")
        helper.write_text("def tile(s):\n    s.split('i', [4, 4])  # mended\n")
        editor.published.clear()
        document = types.TextDocumentIdentifier(editor.uri("uses.py"))
        editor.client.text_document_did_save(types.DidSaveTextDocumentParams(document))
        assert await editor.diagnostics("uses.py") == []
        editor.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    with_editor(tmp_path, test)


def test_without_pygls_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    monkeypatch.delitem(sys.modules, "verified_tir.editor.server", raising=False)
    done = invoke("lsp", cwd=tmp_path)
    assert done.returncode == 2
    assert install("editor") in done.stderr
    assert "Traceback" not in done.stderr
