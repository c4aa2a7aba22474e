/**
 * Machines with a separate network each, joined by a bridge. Messages between them are lost in several ways, always by the kernel, so that
 * no part of Shoal is told.
 *
 * For the first process of new namespaces (users, processes, mounts, network), which may do everything there and leaves nothing behind. A
 * cut is silent: packets go nowhere, without an error at either end. An importing process makes one network in its life.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { nowMs } from "../../../chaos/clock.ts";
import type { Machine } from "./machine.ts";

export const FOLDER = "/run/world";
export const LOGS = `${FOLDER}/logs`;
export const ANSWERS = `${FOLDER}/answers`;
const TMP = `${FOLDER}/tmp`;
const LEFT_WITHIN_MS = 10_000;
/** A network card that nobody has. The bridge asks everybody, and everybody drops it unread. */
const NOBODY = "02:00:00:00:ff:ff";

const hosts: string[] = [];

export function addressOf(host: string): string {
  return `10.77.0.${numberOf(host)}`;
}

function cardOf(host: string): string {
  return `02:00:00:00:00:${numberOf(host).toString(16).padStart(2, "0")}`;
}

function numberOf(host: string): number {
  return hosts.indexOf(host) + 1;
}

export function makeNetwork(names: readonly string[]): void {
  hosts.push(...names);
  const run = (line: string): void => void execFileSync("sh", ["-ec", line]);
  run("mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm && mkdir -p /run/netns && ip link set lo up");
  run("ip link add name bridge0 type bridge && ip link set bridge0 up");
  for (const host of hosts) {
    run(
      `ip netns add ${host} && ip link add name to-${host} type veth peer name eth0 netns ${host} && ip link set to-${host} master bridge0 up`,
    );
    const own = `ip link set eth0 address ${cardOf(host)}; ip addr add ${addressOf(host)}/24 dev eth0; ip link set eth0 up; ip link set lo up`;
    run(`nsenter --net=/run/netns/${host} sh -ec '${own}'`);
    mkdirSync(`${TMP}/${host}`, { recursive: true });
  }
  mkdirSync(LOGS, { recursive: true });
}

/** Cuts a host off: packets from and to the host go nowhere, and its own end of the cable looks as before. */
export async function cut(host: string, during: () => Promise<void>): Promise<void> {
  execFileSync("ip", ["link", "set", `to-${host}`, "nomaster"]);
  await during();
  execFileSync("ip", ["link", "set", `to-${host}`, "master", "bridge0"]);
}

/** Cuts one direction: packets from the first of each pair to the second go nowhere. */
export async function silence(pairs: readonly (readonly [from: string, to: string])[], during: () => Promise<void>): Promise<void> {
  for (const [from, to] of pairs) aim(from, to, `${NOBODY} nud permanent`);
  await during();
  for (const [from, to] of pairs) aim(from, to, `${cardOf(to)} nud reachable`);
}

function aim(from: string, to: string, card: string): void {
  const args = ["neigh", "replace", addressOf(to), "dev", "eth0", "lladdr", ...card.split(" ")];
  execFileSync("nsenter", [`--net=/run/netns/${from}`, "ip", ...args]);
}

/** Whether a datagram from one comes to the other, as the other's kernel counts. */
export async function isHeard(from: string, to: string): Promise<boolean> {
  const before = strayDatagrams(to);
  const send = `require("node:dgram").createSocket("udp4").send("x", 9, ${JSON.stringify(addressOf(to))}, () => process.exit())`;
  execFileSync("nsenter", [`--net=/run/netns/${from}`, process.execPath, "-e", send]);
  for (let look = 0; look < 10 && strayDatagrams(to) === before; look += 1) await sleep(20);
  return strayDatagrams(to) > before;
}

/** Returns the number of datagrams for a port without a listener. */
function strayDatagrams(host: string): number {
  const [names = "", values = ""] = execFileSync("nsenter", [`--net=/run/netns/${host}`, "cat", "/proc/net/snmp"], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.startsWith("Udp:"));
  return Number(values.split(" ")[names.split(" ").indexOf("NoPorts")]);
}

export class Running {
  readonly child: ChildProcess;
  readonly #lines: string[] = [];
  #onLine = (): void => {};

  constructor(host: string, machine: Machine) {
    const script = fileURLToPath(new URL("machine.ts", import.meta.url));
    const args = [`--net=/run/netns/${host}`, process.execPath, "--disable-warning=ExperimentalWarning", script, JSON.stringify(machine)];
    // A machine has its own temporary folder, too.
    const env = { ...process.env, TMPDIR: `${TMP}/${host}` };
    this.child = spawn("nsenter", args, { env, stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: this.child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      this.#lines.push(line);
      this.#onLine();
    });
  }

  /** The next thing that it tells. */
  async next(withinMs = 60_000): Promise<Record<string, string>> {
    const endMs = nowMs() + withinMs;
    while (this.#lines.length === 0) {
      if (nowMs() > endMs || this.child.exitCode !== null) throw new Error(`nothing was told within ${withinMs} ms`);
      await Promise.race([sleep(50), new Promise<void>((resolve) => (this.#onLine = resolve))]);
    }
    return JSON.parse(this.#lines.shift() ?? "") as Record<string, string>;
  }

  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    if (this.child.exitCode !== null) return;
    this.child.stdin?.end();
    await Promise.race([ended, sleep(10_000)]);
  }
}

/** A call as the driver saw it. */
export interface Answer {
  readonly actor: string;
  readonly call: number;
  readonly beginMs: number;
  readonly endMs: number;
  /** Error of a failed program. */
  readonly error?: string;
}

const read: Answer[] = [];
let readBytes = 0;

/** All until now, in the order in which they came. */
export function answers(): readonly Answer[] {
  if (!existsSync(ANSWERS)) return read;
  const bytes = readFileSync(ANSWERS).subarray(readBytes);
  const whole = bytes.subarray(0, bytes.lastIndexOf("\n") + 1);
  readBytes += whole.length;
  for (const line of whole.toString().split("\n").slice(0, -1)) read.push(JSON.parse(line) as Answer);
  return read;
}

/**
 * Returns the leftovers when everything has ended and had some time for it. This namespace has no other users, so every process in it, and
 * every file in its folders, is a leftover.
 */
export async function whatIsLeft(): Promise<string[]> {
  const giveUpMs = nowMs() + LEFT_WITHIN_MS;
  while (leftovers().length > 0 && nowMs() < giveUpMs) await sleep(50);
  return leftovers();
}

function leftovers(): string[] {
  const processes = readdirSync("/proc").filter((name) => Number(name) > 1 && isShoal(name));
  const folders = ["/dev/shm", ...hosts.map((host) => `${TMP}/${host}`)];
  const files = folders.flatMap((folder) => readdirSync(folder).filter((name) => !name.startsWith("shoal-nodes-")));
  return [...processes.map((pid) => `process ${pid}`), ...files];
}

function isShoal(pid: string): boolean {
  try {
    return (
      /^State:\s*[^ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8")) && /shoal/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"))
    );
  } catch {
    return false;
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
