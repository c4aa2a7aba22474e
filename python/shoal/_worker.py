"""The process of a Python worker: started by the node daemon, which gives it its configuration on descriptor 3 and ends with it.

Joins the loop, the connection to the daemon, the callers and what runs here. One thread does all of it: it reads what has come, runs one task or method, sends
the answers, and so on, exactly as a JavaScript worker does; so nothing switches threads on the way of a call, and signals can stop a task.
"""

import gc
import json
import os
import socket
import sys
import threading
import time
from collections import deque
from contextvars import ContextVar

from . import _messages as message
from . import _runtime
from . import _tags as tags
from ._actor import Actor
from ._actor_client import ActorClient
from ._api import lost, revive_handle, value_later
from ._call_server import CallServer
from ._cancellation import Cancellation
from ._codec import Codec, PayloadReader
from ._connection import Connection, decode_header
from ._executor import Executor
from ._functions import revive_class, revive_function
from ._inspection import allow_stacks
from ._interrupts import Interrupts, die_with_parent
from ._copies import exit_as_others
from ._entrance import Entrance, listen, new_proof, places_of
from ._limits import (
    EMPTY_ARENA_KEPT_SECONDS,
    EXIT_WITHIN_SECONDS,
    LOOK_FOR_OPEN_CALLS_SECONDS,
    NODE_TAG_DIGITS,
    RECLAIM_AFTER_IDLE_SECONDS,
    TURN_AFTER_SECONDS,
)
from ._keywords import revive_keywords
from ._network import NetworkListener
from ._open_files import flush_all
from ._outbox import Outboxes
from ._outbound import OutboundCalls
from ._output import mark_output, restore_output
from ._execution_lease import ExecutionLease, end_at_once
from ._proof import TLS_CHANNEL, CallerProof, plain_channel, prove_before, unix_channel
from ._pump import Pump
from ._read_links import ReadLinks
from ._reading import read_arguments, read_value
from ._recorder import new_recorder
from ._refs import RefTable
from ._registered import revive_registered
from ._stacks import GuestStack, SideStack
from ._kept_texts import kept_texts_of
from ._store import Store
from ._submitter import TaskSubmitter
from ._targets import Targets, order_path
from ._unfinished import UnfinishedConnections
from ._wire_error import WireError

_PARENT_FD = 3
#: What takes longer is not begun before the answers of what came before it have left.
_FLUSH_BEFORE_SECONDS = 0.0005
_RECURSION_LIMIT = 5000
#: What is built on the codec, by its kind.
_REVIVERS = {
    tags.KIND_ACTOR: revive_handle,
    tags.KIND_REMOTE_FUNCTION: revive_function,
    tags.KIND_ACTOR_CLASS: revive_class,
    tags.KIND_REGISTERED: revive_registered,
    tags.KIND_KEYWORDS: revive_keywords,
}


class ActorExit(BaseException):
    """Unwinds the method that called ``exit_actor``."""


