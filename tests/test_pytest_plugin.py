"""The plug-in for pytest, run by a pytest of its own.

In a process each: what has been imported here would hide what the plug-in imports.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.files import GOOD, HEAD, REFUSED

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parent.parent
EXPECTED = GOOD + '\n@schedule(total, expect="refused")\ndef expected(s):\n    s.parallel("i")\n'


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """pytest with the plug-in, whether or not it is installed here."""
    plugin = ("-p", "no:verified_tir", "-p", "verified_tir.pytest_plugin", "-p", "no:cacheprovider")
    return pytester.runpytest_subprocess(*plugin, *arguments, timeout=120)


@pytest.mark.nightly
def test_schedules_in_test_modules_and_in_files_of_the_option(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nvtir_files = schedules/*.py\n")
    pytester.makepyfile(test_one=EXPECTED + "\ndef test_other():\n    pass\n")
    folder = pytester.mkdir("schedules")
    (folder / "sizes.py").write_text("FOUR = 4\n")
    uses = (
        "from sizes import FOUR\n"
        + GOOD.replace("[4, 4]", "[FOUR, 4]")
        + '\nimported = schedule(total)(lambda s: s.split("i", [2, 8]))\n'
    )
    (folder / "first.py").write_text(uses)
    (pytester.mkdir("schedules/more") / "first.py").write_text(EXPECTED)  # the same name in another folder
    done = run(pytester, "-v")
    done.assert_outcomes(passed=7)
    done.stdout.fnmatch_lines_random(
        [
            "test_one.py::good PASSED*",
            "test_one.py::expected PASSED*",
            "test_one.py::test_other PASSED*",
            "schedules/first.py::good PASSED*",
            "schedules/first.py::<lambda> PASSED*",
            "schedules/more/first.py::good PASSED*",
            "schedules/more/first.py::expected PASSED*",
        ]
    )


def test_what_fails_is_shown_without_our_frames(pytester: pytest.Pytester) -> None:
    """A refusal, a schedule that should have been refused, and a mistake."""
    accepted = '\n@schedule(total, expect="refused")\ndef accepted(s):\n    pass\n'
    wrong = "\n@schedule(total)\ndef wrong(s):\n    unknown\n"
    pytester.makepyfile(test_one=REFUSED, test_two=HEAD + accepted + wrong)
    done = run(pytester, "--junitxml=out.xml")
    done.assert_outcomes(failed=3)
    done.stdout.fnmatch_lines(
        [
            "*_ racy _*",
            "  racy  REFUSED",
            '    test_one.py:21: s.reorder("i_1", "i_0")',
            "    reorder(i_1, i_0): refused, since this is false: *",
            "*# <-- here",
            "    replayed: * (confirmed)",
            '    every step was accepted, but the schedule is marked expect="refused" *',
            "    test_two.py:*: error: NameError: name 'unknown' is not defined*",
            "        unknown",
            "FAILED test_one.py::racy*",
        ]
    )
    done.stdout.no_fnmatch_line("*verified_tir/*")
    done.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.nightly
def test_a_file_that_cannot_be_executed(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nvtir_files = first.py\n")
    pytester.makepyfile(first=HEAD + "raise ValueError('no')\n")
    done = run(pytester)
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["first.py:18: ValueError: no", "raise ValueError('no')"])
    done.stdout.no_fnmatch_line("*verified_tir/*")


@pytest.mark.nightly
def test_one_by_its_name_and_by_expression(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nvtir_files = schedules/*.py\n")
    folder = pytester.mkdir("schedules")
    (folder / "first.py").write_text(EXPECTED)
    (folder / "second.py").write_text(REFUSED)
    run(pytester, "schedules/first.py::expected").assert_outcomes(passed=1)
    run(pytester, "schedules/first.py").assert_outcomes(passed=2)
    run(pytester, "-k", "good").assert_outcomes(passed=1, deselected=2)


@pytest.mark.nightly
def test_what_is_imported_is_not_a_test_again(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_one=EXPECTED, test_two="from test_one import good, expected\n")
    run(pytester).assert_outcomes(passed=2)


def test_every_schedule_that_a_test_module_makes_is_a_test(pytester: pytest.Pytester) -> None:
    """In a class, under a name that is given twice, in no name at all, of a function of another module."""
    racy = "@schedule(total)\ndef racy(s):\n    s.split('i', [4, 4])\n    s.reorder('i_1', 'i_0')\n"
    inner = "".join(f"    {line}\n" for line in racy.replace("racy", "inner").splitlines())
    text = f"import other\n{HEAD}{racy}\n\nclass TestInner:\n{inner}\n    def test_plain(self):\n        pass\n\n"
    text += f"\nclass Plain:\n{inner}\n{GOOD[len(HEAD) :].replace('good', 'racy')}"
    text += "[schedule(total)(f) for f in (other.tile, other.tile)]\nbad = schedule(total)(other.tile)\n"
    made = "other = schedule(total)(tile)\n"
    pytester.makepyfile(other=f"{HEAD}def tile(s):\n    s.parallel('i')\n\n{made}", test_one=text)
    pytester.makepyfile(test_before="from test_one import racy, bad\nfrom other import other\n")
    done = run(pytester, "-v")
    done.assert_outcomes(passed=2, failed=6)
    done.stdout.fnmatch_lines_random(
        [
            "test_one.py::racy PASSED*",
            "test_one.py::racy#2 FAILED*",
            "test_one.py::TestInner::test_plain PASSED*",
            "test_one.py::inner FAILED*",
            "test_one.py::inner#2 FAILED*",
            "test_one.py::tile FAILED*",
            "test_one.py::tile#2 FAILED*",
            "test_one.py::bad FAILED*",
        ]
    )
    run(pytester, "test_one.py::racy", "test_one.py::inner").assert_outcomes(passed=1, failed=1)


@pytest.mark.nightly
def test_schedules_beside_doctests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_one=f'"""\n>>> 1 + 1\n2\n"""\n{EXPECTED}')
    pytester.maketxtfile(test_text=">>> 1 + 1\n2\n")
    (pytester.path / "page.md").write_text(">>> 1 + 2\n3\n")
    done = run(pytester, "--doctest-modules", "--doctest-glob=*.md", "--doctest-glob=test*.txt")
    done.assert_outcomes(passed=5)  # two schedules, each once; and three doctests
    done = run(pytester)
    done.assert_outcomes(passed=3)


def test_schedules_made_in_a_thread_are_those_of_the_module_that_waits_for_it(pytester: pytest.Pytester) -> None:
    made = "\nimport library, threading\n"
    made += "thread = threading.Thread(target=lambda: schedule(total)(library.racy))\nthread.start()\nthread.join()\n"
    pytester.makepyfile(library="def racy(s):\n    s.parallel('i')\n", test_one=GOOD + made)
    done = run(pytester, "-v")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["test_one.py::racy FAILED*"])


def test_a_name_that_looks_like_a_test_is_one_schedule(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_one=GOOD.replace("def good", "def test_good"))
    run(pytester).assert_outcomes(passed=1)


@pytest.mark.nightly
def test_settings_and_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml("[tool.vtir]\nbudget = 12345\n[tool.pytest.ini_options]\n")
    uses = (
        HEAD
        + "\ndef test_fixture(vtir_schedule):\n    s = vtir_schedule(fill)\n    assert s.solver.budget == 12345\n"
        + '    s.split("i", [4, 4])\n    assert [x.name for x in s.loops()] == ["i_0", "i_1"]\n'
        + "\n@schedule(fill)\ndef budget(s):\n    assert s.solver.budget == 12345\n"
    )
    pytester.makepyfile(test_one=uses)
    run(pytester).assert_outcomes(passed=2)


@pytest.mark.nightly
def test_a_mistake_in_the_settings_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml("[tool.vtir]\nbudgte = 12345\n[tool.pytest.ini_options]\n")
    pytester.makepyfile(test_one=GOOD)
    done = run(pytester)
    assert done.ret == pytest.ExitCode.INTERRUPTED
    done.stdout.fnmatch_lines(["*pyproject.toml: [[]tool.vtir] has no key 'budgte'; did you mean 'budget'?"])
    done.stdout.no_fnmatch_line("*verified_tir/*")


@pytest.mark.nightly
def test_with_xdist(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nvtir_files = first.py\n")
    pytester.makepyfile(first=EXPECTED, test_one=REFUSED)
    done = run(pytester, "-n", "2")
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["  racy  REFUSED"])


@pytest.mark.nightly
def test_without_schedules_nothing_is_imported(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nvtir_files = schedules/*.py\n")
    heavy = ("z3", "numpy", "rich", "islpy", "llvmlite", "networkx", "verified_tir.schedule", "verified_tir.cli")
    pytester.makepyfile(
        test_one=f"import sys\n\ndef test_light():\n    assert 'verified_tir.pytest_plugin' in sys.modules\n"
        f"    assert not [m for m in {heavy!r} if m in sys.modules]\n"
    )
    run(pytester).assert_outcomes(passed=1)


@pytest.mark.nightly
def test_pages(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nvtir_files = schedules/*.py\n")
    (pytester.mkdir("schedules") / "first.py").write_text(EXPECTED)
    pytester.makepyfile(test_one=REFUSED)
    run(pytester, "--vtir-html", "out/pages").assert_outcomes(passed=2, failed=1)
    pages = {p.name: p.read_text(encoding="utf-8") for p in (pytester.path / "out" / "pages").iterdir()}
    assert set(pages) == {"schedules-first.py-good.html", "schedules-first.py-expected.html", "test_one.py-racy.html"}
    assert "<title>racy, test_one.py</title>" in pages["test_one.py-racy.html"]
    assert "refused" in pages["schedules-first.py-expected.html"]
