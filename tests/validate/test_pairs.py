"""Recorded pairs: index maps in arguments, sizes of symbols, and judgements about several sizes."""

import json
from pathlib import Path

import numpy as np
import pytest

from verified_tir import parse_func
from verified_tir.validate.batch import judge_file, judge_record
from verified_tir.validate.index_maps import index_maps
from verified_tir.validate.memory import Refused
from verified_tir.validate.pairs import Budget, judge
from verified_tir.validate.recorded import BadRecord, Record, correspondences, functions, read_records
from verified_tir.validate.sizes import choices, divisors, symbols

BUDGET = Budget(100_000)


def index(text: str, *indices: int, sizes: dict[str, int] | None = None) -> list[int]:
    ((found, _, _),) = index_maps(text, sizes or {})
    return [int(np.asarray(k)) for k in found(*[np.array(i) for i in indices])]


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("block:B, T.index_map(lambda i, j: (j, i)), 2.0", (3, 5), [5, 3]),
        ("T.index_map(lambda i: (i // T.int64(4), i % T.int64(4)))", (7,), [1, 3]),
        ("lambda *indices, k: [*indices, k // 4, k % 4], block='c'", (1, 2, 7), [1, 2, 1, 3]),
        ("index_map=lambda:index_map=lambda *indices, k: [*indices, k // 4, k % 4]", (1, 2, 7), [1, 2, 1, 3]),
        ("lambda i, j: (i * n + j,)", (2, 3), [13]),
        ("lambda i, j: [i, T.IndexMap.AXIS_SEPARATOR, j]", (2, 3), [2, 3]),
        ("lambda i: T.floormod(-i, 5)", (3,), [2]),
        ("lambda i, j: (T.min(i, j), T.max(i, j))", (3, 2), [2, 3]),
    ],
)
def test_index_maps_in_a_text(text, before, after):
    assert index(text, *before, sizes={"n": 5}) == after


@pytest.mark.parametrize("body", ["f(i)", "i / 2", "m + i", "__import__('os')", "i // 0", "i if i else 0", "True"])
def test_what_is_no_arithmetic_is_refused(body):
    with pytest.raises(Refused):
        index(f"lambda i: {body}", 3)


HEAD = "@T.prim_func(s_tir=True)\ndef f({params}):\n"


def copy(shape: str, index: str, extents: str = "6", guard: str = "") -> str:
    lines = f"""\
    for i in range({extents}):
        with T.sblock("copy"):
            v = T.axis.spatial({extents}, i)
            T.reads(A[v])
            T.writes(B[{index}])
            B[{index}] = {guard or "A[v]"}
"""
    return HEAD.format(params=f'A: T.Buffer((6,), "float32"), B: T.Buffer({shape}, "float32")') + lines


PLAIN = copy("(6,)", "v")
TILED = copy("(2, 4)", "v // 4, v % 4")
FILLED = copy("(2, 4)", "v // 4, v % 4", "8", "T.if_then_else(v < 6, A[v], T.float32(2))")
MAP = "T.index_map(lambda i: (i // 4, i % 4))"


def record(before: str, after: str, args: str = "", kind: str = "transform_layout") -> Record:
    return Record(f"p {kind}", kind, args, "plain", "small", before, after)


@pytest.mark.parametrize(
    ("args", "padding"),
    [
        (f"'copy', ['write', 0], {MAP}", None),
        (f"'copy', ('write', 0), {MAP}, 2.0", 2.0),
        (f"block='copy', buffer='B', index_map={MAP}, pad_value=-1", -1),
        (f"block:copy, B, {MAP}, pad_value=T.float32(0.5)", 0.5),
        (f"index_map={MAP}, pad_value=float('inf'), block='copy', buffer='B'", float("inf")),
        (f"block:copy, B, {MAP}, assume_injective_transform=True", None),
        (f"block:elsewhere, {MAP}", None),  # the parameter whose rank changed
    ],
)
def test_how_a_parameter_moved(args, padding):
    one = record(PLAIN, TILED, args)
    ((_, before, after),) = functions(one)
    found = correspondences(one, before, after, {})
    assert list(found) == ["B"] and found["B"].padding == padding
    assert [k.tolist() for k in found["B"].index_map(np.array([1, 5]))] == [[0, 1], [1, 1]]


