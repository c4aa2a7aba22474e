/**
 * Routes by which a browser gets a session, and the free ones that say whether the server lives.
 *
 * The token never travels in an address: a page posts it in the header, or posts the one-time code of a link's fragment. No answer here
 * shows anything of the cluster.
 */
import { MESSAGE } from "../../../runtime/wire/messages.ts";
import type { ClusterQuestions } from "../../connection/cluster-link.ts";
import type { LoginCodes } from "../access/login-codes.ts";
import { sessionCookie, type SessionKey } from "../access/session-cookie.ts";
import { HttpError, type HttpAnswer, jsonAnswer, textAnswer } from "../http-answers.ts";
import { HEALTH_SHARED_MS, HEALTHY_WITHIN_MS } from "../limits.ts";
import type { Route } from "../router.ts";

export function accessRoutes({ codes, session, link }: { codes: LoginCodes; session: SessionKey; link: ClusterQuestions }): Route[] {
  const healthy = sharedHealth(link);
  const health = (path: string, summary: string, handle: Route["handle"]): Route => ({
    method: "GET",
    path,
    role: "free",
    summary,
    answers: "`success`, or status 503 with the cause.",
    handle,
  });
  return [
    {
      method: "GET",
      path: "/api/authentication_mode",
      role: "free",
      summary: "Says how callers prove who they are.",
      answers: "`authentication_mode`, which is always `token`.",
      handle: () => jsonAnswer({ authentication_mode: "token" }),
    },
    {
      method: "POST",
      path: "/api/authenticate",
      role: "free",
      summary: "Gives a browser a session, for a token in the header or a one-time code in the body.",
      body: "`code` of a one-time link; nothing where the header has a token.",
      answers: "`role` of the session. The cookie `shoal-session` is set for 12 hours.",
      handle: async (request) => {
        const role = request.role ?? (await roleOfCode(await request.text(), codes));
        return { ...jsonAnswer({ status: "authenticated", role }), headers: { "set-cookie": sessionCookie(role, session) } };
      },
    },
    {
      method: "POST",
      path: "/api/shoal/login_codes",
      role: "admin",
      summary: "Makes the code of a one-time link to the dashboard.",
      answers: "`code`, good for one use within 60 s behind `/ui/login#code=`.",
      handle: () => jsonAnswer({ code: codes.create() }),
    },
    health("/api/healthz", "Says that the server answers.", () => textAnswer("success")),
    health("/-/healthz", "Says that the server answers.", () => textAnswer("success")),
    health("/api/gcs_healthz", "Says whether the head answers.", healthy),
    health("/api/local_raylet_healthz", "Says whether the node of the head's machine and the head answer.", healthy),
  ];
}

/** @throws HttpError 401 for no code, 403 for a wrong one */
async function roleOfCode(body: string, codes: LoginCodes): Promise<"admin"> {
  let code: unknown;
  try {
    code = (JSON.parse(body) as { code?: unknown } | null)?.code;
  } catch {
    // A body that is not JSON has no code.
  }
  if (typeof code !== "string")
    throw new HttpError(401, "Cannot log in: send `authorization: Bearer TOKEN`, or the code of a one-time link as JSON", {
      "www-authenticate": "Bearer",
    });
  if (!codes.use(code))
    throw new HttpError(403, "Cannot log in: the link was used, or is older than a minute: `shoal dashboard` prints another");
  return "admin";
}

/** Strangers may ask for the health, and must not keep the head busy by it. */
function sharedHealth(link: ClusterQuestions): () => Promise<HttpAnswer> {
  let asked: { readonly atMs: number; readonly answer: Promise<HttpAnswer> } | undefined;
  return () => {
    if (asked === undefined || performance.now() - asked.atMs > HEALTH_SHARED_MS) {
      const answer = link.ask(MESSAGE.NODES, undefined, { timeoutMs: HEALTHY_WITHIN_MS }).then(
        () => textAnswer("success"),
        () => textAnswer("Cannot answer: the head or its node is away", 503),
      );
      asked = { atMs: performance.now(), answer };
    }
    return asked.answer;
  };
}
