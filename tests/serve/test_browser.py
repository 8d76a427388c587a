"""The playground in a real browser: what a person sees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.browser import opened_browser
from tests.serve.running import ROW_SUM, Served, served

WAIT = 90_000
"""Milliseconds for one run, on a machine that does much else."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served"), "--time-limit", "90") as found:
        yield found


@contextmanager
def page_of(browser: Any, address: str, **options: Any) -> Iterator[Any]:
    """The page in a new window; it must ask nobody else, and have nothing to complain about."""
    context = browser.new_context(viewport={"width": 1280, "height": 860}, **options)
    try:
        page = context.new_page()
        complaints: list[str] = []
        asked: set[str] = set()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda problem: complaints.append(str(problem)))
        page.on("request", lambda request: asked.add("/".join(request.url.split("/")[:3])))
        page.set_default_timeout(WAIT)
        page.goto(address)
        yield page
        assert complaints == []
        assert asked <= {"/".join(address.split("/")[:3]), "data:,"}
    finally:
        context.close()


def run(page: Any, steps: str, program: str | None = None) -> None:
    """Write steps and run them, with the keyboard alone."""
    if program is not None:
        page.fill("#program", program)
    page.fill("#steps", steps)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".outcome.good, .outcome.bad, .outcome.odd")


def test_an_example_is_proved_and_a_wrong_step_refused(browser: Any, server: Served) -> None:
    with page_of(browser, server.address) as page:
        page.select_option("#examples", "row_summation.py:padded")
        page.wait_for_selector(".outcome.good")
        assert page.inner_text("#outcome").startswith("Proved. 3 steps, 27 obligations")
        cards = page.query_selector_all(".card.proved")
        assert [c.query_selector("code").inner_text() for c in cards] == [
            "program(row_summation)",
            "transform_layout(A, lambda i, j: [i, j // 4, j % 4], pad_value=0.0)",
            "sequential_buffer_access(A)",
            "remove_branching_through_overcompute()",
        ]
        last = cards[-1]
        assert last.get_attribute("open") is not None
        assert "if 4 * j_0 + j_1 < 14:" in last.query_selector(".removed").inner_text()
        last.query_selector("details.owed summary").click()
        assert "it writes the bits that are there already" in last.inner_text()
        assert len(page.query_selector_all("#steps >> xpath=.. >> .numbers .done")) == 3

        run(page, page.input_value("#steps").replace("0.0", "1.0"))
        assert page.inner_text("#outcome").startswith("Refused. 2 steps proved, then remove_branching")
        refused = page.query_selector(".card.refused")
        assert "This is false: the store to B that this step adds changes nothing" in refused.inner_text()
        assert "j_0 = 3" in [x.inner_text() for x in refused.query_selector_all(".values code")]
        before, after = (b.inner_text() for b in refused.query_selector_all(".answers b"))
        assert float(after) - float(before) == 2.0
        assert "# <-- here" in refused.query_selector(".here").inner_text()
        assert page.inner_text(".numbers .marked").strip() == "3"


@pytest.mark.nightly
def test_mistakes_stand_below_what_they_are_in(browser: Any, server: Served) -> None:
    with page_of(browser, server.address) as page:
        run(page, 'splt("i", [4, 4])', ROW_SUM)
        assert page.inner_text("#steps-mistake") == "Line 1: there is no primitive 'splt'; did you mean 'split'?"
        assert page.is_hidden("#program-mistake")
        run(page, "", ROW_SUM.replace("A[i, j]", "A[i, nothing]"))
        assert page.inner_text("#program-mistake").startswith("Line 6: ")
        assert page.is_hidden("#steps-mistake")


@pytest.mark.nightly
def test_markup_in_names_and_texts_is_text(browser: Any, server: Served) -> None:
    evil = "<img src=x onerror=alert(1)><script>alert(1)</script>"
    with page_of(browser, server.address) as page:
        page.on("dialog", lambda dialog: pytest.fail("a script of the program's was executed"))
        run(page, f's.annotate("i", "{evil}", "{evil}")', ROW_SUM)
        assert page.inner_text("#outcome").startswith("Proved.")
        assert evil in page.inner_text(".card.proved:last-child >> nth=1")
        run(page, f's.split("{evil}", [4, 4])')
        assert evil in page.inner_text(".card.refused")
        run(page, f"s.parallel({evil})")
        assert page.query_selector("main img, main script") is None


@pytest.mark.nightly
def test_the_address_is_a_link_to_what_is_written(browser: Any, server: Served) -> None:
    program = f"# die Größe einer Zeile\n{ROW_SUM}"
    with page_of(browser, server.address) as page:
        run(page, 's.parallel("i")  # ∀', program)
        address = page.url
    with page_of(browser, address) as page:
        page.wait_for_selector(".outcome.good")
        assert page.input_value("#program") == program
        assert page.input_value("#steps") == 's.parallel("i")  # ∀'
    with page_of(browser, f"{server.address}#damaged") as page:
        assert page.inner_text("#outcome") == "This link is damaged."


@pytest.mark.nightly
def test_a_new_run_replaces_the_one_before(browser: Any, server: Served) -> None:
    with page_of(browser, server.address) as page:
        page.select_option("#examples", "padding/softmax.py:whole_vectors")
        page.wait_for_selector(".outcome.busy")
        run(page, 's.parallel("i")', ROW_SUM)
        assert page.inner_text("#outcome").startswith("Proved. 1 step,")
        assert page.inner_text(".card >> nth=0").startswith("program(row_sum)")


@pytest.mark.nightly
def test_it_is_used_with_the_keyboard(browser: Any, server: Served) -> None:
    with page_of(browser, server.address) as page:
        order = []
        for _ in range(5):
            page.keyboard.press("Tab")
            order.append(page.evaluate("document.activeElement.id"))
        assert order == ["examples", "copy", "run", "program", "steps"]
        page.keyboard.type('s.parallel("i")')
        page.fill("#program", ROW_SUM)
        page.focus("#run")
        page.keyboard.press("Enter")
        page.wait_for_selector(".outcome.good")
        page.focus(".card summary")
        page.keyboard.press("Enter")
        assert page.query_selector(".card").get_attribute("open") is not None


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_schemes_can_be_read(browser: Any, server: Served, scheme: str, tmp_path: Path) -> None:
    with page_of(browser, server.address, color_scheme=scheme) as page:
        run(page, 's.parallel("j")', ROW_SUM)
        page.screenshot(path=tmp_path / f"{scheme}.png")
        for selector in ("body", ".outcome strong", ".claim strong", ".hint", "#program", ".program .k", ".program .n",
                         ".program .c", "button.primary", ".numbers", ".badge.bad"):  # fmt: skip
            assert page.eval_on_selector(selector, CONTRAST) >= 4.5, selector


@pytest.mark.nightly
def test_a_server_that_has_ended_is_said(browser: Any, tmp_path: Path) -> None:
    with served(tmp_path) as server:
        context = browser.new_context()
        page = context.new_page()
        page.goto(server.address)
        page.wait_for_function("document.querySelectorAll('#examples option').length > 1")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".outcome.bad")
    assert page.inner_text("#outcome") == "No answer. Does vtir serve still run?"
    context.close()


CONTRAST = """
element => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const luminance = (rgb) => {
    const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = rgb.slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let behind = element;
  while (parts(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
  const one = luminance(parts(getComputedStyle(element).color));
  const other = luminance(parts(getComputedStyle(behind).backgroundColor));
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}
"""
"""The contrast of a text with what is behind it, as WCAG counts it; 4.5 can be read by most."""
