/** The keys of a shortcut, as their names on the keyboard. */
import { MOD } from "../navigation/shortcuts";

export function Keys({ keys }: { keys: string }) {
  const [first = "", second] = keys.split(" ");
  return (
    <>
      <kbd>{first.replace("mod+", `${MOD} `)}</kbd>
      {second && (
        <>
          {" then "}
          <kbd>{second}</kbd>
        </>
      )}
    </>
  );
}
