/**
 * A game in a page that learns while one watches: the page plays, and this process learns.
 *
 *     node examples/rl-browser-game.ts [--port 8000] [--iterations N]
 *
 * Open the printed address. Four games run in the page through `shoal/rl-client`: three as fast as they can, and one that is drawn. Each
 * chooses actions on its own copy of the network, sends its steps here, and gets new weights. Without `--iterations` the program runs until
 * Ctrl-C.
 */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Box, Discrete, externalEnv, PPOConfig } from "shoal/rl";

const { port, iterations } = parseArgs({
  options: { port: { type: "string", default: "8000" }, iterations: { type: "string", default: "Infinity" } },
}).values;
if (!(Number(port) >= 0 && Number(port) <= 65_535) || !(Number(iterations) >= 1)) {
  console.error(`The port is a number from 0 to 65535, and iterations are 1 or more: received ${port} and ${iterations}`);
  process.exit(2);
}

const listening = Promise.withResolvers<string>();
await using algorithm = await new PPOConfig()
  .environment(
    externalEnv({
      // Paddle, ball (across, down), its speed across, and how far the ball is from the paddle.
      observationSpace: new Box({ low: -1, high: 1, shape: [5] }),
      // Left, stay, right.
      actionSpace: new Discrete(3),
      onListening: ({ url }) => listening.resolve(url),
    }),
  )
  .training({ lr: 1e-3, gamma: 0.97, trainBatchSizePerLearner: 4000, minibatchSize: 250, numEpochs: 6, entropyCoeff: 0.005 })
  .rlModule({ modelConfig: { fcnetHiddens: [64, 64], vfShareLayers: false } })
  .debugging({ seed: 1 })
  .buildAlgo();
const link = await listening.promise;

// The page imports the client as it is in the package: no bundler is needed.
const client = fileURLToPath(import.meta.resolve("shoal/rl-client"));
const dist = dirname(dirname(dirname(client)));
const page = (await readFile(join(import.meta.dirname, "rl-browser-game.html"), "utf8")).replace("LINK_URL", link);
const server = createServer(async (request, response) => {
  const [path = ""] = (request.url ?? "").split("?");
  if (path === "/") return void response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page);
  // Modules of the package, and nothing else: names have no dots before the end.
  const [, file] = /^\/dist((?:\/[\w-]+)+\.js)$/.exec(path) ?? [];
  const text = file === undefined ? undefined : await readFile(join(dist, file)).catch(() => undefined);
  if (text === undefined) return void response.writeHead(404).end();
  response.writeHead(200, { "content-type": "text/javascript" }).end(text);
});
await new Promise<void>((resolve) => server.listen(Number(port), "127.0.0.1", resolve));
console.log(`open http://127.0.0.1:${(server.address() as AddressInfo).port} and watch it learn`);

const stop = new AbortController();
process.once("SIGINT", () => stop.abort());
try {
  for (let iteration = 1; iteration <= Number(iterations); iteration++) {
    const { envRunners } = await algorithm.train({ signal: stop.signal });
    const { episodeReturnMean: mean, numEnvStepsSampledLifetime: steps } = envRunners;
    console.log(`iteration ${iteration}: ${steps} steps, a game earns ${mean === undefined ? "?" : mean.toFixed(2)} of 10`);
  }
} catch (error) {
  if (!stop.signal.aborted) throw error;
} finally {
  await algorithm.stop();
  server.close();
  server.closeAllConnections();
}
