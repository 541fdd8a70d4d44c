/** Sources of user-supplied modules, for admins: upload of a folder or an archive, versions, texts, builds for each kernel, and trials. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { idOf } from "../../api/address";
import { answered, api, bodyOf, type Schemas } from "../../api/client";
import { isThere, moduleSources } from "../../api/queries";
import { linkTo } from "../../navigation/hash";
import { Badge } from "../../parts/Badge";
import { Button } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { FileField } from "../../parts/Field";
import { Segments } from "../../parts/Segments";
import { type Column, Table } from "../../parts/Table";
import { ago } from "../../units";
import styles from "./Lab.module.css";
import { UserCode } from "./UserCode";

type Source = Schemas["ModuleSource"];
type Kernel = Schemas["Kernel"];
type Build = Schemas["ModuleBuild"];

const KEY = moduleSources.queryKey;
const VIEWS = [
  ["builds", "Builds"],
  ["texts", "Files"],
  ["changes", "Changes"],
] as const;
const ARCHIVE = /\.(tar|tar\.gz|tgz|tar\.xz|txz|tar\.bz2|tbz2|zip)$/;

export function ModuleSources({ kernels }: { kernels: readonly Kernel[] }) {
  return (
    <UserCode title="User-supplied modules" what="modules">
      <Sources kernels={kernels.filter(isThere).filter((kernel) => kernel.built)} />
    </UserCode>
  );
}

function Sources({ kernels }: { kernels: readonly Kernel[] }) {
  const [open, setOpen] = useState("");
  const sources = useQuery(moduleSources);
  const shown = sources.data?.find((one) => one.source === open);
  const columns: readonly Column<Source>[] = [
    {
      key: "controls",
      name: "Controls",
      cell: (one) => (
        <Button
          kind="quiet"
          aria-expanded={one.source === open}
          onClick={() => setOpen(open === one.source ? "" : one.source)}
        >
          {nameOf(one)}
        </Button>
      ),
      by: nameOf,
    },
    { key: "reference", name: "Source", cell: (one) => <code>{one.source.slice(0, 8)}</code> },
    { key: "files", name: "Files", cell: (one) => one.files.length, by: (one) => one.files.length, number: true },
    { key: "kept_at", name: "Sent", cell: (one) => ago(one.kept_at), by: (one) => one.kept_at },
  ];
  return (
    <>
      <Upload onSent={setOpen} />
      {sources.error && <ErrorNote error={sources.error} />}
      {sources.data?.length === 0 && <p className="lead">No source was sent.</p>}
      {sources.data !== undefined && sources.data.length > 0 && (
        <Table label="Sources of modules" columns={columns} rows={sources.data} rowKey={(one) => one.source} />
      )}
      {shown && <Shown key={shown.source} source={shown} sources={sources.data ?? []} kernels={kernels} />}
    </>
  );
}

function nameOf(source: Source): string {
  return source.controls.join(", ") || "names in its objects";
}

function Upload({ onSent }: { onSent: (source: string) => void }) {
  // Empties the inputs for files.
  const [count, setCount] = useState(0);
  const send = useMutation({
    mutationFn: (files: readonly File[]) => upload(files),
    onSuccess: (sent) => onSent(sent.source),
    onSettled: () => setCount(count + 1),
    meta: { again: KEY },
  });
  const choose = (files: readonly File[]): void => {
    if (files.length > 0) send.mutate(files);
  };
  return (
    <>
      <p className={styles.lead}>
        A source is any folder that registers a congestion control: its Makefile is respected, and each module is built
        by itself, confined.
      </p>
      <div className={styles.inline}>
        <FileField
          label="Folder"
          help="all files that its build reads"
          key={`folder ${count}`}
          ref={(input) => input?.setAttribute("webkitdirectory", "")}
          onFiles={choose}
        />
        <FileField
          label="Archive or files"
          help="tar, tar.gz, tar.xz, tar.bz2 or zip; or single sources"
          key={`files ${count}`}
          multiple
          onFiles={choose}
        />
        {send.isPending && <span role="status">The source is being sent.</span>}
      </div>
      {send.isError && <ErrorNote error={send.error} />}
    </>
  );
}

/** The files of a folder have paths that begin with its name; the service chooses those that a build reads. */
async function upload(files: readonly File[]): Promise<Source> {
  const [first] = files;
  if (first && files.length === 1 && ARCHIVE.test(first.name)) {
    return answered(
      api.POST("/api/v1/module-archives", {
        params: { query: { name: first.name.replace(/[^A-Za-z0-9._+-]/g, "_") } },
        ...bodyOf(first),
      }),
    );
  }
  const named = files.map(
    (file) => [file.webkitRelativePath.split("/").slice(1).join("/") || file.name, file] as const,
  );
  const sources = named.filter(([name]) => !name.split("/").some((part) => part.startsWith(".")));
  const texts = await Promise.all(sources.map(async ([name, file]) => [name, await file.text()] as const));
  return answered(api.POST("/api/v1/module-sources", { body: { files: Object.fromEntries(texts) } }));
}

