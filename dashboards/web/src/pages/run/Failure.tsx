/** Why a run came to nothing, and the way to what its guest said last. */
import { addressOf } from "../../api/address";
import { documentOf, type Run } from "../../data/runDocument";
import styles from "./RunPage.module.css";

export function Failure({ run }: { run: Run }) {
  const error = documentOf(run).error ?? {};
  const said = [error.attempting, error.subject].filter(Boolean).join(" ");
  const log = run.links.log;
  return (
    <div role="alert" className={styles.failure}>
      <h2>It failed</h2>
      <p>
        {said && `${said}: `}
        {error.what ?? error.detail}
      </p>
      {error.hint && <p className={styles.hint}>{error.hint}</p>}
      {log !== undefined && (
        <p>
          <a href={addressOf(log)} download>
            log.txt
          </a>
          : what its kernel, modules and agent said, to the end
        </p>
      )}
    </div>
  );
}
