/** The backend of the runs and its clock: all of them, each with its missing pieces and their remedy. */
import type { Backend } from "../../../data/runList";
import { ErrorNote } from "../../../parts/ErrorNote";
import { PrioritySelect } from "../../../parts/PrioritySelect";
import { Waiting } from "../../../parts/Waiting";
import { type Place, usePlaces } from "../catalogue";
import { change, useDraft } from "../draft";
import { kernelOf } from "../schema";
import { valueAt } from "../yamlText";
import { textOf, useEdit } from "./edit";
import styles from "./Form.module.css";
import { HostChoice } from "./HostChoice";

export function PlaceSection() {
  const { data, schema } = useEdit();
  const places = usePlaces(kernelOf(schema, textOf(valueAt(data, ["kernel"]))));
  const now = useDraft();
  const isOneOfSeveral = (place: Place): boolean =>
    (places.data ?? []).filter((one) => one.backend === place.backend).length > 1;
  return (
    <section className={styles.section} aria-labelledby="form-place">
      <h2 id="form-place">Backend</h2>
      {places.error && <ErrorNote error={places.error} />}
      {places.data === undefined && !places.error && <Waiting height="13rem" />}
      <div className="pile" role="radiogroup" aria-labelledby="form-place">
        {places.data?.map((place) => (
          <label key={keyOf(place)} className={styles.place}>
            <input
              type="radio"
              name="place"
              checked={isChosen(place, isOneOfSeveral(place), now)}
              onChange={() => choose(place, isOneOfSeveral(place))}
            />
            <span>{place.name}</span>
            <span className={place.missing.length > 0 ? styles.mistake : styles.ready}>
              {place.missing.length > 0 ? "not ready" : "ready"}
            </span>
            <small>
              {place.about}
              {place.missing.map((one) => (
                <span key={one.piece} className={styles.lack}>
                  {one.piece} is missing: {one.remedy}
                </span>
              ))}
            </small>
          </label>
        ))}
      </div>
      {now.backend === "hosts" && <HostChoice />}
      <div className={styles.fields}>
        <div className={styles.field}>
          <label htmlFor="form-priority">Priority</label>
          <PrioritySelect
            id="form-priority"
            className={styles.control}
            value={now.priority}
            onChange={(priority) => change({ priority })}
          />
          <div className={styles.help}>Of the runs that wait, those of a higher priority start first.</div>
        </div>
      </div>
    </section>
  );
}

function choose(place: Place, several: boolean): void {
  change({
    backend: place.backend as Backend,
    where: several ? (place.where as "guest" | "host") : null,
    clock: several ? (place.clock as "virtual" | "real") : null,
    hosts: [],
  });
}

function isChosen(
  place: Place,
  several: boolean,
  now: { backend: string; where: string | null; clock: string | null },
): boolean {
  if (place.backend !== now.backend) return false;
  if (!several) return true;
  const where = now.where ?? "host";
  return place.where === where && place.clock === (now.clock ?? (where === "host" ? "real" : "virtual"));
}

function keyOf(place: Place): string {
  return `${place.backend} ${place.where} ${place.clock}`;
}
