/** Launch: an experiment as a form and as text, with its path diagram, timeline and numbers. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { asAsked, NO_WORDS } from "../../annotations/annotation";
import { useMay } from "../../api/session";
import { useShortcut } from "../../navigation/shortcuts";
import { oneOf, useViewState } from "../../navigation/viewState";
import { Button } from "../../parts/Button";
import { FileNote } from "../../parts/FileNote";
import { Panel } from "../../parts/Panel";
import { Segments } from "../../parts/Segments";
import { useFileOpener } from "../../parts/useFileOpener";
import { Waiting } from "../../parts/Waiting";
import { useNames, useSchema } from "./catalogue";
import { change, useDraft } from "./draft";
import type { Known } from "./editor/completion";
import { Editor } from "./editor/Editor";
import type { Mark } from "./editor/marks";
import { openFile } from "./experimentFile";
import { type Edit, EditContext } from "./form/edit";
import { Form } from "./form/Form";
import styles from "./Launch.module.css";
import { LaunchBar, useLaunch } from "./LaunchBar";
import { markOf } from "./mending";
import { Numbers } from "./Numbers";
import { OpenFile } from "./OpenFile";
import { Drawing } from "./picture/Drawing";
import { Timeline } from "./picture/Timeline";
import { Presets } from "./presets/Presets";
import { type Asked, usePreview } from "./preview";
import { Share, useArrival } from "./Share";
import { type Parsed, parseText, type TextRange } from "./yamlText";

const VIEW = { pane: oneOf(["form", "text"], "form") };

export default function Launch() {
  const now = useDraft();
  const parsed = useMemo(() => parseText(now.text), [now.text]);
  const { backend, where, clock, hosts, priority } = now;
  // Without title, tags and comment, which no preview depends on.
  const asked = useMemo((): Asked | null => {
    const places = { backend, where, clock, hosts: [...hosts], priority };
    return parsed.data && { spec: { ...parsed.data }, set: [], ...places, ...asAsked(NO_WORDS) };
  }, [parsed, backend, where, clock, hosts, priority]);
  const readable = useLastReadable(parsed);
  const looked = usePreview(asked, parsed.data);
  const { preview, mistakes, fresh } = looked;
  const [schema, names] = [useSchema(), useNames()];
  const [view, setView] = useViewState(VIEW);
  const [shown, setShown] = useState<{ from: number; to: number } | null>(null);
  const [choosing, setChoosing] = useState(false);
  const { coming, trouble } = useArrival();
  const opener = useFileOpener(openFile);
  const allowed = useMay("run") && !coming && parsed.faults.length === 0 && !(fresh && mistakes.length > 0);
  const launching = useLaunch(asked && { ...asked, ...asAsked(now.words) }, allowed);
  useShortcut("p", "Choose a preset", () => setChoosing(true));
  useShortcut("mod+Enter", "Launch", launching.launch);
  const wrong = parsed.faults.length > 0 || (fresh && mistakes.length > 0);
  // Until the service has answered for the corrected text, the drawing belongs to an earlier one.
  const behind = parsed.faults.length > 0 || mistakes.length > 0;
  const edit = useMemo((): Edit => {
    const fitting = fresh ? mistakes : mistakes.filter((one) => one.location.length > 0);
    return { data: readable, schema, names, preview, mistakes: parsed.data ? fitting : [] };
  }, [parsed.data, readable, schema, names, preview, mistakes, fresh]);
  const marks = useMemo((): Mark[] => {
    if (parsed.faults.length > 0) return parsed.faults.map((fault) => ({ ...fault, nearest: null, insert: "" }));
    if (!fresh) return [];
    return mistakes.filter((one) => one.location.length > 0).map((one) => markOf(parsed.doc, one));
  }, [parsed, mistakes, fresh]);
  const known = useMemo(
    (): Known => ({
      schema,
      names,
      hosts: preview?.drawing.hosts ?? [],
      links: preview?.drawing.links.map((link) => link.name) ?? [],
    }),
    [schema, names, preview],
  );
  const show = useCallback(
    (range: TextRange): void => {
      setView({ pane: "text" });
      setShown(range);
    },
    [setView],
  );
  return (
    <EditContext.Provider value={edit}>
      <header className={styles.head}>
        <h1>Launch</h1>
        <div className="row">
          <Button onClick={() => setChoosing(true)}>Presets</Button>
          <OpenFile onFile={opener.open} />
          <Share />
        </div>
      </header>
      {trouble}
      <FileNote opener={opener} />
      <div className={styles.panes}>
        <Segments
          label="Form or text"
          choices={[
            ["form", "Form"],
            ["text", "Text"],
          ]}
          value={view.pane}
          onChange={(pane) => setView({ pane })}
        />
      </div>
      <div className={styles.columns} data-pane={view.pane}>
        <div className={styles.formColumn}>
          <Form unreadable={parsed.data === null} />
        </div>
        <div className={styles.side}>
          <div className={styles.pictureColumn}>
            <Panel title="Path diagram">
              <div className={styles.drawn}>
                {preview ? (
                  <>
                    {behind && <p className={styles.behind}>From the last valid text</p>}
                    <Drawing drawing={preview.drawing} fresh={fresh && mistakes.length === 0} />
                  </>
                ) : (
                  <Later wrong={wrong} />
                )}
              </div>
            </Panel>
            <Panel title="Timeline">
              <Timeline />
            </Panel>
            {(preview || !wrong) && <Numbers preview={preview} fresh={fresh && mistakes.length === 0} />}
          </div>
          <div className={styles.textColumn}>
            <Editor
              text={now.text}
              marks={marks}
              known={known}
              onText={(text) => change({ text })}
              onLaunch={launching.launch}
              shown={shown}
            />
          </div>
        </div>
      </div>
      <LaunchBar
        looked={looked}
        faults={parsed.faults}
        doc={parsed.doc}
        onShow={show}
        launching={launching}
        coming={coming}
      />
      {choosing && <Presets onClose={() => setChoosing(false)} />}
    </EditContext.Provider>
  );
}

/** While a line is incomplete, the form and the timeline show the last valid text. */
function useLastReadable(parsed: Parsed): Parsed["data"] {
  const last = useRef<Parsed["data"]>(null);
  useEffect(() => {
    if (parsed.data !== null) last.current = parsed.data;
  }, [parsed]);
  return parsed.data ?? last.current;
}

/** The placeholder for content that needs a valid experiment. */
function Later({ wrong }: { wrong: boolean }) {
  if (!wrong) return <Waiting height="7.5rem" />;
  return <p className={styles.later}>Correct the errors to see it.</p>;
}
