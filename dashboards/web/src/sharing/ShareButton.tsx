/** Makes a link that shows a result without an account: a run, a comparison of runs, or an experiment. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api, type Schemas } from "../api/client";
import { loginLink } from "../api/entrance";
import { useMay } from "../api/session";
import { linkTo } from "../navigation/hash";
import { Button } from "../parts/Button";
import { CopyButton } from "../parts/CopyButton";
import { Dialog } from "../parts/Dialog";
import { ErrorNote } from "../parts/ErrorNote";
import { SelectField } from "../parts/Field";
import type { Choices } from "../parts/Select";
import styles from "./Sharing.module.css";

type What = Partial<Pick<Schemas["NewShare"], "runs" | "experiment_id">>;

interface Props {
  /** The runs, or the experiment. */
  what: What;
  /** The words for them, after "share". */
  name: string;
}

export function ShareButton({ what, name }: Props) {
  const [open, setOpen] = useState(false);
  if (!useMay("run")) return null;
  return (
    <>
      <Button title={`A link that shows ${name} without an account`} onClick={() => setOpen(true)}>
        Share
      </Button>
      {open && <ShareDialog what={what} name={name} onClose={() => setOpen(false)} />}
    </>
  );
}

const DAYS: Choices<number> = [
  [7, "7 days"],
  [30, "30 days"],
  [90, "90 days"],
  [365, "a year"],
];

function ShareDialog({ what, name, onClose }: Props & { onClose: () => void }) {
  const [days, setDays] = useState(30);
  const make = useMutation({
    mutationFn: () => answered(api.POST("/api/v1/shares", { body: { runs: [], ...what, days } })),
    meta: { again: ["shares"] },
  });
  const link = make.data && loginLink(make.data.token, make.data.view);
  return (
    <Dialog title={`Share ${name}`} onClose={onClose}>
      <p>
        Everyone with the link can read {name}, without an account, and nothing else of this lab. It can be revoked in{" "}
        <a href={linkTo(["lab", "shares"])}>Lab, Shares</a>.
      </p>
      {link === undefined ? (
        <SelectField label="Expires after" value={days} choices={DAYS} onChange={setDays} />
      ) : (
        <>
          <code className={styles.link} data-testid="share">
            {link}
          </code>
          <p>Copy the link now: it is shown only once.</p>
        </>
      )}
      {make.isError && <ErrorNote error={make.error} />}
      <div className="row">
        {link === undefined ? (
          <Button kind="primary" busy={make.isPending} onClick={() => make.mutate()}>
            Make the link
          </Button>
        ) : (
          <CopyButton text={() => link}>Copy</CopyButton>
        )}
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
