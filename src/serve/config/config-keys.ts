/**
 * The keys of a configuration: one table, from which the check of a file and the JSON Schema for editors are made. Data alone.
 *
 * Keys and their units are Ray's, in snake case and seconds; `config-options.ts` turns them into ours.
 * A key that is not here is refused. So a file of Ray's needs another `import_path` and `runtime_env` and nothing else.
 */

/** Kinds of values that keys can have. */
export type ValueKind =
  | { readonly kind: "text" | "flag" | "any" | "texts" }
  | { readonly kind: "number"; readonly min?: number; readonly max?: number; readonly isWhole?: boolean }
  | { readonly kind: "oneOf"; readonly values: readonly (string | number | boolean | null)[] }
  /** Any of several. */
  | { readonly kind: "either"; readonly kinds: readonly ValueKind[] }
  /** Names of the user's, all with values of one kind. */
  | { readonly kind: "record"; readonly of: ValueKind }
  | { readonly kind: "list"; readonly of: ValueKind }
  | { readonly kind: "object"; readonly keys: KeyTable };

interface ConfigKey {
  readonly value: ValueKind;
  readonly describe: string;
  readonly isNeeded?: boolean;
}
export type KeyTable = Readonly<Record<string, ConfigKey>>;

const TEXT: ValueKind = { kind: "text" };
const TEXTS: ValueKind = { kind: "texts" };
const FLAG: ValueKind = { kind: "flag" };
const ANY: ValueKind = { kind: "any" };
const SECONDS: ValueKind = { kind: "number", min: 0 };
const AMOUNT: ValueKind = { kind: "number", min: 0 };
const whole = (min: number, max?: number): ValueKind => ({ kind: "number", min, isWhole: true, ...(max !== undefined && { max }) });
const PORT: ValueKind = whole(0, 65_535);
const TEXT_OR_NULL: ValueKind = { kind: "either", kinds: [TEXT, { kind: "oneOf", values: [null] }] };
const STRATEGY: ValueKind = { kind: "oneOf", values: ["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"] };

export const RUNTIME_ENV: KeyTable = {
  working_dir: { value: TEXT, describe: "A folder, from the configuration's own, or local:///FOLDER; import_path is relative to it." },
  env_vars: { value: { kind: "record", of: TEXT }, describe: "Environment variables of the replicas." },
  excludes: { value: TEXTS, describe: "What of working_dir stays behind: patterns as in a .gitignore file." },
  node_modules: {
    value: { kind: "either", kinds: [TEXT, TEXTS] },
    describe: "npm packages, or a folder with package.json and its lockfile.",
  },
  python: { value: { kind: "either", kinds: [TEXT, TEXTS] }, describe: "A Python, or packages that pip installs." },
  pip: { value: TEXTS, describe: "Packages that pip installs; the same as python." },
};

const LOGGING: KeyTable = {
  enable_access_log: { value: FLAG, describe: "A line of JSON for each request." },
  encoding: { value: { kind: "oneOf", values: ["TEXT", "JSON"] }, describe: "JSON: replicas print objects." },
  log_level: {
    value: { kind: "either", kinds: [{ kind: "oneOf", values: ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] }, whole(0)] },
    describe: "What is below is not printed by replicas; a number is Python's.",
  },
  logs_dir: { value: TEXT_OR_NULL, describe: "Of Ray; lines go where all output of workers goes." },
  additional_log_standard_attrs: { value: TEXTS, describe: "Of Ray, for Python's loggers; without effect here." },
};

const AUTOSCALING: KeyTable = {
  min_replicas: { value: whole(0), describe: "0: it sleeps without requests." },
  max_replicas: { value: whole(1), describe: "The most replicas." },
  initial_replicas: { value: whole(0), describe: "Replicas at first." },
  target_ongoing_requests: { value: AMOUNT, describe: "Requests for each replica that are aimed at." },
  upscale_delay_s: { value: SECONDS, describe: "How long the load must ask for more." },
  downscale_delay_s: { value: SECONDS, describe: "How long the load must ask for fewer." },
  downscale_to_zero_delay_s: { value: SECONDS, describe: "The same for the last replica." },
  look_back_period_s: { value: SECONDS, describe: "Over how long the load is looked at." },
  metrics_interval_s: { value: SECONDS, describe: "Of Ray; without effect here." },
  upscaling_factor: { value: AMOUNT, describe: "How boldly the number grows." },
  downscaling_factor: { value: AMOUNT, describe: "How boldly the number shrinks." },
  policy: {
    value: {
      kind: "object",
      keys: {
        policy_function: { value: TEXT, describe: '"policies.ts:queue": a module, then its export.', isNeeded: true },
        policy_kwargs: { value: { kind: "record", of: ANY }, describe: "The second argument of the function." },
      },
    },
    describe: "A function that says how many replicas the load asks for.",
  },
  aggregation_function: { value: { kind: "oneOf", values: ["mean", "max", "min"] }, describe: "What counts as the load of a time." },
};

