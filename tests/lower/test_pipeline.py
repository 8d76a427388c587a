"""Pipelines are data: they compose, print themselves, and are read back."""

from __future__ import annotations

import pytest

from tests.lower.lower_support import lowered
from verified_tir import Schedule, ScheduleError, script
from verified_tir.lower.expression import PipelineError, parse_pipeline
from verified_tir.lower.loop_partition import LoopPartition
from verified_tir.lower.passes import PassRecord, Pipeline
from verified_tir.lower.pipelines import PASSES, PIPELINES
from verified_tir.lower.remove_assume import RemoveAssume
from verified_tir.lower.simplify import Simplify
from verified_tir.lower.unroll_loop import UnrollLoop

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), n: T.int32):
    T.assume(n >= 3)
    for i in T.unroll(4):
        A[i] = 1.0
"""


def test_a_pipeline_prints_itself() -> None:
    both = RemoveAssume() >> UnrollLoop(max_extent=16)
    assert repr(both) == "Pipeline(RemoveAssume(), UnrollLoop(max_extent=16))"
    assert both == Pipeline(RemoveAssume(), UnrollLoop(max_extent=16))
    assert hash(both) == hash(Pipeline(RemoveAssume(), UnrollLoop(max_extent=16)))
    assert both != RemoveAssume() >> UnrollLoop()
    assert repr((both >> Simplify()) >> Pipeline(Simplify())) == repr(Pipeline(*both, Simplify(), Simplify()))
    assert repr(UnrollLoop(max_extent=0)) == "UnrollLoop()"
    assert len(both) == 2 and [p.name for p in both] == ["RemoveAssume", "UnrollLoop"]


def test_what_is_no_pass() -> None:
    with pytest.raises(TypeError, match=r"write Simplify\(\)"):
        Pipeline(Simplify)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="made of passes, not of 3"):
        Simplify() >> 3  # type: ignore[operator]


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_reads_back(name: str) -> None:
    made = PASSES[name]()
    assert parse_pipeline(repr(made)) == Pipeline(made) == parse_pipeline(name)
    assert (PASSES[name].__doc__ or "").strip()


@pytest.mark.parametrize("name", PIPELINES)
def test_every_pipeline_reads_back(name: str) -> None:
    assert parse_pipeline(repr(PIPELINES[name])) == PIPELINES[name] == parse_pipeline(name)


def test_texts() -> None:
    wanted = RemoveAssume() >> LoopPartition(only_hinted=True, max_cuts=3)
    for text in (
        "RemoveAssume() >> LoopPartition(only_hinted=True, max_cuts=3)",
        "RemoveAssume, LoopPartition(max_cuts=3, only_hinted=True)",
        "[RemoveAssume, LoopPartition(max_cuts=3, only_hinted=True)]",
        "none >> Pipeline(RemoveAssume) >> LoopPartition(only_hinted=True, max_cuts=3)",
    ):
        assert parse_pipeline(text) == wanted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Nothing()", "there is no pass Nothing; the passes are ApplyLayoutTransforms"),
        ("UnrollLoop(4)", "options of UnrollLoop are given by name; it takes max_extent"),
        ("BoolStorage(1)", "options of BoolStorage are given by name"),
        ("UnrollLoop(extent=4)", "UnrollLoop has no option extent; it has max_extent"),
        ("BoolStorage(x=1)", "BoolStorage has no option x; it has none"),
        ("UnrollLoop(max_extent=True)", "max_extent of UnrollLoop is of type int, not True"),
        ("UnrollLoop(max_extent=n)", "max_extent of UnrollLoop is not a constant: n"),
        ("UnrollLoop(**x)", "UnrollLoop has no option **"),
        ("Simplify() + Simplify()", "Simplify() + Simplify() is not a pass; join passes by >>"),
        ("__import__('os').system('true')", "is not a pass"),
        ("Simplify(", "is not a pipeline"),
        ("", "is not a pipeline"),
    ],
)
def test_texts_that_are_no_pipelines(text: str, words: str) -> None:
    with pytest.raises(PipelineError) as found:
        parse_pipeline(text)
    assert words in str(found.value)


def test_run_reports_each_pass_and_leaves_the_schedule() -> None:
    s = Schedule(PROGRAM)
    before = s.theorem
    theorem, records = lowered(s, RemoveAssume() >> UnrollLoop())
    assert s.theorem is before
    assert [r.step for r in records] == [RemoveAssume(), UnrollLoop()]
    assert records[0].before is before.after and records[-1].after is theorem.after
    assert records[0].after is records[1].before
    assert sum(r.rules for r in records) == len(theorem.derivation)
    assert theorem.before is before.before
    again: list[PassRecord] = []
    assert Pipeline().run(theorem, after=again.append) is theorem and not again
    assert script(UnrollLoop().run(before).after).count("= T.float32(1.0)") == 4


def test_a_refused_pass_changes_nothing() -> None:
    text = PROGRAM.replace("T.unroll(4)", "T.unroll(n)").replace("n >= 3", "n >= 3 and n <= 4")
    s = Schedule(text)
    seen: list[PassRecord] = []
    with pytest.raises(ScheduleError, match=r"^UnrollLoop\(max_extent=2\): the loop over i is to be unrolled") as found:
        (Simplify() >> UnrollLoop(max_extent=2)).run(s, after=seen.append)
    assert [r.step for r in seen] == [Simplify()]
    assert "for i in T.unroll(n)" in str(found.value) and "here" in str(found.value)
