import { expect, test } from "vitest";
import { deploymentOptionsOf } from "./config-options.ts";

const settings = { runtimeEnv: { env_vars: { A: "app", B: "app" }, working_dir: "/w" }, logging: {}, tracing: undefined };

test("the environment of an application lies under that of a deployment, in the configuration or in code", () => {
  const inCode = { numCpus: 2, runtimeEnv: { envVars: { A: "code" }, pythonPreload: ["json"] } };
  expect(deploymentOptionsOf({}, settings, inCode).actorOptions).toEqual({
    numCpus: 2,
    runtimeEnv: { envVars: { A: "code", B: "app" }, workingDir: "/w", pythonPreload: ["json"] },
  });
  const fields = { ray_actor_options: { num_cpus: 1, runtime_env: { env_vars: { B: "deployment" } } } };
  expect(deploymentOptionsOf(fields, settings, inCode).actorOptions).toEqual({
    numCpus: 1,
    runtimeEnv: { envVars: { A: "app", B: "deployment" }, workingDir: "/w" },
  });
});

test("without an environment of the application the options in code are not touched", () => {
  expect(deploymentOptionsOf({}, { ...settings, runtimeEnv: {} }, { numCpus: 2 })).toEqual({});
});

test("what replicas fall back on goes by the labels as they are", () => {
  const fields = { ray_actor_options: { label_selector: { my_zone: "a" }, fallback_strategy: [{ label_selector: { my_zone: "b" } }] } };
  expect(deploymentOptionsOf(fields, { ...settings, runtimeEnv: {} }, {}).actorOptions).toEqual({
    labelSelector: { my_zone: "a" },
    fallbackStrategy: [{ labelSelector: { my_zone: "b" } }],
  });
});

test("arguments of a router go to its class as the configuration has them", () => {
  class Router {}
  const fields = { request_router_config: { request_router_class: Router, request_router_kwargs: { max_age_s: 2 } } };
  expect(deploymentOptionsOf(fields, { ...settings, runtimeEnv: {} }, {})).toEqual({
    requestRouter: Router,
    requestRouterArgs: { max_age_s: 2 },
  });
  const none = { request_router_config: { request_router_class: Router, request_router_kwargs: null } };
  expect(deploymentOptionsOf(none, { ...settings, runtimeEnv: {} }, {}).requestRouterArgs).toBeUndefined();
});
