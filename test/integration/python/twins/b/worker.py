"""Of the folder b."""

VALUE = "worker of b"
