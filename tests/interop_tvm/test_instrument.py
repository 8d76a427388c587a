"""Every pass of a TVM build under the validator."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pytest
import tvm
from tvm.ir.instrument import pass_instrument
from tvm.s_tir import transform as s_tir
from tvm.tirx import transform as tirx

from tests.interop_tvm.programs import DIFFERENCE, SYMBOLIC, TWO_STAGES, function, module
from verified_tir.interop.tvm import DifferenceFound, DifferenceWarning, Limits, StepReport, ValidatingInstrument
from verified_tir.interop.tvm import instrument as instrument_module
from verified_tir.ir.script import parse_func
from verified_tir.validate import Different, validate

SIMPLIFY = "s_tir.StmtSimplify"


def built(mod: Any, instrument: Any, target: str = "llvm") -> Any:
    with tvm.transform.PassContext(instruments=[instrument]):
        return tvm.compile(mod, target=target)


def by_step(instrument: Any) -> dict[str, list[StepReport]]:
    found: dict[str, list[StepReport]] = {}
    for report in instrument.reports:
        found.setdefault(report.step, []).append(report)
    return found


# -- verdicts of passes ------------------------------------------------------------------------------------------------


def test_a_build_is_validated_pass_by_pass_and_works() -> None:
    instrument = ValidatingInstrument(on_different="raise")
    compiled = built(module(TWO_STAGES), instrument)
    a, c = (tvm.runtime.tensor(np.arange(16, dtype=np.float32)) for _ in range(2))
    compiled["f"](a, c)
    assert (c.numpy() == np.arange(16) * 2 + 1).all()
    reports = by_step(instrument)
    for name in ("s_tir.ConvertBlocksToOpaque", "s_tir.LowerOpaqueBlock"):
        assert [r.status for r in reports[name]] == ["equal"]
    assert [r.status for r in reports["tirx.MakePackedAPI"]] == ["not validated"]
    assert [r.status for r in reports["_pipeline"]] == ["composed"]
    assert {r.status for r in instrument.reports} <= {"equal", "unchanged", "composed", "not validated"}


def test_a_wrong_pass_is_warned_of_and_the_build_goes_on() -> None:
    instrument = ValidatingInstrument()
    with pytest.warns(DifferenceWarning, match=rf"{SIMPLIFY}, in f: different: C\[\d\] was nan and is 0.0"):
        compiled = built(module(DIFFERENCE), instrument)
    (report,) = instrument.different
    witness = report.witness
    assert witness is not None
    a, c = (tvm.runtime.tensor(np.array(witness.arguments[name])) for name in "AC")
    compiled["f"](a, c)
    assert c.numpy()[int(witness.element[2:-1])] == 0.0  # the machine code does what the witness says


def test_a_wrong_pass_can_end_the_build() -> None:
    instrument = ValidatingInstrument(on_different="raise")
    with pytest.raises(DifferenceFound, match=r"was nan and is 0\.0") as caught:
        built(module(DIFFERENCE), instrument)
    assert caught.value.report.step == SIMPLIFY
    before, after = parse_func(caught.value.before), parse_func(caught.value.after)
    assert isinstance(validate(before, after).verdict, Different)
    assert len(instrument.different) == 1
    built(module(TWO_STAGES), instrument)  # the same instrument, after an error
    assert len(instrument.different) == 1
    assert [r.status for r in by_step(instrument)["_pipeline"]] == ["composed"]


def test_passes_of_a_sequence_by_hand() -> None:
    instrument = ValidatingInstrument(on_different="collect")
    passes = tvm.transform.Sequential([s_tir.LowerInitBlock(), s_tir.ConvertBlocksToOpaque(), s_tir.LowerOpaqueBlock()])
    with tvm.transform.PassContext(instruments=[instrument]):
        passes(module(SYMBOLIC))
    assert [(r.step, r.depth, r.status) for r in instrument.reports] == [
        ("s_tir.LowerInitBlock", 1, "equal at sizes"),
        ("s_tir.ConvertBlocksToOpaque", 1, "equal at sizes"),
        ("s_tir.LowerOpaqueBlock", 1, "equal"),
        ("sequential", 0, "composed"),
    ]
    sizes = [dict(r.sizes) for r in instrument.reports[0].reports]
    assert {"n": 0, "m": 0} in sizes and {"n": 17, "m": 17} in sizes


def test_sizes_can_be_given() -> None:
    instrument = ValidatingInstrument(limits=Limits(sizes={"n": 3, "m": 5}))
    with tvm.transform.PassContext(instruments=[instrument]):
        s_tir.LowerInitBlock()(module(SYMBOLIC))
    assert [dict(r.sizes) for r in instrument.reports[0].reports] == [{"n": 3, "m": 5}]


def renaming(change: bool) -> Any:
    """A pass around others: it runs one, and changes the function itself or not."""

    @tvm.transform.module_pass(opt_level=0, name="around")
    def run(mod: Any, _: Any) -> Any:
        mod = s_tir.ConvertBlocksToOpaque()(mod)
        return module(DIFFERENCE.replace("A[i] - A[i]", "A[i] * T.float32(3)")) if change else mod

    return run


def test_a_pass_around_others_is_compared_itself_if_they_do_not_explain_it() -> None:
    mod = module(DIFFERENCE.replace("A[i] - A[i]", "A[i] * T.float32(2)"))
    for change, status in ((False, "composed"), (True, "different")):
        instrument = ValidatingInstrument(on_different="collect")
        with tvm.transform.PassContext(instruments=[instrument]):
            renaming(change)(mod)
        assert [(r.step, r.status) for r in instrument.reports][-1] == ("around", status)


# -- what is not compared is listed ------------------------------------------------------------------------------------


def test_passes_can_be_left_out_with_a_reason() -> None:
    instrument = ValidatingInstrument(on_different="raise", skip={SIMPLIFY: "known: it has no NaN"})
    built(module(DIFFERENCE), instrument)
    texts = {r.text for r in by_step(instrument)[SIMPLIFY]}
    assert "not validated: known: it has no NaN" in texts
    assert instrument.different == ()


def test_only_some_passes() -> None:
    instrument = ValidatingInstrument(on_different="raise", only=lambda name: name == "tirx.FlattenBuffer")
    built(module(DIFFERENCE), instrument)
    assert all(r.status == "unchanged" or "not asked for" in r.text for r in by_step(instrument)[SIMPLIFY])
    assert by_step(instrument)["tirx.FlattenBuffer"][0].status in ("equal", "unchanged")


def test_everything_behind_the_packed_interface_is_listed_as_not_validated() -> None:
    instrument = ValidatingInstrument()
    built(module(TWO_STAGES.replace("A[vi] * T.float32(2)", "T.exp(A[vi])")), instrument)
    steps = [r for r in instrument.reports if r.status != "unchanged"]
    packed = next(k for k, r in enumerate(steps) if r.step == "tirx.MakePackedAPI")
    assert {r.status for r in steps[packed:]} <= {"not validated", "composed"}
    assert any("packed already" in r.text for r in steps[packed:])


def test_new_and_removed_functions_are_listed() -> None:
    instrument = ValidatingInstrument()
    keep_one = tirx.Filter(lambda f: "C" in f.params[1].name)
    other = function(TWO_STAGES.replace("C:", "D:").replace("C[", "D[").replace('"C"', '"D"'))
    both = tvm.IRModule({"f": function(TWO_STAGES), "g": other})
    with tvm.transform.PassContext(instruments=[instrument]):
        keep_one(both)
    assert [(r.function, r.status, r.text) for r in instrument.reports] == [
        ("f", "unchanged", "unchanged"),
        ("g", "not validated", f"not validated: {instrument_module.NOT_VALIDATED['tirx.Filter']}"),
    ]


def test_functions_of_relax_are_listed_and_those_of_tir_inside_are_validated() -> None:
    from tvm import relax

    block = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([4], "float32"))
    with block.function("main", [x]):
        block.emit_func_output(block.emit(relax.op.add(x, x)))
    instrument = ValidatingInstrument(on_different="raise")
    built(block.get(), instrument)
    found = {(r.function, r.status, r.text) for r in instrument.reports if r.status != "unchanged"}
    assert ("main", "not validated", "not validated: it is no function of TIR") in found
    assert ("add", "not validated", "not validated: the function is new") in found
    assert ("add", "equal", "equal") in found
    assert {status for _, status, _ in found} == {"not validated", "composed", "equal"}


def test_a_reduction_over_threads_has_no_order() -> None:
    sch = tvm.s_tir.Schedule(
        function(SYMBOLIC.replace("(n, m)", "(8, 32)").replace("(n,)", "(8,)").replace("n, m", "8, 32"))
    )
    i, j = sch.get_loops("B")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    instrument = ValidatingInstrument()
    with tvm.transform.PassContext(instruments=[instrument]):
        s_tir.LowerCrossThreadReduction()(sch.mod)
    (report,) = instrument.reports
    assert report.status == "equal over the reals"
    assert "cross_thread_B combines floats of several threads" in report.text


# -- semantics that are not TVM's --------------------------------------------------------------------------------------

SHARED = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    S = T.sblock_alloc_buffer((8,), scope="shared")
    for i in T.thread_binding(8, thread="threadIdx.x"):
        with T.sblock("S"):
            vi = T.axis.spatial(8, i)
            S[vi] = A[vi]
    for i in T.thread_binding(8, thread="threadIdx.x"):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = S[7 - vi]
"""
FUSED = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    S = T.sblock_alloc_buffer((8,), scope="shared")
    for i in T.thread_binding(8, thread="threadIdx.x"):
        with T.sblock("S"):
            vi = T.axis.spatial(8, i)
            S[vi] = A[vi]
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = S[7 - vi]
"""


def replacing(text: str) -> Any:
    return tvm.transform.module_pass(lambda mod, _: module(text), opt_level=0, name="replace")


def test_threads_that_share_memory_are_no_proof_of_a_difference() -> None:
    instrument = ValidatingInstrument(on_different="raise")
    with tvm.transform.PassContext(instruments=[instrument]):
        replacing(FUSED.replace("S[7 - vi]", "S[6 - vi // 2]"))(module(SHARED))
    (report,) = instrument.reports
    assert report.status == "unknown"
    assert "threads share memory" in report.text
    with tvm.transform.PassContext(instruments=[instrument]), pytest.raises(DifferenceFound):
        replacing(FUSED.replace('"shared"', '"global"'))(module(SHARED.replace('"shared"', '"global"')))


BFLOAT = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "bfloat16"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        C[i] = T.Cast("float32", A[i])
"""


