/** The charts of a figure as the service draws them, with the paper's axes. They are images, to which the page's styles do not
 * apply, so the colours that the service leaves open are filled in from the page's theme.
 */
import { useMemo } from "react";
import type { Schemas } from "../../api/client";
import { type Figure, usePictures } from "../../data/reproductions";
import { ErrorNote } from "../../parts/ErrorNote";
import { Waiting } from "../../parts/Waiting";
import type { Theme } from "../../theme/choice";
import { colourOf, flowStyle } from "../../theme/palette";
import { useTheme } from "../../theme/theme";
import styles from "./Papers.module.css";

type Picture = Schemas["Picture"];

const OPEN = /var\(--([a-z]+)(?:-(\d+))?, (#[0-9a-f]{6})\)/g;

export function Pictures({ figure }: { figure: Figure }) {
  const asked = usePictures(figure);
  if (figure[figure.extent].kept === 0) return null;
  if (asked.isError) return <ErrorNote error={asked.error} />;
  if (asked.isPending) return <Waiting label="Drawing charts" height="20rem" />;
  return (
    <div className={styles.pictures}>
      {asked.data.map((picture, place) => (
        <Drawn
          // biome-ignore lint/suspicious/noArrayIndexKey: their order is that of the paper
          key={place}
          picture={picture}
          name={`${figure.paper}-${figure.figure}-${place + 1}`}
        />
      ))}
    </div>
  );
}

function Drawn({ picture, name }: { picture: Picture; name: string }) {
  const theme = useTheme();
  const csv = useMemo(() => `data:text/csv;charset=utf-8,${encodeURIComponent(picture.csv)}`, [picture.csv]);
  return (
    <figure className={`${styles.picture} ${picture.wide ? styles.wide : ""}`}>
      {picture.title && <figcaption>{picture.title}</figcaption>}
      {picture.plates.map((plate) => (
        <Plate key={plate.svg.slice(0, 300)} plate={plate} theme={theme} />
      ))}
      <p className={styles.faint}>
        Values as{" "}
        <a href={csv} download={`${name}.csv`}>
          CSV
        </a>
      </p>
    </figure>
  );
}

function Plate({ plate, theme }: { plate: Schemas["Plate"]; theme: Theme }) {
  const source = useMemo(
    () => `data:image/svg+xml;utf8,${encodeURIComponent(inTheme(plate.svg, theme))}`,
    [plate, theme],
  );
  const label = /aria-label="([^"]*)"/.exec(plate.svg)?.[1] ?? plate.title;
  return <img src={source} alt={label} className={styles.plate} />;
}

const TOKENS: Readonly<Record<string, `--${string}`>> = { ink: "--text", faint: "--text-3", rule: "--line" };

function inTheme(svg: string, theme: Theme): string {
  const found = new Map<string, string>();
  return svg.replace(OPEN, (_, name: string, place: string | undefined, fallback: string) => {
    const key = `${name}${place ?? ""}`;
    const known = found.get(key);
    if (known !== undefined) return known;
    const token = TOKENS[name];
    const colour = token
      ? colourOf(token)
      : name === "line" && place
        ? flowStyle(Number(place), theme).colour
        : fallback;
    found.set(key, colour);
    return colour;
  });
}
