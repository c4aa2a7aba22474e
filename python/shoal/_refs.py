"""The references that this process holds, and what it tells the node daemon about them and about stored objects: in batches, without waiting.

Whoever sends a reference registers a hold for its receiver, who releases it. Here an ``Entry`` stands for one object; it lives as long as something in this
process needs it (a reference in the user's hands, an argument that is read, a view of shared memory), and its end is the release. Within a batch holds go before
releases, so that handing a reference on and dropping one's own never leaves it unheld.
"""

import weakref

from . import _messages as message

#: A batch is cut well below the size of a frame.
_BATCH_MAX = 20000


class Entry:
    """One object of the cluster, as far as this process knows it."""

    __slots__ = ("id", "owner", "holds", "table", "__weakref__")

    def __init__(self, id_, owner, table):
        self.id = id_
        self.owner = owner
        self.holds = 0
        self.table = table

    def __del__(self):
        # In whichever thread drops it last.
        if self.holds:
            self.table.releases.append([self.id, self.holds, self.owner])


class RefTable:
    def __init__(self, daemon):
        self._daemon = daemon
        self._entries = weakref.WeakValueDictionary()
        self.holds = []
        self.releases = []
        self.sealed = []
        self.freed = []

    def receive(self, id_, owner):
        """A reference that came with a hold for this process."""
        entry = self._entries.get(id_)
        if entry is None:
            entry = Entry(id_, owner, self)
            self._entries[id_] = entry
        entry.holds += 1
        return entry

    def lookup(self, id_):
        return self._entries.get(id_)

    def hold(self, id_, owner, holder, answer=None):
        """One more hold for another process; ``answer``: ``(link, number)`` of the answer that it comes with."""
        self.holds.append([id_, owner, holder] if answer is None else [id_, owner, holder, answer[0], answer[1]])

    def flush(self):
        """What is told to the daemon, in the order that the protocol wants."""
        if not (self.holds or self.releases or self.sealed or self.freed):
            return
        self._send("sealed", message.STORE_SEALED)
        self._send("holds", message.REF_HOLD)
        self._send("releases", message.REF_RELEASE)
        self._send("freed", message.STORE_FREED)

    def _send(self, name, kind):
        batch = getattr(self, name)
        if not batch:
            return
        setattr(self, name, [])
        for start in range(0, len(batch), _BATCH_MAX):
            self._daemon.send(kind, batch[start : start + _BATCH_MAX])
