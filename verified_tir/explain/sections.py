"""The parts of the page: the schedule's lines, a step, a refusal, the result."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby

import numpy as np

from verified_tir.durations import duration
from verified_tir.explain.answers import answer_drawings
from verified_tir.explain.drawing import Drawing, on_page
from verified_tir.explain.markup import Content, Markup, element, join, shortened
from verified_tir.explain.questions import Questions
from verified_tir.explain.story import LayoutStory, RefusalStory, StepStory, Story
from verified_tir.report.diff import DiffLine, below_header, program_diff, program_lines
from verified_tir.report.model import ScheduleReport

LINES, HEADING = 400, 300
"""Lines of a program, or of a difference, that are shown; characters of a heading."""


def name_of(part: StepStory | RefusalStory, story: Story) -> str:
    """The name of a step on the page, for links."""
    if isinstance(part, StepStory):
        return f"step-{part.number}"
    return f"refused-{story.refusals.index(part) + 1}"


# -- the schedule ------------------------------------------------------------------------------------------------------


def schedule(story: Story) -> Markup:
    """The lines of the schedule, each with links to its steps."""
    parts = list(story.parts())
    links: dict[int, list[Markup]] = {}
    first: dict[int, str] = {}
    for p in parts:
        where = name_of(p, story)
        number = str(p.number) if isinstance(p, StepStory) else "✗"
        wrong = " wrong" if isinstance(p, RefusalStory) else ""
        title = shortened(str(p.report) if isinstance(p, StepStory) else f"refused: {p.report.step}", 120)
        link = element("a", number, href=f"#{where}", class_=f"step-link{wrong}", title=title)
        links.setdefault(p.line, []).append(link)
        first.setdefault(p.line, where)
    lines = []
    for n, text in enumerate(story.source.lines, story.source.first):
        indent = len(text) - len(text.lstrip())
        code = element("code", text.strip() or " ", style=f"padding-left:{indent + 2}ch")
        if n in links:
            code = element("a", code, href=f"#{first[n]}", class_="code")
        steps = element("span", *links.get(n, ()), class_="steps")
        lines.append(element("li", element("span", n, class_="number"), code, steps, id=f"line-{n}"))
    others = element("p", "called from elsewhere: ", *links.get(0, ()), class_="others")
    return element(
        "nav",
        element("h2", "Schedule"),
        element("ol", *lines),
        others if 0 in links else None,
        aria_label="The lines of the schedule, with its steps",
        tabindex=0,
    )


# -- steps -------------------------------------------------------------------------------------------------------------


def step(s: StepStory, story: Story, questions: Questions, room: Room) -> Markup:
    """One step: where it was called, what it changed, its pictures, what was proved."""
    name = name_of(s, story)
    count = len(s.report.obligations)
    badge = f"{count} proved, {duration(s.report.seconds)}" if count else "nothing to prove"
    head = element(
        "h2",
        element("span", f"Step {s.number}" if s.number else "The program", class_="number-of"),
        element("code", shortened(str(s.report) if s.number else s.report.arguments, HEADING)),
        element("span", badge, class_="badge good"),
        id=f"{name}-title",
    )
    if room.is_full:
        note = "The rest of this step is left out to keep the page small: vtir explain without --html shows it."
        return _section(name, "step", head, _where(s, story), element("p", note, class_="note"))
    pictures = [_layout(x, f"{name}-layout-{k}", room) for k, x in enumerate(s.layouts)]
    return _section(
        name, "step", head, _where(s, story), _programs(s), *pictures, _nests(s, name, room),
        questions.of_step(s, name),
    )  # fmt: skip


def _section(name: str, kind: str, *content: Content) -> Markup:
    return element("section", *content, id=name, class_=kind, tabindex=-1, aria_labelledby=f"{name}-title")


def _where(s: StepStory, story: Story) -> Markup | None:
    """The line of the schedule that led to a step, and the one of a helper that called it."""
    words: list[Content] = []
    if s.line:
        text = story.source.lines[s.line - story.source.first].strip()
        words += [element("a", f"line {s.line}", href=f"#line-{s.line}"), ": ", element("code", shortened(text))]
    if s.helper is not None:
        words += [", through " if words else "", f"{s.helper}: ", element("code", shortened(s.helper.source))]
    return element("p", *words, class_="where") if words else None


def _programs(s: StepStory) -> Markup:
    """The program at the start; what a step changed."""
    if s.number == 0:
        changed = program_diff(s.record.before, s.record.after)
        parts = [program(program_lines(s.record.before), "The program as written")]
        if changed:
            note = "What its blocks declare is proved, and then they are expanded:"
            parts += [element("h3", note), difference(changed)]
        return join(*parts)
    changed = program_diff(s.record.before, s.record.after, context=3)
    return difference(changed) if changed else element("p", "The program's text is as it was.", class_="note")


def program(lines: Sequence[str], label: str) -> Markup:
    """A program's text; a line with a mark stands out."""
    rows = [
        element("span", f"{shortened(line)}\n", class_="here" if "# <-- " in line else None) for line in lines[:LINES]
    ]
    return join(element("pre", *rows, aria_label=label, tabindex=0), _cut(len(lines)))


