/**
 * The HTTP server of a cluster under use and attack: tokens, sessions, hosts, origins, paths, bounds, and answers while parts of the cluster
 * die.
 */
import http from "node:http";
import net from "node:net";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { until } from "./session.ts";
import { useShoal } from "./shoal-program.ts";

const { environment, run, startHead, pidOf, runElsewhere } = useShoal({}, { endsAfterAll: true });

interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

let origin: URL;
let token: string;
let viewToken: string;
let joinToken: string;

/** Node's own client sends the path as it is given. */
function ask(path: string, { method = "GET", headers = {}, body }: Asked = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: origin.hostname, port: origin.port, method, path, headers, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(pieces).toString("utf8") }),
      );
    });
    request.on("error", reject);
    request.end(body);
  });
}

const bearer = (text = token): Record<string, string> => ({ authorization: `Bearer ${text}` });
const statusOf = async (path: string, asked?: Asked): Promise<number> => (await ask(path, asked)).status;

interface OpenApi {
  paths: Record<string, Record<string, { "x-role": string }>>;
}

async function routes(): Promise<{ method: string; path: string; role: string }[]> {
  const { paths } = JSON.parse((await ask("/api/openapi.json", { headers: bearer() })).body) as OpenApi;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { "x-role": role }]) => ({
      method: method.toUpperCase(),
      path: path.replace(/\{\w+\}/g, "none"),
      role,
    })),
  );
}

beforeAll(async () => {
  const head = await startHead("--dashboard-port", "0");
  origin = new URL(head.dashboardUrl);
  ({ joinToken } = head);
  token = (await run("get-auth-token")).stdout.trim();
  viewToken = (await run("token", "create", "--for", "http", "--role", "view")).stdout.trim();
}, 60_000);

