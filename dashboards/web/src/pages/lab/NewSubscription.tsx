/** The form of a subscription: where messages go, of which events and of which experiments. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api, type Schemas } from "../../api/client";
import { text, useViewState } from "../../navigation/viewState";
import { Button } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { Field, SelectField, TextField } from "../../parts/Field";
import { Form } from "../../parts/Form";
import type { Choices } from "../../parts/Select";
import styles from "./Lab.module.css";

type Wish = Schemas["NewSubscription"];
type Event = Wish["events"][number];

export const EVENTS: readonly { event: Event; name: string; brief: string }[] = [
  { event: "experiment.finished", name: "An experiment ends", brief: "end" },
  { event: "expectation.missed", name: "An expectation is missed for the first time", brief: "missed expectation" },
  { event: "baseline.broken", name: "It is worse than its baseline", brief: "broken baseline" },
];

const NEW = { way: "email", target: "", name: "", of: "own", experiment: "", branch: "main", measures: "" } as const;
const WHOSE: Choices<string> = [
  ["own", "mine"],
  ["all", "of all users"],
  ["one", "one, by its id"],
];
const VIEW = { of: text() };
type Fields = { -readonly [K in keyof typeof NEW]: string };

export function NewSubscription({
  email,
  onCreated,
}: {
  email: boolean;
  onCreated: (made: Schemas["ShownSubscription"]) => void;
}) {
  // The page of an experiment links here.
  const [{ of }] = useViewState(VIEW);
  const one = of === "" ? {} : { of: "one", experiment: of };
  const [fields, setFields] = useState<Fields>({ ...NEW, ...one, way: email ? "email" : "webhook" });
  const [events, setEvents] = useState<readonly Event[]>(EVENTS.map(({ event }) => event));
  const create = useMutation({
    mutationFn: () => answered(api.POST("/api/v1/notifications", { body: wishOf(fields, events) })),
    onSuccess: (made) => {
      onCreated(made);
      setFields({ ...fields, target: "" });
    },
    meta: { again: ["notifications"] },
  });

  const wire = (name: keyof Fields) => ({
    value: fields[name],
    onText: (text: string) => setFields({ ...fields, [name]: text }),
  });
  const byMail = fields.way === "email";
  return (
    <Form className={styles.form} onSubmit={() => create.mutate()}>
      <div className={styles.fields}>
        <Field label="By" help={email ? undefined : "E-mail is off: the operator has not set LONGHAUL_SMTP_HOST."}>
          {(wiring) => (
            <select
              {...wiring}
              value={fields.way}
              onChange={({ target }) => setFields({ ...fields, way: target.value })}
            >
              <option value="email" disabled={!email}>
                e-mail
              </option>
              <option value="webhook">webhook</option>
            </select>
          )}
        </Field>
        <TextField
          label={byMail ? "Address" : "URL"}
          type={byMail ? "email" : "url"}
          placeholder={byMail ? "ada@uni.example" : "https://hooks.example.org/longhaul"}
          {...wire("target")}
        />
        <SelectField
          label="Experiments"
          value={fields.of}
          choices={WHOSE}
          onChange={(whose) => setFields({ ...fields, of: whose })}
        />
        {fields.of === "one" ? (
          <TextField label="Id of the experiment" placeholder="5d41402abc4b2a76" {...wire("experiment")} />
        ) : (
          <TextField label="Only those named" placeholder="any name, or pacing*" {...wire("name")} />
        )}
      </div>
      <fieldset className={styles.ticks}>
        <legend>When</legend>
        {EVENTS.map(({ event, name }) => (
          <label key={event}>
            <input
              type="checkbox"
              checked={events.includes(event)}
              onChange={({ target }) =>
                setEvents(target.checked ? [...events, event] : events.filter((one) => one !== event))
              }
            />
            {name}
          </label>
        ))}
      </fieldset>
      {events.includes("baseline.broken") && (
        <div className={styles.fields}>
          <TextField label="Branch of the baseline" {...wire("branch")} />
          <TextField
            label="Measures that must not be worse"
            placeholder="goodput of every flow"
            help="Separated by spaces, as in goodput(app) queue_delay_p95"
            {...wire("measures")}
          />
        </div>
      )}
      <div>
        <Button
          kind="primary"
          type="submit"
          busy={create.isPending}
          disabled={fields.target.trim() === "" || events.length === 0}
        >
          Subscribe
        </Button>
      </div>
      {create.isError && <ErrorNote error={create.error} />}
    </Form>
  );
}

function wishOf({ way, target, name, of, experiment, branch, measures }: Fields, events: readonly Event[]): Wish {
  return {
    way: way === "email" ? "email" : "webhook",
    target: target.trim(),
    events: [...events],
    experiment_id: of === "one" ? experiment.trim() : null,
    name: of === "one" ? "" : name.trim(),
    everyone: of === "all",
    branch: branch.trim() || "main",
    measures: measures.split(/\s+/).filter(Boolean),
  };
}
