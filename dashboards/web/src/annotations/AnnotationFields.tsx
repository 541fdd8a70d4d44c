/** Fields for a title, tags and a comment. */
import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { answered, api } from "../api/client";
import { Field, TextField } from "../parts/Field";
import styles from "./Annotation.module.css";
import { LONGEST, tagsIn, type Words } from "./annotation";

interface Props {
  words: Words;
  onChange: (part: Partial<Words>) => void;
}

export function AnnotationFields({ words, onChange }: Props) {
  const list = useId();
  const known = useQuery({ queryKey: ["tags"], queryFn: () => answered(api.GET("/api/v1/tags")), staleTime: 60_000 });
  const given = tagsIn(words.tags);
  const before = words.tags.slice(0, words.tags.lastIndexOf(",") + 1);
  return (
    <div className={styles.fields}>
      <TextField
        label="Title"
        help="In any language. Lists show it in place of the name."
        maxLength={LONGEST.title}
        spellCheck
        value={words.title}
        onText={(text) => onChange({ title: text })}
      />
      <TextField
        label="Tags"
        help="With commas between them. Lists find them: tag=night."
        list={list}
        value={words.tags}
        onText={(text) => onChange({ tags: text })}
      />
      <datalist id={list}>
        {known.data
          ?.filter(({ tag }) => !given.includes(tag))
          .map(({ tag }) => (
            <option key={tag} value={`${before}${before && " "}${tag}`} />
          ))}
      </datalist>
      <Field label="Comment">
        {(wiring) => (
          <textarea
            {...wiring}
            className={`${wiring.className} ${styles.text}`}
            rows={4}
            maxLength={LONGEST.comment}
            value={words.comment}
            onChange={(event) => onChange({ comment: event.target.value })}
          />
        )}
      </Field>
    </div>
  );
}
