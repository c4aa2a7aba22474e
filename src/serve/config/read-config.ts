/**
 * Reads a configuration's text, YAML or JSON, and checks it against `config-keys.ts`. Errors name the line and the key. Pure.
 *
 * `deploy-config.ts`, the controller and `load-application.ts` import it only when there is a text to read, because every process of Serve would otherwise load
 * `yaml`. It throws before anything is started or loaded. It also refuses names and routes that two applications share.
 */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
  type YAMLMap,
} from "yaml";
import { describeValue, messageOf } from "../../core/internal.ts";
import { ServeConfigError } from "../errors.ts";
import { CONFIG_ALIASES_MAX, CONFIG_BYTES_MAX } from "../limits.ts";
import { isPath, underRoot } from "../proxy/route-table.ts";
import { JsonMistake, readJson } from "./json-document.ts";
import { CONFIG, type KeyTable, RUNTIME_ENV, type ValueKind } from "./config-keys.ts";

/** A value of YAML, by Ray's keys. */
export type Fields = Readonly<Record<string, any>>;

/** An application as a configuration describes it. */
export interface ConfigApplication {
  readonly name: string;
  readonly routePrefix: string | null;
  readonly importPath: string;
  readonly runtimeEnv: Fields;
  readonly args: Fields;
  /** All fields as written. */
  readonly fields: Fields;
  /** By name, as they are written. */
  readonly deployments: ReadonlyMap<string, Fields>;
  /** The place of each of them, for errors that come later: `serve.yaml: line 5: applications[0].deployments[0]`. */
  readonly places: ReadonlyMap<string, string>;
  /** The `logging_config` of the application, over that of the whole configuration. */
  readonly logging: Fields;
  readonly tracing: Fields;
  /** Where it begins, for errors that come later. */
  readonly line: number;
}

export interface ServeConfig {
  /** The file, for messages. */
  readonly source: string;
  readonly proxyLocation: "EveryNode" | "HeadOnly" | "Disabled" | undefined;
  readonly http: Fields;
  readonly grpc: Fields;
  /** The entries of `grpc_servicer_functions`. */
  readonly grpcServices: readonly { readonly protoFile: string; readonly service: string }[];
  readonly accessLog: boolean | undefined;
  /** Percent of the replicas; undefined: all. */
  readonly targetCapacity: number | undefined;
  readonly applications: readonly ConfigApplication[];
}

/**
 * @param source for messages: the file's name
 * @throws ServeConfigError with line and key
 */
export function readConfig(text: string, source: string): ServeConfig {
  const bytes = Buffer.byteLength(text);
  if (bytes > CONFIG_BYTES_MAX) {
    const reason = `a configuration has at most ${CONFIG_BYTES_MAX} bytes: received ${bytes}`;
    throw new ServeConfigError(`Cannot read ${source}: ${reason}`, { reason, details: { source } });
  }
  const { whole, reader } = readWhole(text, source, CONFIG);
  return {
    source,
    proxyLocation: whole["proxy_location"],
    http: whole["http_options"] ?? {},
    grpc: whole["grpc_options"] ?? {},
    grpcServices: readServices(whole, reader),
    accessLog: whole["logging_config"]?.["enable_access_log"],
    targetCapacity: whole["target_capacity"] ?? undefined,
    applications: readApplications(whole, reader),
  };
}

/** The text of a `runtime_env`, as the option of a command has it. @throws ServeConfigError with line and key */
export function readRuntimeEnv(text: string, source: string): Fields {
  return readWhole(text, source, RUNTIME_ENV).whole;
}

function readWhole(text: string, source: string, keys: KeyTable): { whole: Fields; reader: Reader } {
  const lines = new LineCounter();
  try {
    const json = readJson(text, lines);
    // As PyYAML does: `<<: *defaults` takes over the keys of another map. The check of keys of `yaml` itself takes time with their square.
    const document = json?.document ?? parseDocument(text, { lineCounter: lines, merge: true, uniqueKeys: false });
    const reader = new Reader({ source, lines, document });
    if (json === undefined) reader.requireReadable();
    // Aliases that name nothing, or one another without end, are found before anything is looked at.
    const whole = (json?.whole ?? document.toJS()) as Fields;
    JSON.stringify(whole);
    reader.check(document.contents, "", { kind: "object", keys });
    return { whole, reader };
  } catch (error) {
    if (error instanceof ServeConfigError) throw error;
    if (error instanceof JsonMistake) throw configError({ source, line: lines.linePos(error.offset).line, key: "" }, error.message);
    const reason = messageOf(error).split("\n")[0] as string;
    throw new ServeConfigError(`Cannot read ${source}: ${reason}`, { reason, details: { source } });
  }
}

