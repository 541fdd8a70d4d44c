/** An unknown run or experiment: ids that begin with the given digits, or an explanation. */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { answered, api } from "../../api/client";
import { problemOf } from "../../api/problem";
import { listOf } from "../../data/runList";
import { go, linkTo } from "../../navigation/route";
import { useOwnTitle } from "../../navigation/title";
import { LinkButton } from "../../parts/Button";
import { Empty } from "../../parts/Empty";
import { Waiting } from "../../parts/Waiting";

type Noun = "run" | "experiment";

/** The digits of an id; below, the fewest that identify one, and the most ids that are listed. */
const DIGITS: Record<Noun, number> = { run: 20, experiment: 16 };
const FEWEST = 4;
const MOST = 5;

export function isId(noun: Noun, id: string): boolean {
  return /^[0-9a-f]+$/.test(id) && id.length === DIGITS[noun];
}

/** Whether the error is a 404. */
export function isMissing(error: unknown): boolean {
  return problemOf(error).status === 404;
}

export function Missing({ noun, id }: { noun: Noun; id: string }) {
  const isShort = /^[0-9a-f]+$/.test(id) && id.length >= FEWEST && id.length < DIGITS[noun];
  const found = useQuery({
    queryKey: ["beginning", noun, id],
    enabled: isShort,
    queryFn: () => beginningWith(noun, id),
  });
  const only = found.data?.length === 1 ? found.data[0] : undefined;
  useOwnTitle(`No ${noun} ${id}`);
  useEffect(() => {
    if (only !== undefined) go(linkTo([`${noun}s`, only]), { replace: true });
  }, [noun, only]);
  if ((isShort && found.isPending) || only !== undefined)
    return <Waiting label={`Looking for ${noun} ${id}`} height="30vh" />;
  const several = found.data ?? [];
  return (
    <Empty
      isPage
      title={several.length > 0 ? `Several ${noun}s begin with ${id}` : `There is no ${noun} ${id}`}
      action={<LinkButton href={listOf({ what: `${noun}s` })}>{`All ${noun}s`}</LinkButton>}
    >
      {several.length > 0 ? (
        <ul>
          {several.map((one) => (
            <li key={one}>
              <a href={linkTo([`${noun}s`, one])}>
                <code>{one}</code>
              </a>
            </li>
          ))}
        </ul>
      ) : (
        <p>
          {isId(noun, id)
            ? "It was deleted, pruned because of its age, or belongs to another lab."
            : `The id of ${noun === "run" ? "a run" : "an experiment"} has ${DIGITS[noun]} digits of 0-9 and a-f; the first ${FEWEST} or more are enough.`}
        </p>
      )}
    </Empty>
  );
}

async function beginningWith(noun: Noun, id: string): Promise<string[]> {
  const query = { params: { query: { text: id, limit: 50 } } };
  const { items } = await (noun === "run"
    ? answered(api.GET("/api/v1/runs", query))
    : answered(api.GET("/api/v1/experiments", query)));
  return items
    .map((one) => one.id)
    .filter((one) => one.startsWith(id))
    .slice(0, MOST);
}
