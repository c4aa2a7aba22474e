/**
 * The files of the dashboard's page, as a build has made them: the HTML, and a fixed list of assets.
 *
 * Read once, at the first request, and kept in memory, so a path of a request never becomes a path of a file.
 */
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { HttpError } from "./http-answers.ts";

interface PageFile {
  readonly body: Uint8Array;
  readonly type: string;
}

interface BuiltPage {
  readonly html: PageFile;
  /** By the name in the address. */
  readonly assets: ReadonlyMap<string, PageFile>;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

export class PageFiles {
  readonly #folder: string;
  #built: BuiltPage | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** @throws HttpError 503 in a checkout that was not built */
  html(): PageFile {
    return this.#read().html;
  }

  /** @throws HttpError 404 for a name that is not on the list, 503 */
  asset(name: string): PageFile {
    const file = this.#read().assets.get(name);
    if (file === undefined) throw new HttpError(404, "404: Not Found");
    return file;
  }

  /** @throws HttpError 503 */
  icon(): PageFile {
    const { assets } = this.#read();
    return Array.from(assets.values()).find(({ type }) => type === TYPES[".svg"]) as PageFile;
  }

  #read(): BuiltPage {
    if (this.#built !== undefined) return this.#built;
    const assets = join(this.#folder, "assets");
    try {
      this.#built = {
        html: readPageFile(this.#folder, "index.html"),
        assets: new Map(readdirSync(assets).map((name) => [name, readPageFile(assets, name)])),
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      throw new HttpError(503, "Cannot show the page: this checkout has no build; `npm run build` makes one");
    }
    return this.#built;
  }
}

function readPageFile(folder: string, name: string): PageFile {
  return { body: readFileSync(join(folder, name)), type: TYPES[extname(name)] ?? "application/octet-stream" };
}
