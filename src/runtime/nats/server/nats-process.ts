/**
 * The nats-server of a head: started on a folder, ready when it answers, started again when it ends, ended with its owner.
 *
 * A server counts as started once its port is known and it greets under its own name. The first start fails with the cause. Later ends lead
 * to restarts on the same port, for ever, with growing pauses. A server that turned its storage off for lack of disk is restarted once
 * there is room. Owns the process and its folder. Called by a head; knows nothing of the meaning of the state.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { LogFollower } from "../../os/files/logs/log-follower.ts";
import { LOG_BYTES_MAX, LOG_FILES_MAX } from "../../os/limits.ts";
import { FREE_BYTES_MIN, NATS_GREETS_WITHIN_MS } from "./limits.ts";
import { natsServerConfig, type NatsRoutes, type NatsServerAuthority } from "./nats-config.ts";
import { isOutOfDisk, type NatsServerFailedError, natsServerFailure } from "./nats-failures.ts";
import { NatsFolder } from "./nats-folder.ts";
import { serverNameAt } from "./nats-greeting.ts";
import { describeProgramExit, OwnedProgram } from "../../os/processes/programs/owned-program.ts";
import { writePrivateFile } from "../../os/files/private-files.ts";
import { RestartBackoff } from "../../os/processes/restart-backoff.ts";

export interface NatsProcessOptions {
  /** The path of a nats-server of version 2.12 or newer: see `findNatsServer`. */
  readonly program: string;
  /** For everything of this server, made with mode 0700; kept when it ends. */
  readonly folder: string;
  readonly cluster: string;
  /** Unique among the servers of the cluster. */
  readonly name: string;
  readonly host: string;
  /** 0: a free one, kept as long as this object lives. */
  readonly port: number;
  /** Credentials of clients: tokens of an authority, or one shared token. */
  readonly access: { readonly authority: NatsServerAuthority; readonly account: string } | { readonly token: string };
  readonly tls?: TlsTexts | undefined;
  /** With it the server is one of several; its port for the others has to be known to them, so it is never 0. */
  readonly routes?: NatsRoutes | undefined;
  readonly onEvent?: ((event: NatsProcessEvent) => void) | undefined;
  /** Ends a server that does not answer yet. */
  readonly signal?: AbortSignal | undefined;
  /** Default 8 MB, with four older files kept. */
  readonly logSizeBytesMax?: number;
}

/** In PEM. */
export interface TlsTexts {
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

export type NatsProcessEvent =
  | { readonly kind: "ready"; readonly pid: number; readonly url: string }
  | { readonly kind: "ended"; readonly error: NatsServerFailedError; readonly startsAgainInMs: number }
  /** The server runs without its state until there is room. */
  | { readonly kind: "diskFull"; readonly folder: string };

/** Opening a large state takes seconds; beyond this something is wrong. */
const READY_WITHIN_MS = 30_000;
const STOPS_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 25;
const WATCH_EVERY_MS = 1_000;
const LAST_LINES_KEPT = 50;

export class NatsProcess implements AsyncDisposable {
  readonly #options: NatsProcessOptions;
  readonly #folder: NatsFolder;
  readonly #backoff = new RestartBackoff();
  readonly #log: LogFollower;
  #lastLines: string[] = [];
  #server: OwnedProgram | undefined;
  #port: number;
  #restart: NodeJS.Timeout | undefined;
  #nextLook: NodeJS.Timeout | undefined;
  #isOutOfDisk = false;
  #isClosed = false;
  #closed: Promise<void> | undefined;

  private constructor(options: NatsProcessOptions, folder: NatsFolder) {
    this.#options = options;
    this.#folder = folder;
    this.#port = options.port;
    this.#log = new LogFollower(folder.logFile);
  }

  /**
   * Resolves when the server answers.
   *
   * @throws RangeError for a port for other servers that is not known before, NatsServerFailedError with the cause otherwise
   */
  static async start(options: NatsProcessOptions): Promise<NatsProcess> {
    if (options.routes?.port === 0) {
      throw new RangeError("Cannot run a NATS server: the port for other servers has to be known to them: received 0");
    }
    const account = "account" in options.access ? options.access.account : "";
    const folder = new NatsFolder(options.folder, { cluster: options.cluster, account });
    await folder.awaitUnused(options.signal);
    const server = new NatsProcess(options, folder);
    try {
      await server.#startOnce();
    } catch (error) {
      await server.close();
      throw error;
    }
    server.#watch();
    return server;
  }

  /** URL for clients. */
  get url(): string {
    const { host } = this.#options;
    // A server that listens on all addresses is reached through loopback here.
    const near = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
    return `nats://${near.includes(":") ? `[${near}]` : near}:${this.#port}`;
  }

  /** Undefined between an end and the next start. */
  get pid(): number | undefined {
    return this.#server?.hasEnded === false ? this.#server.pid : undefined;
  }

  get logFile(): string {
    return this.#folder.logFile;
  }

