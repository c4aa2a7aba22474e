/**
 * Steps of small networks on `shoal/tensor`: `node bench/micro/tensor.ts`, about 5 seconds.
 *
 * Prints forward, backward and Adam as steps a second of CPU time, best of short windows, and forward passes alone in microseconds. Run it with `SHOAL_NATIVE=0`
 * for WebAssembly, and with a path of a Python that has torch for PyTorch's column: `node bench/micro/tensor.ts PYTHON`.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Adam, backward, Mlp, noGrad, Random, scope, tensor, withRandom } from "shoal/tensor";

const WINDOWS = 15;
const WINDOW_MS = 60;
const NETWORKS: readonly { sizes: readonly number[]; rows: number }[] = [
  { sizes: [4, 64, 64, 2], rows: 128 },
  { sizes: [4, 64, 64, 2], rows: 512 },
  { sizes: [8, 256, 256, 2], rows: 256 },
];

/** Calls a second of CPU time, in the best window. */
function bestRate(run: () => void): number {
  for (let call = 0; call < 300; call++) run();
  let best = 0;
  for (let window = 0; window < WINDOWS; window++) {
    const before = process.cpuUsage();
    const until = performance.now() + WINDOW_MS;
    let calls = 0;
    for (; performance.now() < until; calls++) run();
    const { user, system } = process.cpuUsage(before);
    best = Math.max(best, (calls * 1e6) / (user + system));
  }
  return best;
}

for (const { sizes, rows } of NETWORKS) {
  const random = new Random(1);
  const network = withRandom(random, () => new Mlp(sizes));
  const optimizer = new Adam(network, { lr: 1e-3 });
  const [inputs, outputs] = [sizes[0] ?? 1, sizes.at(-1) ?? 1];
  const data = Float32Array.from({ length: rows * inputs }, () => random.normal());
  const labels = Int32Array.from({ length: rows }, () => random.integer(outputs));
  const step = (): void =>
    scope(() => {
      optimizer.zeroGrad();
      backward(network.forward(tensor(data, { shape: [rows, inputs] })).crossEntropy(labels));
      optimizer.step();
    });
  console.log(`${sizes.join("-")}, batch ${rows}: ${bestRate(step).toFixed(0)} steps/s`);
}
const network = new Mlp([4, 64, 64, 2]);
for (const rows of [1, 16]) {
  const data = new Float32Array(rows * 4).fill(0.3);
  const forward = (): unknown => scope(() => noGrad(() => network.forward(tensor(data, { shape: [rows, 4] }))));
  console.log(`forward of ${rows}: ${(1e6 / bestRate(forward)).toFixed(2)} us`);
}
const [python] = process.argv.slice(2);
if (python !== undefined) {
  console.log("PyTorch, one thread, fused Adam:");
  execFileSync(python, [fileURLToPath(new URL("tensor-torch.py", import.meta.url))], { stdio: "inherit" });
}
