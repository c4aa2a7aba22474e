"""Submits jobs by Ray's own client, and prints the results as one object of JSON.

The arguments are the address of the dashboard, the token, and a folder with the file words.txt.
"""

import asyncio
import json
import sys
import time

from ray.job_submission import JobStatus, JobSubmissionClient

address, token, folder = sys.argv[1:]
client = JobSubmissionClient(address, headers={"Authorization": f"Bearer {token}"})


def ended(job):
    give_up_at = time.monotonic() + 60
    while not client.get_job_status(job).is_terminal() and time.monotonic() < give_up_at:
        time.sleep(0.05)
    return client.get_job_status(job)


async def tailed(job):
    return "".join([piece async for piece in client.tail_job_logs(job)])


def failure(body):
    try:
        body()
        return "nothing failed"
    except RuntimeError as error:
        return str(error)


first = client.submit_job(
    entrypoint="cat words.txt; echo $GREETING; exit 3",
    submission_id="from-ray",
    runtime_env={"working_dir": folder, "env_vars": {"GREETING": "good day"}},
    metadata={"team": "search"},
    entrypoint_num_cpus=1,
)
tail = asyncio.run(tailed(first))
status = ended(first)
info = client.get_job_info(first)
sleeping = client.submit_job(entrypoint="sleep 300", entrypoint_resources={"telescope": 1})
waiting = client.submit_job(entrypoint="true", entrypoint_resources={"telescope": 1})
while client.get_job_status(sleeping) == JobStatus.PENDING:
    time.sleep(0.05)
waited = [client.get_job_status(waiting).value, client.get_job_info(waiting).message]
stopped = [client.stop_job(sleeping), ended(sleeping).value, client.stop_job(sleeping)]
deleted = client.delete_job(sleeping)
listed = sorted(job.submission_id for job in client.list_jobs() if job.submission_id is not None)
result = {
    "first": first,
    "tail": tail,
    "status": status.value,
    "info": {
        "type": info.type.value,
        "message": info.message,
        "metadata": info.metadata,
        "runtime_env": sorted(info.runtime_env),
        "variables": info.runtime_env["env_vars"],
        "exit_code": info.driver_exit_code,
        "entrypoint": info.entrypoint,
        "times": info.start_time < info.end_time,
    },
    "logs": client.get_job_logs(first),
    "waited": waited,
    "after": ended(waiting).value,
    "stopped": stopped,
    "deleted": deleted,
    "listed": listed == sorted([first, waiting]),
    "failures": [
        failure(lambda: client.submit_job(entrypoint="true", submission_id="from-ray")),
        failure(lambda: client.submit_job(entrypoint="true", submission_id="../etc")),
        failure(lambda: client.submit_job(entrypoint="true", entrypoint_num_cpus=-1)),
        failure(lambda: client.submit_job(entrypoint="true", runtime_env={"conda": "base"})),
        failure(lambda: client.get_job_info("nobody")),
        failure(lambda: client.delete_job("nobody")),
    ],
}
print(json.dumps(result))
