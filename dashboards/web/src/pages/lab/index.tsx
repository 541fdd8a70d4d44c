/** The lab: the run queue, hosts, modules, recordings of links, the service, and for admins tokens and the audit log. */
import type { ComponentType } from "react";
import { useMay } from "../../api/session";
import { linkTo } from "../../navigation/hash";
import { Empty } from "../../parts/Empty";
import type { PageProps } from "../props";
import { Audit } from "./Audit";
import { Hosts } from "./Hosts";
import styles from "./Lab.module.css";
import { Modules } from "./Modules";
import { Queue } from "./Queue";
import { Recordings } from "./Recordings";
import { Service } from "./Service";
import { Shares } from "./Shares";
import { Tokens } from "./Tokens";

interface Part {
  word: string;
  name: string;
  scope: "read" | "run" | "admin";
  Part: ComponentType;
}

const PARTS: readonly Part[] = [
  { word: "queue", name: "Queue", scope: "read", Part: Queue },
  { word: "hosts", name: "Hosts", scope: "read", Part: Hosts },
  { word: "modules", name: "Modules", scope: "read", Part: Modules },
  { word: "recordings", name: "Recordings", scope: "read", Part: Recordings },
  { word: "service", name: "Service", scope: "read", Part: Service },
  { word: "shares", name: "Shares", scope: "run", Part: Shares },
  { word: "tokens", name: "Tokens", scope: "admin", Part: Tokens },
  { word: "audit", name: "Audit", scope: "admin", Part: Audit },
];

export default function Lab({ path: [word = "queue"] }: PageProps) {
  const may = { admin: useMay("admin"), run: useMay("run"), read: true };
  const shown = PARTS.filter((part) => may[part.scope]);
  const part = PARTS.find((one) => one.word === word);
  return (
    <>
      <h1 className="unseen">Lab</h1>
      <nav className={styles.parts} aria-label="Parts of the lab">
        {shown.map((one) => (
          <a key={one.word} href={linkTo(["lab", one.word])} aria-current={one === part ? "page" : undefined}>
            {one.name}
          </a>
        ))}
      </nav>
      {part && shown.includes(part) ? <part.Part /> : <Refused known={part !== undefined} />}
    </>
  );
}

function Refused({ known }: { known: boolean }) {
  return known ? (
    <Empty title="Not allowed">
      <p>Your token does not have the scope for this. Ask the operator, or log in with another token.</p>
    </Empty>
  ) : (
    <Empty title="Not Found">
      <p>
        The lab has no such page. <a href={linkTo(["lab"])}>Queue</a>
      </p>
    </Empty>
  );
}
