"""Tokens of LLVM IR text, and a reader over those of one line."""

from __future__ import annotations

import re
from typing import final

from verified_tir.validate.memory import Refused

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<local>%(?:"[^"]*"|[-\w.$]+))
      | (?P<global>@(?:"[^"]*"|[-\w.$]+))
      | (?P<metadata>!(?:[A-Za-z_][-\w.$]*|\d+)?)
      | (?P<group>\#\d+)
      | (?P<string>c?"[^"]*")
      | (?P<float>[-+]?\d+\.\d*(?:e[-+]?\d+)?|0x[HRKLM]?[0-9A-Fa-f]+)
      | (?P<number>-?\d+)
      | (?P<word>[A-Za-z_$][-\w.$]*)
      | (?P<dots>\.\.\.)
      | (?P<punctuation>[][(){}<>,=*:|])
    """,
    re.VERBOSE,
)


@final
class Reader:
    """Reads one line of text token by token."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.kinds: list[str] = []
        self.tokens: list[str] = []
        at = 0
        while at < len(line):
            found = _TOKEN.match(line, at)
            if found is None:
                if line[at] == ";":
                    break
                raise self.refused(f"the character {line[at]!r}")
            at = found.end()
            if found.lastgroup != "space":
                self.kinds.append(found.lastgroup or "")
                self.tokens.append(found.group())
        self.at = 0

    def refused(self, what: str) -> Refused:
        """What is not understood, as an exception that shows the line."""
        return Refused(f"LLVM IR: {what} is not understood in: {self.line.strip()[:160]}")

    @property
    def here(self) -> str:
        """The next token; empty at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    @property
    def kind(self) -> str:
        """What the next token is; empty at the end."""
        return self.kinds[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        found = self.here
        if not found:
            raise self.refused("the end of the line")
        self.at += 1
        return found

    def accept(self, token: str) -> bool:
        if self.here == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.refused(f"{self.here or 'the end'!r} in place of {token!r}")

    def number(self) -> int:
        if self.kind != "number":
            raise self.refused(f"{self.here!r} in place of a number")
        return int(self.take())

    def local(self) -> str:
        """A local name without ``%`` and quotes."""
        if self.kind != "local":
            raise self.refused(f"{self.here!r} in place of a local name")
        return self.take()[1:].strip('"')

    def skip_parentheses(self) -> None:
        """Pass everything between an opening parenthesis and the one that closes it."""
        self.expect("(")
        depth = 1
        while depth:
            token = self.take()
            depth += {"(": 1, ")": -1}.get(token, 0)
