"""What the worker answers, in this process: so what it would execute would be executed here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.serve.running import ROW_SUM, kinds
from verified_tir.serve.worker import answer_request


def work(program: str, steps: str) -> list[dict[str, Any]]:
    found: list[Any] = []
    answer_request({"program": program, "steps": steps}, found.append)
    return found


def test_steps_are_proved() -> None:
    steps = "a, b, c = transform_layout_and_more = 1\n"
    assert kinds(work(ROW_SUM, steps)) == ["program", "mistake"]
    steps = '# tiles\n\ni0, i1 = s.split("i",\n    factors=[None, 4])\ns.reorder(i1, i0)\n'
    program, split, reorder, end = work(ROW_SUM, steps)
    assert program["program"]["program"].count("for ") == 2
    assert split["step"]["text"] == "split(i, [None, 4])"
    assert [split["step"]["line"], reorder["step"]["line"]] == [3, 5]
    assert ["-", "    for i in range(16):"] in split["step"]["diff"]
    assert {o["verdict"] for o in split["step"]["obligations"]} == {"proved"}
    assert "T.grid(4, 4)" in reorder["step"]["program"]
    assert end["end"]["input"]["found"] == "input"
    assert end["end"]["assumptions"]
    counted = sum(len(a[kind]["obligations"]) for a, kind in ((program, "program"), (split, "step"), (reorder, "step")))
    assert end["end"]["obligations"] == counted


def test_a_refusal_has_its_counterexample_and_both_answers() -> None:
    steps = 'transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=1.0)\nsequential_buffer_access("A")\n'
    answers = work(ROW_SUM, steps + "remove_branching_through_overcompute()\n")
    assert kinds(answers)[:4] == ["program", "step", "step", "refused"]
    refused = answers[3]["refused"]
    assert (refused["kind"], refused["line"]) == ("refuted", 3)
    assert refused["counterexample"]["j_0"] == "3"
    element, before, after = refused["answers"]
    assert element.startswith("B[")
    assert float(after) - float(before) == 2.0
    assert "# <-- here" in refused["program"]


def test_a_remedy_comes_after_the_refusal() -> None:
    text = ROW_SUM.replace("0.0", "A[i, 0]")
    program = '@T.prim_func\ndef f(n: T.int32, a: T.handle):\n    A = T.match_buffer(a, (n,), "float32")\n'
    program += "    for i in range(n):\n        A[i] = 1.0\n"
    answers = work(program, "assume(n >= 1)")
    assert kinds(answers) == ["program", "refused", "remedy"]
    assert answers[2]["remedy"] == "it would be proved if the program began with T.assume(n >= 1)"
    assert "refused" not in kinds(work(text, ""))


def test_mistakes_name_their_line() -> None:
    (answer,) = work(ROW_SUM.replace("A[i, j]", "A[i, nothing]"), "")
    assert (answer["mistake"]["field"], answer["mistake"]["line"]) == ("program", 6)
    assert "nothing" in answer["mistake"]["message"]
    _, _, answer = work(ROW_SUM, 'split("i", [4, 4])\nsplt("j", [2, 7])')
    assert answer["mistake"] == {
        "field": "steps", "line": 2, "message": "there is no primitive 'splt'; did you mean 'split'?"
    }  # fmt: skip
    _, answer = work(ROW_SUM, 'split("i", [4, 4]')
    assert answer["mistake"]["message"].startswith("this is not Python")
    _, answer = work(ROW_SUM, 'split("i", [4, 4], nope=1)')
    assert "there is no parameter 'nope'" in answer["mistake"]["message"]


def touching(path: Path) -> list[str]:
    """Expressions that would touch a file if they were executed."""
    shell = f'__import__("os").system("touch {path}")'
    return [shell, f'open("{path}", "w")', f"(lambda: {shell})()", f"[{shell} for _ in range(1)]", f'f"{{{shell}}}"']


def test_hostile_text_is_not_executed(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    for evil in touching(touched):
        for steps in (
            evil,
            f"split({evil}, [4, 4])",
            f'split("i", [4, {evil}])',
            f'transform_layout("A", lambda i, j: [i, {evil}], pad_value=0.0)',
            f'transform_layout("A", lambda i, j={evil}: [i, j])',
            f'annotate("i", "key", {evil})',
            f"x = {evil}",
            f"@{evil}\ndef f(): pass",
        ):
            assert kinds(work(ROW_SUM, steps)) == ["program", "mistake"], steps
        for program in (
            ROW_SUM.replace("@T.prim_func", f"@T.prim_func\n@{evil}"),
            ROW_SUM.replace("(16, 14)", f"(16, {evil})"),
            ROW_SUM.replace("B[i] = 0.0", f"B[i] = {evil}"),
            f"N = {evil}\n" + ROW_SUM,
            f"{evil}\n" + ROW_SUM,
        ):
            assert kinds(work(program, "")) == ["mistake"], program
    assert not touched.exists()
