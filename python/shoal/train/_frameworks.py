"""How the ranks of each framework find each other: ``set_up`` on all of them, ``tear_down`` after a good end, both on the loop's thread.

``_session.py`` calls them. ``enter`` and ``leave`` are around the loop, for what may only begin when rank 0 has told the others something.
"""

import contextlib
import datetime
import json
import os

from ._errors import RankLoopError, needed


class Framework:
    """A framework that needs no setup, and the base of the others."""

    def set_up(self, options, port, timeout):
        """:param port: this rank's ``RendezvousPort``
        :param timeout: in seconds
        :returns: what rank 0 tells the others, where it is first"""

    def enter(self):
        """The loop begins."""

    def leave(self):
        """The loop has ended, well or not."""

    def tear_down(self):
        """Every rank has ended well."""


class Torch(Framework):
    def __init__(self):
        self._dist = None
        self._store = None

    def set_up(self, options, port, timeout):
        torch = needed("torch", "TorchTrainer")
        import torch.distributed as dist

        if not dist.is_available():
            raise RankLoopError("Cannot use TorchTrainer: this torch, %s, was built without torch.distributed" % torch.__version__)
        # Where torch was there before its environment, it has not read it.
        if os.environ.get("OMP_NUM_THREADS", "").isdigit():
            torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        has_gpus = bool(options.get("useGpu"))
        backend = options.get("backend") or ("nccl" if has_gpus else "gloo")
        if has_gpus:
            from .torch import get_device

            torch.cuda.set_device(get_device())
            os.environ.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")
        if os.environ["MASTER_ADDR"].startswith("127."):
            # The name of the machine need not lead to it.
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        timeout_of_operations = datetime.timedelta(milliseconds=options.get("timeoutMs") or timeout * 1000)
        if options.get("isLaunched"):
            store = _store_of_torchrun(dist, timeout_of_operations)
        else:
            self._store = _store(dist, port, timeout)
            store = dist.PrefixStore("default_pg", self._store)
        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=timeout_of_operations)
        self._dist = dist

    def tear_down(self):
        if self._dist is not None and self._dist.is_initialized():
            self._dist.destroy_process_group()


def _store(dist, port, timeout):
    """Opens the ``TCPStore``. Rank 0 listens on the socket that has held the port since the other ranks were told of it."""
    is_first = os.environ["RANK"] == "0"
    more = {"master_listen_fd": port.take()} if is_first else {}
    address, number = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    size = int(os.environ["WORLD_SIZE"])
    return dist.TCPStore(
        address, number, size, is_first, timeout=datetime.timedelta(seconds=timeout), wait_for_workers=False, multi_tenant=True, **more
    )


