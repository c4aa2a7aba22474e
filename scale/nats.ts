/** The nats-server of a scale run, as `shoal start --head` runs it: with TLS and keys, on this machine, in a folder that goes with it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { natsServerBinary } from "../scripts/nats-server.mjs";
import type { NatsOfHead } from "../src/runtime/nats/head-place.ts";
import { startSupervisedNats } from "../src/ops/providers/supervised-nats.ts";

export interface ScaleNats extends AsyncDisposable {
  readonly access: NatsOfHead;
  readonly pid: number;
}

export async function startNats(): Promise<ScaleNats> {
  const directory = mkdtempSync(join(tmpdir(), "shoal-scale-"));
  const { server, access } = await startSupervisedNats({
    program: natsServerBinary(),
    cluster: "scale",
    directory,
    host: "127.0.0.1",
    port: 0,
    onEvent: () => {},
  });
  return {
    access,
    pid: server.pid ?? 0,
    async [Symbol.asyncDispose]() {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
