/**
 * Reads a cluster file, YAML or JSON, and checks it against `cluster-keys.ts`. Errors name the file, the line, the key and a near name. Pure.
 *
 * Everything is refused here, before anything is started: unknown keys, wrong types, contradictions between keys. A provider's own keys are
 * checked by the provider.
 */
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, visit, type YAMLMap } from "yaml";
import { describeValue } from "../../../runtime/base/texts/describe.ts";
import { ShoalError } from "../../../runtime/base/errors.ts";
import { nearNames } from "../../../runtime/base/texts/near-names.ts";
import { isLabelKey, isLabelValue } from "../../../runtime/scheduling/label-selector.ts";
import { ALIASES_MAX, FILE_BYTES_MAX } from "../limits.ts";
import type { ClusterConfig, NodeTypeConfig } from "./cluster-config.ts";
import { setupConfigOf, sshConfigOf } from "./machine-config.ts";
import { PROVIDER_ALIASES, type ProviderType, PROVIDER_KEYS } from "./provider-keys.ts";
import { CLUSTER, KEYS_ELSEWHERE, PROVIDERS_ELSEWHERE } from "./cluster-keys.ts";
import type { KeyTable, ValueKind } from "./key-table.ts";

/** A cluster file that cannot be taken. The message names the line and the key; nothing has been started. */
export class ClusterConfigError extends ShoalError {
  static override readonly code = "CLUSTER_CONFIG";
}

type Values = Readonly<Record<string, unknown>>;

/** Keys of the top level that only some providers take. */
const SECTIONS: readonly string[] = Object.values(PROVIDER_KEYS).flatMap(({ takes = [] }) => takes);
const IDLE_TIMEOUT_DEFAULT_MINUTES = 5;
const CLUSTER_NAME = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
const TYPE_NAME = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const RESOURCE_NAME = /^[^,\s][^,]{0,127}$/;

/**
 * Reads the text of a cluster file.
 *
 * @param source the file's name, for messages
 * @throws ClusterConfigError with line and key
 */
export function readClusterConfig(text: string, source: string): ClusterConfig {
  const file = new ClusterFile(text, source);
  file.check(CLUSTER);
  return configOf(file.values, file);
}

/** A parsed file that knows the line of each key. */
class ClusterFile {
  readonly values: Values;
  readonly #source: string;
  readonly #lines = new LineCounter();
  readonly #document: Document;
  readonly #lineOf = new Map<string, number>();

