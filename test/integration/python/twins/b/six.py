"""Of the folder b."""

VALUE = "six of b"
