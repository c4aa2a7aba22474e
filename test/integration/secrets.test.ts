/**
 * Where Shoal's secrets are and are not. No process of a cluster shows them in its environment, its arguments, its logs or a memory image.
 * A process that gets the address of a dead head learns nothing from the nodes that look for the head there.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { init, nodes, remote, shutdown } from "shoal";
import { TestCluster } from "shoal/testing";
import { describe, expect, test } from "vitest";
import { parseNetworkAddress } from "../../src/runtime/os/network/network-address.ts";
import { readNodeFiles } from "../../src/runtime/os/files/clusters/node-file.ts";
import { parseJoinToken } from "../../src/runtime/rpc/join-token.ts";
import { type Frame, FRAME_FLAG, FrameParser, wholeFrame } from "../../src/runtime/wire/frame.ts";
import { decodeHeader, encodeHeader } from "../../src/runtime/wire/header.ts";
import { FRAME_SIZE_MAX } from "../../src/runtime/wire/limits.ts";
import { MESSAGE } from "../../src/runtime/wire/messages.ts";
import { runProgram } from "../house/run-program.ts";
import { WITHOUT_PYTHON } from "./python-places.ts";
import { SHOAL, useShoal } from "./shoal-program.ts";
import { until } from "./session.ts";

describe("what runs in a cluster", () => {
  const { folder, environment, startHead, program, processes } = useShoal();

  test("shows no secret in its environment, its words, its logs, or an image of its memory", async () => {
    const head = await startHead();
    const { secret } = parseJoinToken(head.joinToken);
    const file = join(folder, "join-token");
    writeFileSync(file, `${head.joinToken}\n`, { mode: 0o600 });
    const joining = ["start", "--json", "--address", head.address, "--num-cpus", "1"];
    // Each way in which a node is told the token.
    const byVariable = await runProgram([SHOAL, ...joining], { cwd: folder, env: { ...environment, SHOAL_TOKEN: head.joinToken } });
    const byFile = await runProgram([SHOAL, ...joining, "--token-file", file], { cwd: folder, env: environment });
    for (const { exitCode, stderr } of [byVariable, byFile]) expect([exitCode, stderr]).toEqual([0, ""]);
    // A program that stays, with the token among its arguments.
    const staying = spawn(process.execPath, [SHOAL, ...joining, "--token", head.joinToken, "--block"], { cwd: folder, env: environment });
    let said = "";
    staying.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await until(() => said.includes("nodeId"), "the node to have joined");

    const secrets = [head.joinToken, secret, ...headSecrets(join(folder, "state"))];
    const held = join(folder, "held");
    writeFileSync(held, "");
    const running = program(userProgram(held));
    try {
      await until(() => BEGAN.every((name) => existsSync(`${held}-${name}`)), "workers of both languages to run");
      secrets.push(...nodeSecrets(environment.TMPDIR ?? ""));
      expect(secrets.length).toBeGreaterThan(6);
      const all = processes();
      const words = new Map(all.map((pid) => [pid, readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ").trim()]));
      const daemons = Array.from(words.values()).filter((text) => /^shoal (supervisor|head|daemon|worker)/.test(text));
      expect(new Set(daemons.map((text) => text.replace(/:.*/, "")))).toEqual(
        new Set(["shoal supervisor", "shoal head", "shoal daemon", "shoal worker"]),
      );
      if (WITHOUT_PYTHON === undefined)
        for (const entry of ["worker.py", "zygote.py"]) expect(Array.from(words.values()).join(", ")).toContain(entry);
      for (const pid of all) {
        const variables = readFileSync(`/proc/${pid}/environ`, "latin1");
        for (const one of secrets)
          expect([words.get(pid), variables].join("\n").includes(one), `${words.get(pid)} shows a secret`).toBe(false);
        const isOfUser = pid === staying.pid || !/^shoal (supervisor|head|daemon|worker)|\.py$/.test(words.get(pid) ?? "");
        if (!isOfUser) expect(readFileSync(`/proc/${pid}/limits`, "utf8")).toMatch(/^Max core file size +0 /m);
      }
    } finally {
      rmSync(held);
      staying.kill("SIGTERM");
    }
    // The view of user code: the same environment, without a secret.
    const seen = JSON.stringify(await running);
    expect(seen).toContain("PATH");
    for (const one of secrets) expect(seen.includes(one)).toBe(false);
    const logs = filesUnder(join(folder, "state", "shoal", "logs"));
    expect(logs.some(([name]) => name.endsWith("supervisor.log"))).toBe(true);
    for (const [name, text] of logs) for (const one of secrets) expect(text.includes(one), `${name} has a secret`).toBe(false);
    await until(() => staying.exitCode !== null || staying.signalCode !== null, "the command to end");
  }, 90_000);

  test("the file of a token has to be there, hold one, and be nobody else's to read", async () => {
    const file = join(folder, "token");
    const start = async (...more: string[]): Promise<string> => {
      const { exitCode, stderr } = await runProgram([SHOAL, "start", "--address", "127.0.0.1:1", "--token-file", file, ...more], {
        cwd: folder,
        env: environment,
      });
      expect(exitCode).not.toBe(0);
      return stderr;
    };
    expect(await start()).toContain("--token-file names no file with a join token: received");
    writeFileSync(file, "\n", { mode: 0o600 });
    expect(await start()).toContain("--token-file names no file with a join token: received");
    expect(await start("--token", "x")).toContain("--token and --token-file exclude each other");
    rmSync(file);
    writeFileSync(file, "SHOAL1-...", { mode: 0o644 });
    expect(await start()).toContain("other users may read or write it (mode 644)");
  });
});

