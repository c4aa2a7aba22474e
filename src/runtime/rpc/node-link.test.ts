/**
 * Node links over connections that break anywhere, planned for each rule; `node-link-storm.test.ts` draws breaks from a seed. Nothing here
 * opens a socket or sleeps: bytes and time move when the test says so.
 */
import { expect, test } from "vitest";
import type { NodeId } from "../base/ids.ts";
import { loopbackPair, type Transport } from "../os/network/transport.ts";
import { decodeHeader } from "../wire/header.ts";
import { WireError } from "../wire/wire-error.ts";
import { Clock, End, HELLO, NODE_A, NODE_B, Pipe, pair, settled } from "../../../sim/link-wire.ts";

test("opens when there is something to send, delivers in order in both directions, and forgets what was acknowledged", async () => {
  const { a, b, wires, timers } = pair();
  await settled();
  expect(wires.length).toBe(0);
  for (let number = 0; number < 1000; number += 1) a.link.send(200, number);
  b.link.send(200, "kept until somebody connects");
  await settled();
  expect(b.received).toEqual(Array.from({ length: 1000 }, (_, number) => number));
  expect(a.received).toEqual(["kept until somebody connects"]);
  expect([a.ups, b.ups]).toEqual([[true], [true]]);
  // 768 of them after every 256, the rest with the time.
  await timers.pass(50);
  expect(a.link.unacknowledgedBytes).toBe(0);
  expect(b.link.unacknowledgedBytes).toBe(0);
});

test("goes on where it was when a connection broke, and sends nothing twice", async () => {
  const { a, b, wires, timers } = pair();
  a.link.send(200, 1);
  await settled();
  wires[0]?.destroy();
  await settled();
  expect(a.link.isUp).toBe(false);
  a.link.send(200, 2);
  b.link.send(200, "back");
  await timers.pass(50);
  expect(b.received).toEqual([1, 2]);
  expect(a.received).toEqual(["back"]);
  expect(a.ups).toEqual([true, false]);
});

test("a frame that is handled and not yet safe is kept by the sender, and not given to the same incarnation twice", async () => {
  const receipts: (() => void)[] = [];
  const seen: unknown[] = [];
  const { a, wires, timers, setTarget, b } = pair({
    b: {
      acknowledgesLater: true,
      onFrame: (frame, acknowledge) => {
        seen.push(decodeHeader(frame.header));
        receipts.push(acknowledge);
      },
    },
  });
  a.link.send(200, 1);
  a.link.send(200, 2);
  await settled();
  // Out of order: nothing is safe yet, as an acknowledgement covers all earlier frames.
  receipts[1]?.();
  await timers.pass(100);
  const both = a.link.unacknowledgedBytes;
  expect(both).toBeGreaterThan(0);
  wires[0]?.destroy();
  await timers.pass(100);
  expect(seen).toEqual([1, 2]);
  receipts[0]?.();
  await timers.pass(100);
  expect(a.link.unacknowledgedBytes).toBe(0);

  // The next is handled, never safe, and so the next incarnation gets it.
  a.link.send(200, 3);
  await settled();
  expect(seen).toEqual([1, 2, 3]);
  const later = new End(NODE_B, "b2").make({ timers });
  setTarget(later);
  b.link.close("its process ended");
  await timers.pass(100);
  expect(later.received).toEqual([3]);
});

test("a new incarnation gets the registration first, then requests without an answer, then what was kept; no answer of the last one", async () => {
  const { a, b, timers, setTarget } = pair({
    a: { onUp: ({ isNew }) => (isNew ? a.link.send(200, "registration") : undefined) },
    b: { onFrame: (frame) => void b.received.push(decodeHeader(frame.header)) },
  });
  const answer = a.link.request(201, "question");
  await timers.pass(100);
  expect(b.received).toEqual(["registration", "question"]);
  expect(a.link.unacknowledgedBytes).toBe(0);
  const later = new End(NODE_B, "b2").make({
    timers,
    onFrame: (frame) => {
      const text = decodeHeader(frame.header);
      later.received.push(text);
      if (text === "question") later.link.reply(frame.callId, "answer");
    },
  });
  setTarget(later);
  b.link.close("its process ended");
  a.link.send(200, "meanwhile");
  await timers.pass(100);
  expect(later.received).toEqual(["registration", "question", "meanwhile"]);
  expect((await answer).header).toBe("answer");
});

