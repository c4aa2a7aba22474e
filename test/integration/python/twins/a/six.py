"""Of the folder a."""

VALUE = "six of a"
