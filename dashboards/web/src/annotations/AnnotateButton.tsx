/** Changes the title, tags and comment of a run or an experiment. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api } from "../api/client";
import { readAgain } from "../api/queries";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { ErrorNote } from "../parts/ErrorNote";
import { Form } from "../parts/Form";
import { AnnotationFields } from "./AnnotationFields";
import { asAsked, type Words } from "./annotation";

interface Props {
  noun: "run" | "experiment";
  subject: { id: string; title: string; tags: readonly string[]; comment: string };
}

export function AnnotateButton(props: Props) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button title={`The title, tags and comment of this ${props.noun}`} onClick={() => setOpen(true)}>
        Annotate
      </Button>
      {open && <AnnotateDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

function AnnotateDialog({ noun, subject, onClose }: Props & { onClose: () => void }) {
  const [words, setWords] = useState<Words>({ ...subject, tags: subject.tags.join(", ") });
  const save = useMutation({
    mutationFn: async () => {
      const params = { path: { id: subject.id } };
      const body = asAsked(words);
      if (noun === "run") await answered(api.PATCH("/api/v1/runs/{id}", { params, body }));
      else await answered(api.PATCH("/api/v1/experiments/{id}", { params, body }));
    },
    onSuccess: async () => {
      await readAgain([]);
      onClose();
    },
  });
  return (
    <Dialog title={`Annotate this ${noun}`} onClose={onClose}>
      <Form onSubmit={() => save.mutate()}>
        <AnnotationFields words={words} onChange={(part) => setWords({ ...words, ...part })} />
        {save.isError && <ErrorNote error={save.error} />}
        <div className="row">
          <Button kind="primary" type="submit" busy={save.isPending}>
            Save
          </Button>
          <Button onClick={onClose}>Close</Button>
        </div>
      </Form>
    </Dialog>
  );
}
