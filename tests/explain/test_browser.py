"""The page in a real browser: keys, hovering, light and dark, and without JavaScript."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import chromium, opened_browser
from tests.explain.stories import example
from verified_tir.explain.page import page

REFUSED = "row_summation.py:padded_with_ones"
LARGEST = "matmul.py:tiled_in_three_levels"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages are written there when they are first opened."""
    return tmp_path_factory.mktemp("pages")


@pytest.fixture
def opened(browser: Any, folder: Path) -> Iterator[Any]:
    """Opens a page; at the end, that nothing was wrong in it and nothing was asked of the network."""
    contexts, problems, asked = [], [], []

    def go(where: str = REFUSED, **how: Any) -> Any:
        file = folder / f"{where.partition(':')[2]}.html"
        if not file.exists():
            file.write_text(page(example(where)), encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **how})
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda m: problems.append(m.text))
        tab.on("pageerror", lambda e: problems.append(str(e)))
        tab.on("request", lambda r: asked.append(r.url))
        tab.goto(file.as_uri())
        return tab

    yield go
    for context in contexts:
        context.close()
    assert not problems
    assert all(url.startswith("file:") for url in asked) and len(asked) == len(contexts)


def focused(tab: Any) -> str:
    return str(tab.evaluate("document.activeElement.id"))


def test_keys_move_between_the_steps(opened: Any) -> None:
    tab = opened()
    visited = []
    for key in ("j", "j", "ArrowRight", "j", "k", "ArrowLeft"):
        tab.keyboard.press(key)
        visited.append(focused(tab))
    assert visited == ["step-0", "step-1", "step-2", "refused-1", "step-2", "step-1"]
    assert tab.evaluate("Math.abs(document.getElementById('step-1').getBoundingClientRect().top) < 40")
    assert tab.locator(".step-link[aria-current]").get_attribute("href") == "#step-1"
    assert tab.url.endswith("#step-1")
    tab.keyboard.press("Control+k")
    assert focused(tab) == "step-1"
    for _ in range(9):
        tab.keyboard.press("j")
    assert focused(tab) == "result"


def test_a_line_of_the_schedule_leads_to_its_step(opened: Any) -> None:
    tab = opened()
    tab.locator("nav a.code", has_text="sequential_buffer_access").click()
    assert tab.url.endswith("#step-2")
    assert tab.locator("#step-2").is_visible()


@pytest.mark.nightly
def test_hovering_a_cell_marks_its_counterpart(opened: Any) -> None:
    tab = opened()
    figure = tab.locator("#step-1 figure.linked")
    assert figure.locator(".cell.on").count() == 0
    figure.locator("svg").first.locator(".cell").nth(14 + 5).hover()  # A[1, 5]
    on = figure.locator(".cell.on")
    assert [t.strip() for t in on.locator("title").all_text_contents()] == [
        "A[1, 5] is A[1, 1, 1]",
        "A[1, 1, 1] holds A[1, 5]",
    ]
    tab.mouse.move(1, 1)
    assert on.count() == 0


def background(tab: Any) -> str:
    return str(tab.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_light_and_dark_follow_the_system_and_the_button(opened: Any) -> None:
    light, dark = opened(color_scheme="light"), opened(color_scheme="dark")
    assert background(light) == "rgb(246, 247, 249)"
    assert background(dark) == "rgb(20, 23, 27)"
    ink = "getComputedStyle(document.querySelector('#step-2 svg text')).fill"
    assert light.evaluate(ink) != dark.evaluate(ink)
    light.locator("#theme").click()
    assert background(light) == background(dark)
    dark.keyboard.press("t")
    assert background(dark) == "rgb(246, 247, 249)"
    assert len(light.screenshot()) > 10_000


@pytest.mark.nightly
def test_a_page_can_be_read_without_javascript(opened: Any) -> None:
    tab = opened(java_script_enabled=False)
    assert not tab.locator("#theme").is_visible()
    assert tab.locator("#step-1 svg").first.is_visible()
    details = tab.locator("#step-1 > details")
    assert not details.locator("table").is_visible()
    details.locator("summary").first.click()
    assert details.locator("table").is_visible()
    tab.locator("nav a[href='#refused-1']").first.click()
    assert tab.locator("#refused-1").is_visible()


@pytest.mark.nightly
def test_a_small_window_scrolls_down_only(opened: Any) -> None:
    for where in (REFUSED, LARGEST):
        tab = opened(where, viewport={"width": 380, "height": 700})
        assert tab.evaluate("document.documentElement.scrollWidth") <= 380


@pytest.mark.nightly
def test_the_largest_page_has_few_elements(opened: Any) -> None:
    tab = opened(LARGEST)
    assert tab.locator("main section").count() == 9
    assert tab.evaluate("document.querySelectorAll('*').length") < 5_000


@pytest.mark.nightly  # a verdict on time: other processes may take it
def test_the_largest_page_opens_in_less_than_a_second(opened: Any) -> None:
    tab = opened(LARGEST)
    assert tab.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") < 1000


@pytest.mark.nightly
def test_what_needs_a_name_for_a_screen_reader_has_one(opened: Any) -> None:
    tab = opened()
    for role in ("banner", "navigation", "main", "contentinfo"):
        assert tab.get_by_role(role).count() == 1
    named = tab.evaluate("""Array.from(document.querySelectorAll('svg')).every(s =>
        s.getAttribute('aria-labelledby').split(' ').every(i => document.getElementById(i).textContent.trim()))""")
    assert named
    tab.keyboard.press("Tab")
    assert tab.locator(":focus").text_content() == "Skip to the steps"
    tab.keyboard.press("Tab")
    assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


@pytest.mark.nightly
def test_it_prints_light_and_without_what_cannot_be_pressed(opened: Any) -> None:
    tab = opened(color_scheme="dark")
    tab.emulate_media(media="print", color_scheme="dark")
    assert background(tab) == "rgb(255, 255, 255)"
    assert not tab.locator("#theme").is_visible()
    assert tab.locator("#step-1 svg").first.is_visible()


def test_without_a_browser_it_fails_in_continuous_integration_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setenv("CI", "1")
    with pytest.raises(pytest.fail.Exception, match="apt-get install chromium"):
        chromium()
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception):
        chromium()