def _cut(count: int) -> Markup | None:
    return element("p", f"{count - LINES} more lines are left out here.", class_="note") if count > LINES else None


def difference(lines: Sequence[DiffLine]) -> Markup:
    """A difference, with what changed inside a line set apart."""
    rows: list[Markup] = []
    runs = [(kind, [shortened(x.text) for x in group]) for kind, group in groupby(lines[:LINES], lambda x: x.kind)]
    k = 0
    while k < len(runs):
        kind, texts = runs[k]
        if kind == "-" and k + 1 < len(runs) and runs[k + 1][0] == "+":
            rows += _replaced(texts, runs[k + 1][1])
            k += 2
            continue
        rows += [_row(kind, text) for text in texts]
        k += 1
    return join(element("pre", *rows, class_="diff", aria_label="What the step changed", tabindex=0), _cut(len(lines)))


def _row(kind: str, *content: Content) -> Markup:
    if kind == "@":
        return element("span", "⋯ ", *content, "\n", class_="gap")
    sign = {"-": "−", "+": "+", " ": " "}[kind]
    return element(
        "span", element("span", sign, class_="sign"), *content, "\n", class_={"-": "del", "+": "add"}.get(kind)
    )


def _replaced(old: Sequence[str], new: Sequence[str]) -> Iterator[Markup]:
    """Lines that were replaced by as many others are compared word by word."""
    if len(old) != len(new):
        yield from (_row("-", text) for text in old)
        yield from (_row("+", text) for text in new)
        return
    pairs = [_words(a, b) for a, b in zip(old, new, strict=True)]
    yield from (_row("-", *a) for a, _ in pairs)
    yield from (_row("+", *b) for _, b in pairs)


def _words(a: str, b: str) -> tuple[list[Content], list[Content]]:
    old, new = re.findall(r"\w+|\s+|.", a), re.findall(r"\w+|\s+|.", b)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < 0.5:
        return [a], [b]
    left: list[Content] = []
    right: list[Content] = []
    for tag, i, j, k, m in matcher.get_opcodes():
        one, other = "".join(old[i:j]), "".join(new[k:m])
        left.append(one if tag == "equal" else element("b", one) if one else None)
        right.append(other if tag == "equal" else element("b", other) if other else None)
    return left, right


# -- pictures ----------------------------------------------------------------------------------------------------------


class Room:
    """How much may still come onto a page, in characters: of pictures, and of all."""

    def __init__(self, pictures: int, whole: int) -> None:
        self._pictures = pictures
        self._whole = whole

    @property
    def is_full(self) -> bool:
        """Whether only headings are to follow."""
        return self._whole <= 0

    def take(self, part: Markup) -> Markup:
        """A part of the page, which takes its room."""
        self._whole -= len(part)
        return part

    def put(self, drawn: Markup) -> Markup:
        """A picture, or a note in its place."""
        if len(drawn) <= self._pictures:
            self._pictures -= len(drawn)
            return drawn
        return element(
            "p", "A picture is left out here to keep the page small: vtir explain --svg DIR writes it.", class_="note"
        )


def _pair(drawings: Iterable[Drawing], name: str) -> Markup:
    return element(
        "div",
        *(
            element(
                "div", element("h4", d.title), element("div", on_page(d, f"{name}-{k}"), class_="scroll", tabindex=0)
            )
            for k, d in enumerate(drawings)
        ),
        class_="pair",
    )


def _layout(x: LayoutStory, name: str, room: Room) -> Markup:
    r = x.relaid
    what = f"A copy of {r.before.name} in {r.after.name}" if r.copied else f"The layout of {r.after.name}"
    drawings = x.drawings
    if drawings is None or x.layout is None:
        why = "Its map cannot be drawn: it is not index arithmetic, or no small sizes satisfy the assumptions."
        return join(element("h3", what), element("p", why, class_="note"))
    caption = " ".join(_caption(x))
    figure = element("figure", _pair(drawings, name), element("figcaption", caption), class_="linked")
    return join(element("h3", what), room.put(figure))


def _caption(x: LayoutStory) -> Iterator[str]:
    assert x.layout is not None
    if x.layout.sizes:
        at = ", ".join(f"{v.name} = {n}" for v, n in x.layout.sizes.items())
        yield f"Drawn for {at}; the step was proved for all."
    if not x.layout.is_whole:
        yield "Only the first and last indices of large dimensions are drawn."
    yield "A line is contiguous in memory. Equal colours and texts are the same element."
    if x.layout.padding:
        yield "Hatched places are padding."
    if x.relaid.shared:
        yield "Several elements take one place in turn."
    if x.touched is not None:
        yield f"Framed: what the iteration {x.touched.loop.name} = {x.touched.value} touches after the step."


def _nests(s: StepStory, name: str, room: Room) -> Markup | None:
    if s.number == 0:
        return None
    both = s.nests
    if both is None:
        return element("p", "The loops are as they were.", class_="note")
    return room.put(element("figure", element("h3", "Loop nest"), _pair(both, f"{name}-nest")))


