/** Tests which processes are started again, and the order of the end; processes and time are made up. */
import { expect, test } from "vitest";
import { ShoalError } from "../../runtime/base/errors.ts";
import { ENDED_IN_ORDER, type LocalProcess } from "../providers/local-processes.ts";
import { Supervisor } from "./supervisor.ts";

class Fake implements LocalProcess {
  readonly pid: number;
  readonly ended: Promise<string>;
  end: (how: string) => void;
  readonly #kill: (signal: string) => void;

  constructor(pid: number, onKill: (signal: string) => void) {
    this.pid = pid;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.ended = promise;
    this.end = resolve;
    this.#kill = onKill;
  }

  kill(signal: NodeJS.Signals): void {
    this.#kill(signal);
    if (signal === "SIGTERM") this.end(ENDED_IN_ORDER);
  }

  setKeepsProcessAlive(): void {}
}

function made(options: { hasHead?: boolean; failures?: number } = {}): {
  supervisor: Supervisor<Fake, Fake>;
  told: string[];
  heads: Fake[];
  nodes: Fake[];
} {
  const { hasHead = true } = options;
  let { failures = 0 } = options;
  const told: string[] = [];
  const heads: Fake[] = [];
  const nodes: Fake[] = [];
  const start = (kind: string, list: Fake[]): Promise<Fake> => {
    if (failures > 0 && list.length > 0) {
      failures -= 1;
      return Promise.reject(new Error("no"));
    }
    const number = list.length + 1;
    const process = new Fake(number, (signal) => {
      if (signal !== "SIGCONT") told.push(`${signal} ${kind} ${number}`);
    });
    list.push(process);
    told.push(`start ${kind} ${number}`);
    return Promise.resolve(process);
  };
  const supervisor = new Supervisor<Fake, Fake>({
    startStore: () => {
      told.push("start store");
      return Promise.resolve({
        close: () => {
          told.push("close store");
          return Promise.resolve();
        },
      });
    },
    startHead: hasHead ? () => start("head", heads) : undefined,
    startNode: () => start("node", nodes),
    log: () => {},
    onChange: () => {},
    onLeft: () => told.push("left"),
    nowMs: () => 0,
    // Short pauses pass at once; the pause before a process is killed never ends.
    sleep: (ms) => (ms > 10_000 ? new Promise(() => {}) : new Promise((resolve) => setImmediate(resolve))),
  });
  return { supervisor, told, heads, nodes };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

test("the store starts first and ends last", async () => {
  const { supervisor, told } = made();
  await supervisor.start();
  await supervisor.stop();
  expect(told).toEqual(["start store", "start head 1", "start node 1", "SIGTERM node 1", "SIGTERM head 1", "close store"]);
});

test("a head that ends is started again, until it stays, and so is a node", async () => {
  const { supervisor, told, heads, nodes } = made({ failures: 3 });
  await supervisor.start();
  heads[0]?.end("signal SIGKILL");
  await settled();
  expect(supervisor.head).toBe(heads[1]);
  nodes[0]?.end("exit code 1");
  await settled();
  expect(supervisor.node).toBe(nodes[1]);
  await supervisor.stop();
  expect(told.slice(3)).toEqual(["start head 2", "start node 2", "SIGTERM node 2", "SIGTERM head 2", "close store"]);
});

test("a node that ends in order is not replaced, and with a head nothing else ends", async () => {
  const { supervisor, told, nodes } = made();
  await supervisor.start();
  nodes[0]?.end(ENDED_IN_ORDER);
  await settled();
  expect(supervisor.node).toBeUndefined();
  expect(told.slice(3)).toEqual([]);
  await supervisor.stop();
  expect(told.slice(3)).toEqual(["SIGTERM head 1", "close store"]);
});

test("a machine whose only node leaves has nothing left to keep", async () => {
  const { supervisor, told, nodes } = made({ hasHead: false });
  await supervisor.start();
  nodes[0]?.end(ENDED_IN_ORDER);
  await settled();
  expect(told.at(-1)).toBe("left");
});

test("what was started is ended again when the rest does not start", async () => {
  const { supervisor, told, nodes } = made({ failures: 1 });
  // The first node of the list is already there, so the next start fails.
  nodes.push(new Fake(0, () => {}));
  await expect(supervisor.start()).rejects.toThrow("no");
  expect(told).toEqual(["start store", "start head 1", "SIGTERM head 1", "close store"]);
});

/** A node that joins only on the test's command, and is ended before that. */
function slow(sleep: (ms: number) => Promise<void>): { supervisor: Supervisor<Fake, Fake>; told: string[] } {
  const told: string[] = [];
  const supervisor = new Supervisor<Fake, Fake>({
    startNode: (_head, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          told.push("ended");
          reject(new ShoalError("Cannot start the node: it was ended.", { reason: "it waited for the head to take it in" }));
        });
      }),
    log: () => {},
    onChange: () => {},
    onLeft: () => {},
    nowMs: () => 0,
    sleep,
  });
  return { supervisor, told };
}

test("a start that is told to end ends what it began at once", async () => {
  const { supervisor, told } = slow((ms) => (ms > 0 ? new Promise(() => {}) : Promise.resolve()));
  const starting = supervisor.start();
  const stopped = supervisor.stop();
  await expect(starting).rejects.toThrow("Cannot start Shoal: it was told to end while the node began.");
  await stopped;
  expect(told).toEqual(["ended"]);
});

test("a start that takes too long ends what it began and says what it waited for", async () => {
  const { supervisor, told } = slow(() => Promise.resolve());
  await expect(supervisor.start()).rejects.toThrow(
    "Cannot start Shoal: the node was not ready within 60 s: it waited for the head to take it in.",
  );
  expect(told).toEqual(["ended"]);
});

test("nothing is started any more once it stops", async () => {
  const { supervisor, told, heads } = made();
  await supervisor.start();
  heads[0]?.end("signal SIGKILL");
  await supervisor.stop();
  await settled();
  expect(told.filter((line) => line.startsWith("start head"))).toEqual(["start head 1"]);
});