const ACTOR: KeyTable = {
  num_cpus: { value: AMOUNT, describe: "CPUs of each replica." },
  num_gpus: { value: AMOUNT, describe: "GPUs of each replica." },
  memory: { value: whole(0), describe: "Bytes of memory of each replica." },
  resources: { value: { kind: "record", of: AMOUNT }, describe: "Other resources of each replica." },
  accelerator_type: { value: TEXT, describe: 'A kind of GPU, such as "H100".' },
  label_selector: { value: { kind: "record", of: TEXT }, describe: "Labels of the nodes where replicas may run." },
  fallback_strategy: {
    value: {
      kind: "list",
      of: {
        kind: "object",
        keys: { label_selector: { value: { kind: "record", of: TEXT }, describe: "Labels of other nodes.", isNeeded: true } },
      },
    },
    describe: "Where replicas run, in this order, when no node has the labels of label_selector.",
  },
  runtime_env: { value: { kind: "object", keys: RUNTIME_ENV }, describe: "The environment of the replicas, over the application's." },
};

const DEPLOYMENT: KeyTable = {
  name: { value: TEXT, describe: "Which deployment of the application this changes.", isNeeded: true },
  num_replicas: { value: { kind: "either", kinds: [whole(1), { kind: "oneOf", values: ["auto"] }] }, describe: 'A number, or "auto".' },
  max_ongoing_requests: { value: whole(1), describe: "Requests that one replica has at a time." },
  max_queued_requests: { value: whole(-1), describe: "Requests that may wait; -1 is without limit. Default: 2,048 at each proxy." },
  user_config: { value: ANY, describe: "Given to reconfigure of each replica." },
  autoscaling_config: { value: { kind: "object", keys: AUTOSCALING }, describe: "How the number of replicas follows the load." },
  reconfigure_timeout_s: { value: SECONDS, describe: "How long reconfigure may take. Not of Ray, which sets no limit." },
  graceful_shutdown_timeout_s: { value: SECONDS, describe: "How long requests may take when their replica is to end." },
  graceful_shutdown_wait_loop_s: { value: SECONDS, describe: "Of Ray; not needed here." },
  health_check_period_s: { value: SECONDS, describe: "How often replicas are asked for their health." },
  health_check_timeout_s: { value: SECONDS, describe: "How long they may take to answer." },
  ray_actor_options: { value: { kind: "object", keys: ACTOR }, describe: "Resources and environment of each replica." },
  placement_group_bundles: {
    value: { kind: "list", of: { kind: "record", of: AMOUNT } },
    describe: "Resources reserved for each replica.",
  },
  placement_group_bundle_label_selector: {
    value: { kind: "list", of: { kind: "record", of: TEXT } },
    describe: "Labels of the nodes of each bundle; one of them is for all.",
  },
  placement_group_strategy: { value: STRATEGY, describe: "How its bundles are placed." },
  max_replicas_per_node: { value: whole(1), describe: "The most replicas on one node." },
  logging_config: { value: { kind: "object", keys: LOGGING }, describe: "How its replicas print, over the application's." },
  backpressure_config: {
    value: {
      kind: "object",
      keys: {
        status_code: { value: { kind: "oneOf", values: [503, 429] }, describe: "Default: 503." },
        retry_after_s: { value: SECONDS, describe: "Header Retry-After. Default: none." },
      },
    },
    describe: "What clients of HTTP are told of a request too many.",
  },
  request_router_config: {
    value: {
      kind: "object",
      keys: {
        request_router_class: { value: TEXT, describe: '"routers.ts:Mine": a module, then its class.', isNeeded: true },
        request_router_kwargs: { value: { kind: "record", of: ANY }, describe: "The argument of the constructor of the class." },
      },
    },
    describe: "A class that chooses the replica of each request.",
  },
  gang_scheduling_config: {
    value: {
      kind: "object",
      keys: {
        gang_size: { value: whole(1), describe: "Replicas of a gang; num_replicas is a multiple of it.", isNeeded: true },
        gang_placement_strategy: { value: STRATEGY, describe: "How a gang is placed. Default: PACK." },
        runtime_failure_policy: { value: { kind: "oneOf", values: ["RESTART_GANG"] }, describe: "A gang restarts as a whole." },
      },
    },
    describe: "Replicas that start, restart and end together.",
  },
  rolling_update_percentage: { value: AMOUNT, describe: "Part of the replicas that an update may have away at a time, up to 1." },
  max_surge_percent: { value: whole(0), describe: "Replicas that an update may have in excess, in hundredths, up to 100." },
};

const TRACING: KeyTable = {
  enabled: { value: FLAG, describe: "false: no tracing. Default: true where there is an exporter_import_path." },
  exporter_import_path: {
    value: TEXT,
    describe: '"tracing.ts:setup": a module of TypeScript or JavaScript, then a function that registers an SDK or returns span processors.',
  },
  sampling_ratio: { value: { kind: "number", min: 0, max: 1 }, describe: "Part of the traces that is kept, up to 1. Default: 1." },
};

