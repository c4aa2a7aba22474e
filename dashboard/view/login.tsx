/**
 * The login: by the code of a link, or by a token that is pasted.
 *
 * The code stands in the fragment, which no server sees. The caller has taken it out of the address before. The token goes into a header
 * once, and is kept nowhere.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { logInByCode, logInByToken } from "../model/server.ts";
import { visibleText } from "../model/visible-text.ts";

interface LoginProps {
  readonly code: string | undefined;
  /** Why the login is shown, such as a session that has expired. */
  readonly reason: string;
  readonly onLogin: () => void;
}

export function Login({ code, reason, onLogin }: LoginProps): ComponentChildren {
  const [token, setToken] = useState("");
  const [isBusy, setBusy] = useState(code !== undefined);
  const [problem, setProblem] = useState(reason);
  const logIn = (by: Promise<void>): void => {
    setBusy(true);
    by.then(onLogin, (error: unknown) => {
      setProblem((error as Error).message);
      setBusy(false);
    });
  };
  useEffect(() => {
    if (code !== undefined) logIn(logInByCode(code));
  }, [code]);
  return (
    <main class="login">
      <h1>Shoal</h1>
      <p role="alert" class="problem">
        {visibleText(problem)}
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          logIn(logInByToken(token.trim()));
        }}
      >
        <label for="token">Token of the cluster</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <button type="submit" disabled={isBusy}>
          {isBusy ? "Logging in…" : "Log in"}
        </button>
      </form>
      <p>
        On the machine of the head, <code>shoal dashboard</code> prints a link that logs in by itself, and <code>shoal get-auth-token</code>{" "}
        prints the token.
      </p>
    </main>
  );
}
