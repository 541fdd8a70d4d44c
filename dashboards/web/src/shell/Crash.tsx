/** Keeps a crash of one page from breaking the rest. */
import { Component, type ReactNode } from "react";
import { Button } from "../parts/Button";
import { ErrorNote } from "../parts/ErrorNote";

export class Crash extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    const again = <Button onClick={() => window.location.reload()}>Reload</Button>;
    return <ErrorNote error={this.state.error} action={again} />;
  }
}
