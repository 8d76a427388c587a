"""Certificates of schedules that were made in Python, as ``vtir verify --certify`` writes those of files."""

from __future__ import annotations

from pathlib import Path

from verified_tir.certificate.store import save
from verified_tir.certificate.write import Origin, Written
from verified_tir.schedule.schedule import Schedule


def certify(folder: Path | str, **schedules: Schedule) -> None:
    """Write certificates into a folder, which ``vtir check`` reads; each has the name that it is given here.

    Certificates that are there already stay, except those of the same names.

    :raises BadStore: if the folder has certificates that cannot be read.
    :raises OSError: if a file cannot be written.
    """
    written = Written()
    for name, schedule in schedules.items():
        schedule.prove_race_free()
        written.add(name, schedule, Origin(name))
    save(folder, written.certificates, written.queries, constants=written.constants)
