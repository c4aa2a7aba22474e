/**
 * The cookie of a browser that has shown a token: a role and an expiry, signed with a key made from the cluster's token.
 *
 * Nothing is kept for a session, so it outlives restarts of the server, and a new cluster token ends all sessions. `HttpOnly` keeps
 * scripts away, `SameSite=Strict` other sites.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { SESSION_MS } from "../limits.ts";

const NAME = "shoal-session";

export interface SessionKey {
  readonly clusterToken: string;
  readonly isTls: boolean;
}

/** The value of `set-cookie`. */
export function sessionCookie(role: "view" | "admin", { clusterToken, isTls }: SessionKey, untilMs = Date.now() + SESSION_MS): string {
  const claim = `${role}.${untilMs}`;
  const maxAge = Math.max(0, Math.floor((untilMs - Date.now()) / 1000));
  const value = `${claim}.${signatureOf(claim, clusterToken)}`;
  return `${NAME}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${isTls ? "; Secure" : ""}`;
}

/** Reads the session from a `cookie` header: its role, `wrong` for a forged or expired one, undefined without any. */
export function sessionOf(header: string | undefined, clusterToken: string): "view" | "admin" | "wrong" | undefined {
  const value = (header ?? "")
    .split(";")
    .map((part) => part.trim())
    .find((part) => part.startsWith(`${NAME}=`))
    ?.slice(NAME.length + 1);
  if (value === undefined) return undefined;
  const [, claim = "", role, until, signature = ""] = /^((view|admin)\.(\d{1,15}))\.([0-9a-f]{64})$/.exec(value) ?? [];
  const given = Buffer.from(signature.padEnd(64, "0"));
  const isSigned = timingSafeEqual(given, Buffer.from(signatureOf(claim, clusterToken)));
  return isSigned && Number(until) > Date.now() ? (role as "view" | "admin") : "wrong";
}

function signatureOf(claim: string, clusterToken: string): string {
  return createHmac("sha256", `shoal session\0${clusterToken}`).update(claim).digest("hex");
}