class Worker:
    exit_class = ActorExit

    def __init__(self, configuration):
        self.configuration = configuration
        self.process_id = configuration["processId"]
        self.pump = Pump()
        if configuration.get("executionLease") is not None:
            lease = ExecutionLease(configuration["executionLease"], end_at_once)
            lease.watch(self.pump)
            self.pump.await_execution_lease = lease.check
        self.current = None
        #: A process that the user's code has forked.
        self.is_copy = False
        self.end_after_answer = None
        #: It takes no task any more: it has run some function as often as that may run in one process, or some task was interrupted here.
        self.is_retiring = False
        #: What its output is marked with, whatever runs; None: with what runs.
        self.output_name = None
        self._counts = {}
        #: The thread beside the main one that has the turn.
        self.side_stack = None
        self._sides = {}
        self._main_thread = threading.get_ident()
        #: What the ids of what is made here begin with.
        self.prefix = os.urandom(6).hex()
        #: The certificate of the node, for connections to others.
        self.identity = configuration.get("identity")
        #: That the node is to be drained, as code is told; None while nobody has said so.
        self.preemption = None
        self._sequence = 0
        self._actors = {}
        #: Open connections to workers, by their number.
        self.links = {}
        self.read_links = ReadLinks(self._held_read)
        self._link_number = 0
        self._claims = []
        self._is_ending = False
        self._coroutines = None
        #: The call whose coroutine runs.
        self.context_job = ContextVar("shoal_job", default=None)
        #: Threads that want the turn.
        self._wanting = deque()
        self._last_turn = 0.0
        self._callers = set()
        self._reclaimed = {}
        #: Keys of environments whose meaning the daemon has been told by this process.
        self.described_environments = set()
        self._gpus = os.environ.get("CUDA_VISIBLE_DEVICES")
        #: The ids of the GPUs of what runs, or ran last.
        self.gpus = ()
        self.targets = Targets(places_of(configuration), kept_texts_of(configuration))
        self.interrupts = Interrupts(configuration["interruptSlot"])
        self.outboxes = Outboxes(configuration["outbox"], self.process_id)
        self._unfinished = UnfinishedConnections(self.pump.after)
        #: Before the daemon hears of this process, and looks for the file.
        self.recorder = new_recorder(configuration["memoryDirectory"], self.process_id)
        allow_stacks(configuration["memoryDirectory"], self.process_id)
        self._listener = listen(configuration["address"])
        self.pump.add_reader(self._listener, self._accept)
        self._network = None
        if configuration.get("remoteAddress") is not None:
            self._network = NetworkListener(configuration["remoteAddress"], self.identity, self.pump, self._accepted, self._unfinished)
        self.daemon = self._connect_daemon()
        self.refs = RefTable(self.daemon, self.process_id, configuration["daemonId"])
        self.store = Store(configuration, self.daemon, self.refs)
        self.refs.free_stored = self.store.free_own
        self.refs.on_settled = self._settled
        self.node_id = configuration["nodeId"]
        self.codec = Codec(self.refs, self.store, self.targets, {"pid": os.getpid(), "nodeId": self.node_id}, _REVIVERS)
        self.executor = Executor(
            self.pump,
            lambda left, is_report: self.daemon.send(message.WORKER_PARK, {"left": left, "isReport": is_report}),
            lambda shape: self.daemon.send(message.WORKER_UNPARK, shape),
            lambda: self.submitter.has_queued,
        )
        self.actor = Actor(self)
        self.calls = OutboundCalls(self, time.monotonic)
        self.submitter = TaskSubmitter(self, time.monotonic)
        self.cancellation = Cancellation(self, time.monotonic)
        self.pump.before_wait.append(self._tell_daemon)
        self._trim_later()
        self._say_hello()

    # ---- connections

    def _connect_daemon(self):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        address = self.configuration["daemonAddress"]
        sock.connect(address)
        refusal = prove_before(sock, CallerProof(self.configuration["token"], self.process_id, unix_channel(address)))
        if refusal is not None:
            self._refused(refusal)
        connection = Connection(sock, self.pump)
        connection.on_frame = self._from_daemon
        # Without its daemon a worker is of no use to anybody.
        connection.on_close = lambda _reason: os._exit(0)
        return connection

    def _say_hello(self):
        configuration = self.configuration
        self.hello = {
            "processId": self.process_id,
            "holderId": self.process_id,
            "kind": "worker",
            "pid": os.getpid(),
            "address": configuration["address"],
            "taskIdPrefix": self.prefix,
            "jobId": configuration["jobId"],
        }
        if self._network is not None:
            self.hello["remoteAddress"] = self._network.address

        def answered(_header, _body, error):
            if error is not None:
                self._refused(error)

        self.daemon.request(message.HELLO, self.hello, on_reply=answered)
        self.daemon.keep_in(self.outboxes.open(configuration["daemonId"]))

    @staticmethod
    def _refused(reason):
        sys.stderr.write("The node daemon refused this worker: %s\n" % reason)
        os._exit(1)

    def _accept(self):
        try:
            restore_output()
            sock, _ = self._listener.accept()
        except OSError:
            # The caller has left again, or this process is out of descriptors: the next caller may have more luck.
            return
        unfinished = self._unfinished.begin(sock.close)
        proof = new_proof(self.configuration, unix_channel(self.configuration["address"]))
        Entrance(sock, self.pump, proof, None, self._greeted, unfinished)

    def _accepted(self, sock, node, unfinished):
        """Over the network. ``node``: that of the certificate which the caller has shown; None for a plain connection of this machine."""
        try:
            channel = plain_channel(sock.getpeername(), sock.getsockname()) if node is None else TLS_CHANNEL
        except OSError:
            # The caller has left again.
            unfinished.finish()
            sock.close()
            return
        Entrance(sock, self.pump, new_proof(self.configuration, channel), node, self._greeted, unfinished)

    def _greeted(self, connection, hello):
        server = CallServer(self, connection, hello)
        self._callers.add(server)
        reclaimed = self._reclaimed.get(server.caller_id, 0)
        if server.made_for is not None and server.made_for <= reclaimed:
            self._retire([server], server.caller_id, reclaimed)

    def caller_gone(self, server):
        self._callers.discard(server)

    # ---- the daemon's orders

    def _from_daemon(self, frame):
        kind, _, call_id, _, header, body = frame
        decoded = None if header is None else decode_header(header)
        if self.store.receive(kind, decoded, gc.collect):
            return
        if self.submitter.receive(kind, decoded):
            if kind == message.WORKER_EXITED:
                self._links_end(lambda process_id: process_id == decoded["workerId"])
            return
        if kind == message.OUTBOX_REST:
            process_id, outbox, start = decoded
            for link in self.links.values():
                if link.process_id == process_id:
                    link.add_rest(outbox, start, bytes(body))
            return
        if kind == message.WORKER_SLOT:
            if isinstance(decoded, bool):
                self.executor.lease_ended(decoded)
            elif self.actor.id is not None:
                self.actor.slot_granted(*decoded[3:])
            else:
                self.executor.slot_granted(*decoded)
        elif kind == message.WORKER_APART:
            self.executor.keep_apart()
        elif kind == message.ACTOR_START:
            # The lease of the last task may have ended before the daemon heard that this worker retires.
            if self.is_retiring and self.actor.id is None:
                self.daemon.send(message.WORKER_EXIT, {"ending": "declined"})
                self._end_retiring()
            else:
                self.actor.start(decoded, body)
        elif kind == message.LEASE_RECLAIM:
            self._reclaim(*decoded)
        elif kind == message.WORKER_EXIT:
            if self.actor.id is None:
                self._end_retiring()
            else:
                self.actor.end_when_idle()
        elif kind == message.CANCEL_REF:
            self.cancellation.cancel_for_other(decoded)
        elif kind == message.REF_LOST:
            self.calls.lost_elsewhere(*decoded)
        elif kind == message.NODE_GONE:
            self._node_gone(*decoded)
        elif kind == message.NODE_DRAINING:
            left_ms = decoded.get("leftMs")
            deadline_ms = None if left_ms is None else time.time() * 1000 + left_ms
            self.preemption = {"deadline_ms": deadline_ms, "reason": decoded["reason"]}
        elif kind == message.CERTIFICATE:
            self.identity = decoded
            if self._network is not None:
                self._network.identify(decoded)
        elif kind == message.REF_VALUE:
            self._value_came(decoded, body)
        elif kind == message.ACTOR_STATE:
            client = self._actors.get(decoded["actorId"])
            if client is not None:
                client.state_changed(decoded, body)
        elif kind == message.STORE_CLAIM:
            self._claims.append(decoded)
            self._answer_claims()
        elif kind == message.HELD_ENDED:
            self.read_links.asked(*decoded)
        elif kind == message.WHY_REF:
            self.daemon.reply_error(call_id, WireError("failed", "calls that Python makes are not explained"))
        elif kind == message.OPEN_CALLS:
            self.daemon.reply(call_id, self._open_calls())

    def _open_calls(self):
        """Calls that Python makes are not listed; a warning counts them."""
        count = sum(1 for _ in self.calls.open_calls())
        warnings = ["Python worker %d has %d calls of its own that have not ended, which are not listed." % (os.getpid(), count)] if count else []
        return {"rows": [], "keys": [], "total": 0, "numFiltered": 0, "warnings": warnings}

    def _links_end(self, is_ended):
        for link in list(self.links.values()):
            if is_ended(link.process_id):
                link.worker_exited()

    # ---- what this process makes and waits for

    def new_sequence(self):
        self._sequence += 1
        return self._sequence

    def new_object_id(self, sequence, index):
        return "%s%012x%s%08x" % (self.prefix, sequence, self.configuration["jobId"], index)

    def new_link_number(self):
        self._link_number += 1
        return self._link_number

    def actor_client(self, id_, class_name, watch=True):
        """``watch``: whether the daemon is to be asked where it is; it tells its creator by itself."""
        client = self._actors.get(id_)
        if client is None:
            client = self._actors[id_] = ActorClient(self, id_, class_name, watch)
        return client

    def actor_clients(self):
        return self._actors.values()

    def shape_of_caller(self):
        """Of what runs now: its environment and its placement group."""
        job = self.running_job()
        return self.actor.shape if job is None or job is self.actor or job.is_actor_call else job.shape

    def _node_gone(self, node_id, reason):
        """Its workers have ended, and values that its processes owed do not come."""
        tag = node_id[:NODE_TAG_DIGITS]
        self._links_end(lambda process_id: process_id.startswith(tag))
        self.submitter.node_gone(tag, reason)
        for entry in self.refs.owned_by(tag):
            lost(entry, False)
        self._settled()

    def _value_came(self, header, body):
        entry = self.refs.lookup(header[0])
        if len(header) < 2 or header[1] is None:
            if entry is not None and not entry.is_settled:
                lost(entry, len(header) > 2)
                self._settled()
            return
        # The holds in the payload are taken over, and released at once where the object has no user left.
        payload = PayloadReader(body, self.refs).next(header[1], holds_stored=False)
        if entry is not None:
            self.refs.settle(entry, payload)

    def _settled(self):
        for client in list(self._actors.values()):
            client.pump()

    def _held_read(self, *read):
        self.refs.flush()
        self.daemon.send(message.HELD_READ, list(read))

    def link_ended(self, _link):
        self._answer_claims()

    def _answer_claims(self):
        """Of what a process wrote for this one before it ended, that of which nothing was heard, once all that it sent has been read."""
        open_links = {link.process_id for link in self.links.values() if not link.connection.is_closed}
        for claim in list(self._claims):
            writer, locations, link = claim if len(claim) > 2 else (*claim, None)
            if writer in open_links:
                continue
            self._claims.remove(claim)
            unknown = self.refs.unclaimed(locations)
            if unknown:
                self.refs.flush()
                self.daemon.send(message.STORE_CLAIM, [[location] if link is None else [location, link] for location in unknown])

    def _reclaim(self, owner, lease_id):
        servers = [server for server in self._callers if server.caller_id == owner]
        if not all(server.is_idle_for(RECLAIM_AFTER_IDLE_SECONDS) for server in servers):
            return
        self._reclaimed[owner] = lease_id
        self._retire(servers, owner, lease_id)

    def _retire(self, servers, owner, lease_id):
        """Whoever had sent something runs again only what is said here not to have been read: an answer may be lost with its connection."""
        for server in servers:
            server.retire()
        self.daemon.send(message.LEASE_RECLAIMED, [owner, lease_id, [read for server in servers for read in server.tasks_read]])

    def why(self, job):
        if job is None or job is self.current:
            return {"what": "call", "state": "running", "reason": "it runs", "causes": [], "details": {}}
        return {"what": "call", "state": "waiting", "reason": "it waits for its turn in the worker", "causes": [], "details": {}}

    def _tell_daemon(self):
        # Stored and held objects are announced before the answer that names them leaves, whenever this process dies.
        self.submitter.flush()
        self.refs.flush()
        self.store.tell_use()
        self.daemon.flush()

    def _trim_later(self):
        def trim():
            self.store.trim()
            self._trim_later()

        self.pump.after(EMPTY_ARENA_KEPT_SECONDS, trim)

    # ---- running

    def loop(self, waiter):
        """Runs what comes, in the main thread: for good, or until what the task that has this stack waits for is there, and it may go on."""
        pump = self.pump
        executor = self.executor
        waiting = None if waiter is None else waiter.job
        parks = waiting is not None and not waiting.is_actor_call
        if parks:
            executor.park(waiting)
        suspended, self.current = self.current, None
        is_over = False
        while True:
            if waiter is not None and not is_over and waiter.is_over():
                if not parks:
                    break
                is_over = True
                executor.resume(waiting)
            if self._sides:
                self._resume_sides()
                while self._wanting:
                    self._switch(self._wanting.popleft())
            job = executor.next() or self.actor.next()
            if job is None:
                executor.idle()
                self._turn(self._patience(waiter))
                self._last_turn = time.monotonic()
                continue
            if job is waiting:
                break
            if job in self._sides:
                self._switch(self._sides[job])
            elif waiter is None and not job.wants_thread:
                self.run_job(job)
            else:
                self._sides[job] = SideStack(self, job)
                self._switch(self._sides[job])
            now = time.monotonic()
            if now - self._last_turn > TURN_AFTER_SECONDS:
                pump.turn(0)
                self._last_turn = now
        self.current = suspended

    def _turn(self, seconds):
        coroutines = self._coroutines
        if coroutines is not None and coroutines.turns:
            coroutines.turn(seconds)
        else:
            self.pump.turn(seconds)

    def _switch(self, side):
        self.side_stack = side
        self.current = side.job
        side.switch()
        self.side_stack = None
        self.current = None
        if side.has_ended:
            del self._sides[side.job]
            if self._is_ending:
                sys.exit(0)

    def wants_turn(self, side):
        """From the thread of a side stack that runs without the turn."""

        def admit():
            self._sides[side.job] = side
            self._wanting.append(side)

        self.pump.call(admit)

    @property
    def network_host(self):
        """The name by which processes of other nodes reach this one; that of the machine itself where there are no others."""
        return "127.0.0.1" if self._network is None else self._network.address.rpartition(":")[0].strip("[]")

    def guest(self):
        """For a thread that the user's code has started: the turn for one use of the cluster; None where nobody might ever give it.

        That is so in tasks, and in actors that run one call at a time: the main thread may wait for the very thread that asks.
        """
        answers_always = self.actor.id is not None and (self.actor.is_threaded or self._coroutines is not None)
        return GuestStack(self) if answers_always else None

    def side_of_thread(self):
        thread = threading.get_ident()
        return next((side for side in list(self._sides.values()) if side.thread == thread and not side.has_ended), None)

    def wait_aside(self, side, waiter):
        """On a side stack: hands the turn back until what the task waits for is there, and it may go on."""
        if not side.job.is_actor_call:
            self.executor.park(side.job)
        suspended = self.current
        side.waiter = waiter
        side.hand_back()
        self.current = suspended

    def _resume_sides(self):
        for side in self._sides.values():
            if side.waiter is not None and side.waiter.is_over():
                side.waiter = None
                if side.job.is_actor_call:
                    self._wanting.append(side)
                else:
                    self.executor.resume(side.job)

    def _patience(self, waiter):
        """Seconds until a wait is over in any case."""
        waiters = [waiter, *(side.waiter for side in self._sides.values())] if self._sides else [waiter]
        ends = [one.deadline for one in waiters if one is not None and one.deadline is not None]
        return max(0.0, min(ends) - time.monotonic()) if ends else None

    def has_turn(self):
        """Whether the calling thread is the one that may touch anything here."""
        thread = threading.get_ident()
        side = self.side_stack
        return thread == self._main_thread if side is None else thread == side.thread and not side.is_outside

    def run_job(self, job):
        if job is self.actor:
            self.pump.flush()
            self.current = job
            job.run()
            self.current = None
            return
        # Answers leave before a call that may take long or end the process: a restarted actor may die again, and would lose the same
        # answers each time.
        if job.target.mean > _FLUSH_BEFORE_SECONDS or self.actor.incarnation > 0:
            self.pump.flush()
        if not job.is_actor_call:
            self.use_accelerators(job.accelerators)
        self.current = job
        try:
            has_ended = job.run()
        finally:
            self.current = None
        if job.is_asynchronous:
            return
        if not has_ended:
            if not job.is_actor_call:
                self.executor.park(job)
            # There may be room again by now: a message in between found a job that still ran.
            if not job.stream.is_waiting:
                self.goes_on(job)
        else:
            self.call_ended(job)

    def call_ended(self, job):
        if not job.is_actor_call:
            return
        self.actor.finished(job)
        if self.end_after_answer is not None:
            self.end_actor(self.end_after_answer)

    def goes_on(self, job):
        """A stream that waited for its reader has room again, or is to end."""
        if job is self.current:
            return
        if job.is_asynchronous:
            room = job.stream.room
            if room is not None and not room.done():
                room.set_result(None)
        elif job.is_actor_call:
            self.actor.resume(job)
        else:
            self.executor.resume(job)

    def decode(self, payload, dependencies=(), of=None):
        return read_value(self, payload, dependencies, of)

    def decode_arguments(self, args, deps, wait):
        return read_arguments(self, args, deps, wait)

    # ---- processes that the user's code forks

    def forked(self):
        """In a process that was forked from this one by the user's code: it is no worker, whatever it does."""
        self.is_copy = True
        _runtime.current = None
        self.interrupts.detach()

    def end_copy(self, error):
        """A forked process that has come to the end of the task must not go on as the worker."""
        if not self.is_copy:
            return
        exit_as_others(error)

    # ---- coroutines

    def coroutines(self):
        if self._coroutines is None:
            # Loaded with the first of them, as it takes long.
            from ._coroutines import Coroutines

            self._coroutines = Coroutines(self)
        return self._coroutines

    def run_coroutine(self, coroutine):
        return self.coroutines().run(coroutine, self.current)

    def start_coroutine(self, coroutine, job, on_end):
        return self.coroutines().start(coroutine, job, on_end)

    def value_later(self, ref):
        """What ``await ref`` gives."""
        return value_later(ref)

    def new_future(self):
        return self.coroutines().loop.create_future()

    def hear(self):
        """Handles messages that have arrived, for code that may go on computing. Does nothing in coroutines, whose event loop handles them, and on threads without the turn."""
        if not self.has_turn() or self.context_job.get() is not None:
            return
        marked = self.interrupts.pause()
        try:
            self.pump.turn(0)
        finally:
            self.interrupts.resume(marked)

    def sends_from_coroutine(self):
        """Something is to leave, and asyncio may have the thread."""
        if self._coroutines is not None:
            self._coroutines.leave()

    def running_job(self):
        return self.current if self.current is not None else self.context_job.get()

    def use_accelerators(self, accelerators):
        """What CUDA shows to what runs from now on: it is read at the first import that asks."""
        gpus = None if accelerators is None else accelerators.get("GPU")
        self.gpus = tuple(gpus or ())
        value = self._gpus if gpus is None else ",".join(gpus)
        if value is None:
            os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        elif os.environ.get("CUDA_VISIBLE_DEVICES") != value:
            os.environ["CUDA_VISIBLE_DEVICES"] = value

    def source(self):
        """Of what is printed now."""
        if self.output_name is not None:
            return self.output_name
        side = None if not self._sides else self.side_of_thread()
        job = self.running_job() if side is None else side.job
        if job is self.actor or job is None:
            return "" if self.actor.id is None else self.actor.class_name
        return job.name

    def begins(self, target):
        """A task begins whose function has a limit."""
        count = self._counts[target.id] = self._counts.get(target.id, 0) + 1
        if count >= target.max_calls:
            self.retire()

    def retire(self):
        """The daemon and the callers hear that no other task begins here."""
        if self.is_retiring:
            return
        self.is_retiring = True
        self.daemon.send(message.WORKER_RETIRING, None)
        self.executor.decline_queued()
        self.pump.flush()

    # ---- the end

    def _end_retiring(self):
        """Nobody has a lease on it. What its tasks have called and not waited for goes on until it is answered. @raises SystemExit"""
        if any(not call.is_ended for call in self.calls.open_calls()):
            self.pump.after(LOOK_FOR_OPEN_CALLS_SECONDS, self._end_retiring)
        else:
            self.end_actor(None)

    def end_actor(self, leaving):
        """``leaving``: how and why the actor ends by its own decision, for the node; None where the node knows. @raises SystemExit"""
        if self._is_ending:
            return
        self._is_ending = True
        if leaving is not None:
            self.daemon.send(message.WORKER_EXIT, leaving)
        self._send_all()
        self.actor.instance = None
        watch = threading.Timer(EXIT_WITHIN_SECONDS, lambda: os._exit(0))
        watch.daemon = True
        watch.start()
        flush_all()
        sys.exit(0)

    def _send_all(self):
        end = time.monotonic() + 1.0
        self.pump.flush()
        while any(connection.has_unsent for connection in self.pump.connections) and time.monotonic() < end:
            self.pump.turn(0.05)


def read_line():
    """The first line of the parent, and what has come after it."""
    data = b""
    while b"\n" not in data:
        chunk = os.read(_PARENT_FD, 65536)
        if not chunk:
            os._exit(0)
        data += chunk
    line, _, rest = data.partition(b"\n")
    return json.loads(line), rest


def main():
    parent = os.getppid()
    configuration, _ = read_line()
    die_with_parent(parent)
    os.set_inheritable(_PARENT_FD, False)
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION_LIMIT))
    order_path()
    worker = Worker(configuration)
    _runtime.current = worker
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=worker.forked)
    mark_output(worker.source)
    worker.pump.add_reader(_PARENT_FD, lambda: os._exit(0))
    worker.loop(None)
