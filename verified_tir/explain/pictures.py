"""The pictures of a schedule as SVG files, for papers and slides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from verified_tir.explain.answers import answer_drawings
from verified_tir.explain.drawing import Drawing, alone, beside
from verified_tir.explain.story import Story
from verified_tir.report.smt import file_name


def write_pictures(story: Story, folder: Path) -> list[Path]:
    """Write every picture into a folder, which is made if need be; gives the files.

    :raises OSError: if one cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, drawing in pictures(story):
        path = folder / f"{file_name(story.report.name)}-{name}.svg"
        path.write_text(alone(drawing), encoding="utf-8")
        written.append(path)
    return written


def pictures(story: Story) -> Iterator[tuple[str, Drawing]]:
    """The pictures with names: of each step its layouts and loops, of a refusal what it touches and both answers."""
    for s in story.steps:
        start = f"{s.number:02}-{file_name(s.report.name)}"
        for x in s.layouts:
            if x.drawing is not None:
                yield f"{start}-layout-{file_name(x.relaid.after.name)}", x.drawing
        both = s.nests if s.number else None
        if both is not None:
            yield f"{start}-loops", beside(str(s.report), *both)
    for k, r in enumerate(story.refusals, 1):
        start = f"refused-{k}-{file_name(r.report.step.partition('(')[0])}"
        for w in r.witnessed:
            yield f"{start}-memory-{file_name(w.buffer)}", beside(w.sentence, *w.drawings)
        for a in r.answers.found if r.answers is not None else ():
            yield f"{start}-answers-{file_name(a.buffer)}", beside(f"{a.buffer} before and after", *answer_drawings(a))
