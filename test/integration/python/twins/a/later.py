"""Of the folder a."""

VALUE = "later of a"
