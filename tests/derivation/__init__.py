"""Theorems as data: spelling, reading, deriving again."""
