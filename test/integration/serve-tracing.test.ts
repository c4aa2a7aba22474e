/** OpenTelemetry with the real SDK: a request's trace goes from the client's header through proxy, replicas and handles, with spans where an SDK is registered, and without where none is. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as serve from "shoal/serve";
import { afterAll, afterEach, expect, test } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { ask } from "./serve-client.ts";
import { failureOf, useSession } from "./session.ts";

useSession({ numCpus: 4 });
// Inside of the repository: the project finds the packages by their names.
const project = mkdtempSync(join(REPOSITORY, "test", "serve-tracing-"));
afterAll(() => rmSync(project, { recursive: true, force: true }));
afterEach(() => serve.shutdown());

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CLIENT = "b7ad6b7169203331";
const headers = { traceparent: `00-${TRACE}-${CLIENT}-01`, tracestate: "vendor=1" };

/** The SDK with an exporter in memory, whose spans each deployment tells. */
const TRACING = `
import { InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
const KEY = Symbol.for("test.exporter");
export const setup = ({ deployment, samplingRatio }: { deployment: string; samplingRatio: number }) => {
  const exporter = new InMemorySpanExporter();
  (globalThis as any)[KEY] = { exporter, about: deployment + " " + samplingRatio };
  return [new SimpleSpanProcessor(exporter)];
};
export const told = () => {
  const { exporter, about } = (globalThis as any)[KEY] ?? { about: "none" };
  const spans = exporter?.getFinishedSpans() ?? [];
  return { about, spans: spans.map((span: any) => ({ name: span.name, trace: span.spanContext().traceId, id: span.spanContext().spanId, parent: span.parentSpanContext?.spanId, failed: span.status.code === 2, deployment: span.attributes["serve.deployment"] })) };
};
`;
const APP = `
import { trace } from "@opentelemetry/api";
import * as serve from "shoal/serve";
import { told } from "./tracing.ts";

class Inner {
  async fetch(request: Request) { return request.headers.get("traceparent"); }
  work(n: number) {
    if (n < 0) throw new RangeError("below 0");
    return trace.getTracer("mine").startActiveSpan("mine", (span) => { span.end(); return trace.getActiveSpan()?.spanContext().traceId; });
  }
  async *count(n: number) { for (let i = 0; i < n; i += 1) yield trace.getActiveSpan()?.spanContext().traceId; }
  told() { return told(); }
}
class Front {
  #inner: serve.Handle<typeof Inner>;
  constructor(inner: serve.Handle<typeof Inner>) { this.#inner = inner; }
  async fetch(request: Request) {
    if (request.url.endsWith("/told")) return { front: told(), inner: await this.#inner.told.remote() };
    if (request.url.endsWith("/fails")) return await this.#inner.work.remote(-1);
    const items = [];
    for await (const item of this.#inner.count.remote(2)) items.push(item);
    return { work: await this.#inner.work.remote(1), items };
  }
}
export const app = serve.deployment(Front).bind(serve.deployment(Inner).bind());
`;
writeFileSync(join(project, "tracing.ts"), TRACING);
writeFileSync(join(project, "app.ts"), APP);
const config = (more: string): string => `http_options: { port: 0 }\napplications:\n- import_path: app.ts:app\n${more}`;

interface Span {
  name: string;
  trace: string;
  id: string;
  parent: string | undefined;
  failed: boolean;
  deployment?: string;
}
interface Told {
  front: { about: string; spans: Span[] };
  inner: { about: string; spans: Span[] };
}

test("spans of replicas hang together, below the client's and across handles", async () => {
  const tracing = 'tracing_config: { exporter_import_path: "tracing.ts:setup", sampling_ratio: 0.5 }\n';
  const { address = "" } = await serve.deployConfig(config(tracing), { folder: project });
  expect(JSON.parse((await ask(address, "/", { headers })).body)).toEqual({ work: TRACE, items: [TRACE, TRACE] });
  expect((await ask(address, "/fails", { headers })).status).toBe(500);
  const { front, inner } = JSON.parse((await ask(address, "/told")).body) as Told;
  expect([front.about, inner.about]).toEqual(["Front 0.5", "Inner 0.5"]);
  const ours = front.spans.filter(({ trace }) => trace === TRACE);
  expect(ours).toMatchObject([
    { name: "Front.fetch", parent: CLIENT, failed: false, deployment: "Front" },
    { name: "Front.fetch", parent: CLIENT, failed: true },
  ]);
  const [first, second] = ours;
  const below = inner.spans.filter(({ trace }) => trace === TRACE);
  const call = below.find(({ name, failed }) => name === "Inner.work" && !failed);
  expect(below).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: "Inner.count", parent: first?.id, failed: false }),
      expect.objectContaining({ name: "Inner.work", parent: first?.id, failed: false }),
      expect.objectContaining({ name: "mine", parent: call?.id }),
      expect.objectContaining({ name: "Inner.work", parent: second?.id, failed: true }),
    ]),
  );
});

