/**
 * Option `tls` of the proxies, for HTTP and for gRPC: the certificate that they show, its key, and the authorities that clients' certificates must come from.
 *
 * Certificate, key and authorities are PEM text, or the path of a file that every proxy reads on its own node: so a key need not leave its machine. Decides that nothing older than TLS 1.2 is spoken.
 * The proxy checks them before it listens; errors name the option and never quote a key. Files that are renewed in place are used for the next connections.
 */
import { unwatchFile, watchFile } from "node:fs";
import { readFile } from "node:fs/promises";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { custom, isPlainObject, messageOf, type Option, readOptions } from "../../../core/internal.ts";
import { CERTIFICATE_EVERY_MS } from "../../limits.ts";

/** `tls` of `httpOptions` and `grpcOptions`. */
export interface TlsOptions {
  /** The private key: PEM text, or the path of a file on each node with a proxy. */
  key: string;
  /** The certificate and those between it and its authority: PEM text or a path. */
  cert: string;
  /** Clients have to show a certificate of one of these authorities: PEM text or a path. Default: clients show none. */
  ca?: string | undefined;
  /** The key's, where it is encrypted. */
  passphrase?: string | undefined;
}

export interface ResolvedTlsOptions {
  readonly key: string | undefined;
  readonly cert: string | undefined;
  readonly ca: string | undefined;
  readonly passphrase: string | undefined;
}

/** The options that it is one of, for messages. */
type Owner = "httpOptions" | "grpcOptions";

const PEM_OR_PATH = "PEM text, or the path of a file, is needed";

const OTHER_NAMES = {
  ssl_keyfile: "it is key",
  ssl_certfile: "it is cert",
  ssl_ca_certs: "it is ca",
  ssl_keyfile_password: "it is passphrase",
};
const OPTIONS = {
  key: pemOrPath(),
  cert: pemOrPath(),
  ca: pemOrPath(),
  passphrase: custom<string | undefined>("text is needed", undefined, (value) => (typeof value === "string" ? "ok" : "wrong type")),
};

/** Makes the option for the owner's table. */
export function tlsOption(owner: Owner): Option<ResolvedTlsOptions | undefined> {
  return {
    ...custom<ResolvedTlsOptions | undefined>("an object such as { key, cert } is needed", undefined, (value) =>
      isPlainObject(value) ? "ok" : "wrong type",
    ),
    meaning: (value) => (value === undefined ? undefined : resolveTlsOptions(value, owner)),
  };
}

/**
 * Reads the files and makes sure that key and certificate belong together.
 *
 * @throws RangeError that names the option
 */
export async function readTlsContext(tls: ResolvedTlsOptions, owner: Owner): Promise<SecureContextOptions> {
  const context: SecureContextOptions = {
    key: await pemOf(`key of ${owner}.tls`, tls.key ?? ""),
    cert: await pemOf(`cert of ${owner}.tls`, tls.cert ?? ""),
    ...(tls.ca !== undefined && { ca: await pemOf(`ca of ${owner}.tls`, tls.ca) }),
    ...(tls.passphrase !== undefined && { passphrase: tls.passphrase }),
    minVersion: "TLSv1.2",
  };
  try {
    createSecureContext(context);
  } catch (cause) {
    throw new RangeError(`Cannot serve over TLS: key, cert or passphrase of ${owner}.tls do not fit: ${messageOf(cause)}`, {
      cause,
    });
  }
  return context;
}

/**
 * Calls back with what renewed files hold, until the function that comes back is called. A key and a certificate that do not belong together are in the middle of their renewal: the
 * former stay.
 */
export function watchTlsFiles(tls: ResolvedTlsOptions, owner: Owner, renewed: (context: SecureContextOptions) => void): () => void {
  const paths = [tls.key, tls.cert, tls.ca].filter((value) => value !== undefined && !isPem(value)) as string[];
  const changed = (): void => {
    readTlsContext(tls, owner).then(renewed, (error: Error) => console.error(`serve: the certificate stays as it was: ${error.message}`));
  };
  for (const path of paths) watchFile(path, { persistent: false, interval: CERTIFICATE_EVERY_MS }, changed);
  return () => {
    for (const path of paths) unwatchFile(path, changed);
  };
}

function resolveTlsOptions(given: unknown, owner: Owner): ResolvedTlsOptions {
  const options = readOptions(given, { of: `${owner}.tls`, otherNames: OTHER_NAMES, options: OPTIONS });
  for (const name of ["key", "cert"] as const)
    if (options[name] === undefined) throw new TypeError(`Cannot set tls of ${owner}: ${name} is missing: ${PEM_OR_PATH}`);
  return options;
}

function pemOrPath(): Option<string | undefined> {
  return custom<string | undefined>(PEM_OR_PATH, undefined, (value) => (typeof value === "string" && value !== "" ? "ok" : "wrong type"));
}

function isPem(value: string): boolean {
  return value.includes("-----BEGIN ");
}

async function pemOf(what: string, value: string): Promise<string> {
  if (isPem(value)) return value;
  try {
    return await readFile(value, "utf8");
  } catch (cause) {
    throw new RangeError(`Cannot serve over TLS: ${what} cannot be read: ${messageOf(cause)}`, { cause });
  }
}
