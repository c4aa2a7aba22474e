/** Asks V8 to collect: a store under pressure needs to know what its users have dropped, and an idle process never collects by itself. */
import vm from "node:vm";

let collect: (() => void) | undefined;

/** A full collection: some 30 ms for a heap of ordinary size. */
export function collectGarbage(): void {
  if (collect === undefined) {
    const v8 = process.getBuiltinModule("node:v8");
    v8.setFlagsFromString("--expose-gc");
    collect = vm.runInNewContext("gc") as () => void;
    v8.setFlagsFromString("--no-expose-gc");
  }
  collect();
}
