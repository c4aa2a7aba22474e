"""The part of vLLM's module of the same name that is used."""


class RequestOutputKind:
    DELTA = "delta"
