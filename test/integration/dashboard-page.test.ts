/**
 * The dashboard's page as the server gives it: without data, within its bounds, and with nothing in it that a policy must allow. A real
 * browser opens it in test/systems/dashboard-browser.test.ts.
 */
import { createHash } from "node:crypto";
import http from "node:http";
import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { useShoal } from "./shoal-program.ts";

const FIRST_VIEW_BYTES_MAX = 120 * 1024;

const { startHead } = useShoal({}, { endsAfterAll: true });

let origin: string;

beforeAll(async () => {
  origin = (await startHead("--dashboard-port", "0")).dashboardUrl;
}, 60_000);

async function page(path = "/"): Promise<{ response: Response; text: string }> {
  const response = await fetch(`${origin}${path}`);
  return { response, text: await response.text() };
}

const assetsIn = (html: string): string[] => Array.from(html.matchAll(/(?:src|href)="([^"]+)"/g), ([, path]) => path as string);

test("the page is one for all its addresses, needs no token, and may load its own files alone", async () => {
  const { text } = await page();
  for (const path of ["/", "/ui/login", "/ui/nodes?state=ALIVE", "/ui/unknown"]) {
    const { response, text: other } = await page(path);
    expect([path, response.status, response.headers.get("content-type")]).toEqual([path, 200, "text/html; charset=utf-8"]);
    expect(other).toBe(text);
    const policy = (response.headers.get("content-security-policy") ?? "").split("; ");
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
      ]),
    );
    expect(policy.join(" ")).not.toMatch(/unsafe|https?:|\*|data:/);
    expect(response.headers.get("cache-control")).toBe("no-store");
  }
  expect(text).not.toMatch(/<script(?![^>]* src=)|<style|\sstyle=|\son\w+=/);
});

test("its files are on a fixed list, carry hashes, and are kept by browsers", async () => {
  const { text } = await page();
  const assets = assetsIn(text);
  expect(assets).toHaveLength(3);
  const bodies = new Map<string, string>();
  for (const path of assets) {
    expect(path).toMatch(/^\/assets\/\w+-[0-9A-Z]{8}\.(js|css|svg)$/);
    const { response, text: body } = await page(path);
    expect([path, response.status]).toEqual([path, 200]);
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(response.headers.get("content-type")).toMatch(/^(text\/(javascript|css); charset=utf-8|image\/svg\+xml)$/);
    if (body.length >= 1024) expect(response.headers.get("content-encoding")).toBe("gzip");
    expect(body).not.toMatch(/sourceMappingURL|\beval\(|new Function/);
    bodies.set(createHash("sha256").update(body).digest("hex"), path);
  }
  expect(bodies.size).toBe(3);
  for (const path of ["/assets/", "/assets/index.html", "/assets/main.js", "/assets/..%2findex.html", "/ui/", "/ui/nodes/x"])
    expect([path, [401, 404].includes((await page(path)).response.status)]).toEqual([path, true]);
  const icon = await page("/favicon.ico");
  expect([icon.response.status, icon.response.headers.get("content-type")]).toEqual([200, "image/svg+xml"]);
});

test("the first view is small", async () => {
  const { text } = await page();
  const bodies = [text, ...(await Promise.all(assetsIn(text).map(async (path) => (await page(path)).text)))];
  const bytes = bodies.reduce((sum, body) => sum + gzipSync(body, { level: 1 }).byteLength, 0);
  expect(bytes).toBeGreaterThan(1_000);
  expect(bytes).toBeLessThan(FIRST_VIEW_BYTES_MAX);
});

test("the page is no way around the token, nor a place for other methods and sites", async () => {
  expect((await fetch(`${origin}/api/v0/nodes`)).status).toBe(401);
  expect((await fetch(`${origin}/ui/nodes`, { method: "POST" })).status).toBe(401);
  expect((await fetch(`${origin}/ui/nodes`, { headers: { origin: "http://evil.example" } })).status).toBe(403);
  // A link on another site leads to the page; the site's scripts do not read it.
  expect(await crossSiteStatus({ "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" })).toBe(200);
  expect(await crossSiteStatus({ "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script" })).toBe(403);
});

/** `fetch` sets these headers itself. */
function crossSiteStatus(headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = http.get(`${origin}/ui/nodes`, { agent: false, headers: { "sec-fetch-site": "cross-site", ...headers } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on("error", reject);
  });
}
