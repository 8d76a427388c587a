"""What a module says of its target is part of what it means: known and as it is taken for granted, or refused."""

from __future__ import annotations

import pytest

from verified_tir.validate.llvm.parser import parse
from verified_tir.validate.llvm.validator import printed
from verified_tir.validate.memory import Refused

KERNEL = "define i32 @vtir_kernel(ptr %a) {\n  store i64 1, ptr %a\n  ret i32 0\n}\n"


def read(*lines: str) -> None:
    parse(printed("\n".join([*(f"target {line}" for line in lines), KERNEL])))


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ('triple = "x86_64-unknown-linux-gnu"',),
        ('triple = "arm64-apple-darwin23"',),
        ('datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"',),
        ('datalayout = "e-m:o-i64:64-i128:128-n32:64-S128-Fn32"',),
        ('datalayout = "e-p:64:64:64-i64:64-v128:128"', 'triple = "aarch64-linux-gnu"'),
    ],
)
def test_targets_that_mean_what_is_taken_for_granted(lines: tuple[str, ...]) -> None:
    read(*lines)


@pytest.mark.parametrize(
    "line",
    [
        'datalayout = "E-m:e-i64:64"',
        'datalayout = "i64:64"',
        'datalayout = "e-i64:64-p:32:32"',
        'datalayout = "e-i64:32"',
        'datalayout = "e-m:e"',
        'datalayout = "e-i64:64-i32:64"',
        'datalayout = "e-i64:64-f64:32:64"',
        'datalayout = "e-i64:64-v128:64"',
        'datalayout = "e-i64:64-A5"',
        'datalayout = "e-i64:64-ni:0"',
        'triple = "powerpc64-unknown-linux-gnu"',
        'triple = "s390x-linux-gnu"',
        'triple = "i686-pc-linux-gnu"',
        'triple = "x86_64-linux-gnux32"',
        'triple = "nvptx64-nvidia-cuda"',
        'triple = "none"',
    ],
)
def test_others_are_refused(line: str) -> None:
    with pytest.raises(Refused):
        read(line)
