/** Parquet behind a server: only needed bytes are fetched, and a server that refuses in the middle is an error, not the end of the process. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { StorageError } from "../../storage/errors.ts";
import { type Block, blockOfRows, rowsOf } from "../blocks/block.ts";
import { readParquetFooter, readParquetPart } from "./parquet/parquet-reader.ts";
import { parquetFile } from "./parquet/parquet-writer.ts";

const ROWS = Array.from({ length: 20_000 }, (_, id) => ({ id, text: `${id} `.repeat(20) }));
let bytes: Uint8Array;
let sent = 0;
/** The requests, in order. */
let ranges: string[] = [];
/** Requests that are answered, and the status of those behind them. */
let answered = Number.POSITIVE_INFINITY;
const server = createServer((request, response) => {
  ranges.push(request.headers.range ?? "");
  if ((answered -= 1) < 0) return response.writeHead(403).end();
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
  const part = bytes.subarray(Number(first), Number(last) + 1);
  sent += part.length;
  const headers = { "content-length": part.length, "content-range": `bytes ${first}-${last}/${bytes.length}`, etag: '"v"' };
  return response.writeHead(206, headers).end(part);
});
let url: string;

beforeAll(async () => {
  bytes = await parquetFile([blockOfRows(ROWS, "rows")], "none");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.parquet?sig=secret`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function rowsOfPart(columns: readonly string[] | undefined): Promise<unknown[]> {
  const { rowGroups } = await readParquetFooter(url, []);
  const blocks: Block[] = [];
  for await (const block of readParquetPart(
    { path: url, rowGroups: [...rowGroups.keys()], firstRows: [], rowCount: ROWS.length },
    columns,
    [],
  ))
    blocks.push(block);
  return blocks.flatMap((block) => rowsOf(block));
}

test("the columns that are wanted are fetched, and not the others", async () => {
  sent = 0;
  expect(await rowsOfPart(["id"])).toEqual(ROWS.map(({ id }) => ({ id })));
  expect(sent).toBeLessThan(bytes.length / 2);
  expect(await rowsOfPart(undefined)).toEqual(ROWS);
});

test("plans cost the requests of the length and of the footer", async () => {
  ranges = [];
  await readParquetFooter(url, []);
  expect(ranges).toEqual([expect.any(String), `bytes=${Math.max(0, bytes.length - 2 ** 19)}-${bytes.length - 1}`]);
});

test("a refusal at any request is an error that names the file, and later reads work", async () => {
  let refusals = 0;
  for (let requests = 0; ; requests += 1) {
    answered = requests;
    const failure: unknown = await rowsOfPart(["text"]).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (failure === undefined) break;
    expect(failure).toBeInstanceOf(StorageError);
    expect((failure as StorageError).message).toBe(`Cannot read ${url.replace("?sig=secret", "")}: the server forbids it (status 403)`);
    refusals += 1;
  }
  expect(refusals).toBeGreaterThan(3);
});
