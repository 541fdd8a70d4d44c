/** The first script, of a few hundred bytes: while the page's code is still loading, it sets the theme, sends the first requests,
 * and fetches the code of the page that is shown. */
import { askEarly } from "./api/early";
import { pageOf } from "./navigation/firstRequests";
import { storedChoice, themeOf } from "./theme/choice";

document.documentElement.dataset.theme = themeOf(storedChoice());
askEarly(window.location.hash);
// The build knows the files of each page; while developing, there are none.
for (const file of import.meta.env?.PAGE_FILES?.[pageOf(window.location.hash)] ?? []) {
  const link = document.createElement("link");
  link.rel = "modulepreload";
  link.href = file;
  document.head.append(link);
}