test("a link that is made again in the same process is a new one to the other end, which registers there", async () => {
  const { a, b, timers } = pair({ a: { onUp: ({ isNew }) => (isNew ? a.link.send(200, "registration") : undefined) } });
  a.link.send(200, 1);
  await timers.pass(100);
  b.link.close("it was given up too soon");
  b.make({ timers });
  a.link.send(200, 2);
  await timers.pass(200);
  expect(b.received).toEqual(["registration", 1, "registration", 2]);
});

test("a reply to an incarnation that has gone is dropped, also when the next one's question has the same number", async () => {
  const { b, timers, connect } = pair();
  let first = 0;
  let second = 0;
  const make = (incarnation: string): End => new End(NODE_A, incarnation).make({ timers, connect, peerNodeId: NODE_B });
  const links = { a: make("a1") };
  b.make({
    timers,
    onFrame: (frame) => {
      if (first === 0) first = frame.callId;
      else second = frame.callId;
    },
  });
  links.a.link.request(201, "one").catch(() => {});
  await settled();
  links.a.link.close("its process ended");
  const later = make("a2");
  const answer = later.link.request(201, "two");
  await timers.pass(100);
  b.link.reply(first, "to one");
  b.link.reply(second, "to two");
  await timers.pass(100);
  expect((await answer).header).toBe("to two");
});

test("a request has a time limit of its own and survives a broken connection within it; errors are errors", async () => {
  const { a, b, wires, timers } = pair();
  let asked = 0;
  b.make({ timers, onFrame: (frame) => (asked = frame.callId) });
  const answer = a.link.request(201, "question").catch((error: unknown) => error as Error);
  await settled();
  wires[0]?.destroy();
  await timers.pass(200);
  b.link.replyError(asked, new WireError("notFound", "it went wrong"));
  expect(await answer).toMatchObject({ code: "notFound", message: "it went wrong" });

  const late = a.link.request(201, "question", { timeoutMs: 300 }).catch((error: unknown) => error as Error);
  await timers.pass(400);
  expect(((await late) as Error).message).toBe("the peer did not answer within 300 ms");
});

test("both ends connecting at once end with one connection, that of the lower id, and lose nothing", async () => {
  const timers = new Clock();
  const a = new End(NODE_A, "a1");
  const b = new End(NODE_B, "b1");
  const over: string[] = [];
  let wires = 0;
  const to = (end: End) => async (): Promise<Transport> => {
    const [near, far] = loopbackPair();
    wires += 1;
    const destroy = near.destroy.bind(near);
    near.destroy = () => {
      over.push(`to ${end.incarnation}`);
      destroy();
    };
    end.accept(far);
    return near;
  };
  a.make({ timers, connect: to(b), peerNodeId: NODE_B });
  b.make({ timers, connect: to(a), peerNodeId: NODE_A });
  a.link.send(200, "from a");
  b.link.send(200, "from b");
  await settled();
  await timers.pass(3000);
  expect([a.received, b.received]).toEqual([["from b"], ["from a"]]);
  expect([a.ups, b.ups]).toEqual([[true], [true]]);
  expect(wires).toBe(2);
  expect(new Set(over)).toEqual(new Set(["to a1"]));
});

test("a later connection of the same incarnation takes the place of the one before, which is closed", async () => {
  const { a, b, wires, timers } = pair();
  a.link.send(200, 1);
  await timers.pass(100);
  let closed = "";
  const [, far] = loopbackPair();
  const first = wires[0] as Transport;
  first.onClose = (reason) => (closed = reason);
  far.write = () => {};
  const lives = { incarnation: b.link.peerIncarnation as string, peerIncarnation: a.link.peerIncarnation };
  b.link.accept(far, { ...HELLO, ...lives, delivered: 0, oldest: 2 });
  await settled();
  expect(closed).toBe("the connection was closed");
  expect(b.ups).toEqual([true, false]);
});

test("a hello that comes late, of a connection that was given up, is refused, and no frame is delivered twice", async () => {
  const { a, b, wires, timers } = pair();
  a.link.send(200, 1);
  await timers.pass(100);
  const [, far] = loopbackPair();
  // As A wrote it before it knew B.
  b.link.accept(far, { ...HELLO, incarnation: b.link.peerIncarnation as string, peerIncarnation: undefined });
  wires[0]?.destroy();
  a.link.send(200, 2);
  await timers.pass(200);
  expect(b.received).toEqual([1, 2]);
  expect([a.ups, b.ups]).toEqual([
    [true, false],
    [true, false],
  ]);
});

