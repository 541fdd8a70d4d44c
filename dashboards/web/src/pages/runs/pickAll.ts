/** Selects all rows that match a filter: reads their ids page by page, including rows that the list has not loaded. */
import { useCallback, useEffect, useRef, useState } from "react";

export interface IdsPage {
  items: readonly { id: string }[];
  next: string | null;
}

/** Reads the page after a cursor, with at most `limit` rows. */
export type ReadPage = (cursor: string, limit: number) => Promise<IdsPage>;

/** The most rows that the service returns at a time. */
export const PAGE_OF_IDS = 500;

/** The ids of the first `most` matching rows, each once, in the order of the list. */
export async function idsOfAll(read: ReadPage, most: number): Promise<string[]> {
  const ids = new Set<string>();
  let cursor: string | null = "";
  while (cursor !== null && ids.size < most) {
    const page: IdsPage = await read(cursor, Math.min(PAGE_OF_IDS, most - ids.size));
    for (const { id } of page.items) ids.add(id);
    cursor = page.items.length > 0 ? page.next : null;
  }
  return [...ids].slice(0, most);
}

export interface PickAll {
  /** Select them, unless it is in progress. */
  start: () => void;
  busy: boolean;
  /** The error that stopped the reading. */
  error: unknown;
}

/** `question` identifies the filter: a response that arrives after the filter has changed selects nothing. */
export function usePickAll(
  read: () => Promise<readonly string[]>,
  question: string,
  onPicked: (ids: readonly string[]) => void,
): PickAll {
  const [asked, setAsked] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const now = useRef(question);
  useEffect(() => {
    now.current = question;
    setAsked(null);
    setError(null);
  }, [question]);
  const start = useCallback(() => {
    if (asked === question) return;
    setAsked(question);
    setError(null);
    const settled = (act: () => void): void => {
      if (now.current !== question) return;
      setAsked(null);
      act();
    };
    read().then(
      (ids) => settled(() => onPicked(ids)),
      (failure: unknown) => settled(() => setError(failure)),
    );
  }, [asked, question, read, onPicked]);
  return { start, busy: asked === question, error };
}
