/** Bundles the compiled `shoal/tensor` and `shoal/rl-client` as for a browser, and runs tensors where nothing of Node is. */
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { REPOSITORY } from "./house/source-files.ts";

const PROGRAM = `
  import { Adam, backward, Mlp, Random, scope, tensor, withRandom } from "./dist/tensor/index.js";
  const network = withRandom(new Random(1), () => new Mlp([2, 8, 1]));
  const optimizer = new Adam(network, { lr: 0.05 });
  globalThis.losses = Array.from({ length: 50 }, () => scope(() => {
    const loss = network.forward(tensor([[1, 2], [3, 4]])).square().mean();
    optimizer.zeroGrad();
    backward(loss);
    optimizer.step();
    return loss.item();
  }));
`;

/** Kernels of 50 kilobytes in base64, and the tape. The core alone would be more. */
const CLIENT_BYTES_MAX = 400_000;

test("tensors need nothing of Node: the compiled subpath learns in a browser's globals", async () => {
  const { outputFiles, metafile } = await build({
    stdin: { contents: PROGRAM, resolveDir: REPOSITORY },
    absWorkingDir: REPOSITORY,
    bundle: true,
    write: false,
    metafile: true,
    platform: "browser",
    format: "esm",
    logLevel: "silent",
    define: { "import.meta.url": '"https://example.org/program.js"' },
  });
  const own = Object.keys(metafile.inputs).filter((path) => path !== "<stdin>");
  expect(own.every((path) => join(path).startsWith(join("dist", "tensor")) || join(path).startsWith(join("dist", "shared")))).toBe(true);
  const globals: { losses?: number[] } & Record<string, unknown> = {
    atob,
    crypto,
    performance,
    queueMicrotask,
    TextDecoder,
    TextEncoder,
  };
  runInNewContext(outputFiles[0]?.text ?? "", globals);
  const losses = globals.losses ?? [];
  expect(losses.at(-1)).toBeLessThan((losses[0] as number) / 10);
});

test("the client of external environments needs nothing of Node, and takes no part of the runtime but errors and their texts", async () => {
  const { metafile } = await build({
    entryPoints: [join("dist", "rl", "client", "index.js")],
    absWorkingDir: REPOSITORY,
    bundle: true,
    write: false,
    metafile: true,
    platform: "browser",
    format: "esm",
    logLevel: "silent",
    define: { "import.meta.url": '"https://example.org/program.js"' },
  });
  const [output] = Object.values(metafile.outputs);
  expect(output?.bytes).toBeLessThan(CLIENT_BYTES_MAX);
  for (const { imports } of Object.values(metafile.inputs)) expect(imports.filter(({ external }) => external === true)).toEqual([]);
});
