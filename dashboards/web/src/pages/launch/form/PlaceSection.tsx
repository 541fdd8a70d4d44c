/** Where the runs happen, and by which clock: every place in sight, with what it lacks and what to do about it. */
import { ErrorNote } from "../../../parts/ErrorNote";
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
  const places = usePlaces(kernelOf(schema, textOf(valueAt(data ?? undefined, ["kernel"]))));
  const now = useDraft();
  return (
    <section className={styles.section} aria-labelledby="form-place">
      <h2 id="form-place">Where it runs</h2>
      {places.error && <ErrorNote error={places.error} />}
      {places.data === undefined && !places.error && <Waiting height="13rem" />}
      <div className={styles.places} role="radiogroup" aria-labelledby="form-place">
        {places.data?.map((place) => (
          <label key={keyOf(place)} className={styles.place}>
            <input type="radio" name="place" checked={isChosen(place, now)} onChange={() => choose(place)} />
            <span>{nameOf(place)}</span>
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
    </section>
  );
}

function choose(place: Place): void {
  const mininet = place.backend === "mininet";
  change({
    backend: mininet ? "mininet" : place.backend === "hosts" ? "hosts" : "sandbox",
    where: mininet ? (place.where as "guest" | "host") : null,
    clock: mininet ? (place.clock as "virtual" | "real") : null,
    hosts: [],
  });
}

function isChosen(place: Place, now: { backend: string; where: string | null; clock: string | null }): boolean {
  if (place.backend !== now.backend) return false;
  if (place.backend !== "mininet") return true;
  const where = now.where ?? "host";
  return place.where === where && place.clock === (now.clock ?? (where === "host" ? "real" : "virtual"));
}

function keyOf(place: Place): string {
  return `${place.backend} ${place.where} ${place.clock}`;
}

function nameOf({ backend, where, clock }: Place): string {
  if (backend === "sandbox") return "Sandbox, virtual time";
  if (backend === "hosts") return "Real hosts, real clock";
  return `Mininet ${where === "host" ? "on the service's machine" : "in a guest"}, ${clock === "real" ? "real clock" : "virtual time"}`;
}
