"""Pages about codes as text: for a terminal, and for the documentation."""

from __future__ import annotations

from collections.abc import Iterator

from verified_tir.report.codes import GROUPS, PAGES, Page


def as_text(page: Page) -> str:
    """A page for a terminal."""
    parts = [f"{page.code}  {page.title}", "", page.what]
    if page.example:
        parts += ["", "Example:", "", *(f"    {line}" if line else "" for line in page.example.splitlines())]
    return "\n".join([*parts, "", "What to do:", "", page.do])


def listed() -> str:
    """All codes with their titles, in their groups."""
    lines: list[str] = []
    for prefix, title in GROUPS.items():
        lines += [*([""] if lines else []), f"{prefix}xx  {title}"]
        lines += [f"  {p.code}  {p.title}" for p in PAGES.values() if p.code.startswith(prefix)]
    return "\n".join(lines)


def as_markdown() -> str:
    """All pages as one page of the documentation, with an anchor for each code."""
    return "\n".join(_markdown()) + "\n"


def _markdown() -> Iterator[str]:
    yield from (
        "# Error codes",
        "",
        "Each refusal and each error has a code. `vtir help VT0406` prints what is said of it here. This page is made "
        "from",
        "`verified_tir.report.codes` by `pytest tests/report/test_codes.py --update-golden`; each example is run by "
        "that",
        "test, and yields its code.",
    )
    for prefix, title in GROUPS.items():
        yield from ("", f"## {title}")
        for page in (p for p in PAGES.values() if p.code.startswith(prefix)):
            yield from ("", f"({page.code.lower()})=", f"### {page.code} {page.title}", "", page.what)
            if page.example:
                yield from ("", "```text", page.example.strip("\n"), "```")
            yield from ("", f"**What to do.** {page.do}")
