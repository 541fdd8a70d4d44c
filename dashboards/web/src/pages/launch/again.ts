/** An experiment that was launched, as one would write it to launch another: without what would be so by itself. */
import { answered, api } from "../../api/client";
import { queries } from "../../api/queries";
import { schemaOf } from "./catalogue";
import { type Draft, FIRST, read } from "./draft";
import { entriesOf } from "./form/edit";
import { spare } from "./schema";
import { type Value, withValue } from "./yamlText";

export async function againOf(id: string): Promise<Draft> {
  const [found, schema] = await Promise.all([
    answered(api.GET("/api/v1/experiments/{id}", { params: { path: { id } } })),
    queries.fetchQuery(schemaOf),
  ]);
  const fields = entriesOf(spare(found.spec as Value, schema));
  const text = fields.reduce((before, [key, value]) => withValue(before, [key], value), "");
  return read({ ...found.asked, text }) ?? { ...FIRST, text };
}
