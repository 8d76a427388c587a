"""A TVM schedule whose steps are validated."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tvm

from tests.interop_tvm.programs import RECURRENCE, SYMBOLIC, TWO_STAGES, function
from verified_tir.interop.tvm import DifferenceFound, DifferenceWarning, Limits, ValidatedSchedule
from verified_tir.ir.script import parse_func
from verified_tir.semantics.interpreter import refines, run
from verified_tir.validate import Different, Equal, Unknown, validate


def statuses(sch: ValidatedSchedule) -> list[str]:
    return [r.status for r in sch.reports]


# -- verdicts of steps -------------------------------------------------------------------------------------------------


def test_a_wrong_step_is_raised_with_everything_to_reproduce_it() -> None:
    sch = ValidatedSchedule(function(RECURRENCE))
    _, k = sch.get_loops("C")
    outer, inner = sch.split(k, [2, 4])
    with pytest.raises(
        DifferenceFound, match=r"reorder\(loop k_1, loop k_0\), in main: different: C\[0\] was"
    ) as caught:
        sch.reorder(inner, outer)
    found = caught.value
    assert "\n  A = [[" in str(found) and found.before in str(found) and found.after in str(found)
    before, after = parse_func(found.before), parse_func(found.after)
    assert isinstance(validate(before, after).verdict, Different)
    witness = found.report.witness
    assert witness is not None
    assert refines(run(before, witness.arguments), run(after, witness.arguments_after))
    assert sch.different == (found.report,)


def test_the_step_has_been_made_when_it_is_raised() -> None:
    sch = ValidatedSchedule(function(RECURRENCE))
    _, k = sch.get_loops("C")
    outer, inner = sch.split(k, [2, 4])
    with pytest.raises(DifferenceFound):
        sch.reorder(inner, outer)
    assert [sch.get(loop).loop_var.name for loop in sch.get_loops("C")] == ["i", "k_1", "k_0"]


def test_the_same_reordering_of_independent_loops_is_equal() -> None:
    sch = ValidatedSchedule(function(RECURRENCE))
    i, k = sch.get_loops("C")
    outer, inner = sch.split(k, [2, 4])
    sch.reorder(outer, inner, i)
    assert [(r.step, r.status) for r in sch.reports] == [
        ("split(loop k, [2, 4])", "equal"),
        ("reorder(loop k_0, loop k_1, loop i)", "equal"),
    ]


def test_differences_can_be_warned_of_or_collected() -> None:
    for choice in ("warn", "collect"):
        sch = ValidatedSchedule(function(RECURRENCE), on_different=choice)
        _, k = sch.get_loops("C")
        outer, inner = sch.split(k, [2, 4])
        if choice == "warn":
            with pytest.warns(DifferenceWarning, match="reorder") as caught:
                sch.reorder(inner, outer)
            assert caught[0].filename == __file__
        else:
            sch.reorder(inner, outer)
        assert statuses(sch) == ["equal", "different"]


def test_another_word_is_refused() -> None:
    with pytest.raises(ValueError, match="one of raise, warn, collect, not 'ignore'"):
        ValidatedSchedule(function(RECURRENCE), on_different="ignore")  # type: ignore[arg-type]


def test_a_sum_in_another_order_is_equal_over_the_reals_at_several_sizes() -> None:
    sch = ValidatedSchedule(function(SYMBOLIC))
    _, j = sch.get_loops("B")
    outer, inner = sch.split(j, [None, 8])
    sch.reorder(inner, outer)
    assert statuses(sch) == ["equal at sizes", "equal over the reals"]
    assert [dict(r.sizes)["m"] for r in sch.reports[0].reports][:7] == [0, 1, 2, 3, 7, 8, 17]


def test_sizes_can_be_given() -> None:
    sch = ValidatedSchedule(function(SYMBOLIC), limits=Limits(sizes={"n": 3, "m": 5}))
    sch.split(sch.get_loops("B")[1], [None, 8])
    assert statuses(sch) == ["equal"]
    assert [dict(r.sizes) for r in sch.reports[0].reports] == [{"n": 3, "m": 5}]


def test_a_program_beyond_the_limits_is_not_called_equal() -> None:
    sch = ValidatedSchedule(function(TWO_STAGES), limits=Limits(operations=3))
    sch.split(sch.get_loops("C")[0], [None, 8])
    assert statuses(sch)[0] in ("unknown", "equal in part")


# -- layouts -----------------------------------------------------------------------------------------------------------


def test_a_parameter_that_moved_is_found_where_its_index_map_says() -> None:
    sch = ValidatedSchedule(function(TWO_STAGES))
    sch.transform_layout("C", ("write", 0), lambda i: [i // 4, i % 4])
    sch.transform_layout("C", ("write", 0), lambda i, j: [j, i])
    sch.transform_layout("B", ("read", 0), lambda i: [i % 8, i // 8])
    assert statuses(sch) == ["equal"] * 3
    assert sch.reports[0].step == "transform_layout('C', ('write', 0), lambda i: (i // 4, i % 4))"
    (whole,) = sch.validate()
    assert (whole.step, whole.status) == ("the whole schedule", "equal")


def test_without_the_map_the_same_pair_is_not_compared() -> None:
    sch = ValidatedSchedule(function(RECURRENCE))
    sch.transform_layout("C", "A", lambda i, k: [k, i])
    (report,) = sch.reports
    before, after = parse_func(report.before), parse_func(report.after)
    verdict = validate(before, after).verdict
    assert isinstance(verdict, Unknown) and "no index map is given" in verdict.reason
    assert isinstance(validate(before, after, maps=report.maps).verdict, Equal)


def test_padding_is_assumed_of_inputs_and_owed_of_results() -> None:
    sch = ValidatedSchedule(function(TWO_STAGES))
    sch.transform_layout("C", ("write", 0), lambda i: [i // 5, i % 5], pad_value=1.5)
    sch.transform_layout("B", ("read", 0), lambda i: [i // 7, i % 7], pad_value=0.0)
    assert statuses(sch) == ["equal"] * 2
    assert [m.padding for r in sch.reports for m in r.maps.values()] == [1.5, 0.0]
    assert [r.status for r in sch.validate()] == ["equal"]


def test_two_paddings_of_one_parameter_cannot_be_told_apart_later() -> None:
    sch = ValidatedSchedule(function(TWO_STAGES))
    sch.transform_layout("C", ("write", 0), lambda i: [i // 5, i % 5], pad_value=1.5)
    sch.transform_layout("C", ("write", 0), lambda i, j: [i, j // 2, j % 2], pad_value=2.5)
    assert statuses(sch) == ["equal"] * 2
    (whole,) = sch.validate()
    assert whole.status == "not validated"
    assert "padded with 1.5 and then with 2.5" in whole.text


def test_padding_that_varies_is_not_validated() -> None:
    sch = ValidatedSchedule(function(TWO_STAGES))
    sch.transform_layout(
        "C", ("write", 0), lambda i: [i // 5, i % 5], pad_value=lambda i, j: tvm.tirx.Cast("float32", j)
    )
    (report,) = sch.reports
    assert report.status == "not validated"
    assert "the padding is not one number" in report.text


def test_the_layout_of_a_local_buffer_needs_no_map() -> None:
    sch = ValidatedSchedule(function(TWO_STAGES))
    sch.transform_layout("B", ("write", 0), lambda i: [i // 4, i % 4])
    (report,) = sch.reports
    assert (report.status, dict(report.maps)) == ("equal", {})


# -- a schedule like any other -----------------------------------------------------------------------------------------


def test_everything_else_is_the_schedules_own() -> None:
    sch = ValidatedSchedule(function(TWO_STAGES), seed=7)
    block = sch.get_sblock("C")
    assert sch.get(block).name_hint == "C"
    assert sch.mod.same_as(sch.schedule.mod)
    assert len(sch.trace.insts) == 1
    assert "cache_read" in dir(sch) and "reports" in dir(sch)
    assert sch.reports == []
    with pytest.raises(AttributeError, match="nonsense"):
        _ = sch.nonsense


def test_what_others_do_to_the_schedule_is_seen_as_a_whole() -> None:
    sch = ValidatedSchedule(function(TWO_STAGES))
    sch.schedule.split(sch.schedule.get_loops("C")[0], [2, 8])
    assert sch.reports == []
    sch.split(sch.get_loops("B")[0], [2, 8])
    assert [(r.step, r.status) for r in (*sch.reports, *sch.validate())] == [
        ("split(loop i, [2, 8])", "equal"),
        ("the whole schedule", "equal"),
    ]
    with pytest.raises(AttributeError):
        _ = ValidatedSchedule.__new__(ValidatedSchedule).schedule


def test_what_tvm_refuses_is_refused_and_not_reported() -> None:
    sch = ValidatedSchedule(function(RECURRENCE))
    with pytest.raises(tvm.s_tir.schedule.ScheduleError):
        sch.transform_layout("C", ("write", 0), lambda i: [(i + 1) % 8])
    assert sch.reports == []


def test_a_schedule_can_be_taken_over_and_copied() -> None:
    plain = tvm.s_tir.Schedule(function(TWO_STAGES))
    plain.split(plain.get_loops("C")[0], [2, 8])
    sch = ValidatedSchedule(plain, on_different="collect")
    sch.transform_layout("C", ("write", 0), lambda i: [i // 4, i % 4])
    other = sch.copy()
    assert isinstance(other, ValidatedSchedule)
    other.transform_layout("C", ("write", 0), lambda i, j: [j, i])
    assert (len(sch.reports), len(other.reports)) == (1, 2)
    assert [r.status for s in (sch, other) for r in s.validate()] == ["equal", "equal"]
    with pytest.raises(TypeError, match="has its options already: seed"):
        ValidatedSchedule(plain, seed=1)


def test_a_schedule_without_a_trace_cannot_say_how_a_parameter_moved() -> None:
    sch = ValidatedSchedule(function(TWO_STAGES), enable_check=True)
    untraced = tvm.s_tir.Schedule._create_non_traced(sch.mod)
    other = ValidatedSchedule(untraced)
    other.transform_layout("C", ("write", 0), lambda i: [i // 4, i % 4])
    other.split(other.get_loops("B")[0], [2, 8])
    assert [r.status for r in other.reports] == ["not validated", "equal"]
    assert "has no trace" in other.reports[0].text


def test_reports_as_a_table_and_as_json() -> None:
    sch = ValidatedSchedule(function(RECURRENCE), on_different="collect")
    _, k = sch.get_loops("C")
    outer, inner = sch.split(k, [2, 4])
    sch.reorder(inner, outer)
    lines = sch.table(width=120).splitlines()
    assert lines[0].split() == ["step", "function", "verdict", "time"]
    assert lines[1].startswith("split(loop k, [2, 4])") and " equal " in lines[1]
    assert lines[-1] == "1 equal, 1 different"
    steps = json.loads(sch.to_json())["steps"]
    assert [s["status"] for s in steps] == ["equal", "different"]
    witness = steps[1]["witness"]
    arguments = {name: np.array(value, np.int32) for name, value in witness["arguments"].items()}
    before, after = (run(parse_func(steps[1][which]), arguments) for which in ("before", "after"))
    assert refines(before, after)
