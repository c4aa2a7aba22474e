"""The part of vLLM's module of the same name that is used."""


class RequestOutputKind:
    DELTA = "delta"


class StructuredOutputsParams:
    def __init__(self, json=None, json_object=None):
        self.json = json
