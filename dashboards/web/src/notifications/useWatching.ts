/** Watches the experiments of the logged-in user, if this browser is to notify them; the code for it is loaded then. */
import { useEffect } from "react";
import { useSession } from "../api/session";
import { useNotified } from "./choice";

export function useWatching(): void {
  const session = useSession();
  const notified = useNotified();
  const user = notified === "on" && session.kind === "in" && session.scope !== "shared" ? session.name : null;
  useEffect(() => {
    if (user === null) return;
    let [stop, over] = [() => {}, false];
    void import("./watch").then(({ watchExperiments }) => {
      if (!over) stop = watchExperiments(user);
    });
    return () => {
      over = true;
      stop();
    };
  }, [user]);
}