def test_the_bits_of_nan_are_no_proof_of_a_difference() -> None:
    instrument = ValidatingInstrument(on_different="raise")
    with tvm.transform.PassContext(instruments=[instrument]):
        tirx.BF16ComputeLegalize()(tvm.IRModule({"f": function(BFLOAT).with_attr("target", tvm.target.Target("llvm"))}))
    assert all("a NaN is re-read at another type" in r.text for r in instrument.reports)


PASSED_OVER = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "bfloat16"), C: T.Buffer((8,), "bfloat16")):
    for i in range(8):
        C[i] = {}
"""


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("value", "status"),
    [("T.max(A[i], B[i])", "unsupported"), ("T.if_then_else(A[i] != B[i], A[i], B[i])", "unsupported"),
     ("A[i] * B[i] + B[i]", "different")],
)  # fmt: skip
def test_nor_is_what_passes_a_nan_over_but_sums_of_products_are_rounded_once(value: str, status: str) -> None:
    instrument = ValidatingInstrument(on_different="collect")
    program = function(PASSED_OVER.format(value)).with_attr("target", tvm.target.Target("llvm"))
    with tvm.transform.PassContext(instruments=[instrument]):
        tirx.BF16ComputeLegalize()(tvm.IRModule({"f": program}))
    assert [r.status for r in instrument.reports] == [status]


# -- races -------------------------------------------------------------------------------------------------------------

MARKED_LOOP = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    for i in {kind}(8):
        C[{index}] = A[i]
"""