describe("the token", () => {
  test("has 256 bits and lies in a file of its user alone", () => {
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    const file = join(environment["XDG_STATE_HOME"] as string, "shoal", "heads", "default", "http-token");
    expect(readFileSync(file, "utf8").trim()).toBe(token);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("is needed by every route that is not free, and a wrong one is refused", async () => {
    const all = await routes();
    expect(all.length).toBeGreaterThan(10);
    for (const { method, path, role } of all) {
      const where = `${method} ${path}`;
      if (role === "free") continue;
      expect([where, await statusOf(path, { method })]).toEqual([where, 401]);
      for (const headers of [
        bearer("0".repeat(64)),
        bearer(`${token}0`),
        { authorization: `Basic ${token}` },
        { authorization: token },
        { "x-ray-authorization": "Bearer wrong" },
        { cookie: `shoal-session=admin.${Date.now() + 60_000}.${"0".repeat(64)}` },
        { cookie: "shoal-session=%00" },
      ])
        expect([where, headers, await statusOf(path, { method, headers })]).toEqual([where, headers, 403]);
      // A token in the address is no token.
      expect([where, await statusOf(`${path}?token=${token}`, { method })]).toEqual([where, 401]);
    }
  });

  test("is asked for before a route is known", async () => {
    for (const path of ["/api/nothing", "/api/v0/nodes/none", "/etc/passwd"]) {
      expect([path, await statusOf(path)]).toEqual([path, 401]);
      expect([path, await statusOf(path, { headers: bearer() })]).toEqual([path, 404]);
    }
    expect(await statusOf("/api/version", { method: "DELETE" })).toBe(401);
    expect(await statusOf("/api/version", { method: "DELETE", headers: bearer() })).toBe(405);
    expect(await statusOf("/api/version", { method: "OPTIONS", headers: bearer() })).toBe(405);
  });

  test("of the role view reads, and acts on nothing", async () => {
    for (const { method, path, role } of await routes()) {
      const status = await statusOf(path, { method, headers: bearer(viewToken) });
      if (role === "admin") expect([path, status]).toEqual([path, 403]);
      // A log has to be named, and no node has the id of this test.
      else if (role === "view" && method === "GET")
        expect([path, status]).toEqual([path, /\/none(\/|$)/.test(path) ? 404 : /\/logs\/./.test(path) ? 400 : 200]);
    }
  });

  test("that has expired is refused", async () => {
    const short = (await run("token", "create", "--for", "http", "--role", "admin", "--expires-after", "1s")).stdout.trim();
    await until(async () => (await statusOf("/api/version", { headers: bearer(short) })) === 403, "the token to expire");
    expect((await run("token", "create", "--role", "view")).stderr).toContain("--role is for --for http");
  });

  test("may be sent as Ray's clients send it", async () => {
    expect(await statusOf("/api/version", { headers: { "x-ray-authorization": `Bearer ${token}` } })).toBe(200);
    expect(await statusOf("/api/version", { headers: bearer() })).toBe(200);
    expect((await ask("/api/authentication_mode")).body).toBe('{"authentication_mode":"token"}');
  });
});

describe("a session of a browser", () => {
  const cookieOf = ({ headers }: Answer): string => (headers["set-cookie"]?.[0] ?? "").split(";")[0] as string;

  test("begins with a token or a one-time link, and its cookie is for this site alone", async () => {
    const answer = await ask("/api/authenticate", { method: "POST", headers: bearer() });
    expect(answer.status).toBe(200);
    expect(answer.headers["set-cookie"]?.[0]).toMatch(
      /^shoal-session=admin\.\d+\.[0-9a-f]{64}; Path=\/; Max-Age=43\d{3}; HttpOnly; SameSite=Strict$/,
    );
    expect(await statusOf("/api/version", { headers: { cookie: cookieOf(answer) } })).toBe(200);
    expect(await statusOf("/api/authenticate", { method: "POST" })).toBe(401);
    expect(await statusOf("/api/authenticate", { method: "POST", headers: bearer("wrong") })).toBe(401);
    const link = (await run("dashboard")).stdout.trim();
    const [, code] = /^http:\/\/127\.0\.0\.1:\d+\/ui\/login#code=([\w-]{32})$/.exec(link) ?? [];
    const body = JSON.stringify({ code });
    expect(await statusOf("/api/authenticate", { method: "POST", body })).toBe(200);
    expect(await statusOf("/api/authenticate", { method: "POST", body })).toBe(403);
  });

  test("of the role view stays one, and a forged role is refused", async () => {
    const cookie = cookieOf(await ask("/api/authenticate", { method: "POST", headers: bearer(viewToken) }));
    expect(cookie).toContain("=view.");
    expect(await statusOf("/api/version", { headers: { cookie } })).toBe(200);
    expect(await statusOf("/api/version", { headers: { cookie: cookie.replace("=view.", "=admin.") } })).toBe(403);
    expect(await statusOf("/api/version", { headers: { cookie: cookie.replace(/\.\d+\./, ".9999999999999.") } })).toBe(403);
  });

  test("changes something only from its own origin, with JSON", async () => {
    const cookie = cookieOf(await ask("/api/authenticate", { method: "POST", headers: bearer() }));
    const own = { cookie, origin: origin.origin, "content-type": "application/json" };
    const post = (headers: Record<string, string>): Promise<number> =>
      statusOf("/api/shoal/login_codes", { method: "POST", headers, body: "{}" });
    expect(await post(own)).toBe(200);
    expect(await post({ cookie, "content-type": "application/json" })).toBe(403);
    expect(await post({ ...own, "content-type": "text/plain" })).toBe(403);
    expect(await post({ ...own, origin: "http://evil.example" })).toBe(403);
    expect(await post({ ...own, origin: "null" })).toBe(403);
    expect(await post({ ...bearer(), origin: "http://evil.example" })).toBe(403);
  });
});

describe("a request", () => {
  test("for another host, or of a page elsewhere, is refused, with the token, too", async () => {
    for (const host of ["evil.example", "evil.example:8265", "127.0.0.1.evil.example", "[::2]", "localhost@evil.example"])
      expect([host, await statusOf("/api/version", { headers: { ...bearer(), host } })]).toEqual([host, 403]);
    for (const host of ["localhost:1", `127.0.0.1:${origin.port}`, "LOCALHOST"])
      expect([host, await statusOf("/api/version", { headers: { ...bearer(), host } })]).toEqual([host, 200]);
    expect(await statusOf("/api/version", { headers: { ...bearer(), origin: "https://evil.example" } })).toBe(403);
    expect(await statusOf("/api/version", { headers: { ...bearer(), "sec-fetch-site": "cross-site" } })).toBe(403);
    expect(await statusOf("/api/healthz", { headers: { host: "evil.example" } })).toBe(403);
  });

  test("gets headers that keep a browser from running, framing or keeping the answer", async () => {
    for (const path of ["/api/version", "/api/healthz", "/api/nothing"]) {
      const { headers } = await ask(path, { headers: bearer() });
      expect(headers["content-security-policy"]).toContain("default-src 'none'");
      expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
      expect(headers).toMatchObject({ "x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "cache-control": "no-store" });
      expect(headers["access-control-allow-origin"]).toBeUndefined();
      expect(headers["x-powered-by"]).toBeUndefined();
    }
  });

  test("with a path in any other spelling is of no route", async () => {
    for (const path of [
      "/api//version",
      "/api/./version",
      "/api/x/../version",
      "/api/%2e/version",
      "/api%2fversion",
      "/api/version%00",
      "/api\\version",
      "//api/version",
      "/API/version",
      "/api/version/",
      "/assets/../../../../etc/passwd",
      "/assets/%2e%2e/%2e%2e/etc/passwd",
      "http://evil.example/api/version",
      "*",
    ])
      expect([path, await statusOf(path, { headers: bearer() })]).toEqual([path, 404]);
  });

  test("with a body or headers without end is cut off", async () => {
    expect(await statusOf("/api/authenticate", { method: "POST", body: "x".repeat(1_048_577) })).toBe(413);
    expect(
      await statusOf("/api/authenticate", { method: "POST", headers: { "transfer-encoding": "chunked" }, body: "x".repeat(3_000_000) }),
    ).toBe(413);
    expect(await statusOf("/api/version", { headers: { ...bearer(), "x-long": "x".repeat(20_000) } })).toBe(431);
    expect(await statusOf("/api/version", { headers: { authorization: `Bearer ${"x".repeat(10_000)}` } })).toBe(403);
    expect(await rawly("nonsense\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 /);
    expect(await rawly("GET /api/version HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n")).toMatch(/^HTTP\/1\.1 40[03] /);
    expect(await statusOf("/api/version", { headers: { ...bearer(), upgrade: "websocket", connection: "upgrade" } })).toBe(200);
  });

  test("that never ends does not keep others waiting", async () => {
    const slow = Array.from({ length: 300 }, () => {
      const socket = net.connect(Number(origin.port), origin.hostname);
      socket.on("error", () => {});
      socket.write("POST /api/authenticate HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n");
      return socket;
    });
    try {
      expect(await statusOf("/api/version", { headers: bearer() })).toBe(200);
    } finally {
      for (const socket of slow) socket.destroy();
    }
  });

  function rawly(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let got = "";
      const socket = net.connect(Number(origin.port), origin.hostname, () => socket.write(text));
      socket.on("data", (piece: Buffer) => (got += piece.toString("utf8")));
      socket.on("close", () => resolve(got));
      socket.on("error", reject);
    });
  }
});

describe("state", () => {
  interface List {
    result: boolean;
    data: { result: { total: number; num_filtered: number; result: Record<string, unknown>[]; next_page_token: string | null } };
  }

  test("is listed in Ray's shape, filtered at its source", async () => {
    const list = async (path: string): Promise<List["data"]["result"]> =>
      (JSON.parse((await ask(path, { headers: bearer() })).body) as List).data.result;
    const nodes = await list("/api/v0/nodes?detail=1&unknown=x");
    expect(nodes).toMatchObject({ total: 1, num_filtered: 1, next_page_token: null });
    expect(nodes.result[0]).toMatchObject({ state: "ALIVE", resources_total: { CPU: 1 } });
    expect(await list("/api/v0/nodes?filter_keys=state&filter_predicates=%3D&filter_values=DEAD")).toMatchObject({
      total: 1,
      num_filtered: 0,
      result: [],
    });
    expect((await list("/api/v0/actors")).total).toBe(0);
  });

  test("with a wrong question is a 400 that names the fault", async () => {
    for (const [query, part] of [
      ["limit=0", "the limit is a whole number"],
      ["limit=x", 'limit takes a number: received "x"'],
      ["filter_keys=state", "belong together"],
      ["filter_keys=nothing&filter_predicates=%3D&filter_values=1", "there is no column nothing"],
      ["page_token=x", "page token"],
      ["timeout=-1", "timeout takes seconds"],
    ] as const) {
      const { status, body } = await ask(`/api/v0/nodes?${query}`, { headers: bearer() });
      expect([query, status, body.includes(part) || body]).toEqual([query, 400, true]);
    }
  });

  test("of the whole cluster has used and total resources", async () => {
    const { body } = await ask("/api/cluster_status", { headers: bearer() });
    expect(JSON.parse(body)).toMatchObject({ result: true, data: { clusterStatus: { loadMetricsReport: { usage: { CPU: [0, 1] } } } } });
    expect(await ask("/api/v0/cluster_metadata", { headers: bearer() })).toMatchObject({ status: 200 });
  });
});

describe("logs", () => {
  interface Listed {
    data: { result: Record<string, string[]>; files: { filename: string; node_id: string; size_bytes: number }[] };
  }

  const json = async <T>(path: string): Promise<T> => JSON.parse((await ask(path, { headers: bearer(viewToken) })).body) as T;

  test("are listed and sent as Ray's clients ask for them, and read in steps", async () => {
    const { data } = await json<Listed>("/api/v0/logs?glob=supervisor*");
    expect(data.result).toEqual({ internal: ["supervisor.log"] });
    const [file] = data.files;
    expect(file).toMatchObject({ filename: "supervisor.log", node_id: expect.stringMatching(/^[0-9a-f]{32}$/) });
    const path = `filename=supervisor.log&node_id=${file?.node_id}&node_ip=None`;
    const { status, headers, body } = await ask(`/api/v0/logs/file?${path}&lines=-1`, { headers: bearer(viewToken) });
    expect([status, headers["content-type"]]).toEqual([200, "text/plain; charset=utf-8"]);
    expect(headers["content-disposition"]).toBe('attachment; filename="supervisor.log"');
    expect(body).toMatch(/^\S+Z Starts: process \d+\.\n/);
    const step = await json<{ text: string; next: string; is_end: boolean }>(`/api/shoal/logs/step?${path}&lines=1`);
    expect([body.endsWith(step.text), step.text.split("\n").length, step.is_end]).toEqual([true, 2, true]);
    expect(await json(`/api/shoal/logs/step?${path}&from=${step.next}`)).toMatchObject({
      text: "",
      is_end: true,
      is_gap: false,
      is_live: true,
    });
    const named = await ask(`/api/v0/logs/file?${path}&download_filename=a%22%0d%0aset-cookie:x`, { headers: bearer(viewToken) });
    expect([named.headers["content-disposition"], named.headers["set-cookie"]]).toEqual([
      'attachment; filename="a___set-cookie_x"',
      undefined,
    ]);
    expect((await ask(`/api/v0/logs/file?${path}`, { method: "HEAD", headers: bearer(viewToken) })).body).toBe("");
  });

  test("of another folder are out of reach in any spelling, and a wrong question names its fault", async () => {
    for (const [query, status, part] of [
      ["filename=../http-token", 404, "no log has the name"],
      ["filename=..%2f..%2fheads%2fdefault%2fhttp-token", 404, "no log has the name"],
      ["filename=%2fetc%2fpasswd", 404, "no log has the name"],
      ["filename=supervisor.log%00.txt", 404, "no log has the name"],
      ["filename=supervisor.log/../node.log", 404, "no log has the name"],
      ["filename=*", 404, "no log has the name"],
      ["filename=none.log", 404, "there is no log file none.log"],
      ["actor_id=..%2f..", 404, "there is no actor ../.."],
      ["worker_id=..%2fx", 404, "of the worker ../x"],
      ["pid=1%20or%201", 400, "pid is the id of a process"],
      ["pid=1", 404, "of a worker with the pid 1"],
      ["actor_id=a&task_id=b", 400, "name one of actorId, taskId, workerId, pid and filename: received actorId, taskId"],
      ["filename=supervisor.log&suffix=..%2fx", 400, "suffix is out or err"],
      ["filename=supervisor.log&lines=1e9999", 400, "lines is a whole number from 0"],
      ["filename=supervisor.log&timeout=-1", 400, "timeout takes seconds above 0"],
      ["filename=supervisor.log&node_id=none", 400, "there is no node none"],
      ["submission_id=x", 404, "there is no log file job-driver-x.log"],
      ["submission_id=..%2fx", 400, "submission_id is the id of a job"],
    ] as const) {
      const answer = await ask(`/api/v0/logs/file?${query}`, { headers: bearer() });
      expect([query, answer.status, answer.body]).toEqual([query, status, expect.stringContaining(part)]);
    }
    expect((await ask("/api/v0/logs?glob=..%2f*", { headers: bearer() })).status).toBe(400);
    for (const from of ["x", "1:", "%00:1", "a".repeat(100), "1.1:99999999999999999"])
      expect([from, await statusOf(`/api/shoal/logs/step?filename=supervisor.log&from=${from}`, { headers: bearer() })]).toEqual([
        from,
        400,
      ]);
  });

  test("hold no token", async () => {
    const { data } = await json<Listed>("/api/v0/logs");
    expect(data.files.length).toBeGreaterThan(1);
    for (const { filename, node_id } of data.files) {
      const { body } = await ask(`/api/v0/logs/file?filename=${filename}&node_id=${node_id}&lines=-1`, { headers: bearer() });
      for (const secret of [token, viewToken, joinToken]) expect([filename, body.includes(secret)]).toEqual([filename, false]);
    }
  });

  test("that are followed are sent as they grow, to a bounded number of readers, and cost nothing when these have gone", async () => {
    const readers = await Promise.all(
      Array.from({ length: 65 }, () =>
        fetch(`${origin.origin}/api/v0/logs/stream?filename=supervisor.log&interval=0.1`, { headers: bearer() }).then((response) => ({
          response,
          reader: response.body?.getReader(),
        })),
      ),
    );
    const statuses = readers.map(({ response }) => response.status).toSorted((a, b) => a - b);
    expect([statuses.filter((status) => status === 200).length, statuses.at(-1)]).toEqual([64, 429]);
    const { reader } = readers.find(({ response }) => response.ok) ?? {};
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain("Starts: process");
    for (const each of readers) await each.reader?.cancel();
    await until(async () => {
      const again = await fetch(`${origin.origin}/api/v0/logs/stream?filename=supervisor.log`, { headers: bearer() });
      await again.body?.cancel();
      return again.status === 200;
    }, "room for another reader");
  });
});

describe("a part that dies", () => {
  const healthy = async (): Promise<boolean> => (await statusOf("/api/gcs_healthz").catch(() => 0)) === 200;

  test("is told by the health, and the dashboard comes back at its port with its token and sessions", { timeout: 90_000 }, async () => {
    expect((await run("health-check")).exitCode).toBe(0);
    const session = await ask("/api/authenticate", { method: "POST", headers: bearer() });
    const cookie = (session.headers["set-cookie"]?.[0] ?? "").split(";")[0] as string;
    const before = pidOf("the dashboard");
    process.kill(before, "SIGKILL");
    await until(() => pidOf("the dashboard") !== before && pidOf("the dashboard") !== 0, "another dashboard");
    await until(healthy, "a healthy cluster");
    expect(await statusOf("/api/version", { headers: { cookie } })).toBe(200);
    expect(await statusOf("/api/version", { headers: bearer() })).toBe(200);
    const node = pidOf("the node");
    process.kill(node, "SIGKILL");
    await until(() => pidOf("the node") !== node && pidOf("the node") !== 0, "another node");
    await until(healthy, "a healthy cluster");
    const { body } = await ask("/api/v0/nodes", { headers: bearer() });
    expect(body).toContain("ALIVE");
  });

  test("and a machine without a head are named by the commands", async () => {
    const { exitCode, stderr } = await runElsewhere("get-auth-token");
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("no head runs on this machine")]);
    const status = JSON.parse((await run("status", "--json")).stdout) as { dashboardUrl: string };
    expect(status.dashboardUrl).toBe(origin.origin);
  });
});

test("options that do not go together, and a port that is taken, are errors that start nothing", { timeout: 60_000 }, async () => {
  const start = async (...words: string[]): Promise<[number | null, string]> => {
    const { exitCode, stderr } = await run("start", "--head", "--name", "other", "--port", "0", ...words);
    return [exitCode, stderr];
  };
  expect(await start("--no-dashboard", "--dashboard-port", "1")).toEqual([2, expect.stringContaining("exclude each other")]);
  expect(await start("--dashboard-host", "0.0.0.0")).toEqual([2, expect.stringContaining("--dashboard-cert")]);
  expect(await start("--dashboard-cert", "x.pem")).toEqual([2, expect.stringContaining("belong together")]);
  expect(await start("--dashboard-port", origin.port)).toEqual([1, expect.stringContaining("another program listens there")]);
  expect((await run("start", "--address", "127.0.0.1:1", "--token", "x", "--dashboard-port", "1")).stderr).toContain("is for --head");
});
