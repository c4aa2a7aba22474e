"""A TCP port that belongs to this rank from its start on: nobody else can get it between the moment when it is told to others and the one when a framework listens there.

It is bound and does not listen before that: who comes too early is refused and tries again, where a connection that nobody accepts would break when the framework takes over.
"""

import socket


class RendezvousPort:
    def __init__(self):
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.bind(("", 0))
        self.number = self._socket.getsockname()[1]

    def take(self):
        """The descriptor of the socket, which listens now, for a framework that takes one over and closes it."""
        self._socket.listen(128)
        return self._socket.detach()

    def release(self):
        """For a framework that can only listen by itself, right before it does."""
        self._socket.close()
