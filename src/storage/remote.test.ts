/** HTTP and S3 against servers that misbehave: they answer 503, cut bodies off, fall silent, redirect, refuse. Real servers of S3 are in `test/systems/s3.test.ts`. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { StorageError } from "./errors.ts";
import { FileWriter } from "./file-writer.ts";
import { keyMatcher } from "./listing/globs.ts";
import { remoteFile } from "./remote/http-files.ts";
import { REQUEST_ATTEMPTS_MAX, UPLOAD_PART_BYTES } from "./limits.ts";
import { listFiles } from "./listing/list-files.ts";
import { shownPath } from "./paths.ts";
import { openBytes, publishFile, removeFiles, removeFolder } from "./places.ts";
import { readChunks, readWhole } from "./read-file.ts";
import { readRemote } from "./remote/remote-file.ts";
import { s3Url } from "./s3/s3-client.ts";

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly range: string | undefined;
  readonly authorization: string | undefined;
  readonly body: Buffer;
}

type Answer = (asked: Asked, response: ServerResponse, count: number) => void;

const closing: (() => Promise<void>)[] = [];
/** Requests to the servers of this test, in order. */
let asked: Asked[] = [];

beforeEach(() => {
  asked = [];
  // Retries do not wait.
  vi.spyOn(Math, "random").mockReturnValue(0);
});
afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  for (const close of closing.splice(0)) await close();
});

