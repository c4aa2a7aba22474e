/** Node links over connections that break anywhere, by a seed for all their rules together; `node-link.test.ts` has them one by one. */
import { expect, test } from "vitest";
import type { NodeId } from "../base/ids.ts";
import type { Transport } from "../os/network/transport.ts";
import { decodeHeader } from "../wire/header.ts";
import { Clock, End, NODE_A, NODE_B, Pipe, settled } from "../../../sim/link-wire.ts";

/** Small, fast and the same everywhere. */
function randomSource(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Two ends that send, ask, break, lag and restart at random, with the frames that each incarnation sent and received. */
class Storm {
  readonly random: (below: number) => number;
  readonly timers = new Clock();
  readonly sent = new Map<string, string[]>();
  readonly given = new Map<string, string[]>();
  /** A's questions, and their answers by number. */
  readonly answers: Promise<void>[] = [];
  readonly replies: [asked: string, reply: unknown][] = [];
  readonly #pipes: Pipe[] = [];
  readonly #bothConnect: boolean;
  readonly #acknowledgesLater: boolean;
  #restarts = 0;
  a!: End;
  b!: End;

  constructor(seed: number) {
    this.random = randomSource(seed);
    this.#bothConnect = this.random(2) === 0;
    this.#acknowledgesLater = this.random(2) === 0;
    this.a = this.#start(NODE_A, "a1");
    this.b = this.#start(NODE_B, "b1");
  }

  async step(): Promise<void> {
    const { random } = this;
    const action = random(20);
    if (action < 5) this.#say(random(2) === 0 ? this.a : this.b);
    else if (action < 15) {
      const pipe = this.#pipes.at(-1 - random(Math.min(3, Math.max(1, this.#pipes.length))));
      pipe?.deliver(random(2) as 0 | 1, random(3) === 0 ? 1 + random(20) : undefined);
      if (random(3) === 0) await settled();
    } else if (action < 18) await this.timers.pass(random(120));
    else if (action < 19) this.#pipes.at(-1)?.break();
    else if (random(12) === 0 && this.#restarts < 2) {
      this.#restarts += 1;
      this.b.link.close("its process ended");
      this.b = this.#start(NODE_B, `b${1 + this.#restarts}`);
    }
  }

  /** From now on nothing breaks. */
  async calm(): Promise<void> {
    this.a.link.open();
    for (let round = 0; round < 400; round += 1) {
      for (const pipe of this.#pipes.slice(-4)) for (const to of [0, 1] as const) pipe.deliver(to);
      await this.timers.pass(25);
      if (this.a.link.unacknowledgedBytes + this.b.link.unacknowledgedBytes === 0 && this.a.link.isUp && this.b.link.isUp) return;
    }
    throw new Error("the links do not come to rest");
  }

  #say(from: End): void {
    const sent = this.sent.get(from.incarnation) ?? [];
    const text = `${from.incarnation}.${sent.length}.${"x".repeat(this.random(300))}`;
    sent.push(text);
    if (this.random(4) > 0) from.link.send(200, text);
    else {
      const answered = from.link.request(201, text, { timeoutMs: 0 }).then((reply) => void this.replies.push([text, reply.header]));
      if (from.nodeId === NODE_A) this.answers.push(answered);
      else answered.catch(() => {});
    }
  }

  #start(nodeId: NodeId, incarnation: string): End {
    const end = new End(nodeId, incarnation);
    const given: string[] = [];
    this.given.set(incarnation, given);
    this.sent.set(incarnation, []);
    const connect = async (): Promise<Transport> => {
      if (this.random(8) === 0) throw new Error("no route");
      const pipe = new Pipe();
      this.#pipes.push(pipe);
      (nodeId === NODE_A ? this.b : this.a).accept(pipe.ends[1]);
      return pipe.ends[0];
    };
    return end.make({
      timers: this.timers,
      acknowledgesLater: this.#acknowledgesLater,
      connect: nodeId === NODE_A || this.#bothConnect ? connect : undefined,
      onFrame: (frame, acknowledge) => {
        const text = decodeHeader(frame.header) as string;
        given.push(text);
        if (frame.type === 201) end.link.reply(frame.callId, `re ${text}`);
        if (this.#acknowledgesLater) this.timers.set(acknowledge, this.random(80));
        else acknowledge();
      },
    });
  }
}

/** Seeds from 1 on; more of them take longer and find no more. */
const SEEDS = 100;

test(`whatever breaks, with ${SEEDS} seeds`, async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    await weather(seed).catch((error: unknown) => {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    });
  }
});

async function weather(seed: number): Promise<void> {
  const storm = new Storm(seed);
  for (let step = 0; step < 400; step += 1) await storm.step();
  await storm.calm();
  // A lives on: it got each B's frames in order and once, and all frames of the last one.
  for (const [incarnation, sent] of storm.sent) {
    if (incarnation === "a1") continue;
    const given = (storm.given.get("a1") ?? []).filter((text) => text.startsWith(incarnation));
    expect(given).toEqual(incarnation === storm.b.incarnation ? sent : sent.slice(0, given.length));
  }
  // Each B got A's frames in order and once, and together they got all frames.
  const sent = storm.sent.get("a1") ?? [];
  const places = Array.from(storm.given).flatMap(([incarnation, texts]) =>
    incarnation === "a1" ? [] : [texts.map((text) => sent.indexOf(text))],
  );
  for (const list of places) expect(list).toEqual([...new Set(list)].toSorted((left, right) => left - right));
  expect(new Set(places.flat()).size).toBe(sent.length);
  await Promise.all(storm.answers);
  expect(storm.replies.filter(([asked, reply]) => reply !== `re ${asked}`)).toEqual([]);
}