def test_a_race_is_said() -> None:
    for index, ending in (("i // 2", "; but after: race at C between iterations of i"), ("7 - i", "")):
        before, after = (MARKED_LOOP.format(kind=k, index=index) for k in ("range", "T.parallel"))
        instrument = ValidatingInstrument(on_different="collect")
        with tvm.transform.PassContext(instruments=[instrument]):
            replacing(after)(module(before))
        (report,) = instrument.reports
        assert (report.status, report.text.partition(";")[0]) == ("equal", report.text.removesuffix(ending))
        assert report.text.endswith(ending)
        assert report.wrong == bool(ending)
        assert instrument.different == ((report,) if ending else ())


@pytest.mark.nightly
def test_a_race_is_an_error_or_a_warning_as_a_difference_is() -> None:
    racing = MARKED_LOOP.format(kind="T.parallel", index="i // 2")
    serial, other = racing.replace("T.parallel", "range"), racing.replace("A[i]", "A[i] + 0")
    fine = MARKED_LOOP.format(kind="T.parallel", index="7 - i")
    for before, after, wrong in (
        (serial, racing, True), (racing, other, False), (racing, serial, False), (serial, serial, False),
        (fine.replace("T.parallel", "range"), fine, False), (other.replace("T.parallel", "range"), racing, True),
    ):  # fmt: skip
        with tvm.transform.PassContext(instruments=[ValidatingInstrument(on_different="raise")]):
            if wrong:
                with pytest.raises(DifferenceFound, match="race at C between iterations of i"):
                    replacing(after)(module(before))
            else:
                replacing(after)(module(before))
    with pytest.warns(DifferenceWarning, match="race at C between iterations of i"):  # noqa: SIM117
        with tvm.transform.PassContext(instruments=[ValidatingInstrument()]):
            replacing(racing)(module(serial))


