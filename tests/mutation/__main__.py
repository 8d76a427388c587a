"""``python -m tests.mutation``: plant faults in the trusted rules; a test must notice each."""

from __future__ import annotations

from typing import Annotated

import typer

from tests.mutation.command import Options, run, seconds
from verified_tir.cli.options import Json, option
from verified_tir.ir.collector import seldom_collected

HELP = """Change the trusted rules one small thing at a time, and see whether a test notices.

A mutant drops or weakens an obligation or a side condition. Tests that reach \
the changed statement are run until one fails. A mutant that survives means a missing test, \
a redundant obligation, or a change that changes nothing.

WHAT names rules (bind), files or folders of the trusted base; all if there is none. What tests reach is recorded \
first, which takes minutes once; results are kept in .mutation/, and the same command goes on from there.

Examples:

\b
  python -m tests.mutation reorder bind        two rules
  python -m tests.mutation reorder --operators obligations
  python -m tests.mutation --sample 200 --seed 1 --time 10m
  python -m tests.mutation --list              all mutants, by id
  python -m tests.mutation --show rules.bind:Bind
  python -m tests.mutation reorder --survivors
  python -m tests.mutation --write-docs

Exit code: 0 if all were killed; 1 if one survived; 2 for a mistake.
"""

What = Annotated[list[str], typer.Argument(metavar="WHAT", help="Rules, files or folders.", show_default=False)]
Operators = Annotated[
    list[str], option("--operators", metavar="NAME", text="Only these operators, or groups of them (repeatable).")
]
MutantJobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Mutants at a time.")]
Seconds = Annotated[str, typer.Option("--budget", metavar="TIME", help="For one mutant, as in 60s or 2m.")]
MutationTime = Annotated[str, option("--time", metavar="TIME", text="Begin no mutant after so long, as in 10m or 1h.")]
MutantSample = Annotated[int, option("--sample", metavar="N", text="So many mutants, drawn by --seed.")]
MutantSeed = Annotated[int, typer.Option("--seed", metavar="N", help="Decides which mutants --sample draws.")]
ListMutants = Annotated[bool, option("--list", text="Show the mutants, and run none.")]
OnlyMutant = Annotated[str, option("--only", metavar="ID", text="One mutant, or those whose id contains this.")]
ShowMutant = Annotated[str, option("--show", metavar="ID", text="Show mutants as diffs, and run none.")]
Fresh = Annotated[bool, option("--fresh/--resume", text="Run again what is known, or (unless given) go on.")]
Survivors = Annotated[bool, option("--survivors", text="Show who survived so far, and run none.")]
WriteDocs = Annotated[bool, option("--write-docs", text="Write docs/mutation.md from what is known, and run none.")]
DecidingTests = Annotated[list[str], option("--tests", metavar="PATH", text="Only these tests decide (repeatable).")]
AskFuzzer = Annotated[bool, option("--fuzz", text="Ask the fuzzer about mutants that no test notices.")]
Stricter = Annotated[bool, option("--stricter", text="Mutants too that can only make the kernel refuse more.")]


def mutate(
    what: What = [],  # noqa: B006 (typer copies it)
    operators: Operators = [],  # noqa: B006
    jobs: MutantJobs = 2,
    budget: Seconds = "20s",
    time: MutationTime = "",
    sample: MutantSample = 0,
    seed: MutantSeed = 0,
    list_them: ListMutants = False,
    only: OnlyMutant = "",
    show: ShowMutant = "",
    fresh: Fresh = False,
    survivors: Survivors = False,
    write_docs: WriteDocs = False,
    tests: DecidingTests = [],  # noqa: B006
    fuzz: AskFuzzer = False,
    stricter: Stricter = False,
    json: Json = False,
) -> None:
    """Plant faults in the trusted rules; a test must notice each."""
    options = Options(
        tuple(what), tuple(operators), jobs, seconds(budget, "--budget"), seconds(time, "--time") if time else 0,
        sample, seed, list_them, only, show, fresh, survivors, write_docs, fuzz, stricter, tuple(tests), json,
    )  # fmt: skip
    raise typer.Exit(run(options))


app = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]}
)
app.command(help=HELP)(mutate)

if __name__ == "__main__":
    with seldom_collected():
        app(prog_name="python -m tests.mutation")
