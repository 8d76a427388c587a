"""Hypothesis strategies and assertions for programs, schedules and compilers (extra ``testing``)."""
