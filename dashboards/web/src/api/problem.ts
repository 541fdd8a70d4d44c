/** Why something was not done: the service's problem documents (RFC 9457), and that the service was not reached at all. */

const TEXTS = ["type", "title", "detail", "what", "hint", "request_id"] as const;

type Texts = Record<(typeof TEXTS)[number], string>;

export class Problem extends Error {
  /** 0 where there was no answer. */
  readonly status: number;
  /** As docs/errors.md names it, as in `run-damaged`; nothing where the service did not say. */
  readonly kind: string;
  readonly title: string;
  readonly detail: string;
  /** What happened, without on which thing: the same for all that fail alike. */
  readonly what: string;
  readonly hint: string;
  readonly requestId: string;
  /** A line each, where a body was not understood. */
  readonly problems: readonly string[];
  /** When to ask again, where the service says so. */
  readonly retryAfterS: number | null;

  private constructor(status: number, texts: Texts, problems: readonly string[], retryAfterS: number | null) {
    super(texts.detail || texts.title);
    this.name = "Problem";
    this.status = status;
    this.kind = texts.type.replace(/^\/problems\//, "");
    this.title = texts.title;
    this.detail = texts.detail;
    this.what = texts.what;
    this.hint = texts.hint;
    this.requestId = texts.request_id;
    this.problems = problems;
    this.retryAfterS = retryAfterS;
  }

  /** Of an answer that is none of success, with its body as far as that could be read. */
  static of(response: Response, body: unknown): Problem {
    const said: Record<string, unknown> = typeof body === "object" && body !== null ? { ...body } : {};
    const texts = Object.fromEntries(TEXTS.map((name) => [name, textOf(said[name])])) as Texts;
    texts.title ||= `The service answered ${response.status}`;
    const problems = Array.isArray(said.problems) ? said.problems.map(textOf) : [];
    return new Problem(response.status, texts, problems, seconds(response.headers.get("retry-after")));
  }

  /** Nobody answered. */
  static unreachable(): Problem {
    const texts = {
      type: "",
      title: "The service cannot be reached",
      detail: "The service cannot be reached.",
      what: "",
      hint: "Is it running, and is this machine on the network? The page goes on by itself when it is back.",
      request_id: "",
    };
    return new Problem(0, texts, [], null);
  }

  /** Whether the same may work in a moment. */
  get passing(): boolean {
    return (
      this.status === 0 || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504
    );
  }
}

/** Whatever was thrown, as a problem: faults of the page itself too. */
export function problemOf(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  const body = { title: "The page made a mistake", detail, hint: "Reload it; if it comes back, please report it." };
  return Problem.of(new Response(null, { status: 500 }), body);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function seconds(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) : null;
}
