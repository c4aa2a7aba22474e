/** An extension gets only questions of its shapes, a failed question returns its reason, and a second extension of a name is refused. */
import { describe, expect, test } from "vitest";
import type { HeadPeer } from "../rpc/head-service.ts";
import type { Message } from "../rpc/peer-connection.ts";
import { fields, number, text } from "../wire/header-shape.ts";
import type { WireError } from "../wire/wire-error.ts";
import { answering, type ExtensionTable, type HeadParts, requireExtension, withBytes } from "./extension.ts";
import { ExtensionHost } from "./extension-host.ts";
import { loadExtensions, registerExtension } from "./load-extensions.ts";

const messages = { add: { asks: fields({ name: text, amount: number }), answers: number } };
const table = answering(messages, {
  add: ({ name, amount }, { question }) => {
    if (name !== "known") throw Object.assign(new RangeError(`no ${name}`), { details: { name: "other", wanted: name } });
    return amount + question.length;
  },
});

class Host extends ExtensionHost<HeadParts> {
  constructor(open: ReadonlyMap<string, ExtensionTable | Error>) {
    super("the head");
    for (const [name, opened] of open)
      this.begin(name, () => {
        if (opened instanceof Error) throw opened;
        return { messages: opened };
      });
  }
}

function ask(asked: { extension: string; message: string; header: unknown }, open: ReadonlyMap<string, ExtensionTable | Error>): unknown {
  let answered: unknown;
  const connection = {
    reply: (_callId: number, header: unknown) => (answered = header),
    replyError: (_callId: number, error: WireError) => (answered = [error.code, error.message, error.details]),
  };
  new Host(open).receive(asked, { id: "p", holderId: "p", connection } as unknown as HeadPeer, { callId: 3 } as Message);
  return answered;
}

describe("a question", () => {
  const open = new Map<string, ExtensionTable | Error>([
    ["sum", table],
    ["broken", new Error("no disk")],
  ]);
  const add = (header: unknown): unknown => ask({ extension: "sum", message: "add", header }, open);

  test("is answered, and its caller has the same name for it each time", () =>
    expect(add({ name: "known", amount: 2 })).toBe(2 + "p/3".length));

  test("of another shape does not reach the extension", () =>
    expect(add({ name: "known", amount: "2" })).toEqual([
      "malformed",
      'the message add of sum is malformed: its header.amount is not a finite number: received "2"',
      {},
    ]));

  test("that is refused brings back the error's name and details, whichever its class", () =>
    expect(add({ name: "x", amount: 1 })).toEqual(["extension", "no x", { name: "RangeError", wanted: "x" }]));

  test("for what is not there says what is missing", () => {
    expect(ask({ extension: "other", message: "add", header: 0 }, open)).toEqual(["notFound", 'the head has no extension "other"', {}]);
    expect(ask({ extension: "sum", message: "sub", header: 0 }, open)).toEqual([
      "malformed",
      'the extension sum of the head has no message "sub"',
      {},
    ]);
    expect(ask({ extension: "broken", message: "add", header: 0 }, open)).toEqual([
      "failed",
      "the extension broken of the head has not begun: no disk",
      {},
    ]);
  });
});

describe("an answer that is given later", () => {
  const later = {
    wait: { asks: text, answers: number, withinMs: 20 },
    bytes: { asks: number, answers: number },
  };
  const waiting = Promise.withResolvers<number>();
  const open = new Map([
    [
      "later",
      answering(later, {
        wait: (how) =>
          how === "never" ? waiting.promise : how === "fails" ? Promise.reject(new RangeError("no disk")) : Promise.resolve(7),
        bytes: (size) => withBytes(size, new Uint8Array(size)),
      }),
    ],
  ]);
  const askLater = async (message: string, header: unknown): Promise<unknown> => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const connection = {
      reply: (_callId: number, answer: unknown, parts: readonly Uint8Array[] = []) =>
        resolve([answer, parts.map((part) => part.byteLength)]),
      replyError: (_callId: number, error: WireError) => resolve(error.message),
    };
    new Host(open).receive(
      { extension: "later", message, header },
      { id: "p", holderId: "p", connection } as unknown as HeadPeer,
      { callId: 3 } as Message,
    );
    return await promise;
  };

  test("reaches its asker", async () => expect(await askLater("wait", "7")).toEqual([7, []]));

  test("that fails is a refusal", async () => expect(await askLater("wait", "fails")).toBe("no disk"));

  test("that never comes ends at the limit of its message", async () =>
    expect(await askLater("wait", "never")).toBe("the extension later of the head did not answer wait within 20 ms"));

  test("carries bytes up to a limit", async () => {
    expect(await askLater("bytes", 1_048_576)).toEqual([1_048_576, [1_048_576]]);
    expect(await askLater("bytes", 1_048_577)).toBe("its answer has 1048577 bytes: 1048576 are the most");
  });
});

describe("an extension", () => {
  test("has a name and functions", () => {
    expect(() => requireExtension(undefined, "file:///x.js")).toThrow(
      "Cannot use the extension of file:///x.js: its name is lower-case letters",
    );
    expect(() => requireExtension({ name: "telemetry" }, "x")).toThrow('and not "telemetry"');
    expect(() => requireExtension({ name: "a", head: 1 }, "x")).toThrow("head, node and worker are functions where they are there");
  });

  test("is registered once a name, by a file", () => {
    registerExtension({ name: "a" }, { module: "file:///a.js" });
    registerExtension({ name: "a" }, { module: "file:///a.js" });
    expect(() => registerExtension({ name: "a" }, { module: "file:///b.js" })).toThrow("file:///a.js has that name");
    expect(() => registerExtension({ name: "b" }, { module: "b.js" })).toThrow(
      'Cannot register extension b: its module is a file URL: received "b.js"',
    );
  });

  test("is loaded from its module, or the process does not start", async () => {
    const url = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;
    const loaded = await loadExtensions([url('export default { name: "a" }'), url('export default { name: "b" }')]);
    expect(loaded.map(({ name }) => name)).toEqual(["a", "b"]);
    await expect(loadExtensions([url("throw new Error('broken')")])).rejects.toThrow("broken");
    await expect(loadExtensions([url('export default { name: "a" }'), url('export default { name: "a" } ')])).rejects.toThrow(
      "another has the name a",
    );
  });
});