/** A server that answers so. `count` is the number of the request, from 1. */
async function serverThat(answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    void collect(request).then((body) => {
      const { method = "", url = "", headers } = request;
      const one = { method, url, range: headers.range, authorization: headers.authorization, body };
      asked.push(one);
      answer(one, response, asked.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function collect(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const BYTES = Buffer.from(Uint8Array.from({ length: 2_500_000 }, (_, i) => (i * i) >> 8));

/** Serves bytes with ranges; `cut` ends the connection after this many bytes of a body. */
function serving(bytes: Buffer, { etag = '"v1"', cut }: { etag?: string; cut?: (count: number) => number | undefined } = {}): Answer {
  return ({ range, method }, response, count) => {
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range ?? "") ?? [];
    const start = Number(first ?? 0);
    if (range !== undefined && start >= bytes.length) {
      response.writeHead(416, { "content-range": `bytes */${bytes.length}` }).end();
      return;
    }
    const end = last ? Math.min(Number(last) + 1, bytes.length) : bytes.length;
    const headers = { etag, "content-length": end - start };
    if (range === undefined) response.writeHead(200, headers);
    else response.writeHead(206, { ...headers, "content-range": `bytes ${start}-${end - 1}/${bytes.length}` });
    if (method === "HEAD") response.end();
    else sendCut(response, bytes.subarray(start, end), cut?.(count));
  };
}

function sendCut(response: ServerResponse, bytes: Buffer, cut: number | undefined): void {
  if (cut === undefined || cut >= bytes.length) response.end(bytes);
  else if (cut === 0) response.socket?.destroy();
  else response.write(bytes.subarray(0, cut), () => response.socket?.destroy());
}

/** All that a failure shows, at any depth. */
async function failureOf(promise: Promise<unknown>): Promise<{ message: string; hint: string; all: string }> {
  const error: unknown = await promise.then(
    () => {
      throw new Error("it succeeded");
    },
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StorageError);
  const { message, hint } = error as StorageError;
  return { message, hint: hint ?? "", all: inspect(error, { depth: 10, showHidden: true }) };
}

describe("a URL", () => {
  test("is read whole, by its path's extension, and messages have it without what may be secret", async () => {
    const base = await serverThat(serving(gzipSync(BYTES)));
    const url = `${base.replace("//", "//me:pass%40word@")}/a/x.csv.gz?token=secret/y.br#part`;
    expect(Buffer.compare(await readWhole(url), BYTES)).toBe(0);
    expect(asked[0]).toMatchObject({ url: "/a/x.csv.gz?token=secret/y.br", authorization: `Basic ${btoa("me:pass@word")}` });
    expect(shownPath(url)).toBe(`${base}/a/x.csv.gz`);
    expect(await listFiles(url)).toEqual([{ path: url, sizeBytes: gzipSync(BYTES).length }]);
  });

  test("of an empty file, and of none", async () => {
    const base = await serverThat((one, response, count) =>
      one.url === "/empty" ? serving(Buffer.alloc(0))(one, response, count) : response.writeHead(404).end("nothing here"),
    );
    expect(await listFiles(`${base}/empty`)).toEqual([{ path: `${base}/empty`, sizeBytes: 0 }]);
    expect(await readWhole(`${base}/empty`)).toHaveLength(0);
    expect((await openBytes(`${base}/empty`)).sizeBytes).toBe(0);
    expect((await failureOf(listFiles(`${base}/none?key=secret`))).message).toBe(`No file matches ${base}/none`);
    expect(await listFiles([`${base}/none`, `${base}/empty`], { ignoreMissingPaths: true })).toHaveLength(1);
    expect((await failureOf(readWhole(`${base}/none`))).message).toContain("there is no such file (status 404)");
    await expect(openBytes(`${base}/none`)).rejects.toThrow("there is no such file");
  });

  test("that is refused names the remedy, and nothing secret anywhere", async () => {
    const base = await serverThat((_, response) => response.writeHead(403).end("signature secret"));
    const url = `${base.replace("//", "//me:secret@")}/x.csv?sig=secret`;
    for (const attempt of [listFiles(url), readWhole(url), openBytes(url)]) {
      const { message, hint, all } = await failureOf(attempt);
      expect(message).toBe(`Cannot read ${base}/x.csv: the server forbids it (status 403)`);
      expect(hint).toContain("signed URL");
      expect(all).not.toContain("secret");
    }
    expect(asked).toHaveLength(3);
  });

  test("that nobody serves", async () => {
    expect((await failureOf(readWhole("http://no-such-host.invalid/x?a=secret"))).all).not.toContain("secret");
    expect((await failureOf(readWhole("http://a b/x?a=secret"))).message).toBe("Cannot read http://a b/x: it is no URL");
    const { message, all } = await failureOf(readWhole("http://me:secret@127.0.0.1:1/x?a=secret"));
    expect(message).toContain(`Cannot read http://127.0.0.1:1/x: connect ECONNREFUSED 127.0.0.1:1, ${REQUEST_ATTEMPTS_MAX} times`);
    expect(all).not.toContain("secret");
  });

  test("cannot be written", async () => {
    for (const attempt of [FileWriter.open("https://a:secret@h/x?secret"), removeFolder("https://a:secret@h/x?secret")])
      expect(await failureOf(attempt)).toMatchObject({
        message: "Cannot write to https://h/x: files behind HTTP can only be read",
        hint: expect.stringContaining("s3://"),
      });
  });

  test("that is redirected is followed, without the credentials to another host, and not forever", async () => {
    const other = await serverThat(serving(BYTES));
    const base = await serverThat((one, response) => {
      const location = one.url === "/a" ? "/b?x" : one.url === "/round" ? "/round" : `${other}/c`;
      response.writeHead(302, { location }).end();
    });
    expect(await readWhole(`${base.replace("//", "//me:word@")}/a`)).toHaveLength(BYTES.length);
    expect(asked.map(({ url, authorization }) => [url, authorization !== undefined])).toEqual([
      ["/a", true],
      ["/b?x", true],
      ["/c", false],
    ]);
    await expect(readWhole(`${base}/round`)).rejects.toThrow("redirected more than 5 times");
  });
});

describe("a server that fails for a while", () => {
  test("with 503, 429, 500 and broken connections is asked again", async () => {
    const base = await serverThat((one, response, count) => {
      if (count === 1) response.writeHead(503).end("<Error><Code>SlowDown</Code></Error>");
      else if (count === 2) response.writeHead(429, { "retry-after": "0.01" }).end();
      else if (count === 3) response.writeHead(500).end();
      else if (count === 4) response.socket?.destroy();
      else serving(BYTES)(one, response, count);
    });
    expect(Buffer.compare(await readWhole(`${base}/x`), BYTES)).toBe(0);
    expect(asked).toHaveLength(5);
  });

  test("and for longer is an error that says how often it was tried", async () => {
    const base = await serverThat((_, response) => response.writeHead(503).end("<Error><Code>SlowDown</Code></Error>"));
    const { message, hint } = await failureOf(readWhole(`${base}/x?secret`));
    expect(message).toBe(`Cannot read ${base}/x: the server answered 503 (SlowDown), ${REQUEST_ATTEMPTS_MAX} times`);
    expect(hint).toContain("not overloaded");
    expect(asked).toHaveLength(REQUEST_ATTEMPTS_MAX);
  });

  test("waits longer each time, and at random", async () => {
    const pauses: number[] = [];
    vi.mocked(Math.random).mockImplementation(() => {
      pauses.push(performance.now());
      return 0.1;
    });
    const base = await serverThat((one, response, count) =>
      count < 5 ? response.writeHead(503).end() : serving(BYTES)(one, response, count),
    );
    await readWhole(`${base}/x`);
    expect(pauses).toHaveLength(4);
    const lengths = pauses.slice(1).map((at, i) => at - (pauses[i] as number));
    expect(lengths[0]).toBeGreaterThan(9);
    expect(lengths[2]).toBeGreaterThan(35);
  });
});

describe("a body", () => {
  test("that is cut off anywhere is fetched on from there", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 480_000 }), { maxLength: 5 }), async (cuts) => {
        asked = [];
        const base = await serverThat(serving(BYTES, { cut: (count) => cuts[count - 1] }));
        expect(Buffer.compare(await readWhole(`${base}/x`), BYTES)).toBe(0);
        expect(asked).toHaveLength(cuts.length + 1);
        expect(asked.slice(1).every(({ range }) => /^bytes=\d+-$/.test(range ?? ""))).toBe(true);
      }),
      { numRuns: 15 },
    );
  });

  test("that is cut off is read again from its beginning where there are no ranges", async () => {
    const base = await serverThat((one, response, count) =>
      serving(BYTES, { cut: () => (count < 4 ? count * 500_000 : undefined) })({ ...one, range: undefined }, response, count),
    );
    expect(Buffer.compare(await readWhole(`${base}/x`), BYTES)).toBe(0);
    expect(asked).toHaveLength(4);
  });

  test("that never goes on is an error with the place", async () => {
    const base = await serverThat(serving(BYTES, { cut: (count) => (count === 1 ? 1000 : 0) }));
    await expect(readWhole(`${base}/x`)).rejects.toThrow(`Cannot read ${base}/x: `);
  });

  test("of a file that changes meanwhile is an error", async () => {
    const base = await serverThat((one, response, count) =>
      serving(BYTES, { etag: `"v${count}"`, cut: () => (count === 1 ? 1000 : undefined) })(one, response, count),
    );
    await expect(readWhole(`${base}/x`)).rejects.toThrow(`Cannot read ${base}/x: it was changed while it was read`);
  });

  test("that falls silent is fetched on by a new connection", async () => {
    const base = await serverThat((one, response, count) => {
      if (count === 1) response.writeHead(200, { "content-length": BYTES.length }).write(BYTES.subarray(0, 1000));
      else if (count > 2) serving(BYTES)(one, response, count);
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of readRemote(remoteFile(`${base}/x`, 150))) chunks.push(chunk);
    // The first two answers of this server had no tag, and the third has one.
    expect(Buffer.compare(Buffer.concat(chunks), BYTES)).toBe(0);
    expect(asked.map(({ range }) => range)).toEqual([undefined, "bytes=1000-", "bytes=1000-"]);
  });

  test("whose reader leaves is dropped, though nothing more comes", async () => {
    const dropped = Promise.withResolvers<void>();
    const base = await serverThat((_, response) => {
      response.once("close", dropped.resolve);
      response.writeHead(200, { "content-length": BYTES.length }).write(BYTES.subarray(0, 1_500_000));
    });
    for await (const chunk of readChunks(`${base}/x`)) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    await dropped.promise;
    expect(asked).toHaveLength(1);
  });

  test("that comes compressed under a name that does not say so is an error", async () => {
    const base = await serverThat((_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("a")));
    await expect(readWhole(`${base}/x.csv`)).rejects.toThrow("the server sends it compressed by gzip, and its name does not say so");
    expect(Buffer.from(await readWhole(`${base}/x.csv.gz`)).toString()).toBe("a");
  });
});