/** A worker of each kind. */
const BEGAN: readonly string[] = WITHOUT_PYTHON === undefined ? ["script", "plain", "forked"] : ["script"];

/** Has each kind of worker run a task until the file has gone, and prints the environment that the task sees. */
function userProgram(held: string): string {
  const interpreter = spawnSync("python3", ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" }).stdout?.trim() ?? "";
  const pythonCall = (name: string, more: object): string =>
    `python.task<(held: string, name: string) => string>(${JSON.stringify(PYTHON_CODE)}, "environment", { runtimeEnv: ${JSON.stringify({ python: interpreter, ...more })} }).remote(held, "${name}")`;
  const pythonCalls = WITHOUT_PYTHON === undefined ? [pythonCall("plain", {}), pythonCall("forked", { pythonPreload: ["json"] })] : [];
  return `
import { get, init, python, remote, shutdown } from "shoal";
await init({ address: "auto", logToDriver: false });
const held = ${JSON.stringify(held)};
const script = remote(async (held: string) => {
  const { existsSync, readFileSync, writeFileSync } = await import("node:fs");
  writeFileSync(held + "-script", "");
  while (existsSync(held)) await new Promise((resolve) => setTimeout(resolve, 20));
  return [process.env, process.argv, process.execArgv, readFileSync("/proc/self/environ", "latin1")];
});
const seen = await get<unknown>([script.remote(held), ${pythonCalls.join(", ")}]);
await shutdown();
console.log(JSON.stringify(seen));
`;
}

const PYTHON_CODE = fileURLToPath(new URL("python/secrets.py", import.meta.url));

/** The session's token and the keys of the nodes' certificates, as drivers find them. */
function nodeSecrets(temporary: string): string[] {
  const nodesFolder = join(temporary, `shoal-nodes-${process.getuid?.() ?? 0}`);
  return readdirSync(nodesFolder).flatMap((name) => {
    const { token, identity } = JSON.parse(readFileSync(join(nodesFolder, name), "utf8")) as { token: string; identity?: { key: string } };
    return identity === undefined ? [token] : [token, keyText(identity.key)];
  });
}

/** The key of the authority, and whatever else the head keeps that is called a token, a secret or a key. */
function headSecrets(state: string): string[] {
  const found: string[] = [];
  const collect = (value: unknown, name: string): void => {
    if (typeof value === "string" && /^(token|secret|key|joinToken)$/i.test(name))
      found.push(value.includes("PRIVATE KEY") ? keyText(value) : value);
    else if (typeof value === "object" && value !== null) for (const [key, inner] of Object.entries(value)) collect(inner, key);
  };
  for (const [name, text] of filesUnder(join(state, "shoal", "heads"))) {
    if (!name.endsWith(".json")) continue;
    collect(JSON.parse(text), "");
  }
  return found.filter((one) => one.length > 20);
}

/** A line that no other key has, without what JSON makes of the end of a line. */
function keyText(pem: string): string {
  return pem.split("\n")[1] ?? pem;
}

function filesUnder(folder: string): [name: string, text: string][] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry): [string, string] => [join(entry.parentPath, entry.name), readFileSync(join(entry.parentPath, entry.name), "latin1")]);
}

