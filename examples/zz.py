import os, json, tempfile, sys
from shoal import train
def loop(config):
    c = train.get_context()
    print("hello", c.get_world_rank(), c.get_world_size(), os.environ["MASTER_PORT"], os.environ["RANK"])
    ck = train.get_checkpoint()
    start = 0
    if ck:
        with ck.as_directory() as d:
            start = json.load(open(d + "/w.json"))["epoch"] + 1
    for epoch in range(start, config["epochs"]):
        if config.get("fail") and epoch == 1 and c.get_world_rank() == 1 and start == 0: raise ValueError("boom")
        with tempfile.TemporaryDirectory() as d:
            ckpt = None
            if c.get_world_rank() == 0:
                json.dump({"epoch": epoch}, open(d + "/w.json", "w"))
                ckpt = train.Checkpoint.from_directory(d)
            train.report({"epoch": epoch, "start": start}, checkpoint=ckpt)
    return c.get_world_rank()
