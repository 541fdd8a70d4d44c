/** The editor itself, loaded when it is first shown. It is in a shadow root, where its styles are separate sheets, because the
 * page's policy forbids style elements.
 */
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, indentUnit } from "@codemirror/language";
import { EditorState, Prec, Transaction } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { completionSource, type Known } from "./completion";
import { look } from "./look";
import { type Mark, marks, setMarks } from "./marks";

export interface EditorHandle {
  /** Changes only what differs, so that the cursor stays in place and undo works. */
  setText: (text: string) => void;
  setMarks: (all: readonly Mark[]) => void;
  show: (from: number, to: number) => void;
  close: () => void;
}

interface Options {
  text: string;
  label: string;
  onText: (text: string) => void;
  onLaunch: () => void;
  known: () => Known;
}

export function openEditor(parent: HTMLElement, { text, label, onText, onLaunch, known }: Options): EditorHandle {
  const host = parent.appendChild(document.createElement("div"));
  host.style.height = "100%";
  // Outside the shadow root, keys come from the host element, which is not a text field, and would trigger the page's shortcuts.
  host.addEventListener("keydown", (event) => event.stopPropagation());
  const root = host.attachShadow({ mode: "open" });
  const launch = (): boolean => {
    onLaunch();
    return true;
  };
  // Text that was typed here comes back from the page with a delay, when more may have been typed.
  const reported: string[] = [];
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(
          keymap.of([
            { key: "Mod-Enter", run: launch },
            { key: "Tab", run: acceptCompletion },
          ]),
        ),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap]),
        history(),
        yaml(),
        indentUnit.of("  "),
        bracketMatching(),
        closeBrackets(),
        drawSelection(),
        lineNumbers(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        autocompletion({ override: [completionSource(known)], icons: false }),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) {
            const written = update.state.doc.toString();
            reported.push(written);
            onText(written);
          }
        }),
        EditorView.domEventHandlers({ beforeinput: overLines }),
        marks,
        look,
      ],
    }),
  });
  return {
    setText: (next) => {
      const echoed = reported.lastIndexOf(next);
      reported.splice(0, echoed < 0 ? reported.length : echoed + 1);
      const before = view.state.doc.toString();
      if (echoed >= 0 || next === before) return;
      const { from, to, insert } = difference(before, next);
      view.dispatch({ changes: { from, to, insert }, annotations: Transaction.userEvent.of("input.form") });
    },
    setMarks: (all) => view.dispatch({ effects: setMarks.of(all) }),
    show: (from, to) => {
      view.dispatch({
        selection: { anchor: from, head: to },
        effects: EditorView.scrollIntoView(from, { y: "center" }),
      });
      view.focus();
    },
    close: () => {
      view.destroy();
      host.remove();
    },
  };
}

/** Text that replaces several lines at once: the browser would insert it with inline styles, which the page's policy refuses. */
function overLines(event: InputEvent, view: EditorView): boolean {
  const { main } = view.state.selection;
  const { doc } = view.state;
  if (event.inputType !== "insertText" || event.data === null || event.isComposing) return false;
  if (doc.lineAt(main.from).number === doc.lineAt(main.to).number && !event.data.includes("\n")) return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
  return true;
}

/** The range in which two texts differ. */
export function difference(before: string, after: string): { from: number; to: number; insert: string } {
  const most = Math.min(before.length, after.length);
  let from = 0;
  while (from < most && before[from] === after[from]) from++;
  let end = 0;
  while (end < most - from && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) };
}
