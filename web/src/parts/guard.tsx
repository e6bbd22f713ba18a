import { Component, type ComponentChild, type ComponentChildren } from "preact";

interface Props {
  /** When this is another value, drawing is tried again. */
  readonly of: unknown;
  readonly children: ComponentChildren;
  /** Draws something in place of what failed. */
  instead(reason: string): ComponentChild;
}

/** Keeps a failure to draw one part from the rest of the page. */
export class Guard extends Component<Props, { readonly failed?: { readonly of: unknown; readonly reason: string } }> {
  override componentDidCatch(error: unknown): void {
    console.warn("a part of the page could not be drawn:", error);
    this.setState({ failed: { of: this.props.of, reason: error instanceof Error ? error.message : String(error) } });
  }

  override render(): ComponentChild {
    const { failed } = this.state;
    return failed !== undefined && failed.of === this.props.of ? this.props.instead(failed.reason) : this.props.children;
  }
}

/** Keeps a failure to draw a part of the page's frame from the rest: what failed is named. */
export function Part({ name, of, children }: { name: string; of?: unknown; children: ComponentChildren }) {
  return (
    <Guard of={of} instead={(reason) => <p class="banner warning">{name} cannot be shown: {reason}.</p>}>
      {children}
    </Guard>
  );
}