describe("parts of a file", () => {
  test("are fetched by ranges", async () => {
    const base = await serverThat(serving(BYTES, { cut: (count) => (count === 2 ? 100 : undefined) }));
    const bytes = await openBytes(`${base}/x`);
    expect(bytes.sizeBytes).toBe(BYTES.length);
    expect(Buffer.from(await bytes.read(1000, 5000)).equals(BYTES.subarray(1000, 5000))).toBe(true);
    expect(Buffer.from(await bytes.read(1010, 5000)).equals(BYTES.subarray(1010, 5000))).toBe(true);
    expect(asked.map(({ range }) => range)).toEqual(["bytes=0-0", "bytes=1000-4999", "bytes=1100-4999", "bytes=1010-4999"]);
    expect(await bytes.read(7, 7)).toHaveProperty("byteLength", 0);
  });

  test("come from the whole where the server gives no ranges", async () => {
    const base = await serverThat((one, response, count) => serving(BYTES)({ ...one, range: undefined }, response, count));
    const bytes = await openBytes(`${base}/x`);
    expect(bytes.sizeBytes).toBe(BYTES.length);
    expect(Buffer.from(await bytes.read(1000, 5000)).equals(BYTES.subarray(1000, 5000))).toBe(true);
  });

  test("of a file that was changed since are an error", async () => {
    const base = await serverThat((one, response, count) => serving(BYTES, { etag: count === 1 ? '"a"' : '"b"' })(one, response, count));
    const bytes = await openBytes(`${base}/x`);
    await expect(bytes.read(0, 10)).rejects.toThrow("it was changed while it was read");
  });
});

