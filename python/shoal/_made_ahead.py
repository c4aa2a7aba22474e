"""Batches that a thread makes while the program uses the one before, so that a loop that computes does not wait for them.

``_data_iterator.py`` uses it where a thread may use the cluster beside its caller: in ranks of trainers and in other actors that run several calls at once. The thread ends with the batches, and
when nobody wants them any more.
"""

import queue
import threading


class MadeAhead:
    """Iterates a generator on a thread of its own. What the generator raises is raised where its turn comes.

    :param count: batches that are made beyond the one in use
    """

    def __init__(self, batches, count):
        self._batches = batches
        self._made = queue.SimpleQueue()
        self._room = threading.Semaphore(count)
        self._is_closed = False
        threading.Thread(target=self._run, name="shoal-batches", daemon=True).start()

    def __iter__(self):
        while True:
            kind, value = self._made.get()
            if kind == "end":
                return
            if kind == "error":
                raise value
            self._room.release()
            yield value
            # The caller may have dropped it: it must not be kept until the next one is there.
            value = None

    def close(self):
        """Nothing more is made. What is under way ends by itself."""
        self._is_closed = True
        self._room.release()

    def _run(self):
        try:
            while True:
                self._room.acquire()
                if self._is_closed:
                    return
                batch = next(self._batches, _END)
                if batch is _END:
                    break
                self._made.put(("batch", batch))
                del batch
            self._made.put(("end", None))
        except BaseException as error:
            self._made.put(("error", error))
        finally:
            self._batches.close()


_END = object()
