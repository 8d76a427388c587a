"""An opaque call is believed to touch what the block around it declares, if nothing can be shown otherwise.  Of a block
without axes that declares no regions, as at TVM's root, it was believed to touch nothing at all; of a block that
declares only what it writes, to read nothing.  Pointers were numbered among the arguments of the call, so that one to
another parameter was the same; and what a block declares to write was believed not to be read."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.validate import Equal, validate
from verified_tir.validate.validator import Report

PARAMS = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")'
CALL = 'T.evaluate(T.call_extern("int32", "g", A.data))'
STORE = "B[0] = A[0]"


def program(*lines: str) -> PrimFunc:
    return parse_func("\n".join([f"@T.prim_func\ndef f({PARAMS}):", *["    " + line for line in lines]]))


def block(*lines: str, head: tuple[str, ...] = ("T.reads()", "T.writes()")) -> list[str]:
    return ['with T.sblock("b"):', *["    " + line for line in (*head, *lines)]]


def judged(before: list[str], after: list[str]) -> Report:
    return validate(program(*before), program(*after))


AXIS = ("v = T.axis.spatial(1, 0)", "T.reads(A[0:4])", "T.writes(A[0:4], B[0:4])")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((CALL, STORE), (STORE, CALL)),
        ((CALL, STORE), (CALL.replace("A", "B"), STORE)),
    ],
    ids=["order", "argument"],
)
def test_a_block_without_axes_and_regions_claims_nothing(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    assert not isinstance(judged(block(*before), block(*after)).verdict, Equal)
    assert isinstance(judged(block(*before), block(*before)).verdict, Equal)
    inner = [block(*block(*lines), head=AXIS) for lines in (before, after)]  # what is around it claims something
    assert not isinstance(judged(*inner).verdict, Equal)


@pytest.mark.parametrize("head", ["T.reads(A[0:4])", "T.writes(B[0:4])"])
def test_half_a_declaration_is_none(head: str) -> None:
    call = CALL.replace("A", "B")
    both = [block(call, "C[0] = A[0]", head=(head,)), block("C[0] = A[0]", call, head=(head,))]
    assert not isinstance(judged(*both).verdict, Equal)


def one_call(declared: str, *pointers: str) -> list[str]:
    call = f'T.evaluate(T.call_extern("int32", "g", {", ".join(pointers)}))'
    return block(call, head=tuple(declared.split("; ")))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("B.data",), ("A.data",)),
        (("B.data", "A.data", "A.data"), ("B.data", "A.data", "C.data")),
        (("B.data", "A.data"), ("B.data", "C.data")),
    ],
)
def test_pointers_to_other_parameters_are_others(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    declared = "T.reads(A[0:4]); T.writes(B[0:4])"
    # what has no order otherwise: a copy that is moved past a call, which is believed not to touch it
    first = [*one_call(declared, *before), "C[0] = A[0]"]
    assert not isinstance(judged(first, ["C[0] = A[0]", *one_call(declared, *after)]).verdict, Equal)
    report = judged(first, ["C[0] = A[0]", *one_call(declared, *before)])
    assert isinstance(report.verdict, Equal) and "believed" in report.findings[-1]


def test_what_a_block_writes_it_may_read() -> None:
    """An update reads what it writes, and texts of TVM do not say so."""
    update = one_call("T.reads(A[0:4]); T.writes(B[0:4])", "B.data", "A.data")
    written = [[f"B[0] = {k}", *update, "C[0] = A[0]"] for k in (0, 1)]
    assert not isinstance(judged(*written).verdict, Equal)
    assert isinstance(judged(written[0], ["B[0] = 0", "C[0] = A[0]", *update]).verdict, Equal)