// ---------------------------------------------------------------------------------------------------------------------
// S3

/** A server at which requests to S3 go. */
async function s3That(answer: Answer): Promise<void> {
  vi.stubEnv("AWS_ENDPOINT_URL_S3", await serverThat(answer));
  vi.stubEnv("AWS_ENDPOINT_URL", "http://127.0.0.1:1");
  vi.stubEnv("AWS_ACCESS_KEY_ID", "KEYID");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "SECRETKEY");
  vi.stubEnv("AWS_SESSION_TOKEN", "SESSIONTOKEN");
  vi.stubEnv("AWS_REGION", "eu-north-1");
}

const xmlError = (code: string, more = ""): string => `<?xml version="1.0"?><Error><Code>${code}</Code>${more}</Error>`;

describe("S3", () => {
  test("lists all pages, without hidden names and folders", async () => {
    const keys = Array.from({ length: 10_000 }, (_, i) => `t/part ${String(i).padStart(5, "0")}+ü&.csv`);
    const all = [...keys, "t/", "t/_SUCCESS", "t/.staging-1/x.csv", "t/a/_hidden/b.csv", "t/year=1/"];
    await s3That(({ method, url }, response) => {
      const query = new URL(url, "http://h").searchParams;
      if (method === "HEAD") return response.writeHead(404).end();
      const from = Number(query.get("continuation-token") ?? 0);
      const page = all.slice(from, from + 1000).map((key) => {
        const name = encodeURIComponent(key).replace(/%20/g, "+").replace(/%2F/g, "/");
        return `<Contents><Key>${name}</Key><Size>7</Size></Contents>`;
      });
      const more = from + 1000 < all.length;
      const next = more ? `<NextContinuationToken>${from + 1000}</NextContinuationToken>` : "";
      return response.end(
        `<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>${more}</IsTruncated>${next}${page.join("")}</ListBucketResult>`,
      );
    });
    const listed = await listFiles("s3://bucket/t/");
    expect(listed.map(({ path }) => path)).toEqual(keys.map((key) => `s3://bucket/${key}`));
    expect(listed[0]?.sizeBytes).toBe(7);
    expect(asked).toHaveLength(11);
    expect(asked[0]?.url).toMatch(/^\/bucket\/\?list-type=2&encoding-type=url&prefix=t%2F$/);
    expect(await listFiles("s3://bucket/t/part 0000[3-5]*")).toHaveLength(3);
  });

  test("signs with the key, and no message has it", async () => {
    await s3That((_, response) => response.writeHead(403).end(xmlError("AccessDenied")));
    const { message, hint, all } = await failureOf(readWhole("s3://bucket/a/b.csv"));
    expect(asked[0]?.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=KEYID\/\d{8}\/eu-north-1\/s3\/aws4_request, SignedHeaders=\S*x-amz-security-token/,
    );
    expect(message).toBe("Cannot read s3://bucket/a/b.csv: these credentials may not do that (AccessDenied)");
    expect(hint).toContain("s3:GetObject");
    expect(all).not.toMatch(/KEYID|SECRETKEY|SESSIONTOKEN/);
  });

  test("is asked without a signature for an anonymous path", async () => {
    await s3That(serving(BYTES));
    expect(await listFiles("s3://anonymous@bucket/x")).toEqual([{ path: "s3://anonymous@bucket/x", sizeBytes: BYTES.length }]);
    expect(await readWhole("s3://anonymous@bucket/x")).toHaveLength(BYTES.length);
    expect(asked.every(({ authorization }) => authorization === undefined)).toBe(true);
  });

  test("without credentials is an error with the package that finds more", async () => {
    await s3That(serving(BYTES));
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "");
    const { message, hint } = await failureOf(readWhole("s3://bucket/x"));
    expect(message).toBe("No credentials for s3://bucket/x: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not both set");
    expect(hint).toContain("npm install @aws-sdk/credential-provider-node@^3");
    expect(asked).toEqual([]);
  });

  test.each([
    ["s3://ab/x", '"ab" is no name of a bucket'],
    ["s3:///x", '"" is no name of a bucket'],
    ["s3://KEYID:SECRETKEY@bucket/x", "Cannot open s3://bucket/x: a path of S3 holds no credentials"],
    ["s3://bucket/a/../b", 'the part "." or ".."'],
    ["gs://bucket/x", "gs:// is not supported"],
  ])("refuses %s before anything is sent", async (path, message) => {
    await s3That(serving(BYTES));
    for (const attempt of [listFiles(path), readWhole(path), FileWriter.open(path)]) {
      const failure = await failureOf(attempt);
      expect(failure.message).toContain(message);
      expect(failure.all).not.toContain("SECRETKEY");
    }
    expect(asked).toEqual([]);
  });

  test.each<[string, number, Record<string, string>, string]>([
    ["a redirect with the region in its header", 301, { "x-amz-bucket-region": "ap-south-1" }, xmlError("PermanentRedirect")],
    ["a signature for another region", 400, {}, xmlError("AuthorizationHeaderMalformed", "<Region>ap-south-1</Region>")],
  ])("names the region of the bucket after %s", async (_, status, headers, body) => {
    await s3That((_asked, response) => response.writeHead(status, headers).end(body));
    const { message, hint } = await failureOf(readWhole("s3://bucket/x"));
    expect(message).toBe("Cannot read s3://bucket/x: the bucket is in the region ap-south-1, and the request was for eu-north-1");
    expect(hint).toBe("set AWS_REGION=ap-south-1");
  });

  test.each([
    [404, xmlError("NoSuchBucket"), "there is no such bucket (NoSuchBucket)"],
    [404, xmlError("NoSuchKey"), "there is no such object (NoSuchKey)"],
    [403, xmlError("ExpiredToken"), "the credentials have expired (ExpiredToken)"],
    [403, xmlError("SignatureDoesNotMatch", "<StringToSign>SECRETKEY</StringToSign>"), "the signature is wrong"],
    [400, xmlError("Odd", "<Message>a &lt;b&gt; &#233;</Message>"), "the server refuses (Odd): a <b> é"],
  ])("says in words what %i %s means", async (status, body, words) => {
    await s3That((_, response) => response.writeHead(status).end(body));
    const { message, all } = await failureOf(readWhole("s3://bucket/x"));
    expect(message).toContain(words);
    expect(all).not.toContain("SECRETKEY");
  });

  test("is AWS of the region where no endpoint is named, and an endpoint has the bucket in the path", async () => {
    const place = { bucket: "bucket", key: "a b/\u00fc+'(*).csv", isAnonymous: false };
    vi.stubEnv("AWS_ENDPOINT_URL_S3", "");
    vi.stubEnv("AWS_ENDPOINT_URL", "");
    const path = "/a%20b/%C3%BC%2B%27%28%2A%29.csv";
    expect(s3Url(place, {}, "eu-north-1").href).toBe(`https://bucket.s3.eu-north-1.amazonaws.com${path}`);
    expect(s3Url({ ...place, bucket: "my.bucket" }, {}, "us-east-1").href).toBe(`https://s3.us-east-1.amazonaws.com/my.bucket${path}`);
    expect(s3Url({ ...place, key: "" }, {}, "cn-north-1").href).toBe("https://bucket.s3.cn-north-1.amazonaws.com.cn/");
    vi.stubEnv("AWS_ENDPOINT_URL", "http://localhost:9000/");
    expect(s3Url(place, { prefix: "a/ &" }, "x").href).toBe(`http://localhost:9000/bucket${path}?prefix=a%2F%20%26`);
    vi.stubEnv("AWS_ENDPOINT_URL", "http://me:SECRETKEY@host");
    expect((await failureOf(readWhole("s3://bucket/x"))).all).toMatch(/^(?!.*SECRETKEY).*AWS_ENDPOINT_URL is no endpoint/s);
  });
});

