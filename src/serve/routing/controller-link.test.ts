import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ServiceConnection } from "../../core/internal.ts";
import { SYNC_WITHIN_MS } from "../limits.ts";
import { ControllerLink } from "./controller-link.ts";
import { TOLD } from "./controller-messages.ts";

const connections: FakeConnection[] = [];

async function connectToFake(): Promise<ServiceConnection> {
  const connection = new FakeConnection();
  connections.push(connection);
  return connection as unknown as ServiceConnection;
}

/** A controller that takes everything, and answers when it is told to. */
class FakeConnection {
  readonly sent: { readonly type: number; readonly body: unknown }[] = [];
  onFrame: (frame: { type: number; body: Uint8Array }) => void = () => {};
  onClose: () => void = () => {};
  isDropped = false;

  send(type: number, _header: undefined, { parts: [part] }: { parts: readonly [Uint8Array] }): void {
    this.sent.push({ type, body: JSON.parse(Buffer.from(part).toString()) });
  }
  close(): void {
    this.onClose();
  }
  drop(): void {
    this.isDropped = true;
    this.onClose();
  }
  /** Questions that have come. */
  get questions(): unknown[] {
    return this.sent.filter(({ type }) => type === TOLD.SYNC).map(({ body }) => body);
  }
  answer(body: unknown): void {
    this.onFrame({ type: TOLD.SYNC, body: Buffer.from(JSON.stringify(body)) });
  }
}

let link: ControllerLink;
beforeEach(() => {
  vi.useFakeTimers();
  connections.length = 0;
  link = new ControllerLink(() => [], connectToFake);
});
afterEach(() => {
  link.close();
  vi.useRealTimers();
});

function asking(): { isOver: boolean } {
  const asked = { isOver: false };
  void link.synced().then(() => (asked.isOver = true));
  return asked;
}

test("a question that comes before there is a connection is asked by the connection, behind its subscriptions", async () => {
  link.subscribe("key", { changed: () => {}, held: () => [] });
  const asked = asking();
  await vi.advanceTimersByTimeAsync(1);
  const [connection] = connections as [FakeConnection];
  expect(connection.sent.map(({ type }) => type)).toEqual([TOLD.SUBSCRIBE, TOLD.SYNC]);
  expect(asked.isOver).toBe(false);
  connection.answer(connection.questions[0]);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked.isOver).toBe(true);
});

test("a connection that does not answer in time is dropped, and nobody waits longer; one that breaks is followed by another that asks", async () => {
  link.subscribe("key", { changed: () => {}, held: () => [] });
  await vi.advanceTimersByTimeAsync(1);
  const silent = asking();
  await vi.advanceTimersByTimeAsync(SYNC_WITHIN_MS - 1);
  expect(silent.isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(2);
  expect([silent.isOver, connections.map(({ isDropped }) => isDropped)]).toEqual([true, [true, false]]);
  const broken = asking();
  connections[1]?.close();
  await vi.advanceTimersByTimeAsync(1);
  const last = connections[2] as FakeConnection;
  expect([broken.isOver, connections[1]?.questions, last.questions]).toEqual([false, [{ number: 2 }], [{ number: 2 }]]);
  last.answer({ number: 2 });
  await vi.advanceTimersByTimeAsync(1);
  expect(broken.isOver).toBe(true);
});

test("a process that wants to know nothing asks nobody", async () => {
  const asked = asking();
  await vi.advanceTimersByTimeAsync(1);
  expect([asked.isOver, connections]).toEqual([true, []]);
});
