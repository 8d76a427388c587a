"""The commands of ``vtir`` and their options.

Nothing heavy is imported before a command runs: ``vtir --help`` answers at once.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated, Any

import typer

from verified_tir import __version__

app = typer.Typer(
    name="vtir",
    help="Schedules for tensor programs, proved step by step.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_VERIFY = """Prove every schedule in the given files and folders.

A schedule is a function decorated with @schedule(program). Each of its steps owes proof obligations; a step whose \
obligations cannot be proved is refused, and the schedule with it. Then an independent validator compares the program \
with what the schedule made of it, at a few sizes. Files are ordinary Python and are executed.

Examples:

\b
  vtir verify schedules/                    every schedule below a folder
  vtir verify gemm.py -k tiled -v           one schedule, each obligation
  vtir verify gemm.py --show-program        also the program as scheduled
  vtir verify gemm.py --every-step          the validator is asked after every step
  vtir verify gemm.py --to-llvm             LLVM IR, optimised too, is compared with the program
  vtir verify schedules/ --json > out.json  for other programs

Exit code: 0 if every schedule ended as expected; 1 if one was refused, or was to be refused and was not, raised an \
exception, or the validator disagrees (a bug in vtir); 2 if a file could not be executed, or there was nothing to \
verify.
"""

_BUDGET = "Resource limit of one query (Z3's rlimit); more decides more and takes longer."


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"vtir {__version__}")
        raise typer.Exit


@app.callback()
def vtir(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Schedules for tensor programs, proved step by step."""


def _option(*names: str, text: str, metavar: str | None = None, least: int | None = None) -> Any:
    """An option whose default is not shown: "off" and "none" tell nobody anything."""
    return typer.Option(*names, help=text, metavar=metavar, min=least, show_default=False)


Paths = Annotated[list[Path], typer.Argument(metavar="PATH", help="Python files, or folders to search for them.")]
Json = Annotated[bool, _option("--json", text="Print one JSON document instead of text.")]
Verbose = Annotated[bool, _option("--verbose", "-v", text="Show each obligation: claim, verdict, time, method.")]
Quiet = Annotated[bool, _option("--quiet", "-q", text="Show only what went wrong, and the last line.")]
Only = Annotated[str, _option("-k", metavar="NAME", text="Only schedules whose name contains this text.")]
ShowProgram = Annotated[bool, _option("--show-program", text="Show each program as scheduled.")]
Smt = Annotated[Path | None, _option("--smt", metavar="DIR", text="Write each obligation as an SMT-LIB file.")]
Validate = Annotated[
    bool | None,
    _option(
        "--validate/--no-validate",
        text="The validator's second opinion: with all the work that it may take, or none; a little unless given.",
    ),
]
EveryStep = Annotated[
    bool, _option("--every-step", text="Ask the validator after every step, not only after the last.")
]
Operations = Annotated[
    int | None, _option("--most-operations", metavar="N", least=1, text="Operations of one comparison at most.")
]
ToLLVM = Annotated[
    bool, _option("--to-llvm", text="Lower and compile; compare LLVM IR, optimised too, with the program.")
]
Certify = Annotated[Path | None, _option("--certify", metavar="DIR", text="Write certificates of what is proved.")]
NoCache = Annotated[bool, _option("--no-cache", text="Believe no verdict of an earlier run, and keep none.")]
Budget = Annotated[int | None, _option("--budget", metavar="N", least=1, text=_BUDGET)]


@app.command(help=_VERIFY, short_help="Prove every schedule in files and folders.")
def verify(  # noqa: PLR0913, PLR0917 (each is an option)
    paths: Paths,
    json: Json = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
    only: Only = "",
    show_program: ShowProgram = False,
    smt: Smt = None,
    budget: Budget = None,
    validate: Validate = None,
    every_step: EveryStep = False,
    most_operations: Operations = None,
    certify: Certify = None,
    to_llvm: ToLLVM = False,
    no_cache: NoCache = False,
) -> None:
    """Prove every schedule in the given files and folders."""
    if verbose and quiet:
        raise typer.BadParameter("--verbose and --quiet exclude each other")
    if validate is False and (every_step or most_operations is not None):
        raise typer.BadParameter("--no-validate excludes --every-step and --most-operations")
    from verified_tir.cli.run import Options, run
    from verified_tir.cli.second_opinion import THOROUGH, When

    when: When = "never" if validate is False else "every" if every_step else "last"
    operations = most_operations or (THOROUGH if validate else None)
    options = Options(
        tuple(paths), json, verbose, quiet, only, show_program, smt, budget, when, operations, certify, to_llvm,
        cache=not no_cache,
    )  # fmt: skip
    raise typer.Exit(run(options))


