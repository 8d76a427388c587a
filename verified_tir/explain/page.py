"""The page: one file without network, which can be read without JavaScript."""

from __future__ import annotations

from importlib.resources import files

from verified_tir import __version__
from verified_tir.durations import duration
from verified_tir.explain import sections
from verified_tir.explain.drawing import DARK, LIGHT, RULES, variables
from verified_tir.explain.markup import Markup, element
from verified_tir.explain.questions import Questions
from verified_tir.explain.story import RefusalStory, StepStory, Story

PICTURES, WHOLE = 800_000, 1_400_000
"""Characters of all pictures of a page, and of all steps; of what comes then only the headings are shown."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""What a browser may load for the page: nothing."""


def page(story: Story) -> str:
    """The page of a schedule."""
    r = story.report
    title = f"{r.name}, {story.source.file}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("title", title),
        element("style", Markup(_style())),
    )
    questions, room = Questions(), sections.Room(PICTURES, WHOLE)
    parts = [room.take(_part(p, story, questions, room)) for p in story.parts()]
    body = element(
        "body",
        element("a", "Skip to the steps", href="#steps", class_="skip"),
        _header(story),
        element(
            "div",
            sections.schedule(story),
            element("main", *parts, sections.result(story), id="steps"),
            class_="columns",
        ),
        _footer(),
        element("script", Markup(_text("page.js"))),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _part(p: StepStory | RefusalStory, story: Story, questions: Questions, room: sections.Room) -> Markup:
    if isinstance(p, StepStory):
        return sections.step(p, story, questions, room)
    return sections.refusal(p, story, questions, room)


def _style() -> str:
    light, dark = variables(LIGHT).rstrip(";"), variables(DARK).rstrip(";")
    return f":root{{{light}}}\n" + _text("page.css").replace("DARK;", f"{dark};").replace("LIGHT;", f"{light};") + RULES


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _header(story: Story) -> Markup:
    r = story.report
    good = r.outcome.as_expected
    count = len(r.steps) - 1
    facts = (
        f"{max(count, 0)} step{'s' if count != 1 else ''}, {r.obligations} obligations proved, {duration(r.seconds)}"
    )
    return element(
        "header",
        element(
            "div",
            element("h1", r.name),
            element(
                "p",
                element("span", sections.outcome(r), class_=f"badge {'good' if good else 'bad'}"),
                f" {facts} · ",
                element("span", f"{story.source.file}:{r.at.line}", class_="mono"),
            ),
            element("p", r.doc, class_="quiet") if r.doc else None,
        ),
        element("button", "light / dark", id="theme", type="button", hidden="hidden"),
    )


def _footer() -> Markup:
    keys = [element("kbd", k) for k in ("j", "→", "k", "←", "t")]
    moves = ("Keys: ", keys[0], " or ", keys[1], " next step, ", keys[2], " or ", keys[3], " previous step, ", keys[4],
             " light or dark. Hover over a cell of a layout to see its counterpart.")  # fmt: skip
    return element(
        "footer",
        element("p", *moves, class_="keys"),
        element(
            "p",
            "Each step was proved before the program changed: every obligation is a question to a solver, and the "
            "step is refused unless all are proved. This page only shows what was proved; nothing rests on it. "
            f"Written by vtir {__version__}.",
        ),
    )
