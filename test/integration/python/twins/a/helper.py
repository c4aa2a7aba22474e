"""Of the folder a."""

VALUE = "helper of a"


class Thing:
    OF = "a"

    def __init__(self, name):
        self.name = name
