/** Congestion controls: whose they are, whether each kernel can run them, what can be set, and how their last trial went. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { idOf } from "../../api/address";
import { answered, api, type Schemas } from "../../api/client";
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
import styles from "./Lab.module.css";

type Module = Schemas["Module"];
type Kernel = Schemas["Kernel"];

const LOOK_AGAIN_MS = 1500;
const VIEW = { sort: text("") };

export function Modules() {
  const [view, setView] = useViewState(VIEW);
  const modules = useQuery({
    queryKey: ["modules"],
    queryFn: () => answered(api.GET("/api/v1/modules")),
    refetchInterval: (query) => (query.state.data?.some(isTried) ? LOOK_AGAIN_MS : false),
  });
  const kernels = useQuery({ queryKey: ["kernels"], queryFn: () => answered(api.GET("/api/v1/kernels")) });
  const error = modules.error ?? kernels.error;
  if (error) return <ErrorNote error={error} />;
  if (modules.data === undefined || kernels.data === undefined) return <Waiting height="60vh" />;
  return (
    <div className={styles.grid}>
      <Panel title="Congestion controls">
        <p className={styles.lead}>
          A trial loads the module into a guest, loses some of its packets and changes the path: does it get through?
          Its parameters open with a press on its name. One of your own begins with{" "}
          <code>longhaul new-module NAME</code> in a terminal.
        </p>
        <Table
          label="Congestion controls"
          columns={columns(kernels.data)}
          rows={modules.data}
          rowKey={(module) => module.cc}
          sort={view.sort}
          onSort={(sort) => setView({ sort })}
        />
      </Panel>
      <Panel title="Kernels">
        <Table label="Kernels" columns={KERNELS} rows={kernels.data} rowKey={(kernel) => kernel.version} />
      </Panel>
    </div>
  );
}

function isTried(module: Module): boolean {
  return module.trial != null && isLive(module.trial);
}

function columns(kernels: readonly Kernel[]): readonly Column<Module>[] {
  return [
    { key: "cc", name: "Name", cell: (module) => <About module={module} />, by: (module) => module.cc },
    { key: "of", name: "Of", cell: (module) => module.of, by: (module) => module.of },
    ...kernels.map(
      ({ version }): Column<Module> => ({
        key: version,
        name: version,
        cell: (module) => <State state={module.kernels[version] ?? "no kernel"} />,
      }),
    ),
    {
      key: "trial",
      name: "Last trial",
      cell: (module) => <Tried module={module} />,
      by: (module) => module.trial?.status,
    },
    { key: "runs", name: "Used in", cell: (module) => <a href={listOf({ cc: module.cc })}>runs</a> },
  ];
}

function State({ state }: { state: Module["kernels"][string] }) {
  if (state === "built") return <Badge tone="good">built</Badge>;
  if (state === "part of the kernel") return <Badge tone="good">in the kernel</Badge>;
  return <Badge tone={state === "not built" ? "warn" : "neutral"}>{state}</Badge>;
}

function About({ module }: { module: Module }) {
  const { cc, also, about, parameters } = module;
  if (parameters.length === 0) {
    return (
      <span className={styles.named}>
        <strong>{cc}</strong>
        {also && <span className={styles.faint}> also {also}</span>}
        <span className={styles.says}>{about}</span>
      </span>
    );
  }
  return (
    <details className={styles.named}>
      <summary>
        <strong>{cc}</strong>
        {also && <span className={styles.faint}> also {also}</span>}
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
              {one.of === "module" && ", of the module, so of all its flows"}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

function Tried({ module }: { module: Module }) {
  const may = useMay("run");
  const client = useQueryClient();
  const attempt = useMutation({
    mutationFn: () => answered(api.POST("/api/v1/modules/{name}/trial", { params: { path: { name: module.cc } } })),
    onSettled: () => client.invalidateQueries({ queryKey: ["modules"] }),
  });
  const { trial } = module;
  return (
    <span className={styles.tried}>
      {trial ? (
        <a href={linkTo(["experiments", idOf(trial.experiment)])} title={ago(trial.created_at)}>
          <StatusBadge status={trial.status} />
        </a>
      ) : (
        <span className={styles.faint}>never</span>
      )}
      {may && !isTried(module) && (
        <Button kind="quiet" busy={attempt.isPending} onClick={() => attempt.mutate()} aria-label={`Try ${module.cc}`}>
          Try
        </Button>
      )}
      {attempt.isError && <ErrorNote error={attempt.error} />}
    </span>
  );
}

const KERNELS: readonly Column<Kernel>[] = [
  { key: "version", name: "Kernel", cell: (kernel) => kernel.version },
  {
    key: "built",
    name: "State",
    cell: (kernel) =>
      kernel.built ? (
        <Badge tone="good">built</Badge>
      ) : (
        <span className={styles.faint}>
          not built: <code>longhaul kernel build {kernel.version}</code>
        </span>
      ),
  },
  { key: "release", name: "Calls itself", cell: (kernel) => kernel.release ?? "–" },
  { key: "hash", name: "Made of", cell: (kernel) => <code>{kernel.hash?.slice(0, 16) ?? "–"}</code> },
];
