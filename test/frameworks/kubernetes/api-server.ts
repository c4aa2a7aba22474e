/**
 * A real API server of Kubernetes on a real etcd, for tests: kube-apiserver is built from Go modules, etcd is Debian's.
 *
 * Both are kept below `.test-cache/`. The first build takes some eight minutes of a processor. There is no controller manager, no scheduler
 * and no kubelet: `kubelet.ts` beside this stands for the last two.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import https from "node:https";
import { join } from "node:path";
import { REPOSITORY } from "../../house/source-files.ts";
import { until } from "../../integration/session.ts";
import { freePorts } from "../../control-plane/free-ports.ts";
import { installed } from "../../systems/installed.ts";

export const KUBERNETES_VERSION = "1.36.3";
const ADMIN = "admin-token";
const STARTS_WITHIN_MS = 60_000;

const MAIN = `package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() { os.Exit(cli.Run(app.NewAPIServerCommand())) }
`;

/** A plain object of Kubernetes. */
export type Manifest = Record<string, unknown> & {
  metadata: { name: string; uid?: string; resourceVersion?: string; [key: string]: unknown };
};

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly text: string;
}

/** Builds kube-apiserver. @returns its path @throws where Go or a module is missing */
function apiServerProgram(): string {
  const folder = join(REPOSITORY, ".test-cache", "go", `kube-apiserver-${KUBERNETES_VERSION}`);
  const program = join(folder, "kube-apiserver");
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  const go = (...args: string[]): string =>
    execFileSync("go", args, { cwd: folder, encoding: "utf8", env: { ...process.env, GOFLAGS: "-mod=mod" } });
  writeFileSync(join(folder, "main.go"), MAIN);
  writeFileSync(join(folder, "go.mod"), "module kube-apiserver\n");
  const { Dir } = JSON.parse(go("mod", "download", "-json", `k8s.io/kubernetes@v${KUBERNETES_VERSION}`)) as { Dir: string };
  // The repository's own parts are modules of their own, which its go.mod names by their folders.
  const parts = readFileSync(join(Dir, "go.mod"), "utf8").matchAll(/(k8s\.io\/[a-z0-9-]+) => \.\/staging/g);
  const names = Array.from(new Set(Array.from(parts, ([, name]) => name as string)));
  const replaced = names.map((name) => `replace ${name} => ${name} v0${KUBERNETES_VERSION.slice(1)}\n`).join("");
  writeFileSync(
    join(folder, "go.mod"),
    `module kube-apiserver\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v${KUBERNETES_VERSION}\n\n${replaced}`,
  );
  go("mod", "tidy");
  go("build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".");
  return program;
}

function etcdProgram(): string {
  const folder = installed("etcd-3.4", (into) => [
    ["sh", "-c", `cd ${into} && apt-get download etcd-server && dpkg -x etcd-server_*.deb .`],
  ]);
  return join(folder, "usr", "bin", "etcd");
}

/** The programs, or why there are none. */
export function kubernetesPrograms(): { etcd: string; apiServer: string } | { missing: string } {
  try {
    return { etcd: etcdProgram(), apiServer: apiServerProgram() };
  } catch (error) {
    return { missing: (error as Error).message.split("\n").find((line) => line !== "") ?? "they cannot be built" };
  }
}

export class ApiServer {
  readonly folder: string;
  readonly url: string;
  readonly caFile: string;
  readonly #etcdUrl: string;
  readonly #children: ChildProcess[] = [];
  readonly #agent = new https.Agent({ keepAlive: true, rejectUnauthorized: false });

  private constructor(folder: string, { port, etcd }: { port: number; etcd: string }) {
    this.folder = folder;
    this.url = `https://127.0.0.1:${port}`;
    this.#etcdUrl = etcd;
    this.caFile = join(folder, "certs", "apiserver.crt");
  }

  static async start(folder: string, programs: { etcd: string; apiServer: string }): Promise<ApiServer> {
    const [etcdPort, peerPort, port] = (await freePorts(3)) as [number, number, number];
    const [etcd, peer] = [`http://127.0.0.1:${etcdPort}`, `http://127.0.0.1:${peerPort}`];
    const server = new ApiServer(folder, { port, etcd });
    const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text, { mode: 0o600 });
      return join(folder, name);
    };
    const key = file("sa.key", privateKey.export({ type: "pkcs8", format: "pem" }) as string);
    const keyOfPublic = file("sa.pub", publicKey.export({ type: "spki", format: "pem" }) as string);
    const tokens = file("tokens.csv", `${ADMIN},admin,admin,"system:masters"\n`);
    server.#spawn("etcd", programs.etcd, [
      "--data-dir",
      join(folder, "etcd"),
      "--listen-client-urls",
      etcd,
      "--advertise-client-urls",
      etcd,
      "--listen-peer-urls",
      peer,
      "--initial-advertise-peer-urls",
      peer,
      "--initial-cluster",
      `default=${peer}`,
      "--unsafe-no-fsync",
    ]);
    server.#spawn("api-server", programs.apiServer, [
      "--etcd-servers",
      etcd,
      "--secure-port",
      String(port),
      "--bind-address",
      "127.0.0.1",
      "--cert-dir",
      join(folder, "certs"),
      "--service-cluster-ip-range",
      "10.0.0.0/24",
      "--authorization-mode",
      "RBAC",
      "--service-account-key-file",
      keyOfPublic,
      "--service-account-signing-key-file",
      key,
      "--service-account-issuer",
      "https://kubernetes.default.svc",
      "--token-auth-file",
      tokens,
      // Pods are read from etcd itself, so a compaction there makes a watch's version too old.
      "--watch-cache-sizes",
      "pods#0",
    ]);
    await until(async () => (await server.ask("GET", "/readyz").catch(() => undefined))?.status === 200, "the API server to be ready", {
      withinMs: STARTS_WITHIN_MS,
    });
    return server;
  }

  /** Asks the API server, as the administrator unless a token is given. */
  async ask(method: string, path: string, body?: unknown, { token = ADMIN, type = "application/json" } = {}): Promise<Answer> {
    return await new Promise((resolve, reject) => {
      const text = body === undefined ? "" : JSON.stringify(body);
      // Node sends no length with a DELETE unless told.
      const length = { "content-length": Buffer.byteLength(text) };
      const headers = { authorization: `Bearer ${token}`, "content-type": type, accept: "application/json", ...length };
      const request = https.request(`${this.url}${path}`, { method, agent: this.#agent, headers });
      request.on("error", reject).on("response", (response) => {
        let answer = "";
        response.setEncoding("utf8").on("data", (part: string) => (answer += part));
        response.on("error", reject).on("end", () => {
          const isJson = response.headers["content-type"]?.includes("json") === true;
          // A watch answers with one object a line.
          const isWatch = path.includes("watch=1");
          resolve({ status: response.statusCode ?? 0, body: isJson && !isWatch ? JSON.parse(answer) : undefined, text: answer });
        });
      });
      request.end(text);
    });
  }

  /** @throws where the server refuses */
  async must(method: string, path: string, body?: unknown, type?: string): Promise<Manifest> {
    const answer = await this.ask(method, path, body, type === undefined ? {} : { type });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body as Manifest;
  }

  /** Makes a namespace with the account that every pod has. */
  async namespace(name: string): Promise<void> {
    await this.must("POST", "/api/v1/namespaces", { metadata: { name } });
    await this.must("POST", `/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: "default" } });
  }

  /** A token of a service account, as its pods have it. */
  async tokenOf(namespace: string, account: string): Promise<string> {
    const made = await this.must("POST", `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`, {
      spec: { expirationSeconds: 3600 },
    });
    return (made["status"] as { token: string }).token;
  }

  /** Writes a kubeconfig. @returns its path */
  kubeconfig(namespace: string, token: string = ADMIN): string {
    const path = join(this.folder, `${namespace}-${token.slice(-8)}.yaml`);
    const config = {
      "current-context": "test",
      contexts: [{ name: "test", context: { cluster: "test", user: "test", namespace } }],
      clusters: [{ name: "test", cluster: { server: this.url, "certificate-authority": this.caFile } }],
      users: [{ name: "test", user: { token } }],
    };
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  }

  /** Forgets all changes until now, so that a watch from an older version is refused. */
  async compact(): Promise<void> {
    const post = async (path: string, body: object): Promise<{ header: { revision: string } }> => {
      const answer = await fetch(`${this.#etcdUrl}/v3/kv/${path}`, { method: "POST", body: JSON.stringify(body) });
      return (await answer.json()) as { header: { revision: string } };
    };
    const { header } = await post("range", { key: "AA==" });
    await post("compaction", { revision: header.revision, physical: true });
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    for (const child of this.#children.toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await ended;
    }
  }

  #spawn(name: string, program: string, args: readonly string[]): void {
    const log = openSync(join(this.folder, `${name}.log`), "w");
    this.#children.push(spawn(program, args, { stdio: ["ignore", log, log] }));
    closeSync(log);
  }
}
