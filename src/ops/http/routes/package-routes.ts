/**
 * Routes of packages with working directories, which clients send before they submit a job.
 *
 * Ray's client asks whether a package exists and sends it where it does not. Its name is split into the protocol and the rest. A package is
 * code, so both routes need the role admin.
 */
import { HttpError, textAnswer } from "../http-answers.ts";
import type { PackageStore } from "../package-store.ts";
import type { Route, RouteRequest } from "../router.ts";

export function packageRoutes(packages: PackageStore): Route[] {
  return [
    {
      method: "GET",
      path: "/api/packages/{protocol}/{name}",
      role: "admin",
      summary: "Says whether a package with a working directory was sent.",
      answers: "Nothing; a package that was not sent is a 404.",
      handle: async (request) => {
        const uri = uriOf(request);
        if ((await packages.folderOf(uri)) === undefined) throw new HttpError(404, `Package ${uri} does not exist`);
        return textAnswer("");
      },
    },
    {
      method: "PUT",
      path: "/api/packages/{protocol}/{name}",
      role: "admin",
      summary: "Takes a working directory as a zip archive of up to 500 MiB.",
      body: "The archive: plain files and folders, up to 100,000 entries and 4 GiB unpacked.",
      answers: "Nothing. An archive that is damaged, or leads out of the folder, is a 400 with the cause.",
      handle: async (request) => {
        await packages.receive(uriOf(request), request);
        return textAnswer("");
      },
    },
  ];
}

function uriOf({ params: { protocol = "", name = "" } }: RouteRequest): string {
  return `${protocol}://${name}`;
}
