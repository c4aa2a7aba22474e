/** Refusals of configurations, with line and key; and the options that valid configurations become. */
import { expect, test } from "vitest";
import { resolveDeploymentOptions } from "../deployments/deployment-options.ts";
import { resolveHttpOptions } from "../proxy/options/http-options.ts";
import { deploymentOptionsOf, grpcOptionsOf, httpOptionsOf } from "./config-options.ts";
import { configSchema } from "./config-keys.ts";
import { readConfig } from "./read-config.ts";

const RAY = `# As Ray's documentation has it, with another import_path.
proxy_location: EveryNode
http_options:
  host: 0.0.0.0
  port: 8000
  request_timeout_s: 2.5
  keep_alive_timeout_s: 5
grpc_options:
  port: 9000
  grpc_servicer_functions: []
logging_config:
  encoding: JSON
  log_level: INFO
  logs_dir: null
  enable_access_log: true
applications:
- name: app1
  route_prefix: /
  import_path: text_ml.ts:app
  runtime_env:
    env_vars: {MODEL_NAME: small}
  deployments:
  - name: Translator
    num_replicas: 1
    ray_actor_options:
      num_cpus: 0.2
      num_gpus: 0.0
      runtime_env: {env_vars: {OTHER: "1"}}
    user_config:
      language: french
      some_option: null
    health_check_period_s: 1.5
  - name: Summarizer
    autoscaling_config: {min_replicas: 0, max_replicas: 4, upscale_delay_s: 3, metrics_interval_s: 10}
    max_ongoing_requests: 9
    placement_group_bundles: null
`;

test("a configuration of Ray's becomes options of ours", () => {
  const config = readConfig(RAY, "serve.yaml");
  expect(resolveHttpOptions(httpOptionsOf(config))).toMatchObject({
    host: "0.0.0.0",
    port: 8000,
    requestTimeoutMs: 2500,
    keepAliveTimeoutMs: 5000,
    accessLog: true,
  });
  const [application] = config.applications;
  expect(application).toMatchObject({ name: "app1", routePrefix: "/", importPath: "text_ml.ts:app", line: 17 });
  const options = ["Translator", "Summarizer"].map((name) =>
    deploymentOptionsOf(
      application?.deployments.get(name) ?? {},
      { runtimeEnv: application?.runtimeEnv ?? {}, logging: application?.logging ?? {}, tracing: undefined },
      {},
    ),
  );
  expect(options).toEqual([
    {
      numReplicas: 1,
      loggingConfig: { encoding: "JSON", level: "INFO" },
      userConfig: { language: "french", some_option: null },
      healthCheckPeriodMs: 1500,
      actorOptions: { numCpus: 0.2, numGpus: 0, runtimeEnv: { envVars: { MODEL_NAME: "small", OTHER: "1" } } },
    },
    {
      autoscalingConfig: { minReplicas: 0, maxReplicas: 4, upscaleDelayMs: 3000 },
      loggingConfig: { encoding: "JSON", level: "INFO" },
      maxOngoingRequests: 9,
      actorOptions: { runtimeEnv: { envVars: { MODEL_NAME: "small" } } },
    },
  ]);
  // Deployments accept all these options.
  for (const one of options) expect(() => resolveDeploymentOptions("Any", one)).not.toThrow();
});

