"""Fuzzing campaigns: random programs and schedules against the properties that make the compiler trustworthy."""
