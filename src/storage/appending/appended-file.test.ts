import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { openAppended } from "./appended-file.ts";
import { UploadSchedule } from "./upload-schedule.ts";

/** A test need not wait for seconds. */
const UPLOADED_EVERY_MS = 100;
const schedule = new UploadSchedule(UPLOADED_EVERY_MS);

const folder = mkdtempSync(join(tmpdir(), "appended-"));
afterAll(() => rmSync(folder, { recursive: true }));

test.each([true, false])("an append that failed, and left a part, can be repeated (a new file: %s)", async (isNew) => {
  const place = mkdtempSync(join(folder, "place-"));
  const path = join(place, "log");
  if (!isNew) appendFileSync(path, "before\n");
  const file = await openAppended(path, { isNew });
  await file.append("a\n");
  renameSync(place, `${place}-away`);
  await expect(file.append("bé\n")).rejects.toThrow(`Cannot write ${path}: there is no folder ${place}`);
  await expect(file.append("bé\n")).rejects.toThrow("there is no folder");
  renameSync(`${place}-away`, place);
  // A full disk takes a part of an append.
  appendFileSync(path, "b\uFFFD");
  await file.append("bé\n");
  await file.appendDurably("c\n");
  expect(readFileSync(path, "utf8")).toBe(`${isNew ? "" : "before\n"}a\nbé\nc\n`);
});

/** A machine that does much else takes long for a request. */
const WITHIN = { timeout: 10_000 };

/** An S3 with its stored objects, and the bytes of each `PUT`. `hold`: requests are answered when it resolves. */
async function fakeS3() {
  const fake = { puts: [] as string[], objects: new Map<string, Buffer>(), hold: Promise.resolve(), isAway: false };
  const server = createServer((request, response) => {
    void (async () => {
      const { method, url = "" } = request;
      const key = url.split("?")[0] as string;
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      const body = Buffer.concat(chunks);
      if (method === "PUT") {
        fake.puts.push(body.toString());
        await fake.hold;
        if (fake.isAway) return response.writeHead(403).end();
        fake.objects.set(key, body);
        return response.writeHead(200, { etag: '"1"' }).end();
      }
      if (url.includes("list-type=2"))
        return response.writeHead(200).end("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>");
      const object = fake.objects.get(key);
      if (object === undefined) return response.writeHead(404).end();
      return response.writeHead(200, { "content-length": object.length, etag: '"1"' }).end(method === "HEAD" ? undefined : object);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  vi.stubEnv("AWS_ENDPOINT_URL", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "me");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
  const close = async (): Promise<void> => {
    vi.unstubAllEnvs();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return Object.assign(fake, { [Symbol.asyncDispose]: close });
}

test("a file in S3 is sent while it grows, with few requests, and another opening goes on with what was sent", async () => {
  await using s3 = await fakeS3();
  const startedMs = performance.now();
  const killed = await openAppended("s3://bucket/run/rows", { schedule });
  for (let row = 0; row < 1000; row += 1) await killed.append(`${row}\n`);
  await vi.waitFor(() => expect(s3.puts.at(-1)?.endsWith("\n999\n")).toBe(true), WITHIN);
  expect(s3.puts.length).toBeLessThanOrEqual(1 + (performance.now() - startedMs) / UPLOADED_EVERY_MS);
  const next = await openAppended("s3://bucket/run/rows", { schedule });
  await next.append("more\n");
  await next.close();
  expect(s3.objects.get("/bucket/run/rows")?.toString()).toBe(`${Array.from({ length: 1000 }, (_, row) => `${row}\n`).join("")}more\n`);
});

test("what changes while a file is sent comes with the next upload, and the end waits for the one before", async () => {
  await using s3 = await fakeS3();
  const held = Promise.withResolvers<void>();
  s3.hold = held.promise;
  const file = await openAppended("s3://bucket/run/changed", { isNew: true, schedule });
  await file.append("aa\n");
  await vi.waitFor(() => expect(s3.puts).toEqual(["aa\n"]), WITHIN);
  // The replacement is as long as the file, so the size reveals nothing.
  await file.replace(Buffer.from("bb\n"));
  const closed = file.close();
  expect(s3.puts).toHaveLength(1);
  held.resolve();
  await closed;
  expect(s3.puts).toEqual(["aa\n", "bb\n"]);
});

test("a file whose uploads are refused goes on, and is sent when they are taken again", async () => {
  await using s3 = await fakeS3();
  s3.isAway = true;
  const file = await openAppended("s3://bucket/run/refused", { isNew: true, schedule });
  await file.append("a\n");
  await vi.waitFor(() => expect(s3.puts.length).toBeGreaterThan(1), WITHIN);
  await file.append("b\n");
  await expect(file.close()).rejects.toThrow(/its contents are in .*file$/);
  s3.isAway = false;
  await file.close();
  expect(s3.objects.get("/bucket/run/refused")?.toString()).toBe("a\nb\n");
});
