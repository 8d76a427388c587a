"""Textbook schedules, one file a topic.  Each is a plain script over the public ``Schedule``."""
