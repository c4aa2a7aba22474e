/**
 * Servers of S3 that others have written: s3rver (JavaScript) and moto (Python), pinned, installed below `.test-cache/` by the first run.
 *
 * The servers are no dependencies: s3rver brings a hundred packages, moto 300 MB.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "../control-plane/free-ports.ts";
import { installed } from "./installed.ts";

export type ServerName = "s3rver" | "moto";

const S3RVER = "3.7.1";
const MOTO = "5.2.5";
/**
 * Starts the server on the port in the first argument, with its data in the folder in the second. S3 stores an object whole or not at all.
 * The server s3rver by itself keeps the part of a request that broke off, answers before the whole file is written, and removes an empty
 * folder into which another request is about to write.
 */
const S3RVER_PROGRAM = `
  const [port, directory] = process.argv.slice(1);
  const { createHash } = require("node:crypto");
  const { mkdir, rename, rm, writeFile } = require("node:fs/promises");
  const { dirname } = require("node:path");
  const Store = require("s3rver/lib/stores/filesystem");
  let puts = 0;
  Store.prototype.putObject = async function ({ bucket, key, content, metadata }) {
    const whole = Buffer.isBuffer(content) ? content : Buffer.concat(await Array.fromAsync(content));
    const path = this.getResourcePath(bucket, key, "object");
    const coming = path + (puts += 1);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(coming, whole);
    await rename(coming, path);
    const md5 = createHash("md5").update(whole).digest("hex");
    await this.putMetadata(bucket, key, metadata, md5);
    return { size: whole.length, md5 };
  };
  Store.prototype.deleteObject = async function (bucket, key) {
    for (const kind of ["object", "object.md5", "metadata.json"]) await rm(this.getResourcePath(bucket, key, kind), { force: true });
  };
  new (require("s3rver"))({ port, address: "127.0.0.1", silent: true, directory }).run();
`;
/** A server that does not answer by then does not start. */
const START_WITHIN_MS = 60_000;

function startS3rver(port: string, data: string): ChildProcess {
  const folder = installed(`s3rver-${S3RVER}`, (prefix) => [
    ["npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", prefix, `s3rver@${S3RVER}`],
  ]);
  // Tokens of s3rver for list pages need a cipher that OpenSSL 3 calls old.
  return spawn(process.execPath, ["--openssl-legacy-provider", "-e", S3RVER_PROGRAM, port, data], { cwd: folder, stdio: "ignore" });
}

function startMoto(port: string): ChildProcess {
  const folder = installed(`moto-${MOTO}`, (venv) => [
    ["python3", "-m", "venv", venv],
    [join(venv, "bin", "python3"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", `moto[s3,server]==${MOTO}`],
  ]);
  return spawn(join(folder, "bin", "moto_server"), ["-H", "127.0.0.1", "-p", port], { stdio: "ignore" });
}

/**
 * An empty server, to which the variables of this process point, as a user sets them. Its disposal ends the server and removes the data.
 */
export class S3Server implements AsyncDisposable {
  readonly endpoint: string;
  readonly #start: () => ChildProcess;
  #child: ChildProcess;
  readonly #data: string;

  private constructor(endpoint: string, start: () => ChildProcess, data: string) {
    this.endpoint = endpoint;
    this.#start = start;
    this.#child = start();
    this.#data = data;
  }

  static async start(name: ServerName, bucket: string): Promise<S3Server> {
    const [port] = await freePorts(1);
    const data = mkdtempSync(join(tmpdir(), "test-shoal-s3-"));
    const server = new S3Server(
      `http://127.0.0.1:${port}`,
      () => (name === "s3rver" ? startS3rver(`${port}`, data) : startMoto(`${port}`)),
      data,
    );
    await server.#makeBucket(bucket);
    Object.assign(process.env, {
      AWS_ENDPOINT_URL: server.endpoint,
      AWS_ACCESS_KEY_ID: "S3RVER",
      AWS_SECRET_ACCESS_KEY: "S3RVER",
      AWS_REGION: "us-east-1",
    });
    return server;
  }

  /** Ends the server as a crash does. What s3rver was given stays in its folder. */
  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    if (this.#child.kill("SIGKILL")) await ended;
  }

  /** Starts a server that was stopped, at the same port and over the same folder. */
  goOn(): void {
    this.#child = this.#start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.#data, { recursive: true, force: true });
  }

  /** A bucket is made as soon as the server answers; neither asks for a signature then. */
  async #makeBucket(bucket: string): Promise<void> {
    for (const until = Date.now() + START_WITHIN_MS; ; ) {
      const made = await fetch(`${this.endpoint}/${bucket}`, { method: "PUT" }).catch(() => undefined);
      if (made?.ok === true) return;
      if (Date.now() > until || this.#child.exitCode !== null) throw new Error(`the server does not start: ${made?.status ?? "no answer"}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