describe("writing to S3", () => {
  /** A server that takes uploads, unless `fault` answers first. */
  async function uploads(fault: (one: Asked, response: ServerResponse, count: number) => boolean = () => false): Promise<void> {
    await s3That((one, response, count) => {
      if (fault(one, response, count)) return;
      if (one.method === "POST" && one.url.endsWith("uploads=")) response.end("<R><UploadId>u&amp;1</UploadId></R>");
      else if (one.method === "DELETE") response.writeHead(204).end();
      else response.setHeader("etag", `"tag${count}"`).end("<R/>");
    });
  }
  const shape = (): string[] => asked.map(({ method, url }) => `${method} ${url.replace("/bucket/x", "")}`);

  test("puts a small object by one request, at the commit", async () => {
    await uploads();
    const writer = await FileWriter.open("s3://bucket/x");
    await writer.write(Buffer.from("ab"));
    await writer.write(Buffer.from("c"));
    expect(asked).toEqual([]);
    expect(await writer.commit()).toEqual({ path: "s3://bucket/x", sizeBytes: 3 });
    expect(asked.map(({ body }) => body.toString())).toEqual(["abc"]);
    await writer.abort();
    expect(shape()).toEqual(["PUT "]);
  });

  test("sends a large one in parts, again where one fails, and completes it at the commit", async () => {
    let failed = false;
    await uploads((one, response) => {
      if (failed || !one.url.includes("partNumber=2")) return false;
      failed = true;
      response.writeHead(500).end();
      return true;
    });
    const whole = Buffer.alloc(2 * UPLOAD_PART_BYTES + 5, "x");
    const writer = await FileWriter.open("s3://bucket/x");
    for (let at = 0; at < whole.length; at += 3_000_000) await writer.write(whole.subarray(at, at + 3_000_000));
    expect(shape().some((one) => one === "POST ?uploadId=u%261")).toBe(false);
    await writer.commit();
    expect(shape()[0]).toBe("POST ?uploads=");
    expect(shape().slice(1, -1).toSorted()).toEqual([1, 2, 2, 3].map((part) => `PUT ?partNumber=${part}&uploadId=u%261`));
    const complete = asked.at(-1) as Asked;
    expect([complete.method, complete.url]).toEqual(["POST", "/bucket/x?uploadId=u%261"]);
    expect(complete.body.toString()).toMatch(/<PartNumber>1<.*&#34;tag\d+&#34;.*<PartNumber>2<.*<PartNumber>3</s);
    const sizes = new Map(asked.map(({ url, body }) => [/partNumber=(\d)/.exec(url)?.[1], body.length]));
    expect([sizes.get("1"), sizes.get("2"), sizes.get("3")]).toEqual([UPLOAD_PART_BYTES, UPLOAD_PART_BYTES, 5]);
  });

  test.each(["part", "commit", "abort"])("leaves nothing after a failure: %s", async (where) => {
    await uploads((one, response) => {
      if (where === "part" && one.url.includes("partNumber=2")) response.writeHead(403).end(xmlError("AccessDenied"));
      else if (where === "commit" && one.url.endsWith("?uploadId=u%261") && one.method === "POST") response.end(xmlError("InvalidPart"));
      else return false;
      return true;
    });
    const write = async (): Promise<void> => {
      await using writer = await FileWriter.open("s3://bucket/x");
      await writer.write(Buffer.alloc(2 * UPLOAD_PART_BYTES + 1));
      if (where === "abort") throw new StorageError("Cannot write s3://bucket/x: left");
      await writer.commit();
    };
    expect((await failureOf(write())).message).toContain("Cannot write s3://bucket/x");
    expect(shape().at(-1)).toBe("DELETE ?uploadId=u%261");
    expect(shape().includes("POST ?uploadId=u%261")).toBe(where === "commit");
  });

  test("takes an upload as complete whose answer was lost, and tries a completion again that fails inside", async () => {
    let completions = 0;
    await uploads((one, response) => {
      if (one.method === "HEAD") response.writeHead(200, { etag: '"abc-2"' }).end();
      else if (one.method === "POST" && one.url.endsWith("uploadId=u%261")) {
        completions += 1;
        if (completions === 1) response.end(xmlError("InternalError"));
        else if (completions === 2) response.socket?.destroy();
        else response.writeHead(404).end(xmlError("NoSuchUpload"));
      } else return false;
      return true;
    });
    const writer = await FileWriter.open("s3://bucket/x");
    await writer.write(Buffer.alloc(UPLOAD_PART_BYTES + 1));
    await writer.commit();
    expect(completions).toBe(3);
  });

  test("copies to publish, and believes no 200 with an error", async () => {
    await uploads((one, response) => {
      if (!one.url.includes("bad")) return false;
      response.end(xmlError("AccessDenied"));
      return true;
    });
    await publishFile({ from: "s3://bucket/.staging/a b", to: "s3://bucket/x", sizeBytes: 3 });
    expect(shape()).toEqual(["PUT "]);
    const bad = publishFile({ from: "s3://bucket/.staging/a", to: "s3://bucket/bad", sizeBytes: 3 });
    expect((await failureOf(bad)).message).toContain("Cannot copy s3://bucket/.staging/a to s3://bucket/bad");
  });

  test("copies what is more than 5 GiB in parts", async () => {
    await s3That((one, response) => {
      if (one.url.endsWith("uploads=")) response.end("<R><UploadId>u</UploadId></R>");
      else response.end(`<CopyPartResult><ETag>"${/partNumber=(\d)/.exec(one.url)?.[1]}"</ETag></CopyPartResult>`);
    });
    await publishFile({ from: "s3://bucket/a", to: "s3://bucket/x", sizeBytes: 11 * 2 ** 30 });
    expect(shape().map((one) => one.replace("&uploadId=u", ""))).toEqual([
      "POST ?uploads=",
      "PUT ?partNumber=1",
      "PUT ?partNumber=2",
      "PUT ?partNumber=3",
      "POST ?uploadId=u",
    ]);
  });

  test("removes a thousand keys at a time, and says which one it may not", async () => {
    await s3That(({ body }, response) =>
      response.end(body.includes("kept") ? "<D><Error><Key>kept</Key><Code>AccessDenied</Code></Error></D>" : "<D/>"),
    );
    await removeFiles(Array.from({ length: 2500 }, (_, i) => `s3://bucket/a&b${i}`));
    expect(asked.map(({ body }) => body.toString().split("<Key>a&#38;b").length - 1)).toEqual([1000, 1000, 500]);
    expect((await failureOf(removeFiles(["s3://bucket/kept"]))).message).toContain("Cannot remove s3://bucket/kept");
    expect((await failureOf(removeFolder("s3://bucket/"))).message).toContain("it is a whole bucket");
  });

  test("removes a folder with its objects, and the uploads that a killed process has left there", async () => {
    const upload = (key: string): string => `<Upload><Key>${key}</Key><UploadId>id-${key}</UploadId></Upload>`;
    await s3That(({ url, method }, response) => {
      if (method !== "GET") response.end("<R/>");
      else if (url.includes("uploads=")) response.end(`<R>${upload("t/.s/a")}${upload("t/.sb")}</R>`);
      else response.end("<R><Contents><Key>t/.s/b</Key><Size>1</Size></Contents></R>");
    });
    await removeFolder("s3://bucket/t/.s");
    expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
      "GET /bucket/?list-type=2&encoding-type=url&prefix=t%2F.s%2F",
      "POST /bucket/?delete=",
      "GET /bucket/?uploads=&prefix=t%2F.s%2F",
      "DELETE /bucket/t/.s/a?uploadId=id-t%2F.s%2Fa",
    ]);
  });
});

