/** Errors of requests: the service's problem documents (RFC 9457), or an unreachable service. */

const TEXTS = ["type", "title", "detail", "what", "hint", "request_id"] as const;

type Texts = Record<(typeof TEXTS)[number], string>;

export class Problem extends Error {
  /** 0 without a response. */
  readonly status: number;
  /** The name in docs/errors.md, such as `run-damaged`; empty if the response has none. */
  readonly kind: string;
  readonly title: string;
  readonly detail: string;
  /** What happened, without the subject: equal for equal failures. */
  readonly what: string;
  readonly hint: string;
  readonly requestId: string;
  /** One line per error in an invalid body. */
  readonly problems: readonly string[];
  /** When to retry, if the service states it. */
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

  /** The problem of an error response, with its body as far as it is readable. */
  static of(response: Response, body: unknown): Problem {
    const fields: Record<string, unknown> = typeof body === "object" && body !== null ? { ...body } : {};
    const texts = Object.fromEntries(TEXTS.map((name) => [name, textOf(fields[name])])) as Texts;
    texts.title ||= `The service returned status ${response.status}`;
    const problems = Array.isArray(fields.problems) ? fields.problems.map(textOf).map(withoutPlace) : [];
    return new Problem(response.status, texts, problems, seconds(response.headers.get("retry-after")));
  }

  /** No response. */
  static unreachable(): Problem {
    const texts = {
      type: "",
      title: "The service cannot be reached",
      detail: "The service cannot be reached.",
      what: "",
      hint: "Check that it is running and that this machine is on the network. The page reconnects when the service is back.",
      request_id: "",
    };
    return new Problem(0, texts, [], null);
  }

  /** The detail for readers of the page: without a remedy for the command line or for programs. */
  get sentence(): string {
    return isForPage(this.hint) ? this.detail : this.detail.replace(`; ${this.hint}`, "");
  }

  /** The remedy, unless the detail or the page itself has it. */
  get remedy(): string {
    return isForPage(this.hint) && !this.detail.includes(this.hint) ? this.hint : "";
  }

  /** Whether a retry may succeed. */
  get passing(): boolean {
    return (
      this.status === 0 || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504
    );
  }
}

/** Any thrown value as a problem, including errors of the page itself. */
export function problemOf(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  const body = { title: "An error in the page", detail, hint: "Reload the page. If the error returns, report it." };
  return Problem.of(new Response(null, { status: 500 }), body);
}

/** Whether a remedy is one for this page, not a command or a request. */
function isForPage(hint: string): boolean {
  return !/`longhaul |\b(GET|POST|PUT|DELETE) \/|Authorization|(^|\s|`)--[a-z]/.test(hint);
}

/** An error in a value, without the part of the request that has it: `query.rtt: ...` -> `rtt: ...`. */
function withoutPlace(problem: string): string {
  return problem.replace(/^(query|path|body|header)\./, "");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function seconds(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) : null;
}
