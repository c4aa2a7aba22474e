/** How Python code is named, and that what names none is refused where it is written. */
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { actorClassState } from "../core/actors/actor-class.ts";
import { remoteFunctionState } from "../core/calls/definitions/remote-function.ts";
import { python } from "./python.ts";

const stateOf = (remote: object): ReturnType<typeof remoteFunctionState> => remoteFunctionState(remote);

test("code is named by its file or module, and its name in it", () => {
  expect(stateOf(python.task("train.py", "fit"))).toMatchObject({ id: "python:train.py:fit", name: "fit" });
  expect(stateOf(python.task("a.b", "C.d"))?.id).toBe("python:a.b:C.d");
  expect(stateOf(python.task(new URL("file:///some%20where/x.py"), "f"))?.id).toBe("python:/some where/x.py:f");
  expect(stateOf(python.task(new URL(pathToFileURL("/a: 100% #1 ü/x.py")), "f"))?.id).toBe("python:/a: 100% #1 ü/x.py:f");
  expect(actorClassState(python.actor("m", "Cls"))).toMatchObject({ id: "python:m:Cls", interface: { isOpen: true } });
});

test("its calls are in an environment of Python, whatever options are added", () => {
  const task = python.task("train.py", "fit");
  expect(stateOf(task)?.options.runtimeEnv).toEqual({ language: "python" });
  const changed = task.options({ numCpus: 2 }).options({ runtimeEnv: { envVars: { A: "1" } } });
  expect(stateOf(changed)?.options).toMatchObject({ resources: { CPU: 2 }, runtimeEnv: { envVars: { A: "1" }, language: "python" } });
  expect(stateOf(changed)?.options.given).toEqual({ numCpus: 2, runtimeEnv: { envVars: { A: "1" } } });
});

test("methods may have options, although nobody knows them here", () => {
  const open = actorClassState(python.actor("m", "Cls", { methods: { read: { numReturns: "streaming" } } }));
  expect(open?.interface.methods).toEqual({ read: { numReturns: "streaming" } });
});

test("what names no code is refused", () => {
  for (const place of [
    "",
    "no module",
    "a:b.py",
    "file-name",
    5 as never,
    "file:///x.py",
    new URL("http://x/y.py"),
    new URL("file:///a%2Fb.py"),
  ])
    expect(() => python.task(place, "f")).toThrow(/Cannot name Python code/);
  for (const name of ["", "a b", "a..b", "f()", undefined as never])
    expect(() => python.actor("m", name)).toThrow(/the name of a function or class in m is needed/);
  expect(() => python.task("m", "f", { numCpu: 1 } as object)).toThrow(/numCpus/);
});
