"""Verdicts on disk: found again, by everybody, if nothing differs; damaged or foreign ones never."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.nightly import few
from verified_tir.logic import answers, kept
from verified_tir.logic import formula as f
from verified_tir.logic import verdict_store as module
from verified_tir.logic.answers import LARGEST, seal
from verified_tir.logic.formula import INT, Term
from verified_tir.logic.kept import SELDOM
from verified_tir.logic.model import Answer
from verified_tir.logic.smtlib import query
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Refuted, Unknown
from verified_tir.logic.verdict_store import VerdictStore

X, Y, Z = (f.var(n, INT) for n in "xyz")
A = f.var("a", "F32")
ONE = f.integer(1)
TRUE_CLAIM = f.implies(f.lt(X, Y), f.le(f.add(X, ONE), Y))
FALSE_CLAIM = f.implies(f.le(X, Y), f.le(f.add(X, ONE), Y))
HARD = f.ne(
    f.add(f.mul(X, f.mul(X, X)), f.mul(Y, f.mul(Y, Y))), f.mul(f.add(Z, ONE), f.mul(f.add(Z, ONE), f.add(Z, ONE)))
)
POSITIVE = (f.lt(f.integer(0), X), f.lt(f.integer(0), Y), f.lt(f.integer(0), Z))


@pytest.fixture
def store(tmp_path: Path) -> VerdictStore:
    return VerdictStore(tmp_path / "verdicts")


def files(store: VerdictStore) -> list[Path]:
    return sorted(store.folder.glob("*/*.verdict"))


def reopened(store: VerdictStore | None) -> VerdictStore:
    """The store as another process opens it."""
    return VerdictStore() if store is None else VerdictStore(store.folder)


def entry(store: VerdictStore, text: str, budget: int) -> Path:
    """Where it is kept that a text is unsatisfiable."""
    assert store.folder is not None
    return store._entry(store.folder, text, budget)[0]


def save(store: VerdictStore, text: str, budget: int, answer: Answer) -> bool:
    """Keep an answer as a solver does."""
    assert store.folder is not None
    if answer[0] == "unsat":
        return kept.keep(*store._entry(store.folder, text, budget))
    return answers.save(store, text, budget, answer)


def load(store: VerdictStore, text: str, budget: int) -> Answer | None:
    """What another process finds."""
    store = reopened(store)
    return ("unsat", None) if store.proved(text, budget) else answers.load(store, text, budget)


def asked(store: VerdictStore | None, *claims: Term, budget: int = 300_000) -> tuple[list[object], Solver]:
    """Verdicts of another process, without the time they took, and the solver that gave them."""
    solver = Solver(budget, reopened(store))
    found: list[object] = []
    for claim in claims:
        match solver.prove((), claim):
            case Refuted(model=model):
                found.append(("refuted", model.values, model.sorts))
            case verdict:
                found.append(type(verdict).__name__)
    return found, solver


FLOATS = f.fp("fp.eq", f.BOOL, f.fp("fp.add", "F32", A, f.floating("F32", 0)), A)
CLAIMS = (TRUE_CLAIM, FALSE_CLAIM, FLOATS, f.eq(f.mul(X, Y), f.mul(Y, X)))


def test_another_solver_asks_nothing(store: VerdictStore) -> None:
    without, _ = asked(None, *CLAIMS)
    first, cold = asked(store, *CLAIMS)
    second, warm = asked(store, *CLAIMS)
    assert without == first == second
    assert cold.statistics.stored == 0 < cold.statistics.queries
    assert (warm.statistics.queries, warm.statistics.stored) == (0, cold.statistics.queries)
    assert warm.statistics.solving == 0.0
    assert not warm.store._shared, "Z3 need not even be loaded"


def test_each_is_read_once(store: VerdictStore) -> None:
    asked(store, TRUE_CLAIM)
    solver = Solver(300_000, reopened(store))
    for _ in range(3):
        assert solver.prove((), TRUE_CLAIM).how == "cached"
    assert (solver.statistics.cached, solver.statistics.stored, solver.statistics.queries) == (3, 1, 0)


def test_models_speak_of_the_asker_s_names(store: VerdictStore) -> None:
    """The text is the same, whatever the variables are called."""
    u, v = f.var("u", INT), f.var("v", INT)
    asked(store, FALSE_CLAIM)
    ((kind, values, sorts),), solver = asked(store, f.replace(FALSE_CLAIM, {X: u, Y: v}))
    assert solver.statistics.queries == 0
    assert kind == "refuted" and set(values) == set(sorts) == {"u", "v"} and values["u"] == values["v"]


def test_unknown_is_kept_for_its_budget_and_proves_nothing(store: VerdictStore) -> None:
    first = Solver(20_000, reopened(store))
    before = first.prove(POSITIVE, HARD)
    assert isinstance(before, Unknown) and first.statistics.queries > 0
    again = Solver(20_000, reopened(store))
    after = again.prove(POSITIVE, HARD)
    assert isinstance(after, Unknown) and after.reason == before.reason and after.how == "cached"
    assert again.statistics.queries == 0 < again.statistics.stored
    assert isinstance(again.prove((*POSITIVE, f.not_(HARD)), f.FALSE), Unknown)


def test_unknown_is_asked_again_with_another_budget_or_version(
    store: VerdictStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = f.le(X, f.add(Y, f.integer(7)))
    given = (f.lt(X, Y),)
    starved = Solver(1, reopened(store))
    assert isinstance(starved.prove(given, claim), Unknown)
    assert isinstance(Solver(100_000, reopened(store)).prove(given, claim), Proved)
    monkeypatch.setattr(answers, "how_asked", lambda: "another version")
    other = Solver(1, reopened(store))
    assert isinstance(other.prove(given, claim), Unknown)
    assert other.statistics.queries > 0 == other.statistics.stored


@pytest.mark.parametrize("reason", ["timeout", "memout", "interrupted from keyboard"])
def test_what_failed_is_not_kept(store: VerdictStore, monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    """Neither are failures of the machine, which say nothing of the question."""
    monkeypatch.setattr("z3.Solver.reason_unknown", lambda _: reason)
    solver = Solver(20_000, reopened(store))
    assert isinstance(solver.prove(POSITIVE, HARD), Unknown)
    assert files(store) == []
    assert not save(store, "(assert true)", 1, ("failed", "no memory")) and files(store) == []


def plant(store: VerdictStore, text: str, budget: int, body: object) -> Path:
    """An entry whose hash is right, whatever it says."""
    written = json.dumps(body).encode()
    path = answers.entry(store, text, budget)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(seal(path, written) + written)
    path.chmod(0o600)
    return path


def test_a_planted_proof_is_believed(store: VerdictStore) -> None:
    """What docs/trust.md says of who can write the files; and the planting of the other tests works."""
    claim = f.lt(X, Y)
    text = query((), claim).text
    plant(store, text, 300_000, ["unsat", None])
    assert asked(store, claim)[0] == ["Unknown"], "it is not where proofs are kept"
    save(store, text, 300_000, ("unsat", None))
    assert asked(store, claim)[0] == ["Proved"] != asked(None, claim)[0]


def test_models_of_other_queries_are_no_models(store: VerdictStore) -> None:
    claim = f.lt(X, Y)
    text = query((), claim).text
    for name, values in (("x9", {}), ("x0", {"y": 1})):
        plant(store, text, 300_000, ["sat", {name: 1}])
        assert asked(store, claim)[0] == [("refuted", values, dict.fromkeys(values, INT))]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda b: b"",
    "truncated": lambda b: b[:-1],
    "half": lambda b: b[: len(b) // 2],
    "without its hash": lambda b: b[64:],
    "longer": lambda b: b + b" ",
    "another verdict": lambda b: b.replace(b'"sat"', b'"unsat"'),
    "a bit": lambda b: b[:-9] + bytes([b[-9] ^ 4]) + b[-8:],
    "no text": lambda b: b"\xff" * len(b),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_entries_are_asked_anew_and_replaced(damage: str, store: VerdictStore) -> None:
    expected, _ = asked(store, FALSE_CLAIM)
    (path,) = files(store)
    sound = path.read_bytes()
    path.write_bytes(DAMAGE[damage](sound))
    assert path.read_bytes() != sound
    found, solver = asked(store, FALSE_CLAIM)
    assert found == expected and solver.statistics.stored == 0 < solver.statistics.queries
    assert path.read_bytes() == sound


def test_every_byte_counts(store: VerdictStore) -> None:
    """However one byte of an entry is changed, it is not an entry."""
    save(store, "text", 7, ("sat", {"x0": 12, "x1": -3}))
    (path,) = files(store)
    sound = path.read_bytes()
    for k in range(len(sound)):
        path.write_bytes(sound[:k] + bytes([sound[k] ^ 1]) + sound[k + 1 :])
        assert load(store, "text", 7) is None, k
    path.write_bytes(sound)
    assert load(store, "text", 7) == ("sat", {"x0": 12, "x1": -3})


def test_entries_of_other_queries_do_not_pass(store: VerdictStore) -> None:
    """A sound entry under another query's name."""
    save(store, "one", 7, ("unsat", None))
    (path,) = files(store)
    other = entry(store, "other", 7)
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_bytes(path.read_bytes())
    other.chmod(0o600)
    assert load(store, "other", 7) is None and load(store, "one", 7) == ("unsat", None)


