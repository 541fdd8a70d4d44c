/** The tags and the comment of a run or an experiment. */
import { listOf } from "../data/runList";
import styles from "./Annotation.module.css";
import { searchOf } from "./annotation";

interface Props {
  tags: readonly string[];
  comment?: string;
}

export function Annotation({ tags, comment = "" }: Props) {
  return (
    <>
      <Tags tags={tags} />
      {comment !== "" && <p className={styles.comment}>{comment}</p>}
    </>
  );
}

/** Each is a link to the runs with it. */
function Tags({ tags }: { tags: readonly string[] }) {
  if (tags.length === 0) return null;
  return (
    <ul className={styles.tags} aria-label="Tags">
      {tags.map((tag) => (
        <li key={tag}>
          <a href={listOf({ q: searchOf(tag) })} title={`Runs with the tag ${tag}`}>
            {tag}
          </a>
        </li>
      ))}
    </ul>
  );
}
