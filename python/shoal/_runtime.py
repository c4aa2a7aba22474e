"""The worker that this process is, for the public functions; None in a process that is none."""

current = None
