"""Of the folder b."""

VALUE = "later of b"
