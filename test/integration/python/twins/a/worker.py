"""Of the folder a."""

VALUE = "worker of a"
