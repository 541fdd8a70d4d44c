/** The error of a failed run, with a link to its guest's log. */
import { addressOf } from "../../api/address";
import { documentOf, type Run } from "../../data/runDocument";
import styles from "./RunPage.module.css";

export function Failure({ run }: { run: Run }) {
  const error = documentOf(run).error ?? {};
  const attempt = [error.attempting, error.subject].filter(Boolean).join(" ");
  const log = run.links.log;
  return (
    <div role="alert" className={styles.failure}>
      <h2>The run failed</h2>
      <p>
        {attempt && `${attempt}: `}
        {error.what ?? error.detail}
      </p>
      {error.hint && <p className={styles.hint}>{error.hint}</p>}
      {log !== undefined && (
        <p>
          <a href={addressOf(log)} download>
            log.txt
          </a>
          : the complete output of its kernel, modules and agent
        </p>
      )}
    </div>
  );
}
