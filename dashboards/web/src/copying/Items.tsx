/** The entries of the menu "Copy as". */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { BASE } from "../api/address";
import { answered, api } from "../api/client";
import { keep } from "../charts/exporting";
import { linkTo } from "../navigation/hash";
import { fieldsOf, textOf } from "../pages/launch/again";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { ErrorNote } from "../parts/ErrorNote";
import { Waiting } from "../parts/Waiting";
import styles from "./CopyAs.module.css";
import { type OneRun, type Recipe, recipeOf } from "./recipe";
import { client, commandLine, curl, notebook, python } from "./texts";

const SERVICE = window.location.origin + BASE;

const FORMS: readonly (readonly [name: string, make: (recipe: Recipe) => string])[] = [
  [
    "Command line",
    (recipe) => commandLine(recipe, typeof recipe.experiment === "string" ? "" : textOf(recipe.experiment)),
  ],
  ["Python", python],
  ["Python client", (recipe) => client(recipe, SERVICE)],
  ["curl", (recipe) => curl(recipe, SERVICE)],
];

interface Props {
  experiment: string;
  run: (OneRun & { id: string }) | null;
}

export default function Items({ experiment, run }: Props) {
  const recipe = useRecipe(experiment, run);
  const [copied, setCopied] = useState("");
  const [shown, setShown] = useState<readonly [name: string, text: string] | null>(null);
  if (recipe.error) return <ErrorNote error={recipe.error} />;
  if (recipe.data === undefined) return <Waiting height="10rem" />;
  const made = recipe.data;
  const copy = async (name: string, text: string): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(name);
    } catch {
      // A page without TLS has no clipboard.
      setShown([name, text]);
    }
  };
  const download = (): void => {
    const page = SERVICE + linkTo(run === null ? ["experiments", experiment] : ["runs", run.id]).replace("#", "/#");
    const content = new Blob([notebook(made, SERVICE, page)], { type: "application/x-ipynb+json" });
    keep(content, `${made.name.replaceAll("/", "-")}.ipynb`);
  };
  return (
    <>
      {FORMS.map(([name, make]) => (
        <Button key={name} kind="quiet" onClick={() => void copy(name, make(made))}>
          {name}
        </Button>
      ))}
      <Button kind="quiet" onClick={download}>
        Notebook (.ipynb)
      </Button>
      <p role="status" className={styles.copied}>
        {copied && `${copied}: copied`}
      </p>
      {shown && <Text name={shown[0]} text={shown[1]} onClose={() => setShown(null)} />}
    </>
  );
}

function useRecipe(id: string, run: Props["run"]) {
  return useQuery({
    queryKey: ["experiment", id, "recipe", run?.id ?? ""],
    queryFn: async () => {
      const found = await answered(api.GET("/api/v1/experiments/{id}", { params: { path: { id } } }));
      return recipeOf(found, await fieldsOf(found), run);
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

function Text({ name, text, onClose }: { name: string; text: string; onClose: () => void }) {
  return (
    <Dialog title={name} onClose={onClose}>
      <p>The browser gives this page no access to the clipboard. Select the text and copy it.</p>
      <textarea
        className={styles.text}
        aria-label={name}
        readOnly
        rows={12}
        value={text}
        onFocus={(event) => event.target.select()}
      />
      <div>
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
