"""Which task runs on this worker, and under which resources.

Tasks run one at a time, in the order in which they came. The worker runs under the resources of one shape (its slot), which the daemon gives and takes; for a task
of another shape it asks. When its last lease has ended, it says so as soon as nothing runs here. A task that waits gives its slot back, and takes it again
before it goes on. Until then the worker is reserved: tasks queued behind that one go back to their callers. Only a worker that the daemon leases all the
same, as too many are parked, begins others meanwhile.
"""

from collections import deque

from ._limits import PARK_AFTER_SECONDS

_ANY = object()


class Executor:
    def __init__(self, pump, send_park, send_unpark, has_queued):
        self._pump = pump
        self._send_park = send_park
        self._send_unpark = send_unpark
        #: Whether calls of this process wait for a lease.
        self._has_queued = has_queued
        self._queue = deque()
        self._resumable = deque()
        self._parked = 0
        self._slot = _ANY
        self._slot_asked = False
        self._slot_is_borrowed = False
        self._owes_report = False
        self._park_timer = None
        self._decline_timer = None
        #: Further tasks begin here while others wait.
        self._is_shared = False
        #: The daemon has leased this worker while a task waited here, and has not said yet that processes may be had again.
        self._is_crowded = False

    @property
    def _is_reserved(self):
        return self._parked > 0 and not self._is_shared

    @property
    def has_parked(self):
        """Whether tasks that have begun wait in this process."""
        return self._parked > 0

    def enqueue(self, job):
        self._queue.append(job)
        if self._is_reserved:
            self._decline_later()

    def resume(self, job):
        """A parked job may go on."""
        self._resumable.append(job)

    def park(self, job):
        """A job has begun and waits."""
        self._parked += 1
        job.tell_parked()
        if self._queue and self._is_reserved:
            self._decline_later()

    def _decline_later(self):
        """After a moment, as the lease by which the daemon shares this worker may be on its way with the job, and a short wait may be over."""
        if self._decline_timer is None:
            self._decline_timer = self._pump.after(PARK_AFTER_SECONDS, self._decline_if_reserved)

    def _decline_if_reserved(self):
        self._decline_timer = None
        if self._is_reserved:
            self.decline_queued()

    def decline_queued(self):
        """Nothing more is to begin here: those that are cancelled are answered, as ever."""
        queue, self._queue = self._queue, deque()
        for job in queue:
            if job.is_cancelled or job.is_ended:
                self._queue.append(job)
            else:
                job.server.decline(job)

    def next(self):
        """The job that may run now, if there is one."""
        while self._resumable:
            job = self._resumable[0]
            if not self._may_run(job.shape):
                return None
            self._resumable.popleft()
            self._parked -= 1
            if self._parked == 0:
                self._is_shared = self._is_crowded
            return job
        while self._queue:
            job = self._queue[0]
            if self._is_reserved and not (job.is_ended or job.is_cancelled):
                return None
            if not job.is_ended and not self._may_run(job.shape):
                return None
            self._queue.popleft()
            return job
        return None

    def idle(self):
        """Nothing can run now."""
        if self._resumable or self._slot_asked or (self._queue and not self._is_reserved):
            return
        # The children run elsewhere, and may need this CPU.
        if self._owes_report or (self._is_reserved and self._should_park() and self._has_queued()):
            self._park()
        elif self._should_park() and self._park_timer is None:
            self._park_timer = self._pump.after(PARK_AFTER_SECONDS, self._park_if_idle)

    def slot_granted(self, shape, is_answer, is_leased):
        # A grant that crossed with our question is taken back; the question gets its own answer.
        if self._slot_asked and not is_answer:
            return
        self._slot_asked = False
        self._owes_report = False
        self._slot_is_borrowed = not is_leased
        self._slot = shape
        if not is_answer and self._parked > 0:
            self._is_shared = True
            self._is_crowded = True

    def keep_apart(self):
        """Processes may be had again: a task that waits from now on has this one for itself."""
        self._is_crowded = False
        if self._parked == 0:
            self._is_shared = False

    def lease_ended(self, is_last):
        if is_last:
            self._owes_report = True

    def _may_run(self, shape):
        if self._slot is _ANY or self._slot == shape:
            self._slot = shape
            return True
        if not self._slot_asked:
            self._slot_asked = True
            self._slot = None
            self._send_unpark(shape)
        return False

    def _should_park(self):
        return self._slot is not None and (self._parked > 0 or self._slot_is_borrowed)

    def _park_if_idle(self):
        self._park_timer = None
        if self._resumable or self._slot_asked or (self._queue and not self._is_reserved):
            return
        if self._should_park():
            self._park()

    def _park(self):
        if self._is_reserved:
            self.decline_queued()
        if self._parked <= 1 and not self._is_crowded:
            self._is_shared = False
        self._slot = _ANY if self._owes_report and self._parked == 0 else None
        self._slot_is_borrowed = False
        is_report = self._owes_report
        self._owes_report = False
        self._send_park(self._parked, is_report)