_LOWER = """Lower a function by a pipeline of passes; each pass is proved, as the steps of a schedule are.

FILE holds @schedule functions or programs in TVMScript. A file that does not import verified_tir is read and not \
executed. Passes are joined by >>, as in "FlattenBuffer() >> UnrollLoop(max_extent=16)"; "default", "layout" and \
"none" are pipelines, too.

Examples:

\b
  vtir lower gemm.py:tiled                              the lowered program
  vtir lower gemm.py:tiled --print-after FlattenBuffer  the program after one pass
  vtir lower f.py --pipeline "UnrollLoop >> Simplify"   other passes

Exit code: 0 if every function was lowered; 1 if one was refused; 2 for a file, function or pipeline that is none.
"""

_RUN = """Compile a function and call it on random arrays.

Prints shapes, the time of one call and a checksum of the arrays' bits.

Examples:

\b
  vtir run gemm.py:tiled --check          compare with the interpreter, bit for bit
  vtir run f.py --shape n=1000 --seed 3   other sizes, other arrays

Exit code: 0; 1 if the function was refused, or the results differ; 2 for a mistake in the file or the options.
"""

_PIPELINE = "Passes joined by >>, or the name of a pipeline."

Where = Annotated[str, typer.Argument(metavar="FILE[:FUNCTION]", help="A file, and a function in it.")]
PipelineText = Annotated[str, typer.Option("--pipeline", metavar="EXPR", help=_PIPELINE)]
PrintAfter = Annotated[list[str], _option("--print-after", metavar="PASS", text="Show the program after this pass.")]
PrintAll = Annotated[bool, _option("--print-all", text="Show the program after every pass.")]
Shape = Annotated[list[str], _option("--shape", metavar="NAME=VALUE", text="The value of a symbol (16 unless given).")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the random arrays.")]
Check = Annotated[bool, _option("--check", text="Compare with the interpreter, bit for bit.")]


@app.command(help=_LOWER, short_help="Lower a function by a pipeline of proved passes.")
def lower(
    where: Where,
    pipeline: PipelineText = "default",
    print_after: PrintAfter = [],  # noqa: B006 (typer copies it)
    print_all: PrintAll = False,
    json: Json = False,
) -> None:
    """Lower a function by a pipeline of passes."""
    from verified_tir.cli.lower import Options
    from verified_tir.cli.lower import lower as run

    raise typer.Exit(run(Options(where, pipeline, tuple(print_after), print_all, json)))


@app.command(name="run", help=_RUN, short_help="Compile a function and call it on random arrays.")
def run_function(
    where: Where,
    pipeline: PipelineText = "default",
    shape: Shape = [],  # noqa: B006 (typer copies it)
    seed: Seed = 0,
    check: Check = False,
    json: Json = False,
) -> None:
    """Compile a function and call it on random arrays."""
    from verified_tir.cli.execute import Options, execute

    raise typer.Exit(execute(Options(where, pipeline, tuple(shape), seed, check, json)))


_VALIDATE = """Compare two programs by translation validation, at given sizes.

BEFORE and AFTER are files of TVMScript (FILE or FILE:FUNCTION), from this or any other compiler; they are read and \
never executed. One .jsonl file alone holds recorded pairs: objects with "before", "after", and perhaps "id" and \
"kind". The validator executes both programs symbolically and knows nothing of schedules or rules.

Examples:

\b
  vtir validate before.py after.py                 every function of both files
  vtir validate a.py:f b.py:g --shape n=100        two functions at one size
  vtir validate pairs.jsonl -k compute_at          recorded pairs, and a table

Without --shape, symbols are 0, 1, 2, 3, 7, 8 and 17 in turns. Exit code: 0 if all are equal (or equal over the \
reals, which is said); 1 if a difference was found and replayed, or a licence is lost; 2 for a mistake; 3 if something \
was not decided, or in part only.
"""

Files = Annotated[list[str], typer.Argument(metavar="BEFORE AFTER | PAIRS", help="Two files, or one of pairs.")]
Sizes = Annotated[list[str], _option("--shape", metavar="NAME=VALUE", text="The value of a symbol.")]
OnlyPairs = Annotated[str, _option("-k", metavar="TEXT", text="Only recorded pairs whose id or kind contains this.")]
Group = Annotated[
    str, _option("--class", metavar="NAME", text="Only recorded pairs of this class: plain, gpu, opaque.")
]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=0, help="The first N recorded pairs only; 0 for all.")]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Processes for recorded pairs.")]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0, help="The most time for a recorded pair; 0 for any.")
]
Most = Annotated[
    int, typer.Option("--most-operations", metavar="N", min=1, help="Operations to execute in each program at most.")
]


