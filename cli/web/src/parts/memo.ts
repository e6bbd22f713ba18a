import { Component, type ComponentChild, type FunctionComponent } from "preact";

/** Returns a component that is redrawn only if one of its properties changes identity. */
export function memo<P extends object>(draw: FunctionComponent<P>): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const before = this.props as Record<string, unknown>;
      const after = next as Record<string, unknown>;
      const names = Object.keys(after);
      return names.length !== Object.keys(before).length || names.some((name) => before[name] !== after[name]);
    }

    override render(): ComponentChild {
      return draw(this.props as never) as ComponentChild;
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