test("notices a silent connection, from both ends", async () => {
  const timers = new Clock();
  const pipes: Pipe[] = [];
  const b = new End(NODE_B, "b1").make({ timers });
  const a = new End(NODE_A, "a1").make({
    timers,
    connect: async () => {
      const pipe = new Pipe();
      pipes.push(pipe);
      b.accept(pipe.ends[1]);
      return pipe.ends[0];
    },
  });
  a.link.open();
  await settled();
  const deliverAll = async (): Promise<void> => {
    for (const pipe of pipes) for (const to of [1, 0, 1, 0] as const) if (pipe.deliver(to)) await settled();
  };
  await deliverAll();
  expect([a.link.isUp, b.link.isUp]).toEqual([true, true]);
  // Nothing to say for a minute: the pings are enough.
  for (let second = 0; second < 60; second += 1) {
    await timers.pass(1000);
    await deliverAll();
  }
  expect(a.downs).toEqual([]);
  // No packet gets through any more, not even the end of a connection.
  for (const pipe of pipes) pipe.break = () => {};
  await timers.pass(3000);
  expect(a.downs).toEqual(["nothing was heard for 3000 ms"]);
  expect(b.downs).toEqual(["nothing was heard for 3000 ms"]);
});

test("gives itself up, and says so, when it would keep more than it may; closing leaves no timer", async () => {
  let reason = "";
  const timers = new Clock();
  const a = new End(NODE_A, "a1").make({
    timers,
    keptBytesMax: 10_000,
    onGivenUp: (why) => (reason = why),
    connect: () => Promise.reject(new Error("no route")),
  });
  const answer = a.link.request(201, "question").catch((error: unknown) => error as Error);
  for (let number = 0; number < 9; number += 1) a.link.send(200, undefined, { parts: [new Uint8Array(1000)] });
  await timers.pass(5000);
  expect(a.downs.every((why) => why === "no route")).toBe(true);
  // 50, 100, 200, 400, 800, then every second.
  expect(a.downs.length).toBeGreaterThan(6);
  expect(a.downs.length).toBeLessThan(12);
  expect(reason).toBe("");
  a.link.send(200, undefined, { parts: [new Uint8Array(1000)] });
  expect(reason).toContain("more than 10000 bytes wait");
  expect(((await answer) as Error).message).toBe(reason);
  expect(a.link.unacknowledgedBytes).toBe(0);
  expect(timers.count).toBe(0);
  await expect(a.link.request(201, "later")).rejects.toThrow("more than 10000");
});

test("a message whose handler throws does not end the link, and is not sent again", async () => {
  const defects: string[] = [];
  const { a, b, timers } = pair({
    b: {
      onDefect: (error) => defects.push(error.message),
      onFrame: (frame) => {
        const value = decodeHeader(frame.header);
        if (value === "bad") throw new Error("cannot handle it");
        b.received.push(value);
      },
    },
  });
  a.link.send(200, "bad");
  a.link.send(200, "good");
  await timers.pass(100);
  expect(a.link.isUp).toBe(true);
  expect(defects).toEqual(["cannot handle it"]);
  expect(b.received).toEqual(["good"]);
  expect(a.link.unacknowledgedBytes).toBe(0);
});

test("refuses whoever is another node than the link is for, on both ends", async () => {
  const otherNode = "cccccccccccccccccccccccccccccccc" as NodeId;
  const { a, b, timers } = pair({ a: { peerNodeId: otherNode } });
  a.link.send(200, 1);
  await timers.pass(10);
  expect(a.downs[0]).toBe(`this is node ${NODE_B}, not ${otherNode}`);
  const [, far] = loopbackPair();
  const strict = new End(NODE_B, "b1").make({ timers, peerNodeId: otherNode });
  let refusal = "";
  far.write = (chunk) => (refusal += Buffer.from(chunk).toString("latin1"));
  strict.link.accept(far, HELLO);
  expect(refusal).toContain("not aaaa");
  expect(b.received).toEqual([]);
  a.link.close("the test is over");
});
