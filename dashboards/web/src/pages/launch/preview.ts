/** What the service makes of the draft, asked while one writes: a moment after the last key, and never twice at a time. */
import { useEffect, useState } from "react";
import { api, type Schemas } from "../../api/client";
import { Problem, problemOf } from "../../api/problem";
import { type Mistake, mistakesOf } from "./problems";
import type { Parsed } from "./yamlText";

export type Preview = Schemas["Preview"];
export type Asked = Schemas["AskedFor"];

export interface Looked {
  /** The last one there was: of what is asked for now where `fresh`. */
  preview: Preview | null;
  mistakes: readonly Mistake[];
  /** What stands in the way that is nobody's mistake: no answer, too many questions. */
  trouble: Problem | null;
  fresh: boolean;
}

const PATIENCE_MS = 180;
const AGAIN_MS = 3000;
const NOTHING: Looked = { preview: null, mistakes: [], trouble: null, fresh: false };

/** `asked` null: there is nothing that could be asked about. */
export function usePreview(asked: Asked | null, data: Parsed["data"]): Looked {
  const [looked, setLooked] = useState(NOTHING);
  const [answeredFor, setAnsweredFor] = useState("");
  const question = asked === null ? "" : JSON.stringify(asked);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the question says all that the data do
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
