"""What waits within a task, and what runs meanwhile.

A task that waits for a value keeps its stack; the worker's CPU goes to others, so others may run here, too. The task that has the main thread runs the loop itself while it waits, and what
begins then gets a thread of its own. Of all these threads one runs at a time: it hands the turn on only where it waits or ends, so nothing here is ever touched by two, and a task never
meets another between two lines that do not wait. Methods of actors that run on threads are another matter: their code runs without the turn, and takes it for
what it does with the cluster. So do threads that such code starts.
"""

import threading
import time

from ._interrupts import TaskInterrupted


class _Stack:
    """A thread beside the main one, and the turn that it takes and hands on."""

    def __init__(self, worker, job):
        self.worker = worker
        self.job = job
        #: What it waits for; None while it may run.
        self.waiter = None
        self.has_ended = False
        #: It runs beside the others, without the turn.
        self.is_outside = False
        self._turn = threading.Semaphore(0)
        self._back = threading.Semaphore(0)

    def switch(self):
        """On the main thread: lets it run until it waits or ends. Signals are handled meanwhile."""
        self._turn.release()
        self._back.acquire()

    def hand_back(self):
        """On its own thread, where it waits."""
        self._back.release()
        self._turn.acquire()

    def take_turn(self):
        """On its own thread, without the turn."""
        self.worker.wants_turn(self)
        self._turn.acquire()
        self.is_outside = False

    def leave_turn(self):
        # Before the main thread notices, this one may already ask again.
        self.is_outside = True
        self._back.release()


class SideStack(_Stack):
    """A job on a thread of its own."""

    def __init__(self, worker, job):
        super().__init__(worker, job)
        self._thread = threading.Thread(target=self._run, name="shoal-task", daemon=True)
        self._thread.start()

    @property
    def thread(self):
        return self._thread.ident

    def outside(self, body):
        """On its own thread: runs what is the user's beside all others."""
        self.leave_turn()
        try:
            return body()
        finally:
            self.take_turn()

    def _run(self):
        self._turn.acquire()
        try:
            self.worker.run_job(self.job)
        except SystemExit:
            # The main thread ends the process.
            pass
        self.has_ended = True
        self._back.release()


class GuestStack(_Stack):
    """A thread that the code of an actor has started itself, for as long as it uses the cluster once."""

    def __init__(self, worker):
        super().__init__(worker, _GuestJob(worker.actor))
        self.thread = threading.get_ident()
        self.is_outside = True

    def leave_turn(self):
        self.has_ended = True
        super().leave_turn()


class _GuestJob:
    """The job of a guest thread: counts as a call of the actor, and cannot be cancelled."""

    is_actor_call = True
    is_asynchronous = False
    is_cancelled = False
    was_told = False

    def __init__(self, actor):
        self.name = actor.class_name


class Waiter:
    """One wait of the task that runs now."""

    def __init__(self, worker, is_done, timeout):
        self._worker = worker
        self._is_done = is_done
        self._deadline = None if timeout is None else time.monotonic() + timeout

        self.job = None

    @property
    def deadline(self):
        return self._deadline

    @property
    def _is_cancelled(self):
        job = self.job
        return job is not None and job.is_cancelled and not job.was_told

    def is_over(self):
        return self._is_done() or self._is_cancelled or (self._deadline is not None and time.monotonic() >= self._deadline)

    def run(self):
        """@returns whether it came true; false when the time was over. @raises TaskInterrupted when the task is cancelled meanwhile"""
        worker = self._worker
        job = self.job = worker.current if worker.current is not worker.actor else None
        worker.pump.turn(0)
        if not self.is_over():
            stack = worker.side_stack
            marked = worker.interrupts.pause()
            try:
                if stack is None:
                    worker.loop(self)
                else:
                    worker.wait_aside(stack, self)
            finally:
                worker.interrupts.resume(marked)
        if self._is_cancelled:
            job.was_told = True
            raise TaskInterrupted("the task was cancelled")
        return self._is_done()
