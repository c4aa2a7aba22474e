"""How far this process has read what others sent it with holds, link by link, while a link is open and for a while after.

When a link has ended, or its sender, each daemon that counts holds of its messages asks how far it was read. That can be said once nothing more comes. A link over which
nothing with holds came is forgotten at its end; of the others the last thousand are kept. Of one that was forgotten all counts as read.
"""

from collections import deque

from ._limits import ENDED_LINKS_MAX

_ALL = 2**53 - 1


class ReadLinks:
    """``tell(sender, link, number, asker)`` answers a question. Links are named as the daemon does: calls by the negative number."""

    def __init__(self, tell):
        self._tell = tell
        self._open = {}
        self._read = {}
        self._ended = deque()
        self._forgotten = {}

    def opened(self, sender, link):
        self._open[(sender, link)] = []

    def ended(self, sender, link, held_read):
        askers = self._open.pop((sender, link), ())
        if held_read:
            self._read[(sender, link)] = held_read
            self._ended.append((sender, link))
        if len(self._ended) > ENDED_LINKS_MAX:
            oldest = self._ended.popleft()
            del self._read[oldest]
            self._forgotten[oldest[0]] = max(abs(oldest[1]), self._forgotten.get(oldest[0], 0))
        for asker in askers:
            self.asked(sender, link, asker)

    def asked(self, sender, link, asker):
        askers = self._open.get((sender, link))
        if askers is not None:
            askers.append(asker)
            return
        unknown = _ALL if abs(link) <= self._forgotten.get(sender, 0) else 0
        self._tell(sender, link, self._read.get((sender, link), unknown), asker)
