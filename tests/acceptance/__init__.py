"""Legal schedules, as a kernel engineer would write them: they have to be accepted."""
