/** Kernels of guests: what each consists of, and the state of its build. Admins add some from patches or an archive, and delete them. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api, bodyOf, type Schemas } from "../../api/client";
import { isInBetween } from "../../api/queries";
import { useMay } from "../../api/session";
import { Badge } from "../../parts/Badge";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { ErrorNote } from "../../parts/ErrorNote";
import { Field, FileField, SelectField, TextField } from "../../parts/Field";
import { Form } from "../../parts/Form";
import { Panel } from "../../parts/Panel";
import { type Column, Table } from "../../parts/Table";
import { ago } from "../../units";
import styles from "./Lab.module.css";
import { UserCode } from "./UserCode";

type Kernel = Schemas["Kernel"];

export function Kernels({ kernels }: { kernels: readonly Kernel[] }) {
  const [removing, setRemoving] = useState<Kernel | null>(null);
  const may = useMay("admin");
  return (
    <>
      <Panel title="Kernels">
        <Table
          label="Kernels"
          columns={may ? [...COLUMNS, removal(setRemoving)] : COLUMNS}
          rows={kernels}
          rowKey={(kernel) => kernel.version}
        />
      </Panel>
      <UserCode title="New kernel" what="kernels">
        <NewKernel bases={kernels.filter((kernel) => kernel.origin === "kernel.lock")} />
      </UserCode>
      {removing && <Remove kernel={removing} onClose={() => setRemoving(null)} />}
    </>
  );
}

/** A kernel's name, with what it consists of if it has a name of its own. */
function Parts({ kernel }: { kernel: Kernel }) {
  const { source } = kernel;
  if (!source) return kernel.version;
  return (
    <details>
      <summary>{kernel.version}</summary>
      <ul>
        <li>Source: {source.about}</li>
        {kernel.patches.map((patch) => (
          <li key={patch.name}>
            Patch {patch.name} <code>{patch.sha256.slice(0, 12)}</code>
            {patch.offsets.length > 0 && ` (${patch.offsets.join("; ")})`}
          </li>
        ))}
        {kernel.config.map((line) => (
          <li key={line}>
            <code>{line}</code>
          </li>
        ))}
        {kernel.build && (
          <li>
            Sent by {kernel.build.by} {ago(kernel.build.created_at)}
          </li>
        )}
      </ul>
    </details>
  );
}

function State({ kernel }: { kernel: Kernel }) {
  const { build } = kernel;
  if (build?.error) {
    return (
      <>
        <Badge tone="bad">failed</Badge> <span className={styles.says}>{build.error.what}</span>
      </>
    );
  }
  if (build && (build.status === "queued" || build.status === "building")) {
    return (
      <>
        <Badge tone={build.status === "queued" ? "neutral" : "busy"}>{build.status}</Badge>{" "}
        <span className="faint">{build.step}</span>
      </>
    );
  }
  if (kernel.built) return <Badge tone="good">built</Badge>;
  if (isInBetween(kernel)) return <span className="faint">being added or deleted</span>;
  return (
    <span className="faint">
      not built: <code>longhaul kernel build {kernel.version}</code>
    </span>
  );
}

const COLUMNS: readonly Column<Kernel>[] = [
  { key: "version", name: "Kernel", cell: (kernel) => <Parts kernel={kernel} /> },
  { key: "built", name: "Status", cell: (kernel) => <State kernel={kernel} /> },
  { key: "release", name: "Release", cell: (kernel) => kernel.release ?? "–" },
  { key: "hash", name: "Hash", cell: (kernel) => <code>{kernel.hash?.slice(0, 16) ?? "–"}</code> },
];

function removal(onRemove: (kernel: Kernel) => void): Column<Kernel> {
  return {
    key: "delete",
    name: "Delete",
    cell: (kernel) =>
      kernel.origin === "admin" && (
        <Button kind="quiet" onClick={() => onRemove(kernel)} aria-label={`Delete ${kernel.version}`}>
          Delete
        </Button>
      ),
  };
}

/** The name of a file as the service takes it. */
function nameOf(file: File): string {
  const name = file.name.replace(/[^A-Za-z0-9._+@ -]/g, "_").replace(/^[._+@ -]+/, "");
  return name.slice(0, 120) || "file";
}

