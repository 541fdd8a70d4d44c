/** Parses server-sent events from text that arrives in arbitrary pieces. */

export interface ServerEvent {
  /** The value for Last-Event-ID. */
  id: string;
  event: string;
  /** Not parsed, because some pages need only the last of many events. */
  data: string;
}

export class EventReader {
  #rest = "";
  #id = "";
  #event = "";
  #data: string[] = [];

  /** Adds a piece; returns the events that it completes. */
  push(piece: string): ServerEvent[] {
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop() ?? "";
    const found: ServerEvent[] = [];
    for (const line of lines) {
      const text = line.endsWith("\r") ? line.slice(0, -1) : line;
      if (text !== "") {
        this.#field(text);
        continue;
      }
      if (this.#data.length > 0) {
        found.push({ id: this.#id, event: this.#event || "message", data: this.#data.join("\n") });
      }
      this.#event = "";
      this.#data = [];
    }
    return found;
  }

  #field(line: string): void {
    const colon = line.indexOf(":");
    // A comment: the server's heartbeat.
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
    else if (name === "id") this.#id = value;
  }
}
