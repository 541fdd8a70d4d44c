/** The REST API, typed from its OpenAPI document: `await answered(api.GET("/api/v1/runs", { params: { query: { limit: 20 } } }))`.
 * Error responses are thrown as a Problem. Requests that change something contain the session's CSRF token.
 */
import createClient from "openapi-fetch";
import { BASE } from "./address";
import { reached, unreachable } from "./connection";
import { takeEarly } from "./early";
import { Problem } from "./problem";
import type { components, paths } from "./schema.gen";
import { session, sessionEnded } from "./session";

export type Schemas = components["schemas"];

const SAFE = ["GET", "HEAD", "OPTIONS"];

/** Like fetch, for this service: adds the CSRF token and notices whether the service responds. */
export async function ask(request: Request): Promise<Response> {
  const now = session.get();
  if (now.kind === "in" && !SAFE.includes(request.method)) request.headers.set("X-CSRF-Token", now.csrf);
  let response: Response;
  try {
    response = await (takeEarly(request) ?? fetch(request));
  } catch (error) {
    if (request.signal.aborted) throw error;
    unreachable();
    throw Problem.unreachable();
  }
  reached();
  if (response.status === 401) sessionEnded();
  return response;
}

export const api = createClient<paths>({ baseUrl: BASE, fetch: ask });

type Answer<D> = { data: D; error?: never; response: Response } | { data?: never; error: unknown; response: Response };

/** The body of a response; throws a Problem for an error response. */
export async function answered<D>(asking: Promise<Answer<D>>): Promise<D> {
  const answer = await asking;
  if (!answer.response.ok) throw Problem.of(answer.response, answer.error);
  return answer.data as D;
}

/** A file as the body of a request. */
export function bodyOf(file: File) {
  return {
    // The type of a binary body is a string there.
    body: file as unknown as string,
    bodySerializer: (body: string) => body,
    headers: { "Content-Type": "application/octet-stream" },
  };
}
