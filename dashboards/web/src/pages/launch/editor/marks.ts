/** Errors in the text: underlined, with a message below the line and a button for the suggested correction. */
import { type Range, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";

export interface Mark {
  from: number;
  to: number;
  message: string;
  /** The suggested correction, and the text that makes it. */
  nearest: string | null;
  insert: string;
}

class Message extends WidgetType {
  readonly #mark: Mark;

  constructor(mark: Mark) {
    super();
    this.#mark = mark;
  }

  override eq(other: Message): boolean {
    const [one, two] = [this.#mark, other.#mark];
    return one.message === two.message && one.nearest === two.nearest && one.from === two.from && one.to === two.to;
  }

  override toDOM(view: EditorView): HTMLElement {
    const line = document.createElement("div");
    line.className = "lh-message";
    const message = line.appendChild(document.createElement("span"));
    message.textContent = this.#mark.message;
    const { nearest, insert } = this.#mark;
    if (nearest !== null) {
      const take = line.appendChild(document.createElement("button"));
      take.type = "button";
      take.textContent = `Use ${nearest}`;
      take.addEventListener("click", () => {
        view.dispatch({ changes: { from: this.#mark.from, to: this.#mark.to, insert }, userEvent: "input.correct" });
        view.focus();
      });
    }
    return line;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

export const setMarks = StateEffect.define<readonly Mark[]>();

export const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(before, transaction) {
    let shown = before.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(setMarks)) shown = drawn(effect.value, transaction.state.doc);
    }
    return shown;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function drawn(
  all: readonly Mark[],
  doc: { length: number; lineAt: (at: number) => { from: number; to: number } },
): DecorationSet {
  const ranges: Range<Decoration>[] = [];
  for (const mark of all) {
    const from = Math.min(mark.from, doc.length);
    const to = Math.min(Math.max(mark.to, from), doc.length);
    const line = doc.lineAt(from);
    ranges.push(Decoration.line({ class: "lh-wrong-line" }).range(line.from));
    if (to > from) ranges.push(Decoration.mark({ class: "lh-wrong" }).range(from, to));
    ranges.push(Decoration.widget({ widget: new Message({ ...mark, from, to }), block: true, side: 1 }).range(line.to));
  }
  return RangeSet.of(ranges, true);
}
