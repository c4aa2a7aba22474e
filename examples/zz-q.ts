import { init, shutdown, python, why, get } from "shoal";
await init({ numCpus: 2 });
const a = python.actor<any>("shoal.train._session", "RankSession", { maxConcurrency: 16 }).remote();
const r = a.start.remote({});
setTimeout(async () => console.log(String(await why(r))), 5000).unref();
console.log(await get(r, {timeoutMs: 9000}).catch((e: any) => e));
await shutdown();
