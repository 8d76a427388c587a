"""README.md and every page below docs/ do what they say.  ``--update-golden`` rewrites the outputs in them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from tests.docs.pages import CHECKED, ROOT, Page, blocks, commands, settled, vtir

NEEDS_TVM = re.compile(r"^(import tvm|from verified_tir\.interop\.tvm)\b", re.MULTILINE)
EVERY = sorted(
    [ROOT / "README.md", ROOT / "PACKAGE.md", *(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts)]
)
PAGES = [p for p in EVERY if importlib.util.find_spec("tvm") or not NEEDS_TVM.search(p.read_text(encoding="utf-8"))]
WITH_COMMANDS = [p for p in PAGES if any(b.checked for b in blocks(p.read_text(encoding="utf-8")))]

LONGEST = ("tvm-findings.md", "strategies.md", "rows-and-elements.md", "library.md")
"""Pages that take seconds; what they show is tested in tests/interop_tvm, tests/schedule and tests/library too."""
LONG = pytest.mark.nightly


def _named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _page(path: Path, request: pytest.FixtureRequest) -> Page:
    apart = vtir if path.name == "README.md" else None
    return Page(path, update=request.config.getoption("--update-golden"), vtir=apart)


@pytest.mark.parametrize("path", [pytest.param(p, marks=LONG if p.name in LONGEST else ()) for p in PAGES], ids=_named)
def test_python_blocks_run(path: Path, request: pytest.FixtureRequest) -> None:
    _page(path, request).run_python()


@pytest.mark.parametrize("path", WITH_COMMANDS, ids=_named)
def test_console_blocks_are_what_the_commands_print(path: Path, request: pytest.FixtureRequest) -> None:
    assert _page(path, request).run_console() > 0


# -- the conventions themselves ---------------------------------------------------------------------------------------

TEXT = """# Page

```python
x = 1
print(x)
```

```text
1
```

Words.

```text
not the output of anything
```

```python
print(x + 1)
```
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "page.md"


def test_blocks_share_a_namespace_and_outputs_are_compared(path: Path) -> None:
    path.write_text(TEXT)
    Page(path).run_python()
    assert path.read_text() == TEXT


def test_a_wrong_output_fails_and_can_be_updated(path: Path) -> None:
    path.write_text(TEXT.replace("```text\n1", "```text\n2\n3"))
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:9"):
        Page(path).run_python()
    Page(path, update=True).run_python()
    assert path.read_text() == TEXT


def test_an_exception_has_the_line_of_the_page(path: Path) -> None:
    path.write_text(TEXT + "\n```python\n\nunknown\n```\n")
    with pytest.raises(NameError) as caught:
        Page(path).run_python()
    assert caught.traceback[-1].lineno + 1 == 24
    assert str(caught.traceback[-1].path) == str(path)


REFUSAL = """```python
def halved(x):
    try:
        return 8 // x
    except ZeroDivisionError:
        return None


assert halved({}) == {}
```
"""


def test_a_refusal_that_does_not_happen_fails(path: Path) -> None:
    path.write_text(REFUSAL.format(2, 4))
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:5: nothing was refused"):
        Page(path).run_python()


def test_a_refusal_may_happen_in_a_later_block(path: Path) -> None:
    path.write_text(REFUSAL.format(2, 4) + "\n```python\nassert halved(0) is None\n```\n")
    Page(path).run_python()


def test_a_block_without_end_fails() -> None:
    with pytest.raises(AssertionError, match="line 3 has no end"):
        blocks("# Page\n\n```python\nx = 1\n")


def test_only_marked_console_blocks_are_checked(path: Path) -> None:
    block = "```console\n$ vtir verify nowhere.py\nall is well\n$ echo $?\n0\n```\n"
    path.write_text(block)
    assert Page(path).run_console() == 0
    path.write_text(f"{CHECKED}\n{block}")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:3"):
        Page(path).run_console()
    assert Page(path, update=True).run_console() == 2
    assert path.read_text().splitlines()[2:4] == [
        "$ vtir verify nowhere.py",
        "nowhere.py: error: there is no such file or folder [VT0001]",
    ]
    assert path.read_text().splitlines()[-3:] == ["$ echo $?", "2", "```"]
    assert Page(path).run_console() == 2


def test_commands_and_their_outputs() -> None:
    (block,) = blocks("```console\n$ vtir a\nb\nc\n$ echo $?\n0\n```")
    assert list(commands(block)) == [("vtir a", "b\nc"), ("echo $?", "0")]


def test_times_and_columns_do_not_count() -> None:
    assert settled("  5 proved   5.0 ms  x\n") == settled("  5 proved    17 ms  x")
    assert settled("in 5.0 s") == settled("in 12 ms")
    assert settled("  5 proved   5.0 ms  x") != settled("  6 proved   5.0 ms  x")


def test_values_of_counterexamples_do_not_count_but_names_do() -> None:
    assert settled("x\n  counterexample: i = 0, j = -3") == settled("x\n  counterexample: i = 1, j = 2")
    assert settled("counterexample: i = 0") != settled("counterexample: k = 0")
    assert settled("i = 0") != settled("i = 1")
