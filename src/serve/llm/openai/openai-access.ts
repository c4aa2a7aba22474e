/**
 * Decides who may call the application with OpenAI's API: keys of clients, and pages of other origins.
 *
 * Keys are compared by their hashes, so the application that a controller keeps has no key. Preflights of browsers carry no key and are answered before it is asked for.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { type OpenAIError, openAIError } from "../llm-errors.ts";

export interface AccessRules {
  /** SHA-256, in hex; undefined asks for no key. */
  readonly keyHashes: readonly string[] | undefined;
  readonly corsOrigins: readonly string[];
}

const PREFLIGHT = { "access-control-allow-methods": "GET, POST, OPTIONS", "access-control-max-age": "600" };

export function keyHash(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

/** The error for a request without a key that fits; undefined for one that may go on. */
export function accessError({ keyHashes }: AccessRules, request: Request): OpenAIError | undefined {
  if (keyHashes === undefined) return undefined;
  const [, key] = /^Bearer +(\S+) *$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  if (key === undefined) return openAIError(401, "An API key is needed: Authorization: Bearer KEY", { code: "missing_api_key" });
  const given = Buffer.from(keyHash(key));
  // Each is compared, so that the time does not tell which was near.
  const fits = keyHashes.map((hash) => timingSafeEqual(given, Buffer.from(hash)));
  return fits.includes(true) ? undefined : openAIError(401, "The API key is not known here", { code: "invalid_api_key" });
}

/** Headers that let a page of another origin read the answer; undefined where it may not. */
export function corsHeaders({ corsOrigins }: AccessRules, request: Request): Readonly<Record<string, string>> | undefined {
  const origin = request.headers.get("origin");
  if (origin === null || corsOrigins.length === 0) return undefined;
  if (corsOrigins.includes("*")) return { "access-control-allow-origin": "*" };
  return corsOrigins.includes(origin) ? { "access-control-allow-origin": origin, vary: "origin" } : undefined;
}

/** The answer to a browser that asks before it sends; undefined for other requests. */
export function preflightAnswer(rules: AccessRules, request: Request): Response | undefined {
  if (request.method !== "OPTIONS" || request.headers.get("access-control-request-method") === null) return undefined;
  const allowed = corsHeaders(rules, request);
  if (allowed === undefined) return new Response(null, { status: 403 });
  const names = request.headers.get("access-control-request-headers") ?? "authorization, content-type";
  return new Response(null, { status: 204, headers: { ...allowed, ...PREFLIGHT, "access-control-allow-headers": names } });
}
