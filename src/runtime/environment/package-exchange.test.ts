/**
 * Sends folders from node to node: once for all waiters, from any holder, past sources that are silent, lie or die. Real files, no sockets.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JobId, NodeId } from "../base/ids.ts";
import { openRequest, type Reply } from "../rpc/peer-connection.ts";
import { MESSAGE } from "../wire/messages.ts";
import type { PackageReadHeader } from "../wire/cluster/package-messages.ts";
import type { ReplyTo } from "../wire/tables/replies.ts";
import { packDirectory, unpackDirectory } from "./pack-directory.ts";
import { PackageExchange, type PackagePlace } from "./package-exchange.ts";
import type { PackagePeer } from "./package-fetch.ts";
import { handle } from "../wire/tables/message-table.ts";

const job = "job" as JobId;
/** The id of the node of that name. */
const idOf = (name: string): NodeId => Buffer.from(name).toString("hex").padEnd(32, "0") as NodeId;
let root: string;
let nodes: Map<NodeId, TestNode>;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "test-shoal-exchange-"));
  nodes = new Map();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

type Answer = (header: unknown, go: () => Promise<Reply>) => Promise<Reply>;

class TestNode {
  readonly id: NodeId;
  readonly exchange: PackageExchange;
  readonly cacheFolder: string;
  readonly asked: string[] = [];
  packs = 0;
  readBytes = 0;
  /** Decides how this node's questions are answered. */
  answer: Answer = (_, go) => go();

  constructor(name: string, cacheBytesMax = 1e9) {
    this.id = idOf(name);
    this.cacheFolder = join(root, `cache-${name}`);
    nodes.set(this.id, this);
    this.exchange = new PackageExchange({
      here: this.id,
      hostname: `host-${name}`,
      cacheFolder: this.cacheFolder,
      cacheBytesMax,
      peer: (node) => nodes.get(node)?.peerFor(this.id),
      pack: async (request, cacheFolder) => {
        this.packs += 1;
        return packDirectory(request, { cacheFolder, nowMs: () => Date.now() + 10_000 });
      },
      timeoutsMs: { pack: 1000, piece: 20 },
    });
  }

  peerFor(node: NodeId): PackagePeer {
    const ask = <N extends number>(type: N, header: unknown): Promise<Reply<ReplyTo<N>>> =>
      new Promise((resolve, reject) => {
        const open = openRequest(type, resolve, reject);
        const asker = {
          node,
          reply: (answered: unknown, parts: readonly Uint8Array[] = []) => open.answer({ flags: 0, body: Buffer.concat(parts) }, answered),
          replyError: reject,
        };
        expect(handle(this.exchange.handlers, type, structuredClone(header), asker)).toBe(true);
      });
    return {
      send: (type, header) => void ask(type, header).catch(() => {}),
      request: (type, header) => {
        this.asked.push(`${type} ${node}`);
        if (type !== MESSAGE.PACKAGE_READ) return ask(type, header);
        this.readBytes += (header as PackageReadHeader).length;
        const answered = this.answer(header, () => ask(type, header));
        return new Promise((resolve, reject) => {
          const open = openRequest(type, resolve, reject);
          answered.then((reply) => open.answer({ flags: 0, body: reply.body }, reply.header), reject);
        });
      },
    };
  }
}

