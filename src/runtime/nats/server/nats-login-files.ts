/**
 * Reads the files with which a head logs in to a user's own NATS: the authority of the servers' certificates, and a credentials file as
 * NATS's tools write it.
 *
 * `shoal start` reads them first, to report mistakes at once. The head reads them again for each connection, so that a renewed file takes
 * effect with the next one.
 */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { messageOf } from "../../base/texts/describe.ts";
import { ShoalError } from "../../base/errors.ts";

/** Credentials of a NATS client. */
export interface NatsLogin {
  /** A signed statement of the client's identity and permissions. */
  readonly token: string;
  /** Seed of the key that proves the identity. */
  readonly seed: string;
}

/** @throws ShoalError when the file cannot be read, or holds something else */
export function readNatsCredentials(path: string): NatsLogin {
  const text = read(path, "the credentials for NATS");
  const token = between(text, "NATS USER JWT");
  const seed = between(text, "USER NKEY SEED");
  if (token !== undefined && seed?.startsWith("SU") === true) return { token, seed };
  throw new ShoalError(`Cannot use the credentials for NATS: ${path} is not a file of credentials.`, {
    reason: "not a file of credentials",
    hint: "`nsc generate creds` or `nats auth user credential` write one; it has a user's JWT and the seed of the user's key.",
  });
}

/** In PEM. @throws ShoalError when the file cannot be read, or holds something else */
export function readNatsAuthority(path: string): string {
  const text = read(path, "the authority of NATS");
  try {
    new X509Certificate(text);
    return text;
  } catch (cause) {
    throw new ShoalError(`Cannot use the authority of NATS: ${path} is not a certificate in PEM.`, {
      reason: "not a certificate",
      hint: "It is the file that the servers' `ca_file` names.",
      cause,
    });
  }
}

function read(path: string, what: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code === "ENOENT" ? "there is no such file" : messageOf(cause);
    throw new ShoalError(`Cannot read ${what}: ${path}: ${reason}.`, { reason, hint: "Check the path.", cause });
  }
}

function between(text: string, name: string): string | undefined {
  return new RegExp(`-+BEGIN ${name}-+\\s+(\\S+)\\s+-+END ${name}-+`).exec(text)?.[1];
}
