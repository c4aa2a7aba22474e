import * as serve from "shoal/serve";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

const folder = await mkdtemp(join(import.meta.dirname, "project-"));
const code = `
import * as serve from "shoal/serve";
class Greeter {
  #word: string;
  constructor(word: string) { this.#word = word; }
  fetch() { return this.#word; }
}
export const build = ({ word }: { word: string }) => serve.deployment(Greeter).bind(word);
`;
await writeFile(join(folder, "app.ts"), code);
const config = (extra: string) => `
http_options: { port: 0 }
applications:
- import_path: app.ts:build
  args: { word: hello }
${extra}`;

const { address } = await serve.deployConfig(config(""), { folder });
console.log(await (await fetch(`${address}`)).text());
await serve.deployConfig(config("  replicas: 2"), { folder, source: "serve.yaml" }).catch((error) => console.log(error.message.slice(0, 75)));
await serve.shutdown();
await rm(folder, { recursive: true });
