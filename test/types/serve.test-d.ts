/** Types of Serve: the deployments that `bind` accepts for a handle. */
import { type Application, deployment, type Handle } from "../../src/serve/index.ts";

class Model {
  predict(value: number): number {
    return value;
  }
}
class Other {
  ask(): string {
    return "";
  }
}
class Router {
  readonly handles: unknown;

  constructor(model: Handle<typeof Model>, others: readonly Handle<typeof Other>[] = []) {
    this.handles = [model, others];
  }

  call(): number {
    return 1;
  }
}

const model = deployment(Model).bind();
const other = deployment(Other).bind();
declare const untyped: Application;
declare const handle: Handle<typeof Model>;

deployment(Router).bind(model, [other]);
deployment(Router).bind(handle);
deployment(Router).bind(untyped, [untyped]);
// @ts-expect-error -- another deployment's handle has no method predict
deployment(Router).bind(other);
// @ts-expect-error -- and so in a list
deployment(Router).bind(model, [model]);
// @ts-expect-error -- no deployment at all
deployment(Router).bind("model");
