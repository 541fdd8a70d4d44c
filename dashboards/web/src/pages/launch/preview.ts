/** The service's preview of the draft, requested a moment after the last key, one request at a time. */
import { useEffect, useState } from "react";
import { api, type Schemas } from "../../api/client";
import { Problem, problemOf } from "../../api/problem";
import { type Mistake, mistakesOf } from "./problems";
import type { Parsed } from "./yamlText";

export type Preview = Schemas["Preview"];
export type Asked = Schemas["AskedFor"];

export interface Looked {
  /** The last preview; `fresh` if it belongs to the current draft. */
  preview: Preview | null;
  mistakes: readonly Mistake[];
  /** A failure that is not an error of the draft: no response, or too many requests. */
  trouble: Problem | null;
  fresh: boolean;
}

const PATIENCE_MS = 180;
const AGAIN_MS = 3000;
const NOTHING: Looked = { preview: null, mistakes: [], trouble: null, fresh: false };

/** `asked` is null while the draft cannot be submitted. */
export function usePreview(asked: Asked | null, data: Parsed["data"]): Looked {
  const [looked, setLooked] = useState(NOTHING);
  const [answeredFor, setAnsweredFor] = useState("");
  const question = asked === null ? "" : JSON.stringify(asked);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the question contains the data
  useEffect(() => {
    if (question === "") return;
    const cancel = new AbortController();
    let timer = window.setTimeout(look, PATIENCE_MS);
    async function look(): Promise<void> {
      try {
        const body = JSON.parse(question) as Asked;
        const answer = await api.POST("/api/v1/plans/preview", { body, signal: cancel.signal });
        if (cancel.signal.aborted) return;
        settle(answer.response, answer.data as Preview | undefined, answer.error);
      } catch (error) {
        if (!cancel.signal.aborted) wait(problemOf(error));
      }
    }
    function settle(response: Response, preview: Preview | undefined, refused: unknown): void {
      const problem = response.ok ? null : Problem.of(response, refused);
      if (problem?.passing) {
        wait(problem);
        return;
      }
      setAnsweredFor(question);
      setLooked((before) => ({
        preview: preview ?? before.preview,
        mistakes: problem ? mistakesOf(refused, data) : [],
        trouble: null,
        fresh: true,
      }));
    }
    function wait(trouble: Problem): void {
      setLooked((before) => ({ ...before, trouble }));
      timer = window.setTimeout(look, AGAIN_MS);
    }
    return () => {
      cancel.abort();
      window.clearTimeout(timer);
    };
  }, [question]);
  return { ...looked, fresh: looked.fresh && answeredFor === question && question !== "" };
}
