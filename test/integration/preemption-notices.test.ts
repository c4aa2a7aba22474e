/**
 * Preemption notices: sources read the answers of a metadata server as the clouds' documents have them, and refuse others. A notice and SIGTERM
 * drain nodes.
 *
 * The server is made up, as no cloud is reached from here.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { NOTICE_BYTES_MAX } from "../../src/ops/supervisor/preemption/limits.ts";
import type { PreemptionNotice } from "../../src/ops/supervisor/preemption/notice.ts";
import { noticeSource } from "../../src/ops/supervisor/preemption/notice-source.ts";
import { PreemptionWatch } from "../../src/ops/supervisor/preemption/preemption-watch.ts";
import { isAlive, until } from "./session.ts";
import { useShoal } from "./shoal-program.ts";

const { folder, run: shoal, startHead, join: joinNode, program, runFiles } = useShoal({}, { endsAfterAll: true });

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let base = "";
let answer: Answer = () => {};
let asked: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  asked = [];
});

const NOW = "Mon, 30 Nov 2026 12:00:00 GMT";

/** Answers like a server whose clock says noon. */
function says(status: number, body: string, headers: Record<string, string> = {}): Answer {
  return (_request, response) => void response.writeHead(status, { date: NOW, ...headers }).end(body);
}

function look(source = base, signal = new AbortController().signal): Promise<PreemptionNotice | undefined> {
  return noticeSource(source).look(signal);
}

describe("AWS", () => {
  const ACTION = "/latest/meta-data/spot/instance-action";
  const TOKEN = "/latest/api/token";
  let token = "";
  let action: Answer;

  beforeEach(() => {
    token = "first==";
    action = says(404, "<html>not found</html>");
    answer = (request, response) => {
      const { method, url, headers } = request;
      if (url === TOKEN && method === "PUT" && headers["x-aws-ec2-metadata-token-ttl-seconds"] === "21600")
        says(200, token)(request, response);
      else if (headers["x-aws-ec2-metadata-token"] !== token) says(401, "")(request, response);
      else if (url === ACTION && method === "GET") action(request, response);
      else says(400, "")(request, response);
    };
  });

  test("a token is fetched once, and again where the server wants another", async () => {
    const source = noticeSource(`aws:${base}`);
    const { signal } = new AbortController();
    expect([await source.look(signal), await source.look(signal)]).toEqual([undefined, undefined]);
    expect(asked).toEqual([`PUT ${TOKEN}`, `GET ${ACTION}`, `GET ${ACTION}`]);
    token = "second";
    action = says(200, '{"action": "terminate", "time": "2026-11-30T12:02:00Z"}');
    expect(await source.look(signal)).toEqual({ leftMs: 120_000, what: "AWS: terminate at 2026-11-30T12:02:00Z" });
  });

  test.each([
    ['{"action": "dance", "time": "2026-11-30T12:02:00Z"}', "dance"],
    ['{"action": "stop"}', "stop"],
    ['{"action": "stop", "time": "soon"}', "soon"],
    ['{"action": "stop", "time": "2036-11-30T12:02:00Z"}', "2036"],
    ["<html>log in</html>", "log in"],
    ["", "whether this machine goes away"],
  ])("%s is no notice", async (body, named) => {
    action = says(200, body);
    await expect(look(`aws:${base}`)).rejects.toThrow(named);
  });

  test("a machine whose metadata server gives no tokens is told", async () => {
    answer = says(403, "");
    await expect(look(`aws:${base}`)).rejects.toThrow('received "status 403 for a token"');
    answer = says(200, "two\nlines");
    await expect(look(`aws:${base}`)).rejects.toThrow("a token that is no header value");
  });
});

describe("Google Cloud", () => {
  const flavor = { "Metadata-Flavor": "Google" };

  test("TRUE gives half a minute, and FALSE is no notice", async () => {
    let said = "FALSE";
    answer = (request, response) => {
      const isAsked = request.url === "/computeMetadata/v1/instance/preempted" && request.headers["metadata-flavor"] === "Google";
      says(isAsked ? 200 : 403, said, flavor)(request, response);
    };
    expect(await look(`gcp:${base}`)).toBeUndefined();
    said = "TRUE\n";
    expect(await look(`gcp:${base}`)).toEqual({ leftMs: 30_000, what: "Google Cloud: preempted" });
    said = "MAYBE";
    await expect(look(`gcp:${base}`)).rejects.toThrow('received "MAYBE"');
  });

  test("another server under its name is not believed", async () => {
    answer = says(200, "TRUE");
    await expect(look(`gcp:${base}`)).rejects.toThrow("without Metadata-Flavor: Google");
  });
});

