/**
 * Page tokens: opaque texts that say where the next page of one query begins.
 *
 * A token carries the key of the last row, so new rows never move a page, and a digest of the query, so the token of another query is
 * refused. Tokens hold no secret and need no memory on the server.
 */
import { sha256Hex } from "../../runtime/os/digest.ts";
import type { StateKey, StateOrder } from "../../runtime/wire/observing/state-messages.ts";
import type { StateFilter, StateResource } from "./state-reader.ts";

interface PagedQuery {
  readonly resource: StateResource;
  readonly filters: readonly StateFilter[];
  readonly order: StateOrder | undefined;
}

const DIGITS = 16;

export function pageToken(query: PagedQuery, [value, id]: StateKey): string {
  return Buffer.from(JSON.stringify([digestOf(query), value, id])).toString("base64url");
}

/** @throws RangeError for a text that is no token, or the token of another query */
export function keyOfPageToken(query: PagedQuery, token: string): StateKey {
  const read = parsed(token);
  if (read === undefined)
    throw new RangeError(
      `Cannot list ${query.resource}: the page token is not one that a list gave: received ${JSON.stringify(token.slice(0, 100))}`,
    );
  const [digest, value, id] = read;
  if (digest !== digestOf(query))
    throw new RangeError(
      `Cannot list ${query.resource}: the page token is of another query. Use it with the filters and the order that it came with.`,
    );
  return [value, id];
}

function parsed(token: string): [digest: string, value: StateKey[0], id: string] | undefined {
  try {
    const read: unknown = JSON.parse(Buffer.from(token, "base64url").toString());
    if (!Array.isArray(read)) return undefined;
    const [digest, value, id] = read as unknown[];
    const isValue = value === null || ["string", "number", "boolean"].includes(typeof value);
    return typeof digest === "string" && isValue && typeof id === "string" ? [digest, value as StateKey[0], id] : undefined;
  } catch {
    return undefined;
  }
}

function digestOf({ resource, filters, order }: PagedQuery): string {
  return sha256Hex(JSON.stringify([resource, filters, order])).slice(0, DIGITS);
}
