/**
 * The provider types of a cluster file, one line each: the keys that `provider` takes, and those of a type's `node_config`.
 *
 * The check of a file, the JSON Schema and `openProvider` are made from this table. Data alone: the providers' code is loaded on use.
 */
import type { KeyTable } from "./key-table.ts";

interface ProviderKeys {
  readonly keys: KeyTable;
  /** Whether further keys are the provider's own. */
  readonly isOpen?: boolean;
  /** Keys of a type's `node_config`; undefined: the provider checks them. */
  readonly nodeConfig?: KeyTable;
}

const EXTERNAL: KeyTable = {
  module: { value: { kind: "text" }, describe: "a module whose default export makes the provider.", isNeeded: true },
};

export type ProviderType = "local-processes" | "external";

export const PROVIDER_KEYS: Readonly<Record<ProviderType, ProviderKeys>> = {
  "local-processes": { keys: {}, nodeConfig: {} },
  external: { keys: EXTERNAL, isOpen: true },
};