describe("Azure", () => {
  const event = (changes: object = {}): object => ({
    EventId: "602d9444-d2cd-49c7-8624-8643e7171297",
    EventType: "Preempt",
    ResourceType: "VirtualMachine",
    Resources: ["worker_1"],
    EventStatus: "Scheduled",
    NotBefore: "Mon, 30 Nov 2026 12:00:30 GMT",
    Description: "",
    EventSource: "Platform",
    DurationInSeconds: -1,
    ...changes,
  });

  const withEvents = (...events: unknown[]): void => {
    answer = (request, response) => {
      if (request.headers["metadata"] !== "true") says(400, "")(request, response);
      else if (request.url === "/metadata/scheduledevents?api-version=2020-07-01")
        says(200, JSON.stringify({ DocumentIncarnation: 1, Events: events }))(request, response);
      else if (request.url === "/metadata/instance/compute/name?api-version=2021-02-01&format=text")
        says(200, "worker_1")(request, response);
      else says(404, "")(request, response);
    };
  };

  test("the earliest event of the own machine counts, and those of others do not", async () => {
    withEvents();
    expect(await look(`azure:${base}`)).toBeUndefined();
    withEvents(event({ Resources: ["worker_2"] }), event({ EventType: "Freeze" }));
    expect(await look(`azure:${base}`)).toBeUndefined();
    withEvents(event({ EventType: "Reboot", NotBefore: "Mon, 30 Nov 2026 12:15:00 GMT" }), event({ Resources: ["worker_2", "worker_1"] }));
    expect(await look(`azure:${base}`)).toEqual({ leftMs: 30_000, what: "Azure: Preempt not before Mon, 30 Nov 2026 12:00:30 GMT" });
    withEvents(event({ EventStatus: "Started", NotBefore: "" }));
    expect(await look(`azure:${base}`)).toEqual({ leftMs: 0, what: "Azure: Preempt" });
  });

  test.each([[null], [{}], [event({ NotBefore: "" })], [event({ Resources: "worker_1" })], ["x"]])(
    "event %j is no notice",
    async (wrong) => {
      withEvents(wrong);
      await expect(look(`azure:${base}`)).rejects.toThrow("is no notice");
    },
  );
});

describe("a URL", () => {
  test.each([
    [404, "", undefined],
    [204, "", undefined],
    [200, "", { leftMs: undefined }],
    [200, "{}", { leftMs: undefined }],
    [200, '{"left_ms": 1500}', { leftMs: 1500 }],
    [200, '{"time": "2026-11-30T13:00:05.5+01:00"}', { leftMs: 5500 }],
    [200, '{"time": "2026-11-30T11:00:00Z"}', { leftMs: 0 }],
  ] as const)("status %i with %j", async (status, body, expected) => {
    answer = says(status, body);
    if (expected === undefined) expect(await look()).toBeUndefined();
    else expect(await look()).toEqual({ ...expected, what: `${base}/` });
  });

  test.each([
    [200, "TRUE"],
    [200, '{"left_ms": -1}'],
    [200, '{"left_ms": 1, "time": "2026-11-30T12:00:00Z"}'],
    [200, '{"until": 5}'],
    [500, ""],
    [302, ""],
  ])("status %i with %j is no notice", async (status, body) => {
    answer = says(status, body, { location: base });
    await expect(look()).rejects.toThrow("is no notice");
    expect(asked).toHaveLength(1);
  });

  test("an answer without an end, one that hangs, and a closed port are errors", async () => {
    answer = (_request, response) => {
      response.writeHead(200, {});
      response.end("x".repeat(NOTICE_BYTES_MAX + 1));
    };
    await expect(look()).rejects.toThrow(`more than ${NOTICE_BYTES_MAX} bytes`);
    answer = () => {};
    await expect(look()).rejects.toThrow("no answer within 5 s");
    await expect(look("http://127.0.0.1:9")).rejects.toThrow("Cannot ask http://127.0.0.1:9/ whether this machine goes away");
  });

  test.each(["ftp://host", "aws:ftp://host", "clouds", "http://me:secret@host", "file:"])("%s is no source", (text) => {
    expect(() => noticeSource(text)).toThrow(`or file:PATH: received ${text}`);
  });
});

