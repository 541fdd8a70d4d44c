/** A panel for admins about code of their own, if the service takes any. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { service } from "../../api/queries";
import { useMay } from "../../api/session";
import { Panel } from "../../parts/Panel";

export function UserCode({ title, what, children }: { title: string; what: string; children: ReactNode }) {
  const may = useMay("admin");
  const about = useQuery({ ...service, enabled: may });
  if (!may || !about.data) return null;
  return (
    <Panel title={title}>
      {about.data.user_code ? (
        children
      ) : (
        <p className="lead">
          This service takes no {what}. Its operator may allow it with <code>LONGHAUL_USER_CODE=on</code>.
        </p>
      )}
    </Panel>
  );
}