function readServices(whole: Fields, reader: Reader): ServeConfig["grpcServices"] {
  const key = "grpc_options.grpc_servicer_functions";
  return ((whole["grpc_options"]?.["grpc_servicer_functions"] ?? []) as string[]).map((entry, index) => {
    const [, protoFile, service] = /^(.+\.proto):([\w.]+)$/.exec(entry) ?? [];
    if (protoFile !== undefined && service !== undefined) return { protoFile, service };
    const problem = `a .proto file and a service of it are needed, such as "shop.proto:shop.v1.Shop", in place of a function of Python`;
    throw reader.error(reader.lineOf(key), `${key}[${index}]`, `${problem}: received ${describeValue(entry)}`);
  });
}

function readApplications(whole: Fields, reader: Reader): ConfigApplication[] {
  const root = (whole["http_options"]?.["root_path"] ?? "") as string;
  const rootKey = "http_options.root_path";
  if (!isPath(root.replace(/\/+$/, "")) && !/^\/*$/.test(root))
    throw reader.error(reader.lineOf(rootKey), rootKey, `a path such as "/api" is needed: received ${describeValue(root)}`);
  // The access log of the whole configuration is that of the proxies: a line for each request would stand there twice.
  const { enable_access_log: _ofProxies, ...logging } = (whole["logging_config"] ?? {}) as Fields;
  const names = new Set<string>();
  const routes = new Set<string>();
  return (whole["applications"] as Fields[]).map((fields, index) => {
    const at = `applications[${index}]`;
    const { route_prefix: routePrefix = "/", import_path: importPath } = fields;
    const name = (fields["name"] ?? "default") as string;
    const refuse = (key: string, problem: string): ServeConfigError =>
      reader.error(reader.lineOf(`${at}.${key}`, at), `${at}.${key}`, problem);
    if (name === "" || name.length > 200 || /[/#]/.test(name) || name === "__proto__")
      throw refuse(
        "name",
        `text of 1 to 200 characters without "/" and "#", and other than "__proto__", is needed: received ${describeValue(name)}`,
      );
    if (routePrefix !== null && routePrefix !== "/" && !isPath(routePrefix as string))
      throw refuse(
        "route_prefix",
        `a path such as "/api" without a slash at its end, or null, is needed: received ${describeValue(routePrefix)}`,
      );
    const workingDir = fields["runtime_env"]?.["working_dir"] as string | null | undefined;
    if (/^\w+:\/\//.test(workingDir ?? "") && workingDir?.startsWith("local://") !== true)
      throw refuse(
        "runtime_env.working_dir",
        `a folder is needed, as archives are not fetched: a path, or local:///FOLDER: received ${describeValue(workingDir)}`,
      );
    if (names.has(name)) throw refuse("name", `another application has the name ${JSON.stringify(name)}`);
    if (routePrefix !== null && routes.has(routePrefix as string))
      throw refuse("route_prefix", `another application has the route ${JSON.stringify(routePrefix)}`);
    if (!/^.+:[\p{L}_$][\p{L}\p{N}_$]*$/u.test(importPath as string))
      throw refuse("import_path", `a module and its export are needed, such as "app.ts:app": received ${describeValue(importPath)}`);
    names.add(name);
    if (routePrefix !== null) routes.add(routePrefix as string);
    const deployments = new Map<string, Fields>();
    const places = new Map<string, string>();
    for (const [number, deployment] of ((fields["deployments"] ?? []) as Fields[]).entries()) {
      const deploymentName = deployment["name"] as string;
      if (deployments.has(deploymentName))
        throw refuse(`deployments[${number}].name`, `another deployment has the name ${JSON.stringify(deploymentName)}`);
      const { num_replicas: replicas, autoscaling_config: autoscaling } = deployment;
      if (typeof replicas === "number" && autoscaling !== undefined && autoscaling !== null)
        throw refuse(
          `deployments[${number}].num_replicas`,
          `autoscaling_config sets the number of replicas: received ${replicas}. Give "auto" or leave it out`,
        );
      deployments.set(deploymentName, deployment);
      const key = `${at}.deployments[${number}]`;
      places.set(deploymentName, `${reader.source}: line ${reader.lineOf(key)}: ${key}`);
    }
    return {
      name,
      routePrefix: routePrefix === null ? null : underRoot(root, routePrefix as string),
      importPath,
      fields: { name, ...fields },
      deployments,
      places,
      runtimeEnv: fields["runtime_env"] ?? {},
      args: fields["args"] ?? {},
      logging: { ...logging, ...(fields["logging_config"] as Fields | undefined) },
      tracing: whole["tracing_config"] ?? {},
      line: reader.lineOf(at),
    };
  });
}

/** Holds the nodes of a document against the table of keys, and remembers where each key stands. */
class Reader {
  /** The file's name. */
  readonly source: string;
  readonly #lines: LineCounter;
  readonly #document: Document;
  readonly #lineByKey = new Map<string, number>();

  constructor({ source, lines, document }: { source: string; lines: LineCounter; document: Document }) {
    this.source = source;
    this.#lines = lines;
    this.#document = document;
  }

  lineOf(...keys: string[]): number {
    for (const key of keys) {
      const line = this.#lineByKey.get(key);
      if (line !== undefined) return line;
    }
    return 1;
  }

  error(line: number, key: string, problem: string): ServeConfigError {
    return configError({ source: this.source, line, key }, problem);
  }

  /** @throws ServeConfigError for a text that is no YAML, or that would take long to read */
  requireReadable(): void {
    const [broken] = this.#document.errors;
    if (broken !== undefined)
      throw this.error(broken.linePos?.[0].line ?? 1, "", (broken.message.split("\n")[0] as string).replace(/ at line .*$/, ""));
    let aliases = 0;
    visit(this.#document, { Alias: () => void (aliases += 1), Map: (_key, map) => this.#requireDistinct(map) });
    // To look one up costs as much as the text is long.
    if (aliases > CONFIG_ALIASES_MAX) throw this.error(1, "", `at most ${CONFIG_ALIASES_MAX} aliases are taken: received ${aliases}`);
  }

  /** In YAML no key of a map may be there twice. */
  #requireDistinct(map: YAMLMap): void {
    const known = new Set<unknown>();
    for (const { key } of map.items) {
      if (!isScalar(key)) continue;
      if (known.has(key.value)) throw this.error(this.#lineAt(key, ""), "", `the key ${describeValue(key.value)} is there twice`);
      known.add(key.value);
    }
  }

  check(node: unknown, at: string, value: ValueKind): void {
    const line = this.#lineAt(node, at);
    if (at !== "") this.#lineByKey.set(at, line);
    const problem = this.#problemWith(this.#meant(node), at, value);
    if (problem !== undefined) throw this.error(line, at, problem);
  }

  /** Checks a value. @returns the problem of the value itself; a problem inside the value is thrown */
  #problemWith(node: unknown, at: string, value: ValueKind): string | undefined {
    switch (value.kind) {
      case "any":
        return undefined;
      case "object":
        if (!isMap(node)) return `keys are needed (${Object.keys(value.keys).join(", ")}): received ${shown(node)}`;
        this.#checkKeys(node, at, value.keys);
        return undefined;
      case "record":
        if (!isMap(node)) return `names and their values are needed: received ${shown(node)}`;
        for (const pair of this.#pairsOf(node)) this.check(pair.value, join(at, keyOf(pair.key)), value.of);
        return undefined;
      case "list":
        if (!isSeq(node)) return `a list is needed: received ${shown(node)}`;
        for (const [index, item] of node.items.entries()) this.check(item, `${at}[${index}]`, value.of);
        return undefined;
      case "texts":
        return isSeq(node) && node.items.map((item) => this.#meant(item)).every((item) => isScalar(item) && typeof item.value === "string")
          ? undefined
          : `a list of texts is needed: received ${shown(node)}`;
      case "either":
        return value.kinds.some((kind) => this.#problemWith(node, at, kind) === undefined)
          ? undefined
          : `${value.kinds.map(allowed).join(", or ")} is needed: received ${shown(node)}`;
      default:
        return isScalarOf(isScalar(node) ? node.value : node, value) ? undefined : `${allowed(value)} is needed: received ${shown(node)}`;
    }
  }

  #checkKeys(node: YAMLMap, at: string, keys: KeyTable): void {
    const given = new Set<string>();
    for (const pair of this.#pairsOf(node)) {
      const name = keyOf(pair.key);
      const key = Object.hasOwn(keys, name) ? keys[name] : undefined;
      const here = join(at, name);
      if (key === undefined)
        throw this.error(this.#lineAt(pair.key, at), here, `there is no such key: there are ${Object.keys(keys).join(", ")}`);
      given.add(name);
      // Ray writes null for options that are not given.
      const meant = this.#meant(pair.value);
      const isNull = meant === null || (isScalar(meant) && meant.value === null);
      if (!isNull || key.isNeeded === true) this.check(pair.value, here, key.value);
      else this.#lineByKey.set(here, this.#lineAt(pair.key, at));
    }
    for (const [name, { isNeeded }] of Object.entries(keys))
      if (isNeeded === true && !given.has(name)) throw this.error(this.#lineAt(node, at), join(at, name), "it is missing");
  }

  /** The node that an alias stands for. */
  #meant(node: unknown): unknown {
    return isAlias(node) ? node.resolve(this.#document) : node;
  }

  /** The pairs of a map, and those that it takes over from others: its own come first, and hold. */
  #pairsOf(map: YAMLMap): Pair[] {
    const pairs: Pair[] = [];
    const merged: Pair[] = [];
    for (const pair of map.items) {
      if (!isMergeKey(pair.key)) {
        pairs.push(pair);
        continue;
      }
      const source = this.#meant(pair.value);
      for (const one of isSeq(source) ? source.items : [source]) merged.push(...this.#pairsOf(this.#meant(one) as YAMLMap));
    }
    const known = new Set(pairs.map(({ key }) => keyOf(key)));
    for (const pair of merged) {
      const name = keyOf(pair.key);
      if (!known.has(name)) pairs.push(pair);
      known.add(name);
    }
    return pairs;
  }

  #lineAt(node: unknown, at: string): number {
    const offset = (node as Node | null)?.range?.[0];
    return offset === undefined ? this.lineOf(at) : this.#lines.linePos(offset).line;
  }
}

function configError({ source, line, key }: { source: string; line: number; key: string }, problem: string): ServeConfigError {
  const where = key === "" ? "" : `${key}: `;
  return new ServeConfigError(`Cannot read ${source}: line ${line}: ${where}${problem}`, {
    reason: problem,
    details: { source, line, key },
  });
}

function isScalarOf(scalar: unknown, value: ValueKind): boolean {
  if (value.kind === "text") return typeof scalar === "string";
  if (value.kind === "flag") return typeof scalar === "boolean";
  if (value.kind === "oneOf") return (value.values as readonly unknown[]).includes(scalar);
  if (value.kind !== "number" || typeof scalar !== "number" || !Number.isFinite(scalar)) return false;
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, isWhole } = value;
  return scalar >= min && scalar <= max && (isWhole !== true || Number.isInteger(scalar));
}

function allowed(value: ValueKind): string {
  if (value.kind === "text") return "a text";
  if (value.kind === "texts") return "a list of texts";
  if (value.kind === "flag") return "true or false";
  if (value.kind === "oneOf") return value.values.map((one) => JSON.stringify(one)).join(" or ");
  if (value.kind !== "number") return `a ${value.kind}`;
  const { min, max } = value;
  return `a ${value.isWhole === true ? "whole " : ""}number${min === undefined ? "" : ` from ${min}`}${max === undefined ? "" : ` to ${max}`}`;
}

/** `<<`, as it is read where merging is on. */
function isMergeKey(key: unknown): boolean {
  return isScalar(key) && typeof key.value === "symbol";
}

function keyOf(key: unknown): string {
  return String(isScalar(key) ? key.value : key);
}

function join(at: string, name: string): string {
  return at === "" ? name : `${at}.${name}`;
}

function shown(node: unknown): string {
  if (isScalar(node)) return describeValue(node.value);
  return isMap(node) ? "keys" : isSeq(node) ? "a list" : "nothing";
}
