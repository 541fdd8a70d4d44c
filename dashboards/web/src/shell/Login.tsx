/** The login page: the token field, and where a token comes from. */
import { type FormEvent, useState } from "react";
import { logIn } from "../api/entrance";
import { problemOf } from "../api/problem";
import { useSession } from "../api/session";
import { Button } from "../parts/Button";
import { ErrorNote } from "../parts/ErrorNote";
import { TextField } from "../parts/Field";
import { ThemeSwitch } from "../theme/ThemeSwitch";
import styles from "./Login.module.css";
import { Mark } from "./Mark";

export function Login() {
  return (
    <main className={styles.login}>
      <h1 className={styles.name}>
        <Mark /> Longhaul
      </h1>
      <p className={styles.about}>
        A congestion-control laboratory: plan an experiment, run it on real Linux TCP, watch it, compare it.
      </p>
      <LoginForm />
      <p className={styles.about}>
        No token yet? The service printed the first one when it started; the operator creates more with{" "}
        <code>longhaul token add NAME --scope run</code>.
      </p>
      <ThemeSwitch />
    </main>
  );
}

export function LoginForm() {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const session = useSession();
  const [own, setError] = useState<unknown>(undefined);
  // Before the first attempt, that of a login link.
  const error = own === undefined && session.kind === "out" ? (session.refused ?? null) : (own ?? null);
  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await logIn(token.trim());
    } catch (refused) {
      setError(refused);
      setBusy(false);
    }
  }
  return (
    <form className="pile" onSubmit={(event) => void submit(event)}>
      <TextField
        label="Token"
        type="password"
        autoComplete="current-password"
        placeholder="lh_…"
        value={token}
        onText={setToken}
        autoFocus
      />
      <Button kind="primary" type="submit" busy={busy} disabled={token.trim() === ""}>
        Log in
      </Button>
      {error !== null &&
        (problemOf(error).status === 401 ? (
          <p role="alert" className={styles.refused}>
            This token is not valid: it may be mistyped, expired or revoked.
          </p>
        ) : (
          <ErrorNote error={error} />
        ))}
    </form>
  );
}
