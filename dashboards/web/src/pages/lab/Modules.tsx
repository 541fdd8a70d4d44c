/** Congestion controls: origin, supporting kernels, parameters, and the status of their last trial. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { idOf } from "../../api/address";
import { answered, api, type Schemas } from "../../api/client";
import { isThere, useKernels } from "../../api/queries";
import { useMay } from "../../api/session";
import { isLive, listOf } from "../../data/runList";
import { linkTo } from "../../navigation/hash";
import { text, useViewState } from "../../navigation/viewState";
import { Badge, StatusBadge } from "../../parts/Badge";
import { Button } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { Panel } from "../../parts/Panel";
import { type Column, Table } from "../../parts/Table";
import { Waiting } from "../../parts/Waiting";
import { ago } from "../../units";
import { Kernels } from "./Kernels";
import styles from "./Lab.module.css";
import { ModuleSources } from "./ModuleSources";

type Module = Schemas["Module"];
type Kernel = Schemas["Kernel"];

const POLL_MS = 1500;
// The congestion control that a link is about.
const VIEW = { sort: text(""), cc: text("") };

export function Modules() {
  const [view, setView] = useViewState(VIEW);
  const modules = useQuery({
    queryKey: ["modules"],
    queryFn: () => answered(api.GET("/api/v1/modules")),
    refetchInterval: (query) => (query.state.data?.some(isOnTrial) ? POLL_MS : false),
  });
  const kernels = useKernels();
  const error = modules.error ?? kernels.error;
  if (modules.data === undefined || kernels.data === undefined) {
    return error ? <ErrorNote error={error} /> : <Waiting height="60vh" />;
  }
  return (
    <div className="stack">
      {error && <ErrorNote error={error} />}
      <Panel title="Congestion controls">
        <p className={styles.lead}>
          A trial loads the module into a guest, drops some of its packets and changes the path, and checks that the
          flow survives. Click a name to see the parameters. To write a module, start with{" "}
          <code>longhaul new-module NAME</code> in a terminal.
        </p>
        <Table
          label="Congestion controls"
          columns={columns(kernels.data.filter(isThere), view.cc)}
          rows={modules.data}
          rowKey={(module) => module.cc}
          sort={view.sort}
          onSort={(sort) => setView({ sort })}
        />
      </Panel>
      <ModuleSources kernels={kernels.data} />
      <Kernels kernels={kernels.data} />
    </div>
  );
}

function isOnTrial(module: Module): boolean {
  return module.trial != null && isLive(module.trial);
}

function columns(kernels: readonly Kernel[], shown: string): readonly Column<Module>[] {
  return [
    {
      key: "cc",
      name: "Name",
      cell: (module) => <About module={module} isShown={module.cc === shown} />,
      by: (module) => module.cc,
    },
    { key: "of", name: "Origin", cell: (module) => module.of, by: (module) => module.of },
    ...kernels.map(
      ({ version }): Column<Module> => ({
        key: version,
        name: version,
        cell: (module) => <Support state={module.kernels[version] ?? "no kernel"} />,
      }),
    ),
    {
      key: "trial",
      name: "Last trial",
      cell: (module) => <Trial module={module} />,
      by: (module) => module.trial?.status,
    },
    { key: "runs", name: "Runs", cell: (module) => <a href={listOf({ cc: module.cc })}>show</a> },
  ];
}

function Support({ state }: { state: Module["kernels"][string] }) {
  if (state === "built") return <Badge tone="good">built</Badge>;
  if (state === "part of the kernel") return <Badge tone="good">in the kernel</Badge>;
  return <Badge tone={state === "not built" ? "warn" : "neutral"}>{state}</Badge>;
}

function About({ module, isShown }: { module: Module; isShown: boolean }) {
  const { cc, also, about, parameters } = module;
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isShown) place.current?.scrollIntoView({ block: "center" });
  }, [isShown]);
  if (parameters.length === 0) {
    return (
      <span ref={place} className={styles.named} data-shown={isShown}>
        <strong>{cc}</strong>
        {also && <span className="faint"> also {also}</span>}
        <span className={styles.says}>{about}</span>
      </span>
    );
  }
  return (
    <details
      ref={(element) => {
        place.current = element;
      }}
      className={styles.named}
      data-shown={isShown}
      open={isShown}
    >
      <summary>
        <strong>{cc}</strong>
        {also && <span className="faint"> also {also}</span>}
        <span className={styles.says}>{about}</span>
      </summary>
      <dl className={styles.parameters}>
        {parameters.map((one) => (
          <div key={String(one.name)}>
            <dt>
              <code>{String(one.name)}</code> {String(one.default)}
            </dt>
            <dd>
              {String(one.about)}; {String(one.allowed)}
              {one.of === "module" && "; set for the module, so for all its flows"}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

function Trial({ module }: { module: Module }) {
  const may = useMay("run");
  const start = useMutation({
    mutationFn: () => answered(api.POST("/api/v1/modules/{name}/trial", { params: { path: { name: module.cc } } })),
    meta: { again: ["modules"] },
  });
  const { trial } = module;
  return (
    <span className={styles.tried}>
      {trial ? (
        <a href={linkTo(["experiments", idOf(trial.experiment)])} title={ago(trial.created_at)}>
          <StatusBadge status={trial.status} />
        </a>
      ) : (
        <span className="faint">never</span>
      )}
      {may && !isOnTrial(module) && (
        <Button
          kind="quiet"
          busy={start.isPending}
          onClick={() => start.mutate()}
          aria-label={`Run trial of ${module.cc}`}
        >
          Run trial
        </Button>
      )}
      {start.isError && <ErrorNote error={start.error} />}
    </span>
  );
}
