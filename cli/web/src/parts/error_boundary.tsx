import { Component, type ComponentChild, type ComponentChildren } from "preact";

interface Props {
  /** Value that the children display. If drawing failed, a new value leads to another attempt. */
  readonly of: unknown;
  readonly children: ComponentChildren;
  /** Returns the content that replaces children that could not be drawn. */
  fallback(reason: string): ComponentChild;
}

/** Component that replaces its children if they cannot be drawn. The rest of the page remains. */
export class ErrorBoundary extends Component<Props, { readonly failed?: { readonly of: unknown; readonly reason: string } }> {
  override componentDidCatch(error: unknown): void {
    console.warn("a part of the page could not be rendered:", error);
    this.setState({ failed: { of: this.props.of, reason: error instanceof Error ? error.message : String(error) } });
  }

  override render(): ComponentChild {
    const { failed } = this.state;
    return failed !== undefined && failed.of === this.props.of ? this.props.fallback(failed.reason) : this.props.children;
  }
}

/** Error boundary for a named part of the page. */
export function PartBoundary({ name, of, children }: { name: string; of?: unknown; children: ComponentChildren }) {
  return (
    <ErrorBoundary of={of} fallback={(reason) => <p class="banner warning">{name} cannot be shown: {reason}.</p>}>
      {children}
    </ErrorBoundary>
  );
}
