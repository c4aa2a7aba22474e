"""A TCP port that belongs to this rank from its start on: nobody else can get it between the moment when it is told to others and the one when a framework listens there."""

import socket


class RendezvousPort:
    def __init__(self):
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.bind(("", 0))
        self._socket.listen(128)
        self.number = self._socket.getsockname()[1]

    def take(self):
        """The descriptor of the listening socket, for a framework that takes one over; it closes it."""
        return self._socket.detach()

    def release(self):
        """For a framework that can only listen by itself, right before it does."""
        self._socket.close()
