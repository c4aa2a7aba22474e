import { expect, test } from "vitest";
import { DeployFailedError } from "../errors.ts";
import { grpcPackage } from "./service-definition.ts";

test("packages of gRPC that are not there are named with the command that installs them", async () => {
  const cause = new Error("Cannot find package");
  const error = await grpcPackage("@grpc/grpc-js", () => Promise.reject(cause)).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DeployFailedError);
  expect(error).toMatchObject({ hint: expect.stringMatching(/npm install "@grpc\/grpc-js@\S+" "@grpc\/proto-loader@\S+"$/), cause });
  expect((error as Error).message).toContain("the package @grpc/grpc-js");
});