async function sendArchive(file: File): Promise<Schemas["SentArchive"]> {
  const name = nameOf(file);
  const sent = await answered(api.POST("/api/v1/kernel-archives", { params: { query: { name } }, ...bodyOf(file) }));
  return { name, sha256: sent.sha256 };
}

function NewKernel({ bases }: { bases: readonly Kernel[] }) {
  const [name, setName] = useState("");
  const [base, setBase] = useState(bases[0]?.version ?? "");
  const [archive, setArchive] = useState<File | null>(null);
  const [patches, setPatches] = useState<readonly File[]>([]);
  const [config, setConfig] = useState("");
  const [step, setStep] = useState("");
  // Empties the inputs for files.
  const [sent, setSent] = useState(0);
  const create = useMutation({
    mutationFn: async () => {
      const texts = await Promise.all(patches.map(async (file) => ({ name: nameOf(file), text: await file.text() })));
      let source: { base: string } | { archive: Schemas["SentArchive"] } = { base };
      if (base === "") {
        if (archive === null) throw new Error("Choose the file of an archive.");
        setStep("The archive is being sent and checked.");
        source = { archive: await sendArchive(archive) };
      }
      setStep("The patches are being applied.");
      const lines = config.split("\n").map((line) => line.trim());
      const body = { name: name.trim(), ...source, patches: texts, config: lines.filter(Boolean) };
      return answered(api.POST("/api/v1/kernels", { body }));
    },
    onSuccess: () => {
      setName("");
      setPatches([]);
      setArchive(null);
      setConfig("");
      setSent(sent + 1);
    },
    meta: { again: ["kernels"] },
  });

  return (
    <Form className={styles.form} onSubmit={() => create.mutate()}>
      <p className={styles.lead}>
        The service applies the patches in the order of their names, and builds the kernel in the background. Every user
        who may submit experiments may then choose it by its name.
      </p>
      <div className={styles.inline}>
        <TextField label="Name" placeholder="e.g. mine" value={name} onText={setName} />
        <SelectField
          label="Source"
          value={base}
          choices={[...bases.map(({ version }) => [version, `Linux ${version}`] as const), ["", "an archive"]]}
          onChange={setBase}
        />
        {base === "" && (
          <FileField
            label="Archive"
            help="a tar archive of Linux: xz, gzip, bzip2, zstd or plain"
            key={`archive ${sent}`}
            onFiles={([file]) => setArchive(file ?? null)}
          />
        )}
        <FileField
          label="Patches"
          help={patches.map((file) => file.name).join(", ") || "none"}
          key={`patches ${sent}`}
          multiple
          onFiles={(files) =>
            setPatches(files.toSorted((a, b) => a.name.localeCompare(b.name, "en", { numeric: true })))
          }
        />
      </div>
      <Field label="Configuration" help="a line each, as in CONFIG_NET_SCH_ETF=m">
        {(wiring) => (
          <textarea
            {...wiring}
            rows={2}
            spellCheck={false}
            value={config}
            onChange={(event) => setConfig(event.target.value)}
          />
        )}
      </Field>
      <div className="asks">
        {create.isPending && <span role="status">{step}</span>}
        <Button
          kind="primary"
          type="submit"
          busy={create.isPending}
          disabled={name.trim() === "" || (base === "" && archive === null)}
        >
          Add kernel
        </Button>
      </div>
      {create.isError && <ErrorNote error={create.error} />}
    </Form>
  );
}

function Remove({ kernel, onClose }: { kernel: Kernel; onClose: () => void }) {
  const remove = useMutation({
    mutationFn: () => answered(api.DELETE("/api/v1/kernels/{name}", { params: { path: { name: kernel.version } } })),
    onSuccess: onClose,
    meta: { again: ["kernels"] },
  });
  return (
    <Dialog title={`Delete ${kernel.version}?`} onClose={onClose}>
      <p>A build that is running ends, and waiting runs on this kernel fail. Kept runs stay.</p>
      {remove.isError && <ErrorNote error={remove.error} />}
      <div className="asks">
        <Button onClick={onClose}>Go back</Button>
        <Button kind="danger" busy={remove.isPending} onClick={() => remove.mutate()}>
          Delete {kernel.version}
        </Button>
      </div>
    </Dialog>
  );
}