  /** @throws ClusterConfigError for text that is no YAML, too long, or no set of keys */
  constructor(text: string, source: string) {
    this.#source = source;
    const bytes = Buffer.byteLength(text);
    if (bytes > FILE_BYTES_MAX) throw this.error("", `a cluster file has at most ${FILE_BYTES_MAX} bytes: received ${bytes}`);
    this.#document = parseDocument(text, { lineCounter: this.#lines, merge: true });
    const [broken] = this.#document.errors;
    if (broken !== undefined) {
      const problem = (broken.message.split("\n")[0] as string).replace(/ at line .*$/, "");
      throw this.#errorAt(broken.linePos?.[0].line ?? 1, "", problem);
    }
    let aliases = 0;
    visit(this.#document, { Alias: () => void (aliases += 1) });
    if (aliases > ALIASES_MAX) throw this.error("", `a cluster file has at most ${ALIASES_MAX} aliases: received ${aliases}`);
    if (!isMap(this.#document.contents)) throw this.error("", `keys are needed: received ${shown(this.#document.contents)}`);
    this.values = this.#plain();
  }

  /** @throws ClusterConfigError for unknown keys, missing ones, and values of other kinds */
  check(keys: KeyTable): void {
    this.#checkKeys(this.#document.contents as YAMLMap, "", { keys, isOpen: false });
  }

  /** Checks the keys of a part that `check` left open. @throws ClusterConfigError as `check` does */
  checkAt(path: readonly string[], keys: KeyTable): void {
    const node = this.#document.getIn(path, true);
    if (node !== undefined) this.#checkValue(node, path.join("."), { kind: "object", keys });
  }

  /** Makes an error at a key, by its path. */
  error(path: string, problem: string): ClusterConfigError {
    let known = path;
    while (known !== "" && !this.#lineOf.has(known)) known = known.slice(0, Math.max(0, known.lastIndexOf(".")));
    return this.#errorAt(this.#lineOf.get(known) ?? 1, path, problem);
  }

  #plain(): Values {
    try {
      return this.#document.toJS({ maxAliasCount: ALIASES_MAX }) as Values;
    } catch (error) {
      throw this.error("", (error as Error).message);
    }
  }

  #errorAt(line: number, path: string, problem: string): ClusterConfigError {
    const where = path === "" ? "" : `${path}: `;
    const details = { source: this.#source, line, key: path };
    return new ClusterConfigError(`Cannot read ${this.#source}: line ${line}: ${where}${problem}.`, {
      reason: problem,
      details,
    });
  }

  #checkKeys(map: YAMLMap, at: string, { keys, isOpen }: { keys: KeyTable; isOpen: boolean }): void {
    const given = new Set<string>();
    for (const { key, value } of map.items) {
      const name = String(isScalar(key) ? key.value : key);
      const path = at === "" ? name : `${at}.${name}`;
      this.#lineOf.set(path, this.#line(key) ?? 1);
      given.add(name);
      const known = Object.hasOwn(keys, name) ? keys[name] : undefined;
      if (known !== undefined) this.#checkValue(value, path, known.value);
      else if (!isOpen && !isMergeKey(key)) throw this.error(path, unknownKey(name, at, Object.keys(keys)));
    }
    if (map.items.some(({ key }) => isMergeKey(key))) for (const name of Object.keys(valueAt(this.values, at))) given.add(name);
    for (const [name, { isNeeded }] of Object.entries(keys))
      if (isNeeded === true && !given.has(name)) {
        if (at === "") this.#lineOf.set("", 1);
        throw this.error(at === "" ? name : `${at}.${name}`, "the key is missing");
      }
  }

  #checkValue(given: unknown, path: string, value: ValueKind): void {
    const node = isAlias(given) ? given.resolve(this.#document) : given;
    const refuse = (wanted: string): ClusterConfigError => this.error(path, `${wanted} is needed: received ${shown(node)}`);
    const scalar = isScalar(node) ? node.value : undefined;
    switch (value.kind) {
      case "any":
        return;
      case "text":
        if (typeof scalar !== "string" || scalar === "") throw refuse("a text");
        return;
      case "texts":
        if (!isSeq(node) || !node.items.every((item) => isScalar(item) && typeof item.value === "string")) throw refuse("a list of texts");
        return;
      case "number":
        if (typeof scalar !== "number" || !isInRange(scalar, value)) throw refuse(rangeText(value));
        return;
      case "choice":
        if (typeof scalar !== "string" || !value.values.includes(scalar)) throw this.error(path, choiceProblem(path, scalar, value.values));
        return;
      case "map": {
        if (!isMap(node)) throw refuse("a set of names with values");
        if (node.items.length > (value.entriesMax ?? Number.POSITIVE_INFINITY))
          throw this.error(path, `at most ${value.entriesMax} entries are taken: received ${node.items.length}`);
        for (const { key, value: entry } of node.items) {
          const name = String(isScalar(key) ? key.value : key);
          this.#lineOf.set(`${path}.${name}`, this.#line(key) ?? 1);
          this.#checkValue(entry, `${path}.${name}`, value.of);
        }
        return;
      }
      case "object":
        if (!isMap(node)) throw refuse("a set of keys");
        this.#checkKeys(node, path, { keys: value.keys, isOpen: value.isOpen === true });
    }
  }

  #line(node: unknown): number | undefined {
    const offset = (node as Node | null)?.range?.[0];
    return offset === undefined ? undefined : this.#lines.linePos(offset).line;
  }
}

function configOf(values: Values, file: ClusterFile): ClusterConfig {
  const clusterName = values["cluster_name"] as string;
  if (!CLUSTER_NAME.test(clusterName))
    throw file.error("cluster_name", `1 to 63 letters, digits and hyphens are needed: received ${describeValue(clusterName)}`);
  const types = values["available_node_types"] as Readonly<Record<string, Values>>;
  const headNodeType = values["head_node_type"] as string;
  const headType = Object.hasOwn(types, headNodeType) ? types[headNodeType] : undefined;
  if (headType === undefined) {
    const near = nearNames(headNodeType, Object.keys(types));
    throw file.error("head_node_type", `available_node_types has no ${describeValue(headNodeType)}${didYouMean(near)}`);
  }
  for (const key of ["min_workers", "max_workers"])
    if (headType[key] !== undefined && headType[key] !== 0)
      throw file.error(
        `available_node_types.${headNodeType}.${key}`,
        `the head's own type is not launched: received ${describeValue(headType[key])}. Give 0, or a type of its own for workers`,
      );
  const workerTypes = Object.entries(types).filter(([name]) => name !== headNodeType);
  const maxWorkers = values["max_workers"] as number | undefined;
  const idleTimeoutMs = 60_000 * ((values["idle_timeout_minutes"] as number | undefined) ?? IDLE_TIMEOUT_DEFAULT_MINUTES);
  const nodeTypes = workerTypes.map(([name, type]) => nodeTypeOf(name, type, { file, idleTimeoutMs, maxWorkers }));
  const floors = nodeTypes.reduce((sum, { minWorkers }) => sum + minWorkers, 0);
  if (maxWorkers !== undefined && floors > maxWorkers)
    throw file.error("max_workers", `min_workers of all types are ${floors}, and max_workers of the cluster is ${maxWorkers}`);
  readResources(headType["resources"] as Record<string, number>, file, `available_node_types.${headNodeType}`);
  const provider = providerOf(values["provider"] as Values, file);
  const refuse = (path: string, problem: string): ClusterConfigError => file.error(path, problem);
  for (const name of SECTIONS)
    if (values[name] !== undefined && PROVIDER_KEYS[provider.type].takes?.includes(name) !== true)
      throw file.error(name, `${provider.type} takes no such key: it belongs to ${takers(name)}`);
  checkNodeConfigs(
    provider.type,
    workerTypes.map(([name]) => name),
    file,
  );
  return {
    clusterName,
    maxWorkers: maxWorkers ?? nodeTypes.reduce((sum, type) => sum + type.maxWorkers, 0),
    upscalingSpeed: (values["upscaling_speed"] as number | undefined) ?? 1,
    provider,
    ...(provider.type === "ssh" && sshConfigOf(values, provider.config, refuse)),
    setup: PROVIDER_KEYS[provider.type].takes === undefined ? undefined : setupConfigOf(values, refuse),
    headNodeType,
    head: { resources: headType["resources"] as Record<string, number>, labels: (headType["labels"] ?? {}) as Record<string, string> },
    nodeTypes,
  };
}

/** Names the providers that take a key of the top level. */
function takers(name: string): string {
  const types = Object.entries(PROVIDER_KEYS).flatMap(([type, { takes }]) => (takes?.includes(name) === true ? [type] : []));
  return types.length === 1 ? `the provider ${types[0]}` : `the providers ${types.join(" and ")}`;
}

interface TypeContext {
  readonly file: ClusterFile;
  readonly idleTimeoutMs: number;
  readonly maxWorkers: number | undefined;
}

function nodeTypeOf(name: string, type: Values, { file, idleTimeoutMs, maxWorkers: ofCluster }: TypeContext): NodeTypeConfig {
  const at = `available_node_types.${name}`;
  if (!TYPE_NAME.test(name)) throw file.error(at, `a type's name has 1 to 63 letters, digits, dots, hyphens and underscores`);
  const minWorkers = (type["min_workers"] as number | undefined) ?? 0;
  const maxWorkers = (type["max_workers"] as number | undefined) ?? ofCluster;
  if (maxWorkers === undefined)
    throw file.error(at, "max_workers is missing, here and for the cluster: it bounds what the autoscaler may launch");
  if (minWorkers > maxWorkers)
    throw file.error(
      `${at}.min_workers`,
      `it is greater than max_workers of the ${type["max_workers"] === undefined ? "cluster" : "type"}, ${maxWorkers}: received ${minWorkers}`,
    );
  const labels = (type["labels"] ?? {}) as Record<string, string>;
  for (const [key, value] of Object.entries(labels)) {
    if (key.startsWith("shoal.io/")) throw file.error(`${at}.labels`, `labels that begin with shoal.io/ are Shoal's own: received ${key}`);
    if (!isLabelKey(key) || !isLabelValue(value))
      throw file.error(`${at}.labels`, `letters, digits, dots, hyphens, underscores and slashes are needed: received ${key}: ${value}`);
  }
  const idleSeconds = type["idle_timeout_s"] as number | undefined;
  return {
    name,
    resources: readResources(type["resources"] as Record<string, number>, file, at),
    labels,
    minWorkers,
    maxWorkers,
    idleTimeoutMs: idleSeconds === undefined ? idleTimeoutMs : 1000 * idleSeconds,
    priority: (type["priority"] as number | undefined) ?? 0,
    nodeConfig: type["node_config"] ?? {},
  };
}

function readResources(resources: Readonly<Record<string, number>>, file: ClusterFile, at: string): Readonly<Record<string, number>> {
  for (const [name, amount] of Object.entries(resources)) {
    const path = `${at}.resources.${name}`;
    if (!RESOURCE_NAME.test(name))
      throw file.error(`${at}.resources`, `a resource's name has 1 to 128 characters and no comma: received ${describeValue(name)}`);
    const [exact] = ["CPU", "GPU", "memory"].filter((known) => known !== name && known.toLowerCase() === name.toLowerCase());
    if (exact !== undefined) throw file.error(path, `the resource is called ${exact}`);
    if (amount > 2 ** 53 / 10_000) throw file.error(path, `at most ${2 ** 53 / 10_000} is taken: received ${amount}`);
  }
  return resources;
}

/** Checks the keys of the provider's own table. */
function providerOf(values: Values, file: ClusterFile): ClusterConfig["provider"] {
  const { type: given, ...config } = values;
  const type = PROVIDER_ALIASES[given as string] ?? (given as ProviderType);
  const { keys, isOpen = false } = PROVIDER_KEYS[type];
  for (const [name, { isNeeded }] of Object.entries(keys))
    if (isNeeded === true && config[name] === undefined) throw file.error(`provider.${name}`, `the key is missing: ${type} needs it`);
  const unknown = Object.keys(config).find((name) => !Object.hasOwn(keys, name));
  if (unknown !== undefined && !isOpen)
    throw file.error(`provider.${unknown}`, `${type} has no such key: received ${describeValue(config[unknown])}`);
  return { type, config };
}

/** Checks each type's `node_config` where the provider's table has its keys. */
function checkNodeConfigs(type: ProviderType, typeNames: readonly string[], file: ClusterFile): void {
  const { nodeConfig } = PROVIDER_KEYS[type];
  if (nodeConfig !== undefined) for (const name of typeNames) file.checkAt(["available_node_types", name, "node_config"], nodeConfig);
}

function unknownKey(name: string, at: string, known: readonly string[]): string {
  const elsewhere = at === "" && Object.hasOwn(KEYS_ELSEWHERE, name) ? KEYS_ELSEWHERE[name] : undefined;
  if (elsewhere !== undefined) return elsewhere;
  const near = nearNames(name, known);
  if (near.length > 0) return `there is no such key${didYouMean(near)}`;
  return known.length > 0 ? `there is no such key: there are ${known.join(", ")}` : "there is no such key: no keys are taken here";
}

function choiceProblem(path: string, given: unknown, values: readonly string[]): string {
  const received = `received ${describeValue(given)}`;
  if (path === "provider.type" && typeof given === "string" && Object.hasOwn(PROVIDERS_ELSEWHERE, given))
    return `${received}: ${PROVIDERS_ELSEWHERE[given]}`;
  return `${values.join(" or ")} is needed: ${received}${typeof given === "string" ? didYouMean(nearNames(given, values)) : ""}`;
}

function didYouMean(near: readonly string[]): string {
  return near.length === 0 ? "" : `: the nearest is ${near.join(" or ")}`;
}

function isInRange(number: number, { min, max, isWhole }: Extract<ValueKind, { kind: "number" }>): boolean {
  return (
    Number.isFinite(number) &&
    number >= min &&
    number <= (max ?? Number.POSITIVE_INFINITY) &&
    (isWhole !== true || Number.isInteger(number))
  );
}

function rangeText({ min, max, isWhole }: Extract<ValueKind, { kind: "number" }>): string {
  return `a ${isWhole === true ? "whole " : ""}number from ${min}${max === undefined ? "" : ` to ${max}`}`;
}

/** `<<`, as it is read where merging is on. */
function isMergeKey(key: unknown): boolean {
  return isScalar(key) && (typeof key.value === "symbol" || key.value === "<<");
}

function valueAt(values: Values, path: string): Values {
  let found: unknown = values;
  for (const name of path === "" ? [] : path.split(".")) found = (found as Values | undefined)?.[name];
  return typeof found === "object" && found !== null ? (found as Values) : {};
}

function shown(node: unknown): string {
  if (isScalar(node)) return describeValue(node.value);
  return isMap(node) ? "a set of keys" : isSeq(node) ? "a list" : "nothing";
}
