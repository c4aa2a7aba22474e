/** The smallest whole program: import, start, one task, one actor, end. Timed from outside by the start-up figures. */
import { get, init, remote, shutdown } from "shoal";

class Greeter {
  greet(): string {
    return "ok";
  }
}

await init();
const task = remote((): string => "ok");
const answers = [await get(task.remote())];
const greeter = remote(Greeter).remote();
answers.push(await get(greeter.greet.remote()));
if (answers.join() !== "ok,ok") throw new Error(`Cannot measure: received ${answers.join()}`);
process.stdout.write("ready\n");
await shutdown();
