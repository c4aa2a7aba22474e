/**
 * The credentials for S3: from the environment, else from profiles, roles and instances through AWS's own package, which is an optional
 * peer.
 *
 * The process that makes the request looks them up, and no message carries them.
 */
import { messageOf } from "../../core/internal.ts";
import { StorageError } from "../errors.ts";

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

type Provider = () => Promise<Credentials>;

const PACKAGE = "@aws-sdk/credential-provider-node";
const INSTALL = `npm install ${PACKAGE}@^3`;

let provider: Promise<Provider> | undefined;

/** @throws StorageError if there are none */
export async function findCredentials(shown: string): Promise<Credentials> {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: sessionToken } = process.env;
  if (accessKeyId && secretAccessKey) return { accessKeyId, secretAccessKey, sessionToken: sessionToken || undefined };
  const missing = `No credentials for ${shown}: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not both set`;
  const anonymous = "a public bucket is read without any as s3://anonymous@bucket/key";
  provider ??= loadProvider();
  const find = await provider.catch((cause: unknown) => {
    provider = undefined;
    throw new StorageError(missing, { cause, hint: `set them; for profiles and roles: ${INSTALL}; ${anonymous}` });
  });
  try {
    return await find();
  } catch (error) {
    throw new StorageError(`${missing}, and no profile or role gives any: ${messageOf(error)}`, { hint: anonymous });
  }
}

/** The package keeps credentials until they expire. */
async function loadProvider(): Promise<Provider> {
  // By a variable: the package need not be there when this is compiled or bundled.
  const name = PACKAGE;
  const { defaultProvider } = (await import(name)) as { defaultProvider: () => Provider };
  return defaultProvider();
}
