/**
 * The dashboard of a cluster in a browser: the login, or the page that the address names.
 *
 * Nothing is asked of any other server, and all that a viewer has chosen is in the address.
 */
import { type ComponentChildren, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { PAGES } from "./model/pages.ts";
import { addressOf, firstRowsOf, JOBS_PAGE, LOGS_PAGE, OVERVIEW_PAGE, type Place, placeOf } from "./model/place.ts";
import { visibleText } from "./model/visible-text.ts";
import { DetailsView } from "./view/details-view.tsx";
import { JobsView } from "./view/jobs-view.tsx";
import { ListView } from "./view/list-view.tsx";
import { LogsView } from "./view/logs-view.tsx";
import { OverviewView } from "./view/overview-view.tsx";
import { Login } from "./view/login.tsx";

const LOGIN = "login";
const OVERVIEW = { name: OVERVIEW_PAGE, title: "Overview" };
const JOBS = { name: JOBS_PAGE, title: "Jobs" };
const LOGS = { name: LOGS_PAGE, title: "Logs" };

const ALL_PAGES = [OVERVIEW, JOBS, ...PAGES, LOGS];

/** The code of the link. It leaves the address at once, so that no history and no copied address has it. */
const codeOfLink = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
if (location.hash !== "") history.replaceState(null, "", `${location.pathname}${location.search}`);

function App(): ComponentChildren {
  const [place, setPlace] = useState(() => placeOf(location));
  /** Why a login is needed; undefined where none is known to be. */
  const [reason, setReason] = useState<string | undefined>(place.page === LOGIN ? "" : undefined);
  /** A code works once, so a later login begins without it. */
  const [code, setCode] = useState(codeOfLink);
  const go = (to: Place, isNew: boolean): void => {
    history[isNew ? "pushState" : "replaceState"](null, "", addressOf(to));
    setPlace(to);
  };
  useEffect(() => {
    const onBack = (): void => setPlace(placeOf(location));
    addEventListener("popstate", onBack);
    return () => removeEventListener("popstate", onBack);
  }, []);
  useEffect(() => {
    const title = ALL_PAGES.find(({ name }) => name === place.page)?.title;
    document.title = reason === undefined && title !== undefined ? `${title} · Shoal` : "Shoal";
  }, [place.page, reason]);
  if (reason !== undefined) {
    const onLogin = (): void => {
      setReason(undefined);
      setCode(undefined);
      if (place.page === LOGIN) go(firstRowsOf(), false);
    };
    return <Login code={code} reason={reason} onLogin={onLogin} />;
  }
  return (
    <>
      <Menu current={place.page} go={go} />
      <Content place={place} go={go} onLoginNeeded={setReason} />
    </>
  );
}

interface ContentProps {
  readonly place: Place;
  readonly go: (to: Place, isNew: boolean) => void;
  readonly onLoginNeeded: (reason: string) => void;
}

function Content({ place, go, onLoginNeeded }: ContentProps): ComponentChildren {
  if (place.page === OVERVIEW_PAGE) return <OverviewView onLoginNeeded={onLoginNeeded} />;
  if (place.page === JOBS_PAGE) return <JobsView place={place} go={go} onLoginNeeded={onLoginNeeded} />;
  if (place.page === LOGS_PAGE) return <LogsView key={logKeyOf(place)} place={place} go={go} onLoginNeeded={onLoginNeeded} />;
  const page = PAGES.find(({ name }) => name === place.page);
  if (page === undefined)
    return (
      <main>
        <p class="problem">There is no page {visibleText(place.page)}.</p>
      </main>
    );
  if (place.id !== "") return <DetailsView key={`${page.name} ${place.id}`} page={page} place={place} onLoginNeeded={onLoginNeeded} />;
  return <ListView key={page.name} page={page} place={place} go={go} onLoginNeeded={onLoginNeeded} />;
}

/** The list of files stays one component while its filter is typed. */
function logKeyOf({ by, filter, node, state }: Place): string {
  return by === "" ? "" : [by, filter, node, state].join(" ");
}

function Menu({ current, go }: { current: string; go: (place: Place, isNew: boolean) => void }): ComponentChildren {
  return (
    <nav class="menu" aria-label="Pages">
      <span class="name">Shoal</span>
      {ALL_PAGES.map(({ name, title }) => (
        <a
          key={name}
          href={addressOf(firstRowsOf(name))}
          aria-current={name === current ? "page" : undefined}
          onClick={(event) => {
            if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            go(firstRowsOf(name), true);
          }}
        >
          {title}
        </a>
      ))}
    </nav>
  );
}

render(<App />, document.querySelector("#app") as Element);
