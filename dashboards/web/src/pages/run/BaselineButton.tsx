/** Makes an experiment the baseline of its name on a branch. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api } from "../../api/client";
import { linkTo } from "../../navigation/hash";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { ErrorNote } from "../../parts/ErrorNote";
import { TextField } from "../../parts/Field";
import { Form } from "../../parts/Form";
import styles from "./RunPage.module.css";

interface Props {
  name: string;
  experiment: string;
}

export function BaselineButton(props: Props) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button title="Later experiments of this name are compared with it" onClick={() => setOpen(true)}>
        Baseline
      </Button>
      {open && <BaselineDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

function BaselineDialog({ name, experiment, onClose }: Props & { onClose: () => void }) {
  const [branch, setBranch] = useState("main");
  const set = useMutation({
    mutationFn: () =>
      answered(
        api.PUT("/api/v1/baselines/{name}/{branch}", {
          params: { path: { name, branch: branch.trim() } },
          body: { experiment_id: experiment },
        }),
      ),
    meta: { again: ["baselines"] },
  });
  return (
    <Dialog title={`Baseline of ${name}`} onClose={onClose}>
      <Form onSubmit={() => set.mutate()}>
        <p>
          Later experiments of this name are compared with this one: by CI, and by subscriptions to a broken baseline.
          Its runs are kept. <a href={linkTo(["lab", "baselines"])}>All baselines</a>
        </p>
        <TextField
          label="Branch"
          help="A gated branch, main by default, needs a token of scope gate."
          required
          value={branch}
          onText={setBranch}
        />
        {set.isError && <ErrorNote error={set.error} />}
        {set.isSuccess && <p role="status">It is the baseline of {set.data.branch} now.</p>}
        <div className={styles.actions}>
          <Button kind="primary" type="submit" busy={set.isPending} disabled={branch.trim() === ""}>
            Set
          </Button>
          <Button onClick={onClose}>Close</Button>
        </div>
      </Form>
    </Dialog>
  );
}
