/**
 * The real Ray behind the operations of `system.ts`: requests to `ray_twin.py` over a pipe, one JSON line each.
 *
 * Owns the Python process and everything that it starts: they share a process group of their own, which ends with `close()`.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Step } from "./data-steps.ts";
import type { SystemSettings } from "./shoal-system.ts";
import { Handle, type Outcome, Ref, type Settings, type Strategy, type System } from "./system.ts";

interface Reply {
  readonly id: number;
  readonly result?: unknown;
  readonly failure?: string;
}

const START_WITHIN_MS = 120_000;
const END_WITHIN_MS = 15_000;

export class RaySystem implements System {
  readonly folder: string;
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  #nextId = 1;
  #ended: Error | undefined;

  private constructor(folder: string, child: ChildProcessByStdio<Writable, Readable, null>) {
    this.folder = folder;
    this.#process = child;
  }

  static async start(python: string, settings: SystemSettings): Promise<RaySystem> {
    const twin = join(dirname(fileURLToPath(import.meta.url)), "ray_twin.py");
    const child = spawn(python, [twin], { stdio: ["pipe", "pipe", "ignore"], detached: true });
    const system = new RaySystem(settings.folder, child);
    const ready = new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`Ray did not start within ${START_WITHIN_MS / 1000} s`)), START_WITHIN_MS);
      createInterface({ input: child.stdout }).on("line", (line) => {
        const message = JSON.parse(line) as Reply & { ready?: string };
        clearTimeout(timer);
        if (message.ready === undefined) system.#answered(message);
        else resolve();
      });
      child.once("exit", (code) => {
        clearTimeout(timer);
        system.#ended = new Error(`Ray's process exited with code ${code}; run ray_twin.py by hand to see why`);
        reject(system.#ended);
        for (const { reject: fail } of system.#waiting.values()) fail(system.#ended);
      });
    });
    child.stdin.write(`${JSON.stringify(settings)}\n`);
    await ready;
    return system;
  }

  async task(name: string, args: readonly unknown[] = [], settings: Settings = {}): Promise<Ref> {
    return new Ref((await this.#ask("task", { name, args, settings })) as number);
  }

  async tasks(name: string, args: readonly unknown[], settings: Settings): Promise<Ref[]> {
    return ((await this.#ask("task", { name, args, settings })) as number[]).map((ref) => new Ref(ref));
  }

  get(ref: Ref, options: { timeoutMs?: number } = {}): Promise<Outcome> {
    return this.#outcome("get", { ref: ref.ref, ...options });
  }

  getAll(refs: readonly Ref[], options: { timeoutMs?: number } = {}): Promise<Outcome> {
    return this.#outcome("getAll", { refs: refs.map(({ ref }) => ref), ...options });
  }

  async put(value: unknown): Promise<Ref> {
    return new Ref((await this.#ask("put", { value })) as number);
  }

  wait(refs: readonly Ref[], options: { numReturns: number; timeoutMs?: number }): Promise<Outcome> {
    return this.#outcome("wait", { refs: refs.map(({ ref }) => ref), ...options });
  }

  locations(refs: readonly Ref[]): Promise<Outcome> {
    return this.#outcome("locations", { refs: refs.map(({ ref }) => ref) });
  }

  cancel(ref: Ref, options: { force?: boolean; recursive?: boolean } = {}): Promise<Outcome> {
    return this.#outcome("cancel", { ref: ref.ref, ...options });
  }

  async actor(name: string, args: readonly unknown[] = [], settings: Settings = {}): Promise<Handle> {
    return new Handle((await this.#ask("actor", { name, args, settings })) as number);
  }

  async call(actor: Handle, method: string, args: readonly unknown[] = [], settings: Settings = {}): Promise<Ref> {
    return new Ref((await this.#ask("call", { actor: actor.handle, method, args, settings })) as number);
  }

  tryCall(actor: Handle, method: string, args: readonly unknown[] = []): Promise<Outcome> {
    return this.#outcome("tryCall", { actor: actor.handle, method, args });
  }

  getActor(name: string, options: { namespace?: string } = {}): Promise<Outcome> {
    return this.#outcome("getActor", { name, ...options });
  }

  async kill(actor: Handle, options: { noRestart?: boolean } = {}): Promise<void> {
    await this.#ask("kill", { actor: actor.handle, ...options });
  }

  async stream(target: string | { actor: Handle; method: string }, args: readonly unknown[] = []): Promise<Handle> {
    const what = typeof target === "string" ? { name: target } : { actor: target.actor.handle, method: target.method };
    return new Handle((await this.#ask("stream", { ...what, args })) as number);
  }

  next(stream: Handle): Promise<Outcome> {
    return this.#outcome("next", { stream: stream.handle });
  }

  async placementGroup(bundles: readonly Record<string, number>[], strategy: Strategy): Promise<Handle> {
    return new Handle((await this.#ask("placementGroup", { bundles, strategy })) as number);
  }

  groupReady(group: Handle, options: { timeoutMs: number }): Promise<Outcome> {
    return this.#outcome("groupReady", { group: group.handle, ...options });
  }

  async removeGroup(group: Handle): Promise<void> {
    await this.#ask("removeGroup", { group: group.handle });
  }

  async resources(which: "cluster" | "available"): Promise<Record<string, number>> {
    return (await this.#ask("resources", { which })) as Record<string, number>;
  }

  async nodeCount(): Promise<number> {
    return (await this.#ask("nodeCount", {})) as number;
  }

  program(name: string): Promise<Outcome> {
    return this.#outcome("program", { name });
  }

  async dataset(steps: readonly Step[]): Promise<Outcome> {
    return (await this.#ask("dataset", { steps, folder: mkdtempSync(join(this.folder, "data-")) })) as Outcome;
  }

  async forget(): Promise<void> {
    await this.#ask("forget", {});
  }

  async close(): Promise<void> {
    if (this.#ended === undefined) {
      const ended = new Promise<void>((resolve) => this.#process.once("exit", () => resolve()));
      this.#process.stdin.end();
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, END_WITHIN_MS))]);
    }
    try {
      process.kill(-(this.#process.pid as number), "SIGKILL");
    } catch {
      // All of the group has ended.
    }
  }

  async #outcome(operation: string, request: object): Promise<Outcome> {
    return decode(await this.#ask(operation, request)) as Outcome;
  }

  #ask(operation: string, request: object): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const id = this.#nextId;
    this.#nextId += 1;
    const line = JSON.stringify({ id, op: operation, ...(encode(request) as object) });
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#process.stdin.write(`${line}\n`);
    });
  }

  #answered(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.failure === undefined) waiting?.resolve(reply.result);
    else waiting?.reject(new Error(`Ray: ${reply.failure}`));
  }
}

function encode(value: unknown): unknown {
  if (value instanceof Ref) return { $ref: value.ref };
  if (value instanceof Handle) return { $handle: value.handle };
  if (value instanceof Uint8Array) return { $bytes: value.length };
  if (Array.isArray(value)) return value.map(encode);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, encode(inner)]));
}

function decode(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decode);
  if (typeof value !== "object" || value === null) return value;
  if ("$ref" in value) return new Ref(value.$ref as number);
  if ("$handle" in value) return new Handle(value.$handle as number);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, decode(inner)]));
}