test.each([
  ["applications: [", "line 1: Flow sequence in block collection must be sufficiently indented and end with a ]"],
  ["http_options: {}", "line 1: applications: it is missing"],
  [
    "applications:\n- import_path: a.ts:app\n  num_replica: 1",
    "line 3: applications[0].num_replica: there is no such key: there are name, route_prefix,",
  ],
  [
    "applications:\n- import_path: a.ts:app\n  deployments:\n  - name: A\n    num_replicas: many",
    'line 5: applications[0].deployments[0].num_replicas: a whole number from 1, or "auto" is needed: received "many"',
  ],
  [
    "applications:\n- import_path: a.ts:app\n  deployments:\n  - name: A\n    num_replicas: 0",
    'line 5: applications[0].deployments[0].num_replicas: a whole number from 1, or "auto" is needed: received 0',
  ],
  [
    "applications:\n- import_path: a.ts:app\n  deployments:\n  - name: A\n    autoscaling_config: {max_replicas: 3}\n    num_replicas: 2",
    'line 6: applications[0].deployments[0].num_replicas: autoscaling_config sets the number of replicas: received 2. Give "auto" or leave it out',
  ],
  [
    "applications:\n- {name: a, import_path: 'a.ts:app'}\n- {name: a, route_prefix: /b, import_path: 'b.ts:app'}",
    'line 3: applications[1].name: another application has the name "a"',
  ],
  [
    "applications:\n- {name: a, import_path: 'a.ts:app'}\n- {name: b, import_path: 'b.ts:app'}",
    'line 3: applications[1].route_prefix: another application has the route "/"',
  ],
  [
    "applications:\n- import_path: a.ts",
    'line 2: applications[0].import_path: a module and its export are needed, such as "app.ts:app": received "a.ts"',
  ],
  [
    "applications:\n- import_path: a.ts:app\n  deployments:\n  - name: A\n  - name: A",
    'line 5: applications[0].deployments[1].name: another deployment has the name "A"',
  ],
  ["applications:\n- import_path: a.ts:app\n  import_path: b.ts:app", 'line 3: the key "import_path" is there twice'],
  ["http_options: {port: -1}\napplications: []", "line 1: http_options.port: a whole number from 0 to 65535 is needed: received -1"],
  [
    "grpc_options:\n  grpc_servicer_functions: [a.b.add_ShopServicer_to_server]\napplications: []",
    'line 2: grpc_options.grpc_servicer_functions[0]: a .proto file and a service of it are needed, such as "shop.proto:shop.v1.Shop", in place',
  ],
  ["applications: *nothing", "Unresolved alias (the anchor must be set before the alias): nothing"],
  ["applications: &all [*all]", "Converting circular structure to JSON"],
  [`a: &a [x]\nb: [${"*a, ".repeat(1001)}]`, "line 1: at most 1000 aliases are taken: received 1001"],
  ["http_options: {port: 70000}\napplications: []", "line 1: http_options.port: a whole number from 0 to 65535 is needed: received 70000"],
  ["http_options:\n  root_path: api\napplications: []", 'line 2: http_options.root_path: a path such as "/api" is needed: received "api"'],
  [
    "applications:\n- import_path: a.ts:app\n  route_prefix: /a/",
    'line 3: applications[0].route_prefix: a path such as "/api" without a slash at its end, or null, is needed: received "/a/"',
  ],
  [
    "applications:\n- {import_path: 'a.ts:app', name: a/b}",
    'line 2: applications[0].name: text of 1 to 200 characters without "/" and "#"',
  ],
  [
    "applications:\n- {name: __proto__, import_path: 'a.ts:app'}",
    'line 2: applications[0].name: text of 1 to 200 characters without "/" and "#", and other than "__proto__", is needed: received "__proto__"',
  ],
  [
    "applications:\n- import_path: a.ts:app\n  runtime_env:\n    working_dir: https://example.com/app.zip",
    'line 4: applications[0].runtime_env.working_dir: a folder is needed, as archives are not fetched: a path, or local:///FOLDER: received "https://example.com/app.zip"',
  ],
  [
    "defaults: &d\n  num_replica: 2\napplications:\n- import_path: a.ts:app\n  deployments:\n  - {name: A, <<: *d}",
    "line 1: defaults: there is no such key",
  ],
])("%j is refused", (text, message) => {
  expect(() => readConfig(text, "serve.yaml")).toThrow(`Cannot read serve.yaml: ${message}`);
});

test("aliases and merged keys are read as PyYAML reads them: a map's own keys hold, and earlier sources before later ones", () => {
  const text = `applications:
- import_path: a.ts:app
  deployments:
  - &first
    name: A
    num_replicas: 2
    ray_actor_options: &actor {num_cpus: 0.5}
  - {<<: [{max_ongoing_requests: 7}, *first], name: B, num_replicas: 3}
  - {name: C, ray_actor_options: *actor}
`;
  const [application] = readConfig(text, "serve.yaml").applications;
  expect([...(application?.deployments.values() ?? [])]).toEqual([
    { name: "A", num_replicas: 2, ray_actor_options: { num_cpus: 0.5 } },
    { name: "B", num_replicas: 3, max_ongoing_requests: 7, ray_actor_options: { num_cpus: 0.5 } },
    { name: "C", ray_actor_options: { num_cpus: 0.5 } },
  ]);
  expect(application?.places.get("C")).toBe("serve.yaml: line 9: applications[0].deployments[2]");
  const wrong = text.replace("{max_ongoing_requests: 7}", "{max_ongoing_request: 7}");
  expect(() => readConfig(wrong, "serve.yaml")).toThrow("line 8: applications[0].deployments[1].max_ongoing_request: there is no such key");
});

test("a configuration that is too large to be kept is refused", () => {
  const text = `applications:\n- {import_path: 'a.ts:app', args: {text: ${"x".repeat(1_000_000)}}}`;
  expect(() => readConfig(text, "serve.yaml")).toThrow("Cannot read serve.yaml: a configuration has at most 1000000 bytes: received 10000");
});

test("the schema for editors is the one that docs publish", async () => {
  await expect(`${JSON.stringify(configSchema(), undefined, 2)}\n`).toMatchFileSnapshot("../../../docs/serve-config.schema.json");
});

test("keys that Ray writes out and that change nothing here are taken, and what they would switch on is refused", () => {
  const text = (scaler: boolean): string =>
    `applications:\n- import_path: app.ts:app\n  external_scaler_enabled: ${scaler}\n  logging_config: {additional_log_standard_attrs: [name]}\n`;
  expect(readConfig(text(false), "serve.yaml").applications[0]?.name).toBe("default");
  expect(() => readConfig(text(true), "serve.yaml")).toThrow(
    "serve.yaml: line 3: applications[0].external_scaler_enabled: false is needed: received true",
  );
});

