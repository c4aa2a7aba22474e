import { expect, test } from "vitest";
import { redeployConfig } from "./redeploy.ts";

test("the folders of the code are known before anything is started: a mistake in the first attempt is mended there", async () => {
  const text = `applications:
- { name: a, route_prefix: /a, import_path: "app.ts:app", runtime_env: { working_dir: code } }
- { name: b, route_prefix: /b, import_path: "app.ts:app" }
- { name: c, route_prefix: /c, import_path: "app.ts:app", runtime_env: { working_dir: "local:///srv/code" } }
`;
  const folders: string[] = [];
  const enough = new Error("both are known");
  const foundFolder = (folder: string): void => {
    folders.push(folder);
    if (folders.length === 2) throw enough;
  };
  await expect(redeployConfig(text, { source: "serve.yaml", folder: "/home", foundFolder })).rejects.toBe(enough);
  expect(folders).toEqual(["/home/code", "/srv/code"]);
});
