"""Training loops of plain Python, as the tests of ``shoal/train`` run them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from shoal import train


def places(config):
    context = train.get_context()
    print("rank", context.get_world_rank(), "speaks")
    subprocess.run(["echo", "a child speaks"], check=True)
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "NODE_RANK", "MASTER_ADDR", "OMP_NUM_THREADS")
    shared = train.collective.broadcast_from_rank_zero({"port": os.environ["MASTER_PORT"]})
    train.report({"environment": [os.environ[name] for name in names], "world": context.get_world_size(), "same": shared["port"] == os.environ["MASTER_PORT"]})
    return config["value"]


def writes_beside():
    """Names its folder in a relative file, and imports a neighbour only now."""
    import train_neighbour

    before = train.get_context().get_world_rank()
    with open("mine.txt", "w") as file:
        file.write("%d %s" % (before, train_neighbour.WORD))
    train.report({"folder": os.getcwd()})


def waits(config):
    if train.get_context().get_world_rank() == 0:
        time.sleep(30)
    train.collective.barrier(timeout_s=config["timeout"])


def outlives_a_waiter():
    """Rank 1 ends while it waits for the others, where it answers nobody."""
    rank = train.get_context().get_world_rank()
    train.collective.broadcast_from_rank_zero(None)
    if rank == 1:
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
        train.collective.barrier()
    time.sleep(1)
    raise ConnectionError("the other side has gone")


def count(config):
    before = train.get_checkpoint()
    start = 0
    if before is not None:
        with before.as_directory() as folder, open(os.path.join(folder, "step.json")) as file:
            start = json.load(file) + 1
    rank = train.get_context().get_world_rank()
    for step in range(start, 3):
        if step == 1 and before is None and rank == 1:
            if config["end"] == "throws":
                raise ValueError("no more")
            os._exit(7)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "step.json" if rank == 0 else "other.json"), "w") as file:
                json.dump(step, file)
            train.report({"step": step, "start": start}, checkpoint=train.Checkpoint.from_directory(folder))


def count_steps(config):
    """Counts like ``counting-loop.ts``: leaves its process id, stands at a step until the test lets it go on, and goes on from its last checkpoint.

    Its rank 1 may ``sleep`` at that step for longer than anybody waits, and it may go on there are as many ranks as ``untilRanks`` says.
    """
    print("counts")
    root, steps = config["root"], config["steps"]
    context = train.get_context()
    rank, size, attempt = context.get_world_rank(), context.get_world_size(), context.get_attempt()
    before = train.get_checkpoint()
    start = 0
    if before is not None:
        with before.as_directory() as folder, open(os.path.join(folder, "step.json")) as file:
            start = json.load(file) + 1
    with open(os.path.join(root, "pid-%d-%d" % (attempt, rank)), "w") as file:
        file.write(str(os.getpid()))
    step = start
    # Attempts report at least once, so that the last report is the last attempt's.
    while step < steps or step == start or size < config.get("untilRanks", 0):
        if start == 0 and step == config.get("waitsAt"):
            open(os.path.join(root, "waits-%d" % rank), "w").close()
            if rank == 1 and config.get("sleeps"):
                time.sleep(600)
            while not os.path.exists(os.path.join(root, "go")):
                time.sleep(0.005)
        if step >= steps:
            time.sleep(0.01)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "step.json"), "w") as file:
                json.dump(step, file)
            checkpoint = train.Checkpoint.from_directory(folder) if rank == 0 else None
            train.report({"step": step, "start": start, "attempt": attempt, "worldSize": size}, checkpoint=checkpoint)
        step += 1


def fail_together(config):
    """Rank 1 says that the connection to rank 0 has broken, and only then rank 0 ends."""
    train.collective.barrier()
    if train.get_context().get_world_rank() == 1:
        raise RuntimeError("[gloo/transport] Connection closed by peer")
    time.sleep(0.3)
    if config["end"] == "throws":
        raise ValueError("no more")
    os._exit(7)


def upload_later(config):
    """Reports twice without waiting for the uploads, each of which is held up by a file in its place."""
    is_first = train.get_context().get_world_rank() == 0
    run = train.get_context().get_storage().experiment_fs_path
    owns = []

    def report_later(step, name=None):
        owns.append(tempfile.mkdtemp())
        with open(os.path.join(owns[-1], "step.json"), "w") as file:
            json.dump(step, file)
        checkpoint = train.Checkpoint.from_directory(owns[-1]) if is_first else None
        train.report({"step": step}, checkpoint, name, checkpoint_upload_mode=train.CheckpointUploadMode.ASYNC)

    def hold_up(name):
        obstacle = os.path.join(run, ".%s.partial" % name)
        if is_first:
            open(obstacle, "w").close()
        train.collective.barrier()
        return obstacle

    def free_later(obstacle):
        if is_first:
            threading.Timer(0.2, os.remove, [obstacle]).start()

    def stored(timeout_s=None):
        return [one.metrics["step"] for one in train.get_all_reported_checkpoints(timeout_s=timeout_s)]

    obstacles = hold_up("checkpoint_000000"), hold_up("named")
    report_later(0)
    at_once = stored(timeout_s=0.05)
    free_later(obstacles[0])
    report_later(1, "named")
    with_the_next = stored(timeout_s=0)[0]
    free_later(obstacles[1])
    everything = stored()
    newest = os.path.basename(train.get_checkpoint().path)
    left = [path for path in owns if is_first and os.path.exists(path)]
    train.report({"at_once": at_once, "with_the_next": with_the_next, "all": everything, "newest": newest, "left": left})


def _upload_own_part():
    """Returns a directory with a file of this rank's, and a function that copies it into the run's folder."""
    context = train.get_context()
    run, name = context.get_storage().experiment_fs_path, "rank-%d" % context.get_world_rank()
    own = tempfile.mkdtemp()
    open(os.path.join(own, name), "w").close()

    def upload(checkpoint, checkpoint_dir_name):
        to = os.path.join(run, checkpoint_dir_name)
        os.makedirs(to, exist_ok=True)
        with checkpoint.as_directory() as folder:
            shutil.copy(os.path.join(folder, name), to)
        return train.Checkpoint.from_directory(to)

    return own, upload


def upload_by_itself(config):
    """All ranks copy their parts into the run's folder, first beside the loop, then within a report, and then before it reports."""
    (own, upload), (other, upload_other) = _upload_own_part(), _upload_own_part()
    local, by_hand = train.Checkpoint.from_directory(own), train.Checkpoint.from_directory(other)
    said, goes_on = [], threading.Event()
    # Beside the run's folder.
    all_came = train.get_context().get_storage().experiment_fs_path + "-came"

    def upload_when_told(checkpoint, name):
        if not os.path.exists(all_came):
            raise AssertionError("the upload began before all had come to its report")
        if not goes_on.wait(60):
            raise TimeoutError("the report has waited")
        for call in (train.collective.barrier, train.get_all_reported_checkpoints):
            try:
                call()
            except RuntimeError as error:
                said.append(str(error))
        return upload(checkpoint, name)

    try:
        train.report({}, local, checkpoint_upload_fn=lambda checkpoint, name: None)
    except ValueError as error:
        said.append(str(error))
    if train.get_context().get_world_rank() == 1:
        time.sleep(0.2)
        open(all_came, "w").close()
    train.report({"step": 0}, local, checkpoint_upload_mode=train.CheckpointUploadMode.ASYNC, checkpoint_upload_fn=upload_when_told)
    train.collective.barrier()
    left, newest = [os.path.exists(own)], [train.get_checkpoint()]
    goes_on.set()
    steps = [one.metrics["step"] for one in train.get_all_reported_checkpoints()]
    left.append(os.path.exists(own))

    train.report({"step": 1}, by_hand, "within", checkpoint_upload_fn=upload_other)
    newest.append(os.path.basename(train.get_checkpoint().path))
    mine = upload_other(by_hand, "mine")
    train.collective.barrier()
    train.report({"step": 2}, mine, checkpoint_upload_mode=train.CheckpointUploadMode.NO_UPLOAD)
    left.append(os.path.exists(other))
    train.report({"said": said, "left": left, "steps": steps, "newest": newest, "is_newest": train.get_checkpoint() == mine})