def test_what_moves_no_parameter():
    for args, kind in ((f"'copy', ['read', 0], {MAP}", "transform_layout"), (f"B, {MAP}", "transform_block_layout")):
        one = record(PLAIN, TILED, args, kind)
        ((_, before, after),) = functions(one)
        assert "B" not in correspondences(one, before, after, {})


def test_a_layout_is_followed_and_a_wrong_one_is_not():
    args = f"'copy', ['write', 0], {MAP}"
    assert judge_record(record(PLAIN, FILLED, args + ", 2.0"), {}, BUDGET).word == "equal"
    assert judge_record(record(PLAIN, FILLED, args + ", 3.0"), {}, BUDGET).word == "different"
    assert judge_record(record(PLAIN, TILED, args), {}, BUDGET).word == "equal"
    assert judge_record(record(PLAIN, TILED, args.replace("i % 4", "i % 2")), {}, BUDGET).word == "unknown"
    nothing = judge_record(record(PLAIN, TILED, "", "split"), {}, BUDGET)
    assert nothing.word == "unknown" and "no index map" in nothing.reason
    odd = judge_record(record(PLAIN, TILED, args + ", pad_value=lambda i, j: i"), {}, BUDGET)
    assert odd.word == "unknown" and "no number" in odd.reason


def symbolic(body: str, shape: str = '("n",)') -> str:
    head = HEAD.format(params=f'A: T.Buffer({shape}, "int32"), n: T.int32')
    return head + "\n".join("    " + line for line in body.splitlines()) + "\n"


def judged(before: str, after: str, **given: int):
    return judge("f", parse_func(symbolic(before)), parse_func(symbolic(after)), given, BUDGET)


FILL = "for i in range(n):\n    A[i] = i"
BY_FOUR = "for i, j in T.grid((n + 3) // 4, 4):\n    if i * 4 + j < n:\n        A[i * 4 + j] = i * 4 + j"


def test_sizes_are_said():
    found = judged(FILL, BY_FOUR)
    assert found.word == "equal at sizes"
    assert found.text == "equal at sizes 0, 1, 2, 3, 7, 8, 17, 4, 5, which says nothing about others"
    assert judged(FILL, BY_FOUR, n=9).text == "equal"
    wrong = judged(FILL, BY_FOUR.replace("(n + 3) // 4", "n // 4"))
    assert wrong.word == "different" and wrong.text.endswith("(at n = 1)")


def test_sizes_at_which_before_has_no_meaning_show_nothing():
    multiple = f"T.assume(n % 8 == 0)\n{FILL}"
    found = judged(multiple, f"T.assume(n % 8 == 0)\n{BY_FOUR}")
    assert found.word == "equal at sizes"
    assert (
        found.text.startswith("equal at sizes 0, 8, 16, which") and "vacuous at 1, 2, 3, 7, 17, 4, 5, 9" in found.text
    )
    never = f"T.assume(n < 0)\n{FILL}"
    assert judged(never, FILL).word == "vacuous"
    only_empty = f"T.assume(n == 0)\n{FILL}"
    found = judged(only_empty, FILL.replace("= i", "= 7"))
    assert found.word == "vacuous" and found.text.startswith("equal (vacuous")


@pytest.mark.nightly
def test_large_sizes_are_left_out_once_one_was_settled():
    many = "for i, j in T.grid(n * 10, 20):\n    A[n - 1] = A[n - 1] + 2"
    other = many.replace("T.grid(n * 10, 20)", "T.grid(n * 5, 40)")
    small = judge("f", parse_func(symbolic(many)), parse_func(symbolic(other)), {}, Budget(2_500))
    assert small.word == "equal at sizes" and "17" not in small.text and "at sizes 0, 1, 2," in small.text


def test_several_symbols_get_different_values_too():
    names = ["a", "b", "c"]
    found = list(choices(names, {}, {"c": 5}, []))
    assert {"a": 17, "b": 17, "c": 5} in found and {"a": 8, "b": 2, "c": 5} in found
    assert all(x["c"] == 5 for x in found)
    assert list(choices([], {}, {"n": 1}, [4])) == [{}]


def test_symbols_and_divisors():
    func = parse_func(
        symbolic("for i in range(n // 32 * 6 // 6):\n    A[i] = i", '("m", "n")').replace("A[i]", "A[0, i]")
    )
    assert sorted(symbols(func)) == ["m", "n"]
    assert divisors(func) == [32, 6]