const name = fc.constantFrom("a", "b", "ab", "_h", ".h", "_y=1", "x.csv", "y.csv");
const key = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
const part = fc.constantFrom("a", "b", "*", "**", "?", "a*", "*.csv", "_*", "[ab]", "[!a]", "_h", "ab");
const pattern = fc.array(part, { minLength: 1, maxLength: 4 }).filter((parts) => parts.some((one) => /[*?[]/.test(one)));

test("a glob names the same keys as it does files", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(key, { maxLength: 12 }), pattern, async (keys, parts) => {
      const folder = mkdtempSync(join(tmpdir(), "test-shoal-globs-"));
      // A name is a file or a folder.
      const files = keys.filter((one) => !keys.some((other) => other.startsWith(`${one}/`)));
      for (const file of files) {
        mkdirSync(dirname(join(folder, file)), { recursive: true });
        writeFileSync(join(folder, file), "");
      }
      const listed = await listFiles(join(folder, ...parts), { ignoreMissingPaths: true });
      rmSync(folder, { recursive: true });
      const matches = keyMatcher(parts.join("/"));
      expect(files.filter(matches).toSorted()).toEqual([...new Set(listed.map(({ path }) => path.slice(folder.length + 1)))].toSorted());
    }),
    { numRuns: 300 },
  );
});
