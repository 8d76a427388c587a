"""The page as a text: well-formed, escaped, without network, small; what it says of steps and refusals."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.explain.stories import SMALL, example, told
from verified_tir.explain.markup import Markup, element, join, text
from verified_tir.explain.page import page
from verified_tir.explain.pictures import write_pictures
from verified_tir.explain.questions import Questions
from verified_tir.explain.story import RefusalStory, StepStory

SCHEDULES = [
    "microkernel.py:register_tile",
    "microkernel.py:sums_across_lanes",
    "row_summation.py:padded_with_ones",
    "nhwc_to_nchwc.py:symbolic_shape",
    "matmul.py:tiled_in_three_levels",
]


def parsed(html: str) -> ET.Element:
    """The page as a tree: it is well-formed XML, too, which no parser repairs."""
    return ET.fromstring(html.removeprefix("<!DOCTYPE html>"))


def words(node: ET.Element) -> str:
    return " ".join("".join(node.itertext()).split())


class _Strict(HTMLParser):
    """Every element is closed where it was opened."""

    VOID = frozenset({"meta", "br", "rect", "line", "path"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [v for k, v in attrs if k == "id" and v]
        self.links += [v for k, v in attrs if k == "href" and v]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.VOID, tag

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.sample(2)
@pytest.mark.parametrize("where", SCHEDULES)
def test_a_page_is_well_formed_small_and_needs_no_network(where: str) -> None:
    html = page(example(where))
    parsed(html)
    strict = _Strict()
    strict.feed(html)
    strict.close()
    assert not strict.open
    assert len(strict.ids) == len(set(strict.ids))
    assert set(strict.links) <= {f"#{i}" for i in strict.ids}
    assert "http:" not in html and "https:" not in html and "url(" not in html and "@import" not in html
    assert "default-src &#x27;none&#x27;" in html
    assert len(html.encode()) < 2_000_000


def test_every_step_has_its_line_difference_and_obligations(tmp_path: Path) -> None:
    story = told(tmp_path, SMALL)
    root = parsed(page(story))
    (one,) = [s for s in root.iter("section") if s.get("id") == "step-1"]
    said = words(one)
    assert "line 15 : s.transform_layout" in said.replace("15:", "15 :")
    assert '+def rows(A: T.Buffer((3, 2, 4), "float32")' in said
    assert "3 obligations, proved" in said
    assert "every element of A lies within the new shape" in said
    assert "(check-sat)" in said
    links = {a.get("href") for li in root.iter("li") if li.get("id") == "line-15" for a in li.iter("a")}
    assert links == {"#step-1"}


def test_an_expected_refusal_stands_where_it_happened(tmp_path: Path) -> None:
    story = told(tmp_path, SMALL)
    order = [f"{p.number}" if isinstance(p, StepStory) else p.report.step for p in story.parts()]
    assert order == ["0", "1", "parallel(j)", "2"]
    ids = [s.get("id") for s in parsed(page(story)).iter("section")]
    assert ids == ["step-0", "step-1", "refused-1", "step-2", "result"]


def test_a_refusal_shows_the_claim_the_counterexample_and_both_answers() -> None:
    story = example("row_summation.py:padded_with_ones")
    root = parsed(page(story))
    (section,) = [s for s in root.iter("section") if s.get("id") == "refused-1"]
    said = words(section)
    assert "it writes the bits that are there already" in said
    assert "counterexample" in said and "j_0 = 3" in said
    assert "B before" in said and "B after" in said
    assert "with these values, the statement reads A[0, 3, 2]" in said
    (refused,) = story.refusals
    assert refused.answers is not None
    (b,) = refused.answers.found
    assert (float(b.before[0]), float(b.after[0])) == (105.0, 107.0)
    assert len(b.differs) == 16


def test_a_race_has_no_two_answers_but_a_place() -> None:
    (refused,) = example("microkernel.py:sums_across_lanes").refusals
    assert refused.answers is None
    assert [w.sentence for w in refused.witnessed] == ["with these values, the two iterations read and write acc[0, 0]"]


def test_of_two_iterations_the_element_is_shown_where_they_meet() -> None:
    (refused,) = example("stencil.py:space_before_time").refusals
    assert [w.sentence for w in refused.witnessed] == ["with these values, the two iterations read and write A[1, 2]"]
    assert refused.answers is not None


def test_a_refused_layout_shows_which_elements_share_a_place(tmp_path: Path) -> None:
    text = SMALL.replace("[i, j // 4, j % 4], pad_value=0.0", "[i, j // 4]").replace(
        "    with exp", "    return\n    with exp"
    )
    (refused,) = told(tmp_path, text, file="shared.py").refusals
    (seen,) = refused.witnessed
    assert re.fullmatch(r"A\[\d, \d\] is mapped to A\[\d, 0\], as A\[\d, \d\].*", seen.sentence)
    assert seen.drawings[0].body.count('class="wrong"') == 4
    assert seen.drawings[1].body.count('class="wrong"') == 1


def test_an_unexpected_refusal_is_told_too(tmp_path: Path) -> None:
    story = told(
        tmp_path, SMALL.replace("    with expect_refusal(s):\n        s.par", "    s.par"), file="unexpected.py"
    )
    html = page(story)
    (refused,) = story.refusals
    assert not refused.expected
    assert "as expected" not in words(parsed(html))


EVIL = "<script>alert(1)</script>"

HOSTILE = f"""
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For, Store
from verified_tir.ir.sugar import const

EVIL = {EVIL!r}
A = Buffer.declare("a" + EVIL, (4, 4), "float32")
i, j, p = Var.fresh("i" + EVIL), Var.fresh("j" + EVIL), Var.fresh("p" + EVIL, A.data.type)
store = Store(A, const(0.0, "float32"), (i, j))
named = PrimFunc("f", (p,), ((p, A),), For(i, const(0), const(4), For(j, const(0), const(4), store)))


