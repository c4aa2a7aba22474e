/**
 * Ways to the API server: the service account of the provider's pod, or a kubeconfig.
 *
 * Both carry the server's address, its authority and a secret. A kubeconfig that runs programs for its secret is refused: a head outlives a
 * person's login, so it needs a service account. Mistakes are refused before anything is launched.
 */
import { parse } from "yaml";
import { messageOf } from "../../../../runtime/base/texts/describe.ts";
import { readUserFile } from "../../../../runtime/os/packages/user-modules.ts";
import { fields, list, optional, problemOf, text, flag, type Of } from "../../../../runtime/wire/header-shape.ts";
import type { RestServer } from "../../../../runtime/os/network/rest-client.ts";
import { TOKEN_AGE_MS } from "./limits.ts";

export interface KubernetesAccess extends RestServer {
  /** The namespace of the pod, or of the kubeconfig's context. */
  readonly namespace: string | undefined;
  /** Returns the secret of each request; undefined where the client's certificate is enough. */
  readonly token: () => string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** @throws Error with the reason, for a caller that names the key */
export function podAccess(environment: Environment, folder: string = SERVICE_ACCOUNT, nowMs: () => number = Date.now): KubernetesAccess {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = environment;
  if (host === undefined || host === "")
    throw new Error("this process runs in no pod, as KUBERNETES_SERVICE_HOST is not set: give provider.kubeconfig");
  const read = (name: string): string => readFile(`${folder}/${name}`, "the pod's service account");
  return {
    url: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    ca: read("ca.crt"),
    namespace: read("namespace").trim(),
    token: renewed(() => read("token").trim(), nowMs),
  };
}

const named = { name: text };
const kubeconfigShape = fields({
  "current-context": optional(text),
  contexts: list(fields({ ...named, context: fields({ cluster: text, user: text, namespace: optional(text) }) })),
  clusters: list(
    fields({
      ...named,
      cluster: fields({
        server: text,
        "certificate-authority": optional(text),
        "certificate-authority-data": optional(text),
        "tls-server-name": optional(text),
        "insecure-skip-tls-verify": optional(flag),
      }),
    }),
  ),
  users: list(
    fields({
      ...named,
      user: fields({
        token: optional(text),
        tokenFile: optional(text),
        "client-certificate": optional(text),
        "client-certificate-data": optional(text),
        "client-key": optional(text),
        "client-key-data": optional(text),
      }),
    }),
  ),
});
type Kubeconfig = Of<typeof kubeconfigShape>;
type User = Kubeconfig["users"][number]["user"];

/** @throws Error with the reason, for a caller that names the key */
export function kubeconfigAccess(path: string, context: string | undefined): KubernetesAccess {
  const config = parseKubeconfig(path);
  const wanted = context ?? config["current-context"];
  if (wanted === undefined || wanted === "") throw new Error("it has no current-context: give provider.context");
  const { cluster: clusterName, user: userName, namespace } = pick(config.contexts, wanted, "context").context;
  const { cluster } = pick(config.clusters, clusterName, "cluster");
  const { user } = pick(config.users, userName, "user");
  for (const key of ["exec", "auth-provider"])
    if (key in user) throw new Error(`user ${userName} has ${key}, which is not run: give a service account's token`);
  if (cluster["insecure-skip-tls-verify"] === true)
    throw new Error(`cluster ${clusterName} has insecure-skip-tls-verify: give the server's certificate-authority-data`);
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  const inline = (file: string | undefined, data: string | undefined): string | undefined =>
    data !== undefined ? Buffer.from(data, "base64").toString("utf8") : file === undefined ? undefined : readFile(file, "a file", folder);
  return {
    url: serverUrl(cluster.server),
    ca: inline(cluster["certificate-authority"], cluster["certificate-authority-data"]),
    serverName: cluster["tls-server-name"],
    client: clientOf(user, inline),
    namespace,
    token: tokenOf(user, folder),
  };
}

function parseKubeconfig(path: string): Kubeconfig {
  const config = parsed(readFile(path, "the kubeconfig"));
  if (!kubeconfigShape(config)) throw new Error(problemOf(kubeconfigShape, config, "the kubeconfig"));
  return config;
}

function parsed(yaml: string): unknown {
  try {
    return parse(yaml) as unknown;
  } catch (error) {
    throw new Error(`the kubeconfig is no YAML: ${messageOf(error)}`, { cause: error });
  }
}

function serverUrl(server: string): string {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  const isLocal = url?.protocol === "http:" && /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/.test(url.hostname);
  if (url === undefined || (url.protocol !== "https:" && !isLocal))
    throw new Error(`its server needs https, or http on this machine: received ${server}`);
  return server;
}

function clientOf(user: User, inline: (file: string | undefined, data: string | undefined) => string | undefined): RestServer["client"] {
  const cert = inline(user["client-certificate"], user["client-certificate-data"]);
  const key = inline(user["client-key"], user["client-key-data"]);
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

function tokenOf({ token, tokenFile }: User, folder: string): KubernetesAccess["token"] {
  if (token !== undefined) return () => token;
  return tokenFile === undefined ? () => undefined : renewed(() => readFile(tokenFile, "tokenFile", folder).trim(), Date.now);
}

function pick<T extends { name: string }>(all: readonly T[], name: string, what: string): T {
  const found = all.find((one) => one.name === name);
  if (found === undefined) throw new Error(`it has no ${what} ${name}: there are ${all.map((one) => one.name).join(", ") || "none"}`);
  return found;
}

/** Reads a token again from time to time. While its file cannot be read the last token is used, which may still be good. */
function renewed(read: () => string, nowMs: () => number): () => string {
  let token = read();
  let readAtMs = nowMs();
  return () => {
    if (nowMs() - readAtMs < TOKEN_AGE_MS) return token;
    try {
      token = read() || token;
      readAtMs = nowMs();
    } catch {
      // The next request reads again.
    }
    return token;
  };
}

function readFile(path: string, what: string, folder = ""): string {
  try {
    return readUserFile(folder, path);
  } catch (error) {
    throw new Error(`${what} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}
