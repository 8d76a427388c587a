"""``docs/trust.md`` lists the files that a proof rests on, with their sizes.  ``--update-golden`` rewrites the table.

A file counts if the kernel imports it, directly or indirectly.  The sizes in the page are those of when it was written:
they may be off by a quarter before the test fails.
"""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

import pytest

from tests.mutation.trusted import trusted_files

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "trust.md"
BEGIN, END = "<!-- trusted base -->", "<!-- end of the trusted base -->"


def trusted() -> list[Path]:
    """The kernel and what it imports, directly or indirectly; files without code left out."""
    return [f for f in trusted_files(ROOT) if code_lines(f) > 0]


def code_lines(file: Path) -> int:
    """Lines with code: no blank lines, comments or docstrings."""
    text = file.read_text(encoding="utf-8")
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):  # a string that stands alone documents what is above it
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def title(file: Path) -> str:
    """What the file says of itself in its first sentence."""
    doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    first = " ".join(doc.split("\n\n")[0].split())
    return first.split(": ")[0].rstrip(".:") if len(first) > 90 else first.rstrip(".:")


def table() -> list[str]:
    """The table as it should be."""
    lines = ["| file | lines | of code | |", "|---|---|---|---|"]
    total = [0, 0]
    for file in trusted():
        whole, code = len(file.read_text(encoding="utf-8").splitlines()), code_lines(file)
        total = [total[0] + whole, total[1] + code]
        lines.append(f"| `{file.relative_to(ROOT / 'verified_tir')}` | {whole} | {code} | {title(file)} |")
    return [*lines, f"| **{len(trusted())} files** | **{total[0]}** | **{total[1]}** | |"]


def rows(lines: list[str]) -> dict[str, tuple[int, int]]:
    """The sizes in a table, by file."""
    cells = [[c.strip(" *`") for c in line.split("|")[1:4]] for line in lines[2:-1]]
    return {name: (int(whole), int(code)) for name, whole, code in cells}


def test_page_lists_the_trusted_base(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    written, tail = rest.split(END)
    if request.config.getoption("--update-golden"):
        new = "\n".join(table())
        PAGE.write_text(f"{head}{BEGIN}\n{new}\n{END}{tail}", encoding="utf-8")
        return
    now, then = rows(table()), rows(written.strip().splitlines())
    assert set(now) == set(then), "the trusted base has other files: run pytest with --update-golden"
    for name, (whole, code) in now.items():
        assert abs(whole - then[name][0]) <= max(40, whole // 4), f"{name} has {whole} lines now"
        assert abs(code - then[name][1]) <= max(40, code // 4), f"{name} has {code} lines of code now"


def test_closure_knows_the_kernel_and_not_the_tactics() -> None:
    names = {str(f.relative_to(ROOT / "verified_tir")) for f in trusted()}
    assert {
        "kernel/theorem.py",
        "kernel/rules/reorder.py",
        "semantics/encode.py",
        "logic/solver.py",
        "ir/expr.py",
    } <= names
    assert not any(name.startswith(("schedule", "report", "cli")) for name in names)


def test_code_lines_leave_out_words(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text('"""Words."""\n\n# words\nx = 1  # words\n\n\ndef f():\n    """Words."""\n    return """a\nb"""\n')
    assert code_lines(file) == 4