test("Ray's keys for TLS are those of httpOptions.tls", () => {
  const http = "{ssl_keyfile: /k.pem, ssl_certfile: /c.pem, ssl_ca_certs: /a.pem, ssl_keyfile_password: p}";
  const options = httpOptionsOf(readConfig(`http_options: ${http}\napplications: []`, "serve.yaml"));
  expect(resolveHttpOptions(options)).toMatchObject({ tls: { key: "/k.pem", cert: "/c.pem", ca: "/a.pem", passphrase: "p" } });
  const half = httpOptionsOf(readConfig("http_options: {ssl_keyfile: /k.pem}\napplications: []", "serve.yaml"));
  expect(() => resolveHttpOptions(half)).toThrow(/cert is missing/);
});

test("services of gRPC are files beside the configuration; without any there is no gRPC", () => {
  const keys = "port: 0, request_timeout_s: 1.5, enable_reflection: false, ssl_keyfile: /k.pem, ssl_certfile: /c.pem";
  const text = (entries: string): string => `grpc_options: {${keys}, grpc_servicer_functions: [${entries}]}\napplications: []`;
  expect(grpcOptionsOf(readConfig(text("'protos/shop.proto:shop.v1.Shop'"), "serve.yaml"), "/project")).toEqual({
    port: 0,
    requestTimeoutMs: 1500,
    reflection: false,
    tls: { key: "/k.pem", cert: "/c.pem" },
    services: [{ protoFile: "/project/protos/shop.proto", service: "shop.v1.Shop" }],
  });
  expect(grpcOptionsOf(readConfig(text(""), "serve.yaml"), "/project")).toBeUndefined();
});

test("updates, gangs and back-pressure have Ray's keys", () => {
  const text = `applications:
- import_path: a.ts:app
  deployments:
  - name: A
    num_replicas: 4
    backpressure_config: {status_code: 429, retry_after_s: 2}
    gang_scheduling_config: {gang_size: 2, gang_placement_strategy: SPREAD, runtime_failure_policy: RESTART_GANG}
    rolling_update_percentage: 0.5
    max_surge_percent: 50
    ray_actor_options: {accelerator_type: H100}
`;
  const [application] = readConfig(text, "serve.yaml").applications;
  const options = deploymentOptionsOf(application?.deployments.get("A") ?? {}, { runtimeEnv: {}, logging: {}, tracing: undefined }, {});
  expect(options).toEqual({
    numReplicas: 4,
    backpressureConfig: { statusCode: 429, retryAfterMs: 2000 },
    gangConfig: { gangSize: 2, strategy: "SPREAD" },
    rollingUpdatePercentage: 0.5,
    maxSurgePercent: 0.5,
    actorOptions: { acceleratorType: "H100" },
  });
  expect(resolveDeploymentOptions("A", options).config.actorOptions).toEqual({ resources: { "accelerator_type:H100": 0.001 } });
});

test("reading takes time with the number of keys, in YAML and in JSON", () => {
  const keys = 40_000;
  const json = JSON.stringify({
    applications: [{ import_path: "a.ts:app", args: Object.fromEntries(Array.from({ length: keys }, (_, n) => [`k${n}`, n])) }],
  });
  const yaml = `applications:\n- import_path: a.ts:app\n  args:\n${Array.from({ length: keys }, (_, n) => `    k${n}: ${n}\n`).join("")}`;
  for (const text of [json, yaml]) {
    const { user } = process.cpuUsage();
    expect(Object.keys(readConfig(text, "serve").applications[0]?.args ?? {})).toHaveLength(keys);
    // With the square of the keys it was 20 s.
    expect((process.cpuUsage().user - user) / 1e6).toBeLessThan(6);
  }
});

test("a configuration in JSON is told by the line of its mistake, and is not deeper than any needs to be", () => {
  const at = (text: string): string => {
    try {
      readConfig(text, "serve.json");
    } catch (error) {
      return (error as Error).message;
    }
    return "";
  };
  expect(at('{\n "applications": [\n  {"import_path": "a.ts:app",\n   "import_path": "b.ts:app"}]}')).toMatch(
    'line 4: the key "import_path" is there twice',
  );
  expect(at('{\n "applications": [\n  {"import_path": "a\\"}:,[{\\\\",\n   "name": 5}]}')).toMatch(
    /line 4: applications\[0\].name: .*received 5/,
  );
  expect(at(`{"applications": ${"[".repeat(200_000)}${"]".repeat(200_000)}}`)).toMatch("line 1: at most 100 levels");
  expect(at('{"applications": [], "__proto__": {"http_options": {}}}')).toMatch("__proto__: there is no such key");
});