function write(path: string, text: string): void {
  const file = join(root, "project", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function place(overrides: Partial<PackagePlace> = {}): PackagePlace {
  return { node: idOf("home"), hostname: "host-home", job, directory: join(root, "project"), excludes: [], ...overrides };
}

function filesIn(folder: string): string[] {
  const to = join(root, `to-${Math.random()}`);
  unpackDirectory(folder, to);
  return readdirSync(to, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .sort();
}

describe("a folder of another node", () => {
  test("is packed and fetched once for all who wait", async () => {
    write("a", "1");
    write("b/c", "22");
    const [home, other] = [new TestNode("home"), new TestNode("other")];
    home.exchange.described(place());
    const folders = await Promise.all([1, 2, 3].map(() => other.exchange.obtain(place())));
    expect(new Set(folders.map(({ folder }) => folder)).size).toBe(1);
    expect(filesIn(folders[0]?.folder ?? "")).toEqual(["1", "22"]);
    await new TestNode("third").exchange.obtain(place());
    expect(home.packs).toBe(1);
    expect(home.asked.filter((asked) => asked === `${MESSAGE.PACKAGE_OFFER} ${idOf("other")}`)).toHaveLength(1);
  });

  test("stays as it was at the first time for the job, and is packed anew for the next", async () => {
    write("a", "1");
    const [home, other, third] = [new TestNode("home"), new TestNode("other"), new TestNode("third")];
    home.exchange.described(place());
    const { folder: first } = await other.exchange.obtain(place());
    write("a", "2");
    expect(filesIn((await third.exchange.obtain(place())).folder)).toEqual(["1"]);
    const next = place({ job: "next" as JobId });
    home.exchange.described(next);
    expect(filesIn((await other.exchange.obtain(next)).folder)).toEqual(["2"]);
    expect(filesIn(first)).toEqual(["1"]);
  });

  test("costs what has changed in it since the last time", async () => {
    write("large", "x".repeat(3_000_000));
    write("small", "1");
    const [home, other] = [new TestNode("home"), new TestNode("other")];
    home.exchange.described(place());
    await other.exchange.obtain(place());
    expect(home.readBytes).toBeGreaterThan(3_000_000);
    home.readBytes = 0;
    write("small", "2");
    const next = place({ job: "next" as JobId });
    home.exchange.described(next);
    const { folder } = await other.exchange.obtain(next);
    expect(home.readBytes).toBeLessThan(1000);
    expect(filesIn(folder)).toEqual(["2", "x".repeat(3_000_000)]);
  });

  test("is taken from another node that has it", async () => {
    write("a", "x".repeat(5000));
    const [home, other, third] = [new TestNode("home"), new TestNode("other"), new TestNode("third")];
    home.exchange.described(place());
    await other.exchange.obtain(place());
    // A package in the cache is announced without an answer.
    await new Promise((resolve) => setImmediate(resolve));
    home.readBytes = 0;
    await third.exchange.obtain(place());
    expect([home.readBytes, other.readBytes > 5000]).toEqual([0, true]);
  });
});

describe("a source that", () => {
  async function three(): Promise<[home: TestNode, other: TestNode, third: TestNode]> {
    write("a", "x".repeat(9_000_000));
    const made: [TestNode, TestNode, TestNode] = [new TestNode("home"), new TestNode("other"), new TestNode("third")];
    made[0].exchange.described(place());
    await made[1].exchange.obtain(place());
    await new Promise((resolve) => setImmediate(resolve));
    return made;
  }

  test.each<[string, Answer]>([
    ["has it no longer", () => Promise.reject(new Error("it no longer has the package"))],
    ["sends too little", async () => ({ header: undefined, body: Buffer.from("x") })],
    ["is gone", () => Promise.reject(new Error("the connection was closed"))],
  ])("%s is left for the next", async (_, answer) => {
    const [, other, third] = await three();
    other.answer = answer;
    expect(filesIn((await third.exchange.obtain(place())).folder)[0]?.length).toBe(9_000_000);
  });

  test("dies in the middle is left, and what is there stays", async () => {
    const [home, other, third] = await three();
    let left = 4;
    other.answer = (_, go) => {
      left -= 1;
      return left < 0 ? Promise.reject(new Error("it is gone")) : go();
    };
    home.readBytes = 0;
    expect(filesIn((await third.exchange.obtain(place())).folder)[0]?.length).toBe(9_000_000);
    expect(home.readBytes).toBeLessThan(7_000_000);
  });

  test("is the last one ends the attempt with the names of both sides; the next begins anew", async () => {
    write("a", "1");
    const [home, other] = [new TestNode("home"), new TestNode("other")];
    home.exchange.described(place());
    home.answer = () => Promise.reject(new Error("the connection was closed"));
    await expect(other.exchange.obtain(place())).rejects.toThrow(
      /the folder .*project of node 686f6d65 \(host-home\) could not be brought to node 6f746865 \(host-other\): no source is left: node 686f6d65: the connection was closed/,
    );
    expect(readdirSync(other.cacheFolder)).toEqual([]);
    home.answer = (_, go) => go();
    expect(filesIn((await other.exchange.obtain(place())).folder)).toEqual(["1"]);
    nodes.delete(home.id);
    await expect(new TestNode("third").exchange.obtain(place())).rejects.toThrow(/that node is gone/);
  });

  test("sends other bytes is found out where it is unpacked, and then all of it is fetched anew", async () => {
    write("a", "12345");
    const [home, other] = [new TestNode("home"), new TestNode("other")];
    home.exchange.described(place());
    home.answer = async (header, go) =>
      (header as PackageReadHeader).part === "manifest" ? go() : { header: undefined, body: Buffer.from("54321") };
    const { folder } = await other.exchange.obtain(place());
    expect(() => filesIn(folder)).toThrow(/not what its hash says/);
    home.answer = (_, go) => go();
    expect(filesIn((await other.exchange.obtainAnew(place())).folder)).toEqual(["12345"]);
  });

  test("sends another manifest is refused", async () => {
    write("a", "12345");
    const [home, other] = [new TestNode("home"), new TestNode("other")];
    home.exchange.described(place());
    home.answer = async (header) => ({ header: undefined, body: Buffer.alloc((header as PackageReadHeader).length) });
    await expect(other.exchange.obtain(place())).rejects.toThrow(/its manifest is not the one that was offered/);
  });
});

describe("nothing is given away", () => {
  test("that no process of the node uses", async () => {
    write("a", "1");
    const [home, other] = [new TestNode("home"), new TestNode("other")];
    home.exchange.described(place());
    await expect(other.exchange.obtain(place({ directory: root }))).rejects.toThrow(/no process of that node uses this folder/);
    await expect(other.exchange.obtain(place({ job: "x" as JobId }))).rejects.toThrow(/no process of that node uses this folder/);
    expect(home.exchange.jobEnded(job)).toEqual([]);
    await expect(other.exchange.obtain(place())).rejects.toThrow(/no process of that node uses this folder any more/);
  });

  test.each([
    [{ hash: "../../etc/passwd", part: "manifest", offset: 0, length: 1 }, /no part of a package/],
    [{ hash: "0".repeat(64), part: "contents", offset: -1, length: 1 }, /no part of a package/],
    [{ hash: "0".repeat(64), part: "contents", offset: 0, length: 2 ** 30 }, /no part of a package/],
    [{ hash: "0".repeat(64), part: "contents", offset: 0, length: 1 }, /no longer has the package/],
  ])("for %j", async (header, message) => {
    const peer = new TestNode("home").peerFor(idOf("other"));
    await expect(peer.request(MESSAGE.PACKAGE_READ, header)).rejects.toThrow(message);
  });
});

test("what no job uses goes when there is too much, and a folder that cannot be packed says why", async () => {
  write("a", "x".repeat(1000));
  const [home, other] = [new TestNode("home"), new TestNode("other", 500)];
  home.exchange.described(place());
  const { folder } = await other.exchange.obtain(place());
  expect(readdirSync(other.cacheFolder)).toHaveLength(1);
  other.exchange.forget(job);
  expect(readdirSync(other.cacheFolder)).toEqual([]);
  expect(home.exchange.jobEnded(job)).toEqual([idOf("other")]);
  home.exchange.described(place());
  expect((await other.exchange.obtain(place())).folder).toBe(folder);
  const missing = place({ directory: join(root, "nowhere") });
  home.exchange.described(missing);
  await expect(other.exchange.obtain(missing)).rejects.toThrow(/nowhere.*could not be brought.*there is no folder/);
});

test("a dead node is no source any more", async () => {
  write("a", "x".repeat(5000));
  const [home, other, third] = [new TestNode("home"), new TestNode("other"), new TestNode("third")];
  home.exchange.described(place());
  await other.exchange.obtain(place());
  home.exchange.nodeGone(other.id);
  await third.exchange.obtain(place());
  expect(other.asked).toEqual([]);
});
