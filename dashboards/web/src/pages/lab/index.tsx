/** The lab: the run queue, hosts, modules, recordings of links, baselines, the service, notifications, shares, and for admins tokens and the audit log. */
import type { ComponentType } from "react";
import { levelOf, useLevel } from "../../api/session";
import { linkTo } from "../../navigation/hash";
import { Empty } from "../../parts/Empty";
import type { PageProps } from "../props";
import { Audit } from "./Audit";
import { Baselines } from "./Baselines";
import { Hosts } from "./Hosts";
import styles from "./Lab.module.css";
import { Modules } from "./Modules";
import { Notifications } from "./Notifications";
import { LAB_PARTS } from "./parts";
import { Queue } from "./Queue";
import { Recordings } from "./Recordings";
import { Service } from "./Service";
import { Shares } from "./Shares";
import { Tokens } from "./Tokens";

const PARTS: Readonly<Record<string, ComponentType>> = {
  queue: Queue,
  hosts: Hosts,
  modules: Modules,
  recordings: Recordings,
  baselines: Baselines,
  service: Service,
  notifications: Notifications,
  shares: Shares,
  tokens: Tokens,
  audit: Audit,
};

export default function Lab({ path: [word = "queue"] }: PageProps) {
  const level = useLevel();
  const shown = LAB_PARTS.filter((part) => level >= levelOf(part.scope));
  const part = LAB_PARTS.find((one) => one.word === word);
  const Part = part && shown.includes(part) ? PARTS[word] : undefined;
  return (
    <>
      <h1 className="unseen">Lab{part && `: ${part.name}`}</h1>
      <nav className={styles.parts} aria-label="Parts of the lab">
        {shown.map((one) => (
          <a key={one.word} href={linkTo(["lab", one.word])} aria-current={one === part ? "page" : undefined}>
            {one.name}
          </a>
        ))}
      </nav>
      {Part ? <Part /> : <Refused known={part !== undefined} />}
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