def test_one_pair_that_fails_does_not_end_the_others(monkeypatch):
    from verified_tir.validate import pairs

    def broken(*_, **__):
        raise ZeroDivisionError("a bug")

    good = record(PLAIN, PLAIN.replace("A[v]\n", "A[v] * T.float32(1)\n"))
    assert judge_record(good, {}, BUDGET).word == "equal"
    monkeypatch.setattr(pairs, "validate", broken)
    found = list(judge_file([good, record(PLAIN, "@T.prim_func\ndef f(:\n"), good], {}, BUDGET))
    assert [j.word for j in found] == ["failed", "unreadable", "failed"]
    assert "a bug" in found[0].reason


def test_a_pair_may_take_only_so_long():
    slow = PLAIN.replace("range(6)", "T.grid(6)") + "    for i, j in T.grid(100000, 100):\n        B[0] = B[0] + A[0]\n"
    found = judge_record(record(slow, slow.replace("(100000, 100)", "(100, 100000)")), {}, Budget(50_000_000, 0.2))
    assert found.word == "unknown" and found.reason == "it takes more than 0.2 seconds"


def test_no_further_sizes_when_time_is_over(monkeypatch):
    from verified_tir.validate import pairs

    monkeypatch.setattr(pairs, "PATIENCE", 0.0)
    assert judged(FILL, BY_FOUR).text.startswith("equal at sizes 0, 1, which")
    monkeypatch.setattr(pairs, "PATIENCE", 60.0)
    at = pairs._at

    def slow(*args, whole, **others):
        if whole:
            raise pairs.TimeIsUp
        return at(*args, whole=whole, **others)

    monkeypatch.setattr(pairs, "_at", slow)
    assert judged(FILL, BY_FOUR).text.startswith("equal at sizes 0, 1, which")
    empty = "for i in range(0):\n    A[i] = i"

    def never(*_, **__):
        raise pairs.TimeIsUp

    monkeypatch.setattr(pairs, "_at", never)
    with pytest.raises(pairs.TimeIsUp):
        judged(empty, BY_FOUR)


def test_records(tmp_path: Path):
    path = tmp_path / "p.jsonl"
    fields = {"id": 7, "kind": "split", "before": PLAIN, "after": None, "class": "gpu", "size": "medium(<=1e7)"}
    path.write_text(json.dumps(fields) + "\n\n", encoding="utf-8")
    (one,) = read_records(path)
    assert (one.name, one.group, one.size, one.args, one.after) == ("7 split", "gpu", "medium", "", None)
    assert list(judge_file([one], {}, BUDGET)) == []
    for text in ("[]", "7", '{"before": 1, "after": null}', '{"before": "x"}', "{"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(BadRecord, match=r"p\.jsonl:1"):
            list(read_records(path))


def test_functions_correspond_by_name():
    two = PLAIN + "\n" + PLAIN.replace("def f", "def g")
    module = "@I.ir_module\nclass Module:\n" + "".join(f"    {x}\n" for x in two.splitlines())
    assert [name for name, _, _ in functions(record(module, module))] == ["f", "g"]
    with pytest.raises(Refused, match="no function g"):
        functions(record(module, module.replace("def g", "def h")))


def test_programs_too_large_are_compared_in_part():
    """On demand at several sizes, since none could be executed; what writes no parameter cannot be compared so."""
    large = "for i in range(n + 4000):\n    B[i] = A[i] + {}"
    params = 'A: T.Buffer(("n + 4000",), "int32"), B: T.Buffer(("n + 4000",), "int32"), n: T.int32'

    def found(one: str, other: str):
        texts = [HEAD.format(params=params) + "".join(f"    {x}\n" for x in t.splitlines()) for t in (one, other)]
        return judge("f", *map(parse_func, texts), {}, Budget(2000))

    alike = found(large.format("2 + 4"), large.format("6"))
    assert alike.word == "equal in part" and "at sizes 0, 1, 2" in alike.text
    assert found(large.format("5"), large.format("6")).word == "different"
    idle = "for i, j in T.grid(n + 4000, 4000):\n    T.evaluate(i + {})"
    nothing = found(idle.format("1 + 1"), idle.format("2"))
    assert nothing.word == "unknown" and "write no parameter" in nothing.reason
