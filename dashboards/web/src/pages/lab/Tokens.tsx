/** Tokens, for admins: names, scopes and expiry. A new token is shown once, and the page does not store it. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api, type Schemas } from "../../api/client";
import { loginLink } from "../../api/entrance";
import { SCOPES, type TokenScope, useSession } from "../../api/session";
import { Ago } from "../../parts/Ago";
import { Badge } from "../../parts/Badge";
import { Button } from "../../parts/Button";
import { CopyButton } from "../../parts/CopyButton";
import { Dialog } from "../../parts/Dialog";
import { ErrorNote } from "../../parts/ErrorNote";
import { SelectField, TextField } from "../../parts/Field";
import { Form } from "../../parts/Form";
import { Panel } from "../../parts/Panel";
import { type Column, Table } from "../../parts/Table";
import { Waiting } from "../../parts/Waiting";
import { wait } from "../../units";
import styles from "./Lab.module.css";

type Token = Schemas["Token"];

const MAY: Record<TokenScope, string> = {
  read: "read",
  run: "read, submit, and cancel and delete their own runs",
  gate: "read, submit, cancel and delete their own runs, and set the baselines of branches that gate",
  admin: "do everything",
};

export function Tokens() {
  const [revoking, setRevoking] = useState<Token | null>(null);
  const [shown, setShown] = useState<Schemas["ShownToken"] | null>(null);
  const asked = useQuery({ queryKey: ["tokens"], queryFn: () => answered(api.GET("/api/v1/tokens")) });
  if (asked.isLoadingError) return <ErrorNote error={asked.error} />;
  if (asked.isPending) return <Waiting height="60vh" />;
  const rows = [...asked.data].sort((a, b) => Number(!isActive(a)) - Number(!isActive(b)));
  return (
    <div className="stack">
      <Panel title="New token">
        <NewToken onCreated={setShown} />
      </Panel>
      <Panel title="Tokens">
        {asked.isError && <ErrorNote error={asked.error} />}
        <Table label="Tokens" columns={columns(setRevoking)} rows={rows} rowKey={(token) => token.id} />
      </Panel>
      {shown && <Shown token={shown} onClose={() => setShown(null)} />}
      {revoking && <Revoke token={revoking} onClose={() => setRevoking(null)} />}
    </div>
  );
}

function isActive(token: Token): boolean {
  return token.revoked_at === null && (token.expires_s === null || token.expires_s > Date.now() / 1000);
}

function columns(onRevoke: (token: Token) => void): readonly Column<Token>[] {
  return [
    { key: "name", name: "Name", cell: (token) => <strong>{token.name}</strong>, by: (token) => token.name },
    {
      key: "scope",
      name: "Scope",
      cell: (token) => token.scope,
      by: (token) => SCOPES.indexOf(token.scope as TokenScope),
    },
    {
      key: "state",
      name: "Status",
      cell: (token) =>
        isActive(token) ? (
          <Badge tone="good">active</Badge>
        ) : (
          <Badge tone="neutral">{token.revoked_at ? "revoked" : "expired"}</Badge>
        ),
    },
    {
      key: "created",
      name: "Created",
      cell: (token) => <Ago at={token.created_at} />,
      by: (token) => token.created_at,
    },
    {
      key: "expires",
      name: "Expires",
      cell: (token) =>
        token.expires_s === null ? "never" : isActive(token) ? `in ${wait(token.expires_s - Date.now() / 1000)}` : "–",
      by: (token) => token.expires_s,
    },
    { key: "id", name: "Id", cell: (token) => <code>{token.id}</code> },
    {
      key: "revoke",
      name: "Revoke",
      cell: (token) =>
        token.revoked_at === null && (
          <Button kind="quiet" onClick={() => onRevoke(token)} aria-label={`Revoke ${token.name}`}>
            Revoke
          </Button>
        ),
    },
  ];
}

function NewToken({ onCreated }: { onCreated: (token: Schemas["ShownToken"]) => void }) {
  const [name, setName] = useState("");
  const [scope, setScope] = useState<TokenScope>("run");
  const [days, setDays] = useState("90");
  const create = useMutation({
    mutationFn: () =>
      answered(
        api.POST("/api/v1/tokens", { body: { name: name.trim(), scope, days: days === "" ? null : Number(days) } }),
      ),
    onSuccess: (token) => {
      onCreated(token);
      setName("");
    },
    meta: { again: ["tokens"] },
  });

  return (
    <Form className={styles.inline} onSubmit={() => create.mutate()}>
      <TextField label="Name" placeholder="user or purpose" value={name} onText={setName} />
      <SelectField label="Scope" help={`may ${MAY[scope]}`} value={scope} choices={SCOPES} onChange={setScope} />
      <TextField label="Days" type="number" min={1} max={3650} placeholder="no expiry" value={days} onText={setDays} />
      <Button kind="primary" type="submit" busy={create.isPending} disabled={name.trim() === ""}>
        Create
      </Button>
      {create.isError && <ErrorNote error={create.error} />}
    </Form>
  );
}

function Shown({ token, onClose }: { token: Schemas["ShownToken"]; onClose: () => void }) {
  return (
    <Dialog title={`Token of ${token.name}`}>
      <p>
        Copy the token now: it is shown only once, because the service stores only a hash. Its user may{" "}
        {MAY[token.scope as TokenScope]}.
      </p>
      <code className={styles.secret} data-testid="secret">
        {token.token}
      </code>
      <div className="asks">
        <CopyButton text={() => token.token}>Copy</CopyButton>
        <CopyButton text={() => loginLink(token.token)} title="A link that opens this page, logged in with the token">
          Copy login link
        </CopyButton>
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}

function Revoke({ token, onClose }: { token: Token; onClose: () => void }) {
  const session = useSession();
  const revoke = useMutation({
    mutationFn: () => answered(api.DELETE("/api/v1/tokens/{name}", { params: { path: { name: token.id } } })),
    onSuccess: onClose,
    meta: { again: ["tokens"] },
  });
  const own = session.kind === "in" && session.name === token.name;
  return (
    <Dialog title={`Revoke ${token.name}?`} onClose={onClose}>
      <p>
        The token and every session opened with it end at once{own && ", including this one"}. This cannot be undone.
        Queued runs stay in the queue.
      </p>
      {revoke.isError && <ErrorNote error={revoke.error} />}
      <div className="asks">
        <Button onClick={onClose}>Go back</Button>
        <Button kind="danger" busy={revoke.isPending} onClick={() => revoke.mutate()}>
          Revoke {token.name}
        </Button>
      </div>
    </Dialog>
  );
}
