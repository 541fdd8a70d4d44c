/** The menu of saved views: opens, saves and removes them. */
import { useState } from "react";
import type { View } from "../../data/runList";
import { linkTo } from "../../navigation/hash";
import { Button } from "../../parts/Button";
import { Form } from "../../parts/Form";
import { Menu } from "../../parts/Menu";
import { useStore } from "../../store";
import styles from "./Runs.module.css";
import { queryOf, removeView, savedViews, saveView } from "./views";

export function SavedViews({ view }: { view: View }) {
  const views = useStore(savedViews);
  const [name, setName] = useState("");
  const query = queryOf(view);
  return (
    <Menu label="Views" name="Views">
      {views.length > 0 && (
        <ul className={styles.views}>
          {views.map((one) => (
            <li key={one.name}>
              <a href={linkTo(["runs"], one.query)} aria-current={one.query === query ? "true" : undefined}>
                {one.name}
              </a>
              <Button kind="quiet" aria-label={`Remove the view ${one.name}`} onClick={() => removeView(one.name)}>
                ✕
              </Button>
            </li>
          ))}
        </ul>
      )}
      <Form
        className={styles.save}
        onSubmit={() => {
          saveView(name, query);
          setName("");
        }}
      >
        <input
          aria-label="Name of this view"
          placeholder="Name of this view"
          maxLength={60}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <Button type="submit" disabled={name.trim() === ""}>
          Save
        </Button>
      </Form>
    </Menu>
  );
}