def test_a_difference_behind_a_race_says_so() -> None:
    loop = MARKED_LOOP.format(kind="T.vectorized", index="(i + 1) % 8").replace("A[i]", "C[i]")
    instrument = ValidatingInstrument(on_different="collect")
    with tvm.transform.PassContext(instruments=[instrument]):
        tirx.VectorizeLoop()(module(loop))
    (report,) = instrument.different
    assert report.text.endswith("; but before: lane conflict at C between iterations of i")


# -- the build is left alone -------------------------------------------------------------------------------------------


def test_a_fault_of_the_validator_is_reported_and_the_build_works(monkeypatch: pytest.MonkeyPatch) -> None:
    from verified_tir.interop.tvm import judge

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a fault")

    monkeypatch.setattr(judge, "judge_pair", fail)
    instrument = ValidatingInstrument(on_different="raise")
    built(module(DIFFERENCE), instrument)
    assert "unknown: the validator failed, by a fault of its own: RuntimeError: a fault" in {
        r.text for r in instrument.reports
    }


def test_a_comparison_takes_no_longer_than_it_may() -> None:
    instrument = ValidatingInstrument(limits=Limits(seconds=0.001))
    with tvm.transform.PassContext(instruments=[instrument]):
        s_tir.LowerInitBlock()(module(SYMBOLIC))
    assert [r.text for r in instrument.reports] == ["unknown: it takes more than 0.001 seconds"]


def test_other_instruments_still_decide() -> None:
    @pass_instrument
    class Refuse:
        def should_run(self, mod: Any, info: Any) -> bool:
            return str(info.name) != SIMPLIFY

    instrument = ValidatingInstrument(on_different="raise")
    with tvm.transform.PassContext(instruments=[Refuse(), instrument]):
        s_tir.StmtSimplify()(module(DIFFERENCE))
    assert instrument.reports == []


def test_a_pass_that_fails_does_not_confuse_the_next_one() -> None:
    @tvm.transform.module_pass(opt_level=0, name="failing")
    def failing(mod: Any, _: Any) -> Any:
        raise KeyError("broken")

    instrument = ValidatingInstrument(on_different="raise")
    with tvm.transform.PassContext(instruments=[instrument]):
        with pytest.raises(KeyError, match="broken"):
            failing(module(TWO_STAGES))
        s_tir.ConvertBlocksToOpaque()(module(TWO_STAGES))
    assert [(r.step, r.status) for r in instrument.reports] == [("s_tir.ConvertBlocksToOpaque", "equal")]


# -- what is shown -----------------------------------------------------------------------------------------------------


def test_the_table_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    for shown in (True, False, None):
        instrument = ValidatingInstrument(on_different="collect", show_table=shown)
        with tvm.transform.PassContext(instruments=[instrument]):
            s_tir.StmtSimplify()(module(DIFFERENCE))
        printed = capsys.readouterr().err
        assert ("1 different" in printed) == (shown is True), (shown, sys.stderr.isatty())


def test_the_table_and_the_json() -> None:
    instrument = ValidatingInstrument(on_different="collect")
    built(module(DIFFERENCE), instrument)
    lines = instrument.table(width=140).splitlines()
    assert lines[0].split() == ["step", "function", "verdict", "time"]
    assert sum("different: C[" in line for line in lines) == 1
    assert not any(" unchanged " in line for line in lines[:-1])
    assert len(instrument.table(every=True, width=200).splitlines()) == len(instrument.reports) + 2
    data = json.loads(instrument.to_json())
    assert data["schema"] == 2
    (step,) = [s for s in data["steps"] if s["status"] == "different"]
    assert step["witness"]["before"] == "nan" and step["witness"]["after"] == 0.0
    assert isinstance(validate(parse_func(step["before"]), parse_func(step["after"])).verdict, Different)


def test_another_word_is_refused() -> None:
    with pytest.raises(ValueError, match="one of raise, warn, collect, not 'stop'"):
        ValidatingInstrument(on_different="stop")
