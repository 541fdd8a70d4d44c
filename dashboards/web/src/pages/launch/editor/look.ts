/** The styles of the editor: tokens of theme.css, which apply in the shadow root, so that it follows the theme. */
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const frame = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "var(--size-field)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { padding: "var(--space-3) 0", caretColor: "var(--accent)" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  ".cm-line": { padding: "0 var(--space-3)" },
  ".cm-gutters": { color: "var(--text-3)", backgroundColor: "var(--surface)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 0 0 var(--space-3)", minWidth: "2.4em" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in oklab, var(--raised) 55%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-ground)",
  },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--accent-ground)",
    outline: "1px solid var(--accent)",
  },
  ".cm-tooltip": {
    color: "var(--text)",
    backgroundColor: "var(--surface)",
    border: "1px solid var(--line)",
    borderRadius: "var(--radius)",
    boxShadow: "0 6px 24px var(--shadow)",
    fontFamily: "var(--sans)",
    overflow: "hidden",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "16em" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px var(--space-3)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { color: "var(--text)", backgroundColor: "var(--accent-ground)" },
  ".cm-completionDetail": { color: "var(--text-3)", fontStyle: "normal", marginLeft: "1.2em" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-completionInfo": { padding: "var(--space-2) var(--space-3)", maxWidth: "22rem", color: "var(--text-2)" },
  ".lh-wrong": { textDecoration: "underline wavy var(--bad) 1px", textUnderlineOffset: "3px" },
  ".lh-wrong-line": { backgroundColor: "color-mix(in oklab, var(--bad-ground) 60%, transparent)" },
  ".lh-message": {
    display: "flex",
    flexWrap: "wrap",
    gap: "0 var(--space-3)",
    padding: "1px var(--space-3) 3px",
    color: "var(--bad)",
    backgroundColor: "color-mix(in oklab, var(--bad-ground) 60%, transparent)",
    fontFamily: "var(--sans)",
    fontSize: "var(--size-small)",
    whiteSpace: "normal",
  },
  ".lh-message button": {
    padding: "0",
    border: "none",
    background: "none",
    color: "var(--accent)",
    font: "inherit",
    fontWeight: "600",
    cursor: "pointer",
    textDecoration: "underline",
  },
});

const words = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: tags.comment, color: "var(--text-3)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: "var(--text-2)" },
  { tag: tags.string, color: "var(--text)" },
]);

export const look = [frame, syntaxHighlighting(words)];
