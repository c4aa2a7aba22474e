/** The words of `shoal start` that make a node of a launch request: its CPUs, GPUs, other resources and labels. Pure. */
import type { LaunchRequest } from "../provider.ts";

export function nodeArguments({ resources, labels }: Pick<LaunchRequest, "resources" | "labels">): string[] {
  const { CPU = 0, GPU = 0, ...others } = resources;
  const words = ["--num-cpus", String(CPU), "--num-gpus", String(GPU)];
  if (Object.keys(others).length > 0) words.push("--resources", JSON.stringify(others));
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return pairs.length === 0 ? words : [...words, "--labels", pairs.join(",")];
}
