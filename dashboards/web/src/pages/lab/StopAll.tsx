/** The emergency stop: cancels every experiment on physical hosts and ends their traffic within seconds. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api } from "../../api/client";
import { useMay } from "../../api/session";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { ErrorNote } from "../../parts/ErrorNote";
import { count, wait } from "../../units";

export function StopAll() {
  const may = useMay("run");
  const [asking, setAsking] = useState(false);
  const stop = useMutation({
    mutationFn: () => answered(api.POST("/api/v1/hosts/stop", { body: { hosts: [] } })),
    meta: { again: [] },
  });
  if (!may) return null;
  const close = (): void => {
    setAsking(false);
    stop.reset();
  };
  return (
    <>
      <Button kind="danger" onClick={() => setAsking(true)}>
        Stop all
      </Button>
      {asking && (
        <Dialog title="Stop all experiments on physical hosts?" onClose={close}>
          {stop.data ? (
            <p role="status">
              {count(stop.data.cancelled.length)} {stop.data.cancelled.length === 1 ? "experiment" : "experiments"}{" "}
              cancelled on {stop.data.hosts.join(", ") || "no host"}; no run starts there for {wait(stop.data.closed_s)}
              .
            </p>
          ) : (
            <p>
              This cancels every experiment on physical hosts, of all owners, and ends their leases. Traffic stops
              within seconds, and each host restores its settings. Runs in guests continue.
            </p>
          )}
          {stop.isError && <ErrorNote error={stop.error} />}
          <div className="asks">
            <Button onClick={close}>{stop.data ? "Close" : "Go back"}</Button>
            {!stop.data && (
              <Button kind="danger" busy={stop.isPending} onClick={() => stop.mutate()}>
                Stop all
              </Button>
            )}
          </div>
        </Dialog>
      )}
    </>
  );
}