const APPLICATION: KeyTable = {
  name: { value: TEXT, describe: 'Default: "default".' },
  route_prefix: { value: TEXT_OR_NULL, describe: 'Requests of this path and below; null: none. Default: "/".' },
  import_path: {
    value: TEXT,
    describe: '"app.ts:app": a module, then its export: an application, or a function that builds one of args.',
    isNeeded: true,
  },
  runtime_env: { value: { kind: "object", keys: RUNTIME_ENV }, describe: "The environment of all its replicas." },
  args: { value: { kind: "record", of: ANY }, describe: "What the builder gets." },
  deployments: { value: { kind: "list", of: { kind: "object", keys: DEPLOYMENT } }, describe: "What is changed of its deployments." },
  logging_config: { value: { kind: "object", keys: LOGGING }, describe: "How its replicas print." },
  external_scaler_enabled: { value: { kind: "oneOf", values: [false] }, describe: "Of Ray; here false alone: policies scale." },
};

const TLS: KeyTable = {
  ssl_keyfile: { value: TEXT, describe: "Path of the private key, on each node with a proxy: it speaks TLS." },
  ssl_certfile: { value: TEXT, describe: "Path of the certificate that belongs to ssl_keyfile." },
  ssl_keyfile_password: { value: TEXT, describe: "The password of ssl_keyfile." },
  ssl_ca_certs: { value: TEXT, describe: "Path of the authorities of which clients must show a certificate." },
};
const OPTIONAL_SECONDS: ConfigKey = {
  value: { kind: "either", kinds: [SECONDS, { kind: "oneOf", values: [null] }] },
  describe: "How long an answer may take until its head has come; null is without limit. Default: 600.",
};

const HTTP: KeyTable = {
  host: { value: TEXT, describe: "Default: 127.0.0.1, which nobody else reaches." },
  port: { value: PORT, describe: "Default: 8000; 0 is any that is free." },
  root_path: { value: TEXT, describe: "Comes before each route_prefix." },
  request_timeout_s: OPTIONAL_SECONDS,
  keep_alive_timeout_s: { value: SECONDS, describe: "How long a connection without a request is kept." },
  ...TLS,
};

const GRPC: KeyTable = {
  host: { value: TEXT, describe: "Default: 127.0.0.1, which nobody else reaches." },
  port: { value: PORT, describe: "Default: 9000; 0 is any that is free." },
  grpc_servicer_functions: {
    value: TEXTS,
    describe:
      'Services: "shop.proto:shop.v1.Shop" is a .proto file, from the configuration\'s folder, and a service of it. Without any there is no gRPC.',
  },
  request_timeout_s: OPTIONAL_SECONDS,
  enable_reflection: { value: FLAG, describe: "Tools may ask for the services and their messages. Default: true." },
  ...TLS,
};

export const CONFIG: KeyTable = {
  proxy_location: {
    value: { kind: "oneOf", values: ["EveryNode", "HeadOnly", "Disabled"] },
    describe: "Where proxies run. Default: EveryNode.",
  },
  http_options: { value: { kind: "object", keys: HTTP }, describe: "Where proxies listen, and their limits." },
  grpc_options: { value: { kind: "object", keys: GRPC }, describe: "Where proxies speak gRPC, and which services." },
  logging_config: { value: { kind: "object", keys: LOGGING }, describe: "How replicas print, and whether proxies log requests." },
  tracing_config: { value: { kind: "object", keys: TRACING }, describe: "OpenTelemetry in all replicas." },
  target_capacity: {
    value: { kind: "number", min: 0, max: 100 },
    describe: "The part of all replicas that runs, in percent. Default: all.",
  },
  applications: {
    value: { kind: "list", of: { kind: "object", keys: APPLICATION } },
    describe: "All that is to run: others are ended.",
    isNeeded: true,
  },
};

/** Returns the JSON Schema of a configuration, for editors. */
export function configSchema(): object {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Shoal Serve configuration",
    ...schemaOf({ kind: "object", keys: CONFIG }),
  };
}

function schemaOf(value: ValueKind): object {
  switch (value.kind) {
    case "text":
      return { type: "string" };
    case "texts":
      return { type: "array", items: { type: "string" } };
    case "flag":
      return { type: "boolean" };
    case "any":
      return {};
    case "number":
      return {
        type: value.isWhole === true ? "integer" : "number",
        ...(value.min !== undefined && { minimum: value.min }),
        ...(value.max !== undefined && { maximum: value.max }),
      };
    case "oneOf":
      return { enum: value.values };
    case "either":
      return { anyOf: value.kinds.map(schemaOf) };
    case "record":
      return { type: "object", additionalProperties: schemaOf(value.of) };
    case "list":
      return { type: "array", items: schemaOf(value.of) };
    case "object":
      return {
        type: "object",
        additionalProperties: false,
        required: Object.keys(value.keys).filter((name) => value.keys[name]?.isNeeded === true),
        properties: Object.fromEntries(
          Object.entries(value.keys).map(([name, key]) => [name, { description: key.describe, ...schemaOf(key.value) }]),
        ),
      };
  }
}