# -- refusals ----------------------------------------------------------------------------------------------------------

_VERDICTS = {
    "refuted": "refused: the claim is false",
    "undecided": "refused: not decided",
    "not-applicable": "not applicable",
}


def refusal(r: RefusalStory, story: Story, questions: Questions, room: Room) -> Markup:
    """A refused step: the claim, the counterexample in numbers and in memory, and both answers."""
    name = name_of(r, story)
    head = element(
        "h2",
        element("span", "Refused", class_="number-of"),
        element("code", shortened(r.report.step, HEADING)),
        element("span", _VERDICTS[r.report.kind], class_="badge bad"),
        element("span", "as expected", class_="badge good") if r.expected else None,
        id=f"{name}-title",
    )
    raised = r.report.raised
    where = None
    if raised is not None:
        place = element("a", f"line {raised.line}", href=f"#line-{r.line}") if r.line else str(raised)
        where = element("p", place, ": ", element("code", raised.source), class_="where")
    replayed = r.report.replay
    facts: list[Content] = []
    if r.report.counterexample:
        facts += [element("dt", "counterexample"), element("dd", element("code", r.report.values))]
    if replayed is not None:
        unsure = "unconfirmed: the obligation may be stronger than needed here"
        sure = "confirmed by running it" if replayed.confirmed else unsure
        facts += [element("dt", "replayed"), element("dd", replayed.message, f" ({sure})")]
    if r.report.remedy is not None:
        facts += [element("dt", "proved remedy"), element("dd", r.report.remedy)]
    elif r.report.advice:
        facts += [element("dt", "try"), element("dd", r.report.advice)]
    facts += [element("dt", "code"), element("dd", element("code", r.report.code), ", explained by ",
                                             element("code", f"vtir help {r.report.code}"))]  # fmt: skip
    marked = below_header(r.report.program.splitlines())
    return _section(
        name, "step refused", head, where, element("p", r.report.claim, class_="claim"),
        element("dl", *facts), program(marked, "The program, with the place marked"),
        *_seen(r, name, room), *_answers(r, name, room), questions.of_refusal(r, name),
    )  # fmt: skip


def _seen(r: RefusalStory, name: str, room: Room) -> Iterator[Markup]:
    if r.witnessed:
        yield element("h3", "The counterexample in memory")
    for k, w in enumerate(r.witnessed):
        caption = f"Framed in red: {w.sentence}."
        figure = element(
            "figure", _pair(w.drawings, f"{name}-seen-{k}"), element("figcaption", caption), class_="linked"
        )
        yield room.put(figure)


def _answers(r: RefusalStory, name: str, room: Room) -> Iterator[Markup]:
    if r.answers is None:
        return
    yield element("h3", "Both answers")
    for k, a in enumerate(r.answers.found):
        figure = element("figure", _pair(answer_drawings(a), f"{name}-answer-{k}"), _arguments(r), class_="linked")
        yield room.put(figure)


def _arguments(r: RefusalStory) -> Markup:
    assert r.answers is not None
    with np.printoptions(threshold=60, edgeitems=3, linewidth=100):
        rows = list(chain.from_iterable(
            f"{name} = {value}".splitlines() for name, value in r.answers.arguments.items()
        ))  # fmt: skip
    text = element("pre", *(element("span", f"{shortened(row)}\n") for row in rows), tabindex=0)
    return element("details", element("summary", "the arguments of both runs"), text)


# -- the result --------------------------------------------------------------------------------------------------------


def result(story: Story) -> Markup:
    """What was proved in the end, what it rests on, and the second opinion."""
    r = story.report
    lines = below_header(r.program.splitlines())
    facts: list[Content] = []
    for sentence in r.assumptions:
        facts += [element("dt", "assuming"), element("dd", sentence)]
    if r.opinion is not None:
        facts += [element("dt", "second opinion"), element("dd", r.opinion.sentence)]
    if r.input is not None:
        facts += [element("dt", "input"), element("dd", r.input.sentence)]
    if r.error is not None:
        facts += [element("dt", "error"), element("dd", f"{r.error.at}: {r.error.kind}: {r.error.message}")]
    badge = f"badge {'good' if r.outcome.as_expected else 'bad'}"
    head = element("h2", "Result", element("span", outcome(r), class_=badge), id="result-title")
    methods = ", ".join(f"{n} {how}" for how, n in sorted(_methods(r).items(), key=lambda x: -x[1]))
    facts += (
        [element("dt", "obligations"), element("dd", f"{r.obligations} proved ({methods})")] if r.obligations else []
    )
    shown_program = program(lines, "The program as scheduled") if lines else None
    return _section("result", "step", head, element("dl", *facts), shown_program)


def outcome(r: ScheduleReport) -> str:
    """How the schedule ended, in words."""
    return r.outcome.value.replace("-", " ")


def _methods(r: ScheduleReport) -> dict[str, int]:
    found: dict[str, int] = {}
    for s in r.steps:
        for o in s.obligations:
            found[o.how] = found.get(o.how, 0) + 1
    return found
