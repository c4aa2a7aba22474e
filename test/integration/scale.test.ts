/**
 * Messages and connections whose number must not grow with the cluster; the counts are the same on every machine. `npm run scale` has the
 * larger sizes, and the times.
 */
import { expect, test } from "vitest";
import { runFakeDaemons } from "../../scale/fake-daemons.ts";
import { Report, type Row } from "../../scale/report.ts";
import { headCurvePoint } from "../../scale/virtual-head.ts";

function figures(report: Report): Record<string, Row[string]> {
  return Object.fromEntries(report.parts.flatMap(({ rows }) => rows.map(({ figure, value }) => [String(figure), value as number])));
}

test("two hundred daemons that come at once are taken in at the first try, and twenty deaths are twenty", async () => {
  const report = new Report(() => {});
  await runFakeDaemons({ daemons: 200, deaths: 20, actors: 200, restMs: 0, questions: 20, nats: undefined }, report);
  const found = figures(report);
  // The head took no daemon for one of a crowd that keeps others out.
  expect(found["connections that it took"]).toBe(200);
  // Told one by one, they would be 20,000.
  expect(found["frames to the nodes"]).toBeLessThan(200 * 30);
  expect(found["false deaths"]).toBe(0);
});

test("what an event costs in messages does not depend on how many nodes there are", { timeout: 180_000 }, async () => {
  const [few, many] = [await headCurvePoint(10), await headCurvePoint(200)];
  for (const [name, { messages }] of Object.entries(many.events)) {
    // The end of a node and its actors is told to all, and to each once.
    const toAll = name === "node's end" ? 200 : 0;
    const most = (few.events[name]?.messages ?? 0) + toAll + 2;
    if (messages > most) expect.fail(`${name}: ${messages} messages, and at most ${most} were expected`);
  }
  // About 11 KB of live heap; a head that remembers, for each node, all others takes six times that.
  expect(many.megabytesPerNode).toBeLessThan(0.03);
});
