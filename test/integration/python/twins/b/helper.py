"""Of the folder b."""

VALUE = "helper of b"


class Thing:
    OF = "b"

    def __init__(self, name):
        self.name = name