  /** Ends the server in order; its folder stays. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#restart);
    clearTimeout(this.#nextLook);
    await this.#server?.stop({ withinMs: STOPS_WITHIN_MS });
    this.#folder.removeServerPid();
    rmSync(this.#folder.ports, { recursive: true, force: true });
  }

  async #startOnce(): Promise<void> {
    this.#writeConfiguration();
    rmSync(this.#folder.ports, { recursive: true, force: true });
    mkdirSync(this.#folder.ports, { mode: 0o700 });
    this.#lastLines = [];
    const startedAt = performance.now();
    const server = new OwnedProgram(this.#options.program, ["-c", this.#folder.configurationFile]);
    this.#server = server;
    if (server.pid > 0) this.#folder.writeServerPid(server.pid);
    await this.#awaitReady(server);
    void server.ended.then(() => this.#restartLater(performance.now() - startedAt));
    this.#options.onEvent?.({ kind: "ready", pid: server.pid, url: this.url });
  }

  async #awaitReady(server: OwnedProgram): Promise<void> {
    const giveUpAt = performance.now() + READY_WITHIN_MS;
    for (;;) {
      if (server.hasEnded) throw await this.#failure(server);
      const port = this.#portInFile();
      if (port !== undefined) {
        this.#port = port;
        if (await this.#greets()) return;
      }
      const isGivenUp = this.#options.signal?.aborted === true;
      if (isGivenUp || performance.now() > giveUpAt) {
        await server.stop({ withinMs: 0 });
        throw await this.#failure(
          server,
          isGivenUp ? "it was ended before it answered" : `it did not answer within ${READY_WITHIN_MS / 1000} s`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  async #greets(): Promise<boolean> {
    const { tls, name } = this.#options;
    const url = new URL(this.url);
    try {
      const place = { host: url.hostname.replace(/^\[|\]$/g, ""), port: this.#port, caPem: tls?.ca, timeoutMs: NATS_GREETS_WITHIN_MS };
      return (await serverNameAt(place)) === name;
    } catch {
      return false;
    }
  }

  /** The server writes the file once all its ports are open. */
  #portInFile(): number | undefined {
    const [name] = readdirSync(this.#folder.ports);
    if (name === undefined) return undefined;
    try {
      const { nats } = JSON.parse(readFileSync(join(this.#folder.ports, name), "utf8")) as { nats?: string[] };
      return Number(new URL(nats?.[0] ?? "").port);
    } catch {
      // The file is being written.
      return undefined;
    }
  }

  #restartLater(ranForMs: number): void {
    clearTimeout(this.#nextLook);
    if (this.#isClosed) return;
    const server = this.#server as OwnedProgram;
    const startsAgainInMs = this.#backoff.afterExit(ranForMs);
    void this.#failure(server).then((error) => this.#options.onEvent?.({ kind: "ended", error, startsAgainInMs }));
    this.#restart = setTimeout(() => void this.#startAgain(), startsAgainInMs);
  }

  async #startAgain(): Promise<void> {
    const startedAt = performance.now();
    try {
      await this.#startOnce();
      if (this.#isClosed) return await this.#server?.stop({ withinMs: STOPS_WITHIN_MS }).then(() => {});
      this.#isOutOfDisk = false;
      this.#watch();
    } catch {
      this.#restartLater(performance.now() - startedAt);
    }
  }

  /** Looks for the one failure that a server survives and does not mend. */
  #watch(): void {
    if (this.#isClosed || this.#server?.hasEnded !== false) return;
    this.#nextLook = setTimeout(() => this.#watch(), WATCH_EVERY_MS);
    this.#readLog();
    if (!this.#isOutOfDisk && this.#lastLines.some(isOutOfDisk)) {
      this.#isOutOfDisk = true;
      this.#options.onEvent?.({ kind: "diskFull", folder: this.#folder.path });
    }
    // The end of the process leads to a new start.
    if (this.#isOutOfDisk && this.#folder.freeBytes() > FREE_BYTES_MIN) this.#server.kill("SIGTERM");
  }

  #readLog(): void {
    this.#lastLines = [...this.#lastLines, ...this.#log.read()].slice(-LAST_LINES_KEPT);
  }

  async #failure(server: OwnedProgram, what?: string): Promise<NatsServerFailedError> {
    const exit = await server.ended;
    this.#readLog();
    // Before it has read its configuration a server writes to its output.
    const lines = [...this.#lastLines, ...server.lastOutput];
    const { host } = this.#options;
    return natsServerFailure(lines, what ?? describeProgramExit(exit), {
      folder: this.#folder.path,
      logFile: this.#folder.logFile,
      host,
      port: this.#port,
    });
  }

  #writeConfiguration(): void {
    const { name, host, access, tls, routes, cluster, logSizeBytesMax = LOG_BYTES_MAX } = this.#options;
    const folder = this.#folder;
    const tlsFiles = { caFile: folder.file("ca.pem"), certificateFile: folder.file("certificate.pem"), keyFile: folder.file("key.pem") };
    if (tls !== undefined) {
      writePrivateFile(tlsFiles.caFile, tls.ca);
      writePrivateFile(tlsFiles.certificateFile, tls.certificate);
      writePrivateFile(tlsFiles.keyFile, tls.key);
    }
    const text = natsServerConfig({
      name,
      host,
      port: this.#port === 0 ? -1 : this.#port,
      folder: folder.state,
      portsFolder: folder.ports,
      log: { file: folder.logFile, sizeBytesMax: logSizeBytesMax, filesMax: LOG_FILES_MAX },
      ...("token" in access ? { token: access.token } : { authority: access.authority }),
      ...(tls !== undefined && { tls: tlsFiles }),
      ...(routes !== undefined && { cluster: { ...routes, name: cluster } }),
    });
    writePrivateFile(folder.configurationFile, text);
  }
}