@app.command(help=_VALIDATE, short_help="Compare two programs by translation validation.")
def validate(
    files: Files,
    shape: Sizes = [],  # noqa: B006 (typer copies it)
    only: OnlyPairs = "",
    group: Group = "all",
    limit: Limit = 0,
    jobs: Jobs = 1,
    timeout: Timeout = 0,
    most_operations: Most = 5_000_000,
    json: Json = False,
) -> None:
    """Compare two programs by translation validation."""
    from verified_tir.cli.validate import Options, run

    raise typer.Exit(run(Options(tuple(files), tuple(shape), only, most_operations, json, group, limit, timeout, jobs)))


_CHECK = """Check certificates that `vtir verify --certify` wrote: their hashes, and every obligation, asked anew.

Neither the kernel nor the primitives take part, nor any verdict found earlier. --regenerate also replays the recorded \
steps through the kernel and compares: that the obligations are the right ones.

Examples:

\b
  vtir check proofs/certificates --solver both             two solvers must agree
  vtir check certificates/ --regenerate                    replay the steps, too
  vtir check certificates/ -k gemm --before gemm.py:gemm   is it about this program?
  vtir check certificates/ --executor dask:tcp://host:8786 on a Dask cluster

Exit code: 0 if all is well; 1 if a claim is false, or something was changed; 2 for a mistake; 3 if something was not \
decided, or could not be replayed.
"""

Certificates = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that vtir verify --certify wrote.")]
WhichSolver = Annotated[str, typer.Option("--solver", metavar="z3|cvc5|both", help="Who is asked.")]
Regenerate = Annotated[bool, _option("--regenerate", text="Replay the steps through the kernel, and compare.")]
Processes = Annotated[int, typer.Option("--jobs", metavar="N", min=0, help="Processes; 0 for one on each core.")]
WhichExecutor = Annotated[
    str, typer.Option("--executor", metavar="processes|dask[:ADDRESS]", help="Where the questions are asked.")
]
OnlyCertificates = Annotated[str, _option("-k", metavar="NAME", text="Only certificates whose name contains this.")]
Before = Annotated[str, _option("--before", metavar="FILE[:FUNCTION]", text="The program before must be this one.")]
After = Annotated[str, _option("--after", metavar="FILE[:FUNCTION]", text="The program after must be this one.")]


