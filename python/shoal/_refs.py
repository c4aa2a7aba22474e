"""The objects that this process knows, and what it tells the node daemon about them and about stored bytes: in batches, without waiting.

An ``Entry`` stands for one object; it lives as long as something in this process needs it (a reference in the user's hands, an argument that is read, a view of shared
memory). Of an object that came from elsewhere its end is the release of the holds that came with it. One that was made here (put, or the result of a call) is this process' own until it
is sent on: then the node daemon becomes its owner and gets its value. Within a batch holds go before releases, so that handing a reference on and dropping one's own
never leaves it unheld.
"""

import weakref

from . import _messages as message
from ._limits import IDS_IN_MESSAGE_MAX


class Entry:
    """One object of the cluster, as far as this process knows it."""

    __slots__ = ("id", "owner", "holds", "table", "payload", "failure", "is_watched", "maker", "origin", "callbacks", "definition", "__weakref__")

    def __init__(self, id_, owner, table):
        self.id = id_
        #: None: it was made here and nobody else knows it.
        self.owner = owner
        self.holds = 0
        self.table = table
        self.payload = None
        self.failure = None
        self.is_watched = False
        #: The call that makes it, until it has.
        self.maker = None
        #: The call that has made it, where it can make it again.
        self.origin = None
        #: Called once it is settled.
        self.callbacks = None
        #: The id of the definition that it keeps, where a value needs that to be read.
        self.definition = None

    @property
    def is_settled(self):
        return self.payload is not None or self.failure is not None

    def when_settled(self, callback):
        if self.is_settled:
            callback()
        elif self.callbacks is None:
            self.callbacks = [callback]
        else:
            self.callbacks.append(callback)

    def tell_settled(self):
        callbacks, self.callbacks = self.callbacks, None
        for callback in callbacks or ():
            callback()

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        """What the user copies shares it: its holds are counted once."""
        return self

    def __del__(self):
        # In whichever thread drops it last.
        if self.holds:
            self.table.releases.append([self.id, self.holds, self.owner])
        if self.owner is None and self.payload is not None and self.payload.location is not None:
            self.table.freed_own.append(self.payload.location)


class CopyHold:
    """Keeps a copy of another node's object, and the hold of the object, for as long as something shows it."""

    __slots__ = ("_table", "_location", "_entry")

    def __init__(self, table, location, entry):
        self._table = table
        self._location = location
        self._entry = entry

    def __del__(self):
        self._table.copies.append(self._location)


class RefTable:
    def __init__(self, daemon, process_id, daemon_id):
        self._daemon = daemon
        self._process_id = process_id
        self._daemon_id = daemon_id
        self._entries = weakref.WeakValueDictionary()
        #: Own objects that others know and that have no value yet: they are made in any case.
        self._owed = {}
        self.holds = []
        self.releases = []
        self.sealed = []
        self.freed = []
        #: Places of own objects that nobody needs any more.
        self.freed_own = []
        #: Copies of other nodes' objects that are needed no more.
        self.copies = []
        self.free_stored = None
        #: What others wrote for this process, by place.
        self.claimed = {}
        self.on_settled = lambda: None

    def receive(self, id_, owner):
        """A reference that came with a hold for this process."""
        entry = self._entries.get(id_)
        if entry is None:
            entry = Entry(id_, owner, self)
            self._entries[id_] = entry
        elif entry.owner is None:
            entry.owner = owner
        entry.holds += 1
        return entry

    def owned_by(self, tag):
        """What waits for processes whose ids begin so."""
        return [entry for entry in list(self._entries.values()) if entry.owner is not None and entry.owner.startswith(tag) and entry.is_watched and not entry.is_settled]

    def lookup(self, id_):
        return self._entries.get(id_)

    def own(self, id_):
        """An object that is made here."""
        entry = Entry(id_, None, self)
        self._entries[id_] = entry
        return entry

    def hold_new(self, id_):
        """What the daemon owns from the beginning, and this process holds: an actor that it creates."""
        self.holds.append([id_, self._daemon_id, self._process_id])
        return self.receive(id_, self._daemon_id)

    def publish(self, entry):
        """An own object is about to be named in bytes that leave this process: the daemon owns it from now on."""
        if entry.owner is not None:
            return
        entry.owner = self._daemon_id
        entry.holds += 1
        self.holds.append([entry.id, entry.owner, self._process_id])
        if entry.is_settled:
            self._provide(entry)
        else:
            self._owed[entry.id] = entry
            self.flush()
            self._daemon.send(message.REF_ADOPT, [entry.id])

    def settle(self, entry, payload):
        if entry.is_settled:
            return
        entry.payload = payload
        entry.maker = None
        if payload.location is not None and entry.owner is None:
            self.claimed[_place_of(payload.location)] = True
        if self._owed.pop(entry.id, None) is not None:
            self._provide(entry)
        if entry.callbacks is not None:
            entry.tell_settled()
        self.on_settled()

    def owe(self, entry):
        """The daemon is its owner, and waits for its value once more."""
        self._owed[entry.id] = entry

    def discard(self, payload):
        """A value that came too late: what was written for this process is given back; holds go with the payload."""
        if payload.location is not None and payload.entry is None:
            self.freed_own.append(payload.location)

    def _provide(self, entry):
        payload = entry.payload
        for inner in payload.refs:
            self.publish(inner)
            self.hold(inner.id, inner.owner, self._daemon_id)
        if payload.location is not None:
            self.claimed.pop(_place_of(payload.location), None)
        self.flush()
        self._daemon.send(message.REF_VALUE, [entry.id, self._daemon_id, payload.header()], parts=payload.parts())

    def watch(self, entry):
        """The value of an object of somebody else is waited for."""
        if entry.is_watched or entry.is_settled or entry.owner is None or entry.maker is not None:
            return
        entry.is_watched = True
        self.flush()
        self._daemon.send(message.REF_WATCH, [entry.id, entry.owner])

    def when_all_settled(self, entries, callback):
        """Calls back once all of them have settled; at once where they have."""
        missing = [entry for entry in entries if not entry.is_settled]
        left = len(missing)

        def settled():
            nonlocal left
            left -= 1
            if left == 0:
                callback()

        for entry in missing:
            entry.when_settled(settled)
            self.watch(entry)
        if not missing:
            callback()

    def hold(self, id_, owner, holder, number=None):
        """One more hold for another process; ``number``: ``(link, number)`` of the message that it comes with."""
        self.holds.append([id_, owner, holder] if number is None else [id_, owner, holder, number[0], number[1]])

    def flush(self):
        """What is told to the daemon, in the order that the protocol wants."""
        while self.freed_own:
            location = self.freed_own.pop()
            self.claimed.pop(_place_of(location), None)
            self.freed.append([location, self.free_stored(location)])
        if not (self.holds or self.releases or self.sealed or self.freed or self.copies):
            return
        self._send("sealed", message.STORE_SEALED)
        self._send("holds", message.REF_HOLD)
        self._send("releases", message.REF_RELEASE)
        self._send("freed", message.STORE_FREED)
        self._send("copies", message.COPY_RELEASE)

    def _send(self, name, kind):
        batch = getattr(self, name)
        if not batch:
            return
        setattr(self, name, [])
        for start in range(0, len(batch), IDS_IN_MESSAGE_MAX):
            self._daemon.send(kind, batch[start : start + IDS_IN_MESSAGE_MAX])

    def unclaimed(self, locations):
        """Those that this process has never heard of, of what a process wrote for it that has ended."""
        return [location for location in locations if _place_of(location) not in self.claimed]


def _place_of(location):
    return location[0], location[1]
