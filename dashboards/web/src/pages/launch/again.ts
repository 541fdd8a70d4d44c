/** The fields and the text of a launched experiment, without values that equal the defaults. */
import { answered, api, type Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { schemaOf } from "./catalogue";
import { type Draft, FIRST, read } from "./draft";
import { entriesOf } from "./form/edit";
import { spare } from "./schema";
import { type Location, type Value, withValue } from "./yamlText";

export async function againOf(id: string): Promise<Draft> {
  const found = await answered(api.GET("/api/v1/experiments/{id}", { params: { path: { id } } }));
  const text = textOf(await fieldsOf(found));
  return read({ ...found.asked, text }) ?? { ...FIRST, text };
}

/** The fields of an experiment that differ from the defaults. */
export async function fieldsOf({ spec }: Pick<Schemas["Experiment"], "spec">): Promise<{ [name: string]: Value }> {
  const schema = await queries.fetchQuery(schemaOf);
  return Object.fromEntries(entriesOf(spare(spec as Value, schema)));
}

/** Fields as a text. */
export function textOf(fields: Value): string {
  return fieldsIn(fields).reduce((before, [location, value]) => withValue(before, location, value), "");
}

/** The fields with their paths as the text writes them: path.rtt, sweep.path.rtt. */
function fieldsIn(spec: Value): [Location, Value][] {
  return entriesOf(spec).flatMap(([key, value]): [Location, Value][] => {
    const within = entriesOf(value);
    return within.length > 0 ? within.map(([name, inner]) => [[key, name], inner]) : [[[key], value]];
  });
}
