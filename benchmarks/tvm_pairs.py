"""How many pairs recorded from another compiler the validator decides, and why not the others.

    python benchmarks/tvm_pairs.py pairs.jsonl.gz --class plain --jobs 2

The table has verdicts by class and size, the share decided of the supported pairs, reasons with the pairs' ids, the
slowest pairs and the total time.  It is the command ``vtir validate PAIRS`` with only the table printed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from verified_tir.cli.pair_table import table
from verified_tir.cli.validate import fields
from verified_tir.validate.batch import judge_file
from verified_tir.validate.pairs import MOST_OPERATIONS, Budget
from verified_tir.validate.recorded import BadRecord, read_records


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, metavar="FILE.jsonl.gz")
    parser.add_argument("--class", dest="group", default="all", help="plain, gpu, opaque or all")
    parser.add_argument("-k", dest="only", default="", help="only pairs whose id or kind contains this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=0, help="the first pairs only")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for a pair")
    parser.add_argument("--most-operations", type=int, default=MOST_OPERATIONS)
    parser.add_argument("--json", type=Path, help="write every judgement to this file, one object a line")
    options = parser.parse_args()
    try:
        records = [
            r for r in read_records(options.file)
            if r.after is not None and options.group in ("all", r.group) and options.only in r.name
        ]  # fmt: skip
    except (OSError, BadRecord) as problem:
        parser.error(str(problem))
    records = records[: options.limit or None]
    budget = Budget(options.most_operations, options.timeout)
    seen = []
    lines = options.json.open("w", encoding="utf-8") if options.json else None
    for one in judge_file(records, {}, budget, jobs=options.jobs):
        seen.append(one)
        if lines:
            print(json.dumps(fields(one)), file=lines, flush=True)
        if sys.stderr.isatty():
            print(f"\r{len(seen)}/{len(records)}", end="", file=sys.stderr, flush=True)
    print(table(seen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