def test_budget_solver_and_text_are_the_key(store: VerdictStore, monkeypatch: pytest.MonkeyPatch) -> None:
    save(store, "text", 7, ("unsat", None))
    assert load(store, "text", 8) is None
    assert load(store, "text ", 7) is None
    assert load(store, "text", 7) == ("unsat", None)
    monkeypatch.setattr(module, "how_asked", lambda: "z3 99")
    assert load(store, "text", 7) is None


def test_how_it_is_asked_is_the_version_and_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = module.how_asked.__wrapped__
    mine = fresh()
    assert mine == module.how_asked() and mine.startswith(f"z3 {version('z3-solver')} ")
    with monkeypatch.context() as patch:
        other = SimpleNamespace(origin=str(tmp_path / "z3" / "__init__.py"))
        patch.setattr(module, "find_spec", lambda name: other)
        with pytest.raises(ImportError, match="installed 0 times"):
            fresh()
        record = tmp_path / "z3_solver-4.8.7.dist-info" / "RECORD"
        record.parent.mkdir()
        record.write_text("z3/lib/libz3.so,sha256=1,2")
        another = fresh()
        assert another.startswith("z3 4.8.7 ")
        record.write_text("z3/lib/libz3.so,sha256=3,2")
        assert fresh() != another
    with monkeypatch.context() as patch:
        patch.setenv("Z3_LIBRARY_PATH", "elsewhere")
        assert fresh() != mine
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", lambda self: b"another way to ask")
        assert fresh() != mine


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are those of Unix")
def test_what_others_may_write_is_not_read(store: VerdictStore) -> None:
    save(store, "text", 7, ("unsat", None))
    (path,) = files(store)
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o077 == 0
    for mode in (0o620, 0o602):
        path.chmod(mode)
        assert load(store, "text", 7) is None
    path.chmod(0o644)
    assert load(store, "text", 7) == ("unsat", None)