@schedule(named)
def renamed(s: Schedule) -> None:
    {EVIL!r} " & \x01 ' \"
    s.transform_layout(s.buffers[0], lambda i, j: [j, i])
    s.split(s.loops()[0], [2, 2])
    with expect_refusal(s):
        s.split("</pre>" + EVIL, [2])
    s.annotate(s.loops()[0], "k" + EVIL, "</code>" + EVIL)
"""


def test_what_comes_from_a_user_is_never_markup(tmp_path: Path) -> None:
    folder = tmp_path / 'img src=x onerror=alert(2)>"'
    folder.mkdir()
    story = told(folder, SMALL + HOSTILE, "renamed", file="<b>&amp;.py")
    assert [s.layouts[0].relaid.after.name for s in story.steps if s.layouts] == [f"a{EVIL}"]
    html = page(story)
    root = parsed(html)
    assert sum(1 for _ in root.iter("script")) == 1
    assert not [n for n in root.iter() if n.tag in ("img", "b") and "amp" in words(n)]
    assert EVIL not in html
    assert words(root).count(EVIL) > 20
    assert f"a{EVIL}[1, 2] is a{EVIL}[2, 1]" in words(root)
    for path in write_pictures(story, tmp_path / "svg"):
        assert not list(ET.fromstring(path.read_text(encoding="utf-8")).iter("{*}script"))


def test_characters_that_no_page_may_contain_are_replaced(tmp_path: Path) -> None:
    story = told(tmp_path, SMALL.replace("    s.transform", '    """\x01 \x1b[31m"""\n    s.transform'), file="bell.py")
    html = page(story)
    parsed(html)
    assert "\x01" not in html and "\x1b" not in html


def test_markup_escapes_whatever_is_not_markup() -> None:
    assert element("p", "<b>", Markup("<i/>"), 3, None, class_='"x"') == '<p class="&quot;x&quot;">&lt;b&gt;<i/>3</p>'
    assert element("rect", x=1.0, y=2.25, fill=None) == '<rect x="1" y="2.2"/>'
    assert element("g") == "<g></g>"
    assert join("&", element("br")) == "&amp;<br/>"
    assert text("a\x00b\ud800") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"
    assert isinstance(text("x"), Markup)


def test_long_and_repeated_solver_texts_are_left_out_with_a_note() -> None:
    story = example("microkernel.py:register_tile")
    whole = [Questions(longest=10**9, room=10**9).of_step(s, f"step-{s.number}") for s in story.steps]
    short = [Questions(longest=10).of_step(s, f"step-{s.number}") for s in story.steps]
    assert sum("(check-sat)" in (x or "") for x in whole) > 3
    assert not any("(check-sat)" in (x or "") for x in short)
    assert "vtir verify --smt DIR writes it" in (short[0] or "")
    both = Questions()
    again = [both.of_step(story.steps[1], "one"), both.of_step(story.steps[1], "other")]
    assert "(check-sat)" in (again[0] or "") and "(check-sat)" not in (again[1] or "")
    assert "the same text as above" in (again[1] or "")


def test_a_page_without_room_for_pictures_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verified_tir.explain.page.PICTURES", 20_000)
    html = page(example("row_summation.py:padded"))
    assert "A picture is left out here to keep the page small" in html
    assert "Loop nest" in html  # small ones still fit


def test_of_very_many_steps_the_last_have_headings_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verified_tir.explain.page.WHOLE", 20_000)
    text = SMALL + (
        "\n\n@schedule(rows)\ndef many(s):\n    for k in range(6):\n"
        "        s.annotate('i', 'key', 'x' * 3000 + str(k))\n        s.unannotate('i', 'key')\n"
    )
    html = page(told(tmp_path, text, "many", file="many.py"))
    sections = [words(s) for s in parsed(html).iter("section")]
    assert len(sections) == 14
    assert re.search(r"x… \(2,\d+ more characters\)", sections[1])
    assert ["The rest of this step is left out" in s for s in sections[1:13]] == sorted(
        "The rest of this step is left out" in s for s in sections[1:13]
    )
    assert "The rest of this step is left out" in sections[12] and len(sections[11]) < 700
    assert len(html) < 80_000


def test_steps_that_a_helper_calls_name_its_line(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def lay_out(s):\n    s.split('j', [None, 2])\n")
    text = SMALL.replace("from verified_tir.script", "from helper import lay_out\nfrom verified_tir.script")
    text += "\n\n@schedule(rows)\ndef helped(s: Schedule) -> None:\n    lay_out(s)\n"
    story = told(tmp_path, text, "helped", file="helped.py")
    assert story.source.lines[story.steps[1].line - story.source.first] == "    lay_out(s)"
    assert re.search(r"line \d+: lay_out\(s\), through .*helper.py:2: s.split", words(parsed(page(story))))


def test_the_story_of_a_schedule_that_raises(tmp_path: Path) -> None:
    story = told(tmp_path, SMALL + "\n\n@schedule(rows)\ndef broken(s):\n    1 / 0\n", "broken", file="broken.py")
    assert not [p for p in story.parts() if isinstance(p, RefusalStory)]
    assert "ZeroDivisionError: division by zero" in words(parsed(page(story)))


def test_the_story_of_a_program_that_means_nothing(tmp_path: Path) -> None:
    text = SMALL.replace("A[i, j]", "A[i, j + 1]")
    story = told(tmp_path, text, file="outside.py")
    assert [type(p) for p in story.parts()] == [RefusalStory]
    said = words(parsed(page(story)))
    assert "the program itself" in said and "counterexample" in said
    assert re.search(r"the statement reads A\[\d, 5\], which is outside", said)
