/** Loads a user's router from the cluster's store, which keeps its code beside the deployment's. */
import { loadCode } from "../deployments/code-store.ts";
import { outsideCalls, valueOfKept } from "../../core/internal.ts";
import type { RequestRouter, RequestRouterClass } from "./request-router.ts";

/** @param args JSON, for its constructor @returns undefined where it cannot be had: requests are placed by power of two choices then, which is better than not at all */
export async function loadRequestRouter(id: string, args: string | undefined): Promise<RequestRouter | undefined> {
  try {
    return await outsideCalls(async () => {
      const code = await loadCode(id);
      if (code === undefined) throw new Error("its code is not in the cluster's store");
      const Router = (await valueOfKept(code)) as RequestRouterClass;
      return args === undefined ? new Router() : new Router(JSON.parse(args));
    });
  } catch (error) {
    console.error("Cannot make the requestRouter of a deployment, so power of two choices is used:", error);
    return undefined;
  }
}
