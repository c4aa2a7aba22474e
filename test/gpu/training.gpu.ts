/** `TorchTrainer` on a GPU: DDP over NCCL, two ranks on one GPU, FSDP, mixed precision, and a rank that is killed. */
import assert from "node:assert/strict";
import { TrainingFailedError } from "shoal/train";
import { device, gpuTrainer, isPretended, onGpu, outputOf, processesOnGpu, seen, underTorchrun, useGpuSession } from "./machine.ts";

interface Learned {
  losses: number[];
  device: string;
  devices: string[];
  weights: string;
  apart: number;
  prepared: string;
  wrapper: string;
  backend: string;
  visible: string | null;
  nccl: string | null;
}

const folder = useGpuSession();
const place = isPretended ? "cpu" : "cuda:0";
const half = { numWorkers: 2, resourcesPerWorker: { CPU: 1, GPU: 0.5 } };

function furthest(a: readonly number[], b: readonly number[]): number {
  assert.equal(a.length, b.length);
  return Math.max(...a.map((value, index) => Math.abs(value - (b[index] as number))));
}

onGpu("DDP over NCCL on the GPU learns what torchrun's rank learns", async ({ signal }) => {
  const { metrics } = await gpuTrainer<Learned>(["training", "ddp"], folder).fit({ signal });
  seen("DDP with one rank", metrics);
  assert.ok(metrics);
  assert.deepEqual([metrics.device, metrics.devices, metrics.weights], [place, [place], place]);
  assert.equal(metrics.backend, isPretended ? "gloo" : "nccl");
  assert.equal(metrics.wrapper, "DistributedDataParallel");
  if (!isPretended) assert.equal(metrics.visible, "0");
  assert.ok((metrics.losses.at(-1) as number) < (metrics.losses[0] as number));
  const expected = underTorchrun("training", device) as number[];
  seen("furthest from torchrun's losses", furthest(metrics.losses, expected));
  assert.ok(furthest(metrics.losses, expected) < 1e-6);
});

onGpu("two ranks on halves of one GPU: NCCL refuses, and the error says why", async ({ signal }) => {
  if (isPretended) return;
  const run = async (torchConfig: { backend?: "nccl" }) =>
    await gpuTrainer<Learned>(["training", "ddp"], folder, { scalingConfig: half, torchConfig })
      .fit({ signal })
      .then(
        ({ metrics }) => metrics,
        (error: unknown) => error,
      );
  // Without a backend that is named it is told before anything begins.
  const refused = await run({});
  seen("two ranks on one GPU, without a backend named", refused instanceof Error ? refused.message : { noFailure: refused });
  assert.ok(refused instanceof TrainingFailedError);
  assert.match(refused.message, /ranks 0 and 1 share GPU 0, .* say torchConfig/);
  const failure = await run({ backend: "nccl" });
  seen("two ranks over NCCL on one GPU", failure instanceof Error ? failure.message : { noFailure: failure });
  assert.ok(failure instanceof TrainingFailedError);
  for (const [rank, error] of failure.workerFailures) seen(`rank ${rank}`, error.message);
  assert.match(failure.message, /Duplicate GPU/);
});

onGpu("two ranks on halves of one GPU over gloo learn what one rank learns", async ({ signal }) => {
  const { metrics } = await gpuTrainer<Learned>(["training", "ddp"], folder, {
    scalingConfig: half,
    torchConfig: { backend: "gloo" },
  }).fit({ signal });
  seen("DDP with two ranks over gloo", metrics);
  assert.ok(metrics);
  assert.deepEqual([metrics.devices, metrics.backend, metrics.prepared], [[place], "gloo", "DistributedDataParallel"]);
  assert.equal(metrics.apart, 0);
  const alone = await gpuTrainer<Learned>(["training", "ddp"], folder).fit({ signal });
  const distance = furthest(metrics.losses, alone.metrics?.losses ?? []);
  seen("furthest from one rank's losses", distance);
  assert.ok((metrics.losses.at(-1) as number) < (metrics.losses[0] as number));
});

for (const way of ["bf16 autocast", "fp16 autocast, GradScaler", "FSDP, MixedPrecision bf16", "fully_shard, bf16"]) {
  onGpu(`mixed precision: ${way}`, async ({ signal }) => {
    const { metrics } = await gpuTrainer<{ first: number; last: number; types: string[]; parameters: string[] }>(
      ["training", "precision"],
      folder,
      { trainLoopConfig: { way } },
    ).fit({ signal });
    seen(way, metrics);
    assert.ok(metrics);
    assert.ok(metrics.last < metrics.first);
    assert.deepEqual(metrics.parameters, ["torch.float32"]);
    assert.deepEqual(metrics.types, [way.startsWith("fp16") ? "torch.float16" : "torch.bfloat16"]);
  });
}

onGpu("FSDP goes on from its checkpoint when the rank is killed, whose memory on the GPU is free again", async ({ signal }) => {
  interface Resumed {
    losses: number[];
    start: number;
    free: number;
  }
  const ballast_mib = isPretended ? 1 : 4096;
  const run = async (config: object, maxFailures: number) =>
    await gpuTrainer<Resumed>(["training", "resumed"], folder, {
      trainLoopConfig: { steps: 8, ballast_mib, ...config },
      runConfig: { name: `resumed-${maxFailures}`, storagePath: folder, failureConfig: { maxFailures } },
    }).fit({ signal });
  const whole = await run({}, 0);
  const begun = Date.now();
  const { metrics, checkpoint } = await run({ kill_at: 4 }, 1);
  seen("a killed rank of FSDP", { ...metrics, seconds: (Date.now() - begun) / 1000 });
  assert.ok(metrics && whole.metrics && checkpoint);
  assert.equal(metrics.start, 4);
  assert.ok(furthest(metrics.losses, whole.metrics.losses) < 1e-6);
  if (!isPretended) assert.ok(metrics.free > whole.metrics.free - 1024, "the killed rank's memory is free when the next one begins");
});

onGpu("FSDP of two ranks that share the GPU, over gloo", async ({ signal }) => {
  const run = gpuTrainer<{ losses: number[]; held: number }>(["training", "fsdp_halves"], folder, {
    scalingConfig: half,
    torchConfig: { backend: "gloo" },
  });
  // torch says by itself what gloo can do with tensors of a GPU: whichever it is, the run ends, and with torch's reason.
  const told = await run.fit({ signal }).then(
    ({ metrics }) => ({ metrics }),
    (error: unknown) => ({ error: (error as Error).message }),
  );
  seen("FSDP with two ranks over gloo", told);
  if ("error" in told) assert.match(told.error ?? "", /rank [01] failed/);
  else assert.ok((told.metrics?.losses.at(-1) as number) < (told.metrics?.losses[0] as number));
});

onGpu("nothing is left on the GPU when a run has ended", async ({ signal }) => {
  await gpuTrainer<Learned>(["training", "ddp"], folder).fit({ signal });
  if (isPretended) return;
  const until = Date.now() + 10_000;
  while (processesOnGpu() !== "" && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 200));
  seen("nvidia-smi after the runs", {
    apps: processesOnGpu(),
    used: outputOf("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader").trim(),
  });
  assert.equal(processesOnGpu(), "");
});
