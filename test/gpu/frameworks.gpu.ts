/** The frameworks above PyTorch, datasets, and JAX, on one rank with a GPU. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import * as data from "shoal/data";
import { JaxTrainer } from "shoal/train";
import { device, environment, gpuTrainer, isPretended, loopOf, onGpu, seen, useGpuSession } from "./machine.ts";

interface Learned {
  losses: number[];
  places: [device: string, precision: string][];
}

const folder = useGpuSession();
const place = isPretended ? "cpu" : "cuda:0";

function fell(losses: readonly number[] | undefined): void {
  assert.ok(losses && losses.length > 1 && (losses.at(-1) as number) < (losses[0] as number), `losses fall: ${losses?.join(" ")}`);
}

for (const [strategy, precision] of [
  ["ddp", "32-true"],
  ["ddp", "bf16-mixed"],
  ["fsdp", "32-true"],
] as const) {
  onGpu(
    `Lightning: ${strategy}, ${precision}`,
    async ({ signal }) => {
      const { metrics, checkpoint } = await gpuTrainer<Learned>(["frameworks", "lightning"], folder, {
        trainLoopConfig: { strategy, precision, device },
      }).fit({ signal });
      seen(`Lightning with ${strategy}, ${precision}`, metrics);
      fell(metrics?.losses);
      assert.deepEqual(metrics?.places, [[place, precision === "32-true" ? "torch.float32" : "torch.bfloat16"]]);
      assert.ok(readdirSync(checkpoint?.path ?? "").includes("checkpoint.ckpt"));
    },
    { needs: "lightning" },
  );
}

for (const name of ["transformers", "accelerate"]) {
  onGpu(
    `${name}, bf16`,
    async ({ signal }) => {
      const { metrics } = await gpuTrainer<Learned>(["frameworks", name], folder, { trainLoopConfig: { device } }).fit({ signal });
      seen(name, metrics);
      fell(metrics?.losses);
      assert.deepEqual(
        metrics?.places.map(([where]) => where),
        [place],
      );
    },
    { needs: name },
  );
}

onGpu(
  "JAX computes on the GPU",
  async ({ signal }) => {
    const { metrics } = await new JaxTrainer<object, { losses: number[]; platform: string }>({
      trainLoopPerWorker: loopOf("frameworks", "jax_loop"),
      runConfig: { name: "jax", storagePath: folder },
      // The default takes three quarters of the GPU's memory for itself.
      runtimeEnv: { ...environment, envVars: { XLA_PYTHON_CLIENT_PREALLOCATE: "false" } },
      scalingConfig: isPretended ? {} : { useGpu: true, resourcesPerWorker: { CPU: 1, GPU: 1 } },
    }).fit({ signal });
    seen("JAX", metrics);
    fell(metrics?.losses);
    assert.equal(metrics?.platform, isPretended ? "cpu" : "gpu");
  },
  { needs: "jax" },
);

onGpu(
  "batches of a dataset come on the rank's device",
  async ({ signal }) => {
    const { metrics } = await gpuTrainer<{ total: number; places: Record<string, string[]>; own: string }>(
      ["frameworks", "dataset"],
      folder,
      {
        trainLoopConfig: { device },
        datasets: { train: data.range(10_000) },
      },
    ).fit({ signal });
    seen("batches of a dataset", metrics);
    assert.equal(metrics?.total, 4 * 49_995_000);
    assert.equal(metrics?.own, place);
    assert.deepEqual(metrics?.places, { plain: [place], named: [place], pinned: [place], cpu: ["cpu"] });
  },
  { needs: "pyarrow" },
);
