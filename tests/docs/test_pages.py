"""README.md and every page below docs/ do what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import CHECKED, ROOT, blocks, commands, compare, run_console, run_python, settled

PAGES = sorted([ROOT / "README.md", *(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts)])


def _named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_python_blocks_run(page: Path) -> None:
    run_python(page)


WITH_COMMANDS = [p for p in PAGES if any(b.checked for b in blocks(p.read_text(encoding="utf-8")))]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=_named)
def test_console_blocks_are_what_the_commands_print(page: Path) -> None:
    assert run_console(page) > 0


# -- the conventions themselves ---------------------------------------------------------------------------------------

PAGE = """# Page

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


def test_blocks_share_a_namespace_and_outputs_are_compared(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    run_python(page)


def test_a_wrong_output_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace("```text\n1", "```text\n2"))
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:9"):
        run_python(page)


def test_an_exception_has_the_line_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE + "\n```python\n\nunknown\n```\n")
    with pytest.raises(NameError) as caught:
        run_python(page)
    assert caught.traceback[-1].lineno + 1 == 24
    assert str(caught.traceback[-1].path) == str(page)


def test_a_block_without_end_fails() -> None:
    with pytest.raises(AssertionError, match="line 3 has no end"):
        blocks("# Page\n\n```python\nx = 1\n")


def test_only_marked_console_blocks_are_checked(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    block = "```console\n$ vtir verify nowhere.py\nall is well\n```\n"
    page.write_text(block)
    assert run_console(page) == 0
    page.write_text(f"{CHECKED}\n{block}")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:3: vtir verify nowhere\.py"):
        run_console(page)


def test_commands_and_their_outputs() -> None:
    (block,) = blocks("```console\n$ vtir a\nb\nc\n$ echo $?\n0\n```")
    assert list(commands(block)) == [("vtir a", "b\nc"), ("echo $?", "0")]


def test_times_and_columns_do_not_count() -> None:
    assert settled("  5 proved   5.0 ms  x\n") == settled("  5 proved    17 ms  x")
    assert settled("in 5.0 s") == settled("in 12 ms")
    assert settled("  5 proved   5.0 ms  x") != settled("  6 proved   5.0 ms  x")


def test_values_of_counterexamples_do_not_count_but_names_do() -> None:
    compare("page", "x\n  counterexample: i = 0, j = -3", "x\n  counterexample: i = 1, j = 2")
    with pytest.raises(pytest.fail.Exception):
        compare("page", "counterexample: i = 0", "counterexample: k = 0")
    with pytest.raises(pytest.fail.Exception):
        compare("page", "i = 0", "i = 1")