function Shown({
  source,
  sources,
  kernels,
}: {
  source: Source;
  sources: readonly Source[];
  kernels: readonly Kernel[];
}) {
  const [view, setView] = useState<(typeof VIEWS)[number][0]>("builds");
  const former = sources.filter(
    (one) =>
      one.source !== source.source &&
      one.kept_at <= source.kept_at &&
      one.controls.some((cc) => source.controls.includes(cc)),
  );
  return (
    <section aria-label={`Source ${source.source.slice(0, 8)}`}>
      <h3>
        {nameOf(source)} <code>{source.reference}</code>
      </h3>
      <Segments label="View of the source" choices={VIEWS} value={view} onChange={setView} />
      {view === "builds" && <Builds source={source} kernels={kernels} />}
      {view === "texts" && <Texts source={source} />}
      {view === "changes" &&
        (former[0] ? (
          <Changes before={former[0]} after={source} />
        ) : (
          <p className="lead">No former version was sent.</p>
        ))}
    </section>
  );
}

function Builds({ source, kernels }: { source: Source; kernels: readonly Kernel[] }) {
  return (
    <div className="stack">
      {kernels.map((kernel) => (
        <KernelBuilds key={kernel.version} source={source} kernel={kernel.version} />
      ))}
    </div>
  );
}

function KernelBuilds({ source, kernel }: { source: Source; kernel: string }) {
  const path = { source: source.source, kernel };
  const builds = useQuery({
    queryKey: [...KEY, source.source, "builds", kernel],
    queryFn: () => answered(api.GET("/api/v1/module-sources/{source}/builds/{kernel}", { params: { path } })),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const trial = useMutation({
    mutationFn: () => answered(api.POST("/api/v1/module-sources/{source}/trials/{kernel}", { params: { path } })),
  });
  const usable = builds.data?.filter((one) => one.built || one.needs_room) ?? [];
  return (
    <section aria-label={`Kernel ${kernel}`}>
      <h4>{kernel}</h4>
      {builds.isPending && <p role="status">The compiler is running.</p>}
      {builds.error && <ErrorNote error={builds.error} />}
      {builds.data?.map((one) => (
        <OneBuild key={one.module} build={one} source={source} kernel={kernel} />
      ))}
      {usable.length > 0 && (
        <Button
          kind="quiet"
          busy={trial.isPending}
          onClick={() => trial.mutate()}
          aria-label={`Run trials on ${kernel}`}
        >
          Run trials
        </Button>
      )}
      {trial.data?.map((one) => (
        <a key={one.cc} href={linkTo(["experiments", idOf(one.experiment)])}>
          trial of {one.cc}
        </a>
      ))}
      {trial.isError && <ErrorNote error={trial.error} />}
    </section>
  );
}

function OneBuild({ build, source, kernel }: { build: Build; source: Source; kernel: string }) {
  return (
    <div>
      {build.built ? (
        <Badge tone="good">built</Badge>
      ) : (
        <Badge tone={build.needs_room ? "warn" : "bad"}>not built</Badge>
      )}{" "}
      <strong>{build.module}</strong> {build.controls.join(", ")}{" "}
      {build.built &&
        build.controls.map((cc) => (
          <Button key={cc} kind="quiet" onClick={() => void launch(source, cc, kernel)}>
            Launch with {cc}
          </Button>
        ))}
      {build.problem && <p className={styles.says}>{build.problem}</p>}
      {build.log && (
        <details>
          <summary>Build log</summary>
          <pre>{build.log}</pre>
        </details>
      )}
    </div>
  );
}

async function launch(source: Source, cc: string, kernel: string): Promise<void> {
  const text = `experiment: with-${cc.toLowerCase().replace(/[^a-z0-9]+/g, "-")}
path: {bandwidth: 100 Mbit/s, rtt: 40 ms, buffer: 1 BDP}
modules: ["${source.reference}"]
flows:
  - {name: one, cc: ${JSON.stringify(cc)}}
duration: 20 s
kernel: "${kernel}"
`;
  const { FIRST, replaceDraft } = await import("../launch/draft");
  replaceDraft({ ...FIRST, text });
  window.location.hash = linkTo(["launch"]);
}

function Texts({ source }: { source: Source }) {
  const read = useQuery({
    queryKey: [...KEY, source.source],
    queryFn: () =>
      answered(api.GET("/api/v1/module-sources/{source}", { params: { path: { source: source.source } } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (read.error) return <ErrorNote error={read.error} />;
  return Object.entries(read.data?.texts ?? {}).map(([name, text]) => (
    <details key={name}>
      <summary>
        <code>{name}</code>
      </summary>
      <pre>{text}</pre>
    </details>
  ));
}

function Changes({ before, after }: { before: Source; after: Source }) {
  const path = { source: before.source, other: after.source };
  const diff = useQuery({
    queryKey: [...KEY, before.source, "diff", after.source],
    queryFn: () =>
      answered(api.GET("/api/v1/module-sources/{source}/diff/{other}", { params: { path }, parseAs: "text" })),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (diff.error) return <ErrorNote error={diff.error} />;
  return (
    <>
      <p className={styles.says}>
        Since <code>{before.source.slice(0, 8)}</code>, sent {ago(before.kept_at)}:
      </p>
      <pre>{diff.data}</pre>
    </>
  );
}