def test_only_plain_files_are_read(store: VerdictStore) -> None:
    path = entry(store, "text", 7)
    path.mkdir(parents=True)
    assert load(store, "text", 7) is None and not save(store, "text", 7, ("unsat", None))
    assert list(path.parent.iterdir()) == [path], "what was half written is gone"
    path.rmdir()
    os.mkfifo(path, 0o600)  # nobody writes to it: whoever opens it would wait
    assert load(store, "text", 7) is None and save(store, "text", 7, ("unsat", None))
    assert load(store, "text", 7) == ("unsat", None)


def test_large_models_are_not_kept(store: VerdictStore) -> None:
    assert not save(store, "text", 7, ("sat", {f"x{k}": k for k in range(LARGEST // 4)}))
    assert not save(store, "text", 7, ("sat", {"x0": 1 << 20_000}))
    assert files(store) == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    found, solver = asked(VerdictStore(tmp_path / "file"), *CLAIMS)
    assert found == asked(None, *CLAIMS)[0] and solver.statistics.stored == 0


def test_old_entries_go_first(store: VerdictStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_IN_FOLDER", 8)
    texts = [text for text in map(str, range(4000)) if entry(store, text, 7).parent.name == "00"][:12]
    past = time.time() - 10 * SELDOM
    for k, text in enumerate(texts[:8]):
        save(store, text, 7, ("unsat", None))
        os.utime(entry(store, text, 7), (past + k, past + k))
    assert kept.size(store.folder)[0] == 8
    assert load(store, texts[0], 7) is not None  # used: it is the youngest now
    save(store, texts[8], 7, ("unsat", None))
    left = [text for text in texts[:9] if load(store, text, 7) is not None]
    assert left == [texts[0], *texts[4:9]]


def test_what_a_killed_writer_left_goes_too(store: VerdictStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_IN_FOLDER", 8)
    texts = [text for text in map(str, range(4000)) if entry(store, text, 7).parent.name == "00"][:9]
    (store.folder / "00").mkdir(parents=True)
    old, new = store.folder / "00" / ".old.tmp", store.folder / "00" / ".new.tmp"
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (0, 0))
    for text in texts:
        save(store, text, 7, ("unsat", None))
    assert not old.exists() and new.exists()


def test_clear(store: VerdictStore) -> None:
    asked(store, *CLAIMS)
    count, size = kept.size(store.folder)
    assert count == len(files(store)) > 0 and size == sum(p.stat().st_size for p in files(store))
    assert kept.clear(store.folder) == count and kept.size(store.folder) == (0, 0)
    assert kept.clear(store.folder) == 0
    assert asked(store, TRUE_CLAIM)[0] == ["Proved"]


# ------------------------------------------------------------------------------------------------------ processes


def right(text: str) -> Answer:
    """What the processes below agree to answer."""
    number = int(text)
    return ("unsat", None) if number % 2 else ("sat", {f"x{k}": number * k for k in range(number % 50)})


def hammer(folder: str, seed: int, rounds: int) -> tuple[int, int]:
    """Save, load, damage and clear at random; gives how often an answer was found, and how often it was wrong."""
    store, kept.MOST_IN_FOLDER = VerdictStore(Path(folder)), 6
    rng = random.Random(seed)
    found = wrong = 0
    for _ in range(rounds):
        text = str(rng.randrange(40))
        match rng.randrange(12):
            case 0 | 1 | 2 | 3 | 4:
                save(store, text, 7, right(text))
            case 5:
                path = entry(store, text, 7)
                try:
                    content = path.read_bytes()
                    path.write_bytes(content[: rng.randrange(len(content) + 1)])
                except OSError:
                    pass
            case 6 if rng.random() < 0.1:
                kept.clear(store.folder)
            case _:
                answer = load(store, text, 7)
                found += answer is not None
                wrong += answer is not None and answer != right(text)
    return found, wrong


@pytest.mark.nightly
def test_processes_do_not_disturb_each_other(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(4) as pool:
        results = pool.starmap(hammer, [(str(tmp_path / "v"), seed, few(300, 700)) for seed in range(4)])
    assert all(found > 0 for found, _ in results) and sum(wrong for _, wrong in results) == 0
    left = VerdictStore(tmp_path / "v")
    for text in map(str, range(40)):
        assert load(left, text, 7) in (None, right(text))


def test_nobody_who_reads_no_values_pays_for_them(tmp_path: Path) -> None:
    x = f.var("x", f.INT)
    given, goal = (f.le(f.integer(0), x),), f.lt(x, f.integer(7))
    first = Solver(store=VerdictStore(tmp_path))
    assert isinstance(first.prove(given, goal), Refuted) and first.prove(given, goal).how == "cached"
    unread = first.statistics.solving
    found = first.prove(given, goal)
    assert first.statistics.solving == unread
    assert isinstance(found, Refuted) and found.model.values["x"] >= 7 and first.statistics.solving > unread
    again = Solver(store=VerdictStore(tmp_path)).prove(given, goal)
    assert isinstance(again, Refuted) and again.model.values == found.model.values


def test_values_are_kept_once_they_were_found(tmp_path: Path) -> None:
    store, goal = VerdictStore(tmp_path), f.lt(f.var("x", f.INT), f.integer(7))
    text, budget = query((), goal).text, Solver().budget
    found = Solver(store=reopened(store)).prove((), goal)
    assert isinstance(found, Refuted) and load(store, text, budget) == ("sat", None)
    values = found.model.values
    kept = load(store, text, budget)
    assert kept is not None and list(kept[1].values()) == list(values.values())
    solver = Solver(store=reopened(store))
    again = solver.prove((), goal)
    assert isinstance(again, Refuted) and again.model.values == values
    assert (solver.statistics.queries, solver.statistics.solving) == (0, 0.0)
