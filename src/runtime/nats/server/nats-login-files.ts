/**
 * Files of somebody's own NATS by which a head knows the servers and is known to them: the authority of their certificates, and a file of credentials as NATS's own tools write it.
 *
 * Read by `shoal start`, which says at once what is wrong with them, and by the head for each connection, so that a file that is renewed is used from the next one on.
 */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { ShoalError } from "../../base/errors.ts";

/** What a client of NATS shows. */
export interface NatsLogin {
  /** A signed statement of who this is and what it may. */
  readonly token: string;
  /** Of the key that proves it. */
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
    const reason = (cause as NodeJS.ErrnoException).code === "ENOENT" ? "there is no such file" : (cause as Error).message;
    throw new ShoalError(`Cannot read ${what}: ${path}: ${reason}.`, { reason, hint: "Check the path.", cause });
  }
}

function between(text: string, name: string): string | undefined {
  return new RegExp(`-+BEGIN ${name}-+\\s+(\\S+)\\s+-+END ${name}-+`).exec(text)?.[1];
}
