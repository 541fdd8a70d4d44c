/** The frame of every page: login, the header, keys that work everywhere, and the error view of a crashed page. */
import { useEffect, useState } from "react";
import { onReturn } from "../api/connection";
import { checkSession, enterPage } from "../api/entrance";
import { problemOf } from "../api/problem";
import { useSession } from "../api/session";
import { focusView } from "../navigation/focus";
import { entryNow, returnToPlace } from "../navigation/places";
import { go, linkTo, routeNow, useRoute } from "../navigation/route";
import { useShortcut } from "../navigation/shortcuts";
import { useTitle } from "../navigation/title";
import { useWatching } from "../notifications/useWatching";
import { PAGES, pageAt } from "../pages/catalogue";
import { Dialog } from "../parts/Dialog";
import { Empty } from "../parts/Empty";
import { ErrorNote } from "../parts/ErrorNote";
import { LaterNote } from "../parts/LaterNote";
import { Waiting } from "../parts/Waiting";
import { endAll } from "../store";
import { Crash } from "./Crash";
import { Header } from "./Header";
import { Login, LoginForm } from "./Login";
import styles from "./Shell.module.css";

export function Shell() {
  const session = useSession();
  const [refused, setRefused] = useState<unknown>(null);
  useWatching();
  useEffect(() => {
    // Load the code while the session is checked; without a session nothing of it is shown.
    pageAt(routeNow())
      ?.entry.load()
      .catch(() => undefined);
    const after = (entered: Promise<void>): void => {
      entered.then(() => setRefused(null), setRefused);
    };
    after(enterPage());
    return onReturn(() => after(checkSession()));
  }, []);
  if (session.kind === "out") return <Login />;
  if (session.kind === "asking") {
    return <main className={styles.page}>{refused ? <ErrorNote error={problemOf(refused)} /> : <Waiting />}</main>;
  }
  return (
    <>
      <Header />
      <Shown />
      <LaterNote />
      {session.kind === "ended" && (
        <Dialog title={session.scope === "shared" ? "The link is no longer valid" : "Your session has ended"}>
          <p>
            {session.scope === "shared"
              ? "It has expired or was revoked. Ask for another link, or log in with a token of this lab."
              : "Log in again to continue where you were."}
          </p>
          <LoginForm />
        </Dialog>
      )}
    </>
  );
}

function Shown() {
  const route = useRoute();
  const shown = pageAt(route);
  const here = route.path.join("/");
  const title = useTitle(here) ?? shown?.entry.name ?? "Not Found";
  useEffect(() => {
    document.title = `${title} · Longhaul`;
  }, [title]);
  // Another page begins at its top and at its heading, or where Back finds it.
  useEffect(() => endAll(returnToPlace(), focusView(here, entryNow())), [here]);
  return (
    <main id="page" tabIndex={-1} className={styles.page}>
      <PageKey keys="g h" name="Start" word="" />
      {PAGES.map((page) => (
        <PageKey key={page.word} keys={`g ${page.key}`} name={page.name} word={page.word} />
      ))}
      {shown === null ? (
        <Empty isPage title="Not Found">
          <p>
            No page has the address <code>#/{here}</code>. <a href={linkTo(["runs"])}>All runs</a>
          </p>
        </Empty>
      ) : (
        <Crash key={here}>
          <shown.entry.Page path={shown.path} />
        </Crash>
      )}
    </main>
  );
}

function PageKey({ keys, name, word }: { keys: string; name: string; word: string }) {
  useShortcut(keys, `Go to ${name}`, () => go(linkTo(word ? [word] : [])), { group: "Everywhere" });
  return null;
}
