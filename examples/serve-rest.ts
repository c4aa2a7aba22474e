/**
 * A REST service of two deployments: an API with Hono that anybody may call, and a store of notes behind it, which is one replica and keeps its notes in memory.
 *
 *     node examples/serve-rest.ts            starts it, asks it a few things, ends it
 *     node examples/serve-rest.ts --stay     stays on port 8000: curl http://127.0.0.1:8000/notes
 */
import { Hono } from "hono";
import * as serve from "shoal/serve";

interface Note {
  readonly id: number;
  readonly text: string;
}

class Notes {
  readonly #notes = new Map<number, Note>();
  #lastId = 0;

  add(text: string): Note {
    this.#lastId += 1;
    const note = { id: this.#lastId, text };
    this.#notes.set(note.id, note);
    return note;
  }

  find(id: number): Note | undefined {
    return this.#notes.get(id);
  }

  remove(id: number): boolean {
    return this.#notes.delete(id);
  }

  all(): Note[] {
    return [...this.#notes.values()];
  }
}

class Api {
  readonly #app = new Hono();

  constructor(notes: serve.Handle<typeof Notes>) {
    const app = this.#app;
    app.get("/notes", async (c) => c.json(await notes.all.remote()));
    app.post("/notes", async (c) => {
      const { text } = await c.req.json<{ text?: unknown }>();
      if (typeof text !== "string" || text === "") return c.json({ error: "a text is needed" }, 400);
      return c.json(await notes.add.remote(text), 201);
    });
    app.get("/notes/:id", async (c) => {
      const note = await notes.find.remote(Number(c.req.param("id")));
      return note === undefined ? c.json({ error: "no such note" }, 404) : c.json(note);
    });
    app.delete("/notes/:id", async (c) =>
      (await notes.remove.remote(Number(c.req.param("id")))) ? c.body(null, 204) : c.json({ error: "no such note" }, 404),
    );
  }

  fetch(request: Request): Response | Promise<Response> {
    return this.#app.fetch(request);
  }
}

const stays = process.argv.includes("--stay");
const app = serve
  .deployment(Api, { numReplicas: 2, maxOngoingRequests: 50 })
  .bind(serve.deployment(Notes, { maxOngoingRequests: 50 }).bind());
const { address } = await serve.start({ httpOptions: { port: stays ? 8000 : 0 } });
await serve.run(app, { name: "notes" });

if (stays) console.log(`${address}/notes`);
else {
  const ask = async (method: string, path: string, body?: object): Promise<void> => {
    const response = await fetch(`${address}${path}`, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    console.log(method, path, response.status, await response.text());
  };
  await ask("POST", "/notes", { text: "buy milk" });
  await ask("POST", "/notes", { text: "water the plants" });
  await ask("GET", "/notes");
  await ask("DELETE", "/notes/1");
  await ask("GET", "/notes/1");
  await ask("POST", "/notes", {});
  await serve.shutdown();
}
