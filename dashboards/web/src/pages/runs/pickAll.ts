/** All that match a filter, picked at once: their ids are read page by page, those that the list has not loaded too. */
import { useCallback, useEffect, useRef, useState } from "react";

export interface IdsPage {
  items: readonly { id: string }[];
  next: string | null;
}

/** Reads the page after a cursor, of at most so many rows. */
export type ReadPage = (cursor: string, limit: number) => Promise<IdsPage>;

/** As many rows as the service gives at a time. */
export const PAGE_OF_IDS = 500;

/** The ids of the first `most` that match, each once, in the order of the list. */
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
  /** Pick them, unless that is being done already. */
  start: () => void;
  busy: boolean;
  /** Why they could not be read. */
  error: unknown;
}

/** `question` names the filter: an answer that comes after the filter has changed picks nothing. */
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