test("without an SDK there are no spans, and the trace goes on all the same", async () => {
  class Last {
    trace() {
      return serve.getTraceHeaders();
    }
  }
  class First {
    #last: serve.Handle<typeof Last>;
    constructor(last: serve.Handle<typeof Last>) {
      this.#last = last;
    }
    fetch() {
      return this.#last.trace.remote();
    }
  }
  const { address = "" } = await serve.start({ httpOptions: { port: 0 } });
  await serve.run(serve.deployment(First).bind(serve.deployment(Last).bind()));
  expect(JSON.parse((await ask(address, "/", { headers })).body)).toEqual(headers);
  expect(JSON.parse((await ask(address, "/")).body)).toEqual({});
});

test("replicas have the tracing of serve.start, where their deployment has none", async () => {
  class Teller {
    fetch() {
      return String((globalThis as { tracedAs?: string }).tracedAs);
    }
  }
  const setup = ({ deployment, samplingRatio }: serve.TracingSetup): void =>
    void Object.assign(globalThis, { tracedAs: `${deployment} ${samplingRatio}` });
  const own = (): void => void Object.assign(globalThis, { tracedAs: "its own" });
  const { address = "" } = await serve.start({ httpOptions: { port: 0 }, tracing: { setup, samplingRatio: 0.5 } });
  await serve.run(serve.deployment(Teller).bind());
  expect((await ask(address, "/")).body).toBe("Teller 0.5");
  await serve.run(serve.deployment(Teller, { tracing: { setup: own } }).bind());
  expect((await ask(address, "/")).body).toBe("its own");
  expect((await failureOf(serve.start({ tracing: { setup, samplingRatio: 2 } }))).message).toContain("samplingRatio of tracing");
});

test("a replica prints as its loggingConfig says, or else that of its application, or that of all", async () => {
  const { runProgram } = await import("../house/run-program.ts");
  const file = join(project, "logs.ts");
  writeFileSync(
    file,
    `import * as serve from "shoal/serve";
class Talker {
  fetch() { console.debug("low"); console.warn("careful %d", 7); console.error("broken"); return "ok"; }
}
const { address } = await serve.start({ httpOptions: { port: 0, accessLog: true }, loggingConfig: { encoding: "JSON", level: "ERROR" } });
const plain = serve.deployment(Talker).bind();
await serve.run(plain, { name: "quiet", routePrefix: "/quiet" });
await serve.run(plain, { name: "loud", routePrefix: "/loud", loggingConfig: { encoding: "JSON", level: "WARNING" } });
for (const path of ["/quiet", "/loud"]) await (await fetch(address + path)).text();
await serve.run(serve.deployment(Talker, { loggingConfig: { encoding: "JSON", level: "INFO", accessLog: true } }).bind());
await (await fetch(address + "/x?secret=1", { headers: { "x-request-id": "r-1" } })).text();
await new Promise((resolve) => setTimeout(resolve, 300));
await serve.shutdown();
`,
  );
  const { stdout, stderr, exitCode } = await runProgram([file], { cwd: project });
  expect(exitCode).toBe(0);
  const objects = `${stdout}\n${stderr}`.split("\n").flatMap((line) => {
    const at = line.indexOf("{");
    return at < 0 ? [] : [JSON.parse(line.slice(at)) as Record<string, string>];
  });
  const of = (application: string): unknown[] => objects.filter((object) => object["application"] === application);
  expect([...of("quiet"), ...of("loud")]).toEqual(["broken", "careful 7", "broken"].map((message) => expect.objectContaining({ message })));
  expect(of("default")).toEqual([
    expect.objectContaining({ levelname: "INFO", message: expect.stringMatching(/^GET \/x OK [\d.]+ms r-1$/), deployment: "Talker" }),
    expect.objectContaining({ levelname: "WARNING", message: "careful 7", application: "default", request_id: "r-1" }),
    expect.objectContaining({ levelname: "ERROR", message: "broken" }),
  ]);
  // The lines of the proxy.
  expect(objects.filter(({ app }) => app === "default")).toEqual([
    {
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      method: "GET",
      path: "/x",
      route: "/",
      app: "default",
      status: 200,
      durationMs: expect.any(Number),
      requestId: "r-1",
    },
  ]);
  expect(`${stdout}${stderr}`).not.toContain("secret");
});
