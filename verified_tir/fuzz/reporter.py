"""The reporter of a campaign: failures of one kind and place become one finding, which is shrunk, written and
shared."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import final

from verified_tir.fuzz.database import Examples
from verified_tir.fuzz.failure import HANG, Failure, Key
from verified_tir.fuzz.findings import Finding, file_text, files_about, free_path, limited, replaying_source, write
from verified_tir.fuzz.finish import Finish
from verified_tir.fuzz.options import Listener, Options
from verified_tir.fuzz.reports import Tally
from verified_tir.fuzz.state import State
from verified_tir.fuzz.worker import Replay


@final
@dataclass(slots=True)
class Reporter:
    """The findings of a campaign, and what workers are still to do about them.

    :param seed: of the campaign.
    :param findings: of this run.
    :param slow: cases that took too long, but not when they were run again.
    :param replayed: cases of the database that were checked again.
    """

    options: Options
    listener: Listener
    state: State
    examples: Examples
    seed: int
    findings: dict[Key, Finding] = field(default_factory=dict)
    finishing: deque[Finish] = field(default_factory=deque)
    replays: deque[Replay] = field(default_factory=deque)
    slow: int = 0
    replayed: int = 0
    looked: float = 0.0
    _seen: dict[str, set[bytes]] = field(default_factory=dict)

    def known(self, target: str) -> frozenset[Key]:
        """The findings about a target."""
        return frozenset(key for key in self.findings if key.target == target)

    def abandon(self) -> None:
        """Write what there was no time to finish."""
        for finding in self.findings.values():
            if not finding.file and not finding.known:
                self.as_it_is(finding)

    def failed(self, failure: Failure, choices: bytes, turn: int, index: int, *, apart: bool = False) -> None:
        """A case failed: a finding, or one more case of it; ``apart`` if it killed its process."""
        key = failure.key
        self.state.count(key.target, Tally(failed=1))
        if key in self.findings:
            self.findings[key].times += 1
            return
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        finding = Finding(key, failure.message, failure.traceback, choices, self.seed, turn, index, now)
        self.findings[key] = finding
        if choices:
            self._seen.setdefault(key.target, set()).add(choices)
            self.examples.save(key.target, choices)
        self.listener.found(finding)
        self.finish(finding, apart=apart)

    def finish(self, finding: Finding, *, apart: bool) -> None:
        """Have a finding made smaller; one that was not the last time is made so now."""
        options = self.options
        about = files_about(finding.key, (options.findings, options.regressions))
        old = self.state.findings.get(finding.key)
        if old is not None and not old.shrunk and not old.flaky and Path(old.file) in about:
            about.remove(Path(old.file))
            finding.file = old.file
        self.finishing.append(Finish(finding, apart, options.shrinking, options.limit, tuple(about)))

    def finished(self, found: Finding) -> None:
        """A finding is as small as it gets, and has a test; or it is known."""
        finding, target = self.findings[found.key], found.key.target
        if found.flaky and found.key.kind == HANG:  # it was the machine that was slow
            self.slow += 1
            self.examples.delete(target, finding.choices)
            del self.findings[found.key]
            self.listener.note(f"{target}: a case took more than {self.options.limit:g} s, but not again")
            return
        if found.choices != finding.choices:
            self._seen.setdefault(target, set()).add(found.choices)
            self.examples.delete(target, finding.choices)
            self.examples.save(target, found.choices)
        found.times = finding.times
        self.findings[found.key] = found
        if found.known:
            self.state.found(found)
        else:
            self._write(found)
        self.listener.finished(found)

    def _write(self, finding: Finding) -> None:
        options = self.options
        path = Path(finding.file) if finding.file else free_path(options.findings, finding.key.name)
        finding.file = str(path)
        write(path, file_text(finding, options.command))
        self.state.found(finding)

    def as_it_is(self, finding: Finding) -> None:
        """Write a finding whose case could not be made smaller."""
        key = finding.key
        source = replaying_source(key, finding.choices, key.name)
        finding.source = limited(source, self.options.limit) if key.kind == HANG else source
        self._write(finding)

    # -- old cases ----------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Cases in the database that were not replayed yet: an earlier campaign's, or another machine's."""
        self.looked = time.monotonic()
        for target in self.options.targets:
            seen = self._seen.setdefault(target, set())
            if fresh := [c for c in self.examples.fetch(target) if c not in seen]:
                seen.update(fresh)
                self.replays.append(Replay(target, tuple(fresh)))

    def tried(self, target: str, choices: bytes, failure: Failure | None) -> None:
        self.replayed += 1
        if failure is None:
            self.examples.delete(target, choices)
        else:
            self.failed(failure, choices, -1, -1)
