"""Targets of campaigns that look for mistakes of this project: one module a target, and what they draw and forge."""