@app.command(name="check", help=_CHECK, short_help="Check certificates with a solver of choice.")
def check_certificates(  # noqa: PLR0913, PLR0917 (each is an option)
    directory: Certificates,
    solver: WhichSolver = "z3",
    regenerate: Regenerate = False,
    jobs: Processes = 0,
    executor: WhichExecutor = "processes",
    only: OnlyCertificates = "",
    before: Before = "",
    after: After = "",
    budget: Budget = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Check certificates with a solver of choice."""
    from verified_tir.cli.check import Options, run

    options = Options(directory, solver, regenerate, jobs, executor, only, before, after, budget, quiet, json)
    raise typer.Exit(run(options))


_MUTATE = """Change the trusted rules one small thing at a time, and see whether a test notices.

A mutant drops or weakens an obligation or a side condition, or is a deeper fault from the catalogue. Tests that reach \
the changed statement are run until one fails; then the fuzzer is asked. A mutant that survives means a missing test, \
a redundant obligation, or a change that changes nothing. Works in a source checkout.

WHAT names rules (order), files, folders, or "catalogue"; all if there is none. What tests reach is recorded first, \
which takes minutes once; results are kept in .mutation/, and the same command goes on from there.

Examples:

\b
  vtir mutate order unit                    two rules
  vtir mutate order --operators obligations each obligation of a rule, dropped
  vtir mutate --list                        all mutants, by id
  vtir mutate --show rules.unit:Unit        those whose id contains this, as diffs
  vtir mutate order --survivors             what is known, without running anything
  vtir mutate --write-docs                  the table in docs/mutation.md, from what is known

Exit code: 0 if all were killed (or are known to be equivalent); 1 if one survived; 2 for a mistake.
"""

What = Annotated[list[str], typer.Argument(metavar="WHAT", help="Rules, files or folders.", show_default=False)]
Operators = Annotated[
    list[str], _option("--operators", metavar="NAME", text="Only these operators, or groups of them (repeatable).")
]
MutantJobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Mutants at a time.")]
Seconds = Annotated[str, typer.Option("--budget", metavar="TIME", help="For one mutant, as in 60s or 2m.")]
ListMutants = Annotated[bool, _option("--list", text="Show the mutants, and run none.")]
OnlyMutant = Annotated[str, _option("--only", metavar="ID", text="One mutant, or those whose id contains this.")]
ShowMutant = Annotated[str, _option("--show", metavar="ID", text="Show mutants as diffs, and run none.")]
Fresh = Annotated[bool, _option("--fresh/--resume", text="Run again what is known, or (unless given) go on.")]
Survivors = Annotated[bool, _option("--survivors", text="Show who survived so far, and run none.")]
WriteDocs = Annotated[bool, _option("--write-docs", text="Write docs/mutation.md from what is known, and run none.")]
DecidingTests = Annotated[list[str], _option("--tests", metavar="PATH", text="Only these tests decide (repeatable).")]
NoFuzz = Annotated[bool, _option("--no-fuzz", text="The fuzzer is not asked.")]
Stricter = Annotated[bool, _option("--stricter", text="Mutants too that can only make the kernel refuse more.")]


@app.command(name="mutate", help=_MUTATE, short_help="Plant faults in the trusted rules; a test must notice each.")
def mutate_rules(  # noqa: PLR0913, PLR0917 (each is an option)
    what: What = [],  # noqa: B006 (typer copies it)
    operators: Operators = [],  # noqa: B006
    jobs: MutantJobs = 2,
    budget: Seconds = "60s",
    list_them: ListMutants = False,
    only: OnlyMutant = "",
    show: ShowMutant = "",
    fresh: Fresh = False,
    survivors: Survivors = False,
    write_docs: WriteDocs = False,
    tests: DecidingTests = [],  # noqa: B006
    no_fuzz: NoFuzz = False,
    stricter: Stricter = False,
    json: Json = False,
) -> None:
    """Plant faults in the trusted rules; a test must notice each."""
    from verified_tir.cli.mutate import Options, run, seconds

    options = Options(
        tuple(what), tuple(operators), jobs, seconds(budget), list_them, only, show, fresh, survivors, write_docs,
        no_fuzz, stricter, tuple(tests), json,
    )  # fmt: skip
    raise typer.Exit(run(options))


_FUZZ = """Look for mistakes of vtir itself with random programs and schedules.

Each target draws cases and checks a property: what the kernel accepts computes the same, before, after and compiled, \
bit for bit; what is refused with a counterexample really differs; programs printed are read back (--list-targets). \
A case that fails is made smaller and written as a pytest file. A case that kills its process, or does not end, is a \
finding, too.

Examples:

\b
  vtir fuzz --time 10m --jobs 2                        all targets that run here
  vtir fuzz --target kernel --target codegen --time 1h two of them
  vtir fuzz --seed 7 --examples 200                    the same cases, whoever runs it
  vtir fuzz --database redis://host:6379/0 --time 8h   several machines share what fails
  vtir fuzz --replay fuzz-findings                     which findings still fail?

A run that was interrupted goes on when the same command is given again; totals and coverage are kept over all runs. \
Exit code: 0 if nothing was found; 1 if something was; 2 for a mistake; 130 if interrupted.
"""

FuzzTime = Annotated[
    str, _option("--time", metavar="DURATION", text="As 90s, 10m or 1h30m; 10m unless --examples is given.")
]
FuzzJobs = Annotated[int, typer.Option("--jobs", "-j", metavar="N", min=1, help="Processes.")]
FuzzTargets = Annotated[
    list[str], _option("--target", metavar="NAME", text="Only this one; may be repeated. Or module:ATTRIBUTE.")
]
FuzzSeed = Annotated[int | None, _option("--seed", metavar="N", least=0, text="Decides all cases; a new one if none.")]
FuzzExamples = Annotated[
    int | None, _option("--examples", metavar="N", least=1, text="Cases of each target, and then end.")
]
FuzzFindings = Annotated[Path, typer.Option("--findings", metavar="DIR", help="Where findings are written.")]
FuzzDatabase = Annotated[
    str, _option("--database", metavar="DIR|URL", text="Failing cases: a folder, or redis://host:port/db.")
]
FuzzResume = Annotated[
    bool | None,
    _option(
        "--resume/--fresh",
        text="Go on with the last seed, or forget all earlier runs; go on only if interrupted unless given.",
    ),
]
FuzzState = Annotated[Path, typer.Option("--state", metavar="DIR", help="Where the campaign remembers.")]
FuzzRegressions = Annotated[
    Path, typer.Option("--regressions", metavar="DIR", help="Tests of earlier findings: known if they still fail.")
]
FuzzTimeout = Annotated[
    str, typer.Option("--timeout", metavar="DURATION", help="A case that takes longer is a finding.")
]
FuzzShrink = Annotated[str, typer.Option("--shrink", metavar="DURATION", help="For making a finding smaller, at most.")]
FuzzList = Annotated[bool, _option("--list-targets", text="Say which targets there are.")]
FuzzReplay = Annotated[
    list[Path], _option("--replay", metavar="FILE|DIR", text="Run the files of findings again instead.")
]


@app.command(help=_FUZZ, short_help="Look for mistakes of vtir with random programs.")
def fuzz(  # noqa: PLR0913, PLR0917 (each is an option)
    time: FuzzTime = "",
    jobs: FuzzJobs = 1,
    target: FuzzTargets = [],  # noqa: B006 (typer copies it)
    seed: FuzzSeed = None,
    examples: FuzzExamples = None,
    findings: FuzzFindings = Path("fuzz-findings"),
    database: FuzzDatabase = "",
    resume: FuzzResume = None,
    state: FuzzState = Path(".vtir-fuzz"),
    regressions: FuzzRegressions = Path("tests/regressions"),
    timeout: FuzzTimeout = "120s",
    shrink: FuzzShrink = "60s",
    list_targets: FuzzList = False,
    replay: FuzzReplay = [],  # noqa: B006 (typer copies it)
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Look for mistakes of vtir itself with random programs and schedules."""
    if json and quiet:
        raise typer.BadParameter("--json and --quiet exclude each other")
    from verified_tir.cli.fuzz import Options, run

    options = Options(
        time, jobs, tuple(target), seed, examples, findings, database, resume, state, regressions, timeout, shrink,
        json, quiet, list_targets, tuple(replay),
    )  # fmt: skip
    raise typer.Exit(run(options))


_CACHE = """Show what is kept on disk between runs: compiled programs, and verdicts of the solver.

It is in $VTIR_CACHE_DIR, or verified_tir in $XDG_CACHE_HOME or ~/.cache. Verdicts are kept by the text of the query, \
the budget and the solver's version; VTIR_VERDICT_CACHE=off keeps none.
"""

Clear = Annotated[bool, _option("--clear", text="Remove it all.")]


@app.command(name="cache", help=_CACHE, short_help="Show or clear what is kept between runs.")
def show_cache(clear: Clear = False) -> None:
    """Show or clear what is kept between runs."""
    from verified_tir.cli.cache import run

    raise typer.Exit(run(clear=clear))


def main() -> None:
    """The entry point of the command ``vtir``."""
    if hasattr(signal, "SIGPIPE"):  # `vtir lower … | head` ends like any other command
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    app(prog_name="vtir")
