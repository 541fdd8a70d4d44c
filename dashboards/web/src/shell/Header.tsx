/** The header: links to the pages, the connection to the service, the user, and the theme. */
import { useState } from "react";
import { connection } from "../api/connection";
import { logOut } from "../api/entrance";
import { useMay, useSession } from "../api/session";
import { outdated } from "../api/upgrade";
import { linkTo, useRoute } from "../navigation/route";
import { useShortcut } from "../navigation/shortcuts";
import { PAGES } from "../pages/catalogue";
import { PaletteButton } from "../palette/PaletteButton";
import { Button } from "../parts/Button";
import { ErrorNote } from "../parts/ErrorNote";
import { Menu } from "../parts/Menu";
import { useStore } from "../store";
import { ThemeSwitch } from "../theme/ThemeSwitch";
import styles from "./Header.module.css";
import { Mark } from "./Mark";
import { ShortcutSheet } from "./ShortcutSheet";

export function Header() {
  const [word] = useRoute().path;
  const [sheet, setSheet] = useState(false);
  const mayRead = useMay("read");
  useShortcut("?", "Show keyboard shortcuts", () => setSheet(true), { group: "Everywhere" });
  return (
    <header className={styles.header}>
      <button type="button" className={styles.skip} onClick={() => document.getElementById("page")?.focus()}>
        Skip to content
      </button>
      <a
        className={styles.home}
        href={mayRead ? linkTo([]) : undefined}
        aria-current={word === undefined ? "page" : undefined}
      >
        <Mark />
        Longhaul
      </a>
      {!mayRead && <p className="soft">A shared result, read only</p>}
      <nav aria-label="Pages" className={styles.pages} hidden={!mayRead}>
        {PAGES.map((page) => (
          <a
            key={page.word}
            href={linkTo([page.word])}
            aria-current={isShown(page.word, word) ? "page" : undefined}
            onPointerEnter={() => void page.load().catch(() => undefined)}
          >
            {page.name}
          </a>
        ))}
      </nav>
      <Connection />
      <PaletteButton />
      <User onKeys={() => setSheet(true)} />
      {sheet && <ShortcutSheet onClose={() => setSheet(false)} />}
    </header>
  );
}

function isShown(page: string, word: string | undefined): boolean {
  return page === (word === "experiments" ? "runs" : word);
}

function Connection() {
  const away = useStore(connection) === "away";
  const old = useStore(outdated);
  return (
    <div role="status" className={styles.connection}>
      {away && "Service away, reconnecting …"}
      {old && !away && (
        <Button kind="quiet" onClick={() => window.location.reload()}>
          Longhaul was upgraded: reload
        </Button>
      )}
    </div>
  );
}

function User({ onKeys }: { onKeys: () => void }) {
  const session = useSession();
  const [error, setError] = useState<unknown>(null);
  if ((session.kind !== "in" && session.kind !== "ended") || session.scope === "shared") return null;
  return (
    <Menu label={`${session.name}, scope ${session.scope}`} name={session.name}>
      <p className={styles.user}>
        <strong>{session.name}</strong>
        <span>scope {session.scope}</span>
      </p>
      <ThemeSwitch />
      <Button kind="quiet" onClick={onKeys}>
        Keyboard shortcuts <kbd>?</kbd>
      </Button>
      {session.kind === "in" && session.byProxy ? (
        <p className={styles.user}>
          <span>signed in by the proxy</span>
        </p>
      ) : (
        <Button kind="quiet" onClick={() => void logOut().catch(setError)}>
          Log out
        </Button>
      )}
      {error !== null && <ErrorNote error={error} />}
    </Menu>
  );
}
