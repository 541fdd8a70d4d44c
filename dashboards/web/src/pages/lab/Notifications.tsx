/** Notifications: of this browser, by e-mail and by webhook; the user's subscriptions with the last message of each. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api, type Schemas } from "../../api/client";
import { useMay } from "../../api/session";
import { linkTo } from "../../navigation/hash";
import { show, turnOff, turnOn, useNotified } from "../../notifications/choice";
import { Badge, type Tone } from "../../parts/Badge";
import { Button } from "../../parts/Button";
import { CopyButton } from "../../parts/CopyButton";
import { Dialog } from "../../parts/Dialog";
import { ErrorNote } from "../../parts/ErrorNote";
import { Panel } from "../../parts/Panel";
import { type Column, Table } from "../../parts/Table";
import { Waiting } from "../../parts/Waiting";
import { ago, moment } from "../../units";
import styles from "./Lab.module.css";
import { EVENTS, NewSubscription } from "./NewSubscription";

type Subscription = Schemas["Subscription"];

export function Notifications() {
  const mayRun = useMay("run");
  return (
    <div className="stack">
      <ThisBrowser />
      {mayRun && <Subscriptions />}
    </div>
  );
}

function ThisBrowser() {
  const now = useNotified();
  return (
    <Panel title="This browser">
      <p className={styles.lead}>
        {now === "missing"
          ? "This browser shows notifications for pages over HTTPS only, or has none."
          : now === "refused"
            ? "You have forbidden notifications of this page. Allow them in the browser's settings of this page, and reload it."
            : "Shows when an experiment of yours ends, misses its first expectation, or is worse than the baseline of main, while this page is open in any tab."}
      </p>
      {now === "off" && <Button onClick={() => void turnOn()}>Notify me in this browser</Button>}
      {now === "on" && (
        <div className="row">
          <Button onClick={() => show("Longhaul", "Notifications arrive.", "longhaul-trial", () => undefined)}>
            Show a trial
          </Button>
          <Button kind="quiet" onClick={turnOff}>
            Turn off
          </Button>
        </div>
      )}
    </Panel>
  );
}

function Subscriptions() {
  const [shown, setShown] = useState<Schemas["ShownSubscription"] | null>(null);
  const asked = useQuery({
    queryKey: ["notifications"],
    queryFn: () => answered(api.GET("/api/v1/notifications")),
    refetchInterval: 5000,
  });
  if (asked.isLoadingError) return <ErrorNote error={asked.error} />;
  if (asked.isPending) return <Waiting height="40vh" />;
  return (
    <>
      <Panel title="By e-mail or webhook">
        <NewSubscription email={asked.data.email} onCreated={(made) => made.secret !== null && setShown(made)} />
      </Panel>
      <Panel title="Subscriptions">
        {asked.isError && <ErrorNote error={asked.error} />}
        {asked.data.items.length > 0 ? (
          <List items={asked.data.items} />
        ) : (
          <p className="lead">No subscriptions yet.</p>
        )}
      </Panel>
      {shown && <Secret subscription={shown} onClose={() => setShown(null)} />}
    </>
  );
}

function List({ items }: { items: readonly Subscription[] }) {
  const isAdmin = useMay("admin");
  const columns = isAdmin ? COLUMNS : COLUMNS.filter(({ key }) => key !== "owner");
  return <Table label="Subscriptions" columns={[...columns, ACTIONS]} rows={items} rowKey={({ id }) => id} />;
}

const TONES: Record<Schemas["LastMessage"]["status"], Tone> = {
  delivered: "good",
  waiting: "warn",
  failed: "bad",
  refused: "bad",
};

function experimentsOf({ experiment_id, name, everyone, owner }: Subscription) {
  if (experiment_id !== null) {
    return <a href={linkTo(["experiments", experiment_id])}>{experiment_id.slice(0, 8)}</a>;
  }
  return [everyone ? "all" : `those of ${owner}`, name && `named ${name}`].filter(Boolean).join(", ");
}

const COLUMNS: readonly Column<Subscription>[] = [
  { key: "target", name: "To", cell: ({ target }) => target, by: ({ target }) => target },
  { key: "owner", name: "Owner", cell: ({ owner }) => owner, by: ({ owner }) => owner },
  {
    key: "events",
    name: "When",
    cell: ({ events }) =>
      EVENTS.filter(({ event }) => events.includes(event))
        .map(({ brief }) => brief)
        .join(", "),
  },
  { key: "of", name: "Experiments", cell: experimentsOf },
  {
    key: "last",
    name: "Last message",
    cell: ({ last }) =>
      last === null ? (
        "none yet"
      ) : (
        <>
          <Badge tone={TONES[last.status]}>{last.status}</Badge>{" "}
          <span title={`${last.event}, ${moment(last.at)}`}>{ago(last.at)}</span>
          <span className={styles.says}>{last.answer}</span>
        </>
      ),
    by: ({ last }) => last?.at,
  },
];

const ACTIONS: Column<Subscription> = { key: "actions", name: "", cell: (one) => <Actions subscription={one} /> };

function Actions({ subscription: { id, target } }: { subscription: Subscription }) {
  const meta = { again: ["notifications"] };
  const path = { params: { path: { id } } };
  const trial = useMutation({ mutationFn: () => answered(api.POST("/api/v1/notifications/{id}/test", path)), meta });
  const end = useMutation({ mutationFn: () => answered(api.DELETE("/api/v1/notifications/{id}", path)), meta });
  const error = trial.error ?? end.error;
  return (
    <>
      <div className={styles.tried}>
        <Button busy={trial.isPending} onClick={() => trial.mutate()} aria-label={`Send a trial to ${target}`}>
          Send a trial
        </Button>
        <Button kind="quiet" busy={end.isPending} onClick={() => end.mutate()} aria-label={`Delete ${target}`}>
          Delete
        </Button>
      </div>
      {error && <ErrorNote error={error} />}
    </>
  );
}

function Secret({ subscription, onClose }: { subscription: Schemas["ShownSubscription"]; onClose: () => void }) {
  return (
    <Dialog title="The secret of this webhook">
      <p>
        Messages to {subscription.target} are signed with it, so that the receiver can verify them. Copy it now: it is
        shown only once.
      </p>
      <code className={styles.secret} data-testid="secret">
        {subscription.secret}
      </code>
      <div className="asks">
        <CopyButton text={() => subscription.secret ?? ""}>Copy</CopyButton>
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
