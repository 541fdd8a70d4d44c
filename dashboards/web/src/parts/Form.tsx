/** A form that the page itself sends. */
import type { ComponentProps } from "react";

export function Form({ onSubmit, ...form }: Omit<ComponentProps<"form">, "onSubmit"> & { onSubmit: () => void }) {
  return (
    <form
      {...form}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    />
  );
}