describe("at the address of a head that has died", () => {
  test("a impostor learns nothing that it can use, is not believed, and reaches nobody in another's name", async () => {
    await using cluster = await TestCluster.start({ head: { numCpus: 1 } });
    const second = await cluster.addNode({ numCpus: 1 });
    await init({ address: cluster.address });
    const before = (await nodes()).map(({ nodeId }) => nodeId).sort();
    const token = readNodeFiles().find(({ clusterAddress }) => clusterAddress === cluster.address)?.token ?? "";
    expect(token.length).toBe(64);
    const living = (await nodes()).find(({ nodeId }) => nodeId === second.nodeId)?.address ?? "";
    await cluster.killHead();
    const impostor = new Impostor(parseNetworkAddress(living));
    await impostor.listen(parseNetworkAddress(cluster.address));
    // Each way of the impostor has been tried twice on the two nodes that look for their head.
    await until(() => impostor.callers.length >= WAYS.length * 2, "the nodes to look for their head");
    for (const caller of impostor.callers) {
      for (const { type, header } of caller.frames) {
        expect(type).toBe(MESSAGE.OPEN);
        expect(Object.keys(header as object).sort()).toEqual(["nonce", "processId", "token", "version"]);
        expect((header as { token: string }).token).toBe("");
      }
      expect(Buffer.concat(caller.bytes).includes(token)).toBe(false);
    }
    expect(impostor.callers.filter(({ frames }) => frames.length > 0).length).toBeGreaterThan(WAYS.length);
    // Answers of the living node to the passed-on messages: a random number and a proof, and no more.
    expect(impostor.answers.length).toBeGreaterThan(0);
    for (const { type, header } of impostor.answers) {
      expect(type).toBe(MESSAGE.REPLY);
      expect(Object.keys(header as object).sort()).toEqual(["nodeId", "nonce", "processId", "proof"]);
    }
    // With all that it has been given, in any order, it is nobody to the living node.
    for (const proof of [...impostor.answers.map(({ header }) => (header as { proof: string }).proof), token.slice(0, 63), ""])
      expect(await impostor.isLetIn(proof)).toBe(false);
    await impostor.close();
    await cluster.restartHead();
    // No node has believed the impostor that it was dead, or that a head was elsewhere.
    await until(async () => (await nodes()).filter(({ alive }) => alive).length === 2, "both nodes to be back");
    expect((await nodes()).map(({ nodeId }) => nodeId).sort()).toEqual(before);
    const there = { schedulingStrategy: { nodeId: second.nodeId, soft: false } } as const;
    expect(
      await remote((x: number) => x + 1)
        .options(there)
        .remote(41),
    ).toBe(42);
    await shutdown();
  }, 60_000);
});

/** Ways of an impostor with a caller: pass it on to a process that lives, tell it lies, give it back its own words, or hang up. */
const WAYS = ["passOn", "dead", "elsewhere", "mirror", "hangUp"] as const;

class Impostor {
  readonly callers: { bytes: Buffer[]; frames: { type: number; header: unknown }[] }[] = [];
  readonly answers: { type: number; header: unknown }[] = [];
  readonly #living: { host: string; port: number };
  readonly #server = net.createServer((socket) => this.#take(socket));
  readonly #sockets = new Set<net.Socket>();

  constructor(living: { host: string; port: number }) {
    this.#living = living;
  }

  listen({ host, port }: { host: string; port: number }): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, host, resolve);
    });
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #take(socket: net.Socket): void {
    this.#keep(socket);
    const way = WAYS[this.callers.length % WAYS.length];
    const caller: Impostor["callers"][number] = { bytes: [], frames: [] };
    this.callers.push(caller);
    const parser = newParser(caller.frames);
    const far = way === "passOn" ? this.#keep(net.connect(this.#living.port, this.#living.host)) : undefined;
    const answers = newParser(this.answers);
    far?.on("data", (chunk: Buffer) => {
      answers.push(Buffer.from(chunk));
      socket.write(chunk);
    });
    socket.on("data", (chunk: Buffer) => {
      caller.bytes.push(chunk);
      parser.push(Buffer.from(chunk));
      if (way === "passOn") far?.write(chunk);
      else if (way === "mirror") socket.write(chunk);
      else if (way === "dead") socket.write(refusal("the caller was declared dead: the node of process x"));
      else if (way === "elsewhere") socket.write(refusal("this head does not lead the cluster, which is led from tcp://127.0.0.1:9"));
    });
    if (way === "hangUp") socket.end();
    socket.on("end", () => far?.end());
  }

  #keep(socket: net.Socket): net.Socket {
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
    return socket;
  }

  /** Calls the living node with the first frame of another caller. */
  async isLetIn(proof: string): Promise<boolean> {
    const first = this.callers.find(({ bytes }) => bytes.length > 0)?.bytes[0] as Buffer;
    const socket = this.#keep(net.connect(this.#living.port, this.#living.host));
    const received: { type: number; header: unknown }[] = [];
    const parser = newParser(received);
    const ended = new Promise<void>((resolve) => socket.on("close", () => resolve()));
    socket.on("data", (chunk: Buffer) => parser.push(chunk));
    socket.write(first);
    await until(() => received.length > 0, "the living node to answer");
    const processId = "f".repeat(32);
    socket.write(wholeFrame({ type: MESSAGE.PROOF, flags: 0, callId: 0 }, encodeHeader(proof), []));
    socket.write(
      wholeFrame({ type: MESSAGE.HELLO, flags: 0, callId: 2 }, encodeHeader({ processId, holderId: processId, kind: "transfer" }), []),
    );
    await ended;
    return received.length > 1;
  }
}

function refusal(reason: string): Buffer {
  return wholeFrame({ type: MESSAGE.REPLY, flags: FRAME_FLAG.ERROR, callId: 1 }, encodeHeader(reason), []);
}

function newParser(into: { type: number; header: unknown }[]): FrameParser {
  return new FrameParser(
    ({ type, header }: Frame) => void into.push({ type, header: header.length > 0 ? decodeHeader(header) : undefined }),
    FRAME_SIZE_MAX,
  );
}
