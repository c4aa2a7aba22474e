import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { acceleratorType, findGpus } from "./accelerators.ts";

test("models have short types", () => {
  const models = ["NVIDIA H200", "NVIDIA A100-SXM4-80GB", "Tesla V100-SXM2-16GB", "NVIDIA GeForce RTX 4090", "NVIDIA H100 80GB HBM3"];
  expect(models.map(acceleratorType)).toEqual(["H200", "A100", "V100", "RTX-4090", "H100"]);
});

test("GPUs are those of the environment, else those of the driver", () => {
  const driverFolder = mkdtempSync(join(tmpdir(), "test-shoal-"));
  for (const bus of ["0000:01:00.0", "0000:02:00.0"]) {
    mkdirSync(join(driverFolder, bus));
    writeFileSync(join(driverFolder, bus, "information"), "Model: \t\t NVIDIA H200\nIRQ:   1\n");
  }
  vi.stubEnv("CUDA_VISIBLE_DEVICES", undefined);
  expect(findGpus({ driverFolder })).toEqual({ ids: ["0", "1"], type: "H200" });
  vi.stubEnv("CUDA_VISIBLE_DEVICES", "1");
  expect(findGpus({ driverFolder }).ids).toEqual(["1"]);
  expect(findGpus({ visibleDevices: "3, GPU-7a", driverFolder })).toEqual({ ids: ["3", "GPU-7a"], type: "H200" });
  for (const visibleDevices of ["", "-1", "NoDevFiles"]) expect(findGpus({ visibleDevices, driverFolder }).ids).toEqual([]);
  vi.stubEnv("CUDA_VISIBLE_DEVICES", undefined);
  expect(findGpus({ driverFolder: join(driverFolder, "nothing") })).toEqual({ ids: [], type: undefined });
  vi.unstubAllEnvs();
  rmSync(driverFolder, { recursive: true });
});
