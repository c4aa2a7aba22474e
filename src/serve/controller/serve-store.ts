/**
 * Serve's records in the cluster's store, from which the next controller restores its state: the options of `serve.start`, and each application with its
 * deployments. `code-store.ts` keeps their code. Only the controller writes and reads these records, except those of the last configuration, which deploying
 * programs write, too.
 */
import { SERVE_NAMESPACE } from "../names.ts";
import { kvDelete, kvGet, kvList, kvPut } from "../../core/index.ts";
import type { ApplicationRecord } from "./serve-state.ts";
import { type CapacityRecord, nextCapacity } from "./capacity/target-capacity.ts";
import type { ApplicationTarget, TargetCapacity } from "../deployments/deployment-config.ts";
import { RECORD_BYTES_MAX } from "../limits.ts";

const IN_SERVE = { namespace: SERVE_NAMESPACE };
const APP = "app/";
const OPTIONS = "options";
const API = "api";
const CONFIG = "config";
const UNBUILT = "unbuilt";
const CAPACITY = "capacity";

export async function saveOptions(options: object): Promise<void> {
  await kvPut(OPTIONS, options, IN_SERVE);
}

export async function loadOptions<T>(): Promise<T | undefined> {
  return await kvGet<T>(OPTIONS, IN_SERVE);
}

/** The options of the REST API, and where it listens. */
export async function saveApi(api: object): Promise<void> {
  await kvPut(API, api, IN_SERVE);
}

export async function loadApi<T>(): Promise<T | undefined> {
  return await kvGet<T>(API, IN_SERVE);
}

/** The text of the configuration that was deployed last, for `shoal serve config`. */
export async function saveConfigText(text: string): Promise<void> {
  await kvPut(CONFIG, text, IN_SERVE);
}

export async function loadConfigText(): Promise<string | undefined> {
  return await kvGet<string>(CONFIG, IN_SERVE);
}

/** The configuration whose applications are not all built. */
export async function saveUnbuilt(text: string): Promise<void> {
  await kvPut(UNBUILT, text, IN_SERVE);
}

export async function loadUnbuilt(): Promise<string | undefined> {
  return await kvGet<string>(UNBUILT, IN_SERVE);
}

export async function forgetUnbuilt(): Promise<void> {
  await kvDelete(UNBUILT, IN_SERVE);
}

export async function forgetConfigText(): Promise<void> {
  await Promise.all([kvDelete(CONFIG, IN_SERVE), kvDelete(CAPACITY, IN_SERVE)]);
}

/** Takes over the target capacity of a configuration. Call it before any of its applications is deployed. @returns the capacity to deploy them with */
export async function takeCapacity({
  applications,
  targetCapacity: percent,
}: {
  readonly applications: readonly { readonly name: string }[];
  readonly targetCapacity: number | undefined;
}): Promise<TargetCapacity | undefined> {
  const apps = applications.map(({ name }) => name);
  const capacity = nextCapacity(await kvGet<CapacityRecord>(CAPACITY, IN_SERVE), { apps, percent });
  await kvPut(CAPACITY, { apps, capacity }, IN_SERVE);
  return capacity;
}

/** The part of the replicas that the last configuration wants. */
export async function loadCapacity(): Promise<TargetCapacity | undefined> {
  return (await kvGet<CapacityRecord>(CAPACITY, IN_SERVE))?.capacity;
}

export async function saveApplication(record: ApplicationRecord): Promise<void> {
  await kvPut(APP + record.target.name, record, IN_SERVE);
}

/**
 * Checks that an application's record can be kept, before the application is taken over: otherwise it would be lost with its controller.
 *
 * @param running - the record of the application that it replaces @throws RangeError for a record that is too large
 */
export function requireKeepable(target: ApplicationTarget, running: ApplicationRecord | undefined): void {
  // The record has the version before as well, to go back to, and deployments that only that one has.
  const formers = new Map(running?.deployments.map((record) => [record.target.name, record.target]));
  const deployments = target.deployments.map((one) => ({ target: one, former: formers.get(one.name) }));
  const names = new Set(target.deployments.map(({ name }) => name));
  const leaving = running?.deployments.filter((record) => !names.has(record.target.name));
  const record = { target, deployments, leaving };
  const bytes = Buffer.byteLength(JSON.stringify(record));
  if (bytes > RECORD_BYTES_MAX)
    throw new RangeError(
      `Cannot run application ${target.name}: the options of its deployments, now and before, take at most ${RECORD_BYTES_MAX} bytes: received ${bytes}. ` +
        "Give what is large, such as a part of userConfig, to the constructor as an argument of bind(): code is kept apart",
    );
}

export async function forgetApplication(name: string): Promise<void> {
  await kvDelete(APP + name, IN_SERVE);
}

export async function loadApplications(): Promise<ApplicationRecord[]> {
  const keys = await kvList(APP, IN_SERVE);
  const records = await Promise.all(keys.map((key) => kvGet<ApplicationRecord>(key, IN_SERVE)));
  return records.filter((record) => record !== undefined);
}

export async function forgetEverything(): Promise<void> {
  const keys = await kvList("", IN_SERVE);
  await Promise.all(keys.map((key) => kvDelete(key, IN_SERVE)));
}
