/** The text of a launched experiment for another launch, without values that equal the defaults. */
import { answered, api } from "../../api/client";
import { queries } from "../../api/queries";
import { schemaOf } from "./catalogue";
import { type Draft, FIRST, read } from "./draft";
import { entriesOf } from "./form/edit";
import { spare } from "./schema";
import { type Location, type Value, withValue } from "./yamlText";

export async function againOf(id: string): Promise<Draft> {
  const [found, schema] = await Promise.all([
    answered(api.GET("/api/v1/experiments/{id}", { params: { path: { id } } })),
    queries.fetchQuery(schemaOf),
  ]);
  const text = fieldsIn(spare(found.spec as Value, schema)).reduce(
    (before, [location, value]) => withValue(before, location, value),
    "",
  );
  return read({ ...found.asked, text }) ?? { ...FIRST, text };
}

/** The fields with their paths as the text writes them: path.rtt, sweep.path.rtt. */
function fieldsIn(spec: Value): [Location, Value][] {
  return entriesOf(spec).flatMap(([key, value]): [Location, Value][] => {
    const within = entriesOf(value);
    return within.length > 0 ? within.map(([name, inner]) => [[key, name], inner]) : [[[key], value]];
  });
}
