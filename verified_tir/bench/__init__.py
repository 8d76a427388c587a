"""Kernels, schedules and models, timed beside what else is installed (``vtir bench``).

    case ── results compared with what is expected ──▶ rounds, all in turns ──▶ record ──▶ table, JSON, pictures

Nothing is timed that computes something else than the others do.
"""
