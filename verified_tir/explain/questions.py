"""The obligations of steps as tables, each with its SMT-LIB text on demand.

The texts may be many times as long as everything else.  A long one is left out, as is what comes after many of them;
what is on the page already is linked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, final

from verified_tir.durations import duration
from verified_tir.explain.markup import Markup, element, shortened
from verified_tir.logic.verdict import Discharged, Obligation
from verified_tir.report.model import ObligationReport
from verified_tir.report.smt import smt_text
from verified_tir.schedule.errors import Refuted, Undecided

if TYPE_CHECKING:
    from verified_tir.explain.story import RefusalStory, StepStory

LONGEST, ALL, ROWS = 12_000, 500_000, 150
"""Characters of a text, and of all; obligations of a step that are listed."""


@final
class Questions:
    """Writes the obligations of a page, and knows which texts are on it."""

    def __init__(self, longest: int = LONGEST, room: int = ALL) -> None:
        self._longest = longest
        self._room = room
        self._known: dict[str, str] = {}

    def of_step(self, s: StepStory, name: str) -> Markup | None:
        """The obligations that were proved for a step."""
        rows = list(self._rows(s, name))
        if not rows:
            return None
        count = len(s.report.obligations)
        kept = rows[:ROWS]
        more = element("p", f"{len(rows) - ROWS} more are left out here.", class_="note") if len(rows) > ROWS else None
        head = element("summary", f"{count} obligation{'s' if count > 1 else ''}, proved")
        return element("details", head, _table(kept), more)

    def of_refusal(self, r: RefusalStory, name: str) -> Markup | None:
        """The obligation for which a step was refused."""
        if not isinstance(r.error, (Refuted, Undecided)) or r.error.obligation is None:
            return None
        verdict = "refuted" if isinstance(r.error, Refuted) else "undecided"
        text = self._smt(r.report.step, r.error.obligation, verdict, f"{name}-smt")
        return element("details", element("summary", "the obligation as SMT-LIB"), text)

    def _rows(self, s: StepStory, name: str) -> Iterator[Markup]:
        for k, (d, o) in enumerate(zip(s.record.obligations, s.report.obligations, strict=True)):
            yield self._row(s, d, o, f"{name}-smt-{k}")
            for m, (lemma, said) in enumerate(zip(d.lemmas, o.lemmas, strict=True)):
                yield self._row(s, lemma, said, f"{name}-smt-{k}-{m}", "lemma")

    def _row(self, s: StepStory, d: Discharged, o: ObligationReport, name: str, kind: str | None = None) -> Markup:
        where = None
        if o.place is not None:
            words = f"line {o.place.line} of the program {o.place.program} the rule: {shortened(o.place.text)}"
            where = element("div", words, class_="quiet")
        smt = element("details", element("summary", "SMT-LIB"), self._smt(str(s.report), d.obligation, o.verdict, name))
        claim = element("td", "lemma: " if kind else None, shortened(o.claim), where, smt, class_=kind)
        others = [
            element("td", x, class_="word") for x in (o.verdict, o.how, duration(o.seconds) if o.seconds else "–")
        ]
        return element("tr", claim, *others)

    def _smt(self, step: str, o: Obligation, verdict: str, name: str) -> Markup:
        text = smt_text(step, o, verdict)
        body = text[text.index("(set-info") :]
        if body in self._known:
            return element("p", element("a", "the same text as above", href=f"#{self._known[body]}"), class_="note")
        if len(text) > self._longest or len(text) > self._room:
            note = f"left out, it has {len(text):,} characters: vtir verify --smt DIR writes it"
            return element("p", note, class_="note")
        self._room -= len(text)
        self._known[body] = name
        return element("pre", text, id=name, tabindex=0)


def _table(rows: list[Markup]) -> Markup:
    heads = [element("th", x, scope="col") for x in ("claim", "verdict", "method", "time")]
    table = element("table", element("thead", element("tr", *heads)), element("tbody", *rows))
    return element("div", table, class_="wide")
