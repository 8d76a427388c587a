"""All malformed models, or some."""

from __future__ import annotations

import argparse
import sys
import time

from tests.graph.malformed import __doc__ as text
from tests.graph.malformed.judge import COMMANDS, judged, prepare
from tests.graph.malformed.mutations import cases
from verified_tir.durations import duration


def main() -> int:
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases with this in their names")
    parser.add_argument("--command", action="append", choices=COMMANDS, help="only this; all if none")
    parser.add_argument("--every", type=int, default=1, help="only one in so many")
    parser.add_argument("--verbose", action="store_true", help="what was said of each")
    options = parser.parse_args()
    every = [c for c in cases() if options.only in c.name][:: options.every]
    prepare()
    wrong = refused = 0
    start = time.perf_counter()
    for case in every:
        for command in options.command or COMMANDS:
            found = judged(case, command)
            wrong, refused = wrong + bool(found.wrong), refused + (found.code > 0)
            if found.wrong or options.verbose or found.seconds > 10:
                print(
                    f"{case.name}: {command}: {found.wrong or found.said[:300]} ({duration(found.seconds)})", flush=True
                )
    print(f"{len(every)} models, {refused} refused, {wrong} wrong, {duration(time.perf_counter() - start)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