def _store_of_torchrun(dist, timeout):
    """The store that torchrun keeps for all attempts. What ranks of an attempt before have left in it is hidden, as it has the addresses of their processes."""
    store, _, _ = next(iter(dist.rendezvous("env://", timeout=timeout)))
    return dist.PrefixStore("attempt_%s" % os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"), store)


class Tensorflow(Framework):
    def set_up(self, options, port, timeout):
        task = {"type": "worker", "index": int(os.environ["RANK"])}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": options["workers"]}, "task": task})
        needed("tensorflow", "TensorflowTrainer")
        port.release()


class Jax(Framework):
    def __init__(self):
        self._jax = None

    def set_up(self, options, port, timeout):
        if not options.get("useGpu") and not options.get("useTpu"):
            os.environ.setdefault("JAX_PLATFORMS", "cpu")
        jax = needed("jax", "JaxTrainer")
        port.release()
        jax.distributed.initialize(
            coordinator_address=options["coordinatorAddress"],
            num_processes=int(os.environ["WORLD_SIZE"]),
            process_id=int(os.environ["RANK"]),
            initialization_timeout=max(1, int(timeout)),
        )
        self._jax = jax

    def tear_down(self):
        if self._jax is not None:
            self._jax.distributed.shutdown()


class Xgboost(Framework):
    """Rank 0 runs the tracker, through which the ranks find each other when the loop begins."""

    def __init__(self):
        self._tracker = None
        self._args = None
        self._context = None

    def set_up(self, options, port, timeout):
        needed("xgboost", "XGBoostTrainer")
        first = options.get("first")
        if first is None:
            from xgboost.tracker import RabitTracker

            port.release()
            self._tracker = RabitTracker(int(os.environ["WORLD_SIZE"]), os.environ["MASTER_ADDR"], sortby="task")
            self._tracker.start()
            first = self._tracker.worker_args()
        self._args = {**first, "dmlc_task_id": "%08d" % int(os.environ["RANK"])}
        return first

    def enter(self):
        from xgboost.collective import CommunicatorContext

        context = CommunicatorContext(**self._args)
        context.__enter__()
        self._context = context

    def leave(self):
        context, self._context = self._context, None
        if context is not None:
            with contextlib.suppress(Exception):
                # Where another rank has ended, there is nobody to say goodbye to.
                context.__exit__(None, None, None)

    def tear_down(self):
        if self._tracker is not None:
            self._tracker.wait_for(10)


class Lightgbm(Framework):
    def set_up(self, options, port, timeout):
        needed("lightgbm", "LightGBMTrainer")
        from . import lightgbm

        lightgbm.network = {"machines": options["machines"], "port": port}


class Horovod(Framework):
    """Rank 0 runs the server of the rendezvous; the rest is in the environment that Horovod reads."""

    def __init__(self):
        self._server = None

    def set_up(self, options, port, timeout):
        rank = int(os.environ["RANK"])
        slots = options["slots"]
        address = options.get("first") or options.get("rendezvous")
        if rank == 0 and options.get("first") is None:
            address = self._serve(slots, port)
        host, _, number = address.rpartition(":")
        slot = slots[rank]
        os.environ.update(
            {
                "HOROVOD_HOSTNAME": slot["hostname"],
                "HOROVOD_RANK": str(slot["rank"]),
                "HOROVOD_SIZE": os.environ["WORLD_SIZE"],
                "HOROVOD_LOCAL_RANK": str(slot["localRank"]),
                "HOROVOD_LOCAL_SIZE": str(slot["localSize"]),
                "HOROVOD_CROSS_RANK": str(slot["crossRank"]),
                "HOROVOD_CROSS_SIZE": str(slot["crossSize"]),
                "HOROVOD_CONTROLLER": "gloo",
                "HOROVOD_CPU_OPERATIONS": "gloo",
                "HOROVOD_GLOO_RENDEZVOUS_ADDR": host,
                "HOROVOD_GLOO_RENDEZVOUS_PORT": number,
                "HOROVOD_GLOO_TIMEOUT_SECONDS": str(max(1, int(timeout))),
                "HOROVOD_GLOO_IFACE": "lo" if host.startswith("127.") else os.environ.get("HOROVOD_GLOO_IFACE", ""),
            }
        )
        return address

    def _serve(self, slots, port):
        needed("horovod", "HorovodTrainer")
        from horovod.runner.common.util.hosts import SlotInfo
        from horovod.runner.http.http_server import RendezvousServer

        port.release()
        self._server = RendezvousServer(verbose=0)
        number = self._server.start()
        size = len(slots)
        plan = [
            SlotInfo(slot["hostname"], slot["rank"], slot["localRank"], slot["crossRank"], size, slot["localSize"], slot["crossSize"])
            for slot in slots
        ]
        self._server.init(plan)
        return "%s:%d" % (os.environ["MASTER_ADDR"], number)

    def tear_down(self):
        if self._server is not None:
            self._server.stop()


_FRAMEWORKS = {"torch": Torch, "tensorflow": Tensorflow, "jax": Jax, "horovod": Horovod, "xgboost": Xgboost, "lightgbm": Lightgbm}


def framework_named(name):
    """:raises ValueError: for a name that is none of them"""
    if name is None:
        return Framework()
    if name not in _FRAMEWORKS:
        raise ValueError("Cannot set up the framework: there are %s: received %r" % (", ".join(_FRAMEWORKS), name))
    return _FRAMEWORKS[name]()