def upload_at_the_end(config):
    """Ends while the upload goes on, which fails in the first attempt."""
    own, upload = _upload_own_part()
    context = train.get_context()
    attempt = context.get_attempt()

    def upload_slowly(checkpoint, name):
        time.sleep(0.2)
        if attempt == 1 and context.get_world_rank() == 1:
            raise OSError("the bucket is full")
        return upload(checkpoint, name)

    train.report({"attempt": attempt}, train.Checkpoint.from_directory(own), checkpoint_upload_mode=train.CheckpointUploadMode.ASYNC, checkpoint_upload_fn=upload_slowly)


def upload_badly(config):
    """Ends while rank 1's upload stands still, or exits."""
    own, upload = _upload_own_part()

    def upload_or_not(checkpoint, name):
        if train.get_context().get_world_rank() == 1:
            open(config["begun"], "w").close()
            if config["how"] == "exits":
                sys.exit(3)
            threading.Event().wait()
        return upload(checkpoint, name)

    train.report({}, train.Checkpoint.from_directory(own), checkpoint_upload_mode=train.CheckpointUploadMode.ASYNC, checkpoint_upload_fn=upload_or_not)


def move_on(config):
    """Waits for the notice of a drain and for one of another deadline, writes down what they say, and reports twice."""
    import ray

    start, rank = 0, train.get_context().get_world_rank()
    if train.get_checkpoint() is not None:
        start = train.get_checkpoint().get_metadata()["step"] + 1
    else:
        open(os.path.join(config["root"], "begun-%d" % rank), "w").close()
        step, deadline_ms = 0, None
        for name in ("told", "told-again"):
            info = None
            while info is None or info.deadline_ms == deadline_ms:
                step, info = step + 1, train.get_preemption_info()
            deadline_ms, nodes, ranks = info.deadline_ms, info.preempted_node_to_ranks, info.preempted_ranks
            told = {"step": step, "node": ray.get_runtime_context().get_node_id(), "info": {"nodes": nodes, "ranks": ranks, "deadline_ms": deadline_ms}}
            with open(os.path.join(config["root"], "%s-%d" % (name, rank)), "w") as file:
                json.dump(told, file)
    for step in range(start, 2):
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = train.Checkpoint.from_directory(folder)
            checkpoint.set_metadata({"step": step})
            train.report({"step": step, "start": start}, checkpoint=checkpoint if rank == 0 else None)


