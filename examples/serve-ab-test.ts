/**
 * An A/B test of two models behind one path. A tenth of the users gets the new model, and each user always gets the same one. The program
 * sends requests of 1,000 users and prints the share of each model.
 *
 *     node examples/serve-ab-test.ts
 *
 * With `--stay` the application goes on at port 8000, where `curl -H 'x-user: ada' http://127.0.0.1:8000` reaches it. `userConfig` holds the
 * share. `serve.run` and `shoal serve deploy` change the share while requests go on.
 */
import { createHash } from "node:crypto";
import * as serve from "shoal/serve";

class Ranking {
  readonly #version: string;

  constructor(version: string) {
    this.#version = version;
  }

  rank(user: string): { version: string; items: string[] } {
    const items = ["bread", "cheese", "olives"];
    return { version: this.#version, items: this.#version === "new" ? items.toReversed() : [...items, user] };
  }
}

interface Split {
  readonly newPercent: number;
}

class Experiment {
  readonly #current: serve.Handle<typeof Ranking>;
  readonly #next: serve.Handle<typeof Ranking>;
  readonly #answers = new serve.metrics.Counter("shop_ranking_answers", { tagKeys: ["version"] });
  #newPercent = 0;

  constructor(current: serve.Handle<typeof Ranking>, next: serve.Handle<typeof Ranking>) {
    this.#current = current;
    this.#next = next;
  }

  reconfigure({ newPercent }: Split): void {
    this.#newPercent = newPercent;
  }

  async fetch(request: Request): Promise<Response> {
    const user = request.headers.get("x-user");
    if (user === null) return Response.json({ error: "the header x-user is needed" }, { status: 400 });
    // A user's place is the same in every replica and at every time.
    const place = createHash("sha256").update(user).digest().readUInt32BE(0) % 100;
    const model = place < this.#newPercent ? this.#next : this.#current;
    const answer = await model.rank.remote(user);
    this.#answers.inc(1, { version: answer.version });
    return Response.json(answer, { headers: { "x-version": answer.version } });
  }
}

const stays = process.argv.includes("--stay");
const Model = serve.deployment(Ranking, { maxOngoingRequests: 100 });
const Split = serve.deployment(Experiment, { maxOngoingRequests: 100, userConfig: { newPercent: 10 } });
const app = Split.bind(Model.options({ name: "Current" }).bind("current"), Model.options({ name: "New" }).bind("new"));
const { address } = await serve.start({ httpOptions: { port: stays ? 8000 : 0 } });
await serve.run(app, { name: "ranking" });

if (stays) console.log(address);
else {
  const versionOf = async (user: number): Promise<string> =>
    (await fetch(`${address}`, { headers: { "x-user": `user-${user}` } })).headers.get("x-version") ?? "";
  const users = Array.from({ length: 1000 }, (_, index) => index);
  const first = await Promise.all(users.map(versionOf));
  const again = await Promise.all(users.map(versionOf));
  console.log(`${first.filter((version) => version === "new").length} of ${users.length} users got the new model`);
  console.log(`${first.filter((version, index) => version !== again[index]).length} got another one the second time`);
  await serve.shutdown();
}
