/** The choice of clients to cut off, with the test's own clock. */
import { expect, test } from "vitest";
import { SlowClients, type Transfer, type TransferLimits } from "./slow-clients.ts";

const MIB = 1024 * 1024;

interface Kind {
  app?: string;
  connection?: string;
  holdsPlace?: boolean;
  totalMs?: number;
}

let connections = 0;

class Answer implements Transfer {
  readonly limits: TransferLimits;
  readonly app: string;
  readonly connection: string;
  readonly holdsPlace: boolean;
  owedBytes: number;
  movedBytes = 0;
  isQueued = false;
  isCut = false;
  constructor(owedBytes: number, { app = "app", connection, holdsPlace = false, totalMs = 3_600_000 }: Kind = {}) {
    this.owedBytes = owedBytes;
    this.limits = { pauseMs: 10_000, leastBytes: 1_000, totalMs };
    this.app = app;
    this.connection = connection ?? String((connections += 1));
    this.holdsPlace = holdsPlace;
  }
  get heldBytes(): number {
    return this.owedBytes;
  }
  take(bytes: number): void {
    this.movedBytes += bytes;
    this.owedBytes -= bytes;
  }
  cutOff(): void {
    this.isCut = true;
  }
}

function begun(answers: readonly Answer[], isWaitedFor: (app: string) => boolean = () => false): SlowClients {
  const all = new SlowClients(isWaitedFor);
  for (const answer of answers) all.begin(answer);
  return all;
}

function steps(all: SlowClients, untilMs: number, between: (nowMs: number) => void = () => {}): void {
  for (let nowMs = 0; nowMs <= untilMs; nowMs += 1_000) {
    all.step(nowMs);
    between(nowMs);
  }
}

test("a client that takes nothing or too little is cut off after its time; one that takes enough, or owes nothing, is not", () => {
  const answers = [5_000, 50_000, 50_000, 0, 10, 500].map((size) => new Answer(size));
  const [, trickling, slow, , small, queued] = answers as [Answer, Answer, Answer, Answer, Answer, Answer];
  queued.isQueued = true;
  steps(begun(answers), 30_000, (nowMs) => {
    trickling.take(10);
    slow.take(150);
    if (nowMs === 5_000) small.take(10);
  });
  expect(answers.map(({ isCut }) => isCut)).toEqual([true, true, false, false, false, false]);
});

test("a client that is fast enough is cut off once the proxy has waited for it for the whole time, and the time of the application does not count", () => {
  const [slow, application] = [new Answer(1e6, { totalMs: 60_000 }), new Answer(1e6, { totalMs: 60_000 })] as const;
  const cutMs: number[] = [];
  steps(begun([slow, application]), 115_000, (nowMs) => {
    slow.take(500);
    application.take(500);
    // Half of the time the application writes nothing.
    application.owedBytes = nowMs % 2_000 === 0 ? 0 : 1e6;
    if (slow.isCut) cutMs.push(nowMs);
  });
  expect([cutMs[0], application.isCut]).toEqual([60_000, false]);
});

test("above the bound of all together those that stand still give way, the largest first", () => {
  const [large, middle, moving] = [100, 10, 100].map((size) => new Answer(size * MIB)) as [Answer, Answer, Answer];
  const others = Array.from({ length: 9 }, (_, index) => new Answer(10 * MIB, { app: `other ${index}` }));
  const all = begun([middle, large, moving, ...others]);
  steps(all, 6_000, (nowMs) => {
    expect(large.isCut).toBe(nowMs >= 5_000);
    moving.take(10_000);
  });
  expect([middle, moving, ...others].filter(({ isCut }) => isCut)).toEqual([]);
});

test("an application and a connection have bounds of their own, at which those of others stay", () => {
  const greedy = Array.from({ length: 20 }, () => new Answer(10 * MIB, { app: "greedy" }));
  const other = new Answer(15 * MIB, { app: "other" });
  const streams = Array.from({ length: 40 }, () => new Answer(MIB / 2, { app: "third", connection: "one" }));
  steps(begun([...greedy, other, ...streams]), 6_000);
  const left = (answers: Answer[]): number => answers.filter(({ isCut }) => !isCut).length;
  // With a window each: 128 MiB and 16 MiB.
  expect([left(greedy), other.isCut, left(streams)]).toEqual([12, false, 21]);
});

test("who stands still keeps no place from others: it gives way once they wait, and not before", () => {
  const waits = new Set<string>();
  const [still, slow, done, elsewhere] = [
    new Answer(50_000, { holdsPlace: true }),
    new Answer(50_000, { holdsPlace: true }),
    new Answer(50_000),
    new Answer(50_000, { app: "other", holdsPlace: true }),
  ] as const;
  const all = begun([still, slow, done, elsewhere], (app) => waits.has(app));
  steps(all, 8_000, (nowMs) => {
    slow.take(120);
    expect(still.isCut).toBe(nowMs > 6_000);
    if (nowMs === 6_000) waits.add("app");
  });
  expect([slow.isCut, done.isCut, elsewhere.isCut]).toEqual([false, false, false]);
});

test("a proxy that was held up itself blames no client", () => {
  const answer = new Answer(50_000);
  const all = begun([answer]);
  all.step(0);
  all.step(1_000);
  all.step(60_000);
  expect(answer.isCut).toBe(false);
});
