/**
 * The shapes of what processes ask of the head and tell it, and of the things that those headers name.
 *
 * Two borders check them: the daemon of the process, before it passes a message on (`node/process-messages.ts`), and the head (`control/nodes/node-speech.ts`),
 * which ends the link of a node that sends anything else. Both use this table, so no program can have its node's link ended. PROTOCOL.md tells the same to
 * readers of other languages.
 */
import { isEnvironmentKey } from "../base/ids.ts";
import * as shape from "./header-shape.ts";
import { MESSAGE } from "./messages.ts";

const { anything, count, definition, either, exactly, fields, flag, id, list, nothing, number, optional, payload, record, text } = shape;

const environmentKey = shape.leaf("the key of a runtime environment", isEnvironmentKey);

const texts = list(text);
const folderPlace = fields({ node: id, hostname: text });
const environmentDescription = fields({
  envVars: optional(record(text)),
  workingDir: optional(text),
  excludes: optional(texts),
  nodeModules: optional(either(text, texts)),
  python: optional(either(text, texts)),
  pythonPreload: optional(texts),
  execPath: optional(text),
  execArgv: optional(texts),
  language: optional(exactly("python")),
  setupTimeoutMs: optional(number),
  job: optional(
    fields({ node: id, hostname: text, jobId: text, namespace: text, directory: text, directoryIdentity: optional(text), execArgv: texts }),
  ),
  workingDirAt: optional(folderPlace),
  nodeModulesAt: optional(folderPlace),
});

export const environment: shape.Shape = fields({ key: environmentKey, description: environmentDescription });

export const group: shape.Shape = fields({
  id: text,
  name: optional(text),
  namespace: text,
  strategy: exactly("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"),
  bundles: list(record(number)),
  labels: list(record(text)),
  isDetached: flag,
  owner: optional(text),
});

/** @param leaseSpec text that parts of the head parse whenever they look for a place: one that cannot be parsed would stop them all */
export function actorOptions(leaseSpec: shape.Shape): shape.Shape {
  return fields({
    name: optional(text),
    namespace: text,
    getIfExists: flag,
    resources: record(number),
    shape: leaseSpec,
    group: optional(text),
    maxRestarts: number,
    isDetached: flag,
    interface: fields({ className: text, methods: record(record(anything)), groups: record(number) }),
  });
}

/** From an actor that ends by itself. */
export const actorLeaving: shape.Shape = fields({ ending: exactly("terminated", "exited"), reason: text });

const longWait = fields({
  number,
  task: text,
  name: text,
  actor: optional(text),
  for: list(fields({ task: text, name: text, actor: optional(text) })),
});
const named = fields({ name: text, namespace: text });
const keyed = fields({ namespace: text, key: text });
const joinTokens = either(
  fields({ do: exactly("new"), ageMaxMs: optional(number) }),
  fields({ do: exactly("revoke"), id: text }),
  fields({ do: exactly("list") }),
);

/** By the number of the message. */
export function headQuestions(leaseSpec: shape.Shape): Readonly<Record<number, shape.Shape>> {
  return {
    [MESSAGE.DEFINE]: definition,
    [MESSAGE.FETCH_DEFINITION]: text,
    [MESSAGE.ENVIRONMENT]: environment,
    [MESSAGE.ENVIRONMENT_FETCH]: environmentKey,
    [MESSAGE.ACTOR_CREATE]: fields({
      actorId: id,
      definition: text,
      args: payload,
      deps: list(payload),
      options: actorOptions(leaseSpec),
    }),
    [MESSAGE.ACTOR_LOOKUP]: named,
    [MESSAGE.ACTOR_WATCH]: text,
    [MESSAGE.ACTOR_KILL]: fields({ actorId: text, restart: flag }),
    [MESSAGE.ACTOR_LIST]: fields({ includeDead: flag, namespace: optional(text) }),
    [MESSAGE.ACTOR_STARTED]: fields({ actorId: text, incarnation: count }),
    [MESSAGE.ACTOR_START_FAILED]: fields({ actorId: text, incarnation: count, error: payload }),
    [MESSAGE.WAITS]: fields({ began: list(longWait), ended: list(number) }),
    [MESSAGE.NODES]: nothing,
    [MESSAGE.RESOURCES]: fields({ store: anything }),
    [MESSAGE.CLUSTER_STATUS]: nothing,
    [MESSAGE.JOIN_TOKENS]: joinTokens,
    [MESSAGE.NODE_DRAIN]: fields({ node: text, deadlineMs: optional(number) }),
    [MESSAGE.WHY_PLACE]: fields({ shape: optional(leaseSpec), actor: optional(text) }),
    [MESSAGE.GROUPS]: nothing,
    [MESSAGE.GROUP_CREATE]: group,
    [MESSAGE.GROUP_REMOVE]: text,
    [MESSAGE.GROUP_WATCH]: text,
    [MESSAGE.GROUP_LOOKUP]: named,
    [MESSAGE.KV_PUT]: fields({ namespace: text, key: text, form: exactly("bytes", "json"), overwrite: flag }),
    [MESSAGE.KV_GET]: fields({ namespace: text, key: text, withValue: flag }),
    [MESSAGE.KV_DELETE]: keyed,
    [MESSAGE.KV_LIST]: fields({ namespace: text, prefix: text }),
  };
}

/** How many bytes of the body its header speaks for; undefined where that is not told. */
export function bodyBytesOf(type: number, header: unknown): number | undefined {
  switch (type) {
    case MESSAGE.ACTOR_CREATE: {
      const { args, deps } = header as { args: Lengths; deps: Lengths[] };
      return [args, ...deps].reduce((sum, part) => sum + lengthOf(part), 0);
    }
    case MESSAGE.ACTOR_START_FAILED:
      return lengthOf((header as { error: Lengths }).error);
    case MESSAGE.REF_VALUE: {
      const value = (header as [unknown, unknown, Lengths?])[2];
      return value === undefined || value === null ? 0 : lengthOf(value);
    }
    default:
      return undefined;
  }
}

interface Lengths {
  inBand: number;
  buffers: number[];
}

function lengthOf({ inBand, buffers }: Lengths): number {
  return buffers.reduce((sum, size) => sum + size, inBand);
}
