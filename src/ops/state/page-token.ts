/**
 * Page tokens: opaque texts that say where the next page of one query begins.
 *
 * A token carries the key of the last row, so new rows never move a page, and a digest of the query, so the token of another query is
 * refused. Tokens hold no secret and need no memory on the server.
 */
import { sha256Hex } from "../../runtime/os/digest.ts";
import type { StateKey } from "../../runtime/wire/state-messages.ts";
import type { StateFilter, StateResource } from "./state-reader.ts";

interface PagedQuery {
  readonly resource: StateResource;
  readonly filters: readonly StateFilter[];
}

const DIGITS = 16;

export function pageToken(query: PagedQuery, [timeMs, id]: StateKey): string {
  return Buffer.from(JSON.stringify([digestOf(query), timeMs, id])).toString("base64url");
}

/** @throws RangeError for a text that is no token, or the token of another query */
export function keyOfPageToken(query: PagedQuery, token: string): StateKey {
  const read = parsed(token);
  if (read === undefined)
    throw new RangeError(
      `Cannot list ${query.resource}: the page token is not one that a list gave: received ${JSON.stringify(token.slice(0, 100))}`,
    );
  const [digest, timeMs, id] = read;
  if (digest !== digestOf(query))
    throw new RangeError(`Cannot list ${query.resource}: the page token is of another query. Use it with the filters that it came with.`);
  return [timeMs, id];
}

function parsed(token: string): [digest: string, timeMs: number, id: string] | undefined {
  try {
    const read: unknown = JSON.parse(Buffer.from(token, "base64url").toString());
    if (!Array.isArray(read)) return undefined;
    const [digest, timeMs, id] = read as unknown[];
    return typeof digest === "string" && typeof timeMs === "number" && typeof id === "string" ? [digest, timeMs, id] : undefined;
  } catch {
    return undefined;
  }
}

function digestOf({ resource, filters }: PagedQuery): string {
  return sha256Hex(JSON.stringify([resource, filters])).slice(0, DIGITS);
}