def sum_rows(config):
    rows = sum(int(batch["id"].sum()) for batch in train.get_dataset_shard("train").iter_batches(batch_size=10))
    train.report({"sum": rows})


def double(value):
    return [value * 2, os.environ["OF_BACKEND"]]


def which_ray(config):
    said = []
    try:
        import ray.train

        of = "Shoal's" if ray.train.report is train.report else "another's"
    except ModuleNotFoundError:
        of = "none"
    if of == "Shoal's":
        from ray.air.integrations.comet import CometLoggerCallback

        for name in (CometLoggerCallback, ray.train.DataConfig, ray.train.RunConfig):
            try:
                name()
            except RuntimeError as error:
                said.append(str(error))
    train.report({"ray": of, "said": said, "kept": len(train.get_all_reported_checkpoints())})


def stand_still():
    """For a backend: rank 1 does not come."""
    if train.get_context().get_world_rank() == 1:
        time.sleep(600)


def lacks_package(config):
    import no_such_package  # noqa: F401


def alone(config):
    context = train.get_context()
    said = train.collective.broadcast_from_rank_zero("said")
    shard = train.get_dataset_shard("train")
    with tempfile.TemporaryDirectory() as folder:
        train.report(
            {
                "environment": [os.environ.get(name) for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "OMP_NUM_THREADS", "OF_RUN", "OF_TRAINER")],
                "world": [context.get_world_rank(), context.get_world_size(), context.get_local_world_size()],
                "said": said,
                "shard": type(shard).__name__,
                "pid": os.getpid(),
            },
            checkpoint=train.Checkpoint.from_directory(folder),
        )
