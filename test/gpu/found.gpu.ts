/** Detection: `init` without options finds the GPUs and their kind. */
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { clusterResources, init, shutdown } from "shoal";
import { gpuCount, isPretended, onGpu, outputOf, seen } from "./machine.ts";

onGpu("init finds the GPUs and their kind", async () => {
  seen("the driver's folders", {
    proc: existsSync("/proc/driver/nvidia/gpus") ? readdirSync("/proc/driver/nvidia/gpus") : null,
    dev: readdirSync("/dev").filter((name) => name.startsWith("nvidia")),
    nvidiaSmi: isPretended ? null : outputOf("nvidia-smi", "-L").trim(),
  });
  await init(isPretended ? { numGpus: 1 } : {});
  try {
    const resources = await clusterResources();
    seen("resources", resources);
    assert.equal(resources["GPU"], gpuCount);
    const kinds = Object.keys(resources).filter((name) => name.startsWith("accelerator_type:"));
    if (!isPretended) assert.equal(kinds.length, 1);
  } finally {
    await shutdown();
  }
});