describe("a watch", () => {
  test("drains once for each node, again where the deadline is earlier, and goes on after failures", async () => {
    let notice: PreemptionNotice | undefined | Error;
    let node: string | undefined = "a";
    let nowMs = 0;
    const drained: [string, number | undefined][] = [];
    const lines: string[] = [];
    let isHeadAway = false;
    const watch = new PreemptionWatch({
      source: {
        what: "a test",
        everyMs: 1,
        look: async () => {
          if (notice instanceof Error) throw notice;
          return notice;
        },
      },
      nodeId: () => node,
      drain: async (nodeId, leftMs) => {
        if (isHeadAway) throw new Error("the head is away");
        drained.push([nodeId, leftMs]);
      },
      log: (line) => lines.push(line),
      nowMs: () => nowMs,
    });
    const { signal } = new AbortController();
    await watch.look(signal);
    notice = new Error("garbage");
    await watch.look(signal);
    await watch.look(signal);
    expect([drained, lines]).toEqual([[], ["garbage"]]);
    notice = { leftMs: undefined, what: "soon" };
    isHeadAway = true;
    await watch.look(signal);
    isHeadAway = false;
    await watch.look(signal);
    await watch.look(signal);
    notice = { leftMs: 100_000, what: "in time" };
    await watch.look(signal);
    nowMs = 30_000;
    // The same deadline, and a later one.
    notice = { leftMs: 70_500, what: "in time" };
    await watch.look(signal);
    notice = { leftMs: 8_000, what: "at once" };
    await watch.look(signal);
    node = undefined;
    await watch.look(signal);
    node = "b";
    await watch.look(signal);
    expect(drained).toEqual([
      ["a", undefined],
      ["a", 95_000],
      ["a", 6_000],
      ["b", 6_000],
    ]);
  });
});

test("wrong options start nothing", async () => {
  const refused = await shoal("start", "--head", "--preemption-notice", "clouds");
  expect([refused.exitCode, refused.stderr]).toEqual([
    2,
    expect.stringContaining(
      "--preemption-notice takes aws, gcp, azure, an http or https URL without a password, or file:PATH: received clouds.",
    ),
  ]);
  const grace = await shoal("start", "--head", "--termination-grace-ms", "soon");
  expect(grace.stderr).toContain("--termination-grace-ms takes whole milliseconds up to 86400000: received soon.");
});

test("a notice drains the node with its deadline: its actor moves, and its machine's supervisor ends", { timeout: 90_000 }, async () => {
  const head = await startHead("--no-dashboard");
  const notice = join(folder, "notice");
  const node = await joinNode(head, "--num-cpus", "1", "--preemption-notice", `file:${notice}`);
  const graceful = await joinNode(head, "--num-cpus", "1", "--resources", '{"sigterm": 1}', "--termination-grace-ms", "60000");
  const supervisor = runFiles().find(({ processes }) => processes.some(({ what }) => what.includes(graceful.nodeId)))?.pid as number;
  const seen = (await program(`
import { writeFileSync } from "node:fs";
import { get, getRuntimeContext, init, nodes, remote, shutdown } from "shoal";
await init({ address: ${JSON.stringify(head.address)}, logToDriver: false });
class Place {
  node() { return getRuntimeContext().nodeId; }
}
const there = { schedulingStrategy: { nodeId: ${JSON.stringify(node.nodeId)}, soft: true } };
const actor = remote(Place).options({ ...there, numCpus: 0, maxRestarts: -1, maxTaskRetries: -1 }).remote();
const wait = async () => {
  const { preemptionSignal } = getRuntimeContext();
  if (!preemptionSignal.aborted) await new Promise((resolve) => preemptionSignal.addEventListener("abort", resolve, { once: true }));
  return [getRuntimeContext().preemption.reason, getRuntimeContext().preemption.deadlineMs - Date.now()];
};
const before = await actor.node.remote();
const notified = remote(wait).options({ ...there, maxRetries: 0 }).remote();
const terminated = remote(wait).options({ resources: { sigterm: 1 }, maxRetries: 0 }).remote();
writeFileSync(${JSON.stringify(notice)}, JSON.stringify({ left_ms: 60_000 }));
const told = await get(notified);
let after = before;
while (after === before) after = await actor.node.remote();
process.kill(${supervisor}, "SIGTERM");
const asked = await get(terminated);
const isAlive = (await nodes()).find(({ nodeId }) => nodeId === after).alive;
await shutdown();
console.log(JSON.stringify({ before, told, isAlive, asked }));
`)) as { before: string; told: [string, number]; isAlive: boolean; asked: [string, number] };
  expect(seen.before).toBe(node.nodeId);
  expect(seen.isAlive).toBe(true);
  for (const [reason, leftMs] of [seen.told, seen.asked]) {
    expect(reason).toBe("preemption");
    expect(leftMs).toBeGreaterThan(20_000);
    expect(leftMs).toBeLessThanOrEqual(55_000);
  }
  await until(() => runFiles().length === 1, "both machines without a node to be left");
  await until(() => !isAlive(supervisor), "the supervisor to end");
  expect((await shoal("stop")).stdout).toContain("Ended the head and the node of the cluster");
});
